"""States of a torch optimizer in the file that `steep-train` writes and reads.

optimizer.safetensors holds PARAM.STATE for every state, and PARAM.step, the number of
updates, as FP32 of rank 0; its metadata says how each state is averaged. PARAM.master
is the FP32 master of a BF16 weight. `steep-train` takes it for the weight, but has
FP32 weights itself: what it writes has them in model.safetensors alone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from ._artefact import Parameter, is_count
from ._error import SteepError
from ._parameters import MASTER

if TYPE_CHECKING:
    from .torch import Optimizer


def conventions(optimizer: Optimizer) -> dict[str, str]:
    return {
        f"convention.{p.name}.{s.name}": s.convention
        for p in optimizer.artefact.parameters
        for s in p.states
        if s.convention
    }


def save(optimizer: Optimizer, path: str | os.PathLike[str]) -> None:
    """A parameter that has seen no update has zeros and step 0."""
    tensors: dict[str, torch.Tensor] = {}
    for compiled, state in optimizer._states_by_name():
        for name, tensor in _saved(compiled, state):
            # `step`s are elements of one tensor, which the format does not have.
            tensors[f"{compiled.name}.{name}"] = (
                tensor.clone() if name == "step" else tensor
            )
    # Written beside and renamed: a reader may have the old one mapped.
    temporary = f"{os.fspath(path)}.tmp-{os.getpid()}"
    try:
        if os.path.isdir(path):
            raise SteepError(f"cannot write {path}: it is a folder")
        save_file(tensors, temporary, metadata=conventions(optimizer))
        os.replace(temporary, path)
    except (OSError, SafetensorError) as error:
        raise SteepError(f"cannot write {path}: {_reason(path, error)}") from None
    finally:
        with contextlib.suppress(OSError):
            os.remove(temporary)


def _reason(path: str | os.PathLike[str], error: Exception) -> str:
    """What the system or the format has against a file."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        return f"there is no folder {folder}"
    text = getattr(error, "strerror", None) or str(error)
    return " ".join(text.split())


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Opened for reading; errors name the file."""
    try:
        if os.path.isdir(path):
            raise SteepError(f"cannot read {path}: it is a folder")
        file = safe_open(os.fspath(path), framework="pt")
    except (OSError, SafetensorError) as error:
        raise SteepError(f"cannot read {path}: {_reason(path, error)}") from None
    with file as opened:
        yield opened


def _saved(
    compiled: Parameter, state: dict[str, torch.Tensor]
) -> list[tuple[str, torch.Tensor]]:
    """The number of updates stands beside the states that it is of."""
    return [item for item in state.items() if compiled.states or item[0] != "step"]


def load(
    optimizer: Optimizer,
    path: str | os.PathLike[str],
    masters: str | os.PathLike[str] | None = None,
) -> None:
    """Everything is checked before the first state is written."""
    with contextlib.ExitStack() as files:
        file = files.enter_context(_opened(path))
        model = masters and files.enter_context(_opened(masters))
        metadata = file.metadata() or {}
        for key, expected in conventions(optimizer).items():
            if expected == "mean" and key not in metadata:
                continue
            if metadata.get(key) != expected:
                raise SteepError(
                    f"{path}: its metadata says {metadata.get(key)} for "
                    f"'{key.partition('.')[2]}', but the spec averages it as {expected}"
                )
        # Mean rows may be missing, or another artefact's.
        left = {k for k in file.keys() if metadata.get(f"convention.{k}") != "mean"}
        means = {
            f"{p.name}.{s.name}"
            for p in optimizer.artefact.parameters
            for s in p.states
            if s.is_mean
        }
        wanted: list[tuple[torch.Tensor, torch.Tensor]] = []
        for compiled, state in optimizer._states_by_name():
            for name, tensor in _saved(compiled, state):
                key, place, source = f"{compiled.name}.{name}", path, file
                if name == MASTER and model and key not in left:
                    key, place, source = compiled.name, masters, model
                if key in means and key not in file.keys():
                    wanted.append((tensor, torch.zeros_like(tensor)))
                    continue
                if key not in source.keys():
                    raise SteepError(_missing(place, key, name))
                left.discard(f"{compiled.name}.{name}")
                given = source.get_tensor(key)
                if (given.shape, given.dtype) != (tensor.shape, tensor.dtype):
                    raise SteepError(
                        f"{place}: '{key}' is {given.dtype} {tuple(given.shape)}, "
                        f"expected {tensor.dtype} {tuple(tensor.shape)}"
                    )
                if name == "step" and not is_count(given.item()):
                    raise SteepError(
                        f"{place}: '{key}' is {given.item()}, expected a whole number "
                        "of updates"
                    )
                wanted.append((tensor, given))
        if left:
            raise SteepError(f"{path}: the optimizer has no tensor '{min(left)}'")
        for tensor, given in wanted:
            tensor.copy_(given)


def _missing(path: object, key: str, name: str) -> str:
    hint = ""
    if name == MASTER:
        hint = (
            ", the FP32 master of a BF16 weight; where another file has FP32 weights, "
            "give it as `masters`"
        )
    return f"{path}: the tensor '{key}' is missing{hint}"
