"""State dicts of PyTorch's own optimizers, for specs that average as they do."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from . import _parameters
from ._artefact import Parameter
from ._error import SteepError

if TYPE_CHECKING:
    from .torch import Optimizer

StateDict = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class _Average:
    """A state of PyTorch's, by its name: the convention and its constant."""

    name: str
    convention: str
    beta: float


@dataclasses.dataclass(frozen=True)
class _Saved:
    """A parameter of a state dict: its states and its group."""

    state: Mapping[str, Any]
    group: Mapping[str, Any]


def check_form(state_dict: Any) -> None:
    """Refuses what is not the state dict of an optimizer, such as a model's."""
    parts = (
        (state_dict.get("state"), state_dict.get("param_groups"))
        if isinstance(state_dict, Mapping)
        else (None, None)
    )
    if (
        isinstance(parts[0], Mapping)
        and isinstance(parts[1], (list, tuple))
        and all(isinstance(g, Mapping) and "params" in g for g in parts[1])
    ):
        return
    got = f"a {type(state_dict).__name__}"
    if isinstance(state_dict, Mapping):
        keys = ", ".join(repr(key) for key in list(state_dict)[:3])
        got = f"one with {keys}" if keys else "an empty one"
    raise SteepError(
        "expected the state dict of an optimizer, with 'state' and 'param_groups', got "
        + got
    )


def check_groups(optimizer: Optimizer, saved: Sequence[Mapping[str, Any]]) -> None:
    """The groups of its own state dict have the optimizer's parameters."""
    own = optimizer.param_groups
    if len(saved) != len(own):
        raise SteepError(
            f"the state dict has {len(saved)} groups, expected {len(own)}: "
            f"{', '.join(group['name'] for group in own)}"
        )
    for group, other in zip(own, saved, strict=True):
        _parameters.check_conventions(group, other)
        names, given = group["param_names"], other.get("param_names")
        given = names if given is None else given
        if list(given) != list(names) or len(other["params"]) != len(names):
            raise SteepError(
                f"group '{group['name']}': the state dict has the parameters "
                f"{list(given)}, expected {list(names)}"
            )
        for rate in ("lr", "weight_decay"):
            _parameters.read_rate(group["name"], rate, other.get(rate))


def checked(optimizer: Optimizer, state_dict: StateDict) -> dict[Any, dict[str, Any]]:
    """The states of its own state dict, which a step takes; by PyTorch's numbers."""
    compiled = {p.name: p for p in optimizer.artefact.parameters}
    names = {id(tensor): name for name, tensor in optimizer._members}
    owners = [p for group in optimizer.param_groups for p in group["params"]]
    numbers = [n for group in state_dict["param_groups"] for n in group["params"]]
    states = dict(state_dict["state"])
    for number, owner in zip(numbers, owners, strict=False):
        name = names.get(id(owner))
        if name not in compiled or states.get(number, {}) == {}:
            continue
        state = states[number]
        if isinstance(state, Mapping):
            state = {key: _as_state(key, value) for key, value in state.items()}
            state = _parameters.with_means(state, compiled[name])
        _parameters.check_states(state, compiled[name], owner)
        step = _parameters.read_step(name, state["step"])
        states[number] = {**state, "step": torch.tensor(step, dtype=torch.float32)}
    return states


def _as_state(name: str, value: Any) -> Any:
    """States may have been saved in another floating type, or with strides."""
    if name == "step" or not isinstance(value, torch.Tensor):
        return value
    if not value.is_floating_point() or value.layout is not torch.strided:
        return value
    return value.to("cpu", torch.float32).contiguous()


def is_own(state_dict: StateDict) -> bool:
    """Does it say how its states are averaged, as those of steep.torch do?"""
    return all("conventions" in group for group in state_dict["param_groups"])


def translate(optimizer: Optimizer, state_dicts: Sequence[StateDict]) -> dict[str, Any]:
    """The state dict that `optimizer` would have after what `state_dicts` saw."""
    for state_dict in state_dicts:
        check_form(state_dict)
    named = dict(optimizer._members)
    compiled = {p.name: p for p in optimizer.artefact.parameters}
    saved = _match(optimizer, named, state_dicts)
    states: dict[int, Any] = {}
    groups, index = [], 0
    for number, group in enumerate(optimizer.param_groups):
        options = {key: value for key, value in group.items() if key != "params"}
        first: tuple[str, _Saved] | None = None
        for name in group["param_names"]:
            if name in saved and name in compiled:
                first = first or (name, saved[name])
                _check_rates(group["name"], first, (name, saved[name]))
                counts = optimizer.artefact.groups[number].counts
                state = _convert(compiled[name], named[name], saved[name], counts)
                if state:
                    states[index] = state
            index += 1
        if first:
            rates = ("lr", "weight_decay", "initial_lr")
            options |= {r: first[1].group[r] for r in rates if r in first[1].group}
        count = len(group["params"])
        groups.append({**options, "params": list(range(index - count, index))})
    return {"state": states, "param_groups": groups}


