#!/usr/bin/env python3
"""Compiled steps beside PyTorch's and optax's: peers.py [--threads N] [--rounds N]
[--blocks N] [--model-bench PROGRAM] [--clock cpu] [--only PART].

Needs the package steep (python/) and PyTorch; optax where it is installed. Bodies
alternate; what is printed is the medians and their ratio, Steep's time over the
other's. Rules: a 50257x512 head (RowNorm plain and projected, AdamW) and the
backbone of the 190m model (Muon; --blocks of its 32 blocks). torch.optim.Muon
works in BF16; the eager Muon is the paper's, in FP32. --model-bench runs
bin/ModelBench beside the same model in PyTorch, compiled."""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is below 1")
    return value


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--rounds", type=positive, default=15)
    parser.add_argument("--blocks", type=positive, default=4)
    parser.add_argument("--model-bench", metavar="PROGRAM", help="build/bin/ModelBench")
    parser.add_argument("--clock", choices=("elapsed", "cpu"), default="elapsed",
                        help="cpu: what threads worked, where others use the machine too")
    parser.add_argument("--only", choices=("heads", "backbone", "model"))
    options = parser.parse_args()
    if options.only == "model" and not options.model_bench:
        parser.error("--only model needs --model-bench PROGRAM")
    if options.model_bench and not os.access(options.model_bench, os.X_OK):
        parser.error(f"--model-bench is '{options.model_bench}', which is no program")
    return options


# Before PyTorch is loaded: that takes seconds, and it may be missing.
OPTIONS = parse()

try:
    import steep.torch
    import torch
except ModuleNotFoundError as error:
    sys.exit(f"peers.py: error: {error}; PyTorch and the package steep (python/) are needed")

ROOT = Path(__file__).resolve().parents[1]
VOCABULARY, WIDTH = 50257, 512
FOLDER = tempfile.TemporaryDirectory(prefix="steep-peers.")  # of specs
BOTH_FACTS = "facts(#geo.zero_column_sum, #geo.shift_invariant)"


def spec(rule, extra=""):
    """A spec of one rule of bench/Inputs/rows.mlir."""
    folder = Path(tempfile.mkdtemp(dir=FOLDER.name))
    text = (ROOT / "bench/Inputs/rows.mlir").read_text()
    path = folder / "rows.mlir"
    path.write_text(f'optim.spec @rows {{ optim.group @all ["*"] uses @{rule} '
                    f"lr 1.0e-3 {extra} }}\n{text}")
    return path


def muon_spec(dot=""):
    text = (ROOT / "specs/paper.mlir").read_text()
    body = text[text.index("optim.rule @muon"):text.index("// torch.optim.AdamW")]
    if dot:
        body, count = re.subn(r"(geo\.spectral [^{]*)\{", rf"\1dot({dot}) {{", body)
        assert count == 1, "specs/paper.mlir has no geo.spectral to round"
    path = Path(tempfile.mkdtemp(dir=FOLDER.name)) / "muon.mlir"
    path.write_text('optim.spec @backbone { optim.group @all ["*"] uses @muon '
                    f"lr 8.0e-3 wd 0.1 }}\n{body}")
    return path


def parameters(shapes):
    made = []
    for i, shape in enumerate(shapes):
        generator = torch.Generator().manual_seed(i)
        parameter = torch.nn.Parameter(0.02 * torch.randn(shape, generator=generator))
        parameter.grad = 1e-3 * torch.randn(shape, generator=generator)
        made.append((f"w{i}", parameter))
    return made


now = time.perf_counter


def compare(name, other_name, ours, other, rounds):
    ours(), other()
    times = [], []
    for i in range(rounds):
        for body, list_ in ((ours, times[0]), (other, times[1]))[::1 if i % 2 else -1]:
            begin = now()
            body()
            list_.append(now() - begin)
    a, b = (1e3 * statistics.median(list_) for list_ in times)
    print(f"| {name} | {other_name} | {a:.1f} | {b:.1f} | {a / b:.2f} |", flush=True)


def attempt(what, body):
    try:
        body()
    except Exception as error:  # what a compiler cannot do is a result too
        print(f"| {what} | | | | {type(error).__name__} |", flush=True)


