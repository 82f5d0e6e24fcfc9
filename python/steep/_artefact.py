"""A compiled optimizer: its manifest, and its step over ctypes."""

from __future__ import annotations

import ctypes as c
import dataclasses
import json
import math
import numbers
import os
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _abi
from ._error import SteepError


@dataclasses.dataclass(frozen=True)
class State:
    """A state of a parameter: PyTorch's name, shape, and how it is averaged; `beta` is
    the weight of what was averaged before, where it is one constant."""

    name: str
    shape: tuple[int, ...]
    convention: str
    beta: float | None

    @property
    def is_mean(self) -> bool:
        """The mean row of another state, which steps compute where it is zeros: what
        was saved may lack it."""
        return self.convention == "mean"


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter as compiled; `group` counts the spec's groups."""

    name: str
    shape: tuple[int, ...]
    group: int
    rule: str
    states: tuple[State, ...]


@dataclasses.dataclass(frozen=True)
class Group:
    """A group of the spec, with its default learning rate and decay. `counts`: its
    rule reads the number of the update."""

    name: str
    rule: str
    lr: float
    wd: float
    counts: bool


@dataclasses.dataclass(frozen=True)
class Report:
    """What a step did. Norm and factor are those of the global clipping."""

    grad_norm: float
    clip_factor: float
    skipped: bool
    nonfinite: str | None


# Schedulers that go to 0 by recurrence leave a rate that is below it by rounding.
_ROUNDING = 1e-9
_LARGEST = float(np.finfo(np.float32).max)


def is_rate(number: float) -> bool:
    """Is it a learning rate or a decay? NaN is none."""
    return -_ROUNDING <= number <= _LARGEST


def is_count(number: float) -> bool:
    """Is it a whole number of updates?"""
    return number >= 0 and float(number).is_integer()


def as_matrix(shape: Sequence[int]) -> tuple[int, ...]:
    """Vectors are matrices of one row to their rule; so are numbers."""
    return tuple(shape) if len(shape) > 1 else (1, math.prod(shape))


