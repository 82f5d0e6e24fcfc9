"""Time of steep.torch.Optimizer.step over that of the bare C step.

    python bench/torch_overhead.py [tiny|190m] [--type fp32|bf16] [--strided]
        [--threads N] [--rounds N]

Both run the same artefact on the same tensors, in turns; the difference is what the
wrapper costs. Since that is less than steps differ, the wrapper is timed once more with
a C step that does nothing ("alone"), and that is given as a share of the C step.
"""

import argparse
import statistics
import time
from functools import partial
from pathlib import Path

import steep.torch
import torch

SIZES = {"tiny": (128, 4), "190m": (512, 32)}
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
VOCABULARY = 50257


def make_shapes(dim, layers):
    shapes = {"embed.weight": (VOCABULARY, dim), "lm_head.weight": (VOCABULARY, dim)}
    for layer in range(layers):
        for name in ("q", "k", "v", "out"):
            shapes[f"blocks.{layer}.attn.{name}.weight"] = (dim, dim)
        for name in ("gate", "up"):
            shapes[f"blocks.{layer}.mlp.{name}.weight"] = (4 * dim, dim)
        shapes[f"blocks.{layer}.mlp.down.weight"] = (dim, 4 * dim)
    return shapes


def make_parameters(shapes, dtype, strided):
    """Strided ones are columns of a matrix that is wider by one."""
    parameters = {}
    for name, (rows, columns) in shapes.items():

        def draw(std, size=(rows, columns + strided), columns=columns):
            return torch.empty(size, dtype=dtype).normal_(std=std)[:, :columns]

        parameters[name] = torch.nn.Parameter(draw(0.02))
        parameters[name].grad = draw(1e-3)
    return parameters


def seconds(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", choices=SIZES, default="tiny")
    parser.add_argument("--type", choices=TYPES, default="fp32")
    parser.add_argument("--strided", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    spec = Path(__file__).resolve().parents[1] / "specs" / "paper.mlir"
    shapes = make_shapes(*SIZES[args.model])
    parameters = make_parameters(shapes, TYPES[args.type], args.strided)
    optimizer = steep.torch.Optimizer(parameters.items(), spec, threads=args.threads)
    optimizer.step()
    stepper = optimizer._engine.stepper
    bare, wrapped = [], []
    for step in range(args.rounds):
        bare.append(seconds(partial(stepper.run, "step", step + 2)))
        wrapped.append(seconds(optimizer.step))
    a, b = statistics.median(bare), statistics.median(wrapped)
    report = optimizer.last_step
    stepper.run = lambda *_: report
    alone = statistics.median(seconds(optimizer.step) for _ in range(50))
    layout = "strided" if args.strided else "dense"
    print(
        f"{args.model}, {args.type}, {layout}: C step {a * 1e3:.3f} ms, wrapper "
        f"{b * 1e3:.3f} ms ({(b / a - 1) * 100:+.2f} %), alone {alone * 1e3:.3f} ms "
        f"({alone / a * 100:.3f} %)"
    )


if __name__ == "__main__":
    main()
