"""The instructions of a kernel in PTX that move data, wait or multiply, by name:
`count.py FILE.ptx NAME`."""

import collections
import re
import sys

KINDS = r"\s*((?:bar|cp|fma|ld|ldmatrix|mma|st|wgmma)\.[\w.]+)"


def main():
    path, name = sys.argv[1:]
    with open(path) as file:
        body = file.read().split(f".entry {name}(", 1)[1].split("\n}", 1)[0]
    words = (re.match(KINDS, line) for line in body.split("\n"))
    for word, count in sorted(collections.Counter(word[1] for word in words if word).items()):
        print(word, count)


main()
