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


def is_own(state_dict: StateDict) -> bool:
    """Does it say how its states are averaged, as those of steep.torch do?"""
    return all("conventions" in group for group in state_dict["param_groups"])


def translate(optimizer: Optimizer, state_dicts: Sequence[StateDict]) -> dict[str, Any]:
    """The state dict that `optimizer` would have after what `state_dicts` saw."""
    named = dict(optimizer._named())
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
    order = optimizer._order
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
    own = {s.name: (s.convention, s.beta) for s in compiled.states}
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
    return {"step": torch.tensor(float(step or 0.0)), **full}
