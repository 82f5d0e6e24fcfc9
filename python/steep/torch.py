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
from ._artefact import Artefact, Parameter, Report, as_matrix
from ._compile import compile_text, read_spec
from ._error import SteepError
from ._parameters import Named, Rates
from ._torch_engine import Engine

__all__ = ["Optimizer"]

# What a copy of an optimizer keeps beside PyTorch's own.
_KEPT = ("_spec", "_title", "_target", "_threads", "_tied", "_members", "_shapes") + (
    "_last",
    "_ready",
)


class Optimizer(torch.optim.Optimizer):
    """Updates named parameters as a spec says.

    `named_parameters` are pairs of name and tensor; a weight that occurs under two
    names (`named_parameters(remove_duplicate=False)`) is tied, and its owner is the
    first. `spec` is a file, or the text of one: a str with a line break or
    `optim.spec`. Vectors are matrices of one row to their rule, and so are numbers;
    what has no element is left alone. `lr` and `weight_decay` override the spec's
    defaults, for all groups or by the group's name. `threads` is PyTorch's number by
    default.

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
        self._spec, self._title = read_spec(spec)
        _parameters.check_threads(threads)
        named, tied = _parameters.split_tied(named_parameters)
        self._target, self._threads = target, threads
        self._tied, self._members = tied, named
        self._shapes = {name: tuple(p.shape) for name, p in named}
        self._engine: Engine | None = None
        self._last: Report | None = None
        self._artefact: Artefact | None = self._compile(named)
        numbers = {p.name: p.group for p in self.artefact.parameters}
        groups = []
        _parameters.check_rates(lr, weight_decay, self.artefact)
        for i, group in enumerate(self.artefact.groups):
            members = [(n, p) for n, p in named if numbers.get(n, 0) == i]
            rates = (lr, "lr", group.lr), (weight_decay, "weight_decay", group.wd)
            options = {
                **{r: _parameters.choose(g, group.name, r, d) for g, r, d in rates},
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
            self._artefact = self._compile(self._members)
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
        _parameters.check_new(self._members, self._tied, named, tied)
        numbers = _parameters.match_groups(
            self.param_groups, self._members, self.artefact
        )
        groups = dict(zip(numbers, self.param_groups, strict=True))
        artefact = self._compile(self._members + named)
        places = {p.name: p.group for p in artefact.parameters}
        for name, parameter in named:
            group = groups[places.get(name, 0)]
            group["params"].append(parameter)
            group["param_names"].append(name)
        self._artefact, self._engine = artefact, None
        self._tied.update(tied)
        self._members = self._members + named
        self._shapes.update({name: tuple(p.shape) for name, p in named})

    def _compile(self, named: list[tuple[str, torch.Tensor]]) -> Artefact:
        shapes: dict[str, tuple[int, ...]] = {}
        for name, tensor in named:
            _parameters.check(name, tensor)
            if tensor.numel():
                shapes[name] = as_matrix(tensor.shape)
        for name, owner in self._tied.items():
            if owner in shapes:
                shapes[name] = shapes[owner]
        if not shapes:
            raise SteepError("expected at least one parameter with an element")
        try:
            return compile_text(
                self._spec, self._title, shapes, self._target, self._tied
            )
        except SteepError as error:
            if "matches no parameter" not in str(error) or self._tied:
                raise
            raise SteepError(
                f"{error} (is one tied? Then pass named_parameters("
                "remove_duplicate=False), which has all names)"
            ) from None

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
            self._engine = Engine(self)
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
        _torch_states.check_form(state_dict)
        if not _torch_states.is_own(state_dict):
            state_dict = _torch_states.translate(self, [state_dict])
        _torch_states.check_groups(self, state_dict["param_groups"])
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
        tensors = dict(self._members)
        found = []
        for compiled in self.artefact.parameters:
            tensor = tensors[compiled.name]
            if not compiled.states and tensor.dtype is torch.float32:
                continue
            _parameters.check_shape(compiled.name, tensor, self._shapes[compiled.name])
            state = self.state[tensor]
            if state == {}:
                _parameters.start(state, compiled, tensor)
            _parameters.check_states(state, compiled, tensor)
            found.append((compiled, state))
        return found


@dataclasses.dataclass(frozen=True)
class _Kept:
    """A state on its way through load_state_dict, which casts tensors to the type of
    their parameter, and nothing else."""

    tensor: torch.Tensor


def _keep_states(optimizer: Optimizer, state_dict: dict[str, Any]) -> dict[str, Any]:
    """Also refuses, before anything is replaced, what a step would."""

    def keep(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return _Kept(value.to("cpu", torch.float32))

    states = _torch_states.checked(optimizer, state_dict)
    states = {
        parameter: {name: keep(value) for name, value in state.items()}
        for parameter, state in states.items()
    }
    return {**state_dict, "state": states}
