"""What the torch wrapper asks of parameters, gradients, states and rates."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from ._artefact import Artefact, Parameter, is_count, is_rate
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
            groups = ": groups are the spec's" if isinstance(pair, dict) else ""
            raise SteepError(
                "expected pairs of name and tensor, as model.named_parameters() gives, "
                f"got {type(pair).__name__}{groups}"
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


def check_new(
    members: list[tuple[str, torch.Tensor]],
    ties: Mapping[str, str],
    named: list[tuple[str, torch.Tensor]],
    tied: Mapping[str, str],
) -> None:
    """Refuses parameters, and tied names, of which the optimizer has one already."""
    names = {name for name, _ in members} | ties.keys()
    owners = {id(tensor): name for name, tensor in members}
    for name, tensor in named:
        if id(tensor) in owners and owners[id(tensor)] != name:
            raise SteepError(
                f"parameter '{owners[id(tensor)]}' comes twice, once more as '{name}'"
            )
    for name in [name for name, _ in named] + list(tied):
        if name in names:
            raise SteepError(f"parameter '{name}' comes twice")


def check_threads(threads: int | None) -> None:
    if threads is None:
        return
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise SteepError(
            f"threads is {threads!r}: expected a whole number, at least 1, or None for "
            "PyTorch's"
        )


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


def check_shape(name: str, parameter: torch.Tensor, shape: tuple[int, ...]) -> None:
    """A parameter's shape is that which the optimizer was made for."""
    if parameter.shape != shape:
        raise SteepError(
            f"parameter '{name}' is {tuple(parameter.shape)}: compiled for "
            f"{tuple(shape)}"
        )


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


def with_means(state: dict[str, Any], compiled: Parameter) -> dict[str, Any]:
    """Saved states with the mean rows of this artefact, which may be another's: steps
    compute those that are zeros."""
    own = {s.name: s for s in compiled.states}
    foreign = {f"{name}_mean" for name in own} - own.keys()
    kept = {name: value for name, value in state.items() if name not in foreign}
    missing = [s for s in own.values() if s.is_mean and s.name not in state]
    return kept | {s.name: torch.zeros(s.shape) for s in missing}


def check_states(
    state: Any, compiled: Parameter, parameter: torch.Tensor
) -> dict[str, tuple[int, ...]]:
    """What a state dict or a trainer left is what the step writes into. Returns the
    shapes of all but `step`."""
    if not isinstance(state, Mapping):
        raise SteepError(
            f"state of '{compiled.name}': expected a dict of its states by name, got "
            f"{type(state).__name__}"
        )
    shapes = state_shapes(compiled, parameter)
    if MASTER in state and MASTER not in shapes:
        raise SteepError(
            f"state '{MASTER}' of '{compiled.name}': expected none, since the weight "
            f"is {parameter.dtype} itself"
        )
    read_step(compiled.name, state.get("step"))
    for name, shape in shapes.items():
        tensor = state.get(name)
        if (
            not isinstance(tensor, torch.Tensor)
            or tuple(tensor.shape) != shape
            or tensor.dtype is not torch.float32
            or tensor.layout is not torch.strided
            or tensor.device.type != "cpu"
            or not tensor.is_contiguous()
            or tensor.is_neg()
        ):
            got = _describe(tensor) if name in state else "none"
            raise SteepError(
                f"state '{name}' of '{compiled.name}': expected a contiguous FP32 "
                f"tensor of shape {shape}, got {got}"
            )
    return shapes


def _describe(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    text = f"{value.dtype} of shape {tuple(value.shape)}"
    if value.layout is not torch.strided:
        return f"{text}, {value.layout}"
    if value.device.type != "cpu":
        return f"{text} on {value.device}"
    if not value.is_contiguous():
        return f"{text} with strides {value.stride()}"
    return text


def read_step(name: str, value: Any) -> float:
    """The number of updates that a parameter has seen."""
    number = value
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        number = value.item()
    if isinstance(number, (int, float)) and is_count(number):
        return float(number)
    got = _describe(value) if number is value else number
    if value is None or isinstance(value, (int, float)):
        got = "none" if value is None else value
    raise SteepError(
        f"state 'step' of '{name}': expected a whole number of updates, got {got}"
    )


# --- groups and rates ----------------------------------------------------------

def read_rate(group: str, rate: str, value: Any) -> float:
    """A group's `lr` or `weight_decay`."""
    number = float("nan")
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        number = float(value.detach())
    elif not isinstance(value, (str, torch.Tensor)):
        with contextlib.suppress(TypeError, ValueError):
            number = float(value)
    if is_rate(number):
        return max(number, 0.0)
    got = "missing" if value is None else repr(value)
    raise SteepError(
        f"group '{group}': {rate} is {got}: expected a finite number that is not "
        "negative"
    )


def choose(given: Rates, group: str, rate: str, default: float) -> float:
    """What is given for a group's `rate`."""
    value = given.get(group, default) if isinstance(given, Mapping) else given
    if value is None:
        return default
    read_rate(group, rate, value)
    return value


def check_rates(lr: Rates, weight_decay: Rates, artefact: Artefact) -> None:
    names = [group.name for group in artefact.groups]
    for rates in (lr, weight_decay):
        for name in rates if isinstance(rates, Mapping) else ():
            if name not in names:
                raise SteepError(
                    f"there is no group '{name}': expected one of {', '.join(names)}"
                )


def match_groups(
    groups: list[dict[str, Any]],
    members: list[tuple[str, torch.Tensor]],
    artefact: Artefact,
) -> list[int]:
    """The spec's groups that `param_groups` are, by the parameters that they hold."""
    numbers = {p.name: p.group for p in artefact.parameters}
    homes = {id(tensor): numbers.get(name, 0) for name, tensor in members}
    names = {id(tensor): name for name, tensor in members}
    spec = [group.name for group in artefact.groups]
    found: list[int] = []
    for group in groups:
        held = list(map(id, group["params"]))
        if not held and group.get("name") in spec:
            found.append(spec.index(group["name"]))
            continue
        number = homes.get(held[0], -1) if held else -1
        for key in held:
            if key not in homes:
                raise _moved(f"'{group.get('name')}' has one that has no name")
            if homes[key] != number or held.count(key) > 1:
                raise _moved(
                    f"'{names[key]}' is in '{group.get('name')}', and is of "
                    f"'{spec[homes[key]]}'"
                )
        found.append(number)
    present = {id(p) for group in groups for p in group["params"]}
    for key, name in names.items():
        if key not in present:
            raise _moved(f"'{name}' is gone")
    if sorted(found) != list(range(len(spec))):
        raise _moved(f"there are {len(found)} groups instead of {', '.join(spec)}")
    return found


def _moved(what: str) -> SteepError:
    return SteepError(
        f"param_groups: expected the parameters where the spec has them, but {what} "
        "(add_param_group adds parameters)"
    )


def conventions(artefact: Artefact, group: int) -> dict[str, str]:
    """How the states of a group's rule are averaged."""
    return {
        s.name: s.convention
        for p in artefact.parameters
        if p.group == group
        for s in p.states
        if not s.is_mean
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
