"""Fails where a code block of README.md differs from the file it is taken from."""

import pathlib
import sys

root = pathlib.Path(sys.argv[1])
readme = (root / "README.md").read_text()
spec = (root / "specs/paper.mlir").read_text()
program = (root / "test/Execution/CPU/c-example.c").read_text()
quoted = {
    "specs/paper.mlir": spec[spec.index("optim.rule @rownorm") :],
    "test/Execution/CPU/c-example.c": program[program.index('#include "paper.h"') :],
}
stale = [name for name, text in quoted.items() if text.strip() not in readme]
for name in stale:
    print(f"README.md no longer shows {name} as it is")
sys.exit(bool(stale))
