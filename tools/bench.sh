#!/usr/bin/env bash
# Builds and runs the benchmarks that compare compiled kernels and steps with others
# in the same process, and prints one table of ratios. The machine should be idle.
#
#   tools/bench.sh [--json FILE] [--quick | --tiny] [--threads N] [--target T]
#                  [--filter REGEX] [--clock cpu] [--only PART]... [--build DIR]
#                  [--no-install] [--no-build]
#
# --quick takes fewer rounds and smaller models; --tiny only shows that everything
# runs. --threads is for rows, steps and muon (default: all of the machine); products
# take one. --target x86-64-v3 (AVX2) or x86-64 (baseline) limits the compiled code,
# and what is compared with it, to those instructions. --clock cpu compares the time
# that threads worked instead of what elapsed, for a machine that others use too.
# --only runs one part (rows, steps, products, muon), and may be repeated; --filter is
# for the names of rows and steps. The table is Markdown, as in docs/performance.md;
# --json puts the figures into a file.
#
# OpenBLAS and oneDNN choose their kernels by the processor: OPENBLAS_CORETYPE and
# ONEDNN_MAX_CPU_ISA are taken out of the environment. Where OpenBLAS does not know the
# processor it is given kernels that fit, and the output says so.
set -euo pipefail
# shellcheck source=tools/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }

install=1 make=1 build=$steep_root/build json='' filter='' only=''
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --no-install) install=0 ;;
    --no-build) install=0 make=0 ;;
    --quick) export STEEP_BENCH_QUICK=1 ;;
    --tiny) export STEEP_BENCH_QUICK=1 STEEP_BENCH_TINY=1 ;;
    --json | --threads | --target | --filter | --build | --clock | --only)
      [ -n "${2:-}" ] || steep_die "$1 needs a value"
      case $1 in
        --json) json=$2 ;;
        --threads) export STEEP_BENCH_THREADS=$2 ;;
        --target) export STEEP_BENCH_TARGET=$2 ;;
        --filter) filter=$2 ;;
        --build) build=$2 ;;
        --clock) export STEEP_BENCH_CLOCK=$2 ;;
        --only)
          case $2 in
            rows | steps | products | muon) only="$only $2" ;;
            *) steep_die "--only is '$2', expected rows, steps, products or muon" ;;
          esac ;;
      esac
      shift ;;
    *) steep_die "unknown option '$1'; --help lists them" ;;
  esac
  shift
done
unset OPENBLAS_CORETYPE ONEDNN_MAX_CPU_ISA DNNL_MAX_CPU_ISA
target=${STEEP_BENCH_TARGET:-native} clock=${STEEP_BENCH_CLOCK:-elapsed}
threads=${STEEP_BENCH_THREADS:-$(nproc)}
export STEEP_BENCH_TARGET=$target STEEP_BENCH_CLOCK=$clock STEEP_BENCH_THREADS=$threads
case $clock in
  cpu | elapsed) ;;
  *) steep_die "--clock is '$clock', expected cpu or elapsed" ;;
esac
case $threads in
  *[!0-9]* | 0) steep_die "--threads is '$threads', expected a number, 1 at least" ;;
esac

# RowBench and StepBench have the counters of bench/Compare.h; products and the Muon
# step come with libraries of their own and print themselves. A filter is for the
# former two.
[ -n "$only" ] || [ -z "$filter" ] || only=' rows steps'
[ -n "$only" ] || only=' rows steps products muon'
wants() { case "$only " in *" $1 "*) ;; *) return 1 ;; esac; }
[ -z "$filter" ] || wants rows || wants steps ||
  steep_die "--filter is for rows and steps, but --only leaves them out"
programs=() targets=(steepc)
! wants rows || programs+=(RowBench)
! wants steps || programs+=(StepBench)
targets+=(${programs[@]+"${programs[@]}"})
! wants products || targets+=(ProductBench)
! wants muon || targets+=(MuonBench)
product=(--rounds 5) muon=(--blocks 4)
[ -z "${STEEP_BENCH_QUICK:-}" ] || product=(--rounds 3) muon=(--blocks 1)
[ -z "${STEEP_BENCH_TINY:-}" ] ||
  product=(--rounds 1 --only nn_512_512_512) muon=(--blocks 1 --dim 32 --rounds 1)

# What would fail after minutes fails now.
if wants products; then
  case $target in
    native | x86-64-v3 | x86-64) ;;
    *) steep_die "--target is '$target', but products are compiled for native, x86-64-v3 and x86-64 only; other parts: --only rows, steps or muon" ;;
  esac
fi
case $target in
  *,* | none | sm_*) steep_die "--target is '$target', expected one processor" ;;
esac
if [ -n "$json" ]; then
  [ ! -d "$json" ] || steep_die "--json is '$json', which is a folder"
  [ -w "$json" ] || { [ ! -e "$json" ] && [ -w "$(dirname -- "$json")" ]; } ||
    steep_die "--json is '$json', which cannot be written"
fi

[ "$install" = 0 ] || steep_install "${steep_packages[@]}"
if [ "$make" = 1 ]; then
  [ -e "$build/build.ninja" ] || steep_configure "$build"
  steep_build "$build" "${targets[@]}" >"$build/bench.build.log" ||
    { tail -20 "$build/bench.build.log" >&2; steep_die "the benchmarks were not built"; }
fi
for program in "${targets[@]}"; do
  [ -x "$build/bin/$program" ] ||
    steep_die "there is no $build/bin/$program: leave out --no-build, or see --build"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The compiler knows which targets there are.
echo '{"tensors": [{"name": "w", "shape": [8, 8], "dtype": "F32"}]}' >"$work/one.json"
"$build/bin/steepc" "$steep_root/specs/lion.mlir" --params "$work/one.json" --target "$target" \
  --emit=optim >/dev/null 2>"$work/target" ||
  steep_die "$(sed 's/^steepc: error: //' "$work/target")"

files=() figures=()
say() { echo "bench.sh: $1" >&2; } # parts take minutes
for program in ${programs[@]+"${programs[@]}"}; do
  say "$program"
  # A filter may fit none of a program's benchmarks.
  "$build/bin/$program" --benchmark_out="$work/$program.json" \
    ${filter:+--benchmark_filter="$filter"} >"$work/$program.log" 2>&1 ||
    { cat "$work/$program.log" >&2; steep_die "$program failed"; }
  ! grep -q '^Could not compile benchmark re' "$work/$program.log" ||
    steep_die "--filter is '$filter', which is no regular expression"
  [ ! -s "$work/$program.json" ] || files+=("$work/$program.json")
done
[ ${#files[@]} -gt 0 ] || [ ${#programs[@]} = 0 ] ||
  steep_die "no benchmark fits the filter '$filter'"
if wants products; then
  say ProductBench
  "$build/bin/ProductBench" "${product[@]}" --json "$work/products.json" \
    --target "$target" --clock "$clock" >"$work/products.txt"
  figures+=(--products "$work/products.json")
fi
if wants muon; then
  say MuonBench
  "$build/bin/MuonBench" "${muon[@]}" --json "$work/muon.json" --threads "$threads" \
    --target "$target" --clock "$clock" >"$work/muon.txt"
  figures+=(--muon "$work/muon.json")
fi
# What fails in one table hides no other.
status=0
python3 "$steep_root/bench/table.py" ${files[@]+"${files[@]}"} ${json:+--json "$json"} \
  ${figures[@]+"${figures[@]}"} || status=$?
for part in products muon; do
  [ ! -e "$work/$part.txt" ] || { echo; cat "$work/$part.txt"; }
done
exit $status
