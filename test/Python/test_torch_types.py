"""BF16 and strided weights and gradients: the bits are those of dense FP32 tensors."""

import copy
import io

import pytest
import steep
import steep.torch
import torch

STEPS = 5
SHAPES = {
    "embed.weight": (50, 16),
    "blocks.0.weight": (16, 16),
    "blocks.1.weight": (16, 40),
    "lm_head.weight": (50, 16),
}
BF16 = torch.bfloat16


def dense(tensor):
    return torch.nn.Parameter(tensor.detach().clone())


def transposed(tensor):
    return torch.nn.Parameter(tensor.detach().t().contiguous().t())


def sliced(tensor):
    """Every second column of rows from the middle of a larger matrix."""
    rows, columns = tensor.shape
    whole = torch.full((rows + 3, 2 * columns + 4), 7.0, dtype=tensor.dtype)
    view = whole[2 : rows + 2, 1 : 2 * columns + 1 : 2]
    view.copy_(tensor.detach())
    return torch.nn.Parameter(view)


def make(how=dense, dtype=torch.float32, rounded=True):
    generator = torch.Generator().manual_seed(1)
    parameters = {}
    for name, shape in SHAPES.items():
        weight = torch.randn(shape, generator=generator) * 0.05
        weight = weight.to(BF16) if rounded else weight
        parameters[name] = how(weight.to(dtype))
    return parameters


def run(parameters, optimizer, first=0, steps=STEPS, how=dense, dtype=None, miss=None):
    """Gradients that BF16 holds, the same for every optimizer."""
    for step in range(first, first + steps):
        generator = torch.Generator().manual_seed(step)
        for name, p in parameters.items():
            gradient = torch.randn(p.shape, generator=generator).to(BF16)
            if dtype:
                p.grad_dtype = dtype
            p.grad = how(gradient.to(dtype or p.dtype)).detach()
            if miss and miss(step, name):
                p.grad = None
        optimizer.step()


def assert_same(parameters, states, expected, expected_states):
    """Weights, and all states but the master, which is the expected weight."""
    for name, p in parameters.items():
        other = expected[name]
        assert torch.equal(p, other.to(p.dtype)), name
        own = dict(states.get(p, {}))
        if p.dtype is BF16 and own:
            master = own.pop("master")
            assert master.dtype is torch.float32 and torch.equal(master, other), name
            assert not torch.equal(master, p.float()), name
        assert own.keys() == expected_states.get(other, {}).keys()
        for key, value in own.items():
            assert torch.equal(value, expected_states[other][key]), (name, key)


@pytest.fixture(params=["paper", "adamw"])
def spec(request, specs, inputs):
    return (specs if request.param == "paper" else inputs) / f"{request.param}.mlir"


def optimize(spec, parameters, **options):
    optimizer = steep.torch.Optimizer(parameters.items(), spec)
    run(parameters, optimizer, **options)
    return optimizer


needs_grad_dtype = pytest.mark.skipif(
    not hasattr(torch.Tensor, "grad_dtype"), reason="gradients have the weight's type"
)


@needs_grad_dtype
@pytest.mark.parametrize("how", [dense, transposed, sliced])
def test_bf16_gradients_of_fp32_weights(spec, how):
    expected, parameters = make(rounded=False), make(rounded=False)
    plain = optimize(spec, expected)
    optimizer = optimize(spec, parameters, dtype=BF16, how=how)
    assert parameters["embed.weight"].grad.dtype is BF16
    assert_same(parameters, optimizer.state, expected, plain.state)
    assert optimizer.last_step == plain.last_step


@pytest.mark.parametrize("how", [dense, transposed, sliced])
def test_bf16_weights_with_masters(spec, how):
    expected, parameters = make(), make(how, BF16)
    plain = optimize(spec, expected)
    optimizer = optimize(spec, parameters, how=how)
    assert_same(parameters, optimizer.state, expected, plain.state)
    assert optimizer.last_step == plain.last_step


