"""rules.py DRIVER [--dot=DOT] SPEC...: every rule of the specs, on a GPU and on the host;
with --dot those that multiply matrices, in that precision.

Each rule updates matrices of small and odd shapes, twice, so that states count.
Weights, states and increments must agree with the host's to 1e-5; on the emulated
GPU the PTX must give the bits of the IR from which it was generated."""

import os
import random
import re
import subprocess
import sys
import tempfile

from artefact_device import *

SHAPES = [(1, 1), (5, 1), (33, 64), (40, 129)]
LONG = [(2, 4500), (70, 700)]  # for rules that do not multiply matrices
TOLERANCE = 1e-5

DOT = None
if sys.argv[2].startswith("--dot="):
    DOT = sys.argv.pop(2).split("=")[1]
    SHAPES, LONG = [(33, 65), (96, 96), (160, 130)], []
    TOLERANCE = {"tf32x3": 5e-6}[DOT]

driver = Driver(sys.argv[1])
simt = hasattr(driver.library, "steepSimtReport")
images = {"ir": BITCODE, "ptx": PTX} if simt else {"gpu": BEST}
target = os.environ.get("STEEP_TEST_GPU", "sm_80")


def fill(artefact, seed):
    generator = random.Random(seed)
    for matrix in artefact.weights + artefact.gradients:
        matrix.set([generator.gauss(0, 1) for _ in matrix.values()])


def run(artefact, on_device):
    """Two steps; the tensors after them."""
    fill(artefact, 1)
    for step in (1, 2):
        generator = random.Random(step)
        for matrix in artefact.gradients:
            matrix.set([generator.gauss(0, 1) for _ in matrix.values()])
        if not on_device:
            artefact.step(step=step, grad_scale=0.5)
            continue
        artefact.upload()
        report = artefact.device_step(step=step, grad_scale=0.5)
        assert report.code == OK and report.step == step
        artefact.download()
    return [(label, m.values())
            for label, list in (("weight", artefact.weights), ("state", artefact.states),
                                ("update", artefact.updates)) for m in list]


def check(spec, rule, folder):
    with open(spec) as file:
        text = file.read()
    multiplies = "geo.spectral" in text.split(f"optim.rule @{rule}")[1].split("optim.rule")[0]
    if DOT:
        if not multiplies:
            return
        spec = os.path.join(folder, os.path.basename(spec))
        with open(spec, "w") as file:
            file.write(re.sub(r"(geo.spectral %\w+ radius\(%\w+\))", rf"\1 dot({DOT})", text))
    shapes = SHAPES + ([] if multiplies else LONG)
    params = os.path.join(folder, "params.json")
    with open(params, "w") as file:
        json.dump({"tensors": [{"name": f"m{r}x{k}.{i}", "shape": [r, k], "dtype": "F32"}
                               for r, k in shapes for i in range(2 if r == 33 else 1)]}, file)
    out = os.path.join(folder, rule)
    command = ["steepc", spec, "--params", params, "--only-rule", rule,
               "--target", target, "-o", out]
    done = subprocess.run(command, capture_output=True, text=True)
    label = f"{os.path.basename(spec)} {rule}"
    assert done.returncode == 0, f"{label}: {done.stderr}"
    host = run(Artefact(out), False)
    results = {}
    for name, image in images.items():
        artefact = DeviceArtefact(out, driver, image, target if simt else None)
        results[name] = run(artefact, True)
        artefact.close()
    worst = 0
    for name, tensors in results.items():
        for (kind, there), (_, here) in zip(tensors, host):
            difference = relative(there, here)
            assert difference <= TOLERANCE, f"{label} on {name}: a {kind} differs by {difference}"
            worst = max(worst, difference)
    if simt:
        assert all(a[1].tobytes() == b[1].tobytes()
                   for a, b in zip(results["ir"], results["ptx"])), f"{label}: PTX differs from IR"
    print(f"{label}: agrees, {worst:.1e} at most")


for spec in sys.argv[2:]:
    with open(spec) as file:
        rules = re.findall(r"optim\.rule @(\w+)", file.read())
    assert rules, spec
    for rule in rules:
        with tempfile.TemporaryDirectory() as folder:
            check(spec, rule, folder)
