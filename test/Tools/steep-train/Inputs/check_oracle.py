"""Checks the oracle's metrics of a run.

usage: check_oracle.py METRICS COUNT exact|rownorm

COUNT lines must have them; those of an update with rate 0 say nothing."""

import json
import math
import sys

path, count, kind = sys.argv[1:]
lines = [json.loads(line) for line in open(path, encoding="utf-8")]
seen = [line for line in lines if "head_gap" in line]
assert len(seen) == int(count), f"{len(seen)} lines have head_gap"
for line in seen:
    where = f"step {line['step']}: "
    certificate, gap = line["head_certificate"], line["head_gap"]
    assert math.sqrt(0.5) <= certificate <= 1, where + f"certificate {certificate}"
    if line["lr_scale"] == 0:
        assert gap == 0 and line["head_decrease"] == 0, where + f"gap {gap}"
    elif kind == "exact":
        # The solver's tolerance, the rounding of S, and that of the check.
        assert -1e-9 <= gap <= 3e-6, where + f"gap {gap}"
        assert line["head_diameter"] <= 2 * 3.2e-3 * line["lr_scale"] * (1 + 1e-7), where + "D"
        assert line["head_decrease"] > 0, where + "decrease"
    else:
        assert 1e-3 < gap <= 1 - certificate + 1e-5, where + f"gap {gap}"
