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
    """Refuses what a step on this machine's CPU cannot update where it is."""
    wrong = None
    if hasattr(parameter, "placements") or getattr(parameter, "_is_flat_param", False):
        wrong = "is a shard, and a geometry needs whole matrices: expected a tensor"
    elif parameter.layout is not torch.strided:
        wrong = f"is sparse ({parameter.layout}): expected a dense tensor"
    elif parameter.is_complex():
        wrong = f"is complex ({parameter.dtype}): expected torch.float32"
    elif parameter.dtype is not torch.float32:
        wrong = f"is {parameter.dtype}: expected torch.float32"
    elif parameter.device.type != "cpu":
        wrong = f"is on {parameter.device}: expected a tensor of the CPU"
    elif not parameter.is_contiguous():
        wrong = f"has strides {parameter.stride()}: expected a contiguous tensor"
    if wrong:
        raise SteepError(f"parameter '{name}' {wrong}")


def dense(name: str, parameter: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """A gradient that is not dense FP32 as it is; else says what is wrong."""
    check(name, parameter)
    if gradient.layout is not torch.strided:
        raise SteepError(
            f"the gradient of '{name}' is sparse ({gradient.layout}): expected a "
            "dense tensor (torch.nn.Embedding with sparse=False)"
        )
    if gradient.dtype is not torch.float32:
        raise SteepError(
            f"the gradient of '{name}' is {gradient.dtype}: expected torch.float32"
        )
    return gradient.contiguous()


def state_shapes(
    compiled: Parameter, parameter: torch.Tensor
) -> dict[str, tuple[int, ...]]:
    own = tuple(parameter.shape)
    return {
        s.name: own if s.shape == compiled.shape else s.shape for s in compiled.states
    }


def start(state: dict[str, Any], compiled: Parameter, parameter: torch.Tensor) -> None:
    """A parameter's states before its first update, as torch.optim keeps them."""
    state["step"] = torch.tensor(0.0, dtype=torch.float32)
    for name, shape in state_shapes(compiled, parameter).items():
        state[name] = torch.zeros(shape, dtype=torch.float32)


def check_states(
    state: dict[str, Any], compiled: Parameter, parameter: torch.Tensor
) -> None:
    """What a state dict brought is what the step writes into."""
    shapes = {"step": (), **state_shapes(compiled, parameter)}
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
