#!/usr/bin/env bash
# Gets the quick start's text and the GPT-2 ranks into a folder:
#
#   tools/fetch-data.sh DIR [--no-install] [--ranks-only]
#
# DIR/text/*.txt     the Perl manual (Debian package perl-doc, GPL or Artistic):
#                    640,000 words of English, its markup removed
# DIR/gpt2.tiktoken  GPT-2's BPE ranks, from PyPI's openai-whisper (MIT)
#
# What is there already is kept. A file of one's own works as well: see
# steep-data tokenize.
set -euo pipefail
# shellcheck source=tools/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

ranks_sha256=306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930
ranks_package=openai-whisper==20250625

dir='' install=1 want_text=1
for argument in "$@"; do
  case $argument in
    --no-install) install=0 ;;
    --ranks-only) want_text=0 ;;
    -*) steep_die "unknown option '$argument'; expected DIR, --no-install or --ranks-only" ;;
    *) dir=$argument ;;
  esac
done
[ -n "$dir" ] || steep_die "expected a folder to put the data in"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# Removes POD markup: command paragraphs, verbatim code, and X<...> codes.
plain_text() {
  sed -e '/^=/d' -e '/^[ \t]/d' -e 's/[A-Z]<\([^<>]*\)>/\1/g' \
    -e 's/[A-Z]<\([^<>]*\)>/\1/g' "$1" | cat -s
}

if [ $want_text = 1 ] && [ ! -e "$dir/text/done" ]; then
  steep_say "Text: Debian package perl-doc"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  chmod 755 "$work" # apt's own user writes here
  (cd "$work" && apt-get -qq download perl-doc 2>/dev/null) ||
    steep_die "could not download the Debian package perl-doc"
  dpkg-deb -x "$work"/perl-doc_*.deb "$work/root"
  rm -rf "$dir/text"
  mkdir -p "$dir/text"
  for pod in "$work"/root/usr/share/perl/*/pod/*.pod; do
    case ${pod##*/} in
      # The change logs of old releases would be half of the text.
      perl5*delta.pod | perltoc.pod) continue ;;
      # Not English.
      perlcn.pod | perljp.pod | perlko.pod | perltw.pod) continue ;;
    esac
    plain_text "$pod" >"$dir/text/$(basename "$pod" .pod).txt"
  done
  touch "$dir/text/done"
fi

check_ranks() { echo "$ranks_sha256  $1" | sha256sum --check --status; }
if ! { [ -e "$dir/gpt2.tiktoken" ] && check_ranks "$dir/gpt2.tiktoken"; }; then
  steep_say "GPT-2 ranks: PyPI package $ranks_package"
  [ $install = 0 ] || steep_install python3-pip
  work2=$(mktemp -d)
  trap 'rm -rf "${work:-}" "$work2"' EXIT
  # The package is a source archive that holds the file; it is not installed.
  python3 -m pip download --quiet --no-deps --dest "$work2" "$ranks_package" ||
    steep_die "could not download $ranks_package from PyPI"
  tar -xzf "$work2"/openai_whisper-*.tar.gz -C "$work2"
  check_ranks "$work2"/openai_whisper-*/whisper/assets/gpt2.tiktoken ||
    steep_die "gpt2.tiktoken of $ranks_package has another sha256 than expected ($ranks_sha256)"
  cp "$work2"/openai_whisper-*/whisper/assets/gpt2.tiktoken "$dir/gpt2.tiktoken.part"
  mv "$dir/gpt2.tiktoken.part" "$dir/gpt2.tiktoken"
fi
