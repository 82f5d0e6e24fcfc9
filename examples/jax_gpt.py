"""A GPT in JAX, trained with a compiled spec beside optax.adamw.

    python examples/jax_gpt.py --steps 300 --out out/jax_gpt

The model is the paper's (arXiv:2608.22253): RMSNorm without gain, rotary embedding,
SwiGLU, no biases, an untied head. Weights are outputs x inputs, as the spec has them.
"""

from functools import partial

import jax
import jax.numpy as jnp
import optax
import steep.optax
from common import batches, note, parse, report


def make_params(vocab, dim, layers):
    def draw(key, rows, columns):
        return {"weight": 0.02 * jax.random.normal(key, (rows, columns))}

    def block(key):
        keys = jax.random.split(key, 7)
        attn = zip(("q", "k", "v", "out"), keys, strict=False)
        return {
            "attn": {name: draw(k, dim, dim) for name, k in attn},
            "mlp": {
                "gate": draw(keys[4], 4 * dim, dim),
                "up": draw(keys[5], 4 * dim, dim),
                "down": draw(keys[6], dim, 4 * dim),
            },
        }

    keys = jax.random.split(jax.random.key(1), layers + 2)
    return {
        "embed": draw(keys[0], vocab, dim),
        "blocks": [block(key) for key in keys[2:]],
        "lm_head": draw(keys[1], vocab, dim),
    }


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


def attention(layers, x):
    heads = (*x.shape[:-1], max(1, x.shape[-1] // 64), -1)
    q, k, v = (linear(layers[name], x).reshape(heads) for name in ("q", "k", "v"))
    q, k = rotate(norm(q)), rotate(norm(k))
    y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    return linear(layers["out"], y.reshape(x.shape))


def mlp(layers, x):
    gate = jax.nn.silu(linear(layers["gate"], x))
    return linear(layers["down"], gate * linear(layers["up"], x))


def loss_of(params, tokens, targets):
    x = params["embed"]["weight"][tokens]
    for block in params["blocks"]:
        x = x + attention(block["attn"], norm(x))
        x = x + mlp(block["mlp"], norm(x))
    logits = linear(params["lm_head"], norm(x))
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


def train(params, optimizer, args):
    @partial(jax.jit, donate_argnums=(0, 1))
    def step(params, state, tokens, targets):
        loss, gradients = jax.value_and_grad(loss_of)(params, tokens, targets)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss

    state, losses = optimizer.init(params), []
    for batch in batches(args):
        params, state, loss = step(params, state, *batch)
        note(losses, float(loss))
    return losses


def main(argv=None):
    args = parse(__doc__, __file__, argv)
    warm = max(1, args.steps // 10)
    rates = optax.warmup_cosine_decay_schedule(0.0, 4e-3, warm, args.steps, 4e-4)
    adamw = optax.adamw(rates, weight_decay=0.1)
    optimizers = {
        # The head's rate goes with 1 / width; the spec has that of 512.
        "steep": steep.optax.transform(
            args.spec,
            learning_rate={"head": 3.2e-3 * 512 / args.dim},
            total_steps=args.steps,
        ),
        "adamw": optax.chain(optax.clip_by_global_norm(1.0), adamw),
    }
    curves = {
        name: train(make_params(256, args.dim, args.layers), optimizer, args)
        for name, optimizer in optimizers.items()
    }
    return report(curves, args)


if __name__ == "__main__":
    main()