def check_total(total: int, what: str) -> None:
    """Refuses a number of steps that a schedule does not take."""
    if isinstance(total, bool) or not isinstance(total, numbers.Integral) or total < 1:
        raise SteepError(
            f"{what} is {total!r}: expected a whole number of steps, at least 1"
        )


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A factor on learning rates by the update's number, from 0: a linear warmup, then
    a cosine from 1 to `floor`."""

    warmup: int
    total: int
    floor: float

    def __call__(self, t: int) -> float:
        if t < self.warmup:
            return t / self.warmup
        span = self.total - self.warmup - 1
        p = min(1.0, (t - self.warmup) / span) if span > 0 else 1.0
        return self.floor + (1 - self.floor) * 0.5 * (1 + math.cos(math.pi * p))


class Artefact:
    """A folder that steepc wrote (docs/manifest.md), opened."""

    def __init__(self, folder: Path, manifest: dict[str, Any], library: c.CDLL):
        self.folder = folder
        self.manifest = manifest
        self.name: str = manifest["name"]
        self._library = library
        self.groups = tuple(
            Group(
                g["name"],
                g["rule"],
                float(g["lr"]),
                float(g["wd"]),
                g.get("counts", True),
            )
            for g in manifest["groups"]
        )
        places = {group.name: i for i, group in enumerate(self.groups)}
        self.parameters = tuple(
            Parameter(
                p["name"],
                tuple(p["shape"]),
                places[p["group"]],
                p["rule"],
                tuple(
                    State(s["name"], tuple(s["shape"]), s["convention"], s.get("beta"))
                    for s in p["states"]
                ),
            )
            for p in manifest["parameters"]
        )
        self.plan = self._plan()

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Artefact:
        """Raises SteepError where it is none, or not for this machine."""
        folder = Path(folder)
        manifests = sorted(folder.glob("*.json"))
        if len(manifests) != 1:
            raise SteepError(f"{folder}: expected one manifest, NAME.json")
        manifest = json.loads(manifests[0].read_text())
        path = folder / f"lib{manifest['name']}.so"
        try:
            library = c.CDLL(os.fspath(path))
        except OSError as error:
            raise SteepError(f"cannot load {path}: {error}") from None
        return cls(folder, manifest, library)

    def entry(self, name: str, result: Any = c.c_int32, *arguments: Any) -> Any:
        """The function steep_NAME_`name` of the C interface."""
        function = getattr(self._library, f"steep_{self.name}_{name}")
        function.restype, function.argtypes = result, arguments
        return function

    def _plan(self) -> _abi.Plan:
        version = self.entry("abi_version", c.c_uint32)()
        if version >> 16 != _abi.MAJOR:
            raise SteepError(
                f"{self.folder}: its C interface is {version >> 16}.{version & 0xFFFF}"
                f", this package knows {_abi.MAJOR}.x: compile the spec again"
            )
        plan = _abi.Plan(c.sizeof(_abi.Plan))
        code = self.entry("plan", c.c_int32, c.c_void_p)(c.addressof(plan))
        if code == _abi.CPU_MISMATCH:
            target = self.manifest["target"]
            raise SteepError(
                f"{self.folder}: compiled for {target['cpu']}, this CPU lacks some of "
                f"{', '.join(target['features'])}"
            )
        if code != _abi.OK:
            raise SteepError(f"{self.folder}: plan returned {code}")
        return plan

    def schedule(self, total: int) -> Callable[[int], float]:
        """The spec's factor on every learning rate at update t of `total`, from 0.

        Without a schedule it is 1. docs/specs.md has the formula.
        """
        check_total(total, "schedule: total")
        stated = self.manifest["schedule"]
        if stated is None:
            return Schedule(0, total, 1.0)
        return Schedule(math.floor(stated["warmup"] * total), total, stated["floor"])

    def routing(self) -> str:
        """A table: which parameter gets which rule and which states."""
        rows = [("parameter", "shape", "group", "rule", "states")]
        for p in self.parameters:
            shape = "x".join(map(str, p.shape))
            states = " ".join(s.name for s in p.states)
            rows.append((p.name, shape, self.groups[p.group].name, p.rule, states))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows
        )


class _Tensors:
    """DLTensors of fixed shapes, whose data pointers change from step to step.

    They are dense FP32 tensors, until `lay` says something else.
    """

    def __init__(self, shapes: Sequence[Sequence[int]]):
        count = len(shapes)
        self._shapes = [(c.c_int64 * len(shape))(*shape) for shape in shapes]
        self._tensors = (_abi.DLTensor * max(1, count))()
        self._strides: list[Any] = [None] * count
        pointer = c.POINTER(c.c_int64)
        for tensor, shape in zip(self._tensors, self._shapes, strict=False):
            tensor.device.device_type = _abi.CPU
            tensor.dtype = _abi.DLDataType(2, 32, 1)
            tensor.ndim = len(shape)
            tensor.shape = c.cast(shape, pointer)
        words = c.sizeof(_abi.DLTensor) // 8
        raw = np.frombuffer(memoryview(self._tensors), np.uint64).reshape(-1, words)
        self._data = raw[:count, 0]
        begin = c.addressof(self._tensors)
        self._addresses = begin + np.arange(count, dtype=np.uint64) * (words * 8)
        self.table = self._addresses.copy()
        self.address = self.table.ctypes.data if count else None

    def set(self, pointers: Sequence[int]) -> None:
        """Where each tensor's data is; 0: there is no such tensor."""
        self._data[:] = pointers
        np.multiply(self._addresses, self._data != 0, out=self.table)

    def lay(
        self, index: int, bf16: bool = False, strides: Sequence[int] | None = None
    ) -> None:
        """How a tensor lies; strides count elements, None: it is dense."""
        tensor = self._tensors[index]
        tensor.dtype = _abi.DLDataType(4, 16, 1) if bf16 else _abi.DLDataType(2, 32, 1)
        held = None if strides is None else (c.c_int64 * len(strides))(*strides)
        self._strides[index] = held
        tensor.strides = c.cast(held, c.POINTER(c.c_int64))


