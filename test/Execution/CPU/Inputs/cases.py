"""cases.py SPECS FOLDER WORK [steepc options]: recorded updates, replayed.

Every *.safetensors of FOLDER whose metadata say which `update` it records
becomes a parameter of one artefact: weights and states must agree with the
record to 1e-6, increments to 5e-5 (relative, Frobenius norm), and be the same
bits for no pool, one, two and three threads and for bases that are aligned to
their elements only.
"""

import glob
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from artefact import *

specs, folder, work, *options = sys.argv[1:]
STATES = {"momentum_buffer": "momentum", "exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"}


class Case:
    def __init__(self, path):
        self.tensors, self.metadata = read_safetensors(path)
        self.update = self.metadata["update"]
        self.file = os.path.basename(path)[: -len(".safetensors")]
        self.wd = float(self.metadata["weight_decay"])
        self.lr = json.loads(self.metadata["lr"])
        self.shape = self.tensors["w0"][0]
        self.group = f"{self.update}_{self.wd}".replace(".", "_")
        self.name = f"{self.group}.{self.file}"

    def values(self, key):
        return self.tensors[key][1]


def load():
    cases = []
    for path in sorted(glob.glob(os.path.join(folder, "*.safetensors"))):
        tensors, metadata = read_safetensors(path)
        if "update" in metadata:
            cases.append(Case(path))
    assert cases, f"no case in {folder}"
    return cases


def build(cases):
    """The paper's rules, with a group for every rule and decay."""
    with open(os.path.join(specs, "paper.mlir")) as file:
        text = file.read()
    rules = text[text.index("optim.rule") :]
    groups = {}
    for case in cases:
        groups[case.group] = case
    lines = []
    for name, case in sorted(groups.items()):
        facts = " facts(#geo.zero_column_sum, #geo.shift_invariant)"
        lines.append(
            f'  optim.group @{name} ["{name}.*"] uses @{case.update} lr 1.0 wd {case.wd}'
            + (facts if case.update == "rownorm" else "")
        )
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    with open(os.path.join(work, "cases.mlir"), "w") as file:
        file.write("optim.spec @cases {\n" + "\n".join(lines) + "\n}\n" + rules)
    with open(os.path.join(work, "cases.json"), "w") as file:
        json.dump({"tensors": [
            {"name": case.name, "shape": case.shape, "dtype": "F32"} for case in cases
        ]}, file)
    out = os.path.join(work, "out")
    subprocess.run(
        ["steepc", os.path.join(work, "cases.mlir"), "--params",
         os.path.join(work, "cases.json"), "-o", out, *options],
        check=True, timeout=300)
    return out


def replay(cases, out, threads, offset):
    """Takes the recorded steps; returns all bits, and the worst differences."""
    a = Artefact(out, offset=offset)
    pool = a.entry("pool_create")(threads) if threads else None
    worst, bits = {}, []
    for case in cases:
        a.weights[a.index[case.name]].set(case.values("w0"))
    for t in range(1, 1 + min(len(case.lr) for case in cases)):
        for case in cases:
            a.gradients[a.index[case.name]].set(case.values(f"g{t}"))
        rates = {case.group: case.lr[t - 1] for case in cases}
        a.step(step=t, lr=rates, pool=pool)
        for case in cases:
            check(a, case, t, worst)
        bits += a.snapshot() + [m.bytes() for m in a.updates]
    if pool:
        a.entry("pool_destroy")(pool)
    return bits, worst


def check(a, case, t, worst):
    i, seen = a.index[case.name], {}
    lr = case.lr[t - 1]
    before, after = case.values(f"w{t - 1}"), case.values(f"w{t}")
    increment = [x - (1 - lr * case.wd) * y for x, y in zip(after, before)]
    recorded = case.tensors.get(f"step{t}", (None, increment))[1]
    seen["weight"] = relative(a.weights[i].values(), after) / 1e-6
    seen["update"] = relative(a.updates[i].values(), recorded) / 5e-5
    for state in a.parameters[i]["states"]:
        key = STATES[state["name"]]
        values = a.state(case.name, state["name"]).values()
        seen[state["name"]] = relative(values, case.values(f"{key}{t}")) / 1e-6
    for what, ratio in seen.items():
        assert ratio <= 1, f"{case.file}, step {t}: {what} differs by {ratio} tolerances"
        worst[case.file] = max(worst.get(case.file, 0), ratio)


cases = load()
out = build(cases)
bits, worst = replay(cases, out, None, 0)
for name, ratio in worst.items():
    print(f"{name}: {ratio:.3f} of the tolerance")
for threads, offset in ((1, 0), (2, 0), (3, 0), (None, 1), (2, 3)):
    other, _ = replay(cases, out, threads, offset)
    assert other == bits, f"{threads} threads, offset {offset}: other bits"
print("the same bits for every number of threads and every alignment")
