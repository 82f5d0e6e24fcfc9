"""full_output.py SPEC PARAMS FOLDER: every tool with a full disk as its output."""

import os
import subprocess
import sys

spec, params, folder = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
shards = os.path.join(folder, "shards")
subprocess.run([sys.executable, os.path.join(here, "../steep-train/Inputs/make_shards.py"), shards, "61"],
               check=True)
update = os.path.join(folder, "s")
subprocess.run([sys.executable, os.path.join(here, "../steep-run/Inputs/write.py"), update,
                "s:F32:2x2:1:2:3:4"], check=True)
train = ["steep-train", "--dim", "64", "--layers", "1", "--vocab", "61", "--context", "16", "--data", shards,
         "--steps", "1", "--batch", "4", "--threads", "1"]
run = os.path.join(folder, "run")
shard = os.path.join(shards, sorted(os.listdir(shards))[0])
module = os.path.join(folder, "module.mlir")
with open(module, "w") as file:
    file.write("func.func private @f()\n")

commands = [
    ["steepc", "--help"],
    ["steepc", "--version"],
    ["steepc", spec, "--params", params, "--emit=geo"],
    ["steepc", spec, "--params", params, "--explain"],
    ["steep-opt", module],
    ["steep-run", "--help"],
    ["steep-run", "--measure=diameter", "--in", update],
    ["steep-data", "--help"],
    ["steep-data", "inspect", shard],
    ["steep-train", "--help"],
    [*train, "--dry-run"],
    [*train, "--out", run],
]
for command in commands:
    # First with an output that takes everything: the command itself is right.
    good = subprocess.run(command if "--out" not in command else [*command[:-1], run + "-good"],
                          capture_output=True, text=True, timeout=250)
    assert good.returncode == 0 and good.stdout, f"{command}: {good.stderr}"
    with open("/dev/full", "w") as full:
        bad = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=250)
    what = f"{command}: status {bad.returncode}: {bad.stderr}"
    assert bad.returncode == 1, what
    assert bad.stderr.count("\n") == 1 and ("output" in bad.stderr or "No space left" in bad.stderr), what
# Training went on to its end: what a run leaves is whole.
assert os.path.exists(os.path.join(run, "summary.json"))
print(f"{len(commands)} commands")
