"""close_runs.py DIR DIR: the runs agree up to rounding, weights and states included."""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../Execution/CPU/Inputs"))
from artefact import read_safetensors, relative


def outcome(folder):
    checkpoint = sorted(Path(folder).glob("checkpoint-*"))[-1]
    tensors = {}
    for name in ("model", "optimizer"):
        tensors.update(read_safetensors(checkpoint / f"{name}.safetensors")[0])
    lines = (Path(folder) / "metrics.jsonl").read_text().splitlines()
    return tensors, [json.loads(line) for line in lines]


(tensors, metrics), (others, other_metrics) = outcome(sys.argv[1]), outcome(sys.argv[2])
assert tensors.keys() == others.keys() and len(tensors) > 10
for name, (shape, values) in tensors.items():
    difference = relative(others[name][1], values)
    assert difference < 1e-4, f"{name} differs by {difference}"
assert len(metrics) == len(other_metrics) > 0
for one, two in zip(metrics, other_metrics):
    for key in ("loss", "grad_norm", "head_diameter"):
        assert abs(one[key] - two[key]) <= 1e-4 * max(abs(one[key]), 1e-6), (key, one, two)
