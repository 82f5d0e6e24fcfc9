"""Checks the guarantees of a run with a certified head.

usage: check_certificate.py METRICS COUNT VOCABULARY DIM

What the compiled step measures is compared with what the runtime's solver finds
of the same step (--oracle-every)."""

import json
import math
import sys

path, count, rows, columns = sys.argv[1], *map(int, sys.argv[2:])
lines = [json.loads(line) for line in open(path, encoding="utf-8")]
assert len(lines) == count, f"{len(lines)} lines"
rank = min(rows - 1, columns)
for line in lines:
    where = f"step {line['step']}: "
    measures = line["measures"]["lm_head.weight"]
    certificate = measures["certificate"]
    lower, upper = measures["tension_lower"], measures["tension_upper"]
    assert math.isclose(measures["guarantee"], math.sqrt((rank + 1) / (2 * rank))), where
    assert math.sqrt(0.5) <= certificate <= 1, where + f"certificate {certificate}"
    # The runtime's certificate centres for itself.
    assert math.isclose(certificate, line["head_certificate"], rel_tol=1e-5), where
    effective = measures["effective_rows"]
    assert math.isclose(certificate, 1 / math.sqrt(2 * (1 - 1 / effective)), rel_tol=1e-9), where
    assert 0 < lower < upper, where
    assert math.isclose(lower / upper, certificate, rel_tol=1e-9), where
    # The step lacks no more than the certificate allows.
    if line["lr_scale"] > 0:
        assert 0 <= line["head_gap"] <= 1 - certificate + 1e-5, where + f"gap {line['head_gap']}"
