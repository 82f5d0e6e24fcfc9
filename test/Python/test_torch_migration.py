"""Checkpoints of torch.optim's optimizers go on in Steep: N + N steps are 2N."""

import copy
import io
import itertools

import pytest
import steep
import steep.torch
import torch
from test_torch_rules import assert_close, literal_muon, make

N = 6


def gradients(first, last):
    for step in range(first, last):
        generator = torch.Generator().manual_seed(step)
        yield (
            lambda p, g=generator, s=step: (
                torch.randn(p.shape, generator=g) * 10.0 ** (s % 3 - 2)
            )
        )


def run(parameters, step, first, last):
    for draw in gradients(first, last):
        for p in parameters.values():
            p.grad = draw(p)
        step()


def stored(optimizer):
    """As a trainer's checkpoint has it."""
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def copies(parameters):
    return {
        name: torch.nn.Parameter(p.detach().clone()) for name, p in parameters.items()
    }


@pytest.mark.parametrize("named", [False, True])
def test_adamw(inputs, named):
    expected = make()
    given = expected.items() if named else expected.values()
    adamw = torch.optim.AdamW(given, lr=3e-3, weight_decay=0.05)
    run(expected, adamw.step, 0, N)
    parameters, saved = copies(expected), stored(adamw)
    # By name, the order does not matter.
    order = reversed(parameters.items()) if named else parameters.items()
    optimizer = steep.torch.Optimizer(list(order), inputs / "adamw.mlir")
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["lr"] == 3e-3
    assert optimizer.param_groups[0]["weight_decay"] == 0.05
    run(expected, adamw.step, N, 2 * N)
    run(parameters, optimizer.step, N, 2 * N)
    assert_close(parameters, expected, 1e-5)
    for name, p in parameters.items():
        own, other = optimizer.state[p], adamw.state[expected[name]]
        assert own.keys() == other.keys() and own["step"] == 2 * N
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))


def test_muon(specs):
    """torch.optim.Muon's buffers, and its formulas with products in FP32."""
    expected, momenta = make(), {}
    muon = torch.optim.Muon(expected.values(), lr=2e-2, weight_decay=0.1)
    run(expected, muon.step, 0, N)
    parameters, saved = copies(expected), stored(muon)
    optimizer = steep.torch.Optimizer(parameters.items(), specs / "muon.mlir")
    optimizer.load_state_dict(saved)
    for name, p in expected.items():
        momenta[name] = muon.state[p]["momentum_buffer"].clone()
        own = optimizer.state[parameters[name]]["momentum_buffer"]
        assert torch.equal(own, momenta[name])

    def step():
        with torch.no_grad():
            literal_muon(expected, momenta, 2e-2, 0.1, torch.float32)

    run(expected, step, N, 2 * N)
    run(parameters, optimizer.step, N, 2 * N)
    assert_close(parameters, expected, 1e-5)


def test_two_optimizers(specs, inputs):
    """Muon for matrices, AdamW for the rest, and groups in another order."""
    spec = """optim.spec @two {
  optim.group @rest ["tall"] uses @adamw lr 1.0e-3
  optim.group @matrices ["square", "wide"] uses @spectral lr 1.0e-3
}
"""
    for path in (specs / "muon.mlir", inputs / "adamw.mlir"):
        text = path.read_text()
        spec += text[text.index("optim.rule") :]
    expected = make()
    adamw = torch.optim.AdamW([("tall", expected["tall"])], lr=3e-3)
    matrices = [(n, p) for n, p in expected.items() if n != "tall"]
    muon = torch.optim.Muon(matrices, lr=2e-2)

    def both():
        adamw.step()
        muon.step()

    run(expected, both, 0, N)
    saved = [stored(muon), stored(adamw)]
    parameters = copies(expected)
    optimizer = steep.torch.Optimizer(parameters.items(), spec)
    optimizer.load_torch_state_dicts(*saved)
    assert [g["lr"] for g in optimizer.param_groups] == [3e-3, 2e-2]
    assert [g["weight_decay"] for g in optimizer.param_groups] == [1e-2, 0.1]
    for optimizer_of, name in ((muon, "square"), (muon, "wide"), (adamw, "tall")):
        own = optimizer.state[parameters[name]]
        for key, value in optimizer_of.state[expected[name]].items():
            assert torch.equal(own[key], value)
    run(expected, both, N, 2 * N)
    run(parameters, optimizer.step, N, 2 * N)
    assert_close({"tall": parameters["tall"]}, expected, 1e-5)
    # Muon's products are BF16 in PyTorch.
    assert_close({n: parameters[n] for n, _ in matrices}, expected, 3e-2)
    with pytest.raises(steep.SteepError, match="no parameter 'tall'.*all optimizers"):
        optimizer.load_state_dict(saved[0])
    with pytest.raises(steep.SteepError, match="parameter 'square' twice"):
        optimizer.load_torch_state_dicts(saved[0], *saved)


