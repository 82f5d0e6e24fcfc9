#!/usr/bin/env bash
# Builds Steep and runs all its tests: the lit suite, the unit tests, those of
# the Python package against PyTorch and JAX (unsupported without a network), and
# the runtime's unit tests once more under AddressSanitizer and UBSan.
#
#   tools/check.sh [--no-install] [--no-sanitizers] [--build DIR]
set -euo pipefail
# shellcheck source=tools/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install=1 sanitizers=1 build=$steep_root/build
while [ $# -gt 0 ]; do
  case $1 in
    --no-install) install=0 ;;
    --no-sanitizers) sanitizers=0 ;;
    --build)
      [ $# -gt 1 ] || steep_die "--build needs a folder"
      build=$2
      shift
      ;;
    -h | --help)
      sed -n '2,7s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *) steep_die "unknown option '$1'; expected --no-install, --no-sanitizers or --build DIR" ;;
  esac
  shift
done

[ $install = 0 ] || steep_install "${steep_packages[@]}"

# One test goes through all of GPT-2's ranks; the others have what they need.
flags=()
[ $install = 1 ] || flags=(--no-install)
"$steep_root/tools/fetch-data.sh" "$steep_root/out/data" --ranks-only "${flags[@]}" ||
  steep_say "Without the ranks file the test DataTests.GPT2Ranks is skipped"

# Tests that need ptxas are unsupported without it.
"$steep_root/tools/fetch-cuda.sh" "$build/cuda" "${flags[@]}" ||
  steep_say "Without NVIDIA's ptxas its tests are unsupported"

steep_say "Building in $build"
steep_configure "$build"
steep_build "$build"

if [ $sanitizers = 1 ]; then
  steep_say "Runtime under AddressSanitizer and UBSan"
  # Line numbers are all that a report needs.
  steep_configure "$build-sanitize" -DSTEEP_BUILD_COMPILER=OFF \
    -DSTEEP_BUILD_BENCHMARKS=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g1" \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" \
    -DSTEEP_SANITIZE=address,undefined
  # libdnnl keeps its caches until the process ends, which is no leak of ours.
  ASAN_OPTIONS=detect_leaks=1 \
  LSAN_OPTIONS=suppressions=$steep_root/test/lsan.supp:print_suppressions=0 \
    steep_build "$build-sanitize" check-unit
fi

steep_say "Tests"
# Python, lit, ctest, each with its summary; a failure of one fails the script.
status=0
"$steep_root/tools/check-integrations.sh" --build "$build" --optional \
  "${flags[@]}" || status=1
cmake --build "$build" --target check-lit || status=1
cmake --build "$build" --target check-unit || status=1
exit $status
