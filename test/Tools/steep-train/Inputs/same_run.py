"""same_run.py DIR DIR...: the runs ended with the same bits.

The last checkpoint's tensors and all metrics but the clock's must be equal.
"""

import json
import sys
from pathlib import Path


def outcome(folder):
    checkpoint = sorted(Path(folder).glob("checkpoint-*"))[-1]
    lines = (Path(folder) / "metrics.jsonl").read_text().splitlines()
    metrics = [json.loads(line) for line in lines]
    for line in metrics:
        del line["seconds"], line["tokens_per_s"]
    return (
        (checkpoint / "model.safetensors").read_bytes(),
        (checkpoint / "optimizer.safetensors").read_bytes(),
        metrics,
    )


first = outcome(sys.argv[1])
assert len(first[2]) > 0
for other in sys.argv[2:]:
    second = outcome(other)
    assert first[0] == second[0], f"{other}: the weights differ"
    assert first[1] == second[1], f"{other}: the optimizer's states differ"
    assert first[2] == second[2], f"{other}: the metrics differ"
print("the same run:", len(first[2]), "steps")