def test_frozen_and_late_parameters(inputs):
    """PyTorch was given what is trained, and one of these has seen no gradient."""
    expected = make()
    expected["tall"].requires_grad_(False)
    trained = {n: p for n, p in expected.items() if n != "tall"}
    adamw = torch.optim.AdamW(trained.values())
    run({"square": trained["square"]}, adamw.step, 0, N)
    parameters = copies(expected)
    parameters["tall"].requires_grad_(False)
    optimizer = steep.torch.Optimizer(parameters.items(), inputs / "adamw.mlir")
    optimizer.load_state_dict(stored(adamw))
    assert list(optimizer.state) == [parameters["square"]]
    run(trained, adamw.step, N, 2 * N)
    run({n: parameters[n] for n in trained}, optimizer.step, N, 2 * N)
    assert_close(parameters | {"tall": expected["tall"]}, expected, 1e-5)


def test_bf16_weights_get_masters(inputs):
    expected = {n: torch.nn.Parameter(p.detach().bfloat16()) for n, p in make().items()}
    adamw = torch.optim.AdamW(expected.values())
    for p in expected.values():
        p.grad = torch.ones_like(p)
    adamw.step()
    optimizer = steep.torch.Optimizer(expected.items(), inputs / "adamw.mlir")
    optimizer.load_state_dict(stored(adamw))
    for p in expected.values():
        state = optimizer.state[p]
        assert torch.equal(state["master"], p.float())
        assert torch.equal(state["exp_avg"], adamw.state[p]["exp_avg"].float())
    optimizer.step()
    assert all(s["step"] == 2 for s in optimizer.state.values())


def saved_by(make_optimizer, shapes=((4, 3), (2, 3))):
    parameters = [torch.nn.Parameter(torch.ones(shape)) for shape in shapes]
    optimizer = make_optimizer(parameters)
    for p in parameters:
        p.grad = torch.ones_like(p)
    optimizer.step()
    return optimizer.state_dict()


ADAMW, SGD = torch.optim.AdamW, torch.optim.SGD
REFUSED = {
    "betas": (
        lambda p: ADAMW(p, betas=(0.9, 0.95)),
        r"'a' are averaged as.*0.95.*by the spec's rule 'adamw' as.*0.999",
    ),
    "amsgrad": (lambda p: ADAMW(p, amsgrad=True), "'a' with amsgrad=True"),
    "maximize": (lambda p: ADAMW(p, maximize=True), "'a' with maximize=True"),
    "adam": (lambda p: torch.optim.Adam(p, weight_decay=0.1), r"in the averages \(Ad"),
    "decay": (lambda p: SGD(p, momentum=0.9, weight_decay=0.1), r"average \(SGD\)"),
    "sgd": (lambda p: SGD(p, momentum=0.9), "'a' are averaged as.*'sum'.*'adam'"),
    "muon": (torch.optim.Muon, "'a' are averaged as.*'ema', 0.95.*'adam', 0.9"),
    "other": (torch.optim.Adagrad, "does not say how.*torch.optim's AdamW"),
    "fewer": (lambda p: ADAMW(p[:1]), "1 parameters without names.*has 2"),
    "rates": (
        lambda p: ADAMW([{"params": p[:1], "lr": 1.0}, {"params": p[1:], "lr": 2.0}]),
        "group 'all': 'a' has lr 1.0 in the state dict, but 'b' has 2.0",
    ),
    "name": (
        lambda p: ADAMW(zip("ax", p, strict=True)),
        "parameter 'x': expected none",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(inputs, case):
    how, message = REFUSED[case]
    names = itertools.count(ord("a"))
    parameters = [torch.nn.Parameter(torch.ones(s)) for s in ((4, 3), (2, 3))]
    optimizer = steep.torch.Optimizer(
        [(chr(next(names)), p) for p in parameters], inputs / "adamw.mlir"
    )
    with pytest.raises(steep.SteepError, match=message):
        optimizer.load_state_dict(saved_by(how))
    assert not optimizer.state


def test_states_that_do_not_fit_are_refused(specs, inputs):
    parameters = [("a", torch.nn.Parameter(torch.ones(4, 3)))]
    optimizer = steep.torch.Optimizer(parameters, inputs / "adamw.mlir")
    with pytest.raises(
        steep.SteepError, match=r"'exp_avg' of 'a' is \(3, 4\).*\(4, 3\)"
    ):
        optimizer.load_state_dict(saved_by(ADAMW, [(3, 4)]))
    saved = saved_by(ADAMW, [(4, 3)])
    del saved["state"][0]["step"]
    with pytest.raises(steep.SteepError, match="no 'step' of 'a'.*rule 'adamw' reads"):
        optimizer.load_state_dict(saved)
    # A rule with Muon's average that corrects its bias: how many steps were there?
    text = (specs / "paper.mlir").read_text()
    rule = text[text.index("optim.rule @rownorm") :]
    group = 'optim.group @all ["*"] uses @rownorm lr 1.0e-3'
    spec = f"optim.spec @r {{\n  {group}\n}}\n{rule}"
    optimizer = steep.torch.Optimizer(parameters, spec)
    with pytest.raises(steep.SteepError, match="no 'step' of 'a'.*rule 'rownorm'"):
        optimizer.load_state_dict(saved_by(torch.optim.Muon, [(4, 3)]))
