# Shared by the scripts beside it: packages, configuration, build.
# To be sourced. Every step can be run again at once.
# shellcheck shell=bash

steep_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Debian packages, and what each is for.
steep_packages=(
  g++ cmake ninja-build                  # the build
  llvm-22-dev libmlir-22-dev             # the compiler's libraries
  mlir-22-tools llvm-22-tools            # mlir-tblgen; lit, FileCheck
  clang-22                               # host code of artefacts, as bitcode
  libdnnl-dev                            # the model's matrix products
  libcli11-dev libfmt-dev nlohmann-json3-dev libutf8proc-dev
  libgtest-dev libbenchmark-dev          # tests, benchmarks
  python3 python3-psutil                 # lit and its time limit
)

steep_say() { printf '\n== %s\n' "$*"; }
steep_die() {
  printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# steep_install PACKAGE...: install the Debian packages that are missing.
steep_install() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    steep_die "this script installs packages on Debian 12; on another system install the equivalents of: $* and run it with --no-install"
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  steep_say "Installing ${missing[*]}"
  local run=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      steep_die "needs root to install: ${missing[*]} (or install them and use --no-install)"
    run=(sudo)
  fi
  export DEBIAN_FRONTEND=noninteractive
  "${run[@]}" apt-get -qq update ||
    steep_die "apt-get update failed; is there a network? (--no-install skips this)"
  "${run[@]}" apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null ||
    steep_die "apt-get could not install: ${missing[*]}"
}

# steep_configure BUILD [cmake argument...]
steep_configure() {
  local build=$1
  shift
  cmake -S "$steep_root" -B "$build" -G Ninja "$@" >"$build.configure.log" 2>&1 || {
    cat "$build.configure.log" >&2
    steep_die "CMake could not configure $build"
  }
  rm -f "$build.configure.log"
}

# steep_build BUILD [target...]: at most STEEP_JOBS (default: all cores) at once.
steep_build() {
  local build=$1
  shift
  cmake --build "$build" --parallel "${STEEP_JOBS:-$(nproc)}" ${1:+--target "$@"}
}
