"""gpu_alone.py DRIVER FOLDER: one step on a GPU and one here, of an artefact for GPUs alone."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Execution/SIMT/Inputs"))
from artefact_device import *

gpu = DeviceArtefact(sys.argv[2], Driver(sys.argv[1]))
gpu.upload()
print("on the GPU:", gpu.device_step(step=1).code)
gpu.close()
here = Artefact(sys.argv[2])
code = here.call("step", here.arguments(step=1))
print(f"here: {code}, {here.said}")
try:
    DeviceArtefact(sys.argv[2], Driver(sys.argv[1]), image=CUBIN)
except AssertionError as error:
    print(error)
