#!/usr/bin/env bash
# Gets the programs that judge GPU code into a folder, from PyPI's wheels:
#
#   tools/fetch-cuda.sh DIR [--no-install]
#
# DIR/bin/ptxas, nvdisasm, cuobjdump      110 MB of downloads
# DIR/nvvm/libdevice/libdevice.10.bc
#
# steepc finds them in build/cuda (beside its own folder), or in $STEEP_CUDA,
# $CUDA_HOME, or ptxas in PATH. Without them it writes PTX and no cubin. They are
# NVIDIA's, under the licence in each wheel; nothing of them is distributed here.
# What is there already is kept.
set -euo pipefail
# shellcheck source=tools/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

version=13.2.78
# Wheel and its sha256; pip refuses any other file.
wheels=(
  nvidia-cuda-nvcc:c3bd144dd9b6b25e062589acb7bbd43d93d3120c72fad71da808f9817aba1239
  nvidia-cuda-nvdisasm:b4ebcd3c5046bf8039ac52675b9dbefd843600969649ecaab0a42b0713a61dae
  nvidia-cuda-cuobjdump:394087411405b846bf43aa52ca2ff603bbe18b3b8a1257cda0903e23c17bdbf3
  nvidia-nvvm:f5aa433631109bbdec81802c5b5f319bf10bc891fe2f212e4e445845211d6f77
)
files=(bin/ptxas bin/nvdisasm bin/cuobjdump nvvm/libdevice/libdevice.10.bc)

dir='' install=1
for argument in "$@"; do
  case $argument in
    --no-install) install=0 ;;
    -*) steep_die "unknown option '$argument'; expected DIR or --no-install" ;;
    *) dir=$argument ;;
  esac
done
[ -n "$dir" ] || steep_die "expected a folder to put the programs in"

[ "$(cat "$dir/version" 2>/dev/null)" != "$version" ] || exit 0
[ "$(uname -m)" = x86_64 ] || steep_die "the wheels are for x86-64, not $(uname -m)"
steep_say "ptxas, nvdisasm, cuobjdump, libdevice $version from PyPI"
[ $install = 0 ] || steep_install python3-pip
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
work=$(mktemp -d "$dir/.fetchXXXXXX")
trap 'rm -rf "$work"' EXIT
for wheel in "${wheels[@]}"; do
  echo "${wheel%%:*}==$version --hash=sha256:${wheel##*:}"
done >"$work/requirements.txt"
python3 -m pip download --quiet --no-deps --only-binary=:all: --require-hashes \
  --platform manylinux_2_17_x86_64 --platform manylinux_2_12_x86_64 \
  --platform manylinux2014_x86_64 --platform manylinux2010_x86_64 \
  --dest "$work/wheels" --requirement "$work/requirements.txt" ||
  steep_die "could not download NVIDIA's wheels $version from PyPI"
for wheel in "$work"/wheels/*.whl; do
  python3 -m zipfile -e "$wheel" "$work/root"
done
for file in "${files[@]}"; do
  mkdir -p "$dir/$(dirname "$file")"
  mv "$work/root/nvidia/cu13/$file" "$dir/$file" ||
    steep_die "the wheels $version lack $file"
done
chmod 755 "$dir"/bin/*
# Last: with it the folder is whole.
echo "$version" >"$dir/version"
