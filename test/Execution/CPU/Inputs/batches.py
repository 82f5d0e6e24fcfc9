"""batches.py SPECS WORK: batched matrices against single ones, zeros, decay."""

import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from artefact import *

specs, work = sys.argv[1:]
ROWS, COLUMNS = 24, 9


def build(name, count):
    """Muon without clipping, which would join the matrices."""
    with open(os.path.join(work, name + ".json"), "w") as file:
        json.dump({"tensors": [
            {"name": f"m{i}", "shape": [ROWS, COLUMNS], "dtype": "F32"} for i in range(count)
        ]}, file)
    out = os.path.join(work, name)
    subprocess.run(["steepc", os.path.join(specs, "paper.mlir"), "--only-rule", "muon",
                    "--params", out + ".json", "--name", name, "-o", out],
                   check=True, timeout=300)
    return out


def noise(seed):
    generator = random.Random(seed)
    return [generator.gauss(0, 1) for _ in range(ROWS * COLUMNS)]


def start(folder, seeds):
    a = Artefact(folder)
    for i, seed in enumerate(seeds):
        a.weights[i].set(noise(seed))
        a.gradients[i].set(noise(seed + 100))
    return a


def matrix(a, i):
    return a.weights[i].bytes(), a.states[i].bytes(), a.updates[i].bytes()


many, one = build("many", 5), build("one", 1)
together = start(many, range(5))
together.step()
for i in range(5):
    alone = start(one, [i])
    alone.step()
    assert matrix(alone, 0) == matrix(together, i), f"matrix {i} differs"
print("the same bits alone and in a batch")

zeros = start(many, range(5))
zeros.gradients[2].set([0.0] * (ROWS * COLUMNS))
zeros.step(wd={"backbone": 0.0})
rest = start(many, range(5))
rest.step(wd={"backbone": 0.0})
for i in range(5):
    assert (matrix(zeros, i) == matrix(rest, i)) == (i != 2)
assert list(zeros.weights[2].values()) == list(array.array("f", noise(2)))
assert not any(zeros.updates[2].values()) and not any(zeros.states[2].values())
print("a zero gradient moves nothing, and no neighbour")

decay = start(one, [0])
decay.weights[0].set([1.0] * (ROWS * COLUMNS))
decay.gradients[0].set([0.0] * (ROWS * COLUMNS))
for step, expected in ((1, 0.9), (2, 0.81)):
    decay.step(step=step, lr={"backbone": 0.01}, wd={"backbone": 10.0})
    assert all(abs(w - expected) < 1e-6 for w in decay.weights[0].values())
print("decay takes the learning rate before the shape factor")

through, saved = start(many, range(5)), start(many, range(5))
for step in range(1, 5):
    through.step(step=step)
for step in (1, 2):
    saved.step(step=step)
resumed = start(many, range(5))
for mine, theirs in zip(resumed.weights + resumed.states, saved.weights + saved.states):
    mine.set(theirs.values())
for step in (3, 4):
    resumed.step(step=step)
assert resumed.snapshot() == through.snapshot()
print("four steps are two and two")
