"""run_levels.py FOLDER...: takes a step with each artefact that this CPU runs.

The others must refuse in plan(): the flags of /proc/cpuinfo decide which."""

import ctypes as c
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Execution/CPU/Inputs"))
from artefact import *

with open("/proc/cpuinfo") as file:
    flags = next(line for line in file if line.startswith("flags")).split()

results = {}
for folder in sys.argv[1:]:
    label = os.path.basename(folder)
    name = next(n for n in os.listdir(folder) if n.endswith(".json"))[:-5]
    with open(os.path.join(folder, name + ".json")) as file:
        needed = json.load(file)["target"]["features"]
    if not set(needed) <= set(flags):
        library = c.CDLL(os.path.join(folder, f"lib{name}.so"))
        plan = PlanStruct(c.sizeof(PlanStruct))
        assert library[f"steep_{name}_plan"](c.byref(plan)) == CPU
        print(f"{label}: refused")
        continue
    a = Artefact(folder)
    generator = random.Random(3)
    for matrix in a.weights + a.gradients:
        matrix.set([generator.gauss(0, 1) for _ in matrix.values()])
    a.step()
    results[label] = [m.values() for m in a.weights + a.states + a.updates]
    first = results[next(iter(results))]
    worst = max(relative(x, y) for x, y in zip(results[label], first))
    assert worst < 1e-5, f"{label} differs by {worst}"
    print(f"{label}: ran")
