"""A GPT in PyTorch, trained with a compiled spec beside AdamW.

    python examples/torch_gpt.py --steps 300 --out out/torch_gpt

The model is the paper's (arXiv:2608.22253): RMSNorm without gain, rotary embedding,
SwiGLU, no biases, an untied head. Its parameters have the names of `steep-train`.
"""

import steep.torch
import torch
import torch.nn.functional as F
from common import batches, note, parse, report
from torch import nn
from torch.optim.lr_scheduler import LambdaLR


def norm(x):
    return F.rms_norm(x, x.shape[-1:], eps=1e-6)


def rotate(x):
    """Rotary embedding, base 10000, halves against each other."""
    half, length = x.shape[-1] // 2, x.shape[-2]
    angle = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(half) / half)
    a, b = x.chunk(2, dim=-1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.heads = max(1, dim // 64)
        for name in ("q", "k", "v", "out"):
            setattr(self, name, nn.Linear(dim, dim, bias=False))

    def forward(self, x):
        q, k, v = (
            layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
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
    def __init__(self, dim):
        super().__init__()
        self.attn, self.mlp = Attention(dim), MLP(dim)

    def forward(self, x):
        x = x + self.attn(norm(x))
        return x + self.mlp(norm(x))


class GPT(nn.Module):
    def __init__(self, vocab, dim, layers):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(layers))
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        for p in self.parameters():
            nn.init.normal_(p, std=0.02)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.lm_head(norm(x))


def train(model, optimizer, schedule, args, clip):
    losses = []
    for batch in batches(args):
        tokens, targets = (torch.from_numpy(part).long() for part in batch)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        schedule.step()
        note(losses, loss.item())
    return losses


def main(argv=None):
    args = parse(__doc__, __file__, argv)
    models = []
    for _ in range(2):
        torch.manual_seed(1)
        models.append(GPT(256, args.dim, args.layers))
    # The head's rate goes with 1 / width; the spec has that of 512. The spec clips.
    rates = {"head": 3.2e-3 * 512 / args.dim}
    ours = steep.torch.Optimizer(models[0].named_parameters(), args.spec, lr=rates)
    adamw = torch.optim.AdamW(models[1].parameters(), lr=4e-3, weight_decay=0.1)
    factor = ours.schedule(args.steps)
    curves = {
        "steep": train(models[0], ours, LambdaLR(ours, factor), args, clip=None),
        "adamw": train(models[1], adamw, LambdaLR(adamw, factor), args, clip=1.0),
    }
    return report(curves, args)


if __name__ == "__main__":
    main()
