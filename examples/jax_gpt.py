"""A GPT in JAX, trained with a compiled spec beside optax.adamw.

    python examples/jax_gpt.py --steps 300 --out out/jax_gpt

The model is the paper's (arXiv:2608.22253): RMSNorm without gain, rotary embedding,
SwiGLU, no biases, an untied head. Weights are outputs x inputs, as the spec has them.
"""

import argparse
import json
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import steep.optax

SPECS = Path(__file__).resolve().parents[1] / "specs"


def make_params(key, vocab, dim, layers):
    shapes = {
        "attn": {name: {"weight": (dim, dim)} for name in ("q", "k", "v", "out")},
        "mlp": {
            "gate": {"weight": (4 * dim, dim)},
            "up": {"weight": (4 * dim, dim)},
            "down": {"weight": (dim, 4 * dim)},
        },
    }
    tree = {
        "embed": {"weight": (vocab, dim)},
        "blocks": [shapes] * layers,
        "lm_head": {"weight": (vocab, dim)},
    }
    leaves, structure = jax.tree.flatten(tree, is_leaf=lambda x: isinstance(x, tuple))
    keys = jax.random.split(key, len(leaves))
    draw = [
        0.02 * jax.random.normal(k, shape)
        for k, shape in zip(keys, leaves, strict=True)
    ]
    return jax.tree.unflatten(structure, draw)


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def rotate(x):
    """Rotary embedding, base 10000, halves against each other."""
    half, length = x.shape[-1] // 2, x.shape[1]
    rates = 10000.0 ** (-jnp.arange(half) / half)
    angle = (jnp.arange(length)[:, None] * rates)[:, None]
    a, b = jnp.split(x, 2, axis=-1)
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def linear(layer, x):
    return x @ layer["weight"].T


def attention(layers, x, heads):
    def split(name):
        return linear(layers[name], x).reshape(*x.shape[:-1], heads, -1)

    q, k = rotate(norm(split("q"))), rotate(norm(split("k")))
    y = jax.nn.dot_product_attention(q, k, split("v"), is_causal=True)
    return linear(layers["out"], y.reshape(x.shape))


def mlp(layers, x):
    gate = jax.nn.silu(linear(layers["gate"], x))
    return linear(layers["down"], gate * linear(layers["up"], x))


def loss_of(params, tokens, targets, heads):
    x = params["embed"]["weight"][tokens]
    for block in params["blocks"]:
        x = x + attention(block["attn"], norm(x), heads)
        x = x + mlp(block["mlp"], norm(x))
    logits = linear(params["lm_head"], norm(x))
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


def batches(text, batch, length, seed):
    """Sequences of bytes from random places, for ever."""
    data, generator = np.frombuffer(text, np.uint8), np.random.default_rng(seed)
    while True:
        at = generator.integers(len(data) - length, size=batch)
        rows = np.stack([data[i : i + length + 1] for i in at]).astype(np.int32)
        yield rows[:, :-1], rows[:, 1:]


def train(params, optimizer, data, steps, heads):
    @partial(jax.jit, donate_argnums=(0, 1))
    def step(params, state, tokens, targets):
        loss, gradients = jax.value_and_grad(loss_of)(params, tokens, targets, heads)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss

    state, losses = optimizer.init(params), []
    for _ in range(steps):
        params, state, loss = step(params, state, *next(data))
        losses.append(float(loss))
    return losses


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spec", type=Path, default=SPECS / "paper.mlir")
    parser.add_argument("--text", type=Path, default=Path(__file__), help="bytes")
    parser.add_argument("--out", type=Path, default=Path("out/jax_gpt"))
    for name, default in [("steps", 300), ("dim", 128), ("layers", 4), ("batch", 8),
                          ("length", 128)]:  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args(argv)

    warm = max(1, args.steps // 10)
    rates = optax.warmup_cosine_decay_schedule(0.0, 4e-3, warm, args.steps, 4e-4)
    optimizers = {
        # The head's rate goes with 1 / width; the spec has that of 512.
        "steep": steep.optax.transform(
            args.spec,
            learning_rate={"head": 3.2e-3 * 512 / args.dim},
            total_steps=args.steps,
        ),
        "adamw": optax.chain(
            optax.clip_by_global_norm(1.0), optax.adamw(rates, weight_decay=0.1)
        ),
    }
    curves = {}
    for name, optimizer in optimizers.items():
        params = make_params(jax.random.key(1), 256, args.dim, args.layers)
        data = batches(args.text.read_bytes(), args.batch, args.length, seed=1)
        curves[name] = train(
            params, optimizer, data, args.steps, max(1, args.dim // 64)
        )
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
