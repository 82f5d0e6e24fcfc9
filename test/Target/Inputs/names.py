"""names.py FOLDER PARAMS: every name comes back as it was."""

import ctypes as c
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Execution/CPU/Inputs"))
from artefact import *

a = Artefact(sys.argv[1])
with open(sys.argv[2]) as file:
    names = [t["name"] for t in json.load(file)["tensors"]]
assert [p["name"] for p in a.parameters] == names
for i, name in enumerate(names):
    entry = ParameterStruct(c.sizeof(ParameterStruct))
    assert a.entry("parameter")(c.c_int64(i), c.byref(entry)) == OK
    assert entry.name.decode() == name
arguments = a.arguments()
arguments.parameters[1] = c.POINTER(DLTensor)()
assert a.call("step", arguments) == INVALID
assert a.said == r'parameter "line\x0a\x22quoted\x22\x5c??/": expected a tensor, got NULL', a.said
