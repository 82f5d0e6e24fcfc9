"""projected.py WORK [steepc options]: RowNorm with the projections that facts leave.

Matrices with more rows than two groups of column sums, of widths that no vector
divides, for every set of facts that leaves some: two steps agree with the update
written down in FP64, and are the same bits for no pool, one, two and three threads,
where the second follows a copy of weights and states (nothing else is carried
over), and where prepare and apply are calls of their own. The mean row of the average
is carried: where it is zeros, as after a load without it, the step computes it; over
many steps it stays that of the average.
"""

import ctypes
import functools
import json
import math
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from artefact import *

work, *options = sys.argv[1:]
FACTS = {
    "none": [],
    "inner": ["#geo.shift_invariant"],
    "outer": ["#geo.zero_column_sum"],
}
# 64 rows a group of the former, 127 of the latter; 3 rows are left over.
SHAPES = [(131, 1025), (257, 513)]
LR, WD, BETA, EPS, STEPS = 0.01, 0.1, 0.95, 1e-8, 2
RULE = """
optim.rule @rownorm(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.95}
  %c  = geo.correct_bias %b1, %t {beta = 0.95}
  %s  = geo.common_ball %c radius(%lr) {eps = 1.0e-8}
  %u1 = geo.apply %u, %s decay(%lr, %wd)
  optim.yield %u1, %b1
}
"""


def build():
    groups = [
        f'  optim.group @{name} ["{name}.*"] uses @rownorm lr {LR} wd {WD}'
        + (f" facts({', '.join(facts)})" if facts else "")
        for name, facts in FACTS.items()
    ]
    tensors = [
        {"name": f"{name}.{i}", "shape": shape, "dtype": "F32"}
        for name in FACTS
        for i, shape in enumerate(SHAPES)
        if name == "none" or i == 0
    ]
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    spec, params = os.path.join(work, "p.mlir"), os.path.join(work, "p.json")
    with open(spec, "w") as file:
        file.write("optim.spec @projected {\n" + "\n".join(groups) + "\n}\n" + RULE)
    with open(params, "w") as file:
        json.dump({"tensors": tensors}, file)
    out = os.path.join(work, "out")
    subprocess.run(["steepc", spec, "--params", params, "-o", out, *options],
                   check=True, timeout=300)
    return out


@functools.lru_cache(maxsize=None)
def numbers(count, seed, scale):
    generator = random.Random(seed)
    # Not centred, so that a projection too many or too few shows.
    return array.array("f", [scale * (generator.random() - 0.3) for _ in range(count)])


def centered(rows):
    mean = [math.fsum(column) / len(rows) for column in zip(*rows)]
    return [[x - m for x, m in zip(row, mean)] for row in rows]


def update(name, w, g, b, t, columns):
    """The weights and the average after step t, as the spec says."""
    b = array.array("f", [BETA * x + (1 - BETA) * y for x, y in zip(b, g)])
    rows = [[x / (1 - BETA**t) for x in b[i : i + columns]] for i in range(0, len(b), columns)]
    if "#geo.zero_column_sum" not in FACTS[name]:
        rows = centered(rows)
    steps = []
    for row in rows:
        factor = -LR / (math.sqrt(math.fsum([x * x for x in row])) + EPS)
        steps.append([factor * x for x in row])
    if "#geo.shift_invariant" not in FACTS[name]:
        steps = centered(steps)
    flat = [x for row in steps for x in row]
    return array.array("f", [x * (1 - LR * WD) + s for x, s in zip(w, flat)]), b


def start(a):
    for i, m in enumerate(a.weights):
        m.set(numbers(m.rows * m.columns, i, 0.1))


def take(a, t, pool):
    for i, m in enumerate(a.gradients):
        m.set(numbers(m.rows * m.columns, 100 * t + i, 1e-3))
    a.step(step=t, pool=pool, updates=t == 2)


