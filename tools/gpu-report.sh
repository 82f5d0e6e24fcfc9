#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: builds what is missing, runs the tests that need
# the GPU, and prints one table of what every kernel reaches.
#
#   tools/gpu-report.sh [--no-install] [--no-build] [--build DIR] [--params FILE] [--spec FILE]
#                       [--tests REGEX] [--dry-run]
#
# --no-build takes what --build DIR holds; --tests chooses among the tests (Execution/CUDA).
# --dry-run goes through all of it without a card, with the emulated GPU in the place of
# the driver and a small model: it shows that script and tests work; its times mean nothing.
# The table goes to standard output; PyTorch and Triton are compared with where
# python3 has them. Default: specs/paper.mlir for a model of width 512.
set -euo pipefail
# shellcheck source=tools/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install=1 builds=1 dry=0 tests=Execution/CUDA build=$steep_root/build spec=$steep_root/specs/paper.mlir
params=
while [ $# -gt 0 ]; do
  case $1 in
    --no-install) install=0 ;;
    --no-build) builds=0 ;;
    --dry-run) dry=1 ;;
    --build | --params | --spec | --tests)
      [ $# -gt 1 ] || steep_die "$1 needs a value"
      declare "${1#--}=$2"
      shift
      ;;
    -h | --help)
      sed -n '2,13s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *) steep_die "unknown option '$1'; expected --no-install, --no-build, --dry-run, --build DIR, --params FILE, --spec FILE or --tests REGEX" ;;
  esac
  shift
done

[ -n "$params" ] || params=$steep_root/bench/gpu_report$([ $dry = 0 ] || echo _dry).json

[ -e /dev/nvidia0 ] || [ $dry = 1 ] ||
  steep_die "found no NVIDIA GPU (/dev/nvidia0); --dry-run needs none"
[ $builds = 1 ] || [ -x "$build/bin/steepc" ] ||
  steep_die "--no-build: expected a build of Steep in --build $build, which has no bin/steepc"
if [ $builds = 1 ]; then
  [ $install = 0 ] || steep_install "${steep_packages[@]}"
  flags=()
  [ $install = 1 ] || flags=(--no-install)
  "$steep_root/tools/fetch-cuda.sh" "$build/cuda" "${flags[@]}" >&2 ||
    steep_say "Without ptxas the driver compiles the PTX" >&2

  steep_say "Building in $build" >&2
  [ -e "$build/build.ninja" ] || steep_configure "$build"
  targets=(steepc steep-run steep-train DeviceSpecsTests GeometriesTests)
  [ $dry = 0 ] || targets+=(steep-simt)
  steep_build "$build" "${targets[@]}" >&2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
options=()
if [ $dry = 1 ]; then
  ln -s "$(realpath "$build")/lib/libsteep-simt.so" "$work/libcuda.so.1"
  export LD_LIBRARY_PATH=$work${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} STEEP_TEST_DRY_RUN=1 STEEP_CUDA=none
  echo "DRY RUN: the emulated GPU in the place of a card; the times below mean nothing"
  target=sm_80 options=(--driver "$work/libcuda.so.1" --steps 2 --copy-mib 4)
else
  # Every architecture of the table would do; the card's own gives its cubin.
  target=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader |
    head -1 | sed -e 's/\.//' -e 's/^/sm_/' -e 's/^sm_\(90\|100\|103\|120\|121\)$/&a/')
fi

status=0
steep_say "Tests that need the GPU" >&2
lit=$(command -v lit || echo /usr/lib/llvm-22/bin/lit)
"$lit" -v --timeout=600 "$build/test" --filter="$tests" >&2 || status=1

"$build/bin/steepc" "$spec" --params "$params" --target "$target" -o "$work/artefact"
${CC:-cc} -std=gnu99 -O2 -shared -fPIC "$steep_root/bench/CudaTimer.c" -o "$work/libtimer.so" -ldl
steep_say "Kernels of $(basename "$spec") for $target" >&2
python3 "$steep_root/bench/gpu_report.py" "$work/artefact" "$work/libtimer.so" \
  ${options[@]+"${options[@]}"} || status=1
exit $status
