"""What the torch wrapper asks of parameters, gradients, states and rates."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from ._artefact import Artefact, Parameter
from ._error import SteepError

Named = Iterable[tuple[str, torch.Tensor]]
Rates = float | Mapping[str, float] | None

# The FP32 master of a BF16 weight, among the weight's states.
MASTER = "master"
TYPES = (torch.float32, torch.bfloat16)


def split_tied(
    named: Named,
) -> tuple[list[tuple[str, torch.Tensor]], dict[str, str]]:
    """Parameters by the first of their names, and the other names of tied ones."""
    owners: dict[int, str] = {}
    names: set[str] = set()
    own, tied = [], {}
    for pair in named:
        if not (
            isinstance(pair, tuple)
            and len(pair) == 2
            and isinstance(pair[0], str)
            and isinstance(pair[1], torch.Tensor)
        ):
            raise SteepError(
                "expected pairs of name and tensor, as model.named_parameters() gives, "
                f"got {type(pair).__name__}"
            )
        name, tensor = pair
        if name in names:
            raise SteepError(f"parameter '{name}' comes twice")
        names.add(name)
        owner = owners.setdefault(id(tensor), name)
        if owner == name:
            own.append((name, tensor))
            continue
        tied[name] = owner
        warnings.warn(
            f"'{name}' shares its storage with '{owner}' and is updated through it",
            stacklevel=3,
        )
    return own, tied


def as_matrix(shape: torch.Size) -> tuple[int, ...]:
    """Vectors are matrices of one row to their rule; so are numbers."""
    return tuple(shape) if len(shape) > 1 else (1, shape.numel())


def check(name: str, parameter: torch.Tensor) -> None:
    """Refuses what a step on this machine's CPU cannot update."""
    wrong = None
    if hasattr(parameter, "placements") or getattr(parameter, "_is_flat_param", False):
        wrong = "is a shard, and a geometry needs whole matrices: expected a tensor"
    elif parameter.layout is not torch.strided:
        wrong = f"is sparse ({parameter.layout}): expected a dense tensor"
    elif parameter.is_complex():
        wrong = f"is complex ({parameter.dtype}): expected torch.float32"
    elif parameter.dtype not in TYPES:
        wrong = f"is {parameter.dtype}: expected torch.float32 or torch.bfloat16"
    elif parameter.device.type != "cpu":
        wrong = f"is on {parameter.device}: expected a tensor of the CPU"
    elif _may_repeat(parameter):
        wrong = (
            f"has strides {parameter.stride()}, which may reach an element twice: "
            "expected a tensor of its own, or a view of one"
        )
    elif parameter.is_neg():
        wrong = "is a negated view: expected its resolve_neg()"
    if wrong:
        raise SteepError(f"parameter '{name}' {wrong}")


def _may_repeat(tensor: torch.Tensor) -> bool:
    """False only where each stride is beyond all that smaller ones reach."""
    reach = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride <= reach:
            return True
        reach += (size - 1) * stride
    return False


def strides(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """Of the matrix that a tensor is to its rule; None: it is dense."""
    if tensor.is_contiguous():
        return None
    return tensor.stride() if tensor.dim() > 1 else (tensor.numel(), *tensor.stride())


def check_gradient(name: str, parameter: torch.Tensor, gradient: torch.Tensor) -> None:
    """Refuses a gradient that a step does not take."""
    if gradient.layout is not torch.strided:
        raise SteepError(
            f"the gradient of '{name}' is sparse ({gradient.layout}): expected a "
            "dense tensor (torch.nn.Embedding with sparse=False)"
        )
    wrong = None
    if gradient.dtype not in TYPES:
        wrong = f"is {gradient.dtype}: expected torch.float32 or torch.bfloat16"
    elif gradient.device.type != "cpu":
        wrong = f"is on {gradient.device}: expected a tensor of the CPU"
    elif gradient.shape != parameter.shape:
        wrong = f"is {tuple(gradient.shape)}: expected {tuple(parameter.shape)}"
    elif gradient.is_neg():
        wrong = "is a negated view: expected its resolve_neg()"
    if wrong:
        raise SteepError(f"the gradient of '{name}' {wrong}")


def state_shapes(
    compiled: Parameter, parameter: torch.Tensor
) -> dict[str, tuple[int, ...]]:
    own = tuple(parameter.shape)
    shapes = {
        s.name: own if s.shape == compiled.shape else s.shape for s in compiled.states
    }
    if parameter.dtype is torch.bfloat16:
        if MASTER in shapes:
            raise SteepError(
                f"parameter '{compiled.name}' is torch.bfloat16, but its rule has a "
                f"state '{MASTER}': expected torch.float32"
            )
        shapes[MASTER] = own
    return shapes


def start(state: dict[str, Any], compiled: Parameter, parameter: torch.Tensor) -> None:
    """A parameter's states before its first update, as torch.optim keeps them."""
    shapes = state_shapes(compiled, parameter)
    state["step"] = torch.tensor(0.0, dtype=torch.float32)
    for name, shape in shapes.items():
        state[name] = torch.zeros(shape, dtype=torch.float32)
    if parameter.dtype is torch.bfloat16:
        state[MASTER].copy_(parameter.detach())


def check_states(
    state: dict[str, Any], compiled: Parameter, parameter: torch.Tensor
) -> None:
    """What a state dict brought is what the step writes into."""
    shapes = {"step": (), **state_shapes(compiled, parameter)}
    if MASTER in state and MASTER not in shapes:
        raise SteepError(
            f"state '{MASTER}' of '{compiled.name}': expected none, since the weight "
            f"is {parameter.dtype} itself"
        )
    for name, shape in shapes.items():
        tensor = state.get(name)
        if (
            not isinstance(tensor, torch.Tensor)
            or tuple(tensor.shape) != shape
            or (name != "step" and tensor.dtype is not torch.float32)
            or not tensor.is_contiguous()
        ):
            got = getattr(tensor, "shape", None), getattr(tensor, "dtype", None)
            raise SteepError(
                f"state '{name}' of '{compiled.name}': expected a contiguous FP32 "
                f"tensor of shape {shape}, got {got[0]}, {got[1]}"
            )


def choose(given: Rates, group: str, default: float) -> float:
    if isinstance(given, Mapping):
        return given.get(group, default)
    return default if given is None else given


def check_rates(lr: Rates, weight_decay: Rates, artefact: Artefact) -> None:
    names = [group.name for group in artefact.groups]
    for rates in (lr, weight_decay):
        for name in rates if isinstance(rates, Mapping) else ():
            if name not in names:
                raise SteepError(
                    f"there is no group '{name}': expected one of {', '.join(names)}"
                )


def conventions(artefact: Artefact, group: int) -> dict[str, str]:
    """How the states of a group's rule are averaged."""
    return {
        s.name: s.convention
        for p in artefact.parameters
        if p.group == group
        for s in p.states
    }


def check_conventions(own: dict[str, Any], saved: dict[str, Any]) -> None:
    given = saved.get("conventions")
    if given == own["conventions"]:
        return
    raise SteepError(
        f"group '{own['name']}': its states are averaged as {own['conventions']}, "
        + (
            f"those of the state dict as {given}"
            if given is not None
            else "and the state dict does not say how its are (group key 'conventions')"
        )
    )
