"""What a step needs beside weights, gradients and states: at most one packed copy of the
largest batch, by the manifest and as the process grows.

memory.py shapes BLOCKS DIM VOCABULARY > PARAMETERS
memory.py check FOLDER [run]
"""

import array
import ctypes as c
import json
import mmap
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Execution/CPU/Inputs"))
from artefact import Artefact


class FreshPages(Artefact):
    """Works in pages that nothing has touched."""

    def __init__(self, folder):
        super().__init__(folder)
        self.pages = mmap.mmap(-1, self.needed)
        self.workspace = c.addressof(c.c_char.from_buffer(self.pages))
        self.plan.workspace_bytes = self.needed

    def make_tensors(self, offset):
        super().make_tensors(offset)
        # What the base allocates next is filled with zeros.
        self.needed, self.plan.workspace_bytes = self.plan.workspace_bytes, 0


def shapes(blocks, d, vocabulary):
    tensors = [("embed.weight", (vocabulary, d)), ("lm_head.weight", (vocabulary, d))]
    for block in range(blocks):
        tensors += [(f"blocks.{block}.attn.{name}.weight", (d, d)) for name in "qkvo"]
        tensors += [(f"blocks.{block}.mlp.{name}.weight", (4 * d, d)) for name in ("gate", "up")]
        tensors.append((f"blocks.{block}.mlp.down.weight", (d, 4 * d)))
    print(json.dumps({"tensors": [{"name": n, "shape": s, "dtype": "F32"} for n, s in tensors]}))


def status(key):
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith(key)).split()[1]) * 1024


def check(folder, runs):
    with open(os.path.join(folder, "paper.json")) as file:
        manifest = json.load(file)
    shape = {p["name"]: p["shape"] for p in manifest["parameters"]}
    # Products pack the matrices of the blocks alone.
    largest = max(4 * sum(shape[p][0] * shape[p][1] for p in batch["parameters"])
                  for batch in manifest["batches"] if "blocks.0" in batch["parameters"][0])
    workspace = manifest["workspace"]["bytes"]
    assert workspace <= largest, f"{workspace} bytes of workspace, more than {largest}"
    print(f"workspace {workspace / 2**20:.1f} MiB, a copy of the largest batch {largest / 2**20:.1f} MiB")
    if not runs:
        return
    artefact = FreshPages(folder)
    pattern = array.array("f", range(-3, 4))
    for gradient in artefact.gradients:
        size = gradient.rows * gradient.columns
        gradient.memory[:] = (pattern * (size // 7 + 1))[:size]
    arguments = artefact.arguments()
    before = status("VmHWM")
    assert artefact.call("step", arguments) == 0, artefact.said
    grown = status("VmHWM") - before
    # Pages that the process touches for other reasons.
    assert grown <= workspace + 2**21, f"grew by {grown} bytes, more than {workspace}"
    assert grown >= workspace / 2, f"grew by {grown} bytes only: not measured"
    print("peak within the workspace")


if sys.argv[1] == "shapes":
    shapes(*map(int, sys.argv[2:5]))
else:
    check(sys.argv[2], "run" in sys.argv[3:])
