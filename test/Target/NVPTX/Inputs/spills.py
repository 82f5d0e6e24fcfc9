"""spills.py TARGETS SPEC:RULE...: rows of every length that the passes treat alike.

A warp holds up to 2048 floats of a row in registers, a block 16384;
1000 and 11008 leave threads without a part of the last chunk. ptxas must find
registers for all kernels, and blocks of a whole multiprocessor's."""

import json
import os
import subprocess
import sys
import tempfile

WIDTHS = [768, 1000, 4096, 11008]

for name in sys.argv[2:]:
    spec, rule = name.split(":")
    with tempfile.TemporaryDirectory() as folder:
        params = os.path.join(folder, "params.json")
        with open(params, "w") as file:
            json.dump({"tensors": [{"name": f"w{width}", "shape": [64, width], "dtype": "F32"}
                                   for width in WIDTHS]}, file)
        out = os.path.join(folder, "out")
        subprocess.run(["steepc", spec, "--only-rule", rule, "--params", params,
                        "--target", "x86-64," + sys.argv[1], "-o", out], check=True)
        manifest = next(n for n in os.listdir(out) if n.endswith(".json"))
        with open(os.path.join(out, manifest)) as file:
            targets = json.load(file)["gpu"]["targets"]
    assert [t["name"] for t in targets] == sys.argv[1].split(",")
    kernels = {}
    for target in targets:
        for batch in target["batches"]:
            for kernel in batch["kernels"]:
                kernels[target["name"], kernel["name"]] = kernel
    for (target, kernel), facts in kernels.items():
        label = f"{target} {kernel}"
        assert facts["spill_bytes"] == 0, f"{label} spills {facts['spill_bytes']} bytes"
        threads = facts["block"][0] * facts["block"][1] * facts["block"][2]
        assert facts["registers"] * threads <= 65536, label
    most = max(facts["registers"] for facts in kernels.values())
    print(f"{rule}: {len(kernels)} kernels, none spills, {most} registers at most")
