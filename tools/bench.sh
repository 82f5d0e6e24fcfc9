#!/usr/bin/env bash
# Builds and runs the benchmarks that compare compiled kernels and steps with others
# in the same process, and prints one table of ratios. The machine should be idle.
#
#   tools/bench.sh [--json FILE] [--quick] [--threads N] [--target T] [--filter REGEX]
#                  [--clock cpu] [--only PART]... [--build DIR] [--no-install] [--no-build]
#
# --quick takes fewer rounds and smaller models; --tiny only shows that everything runs. --target x86-64-v3 (AVX2) or x86-64
# (baseline) limits the compiled code, and what is compared with it, to those
# instructions. --clock cpu compares the time that threads worked instead of what
# elapsed, for a machine that others use too. --only runs one part (rows, steps,
# products, muon), and may be repeated. The table is Markdown, as in
# docs/performance.md.
set -euo pipefail
# shellcheck source=tools/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install=1 make=1 build=$steep_root/build json='' filter='' only=''
while [ $# -gt 0 ]; do
  case $1 in
    --no-install) install=0 ;;
    --no-build) install=0 make=0 ;;
    --quick) export STEEP_BENCH_QUICK=1 ;;
    --tiny) export STEEP_BENCH_QUICK=1 STEEP_BENCH_TINY=1 ;;
    --json | --threads | --target | --filter | --build | --clock | --only)
      [ $# -gt 1 ] || steep_die "$1 needs a value"
      case $1 in
        --json) json=$2 ;;
        --threads) export STEEP_BENCH_THREADS=$2 ;;
        --target) export STEEP_BENCH_TARGET=$2 ;;
        --filter) filter=$2 ;;
        --build) build=$2 ;;
        --clock)
          [ "$2" = cpu ] || steep_die "--clock is '$2', expected cpu"
          export STEEP_BENCH_CLOCK=$2 ;;
        --only)
          case $2 in
            rows | steps | products | muon) only="$only $2" ;;
            *) steep_die "--only is '$2', expected rows, steps, products or muon" ;;
          esac ;;
      esac
      shift ;;
    *) steep_die "unknown option '$1'" ;;
  esac
  shift
done
case ${STEEP_BENCH_THREADS:-1} in
  '' | *[!0-9]* | 0) steep_die "--threads is '$STEEP_BENCH_THREADS', expected a number, 1 at least" ;;
esac

# RowBench and StepBench have the counters of bench/Compare.h; products and the Muon
# step come with libraries of their own and print themselves. A filter is for the
# former two.
[ -n "$only" ] || [ -z "$filter" ] || only=' rows steps'
[ -n "$only" ] || only=' rows steps products muon'
wants() { case "$only " in *" $1 "*) ;; *) return 1 ;; esac; }
programs=() targets=(steepc)
! wants rows || programs+=(RowBench)
! wants steps || programs+=(StepBench)
targets+=(${programs[@]+"${programs[@]}"})
! wants products || targets+=(ProductBench)
! wants muon || targets+=(MuonBench)
product=(--rounds 5) muon=(--blocks 4)
[ -z "${STEEP_BENCH_QUICK:-}" ] || product=(--rounds 3) muon=(--blocks 1)
[ -z "${STEEP_BENCH_TINY:-}" ] ||
  product=(--rounds 1 --only nn_512_512_512) muon=(--blocks 1 --dim 64 --rounds 1)

[ "$install" = 0 ] || steep_install "${steep_packages[@]}"
if [ "$make" = 1 ]; then
  [ -e "$build/build.ninja" ] || steep_configure "$build"
  steep_build "$build" "${targets[@]}" >"$build/bench.build.log" ||
    { tail -20 "$build/bench.build.log" >&2; steep_die "the benchmarks were not built"; }
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
files=()
say() { echo "bench.sh: $1" >&2; } # parts take minutes
for program in ${programs[@]+"${programs[@]}"}; do
  say "$program"
  # A filter may fit none of a program's benchmarks.
  "$build/bin/$program" --benchmark_out="$work/$program.json" \
    ${filter:+--benchmark_filter="$filter"} >"$work/$program.log" 2>&1 ||
    { cat "$work/$program.log" >&2; steep_die "$program failed"; }
  [ ! -s "$work/$program.json" ] || files+=("$work/$program.json")
done
[ ${#files[@]} -gt 0 ] || [ ${#programs[@]} = 0 ] ||
  steep_die "no benchmark fits the filter '$filter'"
products=()
if wants products; then
  say ProductBench
  "$build/bin/ProductBench" "${product[@]}" --json "$work/products.json" \
    --target "${STEEP_BENCH_TARGET:-native}" >"$work/products.txt"
  products=(--products "$work/products.json")
fi
if wants muon; then
  say MuonBench
  "$build/bin/MuonBench" "${muon[@]}" --threads "${STEEP_BENCH_THREADS:-$(nproc)}" \
    >>"$work/products.txt"
fi
[ ${#files[@]} = 0 ] ||
  python3 "$steep_root/bench/table.py" "${files[@]}" ${json:+--json "$json"} ${products[@]+"${products[@]}"}
[ ! -e "$work/products.txt" ] || { echo; cat "$work/products.txt"; }
