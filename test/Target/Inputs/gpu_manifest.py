"""gpu_manifest.py FOLDER: checks what ptxas said of an artefact's GPU kernels."""

import json
import os
import sys

folder = sys.argv[1]
name = next(n for n in os.listdir(folder) if n.endswith(".json"))
with open(os.path.join(folder, name)) as file:
    gpu = json.load(file)["gpu"]
for target in gpu["targets"]:
    assert target["ptxas"].split(".")[0].isdigit()
    with open(os.path.join(folder, target["files"]["cubin"]), "rb") as file:
        assert file.read(4) == b"\x7fELF"
    count = 0
    for batch in target["batches"]:
        for kernel in batch["kernels"]:
            label = f"{target['name']} {kernel['name']}"
            threads = kernel["block"][0] * kernel["block"][1] * kernel["block"][2]
            assert 0 < kernel["registers"] <= 255, label
            assert kernel["registers"] * threads <= 65536, label
            assert kernel["spill_bytes"] == 0, f"{label} spills"
            assert 0 <= kernel["shared_bytes"] <= 99 * 1024, label
            assert 0 < kernel["occupancy"] <= 1, label
            count += 1
    print(f"{target['name']}: {count} kernels")