def check(a, expected, t):
    for i, (parameter, m) in enumerate(zip(a.parameters, a.weights)):
        w, b = expected[i]
        name = parameter["name"].split(".")[0]
        w1, b1 = update(name, w, a.gradients[i].values(), b, t, m.columns)
        expected[i] = w1, b1
        moved = [x - y for x, y in zip(m.values(), w)]
        wanted = [x - y for x, y in zip(w1, w)]
        state = a.state(parameter["name"], "momentum_buffer").values()
        for what, difference, bound in (("weight", relative(m.values(), w1), 1e-6),
                                        ("update", relative(moved, wanted), 5e-5),
                                        ("state", relative(state, b1), 1e-6)):
            assert difference <= bound, f"{parameter['name']}, step {t}: {what} off by {difference}"


def clear_means(a):
    states = [s for p in a.parameters for s in p["states"]]
    means = [m for m, s in zip(a.states, states) if s["convention"] == "mean"]
    for m in means:
        m.set([0.0] * m.columns)
    return len(means)


def apart(a, t):
    """A step as two calls, with another use of the workspace between them."""
    arguments = a.arguments(step=t, updates=t == 2)
    assert a.call("prepare", arguments) == OK, a.said
    ctypes.memset(a.workspace, 0xFF, a.plan.workspace_bytes)
    assert a.call("apply", arguments) == OK, a.said


def drift(a, steps):
    """How far the carried rows are from the means of the averages, relative to the
    largest of those so far, within so many steps."""
    worst = size = 0
    for t in range(1, steps + 1):
        for i, m in enumerate(a.gradients):
            shift = 3e-3 * math.sin(0.1 * t)  # a mean that grows and vanishes
            base = numbers(m.rows * m.columns, 100 + (t + i) % 2, 1e-3)
            m.set([x + shift for x in base])
        a.step(step=t, updates=False)
        for p in a.parameters:
            if t % 10 != 0 or len(p["states"]) < 2:
                continue
            b = a.state(p["name"], "momentum_buffer")
            row = a.state(p["name"], "momentum_buffer_mean").values()
            columns, values = b.columns, b.values()
            mean = [math.fsum(values[j::columns]) / b.rows for j in range(columns)]
            size = max(size, max(abs(x) for x in mean))
            worst = max(worst, max(abs(x - y) for x, y in zip(row, mean)) / size)
    return worst


out = build()
a = Artefact(out)
start(a)
expected = [(m.values(), array.array("f", bytes(4 * m.rows * m.columns))) for m in a.weights]
for t in range(1, STEPS + 1):
    take(a, t, None)
    check(a, expected, t)
print(f"{len(a.weights)} matrices agree with the update in FP64")
for threads, offset in ((1, 0), (2, 3), (3, 0)):
    first = Artefact(out, offset=offset)
    pool = first.entry("pool_create")(threads)
    start(first)
    for t in range(1, STEPS):
        take(first, t, pool)
    second = Artefact(out)
    for old, new in zip(first.weights + first.states, second.weights + second.states):
        new.set(old.values())
    take(second, STEPS, pool)
    first.entry("pool_destroy")(pool)
    assert second.snapshot() == a.snapshot(), f"{threads} threads, offset {offset}: other bits"
print("the same bits for every number of threads, and after a copy")

first, second = Artefact(out), Artefact(out)
for b in (first, second):
    start(b)
    take(b, 1, None)
    print(f"{clear_means(b)} mean rows are not known")
pool = second.entry("pool_create")(2)
take(first, 2, None)
take(second, 2, pool)
second.entry("pool_destroy")(pool)
assert first.snapshot() == second.snapshot(), "rows that were not known: other bits"
for i, (m, wanted) in enumerate(zip(first.weights, a.weights)):
    difference = relative(m.values(), wanted.values())
    assert difference <= 1e-7, f"weight {i} is off by {difference} without its mean row"
for m, wanted in zip(first.states, a.states):
    assert relative(m.values(), wanted.values()) <= 1e-6, "a state is off"
print("rows that are not known are computed")

first = Artefact(out)
start(first)
for t in range(1, STEPS + 1):
    for i, m in enumerate(first.gradients):
        m.set(numbers(m.rows * m.columns, 100 * t + i, 1e-3))
    apart(first, t)
assert first.snapshot() == a.snapshot(), "prepare and apply: other bits"
print("the same bits from prepare and apply")

# 1 / (1 - beta) = 20 roundings of 2^-24 each are 1.2e-6.
worst = drift(Artefact(out), 60)
assert worst <= 1.2e-6, f"after 60 steps the carried row is off by {worst}"
print("the carried row stays the mean")
