"""steep.optax.transform: a GradientTransformation, beside optax's own."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import steep
import steep.optax

SHAPES = {"square": (48, 48), "tall": (96, 32), "wide": (24, 80)}
STEPS = 20


def make_params():
    keys = jax.random.split(jax.random.key(0), len(SHAPES))
    return {
        name: 0.05 * jax.random.normal(key, shape)
        for key, (name, shape) in zip(keys, SHAPES.items(), strict=True)
    }


def gradients_at(step):
    keys = jax.random.split(jax.random.key(step + 1), len(SHAPES))
    return {
        name: 10.0 ** (step % 3 - 2) * jax.random.normal(key, shape)
        for key, (name, shape) in zip(keys, SHAPES.items(), strict=True)
    }


def run(optimizer, steps=STEPS, jit=True):
    params = make_params()
    state = optimizer.init(params)

    def step(params, state, gradients):
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state

    step = jax.jit(step, donate_argnums=(0, 1)) if jit else step
    for i in range(steps):
        params, state = step(params, state, gradients_at(i))
    return params, state


def assert_close(params, expected, tolerance=1e-5):
    for name in SHAPES:
        a, b = np.asarray(params[name], "d"), np.asarray(expected[name], "d")
        error = np.linalg.norm(a - b) / np.linalg.norm(b)
        assert error <= tolerance, f"{name}: {error:.2e}"


def test_adamw(inputs):
    params, state = run(steep.optax.transform(inputs / "adamw.mlir"))
    expected, theirs = run(optax.adamw(1e-3, weight_decay=0.01))
    assert_close(params, expected)
    adam = theirs[0]
    assert int(state.count) == int(adam.count) == STEPS
    averages = {name: state.states[name]["exp_avg"] for name in SHAPES}
    assert_close(averages, adam.mu)


def test_muon(inputs):
    params, state = run(steep.optax.transform(inputs / "optax_muon.mlir"))
    theirs = optax.contrib.muon(2e-2, weight_decay=0.1)
    expected, other = run(theirs)
    assert_close(params, expected)
    momenta = {name: state.states[name]["momentum_buffer"] for name in SHAPES}
    assert_close(momenta, other.inner_states["muon"].inner_state[0].mu)


def test_jit_changes_no_bit(specs):
    optimizer = steep.optax.transform(specs / "muon.mlir")
    jitted, _ = run(optimizer, 3)
    plain, _ = run(optimizer, 3, jit=False)
    for name in SHAPES:
        assert jnp.array_equal(jitted[name], plain[name]), name


def test_arguments_are_not_written(inputs):
    """Without donation XLA copies what the step updates in place."""
    optimizer = steep.optax.transform(inputs / "adamw.mlir")
    params, state = make_params(), None
    state = optimizer.init(params)
    gradients = gradients_at(0)
    before = jax.tree.map(np.array, (params, state, gradients))
    updates, after = jax.jit(optimizer.update)(gradients, state, params)
    jax.tree.map(np.testing.assert_array_equal, before, (params, state, gradients))
    assert int(after.count) == 1
    assert all(jnp.any(u != 0) for u in updates.values())


def test_chain_and_accumulation(inputs):
    """Behind a clip, scaled, and under optax.MultiSteps."""
    adamw = optax.adamw(1e-3, weight_decay=0.01)
    own = steep.optax.transform(inputs / "adamw.mlir")
    chains = [
        optax.chain(optax.clip_by_global_norm(0.5), inner, optax.scale(0.5))
        for inner in (own, adamw)
    ]
    assert_close(run(chains[0])[0], run(chains[1])[0])
    steps = [optax.MultiSteps(inner, every_k_schedule=2) for inner in (own, adamw)]
    assert_close(run(steps[0])[0], run(steps[1])[0])


def test_rates(inputs):
    schedule = optax.linear_schedule(0.0, 1e-2, 10)
    spec = inputs / "adamw.mlir"
    params, _ = run(steep.optax.transform(spec, learning_rate=schedule))
    expected, _ = run(optax.adamw(schedule, weight_decay=0.01))
    assert_close(params, expected)
    named = steep.optax.transform(
        spec, learning_rate={"all": 1e-2}, weight_decay={"all": 0.1}
    )
    assert_close(run(named)[0], run(optax.adamw(1e-2, weight_decay=0.1))[0])
    with pytest.raises(steep.SteepError, match="no group.*'none'.*'all'"):
        run(steep.optax.transform(spec, learning_rate={"none": 1.0}), 1)
    live = optax.inject_hyperparams(steep.optax.transform)(
        spec, learning_rate=1e-2, weight_decay=0.1
    )
    state = live.init(make_params())
    state.hyperparams["learning_rate"] = jnp.float32(0)
    state.hyperparams["weight_decay"] = jnp.float32(0)
    updates, _ = live.update(gradients_at(0), state, make_params())
    assert not any(jnp.any(u != 0) for u in updates.values())


def test_the_schedule_of_the_spec(specs):
    spec = specs / "muon.mlir"
    scheduled = steep.optax.transform(spec, total_steps=20)
    state = scheduled.init(make_params())
    update = jax.jit(scheduled.update)
    updates, state = update(gradients_at(0), state, make_params())
    assert not any(jnp.any(u != 0) for u in updates.values())  # rate 0
    half = steep.optax.transform(spec, learning_rate=1e-2)
    by_hand, _ = half.update(gradients_at(1), state, make_params())
    updates, _ = update(gradients_at(1), state, make_params())
    jax.tree.map(np.testing.assert_array_equal, updates, by_hand)


def test_names_vectors_and_types(inputs):
    params = {
        "layers": [{"w": jnp.ones((4, 3)), "b": jnp.ones(3, jnp.bfloat16)}],
        "scale": jnp.ones(()),
    }
    assert steep.optax.names(params) == ["layers.0.b", "layers.0.w", "scale"]
    optimizer = steep.optax.transform(inputs / "adamw.mlir")
    state = optimizer.init(params)
    assert state.states["layers.0.b"]["exp_avg"].shape == (3,)
    gradients = jax.tree.map(lambda p: jnp.full_like(p, 0.25), params)
    updates, state = jax.jit(optimizer.update)(gradients, state, params)
    assert jax.tree.map(jnp.shape, updates) == jax.tree.map(jnp.shape, params)
    assert updates["layers"][0]["b"].dtype == jnp.bfloat16
    np.testing.assert_allclose(updates["scale"], -1e-3 - 1e-5, rtol=1e-5)


def test_a_gradient_that_is_not_finite(inputs):
    spec = (inputs / "adamw.mlir").read_text()
    optimizer = steep.optax.transform(spec)
    params = make_params()
    state = optimizer.init(params)
    _, state = optimizer.update(gradients_at(0), state, params)
    bad = gradients_at(1)
    bad["tall"] = bad["tall"].at[3, 4].set(jnp.nan)
    updates, after = jax.jit(optimizer.update)(bad, state, params)
    assert not any(jnp.any(u != 0) for u in updates.values())
    jax.tree.map(np.testing.assert_array_equal, after, state)
    strict = spec.replace("@torch_adamw {", "@strict nonfinite(error) {")
    with pytest.raises(Exception, match="gradient of .*tall.* is not finite"):
        jax.block_until_ready(steep.optax.transform(strict).update(bad, state, params))


def test_what_cannot_be_served_is_refused_by_name(inputs):
    optimizer = steep.optax.transform(inputs / "adamw.mlir")
    with pytest.raises(steep.SteepError, match="'a.w' is complex64"):
        optimizer.init({"a": {"w": jnp.ones((2, 2), jnp.complex64)}})
    with pytest.raises(steep.SteepError, match="'n' is int32"):
        optimizer.init({"n": jnp.ones((2, 2), jnp.int32)})
    with pytest.raises(steep.SteepError, match="'e' has no element"):
        optimizer.init({"e": jnp.ones((0, 2))})
    params = make_params()
    state = optimizer.init(params)
    with pytest.raises(steep.SteepError, match="expected the parameters"):
        optimizer.update(params, state)
    with pytest.raises(steep.SteepError, match="but parameters are"):
        optimizer.update({"square": params["square"]}, state, params)


def test_shards_are_refused(inputs):
    """In a process that shows two devices."""
    import subprocess
    import sys

    program = """
