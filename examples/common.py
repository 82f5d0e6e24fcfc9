"""What the two GPT examples share: options, data, and the plot of their losses."""

import argparse
import json
from pathlib import Path

import numpy as np

SPEC = Path(__file__).resolve().parents[1] / "specs" / "paper.mlir"


def parse(doc, text, argv=None):
    """Options of an example with this docstring that reads `text` by default."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--spec", type=Path, default=SPEC)
    parser.add_argument("--text", type=Path, default=Path(text), help="bytes")
    parser.add_argument("--out", type=Path, default=Path("out") / Path(text).stem)
    sizes = {"steps": 300, "dim": 128, "layers": 4, "batch": 8, "length": 128}
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args(argv)


def batches(args):
    """One a step: sequences of bytes from random places, and what follows each byte."""
    data = np.frombuffer(args.text.read_bytes(), np.uint8)
    generator = np.random.default_rng(1)
    for _ in range(args.steps):
        at = generator.integers(len(data) - args.length, size=args.batch)
        rows = np.stack([data[i : i + args.length + 1] for i in at]).astype(np.int32)
        yield rows[:, :-1], rows[:, 1:]


def note(losses, loss):
    """Keeps a step's loss, and prints some."""
    losses.append(loss)
    if len(losses) % 50 == 0:
        print(f"step {len(losses)}: loss {loss:.4f}", flush=True)


def report(curves, args):
    """Prints the last losses, and writes losses.json and losses.svg."""
    import matplotlib.pyplot as plt

    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "losses.json").write_text(json.dumps(curves))
    for name, losses in curves.items():
        print(f"{name}: loss {losses[-1]:.4f} after {len(losses)} steps")
        plt.plot(losses, label=name)
    plt.xlabel("step")
    plt.ylabel("loss")
    plt.legend()
    plt.savefig(args.out / "losses.svg")
    plt.close()
    return curves
