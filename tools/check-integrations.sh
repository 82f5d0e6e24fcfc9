#!/usr/bin/env bash
# Tests the Python package against PyTorch and JAX from PyPI, in one virtual
# environment outside the source tree (6 GB, made once and used again).
#
#   tools/check-integrations.sh [--build DIR] [--venv DIR] [--no-install] [--optional]
#                               [-- PYTEST ARGUMENT...]
#
#   --venv DIR      default: ${XDG_CACHE_HOME:-~/.cache}/steep/venv
#   --no-install    takes the environment as it is
#   --optional      where it cannot be had, says UNSUPPORTED and succeeds
set -euo pipefail
# shellcheck source=tools/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

build=$steep_root/build install=1 optional=0 arguments=()
venv=${XDG_CACHE_HOME:-$HOME/.cache}/steep/venv
while [ $# -gt 0 ]; do
  case $1 in
    --build | --venv)
      [ $# -gt 1 ] || steep_die "$1 needs a folder"
      if [ "$1" = --build ]; then build=$2; else venv=$2; fi
      shift
      ;;
    --no-install) install=0 ;;
    --optional) optional=1 ;;
    -h | --help)
      sed -n '2,10s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    --)
      shift
      arguments=("$@")
      break
      ;;
    *) steep_die "unknown option '$1'; expected --build, --venv, --no-install or --optional" ;;
  esac
  shift
done

unsupported() {
  [ $optional = 1 ] || steep_die "$1"
  steep_say "UNSUPPORTED: the tests of the Python package (PyTorch, JAX): $1"
  exit 0
}

requirements=$steep_root/tools/requirements-integrations.txt
if [ $install = 1 ]; then
  steep_say "PyTorch, JAX and pytest in $venv"
  # Quick where all is there. Two runs at once would spoil each other's.
  python3 -c 'import ensurepip, venv' 2>/dev/null ||
    steep_install python3-venv # Debian's python3 comes without
  mkdir -p "$venv"
  exec 9>"$venv/.lock"
  flock 9
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv" ||
    unsupported "cannot make a virtual environment in $venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --requirement "$requirements" ||
    unsupported "cannot install $requirements; is there a network?"
  flock -u 9
fi
"$venv/bin/python" -c 'import jax, optax, pytest, torch' 2>/dev/null ||
  unsupported "there is no environment with torch, jax, optax and pytest in $venv"
[ -x "$build/bin/steepc" ] || steep_die "there is no steepc in $build/bin; build it first"

# The package as pip installs it, in a place of its own.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$steep_root/python" "$work/source"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  --no-deps --no-build-isolation --target "$work/site" "$work/source"

steep_say "Tests of the Python package"
if [ -x "$venv/bin/ruff" ]; then
  "$venv/bin/ruff" check --quiet --no-cache \
    "$steep_root"/{python,test/Python,examples,bench/torch_overhead.py}
fi
cd "$work"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$work/site PATH=$build/bin:$PATH \
  STEEPC=$build/bin/steepc XDG_CACHE_HOME=$build/integrations MPLBACKEND=Agg \
  "$venv/bin/python" -m pytest -q -p no:cacheprovider --durations=5 \
  "$steep_root/test/Python" "${arguments[@]}"
