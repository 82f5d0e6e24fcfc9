"""A compiled spec as an `optax.GradientTransformation`.

    optimizer = steep.optax.transform("paper.mlir", total_steps=1000)
    state = optimizer.init(params)
    updates, state = optimizer.update(gradients, state, params)

It works under `jax.jit` and in `optax.chain`, on CPUs. The step is a function of the
artefact that XLA calls (`jax.ffi`); states are updated in place where they are donated.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ._artefact import Artefact, Group, as_matrix, check_total, is_rate
from ._compile import compile_text, read_spec
from ._error import SteepError

__all__ = ["State", "names", "transform"]

Rate = float | jax.Array
Rates = Rate | Mapping[str, Rate] | Callable[[jax.Array], Any] | None

_TYPES = (jnp.float32, jnp.bfloat16, jnp.float16)


class State(NamedTuple):
    """Updates applied so far, and by parameter its states under PyTorch's names."""

    count: jax.Array
    states: dict[str, dict[str, jax.Array]]


def transform(
    spec: str | os.PathLike[str],
    *,
    learning_rate: Rates = None,
    weight_decay: Rates = None,
    total_steps: int | None = None,
    target: str = "native",
) -> optax.GradientTransformation:
    """What `spec` does to parameters, whose names are their paths joined by dots.

    `learning_rate` and `weight_decay` override the spec's defaults: a number, numbers
    by the group's name, or a function of the count of updates that gives either. With
    `total_steps` the spec's schedule multiplies the rates. Parameters and gradients are
    FP32, BF16 or FP16; the arithmetic and the states are FP32. A gradient that is not
    finite gives zero updates and counts as none, or is an error, as the spec wants.

    Raises SteepError, which names the parameter, for what it cannot serve.
    """
    text, title = read_spec(spec)
    for which, given in (
        ("learning_rate", learning_rate),
        ("weight_decay", weight_decay),
    ):
        if not callable(given):
            _check_rates(which, given)
    if total_steps is not None:
        check_total(total_steps, "total_steps")

    def artefact_of(params: optax.Params) -> Artefact:
        leaves = _named_leaves(params)
        if not leaves:
            raise SteepError("expected at least one parameter")
        shapes = tuple((name, as_matrix(leaf.shape)) for name, leaf in leaves)
        return _compile(text, title, shapes, target)

    def init(params: optax.Params) -> State:
        artefact = artefact_of(params)
        for given in (learning_rate, weight_decay):
            _check_groups(given, artefact)
        leaves = dict(_named_leaves(params))
        states = {
            p.name: {
                s.name: jnp.zeros(
                    leaves[p.name].shape if s.shape == p.shape else s.shape
                )
                for s in p.states
            }
            for p in artefact.parameters
        }
        return State(jnp.zeros((), jnp.int32), states)

    def update(
        updates: optax.Updates, state: State, params: optax.Params | None = None
    ) -> tuple[optax.Updates, State]:
        if params is None:
            raise SteepError("update: expected the parameters as its third argument")
        artefact = artefact_of(params)
        _check_state(state, artefact, dict(_named_leaves(params)))
        factor = _factor(artefact, total_steps, state.count)
        lr = _rates("learning_rate", learning_rate, artefact, state.count) * factor
        wd = _rates("weight_decay", weight_decay, artefact, state.count)
        return _step(artefact, updates, state, params, lr, wd)

    return optax.GradientTransformation(init, update)


def names(params: optax.Params) -> list[str]:
    """The names that a spec's patterns are matched against."""
    return [name for name, _ in _named_leaves(params)]


# --- parameters ----------------------------------------------------------------


def _named_leaves(params: optax.Params) -> list[tuple[str, Any]]:
    leaves = jax.tree_util.tree_flatten_with_path(params)[0]
    named = [(".".join(map(_key, path)), leaf) for path, leaf in leaves]
    paths: dict[str, Any] = {}
    for (name, leaf), (path, _) in zip(named, leaves, strict=True):
        if name in paths:
            here, there = (jax.tree_util.keystr(p) for p in (path, paths[name]))
            raise SteepError(
                f"two parameters are called '{name}': {there} and {here}; expected "
                "paths that differ when joined by dots"
            )
        paths[name] = path
        _check(name, leaf)
    return named


