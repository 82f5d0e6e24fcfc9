"""lit configuration: tests mirror the rooms; a pass's test is named for its argument."""

import ctypes
import os
import shutil
import subprocess

import lit.formats

config.name = "steep"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".mlir", ".test", ".c"]
config.excludes = ["Inputs", "Unit", "lit.cfg.py"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.steep_build_root, "test")

tools = os.path.join(config.steep_build_root, "bin")
config.environment["PATH"] = os.pathsep.join(
    [tools, config.llvm_tools_dir, os.environ.get("PATH", "")]
)
# Every program must find its way without the caller's locale or terminal.
config.environment["LC_ALL"] = "C.UTF-8"
for name in ("OMP_NUM_THREADS", "TMPDIR", "XDG_CACHE_HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# A pattern loop can eat all memory: 8 GiB of address space is plenty.
limit = "ulimit -v 8388608; "
config.substitutions.append(("%limit", limit))
config.substitutions.append(("%source", config.steep_source_root))
config.substitutions.append(("%specs", os.path.join(config.steep_source_root, "specs")))
config.substitutions.append(("%build", config.steep_build_root))
config.substitutions.append(("%cc", config.host_cc))
config.substitutions.append(("%cxx", config.host_cxx))
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%unit", os.path.join(config.steep_build_root, "unit")))
simt = os.path.join(config.steep_build_root, "lib", "libsteep-simt.so")
config.substitutions.append(("%simt", simt))

def finds_library(name):
    asked = [config.host_cc, f"-print-file-name={name}"]
    found = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
    return os.path.isabs(found) and os.path.exists(found)


if finds_library("libasan.so") and finds_library("libtsan.so"):
    config.available_features.add("sanitizers")
benches = ("RowBench", "StepBench", "ProductBench", "MuonBench", "ModelBench", "CenterBench",
           "GeometryBench", "GeometryTable")
if all(os.path.exists(os.path.join(config.steep_build_root, "bin", b)) for b in benches):
    config.available_features.add("benchmarks")
if shutil.which("pkg-config"):
    config.available_features.add("pkg-config")
if os.path.exists("/dev/full"):
    config.available_features.add("full-device")
# Does this CPU multiply tiles of BF16, and does the system let a process?
# (arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA))
def has_amx():
    try:
        with open("/proc/cpuinfo") as cpus:
            flags = cpus.read()
        system = ctypes.CDLL(None, use_errno=True)
        return "amx_bf16" in flags and "avx512_bf16" in flags and system.syscall(158, 0x1023, 18) == 0
    except OSError:
        return False


if has_amx():
    config.available_features.add("amx")
# GPUs: NVIDIA's programs where there are any (see tools/fetch-cuda.sh), a card,
# and the emulated one.
cuda = os.path.join(config.steep_build_root, "cuda")
for name in ("STEEP_CUDA", "CUDA_HOME", "CUDA_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
        cuda = os.environ[name] if name == "STEEP_CUDA" else cuda
config.environment["PATH"] += os.pathsep + os.path.join(cuda, "bin")
for name in ("ptxas", "nvdisasm", "cuobjdump"):
    if shutil.which(name, path=config.environment["PATH"]):
        config.available_features.add(name)
# A dry run has the emulated GPU as libcuda.so.1 (tools/gpu-report.sh).
dry_run = os.environ.get("STEEP_TEST_DRY_RUN")
if dry_run or os.path.exists("/dev/nvidia0"):
    config.available_features.add("nvidia-gpu")
if os.path.exists(simt):
    config.available_features.add("simt")
