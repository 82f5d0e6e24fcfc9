#!/usr/bin/env bash
# From a clean clone to a trained model and a comparison, in one command:
# builds Steep, compiles specs/paper.mlir (Muon on the blocks, RowNorm on the
# head) and specs/paper_adamw.mlir (AdamW head), trains the `tiny` transformer
# with each on the same English text, and compares the runs.
#
#   tools/quickstart.sh [--no-install] [--steps N] [--out DIR] [--text FILE...]
set -euo pipefail
# shellcheck source=tools/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install=1 steps=120 out=$steep_root/out/quickstart text=()
while [ $# -gt 0 ]; do
  case $1 in
    --no-install) install=0 ;;
    --steps | --out)
      [ $# -gt 1 ] || steep_die "$1 needs a value"
      if [ "$1" = --steps ]; then steps=$2; else out=$2; fi
      shift
      ;;
    --text)
      shift
      while [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; do
        [ -f "$1" ] || steep_die "--text: no such file: $1"
        text+=("$1")
        shift
      done
      [ ${#text[@]} -gt 0 ] || steep_die "--text needs at least one file"
      continue
      ;;
    -h | --help)
      sed -n '2,8s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *) steep_die "unknown option '$1'; see --help" ;;
  esac
  shift
done

started=$(date +%s)
[ $install = 0 ] || steep_install "${steep_packages[@]}"

build=$steep_root/build
bin=$build/bin
steep_say "Building the compiler and the trainer in $build"
steep_configure "$build"
steep_build "$build" steepc steep-opt steep-train steep-data steep-run

data=$steep_root/out/data
flags=()
[ $install = 1 ] || flags=(--no-install)
"$steep_root/tools/fetch-data.sh" "$data" "${flags[@]}"
if [ ${#text[@]} -eq 0 ]; then
  text=("$data"/text/*.txt)
  shards=$data/shards
else
  shards=$out/shards
  rm -rf "$shards"
fi
if [ ! -d "$shards" ]; then
  steep_say "Tokenising ${#text[@]} files"
  "$bin/steep-data" tokenize --ranks "$data/gpt2.tiktoken" --out "$shards" \
    --val-fraction 0.06 "${text[@]}"
fi

mkdir -p "$out"
for head in rownorm adamw; do
  spec=$steep_root/specs/paper.mlir
  [ $head = rownorm ] || spec=$steep_root/specs/paper_adamw.mlir
  steep_say "Training tiny with the $head head ($(basename "$spec")), $steps updates"
  rm -rf "${out:?}/$head"
  "$bin/steep-train" --model tiny --spec "$spec" --data "$shards" \
    --steps "$steps" --batch 8 --seq 256 --seed 1 \
    --hilbert-every 25 --out "$out/$head"
done

steep_say "Comparison"
"$bin/steep-train" --compare "$out/rownorm" "$out/adamw" --out "$out/comparison"
printf '\nPlots and tables are in %s (%d s in all).\n' "$out/comparison" \
  $(($(date +%s) - started))
