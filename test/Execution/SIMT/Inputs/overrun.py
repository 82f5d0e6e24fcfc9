"""overrun.py params | run DRIVER FOLDER: a step whose kernel leaves its view.

The rows of the matrix are no multiple of a block's, so kernels compare a row with
their number. In the kernel that reads a view of the workspace, with others behind
it, that number is raised in the PTX."""

import json
import os
import re
import shutil
import subprocess
import sys

ROWS, COLUMNS = 33, 24
if sys.argv[1] == "params":
    print(json.dumps({"tensors": [{"name": "m", "shape": [ROWS, COLUMNS], "dtype": "F32"}]}))
    sys.exit()

from artefact_device import *


def run(folder):
    """What is said of a step."""
    artefact = DeviceArtefact(folder, Driver(sys.argv[2]), PTX, "sm_80")
    for matrix in artefact.weights + artefact.gradients:
        matrix.set([0.01 * i % 1 for i in range(ROWS * COLUMNS)])
    artefact.upload()
    try:
        artefact.device_step(step=1)
    except AssertionError as error:
        return str(error)
    return "no report"


folder = sys.argv[3]
if sys.argv[1] == "one":
    print(run(folder))
    sys.exit()
print("as compiled:", run(folder))
with open(os.path.join(folder, "libnormuon.so"), "rb") as file:
    library = file.read()
guard = re.compile(rb"setp\.gt\.u32\s+%p\d+, %r\d+, " + str(ROWS - 1).encode() + rb";")
match = guard.search(library, library.index(b".entry spectral_33x24_update_k0("))
broken = folder + ".broken"
shutil.copytree(folder, broken)
end = match.end() - 1
with open(os.path.join(broken, "libnormuon.so"), "wb") as file:
    file.write(library[:end - 2] + b"99" + library[end:])
# A process of its own: libraries of one name are loaded once.
print("with a row too many:", subprocess.run(
    [sys.executable, __file__, "one", sys.argv[2], broken],
    capture_output=True, text=True).stdout)