class EagerRowNorm:
    """The paper's update, with both projections where asked for."""

    def __init__(self, parameter, projected):
        self.w, self.g = parameter.data.clone(), parameter.grad
        self.b, self.t, self.projected = torch.zeros_like(self.w), 0, projected

    @torch.no_grad()
    def step(self):
        self.t += 1
        self.update(self.w, self.g, self.b, 1 - 0.95**self.t, self.projected)

    @staticmethod
    def update(w, g, b, correction, projected):
        b.mul_(0.95).add_(g, alpha=0.05)
        c = b / correction
        if projected:
            c = c - c.mean(0, keepdim=True)
        s = c / (c.norm(dim=1, keepdim=True) + 1e-8)
        if projected:
            s = s - s.mean(0, keepdim=True)
        w.add_(s, alpha=-1e-3)


def newton_schulz(x):
    x = x / (x.norm() + 1e-5)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
    return x


class EagerMuon:
    def __init__(self, named):
        self.list = [(p.data.clone(), p.grad, torch.zeros_like(p.data)) for _, p in named]

    @torch.no_grad()
    def step(self):
        for w, g, b in self.list:
            b.mul_(0.95).add_(g)
            n = g + 0.95 * b
            tall = n.shape[0] > n.shape[1]
            o = newton_schulz(n.T if tall else n)
            scale = max(1, w.shape[0] / w.shape[1]) ** 0.5
            w.mul_(1 - 8e-4).add_(o.T if tall else o, alpha=-8e-3 * scale)


def heads(options):
    head = [(VOCABULARY, WIDTH)]
    for projected in (False, True):
        named = parameters(head)
        name = f"RowNorm {'projected ' if projected else ''}{VOCABULARY}x{WIDTH}"
        ours = steep.torch.Optimizer(named, spec("rownorm", "" if projected else BOTH_FACTS),
                                     threads=options.threads)
        eager = EagerRowNorm(named[0][1], projected)
        compare(name, "PyTorch eager", ours.step, eager.step, options.rounds)

        def compiled():
            made = EagerRowNorm(named[0][1], projected)
            made.update = torch.compile(EagerRowNorm.update)
            made.w, made.b = made.w.detach(), made.b
            compare(name, "torch.compile", ours.step, made.step, options.rounds)

        attempt(name + ", torch.compile", compiled)
    for kind in ("fused", "foreach"):
        named = parameters(head)
        ours = steep.torch.Optimizer(named, spec("adamw", "wd 0.1"), threads=options.threads)
        theirs = torch.optim.AdamW([p for _, p in parameters(head)], lr=1e-3,
                                   weight_decay=0.1, **{kind: True})
        compare(f"AdamW {VOCABULARY}x{WIDTH}", f"torch.optim.AdamW({kind})", ours.step,
                theirs.step, options.rounds)


