"""compare.py ONE OTHER TOLERANCE: the same tensors, up to a relative difference."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../CPU/Inputs"))
from artefact import *

one, two = (read_safetensors(path)[0] for path in sys.argv[1:3])
assert one.keys() == two.keys(), (one.keys(), two.keys())
for name, (shape, values) in one.items():
    assert shape == two[name][0]
    assert any(values), f"{name} is all zero"
    difference = relative(values, two[name][1])
    assert difference <= float(sys.argv[3]), f"{name} differs by {difference}"