def _key(key: Any) -> str:
    for attribute in ("key", "name", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def _check(name: str, leaf: Any) -> None:
    dtype = getattr(leaf, "dtype", None)
    if dtype not in _TYPES:
        raise SteepError(
            f"parameter '{name}' is {dtype or type(leaf).__name__}: expected an array "
            "of float32, bfloat16 or float16"
        )
    if not leaf.size:
        raise SteepError(f"parameter '{name}' has no element: leave it out")
    if isinstance(leaf, jax.core.Tracer) or not isinstance(leaf, jax.Array):
        return
    if not leaf.sharding.is_fully_replicated:
        raise SteepError(
            f"parameter '{name}' is spread over devices ({leaf.sharding}), and a "
            "geometry needs whole matrices: expected a replicated array"
        )


def _check_gradient(name: str, gradient: Any, shape: tuple[int, ...]) -> None:
    dtype = getattr(gradient, "dtype", None)
    if dtype is None or not jnp.issubdtype(dtype, jnp.floating):
        raise SteepError(
            f"gradient of '{name}' is {dtype or type(gradient).__name__}: expected an "
            "array of a floating type"
        )
    if gradient.shape != shape:
        raise SteepError(f"gradient of '{name}' is {gradient.shape}: expected {shape}")


def _check_state(state: Any, artefact: Artefact, leaves: dict[str, Any]) -> None:
    """A state is that of `init` for these parameters."""
    if not (hasattr(state, "count") and isinstance(getattr(state, "states", 0), dict)):
        raise SteepError(
            f"update: the state is {type(state).__name__}: expected the "
            "steep.optax.State that init gives"
        )
    for p in artefact.parameters:
        given = state.states.get(p.name)
        if p.states and not isinstance(given, Mapping):
            raise SteepError(
                f"update: the state has nothing of '{p.name}': expected the state that "
                "init gives for these parameters"
            )
        for s in p.states:
            shape = leaves[p.name].shape if s.shape == p.shape else s.shape
            array = given.get(s.name)
            got = (getattr(array, "shape", None), getattr(array, "dtype", None))
            if got != (shape, jnp.float32):
                is_array = None not in got
                what = f"{got[1]} of shape {got[0]}" if is_array else "none"
                raise SteepError(
                    f"state '{s.name}' of '{p.name}': expected float32 of shape "
                    f"{shape}, got {what}"
                )


@functools.cache
def _compile(
    text: str, title: str, shapes: tuple[tuple[str, tuple[int, ...]], ...], target: str
) -> Artefact:
    """Once in a process, and registered with XLA."""
    artefact = compile_text(text, title, dict(shapes), target, {})
    handler = artefact.entry("xla_step")
    capsule = jax.ffi.pycapsule(ctypes.cast(handler, ctypes.c_void_p).value)
    jax.ffi.register_ffi_target(_target(artefact), capsule, platform="cpu")
    return artefact


def _target(artefact: Artefact) -> str:
    """The name of its step in XLA: that of its place in the cache."""
    return f"steep_{artefact.name}_{artefact.folder.parent.name}"


# --- numbers of a step ---------------------------------------------------------


def _factor(artefact: Artefact, total: int | None, count: jax.Array) -> jax.Array:
    """The spec's schedule, as a table: the very numbers of Artefact.schedule."""
    if total is None:
        return jnp.float32(1)
    factor = artefact.schedule(total)
    table = np.array([factor(t) for t in range(total)], np.float32)
    return jnp.asarray(table)[jnp.minimum(count, total - 1)]


def _check_rates(which: str, given: Any) -> None:
    """Numbers are finite and not negative; those of a trace are not known."""
    for group, value in given.items() if isinstance(given, Mapping) else [("", given)]:
        if value is None or isinstance(value, jax.core.Tracer):
            continue
        good = False
        with contextlib.suppress(TypeError, ValueError):
            number = np.asarray(value)
            if number.shape == () and number.dtype.kind in "fiu" or _is_half(number):
                good = is_rate(float(number))
        if not good:
            where = f" of group '{group}'" if group else ""
            raise SteepError(
                f"{which}{where} is {value!r}: expected a finite number that is not "
                "negative"
            )


def _is_half(number: np.ndarray) -> bool:
    return number.shape == () and number.dtype == jnp.bfloat16


def _check_groups(given: Any, artefact: Artefact) -> None:
    known = {group.name for group in artefact.groups}
    if isinstance(given, Mapping) and not known.issuperset(given):
        raise SteepError(
            f"there is no group {sorted(set(given) - known)}: expected some of "
            f"{sorted(known)}"
        )


def _rates(which: str, given: Rates, artefact: Artefact, count: jax.Array) -> jax.Array:
    if callable(given):
        given = given(count)
        _check_rates(which, given)
    _check_groups(given, artefact)

    def choose(group: Group) -> Any:
        default = group.lr if which == "learning_rate" else group.wd
        value = given.get(group.name) if isinstance(given, Mapping) else given
        return default if value is None else value

    rates = [jnp.asarray(choose(g), jnp.float32) for g in artefact.groups]
    return jnp.stack(rates)


# --- the step ------------------------------------------------------------------


def _step(
    artefact: Artefact,
    gradients: optax.Updates,
    state: State,
    params: optax.Params,
    lr: jax.Array,
    wd: jax.Array,
) -> tuple[optax.Updates, State]:
    leaves, tree = jax.tree.flatten(params)
    if jax.tree.structure(gradients) != tree:
        raise SteepError(
            f"update: gradients are {jax.tree.structure(gradients)}, but parameters "
            f"are {tree}"
        )
    compiled = artefact.parameters
    for p, leaf, gradient in zip(
        compiled, leaves, jax.tree.leaves(gradients), strict=True
    ):
        _check_gradient(p.name, gradient, leaf.shape)
    weights = _matrices(leaves, compiled)
    grads = _matrices(jax.tree.leaves(gradients), compiled)
    wanted = [(p, s) for p in compiled for s in p.states]
    states = [state.states[p.name][s.name].reshape(s.shape) for p, s in wanted]
    count = len(compiled)
    workspace = artefact.entry("xla_workspace_bytes", ctypes.c_uint64)()
    results = [
        *(jax.ShapeDtypeStruct(p.shape, jnp.float32) for p in compiled),
        *(jax.ShapeDtypeStruct(s.shape, jnp.float32) for _, s in wanted),
        jax.ShapeDtypeStruct((), jnp.int32),
        jax.ShapeDtypeStruct((workspace,), jnp.uint8),
    ]
    shared = {2 * count + i: count + i for i in range(len(states))}
    call = jax.ffi.ffi_call(_target(artefact), results, input_output_aliases=shared)
    out = call(*weights, *grads, *states, lr, wd, state.count.astype(jnp.int32))
    updates = [
        u.reshape(leaf.shape).astype(leaf.dtype)
        for u, leaf in zip(out[:count], leaves, strict=True)
    ]
    new: dict[str, dict[str, jax.Array]] = {p.name: {} for p in compiled}
    for (p, s), value in zip(wanted, out[count:-2], strict=True):
        old = state.states[p.name][s.name]
        new[p.name][s.name] = value.reshape(old.shape)
    return jax.tree.unflatten(tree, updates), State(out[-2], new)


def _matrices(leaves: list[Any], compiled: Any) -> list[jax.Array]:
    return [
        jnp.asarray(leaf, jnp.float32).reshape(p.shape)
        for leaf, p in zip(leaves, compiled, strict=True)
    ]