def backbone(options):
    d, shapes = WIDTH, []
    for _ in range(options.blocks):
        shapes += [(d, d)] * 4 + [(4 * d, d)] * 2 + [(d, 4 * d)]
    name = f"Muon, {options.blocks} of 32 blocks of 190m"
    named = parameters(shapes)
    ours = steep.torch.Optimizer(named, muon_spec(), threads=options.threads)
    rounds = max(3, options.rounds // 4)
    if hasattr(torch.optim, "Muon"):
        theirs = torch.optim.Muon([p for _, p in parameters(shapes)], lr=8e-3,
                                  weight_decay=0.1)
        compare(name, "torch.optim.Muon (BF16)", ours.step, theirs.step, rounds)
        rounded = steep.torch.Optimizer(parameters(shapes), muon_spec("bf16"),
                                        threads=options.threads)
        compare(name + ", dot = bf16", "torch.optim.Muon (BF16)", rounded.step,
                theirs.step, rounds)
    compare(name, "PyTorch eager (FP32)", ours.step, EagerMuon(named).step, rounds)
    attempt(name + ", optax", lambda: with_optax(options, name, shapes, ours, rounds))


def with_optax(options, name, shapes, ours, rounds):
    import jax
    import optax

    weights = {f"w{i}": jax.numpy.asarray(p.detach().numpy())
               for i, (_, p) in enumerate(parameters(shapes))}
    gradients = {f"w{i}": jax.numpy.asarray(p.grad.numpy())
                 for i, (_, p) in enumerate(parameters(shapes))}
    rule = optax.contrib.muon(8e-3, weight_decay=0.1)
    state = rule.init(weights)

    @jax.jit
    def update(weights, state, gradients):
        changes, state = rule.update(gradients, state, weights)
        return optax.apply_updates(weights, changes), state

    compare(name, f"optax.contrib.muon {optax.__version__}", ours.step,
            lambda: jax.block_until_ready(update(weights, state, gradients)), rounds)


class Model(torch.nn.Module):
    """The runtime's model (runtime/Model/Model.h), d wide, in PyTorch."""

    def __init__(self, d=WIDTH, layers=4, vocabulary=VOCABULARY, length=512):
        super().__init__()
        self.d, self.heads = d, d // 64
        make = lambda m, n: torch.nn.Parameter(0.02 * torch.randn(m, n))
        self.embed, self.head = make(vocabulary, d), make(vocabulary, d)
        self.layers = torch.nn.ParameterList()
        for _ in range(layers):
            for shape in [(d, d)] * 4 + [(4 * d, d)] * 2 + [(d, 4 * d)]:
                self.layers.append(make(*shape))
        angle = torch.arange(length)[:, None] * 10000 ** (-torch.arange(32) / 32)[None]
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    @staticmethod
    def norm(x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)

    def rotate(self, x):
        a, b = self.norm(x).chunk(2, dim=-1)
        return torch.cat((a * self.cos - b * self.sin, b * self.cos + a * self.sin), -1)

    def forward(self, tokens, targets):
        x = self.embed[tokens]
        for i in range(0, len(self.layers), 7):
            q, k, v, out, gate, up, down = self.layers[i:i + 7]
            h = self.norm(x)
            parts = [(h @ w.T).view(*h.shape[:2], self.heads, 64).transpose(1, 2)
                     for w in (q, k, v)]
            y = torch.nn.functional.scaled_dot_product_attention(
                self.rotate(parts[0]), self.rotate(parts[1]), parts[2], is_causal=True)
            x = x + y.transpose(1, 2).reshape(x.shape) @ out.T
            h = self.norm(x)
            x = x + (torch.nn.functional.silu(h @ gate.T) * (h @ up.T)) @ down.T
        logits = self.norm(x) @ self.head.T
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def model(options):
    """Tokens a second of forward and backward; programs take turns."""
    tokens = torch.randint(VOCABULARY, (2, 512))
    net = Model()

    def step(run):
        net.zero_grad(set_to_none=True)
        run(tokens, tokens.roll(1)).backward()

    for name, run in (("eager", net), ("compiled", torch.compile(net))):
        def measure():
            step(run)
            theirs, ours = [], []
            for _ in range(3):
                begin = time.perf_counter()
                step(run)
                theirs.append(1024 / (time.perf_counter() - begin))
                text = subprocess.run(
                    [options.model_bench, "--threads", str(options.threads), "--rounds", "3"],
                    capture_output=True, text=True).stdout
                ours.append(float(re.search(r"\((\d+) tokens/s\)", text)[1]))
            a, b = statistics.median(ours), statistics.median(theirs)
            print(f"| forward and backward, d 512, 4 blocks, 2x512 | PyTorch {name} | "
                  f"{1024e3 / a:.0f} | {1024e3 / b:.0f} | {b / a:.2f} |", flush=True)

        attempt(f"model, {name}", measure)


def main(options):
    if options.clock == "cpu":
        global now
        now = time.process_time
    torch.set_num_threads(options.threads)
    print(f"PyTorch {torch.__version__}, {options.threads} threads, {options.clock} time, load "
          f"{os.getloadavg()[0]:.1f}\n")
    print("| step | beside | Steep ms | other ms | ratio |")
    print("| --- | --- | ---: | ---: | ---: |")
    if options.only in (None, "heads"):
        heads(options)
    if options.only in (None, "backbone"):
        backbone(options)
    if options.model_bench and options.only in (None, "model"):
        model(options)


main(OPTIONS)
