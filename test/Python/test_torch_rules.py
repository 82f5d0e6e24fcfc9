"""Specs that state the rules of others, beside those: 20 steps, FP32."""

import pytest
import steep.torch
import torch

SHAPES = {"square": (48, 48), "tall": (96, 32), "wide": (24, 80)}
STEPS = 20


def make(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return {
        name: torch.nn.Parameter(torch.randn(shape, generator=generator) * 0.05)
        for name, shape in SHAPES.items()
    }


def run(parameters, step):
    """Gradients of all sizes, the same for every optimizer."""
    generator = torch.Generator().manual_seed(7)
    for i in range(STEPS):
        for p in parameters.values():
            p.grad = torch.randn(p.shape, generator=generator) * 10.0 ** (i % 3 - 2)
        step()


def assert_close(parameters, expected, tolerance):
    for name, p in parameters.items():
        error = torch.linalg.norm(p - expected[name]) / torch.linalg.norm(
            expected[name]
        )
        assert error <= tolerance, f"{name}: {error:.2e}"


def run_steep(spec, **options):
    parameters = make()
    optimizer = steep.torch.Optimizer(parameters.items(), spec, **options)
    run(parameters, optimizer.step)
    return parameters, optimizer


def test_adamw(inputs):
    parameters, optimizer = run_steep(inputs / "adamw.mlir")
    expected = make()
    adamw = torch.optim.AdamW(expected.values(), lr=1e-3, weight_decay=0.01)
    run(expected, adamw.step)
    assert_close(parameters, expected, 1e-5)
    for name, p in parameters.items():
        for state in ("exp_avg", "exp_avg_sq", "step"):
            own, other = optimizer.state[p][state], adamw.state[expected[name]][state]
            assert torch.linalg.norm(own - other) <= 1e-5 * torch.linalg.norm(other)


def literal_muon(parameters, momenta, lr, decay, dtype):
    """The formulas of torch.optim.Muon, products in `dtype`."""
    for name, p in parameters.items():
        buffer = momenta.setdefault(name, torch.zeros_like(p))
        buffer.lerp_(p.grad, 1 - 0.95)
        x = p.grad.lerp(buffer, 0.95).to(dtype)
        tall = x.size(0) > x.size(1)
        x = x.T if tall else x
        x = x / x.norm().clamp(min=1e-7)
        for _ in range(5):
            gram = x @ x.T
            update = torch.addmm(gram, gram, gram, beta=-4.7750, alpha=2.0315)
            x = torch.addmm(x, update, x, beta=3.4445)
        x = x.T if tall else x
        p.mul_(1 - lr * decay)
        p.add_(x.float(), alpha=-lr * max(1, p.size(0) / p.size(1)) ** 0.5)


def test_muon(specs):
    """specs/muon.mlir: torch.optim.Muon's products are in BF16, Steep's in FP32."""
    options = {"lr": 2e-2, "weight_decay": 0.1}
    parameters, optimizer = run_steep(specs / "muon.mlir", **options)
    literal, momenta = make(), {}
    with torch.no_grad():
        run(literal, lambda: literal_muon(literal, momenta, 2e-2, 0.1, torch.float32))
    assert_close(parameters, literal, 1e-5)
    for name, p in parameters.items():
        torch.testing.assert_close(
            optimizer.state[p]["momentum_buffer"], momenta[name], rtol=1e-5, atol=1e-6
        )

    rounded, momenta = make(), {}
    with torch.no_grad():
        run(rounded, lambda: literal_muon(rounded, momenta, 2e-2, 0.1, torch.bfloat16))
    expected = make()
    run(expected, torch.optim.Muon(expected.values(), **options).step)
    # The copy is a copy, and what is between it and FP32 is BF16's rounding.
    assert_close(rounded, expected, 1e-6)
    assert_close(parameters, expected, 3e-2)


def literal_rownorm(parameters, momenta, step, lr, decay):
    """projected RowNorm, arXiv:2608.22253, on the head's matrix."""
    for name, u in parameters.items():
        buffer = momenta.setdefault(name, torch.zeros_like(u))
        buffer.mul_(0.95).add_(u.grad, alpha=0.05)
        corrected = buffer / (1 - 0.95**step)
        rows = corrected - corrected.mean(0)
        rows = rows / (torch.linalg.norm(rows, dim=1, keepdim=True) + 1e-8)
        u.mul_(1 - lr * decay).sub_(lr * (rows - rows.mean(0)))


def test_rownorm(specs):
    """The paper's head, centring included: no facts are promised here."""
    text = (specs / "paper.mlir").read_text()
    rule = text[text.index("optim.rule @rownorm") :]
    spec = f"""optim.spec @head {{
  optim.group @head ["*"] uses @rownorm lr 1.0e-3 wd 0.1
}}
{rule}"""
    parameters, _ = run_steep(spec)
    expected, momenta, steps = make(), {}, iter(range(1, STEPS + 1))
    with torch.no_grad():
        run(
            expected,
            lambda: literal_rownorm(expected, momenta, next(steps), 1e-3, 0.1),
        )
    assert_close(parameters, expected, 1e-5)


def test_clipping(inputs):
    """clip(#optim.global_norm<1.0>) is torch.nn.utils.clip_grad_norm_."""
    text = (inputs / "adamw.mlir").read_text()
    spec = text.replace("@torch_adamw {", "@clipped clip(#optim.global_norm<1.0>) {")
    parameters, optimizer = run_steep(spec)
    expected = make()
    adamw = torch.optim.AdamW(expected.values(), lr=1e-3, weight_decay=0.01)

    def step():
        step.norm = torch.nn.utils.clip_grad_norm_(expected.values(), 1.0)
        adamw.step()

    run(expected, step)
    assert_close(parameters, expected, 1e-5)
    assert optimizer.last_step.grad_norm == pytest.approx(step.norm.item(), rel=1e-6)