@needs_grad_dtype
def test_bf16_weights_with_fp32_gradients(spec):
    expected, parameters = make(), make(dtype=BF16)
    plain = optimize(spec, expected)
    optimizer = optimize(spec, parameters, dtype=torch.float32)
    assert parameters["embed.weight"].grad.dtype is torch.float32
    assert_same(parameters, optimizer.state, expected, plain.state)


@pytest.mark.parametrize("gradients", [dense, transposed, sliced])
@pytest.mark.parametrize("weights", [dense, transposed, sliced])
def test_strided_tensors(specs, weights, gradients):
    expected, parameters = make(), make(weights)
    places = {name: p.data_ptr() for name, p in parameters.items()}
    plain = optimize(specs / "paper.mlir", expected)
    optimizer = optimize(specs / "paper.mlir", parameters, how=gradients)
    assert_same(parameters, optimizer.state, expected, plain.state)
    for name, p in parameters.items():
        assert p.data_ptr() == places[name]
        assert p.is_contiguous() == (weights is dense)
        if weights is sliced:  # what is between the view's elements stayed
            whole = p.detach().as_strided((p.untyped_storage().nbytes() // 4,), (1,), 0)
            assert (whole == 7).sum() == whole.numel() - p.numel()


def test_strided_vectors(inputs):
    base = torch.ones(20)
    p, other = torch.nn.Parameter(base[1::3]), torch.nn.Parameter(torch.ones(7))
    optimizers = [
        steep.torch.Optimizer([("p", each)], inputs / "adamw.mlir")
        for each in (p, other)
    ]
    p.grad = torch.arange(14.0)[::2]
    other.grad = p.grad.clone()
    for optimizer in optimizers:
        optimizer.step()
    assert torch.equal(p, other) and (base != 1).sum() == 7
    p.grad = torch.tensor(0.5).expand(7)
    other.grad = torch.full((7,), 0.5)
    for optimizer in optimizers:
        optimizer.step()
    assert torch.equal(p, other)


def test_layouts_may_change_from_step_to_step(specs):
    expected, parameters = make(), make()
    plain = optimize(specs / "paper.mlir", expected)
    optimizer = optimize(specs / "paper.mlir", parameters, steps=1)
    for step, how in enumerate([transposed, dense, sliced, dense], 1):
        run(parameters, optimizer, first=step, steps=1, how=how)
    assert_same(parameters, optimizer.state, expected, plain.state)


def test_missing_gradients(inputs):
    """Parameters at different steps, of different types and layouts."""

    def miss(step, name):
        return (step + len(name)) % 4 == 0

    expected, parameters = make(), make(sliced, BF16)
    parameters["blocks.0.weight"] = make(transposed)["blocks.0.weight"]
    plain = optimize(inputs / "adamw.mlir", expected, miss=miss)
    optimizer = optimize(inputs / "adamw.mlir", parameters, miss=miss, how=transposed)
    assert len({int(s["step"]) for s in optimizer.state.values()}) > 1
    assert_same(parameters, optimizer.state, expected, plain.state)


@pytest.mark.parametrize("way", ["state_dict", "deepcopy", "safetensors"])
def test_round_trips_keep_masters(spec, tmp_path, way):
    expected, parameters = make(), make(sliced, BF16)
    plain = optimize(spec, expected)
    optimizer = optimize(spec, parameters, steps=3)
    before = {
        p: {key: value.clone() for key, value in state.items()}
        for p, state in optimizer.state.items()
    }
    if way == "deepcopy":
        parameters, optimizer = copy.deepcopy([parameters, optimizer])
    else:
        parameters = {name: dense(p) for name, p in parameters.items()}
        resumed = steep.torch.Optimizer(parameters.items(), spec)
        if way == "state_dict":
            file = io.BytesIO()
            torch.save(optimizer.state_dict(), file)
            file.seek(0)
            given = torch.load(file, weights_only=True)
            seen = []
            resumed.register_load_state_dict_pre_hook(lambda _, d: seen.append(d))
            resumed.load_state_dict(given)
            assert torch.is_tensor(seen[0]["state"][0]["master"])
            assert torch.is_tensor(given["state"][0]["master"])
        else:
            optimizer.save_safetensors(tmp_path / "states")
            resumed.load_safetensors(tmp_path / "states")
        optimizer = resumed
    for p, state in zip(parameters.values(), before.values(), strict=True):
        own = optimizer.state[p]
        assert own.keys() == state.keys()
        for key, value in state.items():
            assert own[key].dtype is torch.float32 and torch.equal(own[key], value)
    run(parameters, optimizer, first=3, steps=STEPS - 3)
    assert_same(parameters, optimizer.state, expected, plain.state)


def test_masters_that_do_not_fit_are_refused(inputs):
    full, half = make(), make(dtype=BF16)
    plain = optimize(inputs / "adamw.mlir", full, steps=1)
    optimizer = optimize(inputs / "adamw.mlir", half, steps=1)
    states = [copy.deepcopy(o.state_dict()) for o in (plain, optimizer)]
    with pytest.raises(steep.SteepError, match="'master' of 'embed.weight'.*none"):
        plain.load_state_dict(states[1])
    with pytest.raises(steep.SteepError, match="'master' of 'embed.weight'.*FP32"):
        optimizer.load_state_dict(states[0])


def test_weights_that_change_their_type_are_refused(inputs):
    parameters = make()
    optimizer = optimize(inputs / "adamw.mlir", parameters, steps=1)
    for p in parameters.values():
        p.grad, p.data = None, p.data.to(BF16)
    with pytest.raises(steep.SteepError, match="'master' of 'embed.weight'"):
        run(parameters, optimizer, steps=1)
    for p in parameters.values():
        p.grad, p.data = None, p.data.half()
    with pytest.raises(steep.SteepError, match="'embed.weight' is torch.float16"):
        run(parameters, optimizer, steps=1)


def test_weights_that_change_their_shape_are_refused(inputs):
    parameters = make()
    optimizer = optimize(inputs / "adamw.mlir", parameters, steps=1)
    p = parameters["lm_head.weight"]
    p.data, p.grad = torch.zeros(60, 16), torch.zeros(60, 16)
    with pytest.raises(steep.SteepError, match=r"'lm_head.*\(60, 16\).*\(50, 16\)"):
        optimizer.step()


def test_the_workspace_is_planned_once_a_layout(inputs):
    parameters = make(sliced, BF16)
    optimizer = optimize(inputs / "adamw.mlir", parameters, steps=1)
    stepper, planned = optimizer._engine.stepper, []
    fit = stepper.fit
    stepper.fit = lambda: planned.append(fit())
    run(parameters, optimizer, steps=2)
    assert not planned
    run(parameters, optimizer, steps=2, how=transposed)
    assert len(planned) == 1
    miss = ["embed.weight", "blocks.0.weight"]
    run(parameters, optimizer, steps=2, how=transposed, miss=lambda _, n: n in miss)
    assert len(planned) == 2


@needs_grad_dtype
def test_gradients_of_other_types_are_refused(inputs):
    parameters = make()
    optimizer = steep.torch.Optimizer(parameters.items(), inputs / "adamw.mlir")
    with pytest.raises(steep.SteepError, match="gradient of 'embed.*torch.float64"):
        run(parameters, optimizer, steps=1, dtype=torch.float64)


def test_what_is_not_finite_leaves_all_as_it_is(specs):
    parameters = make(sliced, BF16)
    optimizer = optimize(specs / "paper.mlir", parameters, steps=1)
    before = copy.deepcopy([parameters, optimizer.state_dict()["state"]])
    parameters["lm_head.weight"].grad[3, 4] = float("nan")
    optimizer.step()
    assert optimizer.last_step.nonfinite == "lm_head.weight"
    after = [parameters, optimizer.state_dict()["state"]]
    torch.testing.assert_close(after, before, rtol=0, atol=0)
