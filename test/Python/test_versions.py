"""Artefacts of another version of the C interface."""

import shutil
import subprocess

import numpy as np
import pytest
import steep
from conftest import ROOT
from steep._artefact import Artefact, Stepper

# What such a version would have exported, in front of the library: its number, and
# entries that do not look at what came later.
OLDER = """
#define _GNU_SOURCE
#include "torch_adamw.h"
#include <dlfcn.h>

uint32_t steep_torch_adamw_abi_version(void) { return VERSION; }

#define FORWARD(entry, type, end, then)                                        \\
  int32_t steep_torch_adamw_##entry(type *args) {                              \\
    void *real = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);                          \\
    int32_t (*next)(type *) = dlsym(real, "steep_torch_adamw_" #entry);        \\
    uint32_t size = args->struct_size;                                         \\
    args->struct_size = offsetof(type, end);                                   \\
    int32_t code = next(args);                                                 \\
    args->struct_size = size;                                                  \\
    then;                                                                      \\
    return code;                                                               \\
  }
FORWARD(plan, steep_plan, device_target_count, args->abi_version = VERSION)
FORWARD(prepare, steep_step_args, device, )
FORWARD(apply, steep_step_args, device, )
FORWARD(step, steep_step_args, device, )
"""


@pytest.fixture(scope="module")
def artefact():
    spec = ROOT / "test" / "Python" / "Inputs" / "adamw.mlir"
    return steep.compile(spec, {"w": (6, 5)})


def older(artefact, tmp_path, version):
    folder = tmp_path / "artefact"
    shutil.copytree(artefact.folder, folder)
    library, real = folder / "libtorch_adamw.so", folder / "libreal.so"
    library.rename(real)
    (tmp_path / "older.c").write_text(OLDER)
    command = ["cc", "-shared", "-fPIC", f"-DVERSION={version}", f'-DREAL="{real}"']
    command += ["-I", folder, "-o", library, tmp_path / "older.c", "-ldl"]
    subprocess.run(command, check=True)
    return folder


def run(artefact, bf16=False):
    stepper = Stepper(artefact)
    generator = np.random.default_rng(1)
    tensors = [generator.standard_normal((6, 5)).astype("f") for _ in range(2)]
    tensors += [np.zeros((6, 5), "f") for _ in range(2)]
    pointers = [t.ctypes.data for t in tensors]
    stepper.weights.set(pointers[:1])
    stepper.gradients.set(pointers[1:2])
    stepper.states.set(pointers[2:])
    if bf16:
        stepper.gradients.lay(0, bf16=True)
        stepper.fit()
    stepper.set_group(0, 1e-3, 0.01)
    for step in range(1, 4):
        assert not stepper.run("step", step).skipped
    return [t.tobytes() for t in tensors]


def test_an_older_minor_version_runs(artefact, tmp_path):
    opened = Artefact.open(older(artefact, tmp_path, "1 << 16"))
    assert opened.plan.abi_version == 1 << 16
    assert run(opened) == run(artefact)
    with pytest.raises(steep.SteepError, match="older than 1.2.*dense FP32 tensors"):
        run(opened, bf16=True)
    run(artefact, bf16=True)


def test_another_major_version_is_refused(artefact, tmp_path):
    folder = older(artefact, tmp_path, "(2 << 16 | 3)")
    message = r"its C interface is 2.3, this package knows 1.x: compile the spec again$"
    with pytest.raises(steep.SteepError, match=message):
        Artefact.open(folder)