def _match(
    optimizer: Optimizer,
    named: Mapping[str, torch.Tensor],
    state_dicts: Sequence[StateDict],
) -> dict[str, _Saved]:
    """By name where the dicts have names, else by order, which one dict alone can."""
    found: list[tuple[str | None, _Saved]] = []
    for state_dict in state_dicts:
        for group in state_dict["param_groups"]:
            names = group.get("param_names") or [None] * len(group["params"])
            for name, index in zip(names, group["params"], strict=True):
                saved = _Saved(state_dict["state"].get(index, {}), group)
                found.append((name, saved))
    names = [name for name, _ in found]
    if None in names:
        names = _names_by_order(optimizer, named, len(found), len(state_dicts))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SteepError(f"the state dicts have parameter '{twice}' twice")
    for name in names:
        if name not in named:
            raise SteepError(f"the state dict has a parameter '{name}': expected none")
    for name, parameter in named.items():
        if name not in names and parameter.requires_grad and parameter.numel():
            raise SteepError(
                f"the state dict has no parameter '{name}': give the state dicts of "
                "all optimizers to load_torch_state_dicts"
            )
    return dict(zip(names, (saved for _, saved in found), strict=True))


def _names_by_order(
    optimizer: Optimizer, named: Mapping[str, torch.Tensor], count: int, dicts: int
) -> list[str]:
    order = [name for name, _ in optimizer._members]
    trained = [name for name in order if named[name].requires_grad]
    for names in (order, trained):
        if dicts == 1 and len(names) == count:
            return names
    raise SteepError(
        f"the state dicts have {count} parameters without names, the optimizer has "
        f"{len(order)}: expected 'param_names' in their groups, which an optimizer "
        "that is made of named_parameters() writes"
    )


def _check_rates(
    group: str, first: tuple[str, _Saved], other: tuple[str, _Saved]
) -> None:
    for rate in ("lr", "weight_decay"):
        a, b = (saved.group.get(rate) for _, saved in (first, other))
        if a != b:
            raise SteepError(
                f"group '{group}': '{first[0]}' has {rate} {a} in the state dict, but "
                f"'{other[0]}' has {b}: expected one, or groups of their own in the "
                "spec"
            )


def _averages(name: str, group: Mapping[str, Any]) -> list[_Average]:
    """What torch.optim's optimizer with such a group keeps."""

    def refuse(what: str) -> SteepError:
        return SteepError(f"the state dict has '{name}' {what}")

    if group.get("maximize"):
        raise refuse("with maximize=True: expected the averages of gradients")
    if {"betas", "amsgrad"} <= group.keys():  # Adam, AdamW
        if group["amsgrad"]:
            raise refuse("with amsgrad=True, which has a state that the spec has not")
        if not group.get("decoupled_weight_decay", True) and group["weight_decay"]:
            raise refuse(
                "with a weight decay that is in the averages (Adam): expected AdamW's"
            )
        first, second = map(float, group["betas"])
        return [
            _Average("exp_avg", "adam", first),
            _Average("exp_avg_sq", "adam", second),
        ]
    if {"ns_steps", "momentum"} <= group.keys():  # Muon
        return [_Average("momentum_buffer", "ema", float(group["momentum"]))]
    if {"dampening", "momentum"} <= group.keys():  # SGD
        if group["dampening"] or group["weight_decay"]:
            raise refuse(
                "with a dampening or a weight decay that is in the average (SGD): "
                "expected none"
            )
        beta = float(group["momentum"])
        return [_Average("momentum_buffer", "sum", beta)] if beta else []
    raise refuse(
        "in a group that does not say how its states are averaged: expected the state "
        "dict of a steep.torch.Optimizer, or of torch.optim's AdamW, Adam, Muon or SGD"
    )


def _convert(
    compiled: Parameter, parameter: torch.Tensor, saved: _Saved, counts: bool
) -> dict[str, torch.Tensor]:
    """The states of one parameter; none where it has seen no update."""
    name, state = compiled.name, dict(saved.state)
    averages = _averages(name, saved.group)
    averaged = [s for s in compiled.states if not s.is_mean]
    own = {s.name: (s.convention, s.beta) for s in averaged}
    theirs = {a.name: (a.convention, a.beta) for a in averages}
    if own != theirs:
        raise SteepError(
            f"the states of '{name}' are averaged as {theirs} in the state dict, by "
            f"the spec's rule '{compiled.rule}' as {own} (convention, beta): they are "
            "no substitute for each other"
        )
    if not state:
        return {}
    step = state.pop("step", None)
    if step is None and counts:
        raise SteepError(
            f"the state dict has no 'step' of '{name}', which the spec's rule "
            f"'{compiled.rule}' reads"
        )
    if state.keys() != own.keys():
        raise SteepError(
            f"the state dict has the states {sorted(state)} of '{name}', expected "
            f"{sorted(own)}"
        )
    for key, value in state.items():
        if value.shape != parameter.shape:
            raise SteepError(
                f"state '{key}' of '{name}' is {tuple(value.shape)} in the state dict, "
                f"expected {tuple(parameter.shape)}"
            )
    full = {
        key: value.to("cpu", torch.float32).contiguous().clone()
        for key, value in state.items()
    }
    if parameter.dtype is torch.bfloat16:
        full[_parameters.MASTER] = parameter.detach().float().contiguous()
    full = _parameters.with_means(full, compiled)
    return {"step": torch.tensor(float(step or 0.0)), **full}
