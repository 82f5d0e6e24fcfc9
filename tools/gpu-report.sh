#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: builds what is missing, runs the tests that need
# the GPU, and prints one table of what every kernel reaches.
#
#   tools/gpu-report.sh [--no-install] [--build DIR] [--params FILE] [--spec FILE]
#
# The table goes to standard output; PyTorch and Triton are compared with where
# python3 has them. Default: specs/paper.mlir for a model of width 512.
set -euo pipefail
# shellcheck source=tools/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install=1 build=$steep_root/build spec=$steep_root/specs/paper.mlir
params=$steep_root/bench/gpu_report.json
while [ $# -gt 0 ]; do
  case $1 in
    --no-install) install=0 ;;
    --build | --params | --spec)
      [ $# -gt 1 ] || steep_die "$1 needs a value"
      declare "${1#--}=$2"
      shift
      ;;
    -h | --help)
      sed -n '2,8s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *) steep_die "unknown option '$1'; expected --no-install, --build DIR, --params FILE or --spec FILE" ;;
  esac
  shift
done

[ -e /dev/nvidia0 ] || [ -n "${STEEP_REPORT_DRIVER:-}" ] ||
  steep_die "found no NVIDIA GPU (/dev/nvidia0)"
[ $install = 0 ] || steep_install "${steep_packages[@]}"
flags=()
[ $install = 1 ] || flags=(--no-install)
"$steep_root/tools/fetch-cuda.sh" "$build/cuda" "${flags[@]}" >&2 ||
  steep_say "Without ptxas the driver compiles the PTX" >&2

steep_say "Building in $build" >&2
[ -e "$build/build.ninja" ] || steep_configure "$build"
steep_build "$build" steepc steep-run steep-train >&2

status=0
if [ -e /dev/nvidia0 ]; then
  steep_say "Tests that need the GPU" >&2
  lit=$(command -v lit || echo /usr/lib/llvm-22/bin/lit)
  "$lit" -sv --timeout=600 "$build/test" --filter='Execution/CUDA' >&2 || status=1
fi

# Every architecture of the table would do; the card's own gives its cubin.
target=${STEEP_REPORT_TARGET:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader |
  head -1 | sed -e 's/\.//' -e 's/^/sm_/' -e 's/^sm_\(90\|100\|103\|120\|121\)$/&a/')}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/bin/steepc" "$spec" --params "$params" --target "$target" -o "$work/artefact"
${CC:-cc} -std=gnu99 -O2 -shared -fPIC "$steep_root/bench/CudaTimer.c" -o "$work/libtimer.so" -ldl
steep_say "Kernels of $(basename "$spec") for $target" >&2
python3 "$steep_root/bench/gpu_report.py" "$work/artefact" "$work/libtimer.so" \
  ${STEEP_REPORT_DRIVER:+--driver "$STEEP_REPORT_DRIVER" --steps 2 --copy-mib 4} || status=1
exit $status
