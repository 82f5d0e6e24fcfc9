"""A GPT in PyTorch, trained with a compiled spec beside AdamW.

    python examples/torch_gpt.py --steps 300 --out out/torch_gpt

The model is the paper's (arXiv:2608.22253): RMSNorm without gain, rotary embedding,
SwiGLU, no biases, an untied head. Its parameters have the names of `steep-train`.
"""

import argparse
import json
from pathlib import Path

import steep.torch
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

SPECS = Path(__file__).resolve().parents[1] / "specs"


def norm(x):
    return F.rms_norm(x, x.shape[-1:], eps=1e-6)


def rotate(x):
    """Rotary embedding, base 10000, halves against each other."""
    half, length = x.shape[-1] // 2, x.shape[-2]
    rates = 10000.0 ** (-torch.arange(half, device=x.device) / half)
    angle = torch.arange(length, device=x.device)[:, None] * rates
    a, b = x.chunk(2, dim=-1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (
            nn.Linear(dim, dim, bias=False) for _ in range(4)
        )

    def forward(self, x):
        def split(y):
            return y.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        q, k, v = split(self.q(x)), split(self.k(x)), split(self.v(x))
        q, k = rotate(norm(q)), rotate(norm(k))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gate, self.up = (nn.Linear(dim, 4 * dim, bias=False) for _ in range(2))
        self.down = nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn, self.mlp = Attention(dim, heads), MLP(dim)

    def forward(self, x):
        x = x + self.attn(norm(x))
        return x + self.mlp(norm(x))


class GPT(nn.Module):
    def __init__(self, vocab, dim, layers, heads):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        for p in self.parameters():
            nn.init.normal_(p, std=0.02)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.lm_head(norm(x))


def batches(text, batch, length, seed):
    """Sequences of bytes from random places, for ever."""
    data = torch.frombuffer(bytearray(text), dtype=torch.uint8).long()
    generator = torch.Generator().manual_seed(seed)
    while True:
        at = torch.randint(len(data) - length, (batch,), generator=generator)
        rows = torch.stack([data[i : i + length + 1] for i in at.tolist()])
        yield rows[:, :-1], rows[:, 1:]


def train(model, optimizer, schedule, data, steps, clip=None):
    losses = []
    for _ in range(steps):
        tokens, targets = next(data)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spec", type=Path, default=SPECS / "paper.mlir")
    parser.add_argument("--text", type=Path, default=Path(__file__), help="bytes")
    parser.add_argument("--out", type=Path, default=Path("out/torch_gpt"))
    for name, default in [("steps", 300), ("dim", 128), ("layers", 4), ("batch", 8),
                          ("length", 128)]:  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args(argv)

    curves = {}
    for name in ("steep", "adamw"):
        torch.manual_seed(1)
        model = GPT(256, args.dim, args.layers, heads=max(1, args.dim // 64))
        if name == "steep":
            # The head's rate goes with 1 / width; the spec has that of 512.
            optimizer = steep.torch.Optimizer(
                model.named_parameters(),
                args.spec,
                lr={"head": 3.2e-3 * 512 / args.dim},
            )
            factor, clip = optimizer.schedule(args.steps), None  # the spec clips
        else:
            optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.1)
            clip = 1.0
        schedule = LambdaLR(optimizer, factor)
        data = batches(args.text.read_bytes(), args.batch, args.length, seed=1)
        curves[name] = train(model, optimizer, schedule, data, args.steps, clip)
        print(f"{name}: loss {curves[name][-1]:.4f} after {args.steps} steps")
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "losses.json").write_text(json.dumps(curves))
    plot(curves, args.out / "losses.svg")
    return curves


def plot(curves, path):
    import matplotlib.pyplot as plt

    for name, losses in curves.items():
        plt.plot(losses, label=name)
    plt.xlabel("step")
    plt.ylabel("loss")
    plt.legend()
    plt.savefig(path)
    plt.close()


if __name__ == "__main__":
    main()