import jax, jax.numpy as jnp, steep, steep.optax, sys
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(jax.devices(), ("x",))
w = jax.device_put(jnp.ones((4, 4)), NamedSharding(mesh, P("x")))
try:
    steep.optax.transform(sys.argv[1]).init({"w": w})
except steep.SteepError as error:
    print(error)
"""
    result = subprocess.run(
        [sys.executable, "-c", program, str(inputs / "adamw.mlir")],
        capture_output=True,
        text=True,
        check=True,
        env={
            **__import__("os").environ,
            "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
        },
    )
    assert "parameter 'w' is spread over devices" in result.stdout


# --- refusals ------------------------------------------------------------------


def refuses(message, function, *arguments, **options):
    with pytest.raises(steep.SteepError, match=message) as raised:
        function(*arguments, **options)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("jit", [False, True])
def test_gradients_of_another_shape_or_kind(inputs, jit):
    optimizer = steep.optax.transform(inputs / "adamw.mlir")
    params = make_params()
    state = optimizer.init(params)
    update = jax.jit(optimizer.update) if jit else optimizer.update

    def refused(message, change):
        gradients = {**params, "tall": change(params["tall"])}
        refuses(f"^gradient of 'tall' is {message}", update, gradients, state, params)

    refused(r"\(32, 96\): expected \(96, 32\)", lambda g: g.T)
    refused(r"\(3072,\): expected \(96, 32\)", lambda g: g.ravel())
    refused(r"\(1, 96, 32\): expected \(96, 32\)", lambda g: g[None])
    refused(r"\(95, 32\): expected \(96, 32\)", lambda g: g[1:])
    refused("complex64: expected", lambda g: g.astype(jnp.complex64))
    refused("int32: expected", lambda g: g.astype(jnp.int32))
    refused("bool: expected", lambda g: g > 0)


def test_states_that_are_not_those_of_the_parameters(inputs):
    optimizer = steep.optax.transform(inputs / "adamw.mlir")
    params = make_params()

    def refused(message, change):
        state = optimizer.init(params)
        refuses(message, optimizer.update, params, change(state), params)

    def changed(change):
        return lambda state: state._replace(
            states={
                **state.states,
                "tall": {
                    **state.states["tall"],
                    "exp_avg": change(state.states["tall"]["exp_avg"]),
                },
            }
        )

    begin = r"^state 'exp_avg' of 'tall': expected float32 of shape \(96, 32\), got "
    refused(begin + r"float32 of shape \(32, 96\)", changed(lambda t: t.T))
    refused(begin + "bfloat16", changed(lambda t: t.astype(jnp.bfloat16)))
    refused(begin + "none", changed(lambda t: None))
    refused("nothing of 'square'", lambda state: state._replace(states={}))
    refused("state is tuple: expected", lambda _: optax.adamw(1.0).init(params))
    refused("state is NoneType: expected", lambda _: None)


def test_names_that_collide(inputs):
    params = {"a.b": jnp.ones((2, 2)), "a": {"b": jnp.ones((2, 2))}}
    optimizer = steep.optax.transform(inputs / "adamw.mlir")
    refuses(r"two parameters are called 'a.b': .*\['a.b'\]", optimizer.init, params)


def test_rates_and_totals_are_checked_where_they_are_given(inputs):
    spec = inputs / "adamw.mlir"
    for value in (-1.0, float("nan"), float("inf"), 1e300, "1", [1.0], jnp.nan):
        for which in ("learning_rate", "weight_decay"):
            refuses(f"^{which} is", steep.optax.transform, spec, **{which: value})
            named = {which: {"all": value}}
            refuses(f"^{which} of group 'all' is", steep.optax.transform, spec, **named)
    for total in (0, -3, "20", 1.5):
        refuses("total_steps is", steep.optax.transform, spec, total_steps=total)
    params = make_params()
    misspelt = steep.optax.transform(spec, learning_rate={"al": 1.0})
    refuses(r"no group \['al'\]: expected some of \['all'\]", misspelt.init, params)
    late = steep.optax.transform(spec, learning_rate=lambda count: float("nan"))
    refuses("learning_rate is nan", late.update, params, late.init(params), params)
    # What a trace makes of it is known to the step alone.
    traced = steep.optax.transform(spec, learning_rate=lambda t: jnp.log(-1.0 - t))
    update = jax.jit(traced.update)
    with pytest.raises(jax.errors.JaxRuntimeError, match="lr of group all: expected"):
        jax.block_until_ready(update(params, traced.init(params), params))
    refuses("spec is NoneType", steep.optax.transform, None)