class Stepper:
    """The arguments of a step, kept from one step to the next.

    `weights`, `gradients` and `states` take data pointers of dense FP32 tensors of
    the compiled shapes; whoever sets them keeps the memory alive during the step.
    Weights and gradients may be BF16 or strided, where `lay` says so; `masters` are
    the FP32 masters of BF16 weights. Used by one thread at a time.
    """

    def __init__(self, artefact: Artefact, threads: int = 1):
        self.artefact = artefact
        self.threads = threads
        shapes = [p.shape for p in artefact.parameters]
        self.weights = _Tensors(shapes)
        self.gradients = _Tensors(shapes)
        self.masters = _Tensors(shapes)
        self.masters.set([0] * len(shapes))
        self.states = _Tensors([s.shape for p in artefact.parameters for s in p.states])
        groups = len(artefact.groups)
        self._lr = (_abi.Scalar * groups)()
        self._wd = (_abi.Scalar * groups)()
        self._message = c.create_string_buffer(512)
        self._args = _abi.StepArgs(
            struct_size=c.sizeof(_abi.StepArgs),
            parameter_count=artefact.plan.parameter_count,
            parameters=self.weights.address,
            gradients=self.gradients.address,
            state_count=artefact.plan.state_count,
            states=self.states.address,
            group_count=groups,
            lr=c.addressof(self._lr),
            wd=c.addressof(self._wd),
            message=c.addressof(self._message),
            message_bytes=len(self._message),
            masters=self.masters.address,
        )
        self._args.grad_scale.value = 1.0
        self._provide(artefact.plan.workspace_bytes)
        self._bindings: Any = None
        self._entries = {
            name: artefact.entry(name, c.c_int32, c.c_void_p)
            for name in ("plan", "prepare", "apply", "step")
        }
        self._pool_owner = -1
        self._destroy: Any = None

    def set_group(self, group: int, lr: float, wd: float) -> None:
        self._lr[group].value = lr
        self._wd[group].value = wd

    def fit(self) -> None:
        """Makes the workspace large enough for the tensors as they are set.

        Has to be called before a run on tensors that are not dense FP32. Raises
        SteepError where steps do not take them.
        """
        if self.artefact.plan.abi_version & 0xFFFF < 2:
            raise SteepError(
                f"{self.artefact.folder}: its C interface is older than 1.2, and takes "
                "dense FP32 tensors alone: compile the spec again"
            )
        count = len(self.artefact.parameters)
        if self._bindings is None:
            self._bindings = (_abi.Binding * count)()
            for binding, p in zip(
                self._bindings, self.artefact.parameters, strict=True
            ):
                binding.struct_size = c.sizeof(_abi.Binding)
                binding.name = p.name.encode()
        words = c.sizeof(_abi.Binding) // 8
        raw = np.frombuffer(memoryview(self._bindings), np.uint64).reshape(-1, words)
        # A step does not look at a parameter without a gradient: plan neither.
        there = self.gradients.table != 0
        for field, tensors in (
            (_abi.Binding.parameter, self.weights),
            (_abi.Binding.gradient, self.gradients),
            (_abi.Binding.master, self.masters),
        ):
            np.multiply(tensors.table, there, out=raw[:, field.offset // 8])
        plan = _abi.Plan(
            struct_size=c.sizeof(_abi.Plan),
            bindings=c.addressof(self._bindings),
            binding_count=count,
            message=c.addressof(self._message),
            message_bytes=len(self._message),
        )
        if self._entries["plan"](c.addressof(plan)) != _abi.OK:
            raise SteepError(self._message.value.decode(errors="replace"))
        if plan.workspace_bytes > self._args.workspace_bytes:
            self._provide(plan.workspace_bytes)

    def _provide(self, size: int) -> None:
        self._workspace = np.empty(size + 64, np.uint8)
        base = self._workspace.ctypes.data
        self._args.workspace = base + -base % 64
        self._args.workspace_bytes = size

    def run(self, entry: str, step: int, grad_scale: float = 1.0) -> Report:
        """`prepare`, `apply` or `step`; raises SteepError where it refuses."""
        args = self._args
        if self._pool_owner != os.getpid():
            self._make_pool()
        args.step = step
        args.grad_scale.value = grad_scale
        code = self._entries[entry](c.addressof(args))
        if code < 0:
            raise SteepError(self._message.value.decode(errors="replace"))
        at = args.nonfinite_parameter
        name = self.artefact.parameters[at].name if at >= 0 else None
        return Report(args.grad_norm, args.clip_factor, code == _abi.SKIPPED, name)

    def _make_pool(self) -> None:
        """Threads do not survive a fork, so each process makes its own."""
        self._pool_owner = os.getpid()
        self._args.pool = None
        if self._destroy is not None:
            self._destroy.detach()
        if self.threads < 2:
            return
        create = self.artefact.entry("pool_create", c.c_void_p, c.c_int32)
        destroy = self.artefact.entry("pool_destroy", None, c.c_void_p)
        self._args.pool = create(self.threads)
        owner, pool = self._pool_owner, self._args.pool
        self._destroy = weakref.finalize(self, _destroy_pool, destroy, pool, owner)


def _destroy_pool(destroy: Any, pool: int, owner: int) -> None:
    if pool and os.getpid() == owner:
        destroy(pool)
