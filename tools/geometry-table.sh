#!/usr/bin/env bash
# Makes docs/geometry-table.md: every geometry on gradients of the head from a
# real training. A transformer of the size of `tiny` (128 x 4 blocks), with the
# 256 bytes as its vocabulary so that the exact optimum can be certified, is
# trained on the text of this repository with specs/paper.mlir; the head's
# average of gradients is taken at two points of the run.
#
#   tools/geometry-table.sh [--build DIR] [--steps N] [--out FILE]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build steps=40 out=$root/docs/geometry-table.md
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2 ;;
    --steps) steps=$2 ;;
    --out) out=$2 ;;
    *) echo "geometry-table.sh: unknown option '$1'" >&2; exit 1 ;;
  esac
  shift 2
done
for program in bin/steep-train bin/steepc bin/GeometryTable; do
  [ -x "$build/$program" ] || { echo "geometry-table.sh: $build/$program is missing: build it first" >&2; exit 1; }
done
rules=$(sed -n 's/^optim.rule @\([a-z_]*\).*/\1/p' "$root/bench/Inputs/geometries.mlir")
machine=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1)
machine="${machine:-an unknown CPU} ($(nproc) cores, $(date +%F))"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Bytes as tokens, in the format of token shards.
python3 - "$root" "$work/data" <<'PYTHON'
import pathlib, struct, sys
root, data = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
data.mkdir()
files = sorted(p for room in ("docs", "dialects", "lib", "passes", "runtime")
               for p in (root / room).rglob("*") if p.suffix in (".md", ".td", ".cpp", ".h")
               and p.name != "geometry-table.md")
text = b"".join(p.read_bytes() for p in files)
cut = len(text) * 9 // 10
for name, part in (("text_train_000.bin", text[:cut]), ("text_val_000.bin", text[cut:])):
    header = struct.pack("<256i", 20240520, 1, len(part), *[0] * 253)
    (data / name).write_bytes(header + b"".join(struct.pack("<H", b) for b in part))
PYTHON

"$build/bin/steep-train" --dim 128 --layers 4 --vocab 256 --context 256 \
  --data "$work/data" --spec "$root/specs/paper.mlir" --steps "$steps" --batch 8 \
  --micro-batch 8 --val-every 0 --hilbert-every 0 --diameter-every 0 \
  --save-every $((steps / 2)) --out "$work/run" --progress none
{
  echo "# Geometries on a real gradient"
  echo
  echo "Made by \`tools/geometry-table.sh\`. A transformer of the size of \`tiny\` (128 wide, 4"
  echo "blocks, context 256) over bytes is trained on this repository's text with"
  echo "\`specs/paper.mlir\`; what is measured is the head's average of gradients, 256 x 128."
  echo "Times are of the processor, one thread, on $machine."
  echo "*decrease / optimum* is \`-<G, S>\` over \`D(S) T(G)\`: what the exact row-diameter"
  echo "oracle reaches at the same diameter is 1. *cosine* is with the centred gradient; *rho*"
  echo "is the smallest over the largest row distance. The rules are those of"
  echo "\`bench/Inputs/geometries.mlir\`."
  for step in $((steps / 2)) "$steps"; do
    echo
    echo "## After $step updates"
    echo
    "$build/bin/GeometryTable" "$root/bench/Inputs/geometries.mlir" "$build/bin/steepc" \
      "$work/run/checkpoint-$(printf %08d "$step")/optimizer.safetensors" \
      lm_head.weight.momentum_buffer $rules
  done
} > "$work/table.md"
mv "$work/table.md" "$out"
echo "wrote $out"
