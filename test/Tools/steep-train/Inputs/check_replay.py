"""check_replay.py: the differences that steep-train --replay prints (stdin).

Bounds: first gradients 1e-5, each loss 1e-6, D(S_t) and Hilbert RMS 1e-5, final
minus initial weights 1e-4; gradient norms 1e-5, schedule 1e-12.
"""

import json
import sys

bounds = {
    "loss": 1e-6,
    "grad_norm": 1e-5,
    "lr_scale": 1e-12,
    "head_diameter": 1e-5,
    "hilbert_rms": 1e-5,
    "grad0": 1e-5,
    "final": 1e-4,
}
result = json.load(sys.stdin)
assert list(result) == list(bounds), list(result)
for key, bound in bounds.items():
    value = result[key]
    values = list(value.values()) if isinstance(value, dict) else value
    assert len(values) >= 8, (key, values)
    assert all(x <= bound for x in values), (key, max(values), bound)
    print(f"{key} {max(values):.1e}")
