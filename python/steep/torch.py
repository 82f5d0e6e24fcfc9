"""A compiled spec as a `torch.optim.Optimizer`.

    optimizer = steep.torch.Optimizer(model.named_parameters(), spec="paper.mlir")

The parameter groups are the spec's, each with a live `lr` and `weight_decay`. States
have PyTorch's names and are FP32 tensors of the parameter's shape. Parameters and
gradients are read and written where they are: dense ones and views, FP32 and BF16. A
BF16 weight has an FP32 master among its states, which steps update.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any

import torch

from . import _parameters, _torch_states
from ._artefact import Artefact, Parameter, Report, Stepper
from ._compile import compile_text, read_spec
from ._error import SteepError
from ._parameters import Named, Rates

__all__ = ["Optimizer"]

# What a copy of an optimizer keeps beside PyTorch's own.
_KEPT = ("_spec", "_title", "_target", "_threads", "_tied", "_order", "_last", "_ready")


class Optimizer(torch.optim.Optimizer):
    """Updates named parameters as a spec says.

    `named_parameters` are pairs of name and tensor; a weight that occurs under two
    names (`named_parameters(remove_duplicate=False)`) is tied, and its owner is the
    first. Vectors are matrices of one row to their rule, and so are numbers; what has
    no element is left alone. `lr` and `weight_decay` override the spec's defaults, for
    all groups or by the group's name. `threads` is PyTorch's number by default.

    Raises SteepError, which names the parameter, for a tensor that it cannot serve.
    """

    def __init__(
        self,
        named_parameters: Named,
        spec: str | os.PathLike[str],
        *,
        lr: Rates = None,
        weight_decay: Rates = None,
        threads: int | None = None,
        target: str = "native",
        **others: Any,
    ):
        for option in others:
            raise SteepError(
                f"steep.torch.Optimizer has no option '{option}': what a step does is "
                "the spec's, and its options are lr, weight_decay, threads and target"
            )
        named, tied = _parameters.split_tied(named_parameters)
        self._spec, self._title = read_spec(spec)
        self._target, self._threads = target, threads
        self._tied, self._order = tied, [name for name, _ in named]
        self._engine: _Engine | None = None
        self._last: Report | None = None
        self._artefact: Artefact | None = self._compile(named)
        numbers = {p.name: p.group for p in self.artefact.parameters}
        groups = []
        _parameters.check_rates(lr, weight_decay, self.artefact)
        for i, group in enumerate(self.artefact.groups):
            members = [(n, p) for n, p in named if numbers.get(n, 0) == i]
            options = {
                "lr": _parameters.choose(lr, group.name, group.lr),
                "weight_decay": _parameters.choose(weight_decay, group.name, group.wd),
                "name": group.name,
                "rule": group.rule,
                "conventions": _parameters.conventions(self.artefact, i),
            }
            groups.append({"params": members, **options})
        self._ready = False
        super().__init__(groups, {"lr": 0.0, "weight_decay": 0.0})
        self._ready = True

    # GradScaler hands its scale to the step, which multiplies the gradients by it:
    # they are not rewritten.
    _step_supports_amp_scaling = True

    # --- what it is ------------------------------------------------------------

    @property
    def artefact(self) -> Artefact:
        """What the spec was compiled to."""
        if self._artefact is None:
            self._artefact = self._compile(self._named())
        return self._artefact

    @property
    def last_step(self) -> Report | None:
        """Gradient norm, clip factor, and whether the last step was skipped."""
        return self._last

    @property
    def tied(self) -> dict[str, str]:
        """Names of tied parameters, and of their owners."""
        return dict(self._tied)

    def schedule(self, total: int) -> Callable[[int], float]:
        """The spec's schedule for `total` steps, as `LambdaLR` takes it."""
        return self.artefact.schedule(total)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds named parameters, each to the group that the spec gives it."""
        if not self._ready:
            super().add_param_group(param_group)
            return
        if set(param_group) != {"params"}:
            raise SteepError(
                "add_param_group: expected {'params': named parameters}; the groups "
                "and their options are the spec's"
            )
        named, tied = _parameters.split_tied(param_group["params"])
        artefact = self._compile(self._named() + named)
        places = {p.name: artefact.groups[p.group].name for p in artefact.parameters}
        groups = {group["name"]: group for group in self.param_groups}
        for name, parameter in named:
            group = groups[places.get(name, self.param_groups[0]["name"])]
            group["params"].append(parameter)
            group["param_names"].append(name)
        self._artefact, self._engine = artefact, None
        self._tied.update(tied)
        self._order += [name for name, _ in named]

    def _named(self) -> list[tuple[str, torch.Tensor]]:
        return [
            pair
            for group in self.param_groups
            for pair in zip(group["param_names"], group["params"], strict=True)
        ]

    def _compile(self, named: list[tuple[str, torch.Tensor]]) -> Artefact:
        shapes: dict[str, tuple[int, ...]] = {}
        for name, tensor in named:
            _parameters.check(name, tensor)
            if tensor.numel():
                shapes[name] = _parameters.as_matrix(tensor.shape)
        for name, owner in self._tied.items():
            if owner in shapes:
                shapes[name] = shapes[owner]
        if not shapes:
            raise SteepError("expected at least one parameter with an element")
        return compile_text(self._spec, self._title, shapes, self._target, self._tied)

    # --- the step --------------------------------------------------------------

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of every parameter that has a gradient.

        A gradient that is not finite leaves all as it is (`last_step` says so), or
        raises SteepError, as the spec wants.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if self._engine is None:
            self._engine = _Engine(self)
        self._last = self._engine.step()
        return loss

    # --- copies and checkpoints ------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Without the library and its memory, which every copy makes for itself."""
        state = dict(super().__getstate__())
        for key in _KEPT:
            state[key] = self.__dict__[key]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for own in self.state.values():
            for key, value in own.items():
                if isinstance(value, _Kept):
                    own[key] = value.tensor
        self._artefact = self.__dict__.get("_artefact")
        self._engine = None

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Refuses states that are averaged in another way than the spec's.

        What torch.optim's AdamW, Adam, Muon or SGD saved is taken where a state of the
        same name is averaged alike, with its learning rates and weight decays.
        """
        if not _torch_states.is_own(state_dict):
            state_dict = _torch_states.translate(self, [state_dict])
        for own, saved in zip(
            self.param_groups, state_dict["param_groups"], strict=False
        ):
            _parameters.check_conventions(own, saved)
        # After the hooks of others: it keeps PyTorch from casting what they left.
        hook = self.register_load_state_dict_pre_hook(_keep_states)
        try:
            super().load_state_dict(state_dict)
        finally:
            hook.remove()

    def load_torch_state_dicts(self, *state_dicts: dict[str, Any]) -> None:
        """Takes what several of torch.optim's optimizers saved, each of which had a
        part of the parameters by name."""
        self.load_state_dict(_torch_states.translate(self, state_dicts))

    def save_safetensors(self, path: str | os.PathLike[str]) -> None:
        """Writes all states as `steep-train` does (optimizer.safetensors)."""
        from . import _checkpoint

        _checkpoint.save(self, path)

    def load_safetensors(
        self,
        path: str | os.PathLike[str],
        *,
        masters: str | os.PathLike[str] | None = None,
    ) -> None:
        """Reads what save_safetensors or `steep-train` wrote.

        `masters` is a safetensors file with FP32 weights, such as model.safetensors of
        `steep-train`: BF16 weights, whose masters `path` lacks, have them from there.
        """
        from . import _checkpoint

        _checkpoint.load(self, path, masters)

    def _states_by_name(self) -> list[tuple[Parameter, dict[str, torch.Tensor]]]:
        """Of every parameter that has states, those that began just now as well."""
        tensors = dict(self._named())
        found = []
        for compiled in self.artefact.parameters:
            tensor = tensors[compiled.name]
            if not compiled.states and tensor.dtype is torch.float32:
                continue
            state = self.state[tensor]
            if not state:
                _parameters.start(state, compiled, tensor)
                self._engine = None  # it does not know of them
            found.append((compiled, state))
        return found


@dataclasses.dataclass(frozen=True)
class _Kept:
    """A state on its way through load_state_dict, which casts tensors to the type of
    their parameter, and nothing else."""

    tensor: torch.Tensor


def _keep_states(optimizer: Optimizer, state_dict: dict[str, Any]) -> dict[str, Any]:
    def keep(name: str, value: Any) -> Any:
        if name == "step" and isinstance(value, (int, float)):
            value = torch.tensor(float(value), dtype=torch.float32)
        if not isinstance(value, torch.Tensor):
            return value
        return _Kept(value.to("cpu", torch.float32))

    states = {
        parameter: {name: keep(name, value) for name, value in state.items()}
        for parameter, state in state_dict["state"].items()
    }
    return {**state_dict, "state": states}


class _Engine:
    """An optimizer's parameters in the artefact's order, and what steps them."""

    def __init__(self, optimizer: Optimizer):
        self.optimizer = optimizer
        artefact = optimizer.artefact
        threads = optimizer._threads or torch.get_num_threads()
        self.stepper = Stepper(artefact, threads)
        tensors = dict(optimizer._named())
        self.parameters = [tensors[p.name] for p in artefact.parameters]
        self.compiled = artefact.parameters
        self.names = [[s.name for s in p.states] for p in artefact.parameters]
        self.sizes = [p.numel() for p in self.parameters]
        # Whose weight or gradient is BF16 or strided, as `lay` has said of tensors
        # that are as in `seen`.
        self.staged = [False] * len(self.parameters)
        self.seen: list[Any] = [None] * len(self.parameters)
        # The gradients that the workspace was planned for; none: for no layout.
        self.planned = b""
        # One tensor, of which every state's `step` is an element: they count in
        # one operation.
        self.steps = torch.zeros(len(self.parameters), dtype=torch.float32)
        for i, parameter in enumerate(self.parameters):
            if optimizer.state.get(parameter):
                state = optimizer.state[parameter]
                _parameters.check_states(state, self.compiled[i], parameter)
                self._count_together(i, state)

    def step(self) -> Report:
        optimizer = self.optimizer
        for i, group in enumerate(optimizer.param_groups):
            self.stepper.set_group(i, float(group["lr"]), float(group["weight_decay"]))
        scale, inf = self._amp()
        if inf:
            return Report(float("inf"), 1.0, True, None)
        gradients = self._point()
        steps = [
            int(step) + 1 if gradient else 0
            for step, gradient in zip(self.steps.tolist(), gradients, strict=True)
        ]
        different = set(steps)
        if different == {0}:
            return Report(0.0, 1.0, False, None)
        if len(different - {0}) == 1:
            report = self._run("step", max(steps), scale)
        else:
            report = self._apply_apart(gradients, steps, scale)
        if report.skipped:
            return report
        if 0 not in different:
            self.steps.add_(1)
        else:
            self.steps.add_(torch.tensor([step > 0 for step in steps]))
        return report

    def _count_together(self, index: int, state: dict[str, Any]) -> None:
        own = self.steps[index]
        own.copy_(state["step"])
        state["step"] = own

    def _amp(self) -> tuple[float, bool]:
        """What a GradScaler left: the gradients' scale, and whether one overflowed."""
        scale = getattr(self.optimizer, "grad_scale", None)
        inf = getattr(self.optimizer, "found_inf", None)
        return (
            1.0 if scale is None else 1.0 / float(scale),
            inf is not None and bool(inf.item()),
        )

    def _run(self, entry: str, step: int, scale: float) -> Report:
        if any(self.staged):
            there = (self.stepper.gradients.table != 0).tobytes()
            if there != self.planned:
                self.stepper.fit()
                self.planned = there
        return self.stepper.run(entry, step, scale)

    def _point(self) -> list[int]:
        """Hands over where the tensors are now. Returns where the gradients are; 0:
        there is none."""
        state = self.optimizer.state
        fp32, bf16, strided = torch.float32, torch.bfloat16, torch.strided
        weights, gradients, masters, states = [], [], [], []
        # All that is done here is done for every parameter in every step.
        for i, parameter in enumerate(self.parameters):
            gradient = parameter.grad
            if gradient is None:
                weights.append(0)
                gradients.append(0)
                masters.append(0)
                states += [0] * len(self.names[i])
                continue
            if (
                self.staged[i]
                or gradient.dtype is not fp32
                or parameter.dtype is not fp32
                or not parameter.is_cpu
                or gradient.layout is not strided
                or not gradient.is_contiguous()
                or not parameter.is_contiguous()
                or gradient.numel() != self.sizes[i]
                or parameter.numel() != self.sizes[i]
            ):
                self._lay(i, parameter, gradient)
            own = state[parameter]
            if not own:
                _parameters.start(own, self.compiled[i], parameter)
                self._count_together(i, own)
            weights.append(parameter.data_ptr())
            gradients.append(gradient.data_ptr())
            masters.append(
                own[_parameters.MASTER].data_ptr() if parameter.dtype is bf16 else 0
            )
            for name in self.names[i]:
                states.append(own[name].data_ptr())
        self.stepper.weights.set(weights)
        self.stepper.gradients.set(gradients)
        self.stepper.masters.set(masters)
        self.stepper.states.set(states)
        return gradients

    def _lay(self, index: int, parameter: torch.Tensor, gradient: torch.Tensor) -> None:
        """Says how a weight and its gradient lie, where they are not dense FP32 or
        were not before."""
        compiled = self.compiled[index]
        pair = parameter, gradient
        seen = None
        if all(tensor.layout is torch.strided for tensor in pair):
            seen = [(t.dtype, t.device, t.shape, t.stride(), t.is_neg()) for t in pair]
            if seen == self.seen[index]:
                return
        _parameters.check(compiled.name, parameter)
        _parameters.check_gradient(compiled.name, parameter, gradient)
        if _parameters.as_matrix(parameter.shape) != compiled.shape:
            raise SteepError(
                f"parameter '{compiled.name}' is {tuple(parameter.shape)}: compiled "
                f"for {compiled.shape}"
            )
        state = self.optimizer.state[parameter]
        if state:
            _parameters.check_states(state, compiled, parameter)
        layouts = [(t.dtype is torch.bfloat16, _parameters.strides(t)) for t in pair]
        self.stepper.weights.lay(index, *layouts[0])
        self.stepper.gradients.lay(index, *layouts[1])
        self.staged[index] = layouts != [(False, None)] * 2
        self.seen[index], self.planned = seen, b""

    def _apply_apart(
        self, gradients: list[int], steps: list[int], scale: float
    ) -> Report:
        """Parameters that missed gradients are at another step than the others:
        one norm over all, then one update a step number."""
        report = self._run("prepare", 1, scale)
        if report.skipped:
            return report
        for step in sorted(set(steps) - {0}):
            self.stepper.gradients.set(
                [g if s == step else 0 for g, s in zip(gradients, steps, strict=True)]
            )
            self._run("apply", step, scale)
        return report
