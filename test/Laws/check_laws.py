#!/usr/bin/env python3
"""Checks the laws of the house: who may include whom, and what may not be used.

usage: check_laws.py ROOT

Prints one line a breach, "FILE:LINE: what is wrong", and exits 1 if there was
any. Comments are not code: a law is about what is compiled.
"""

import pathlib
import re
import sys

# Headers of the project that a room may include, by prefix; the longest room
# that a file is in decides.
ALLOWED = {
    "dialects": ["dialects/", "lib/Schedules/"],
    "passes": ["dialects/", "passes/", "lib/Schedules/"],
    "passes/NVPTX": ["dialects/Block/", "passes/Block/", "passes/NVPTX/"],
    "passes/CPU": ["dialects/Block/", "passes/Block/", "passes/CPU/"],
    "lib/Schedules": ["lib/Schedules/"],
    "lib/Reference": ["lib/Reference/", "lib/Schedules/"],
    "lib/Compiler": ["dialects/", "passes/", "lib/", "steep/"],
    "lib/Target": ["dialects/", "passes/", "lib/", "steep/"],
    "runtime": ["runtime/", "steep/"],
    "include": ["steep/"],
    "include/steep/Runtime.h": ["runtime/", "steep/"],
    "include/steep/Compiler.h": ["lib/", "steep/"],
    "tools/steep-opt": ["dialects/", "passes/", "lib/", "steep/", "tools/"],
    "tools/steepc": ["dialects/", "passes/", "lib/", "steep/", "tools/"],
    "tools": ["runtime/", "steep/", "tools/"],
}
PROJECT = ("dialects/", "passes/", "lib/", "runtime/", "tools/", "steep/", "test/", "bench/")

# Rooms that know no LLVM and no MLIR; within them, the one that may (a plug-in).
NO_LLVM = ["lib/Schedules", "lib/Reference", "runtime", "include/steep/steep.h",
           "tools/steep-run", "tools/steep-train", "tools/steep-data"]
MAY_LLVM = ["runtime/Devices/Simt"]

# (rooms, pattern in code, what is wrong)
FORBIDDEN = [
    (["dialects", "passes", "lib"], r"FastMathFlags::(?!none\b)\w+",
     "fast-math flags; spell contraction and reassociation out, op by op"),
    (["dialects", "passes"], r"\bcl::(opt|list)\b", "a command-line option in a library"),
    (["dialects", "passes"], r"\b(errs|outs|dbgs)\(\)|std::c(out|err)\b|\bf?printf\s*\(",
     "output; emit a diagnostic or a remark"),
    (["dialects", "passes"], r"#include\s*[<\"](fstream|cstdio|iostream|filesystem|"
     r"llvm/Support/(FileSystem|Program|MemoryBuffer|ToolOutputFile)\.h)",
     "access to files or processes"),
    (["passes/Geo"], r"#include\s*\"mlir/[^\"]*(GPU|NVGPU|NVVM|LLVMIR)", "a target in passes/Geo"),
    (["dialects/Block"], r"\b(GET_OP_LIST|addOperations)\b", "an op in the block dialect"),
    (["runtime"], r"#include\s*[<\"](cuda|cuda_runtime)\.h", "a link to CUDA; use dlopen"),
]

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
COMMENT = re.compile(r"//.*?$|/\*.*?\*/", re.S | re.M)


def in_room(path, room):
    return path == room or path.startswith(room + "/")


def allowed_headers(path):
    rooms = [room for room in ALLOWED if in_room(path, room)]
    return ALLOWED[max(rooms, key=len)] if rooms else None


def strip_comments(text):
    return COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)


def check(path, text):
    allowed = allowed_headers(path)
    no_llvm = any(in_room(path, room) for room in NO_LLVM) \
        and not any(in_room(path, room) for room in MAY_LLVM)
    for number, line in enumerate(strip_comments(text).split("\n"), 1):
        include = INCLUDE.match(line)
        header = include.group(2) if include else ""
        if header.startswith(PROJECT) and allowed is not None \
                and not header.startswith(tuple(allowed)):
            yield number, f"includes {header}; this room may include {', '.join(allowed)}"
        if no_llvm and header.startswith(("mlir/", "llvm/", "mlir-c/", "llvm-c/")):
            yield number, f"includes {header}; this room knows no LLVM"
        for rooms, pattern, what in FORBIDDEN:
            if any(in_room(path, room) for room in rooms) and re.search(pattern, line):
                yield number, what


def main():
    root = pathlib.Path(sys.argv[1])
    files = sorted(
        path for room in ("dialects", "passes", "lib", "runtime", "include", "tools")
        for path in (root / room).rglob("*")
        if path.suffix in (".h", ".cpp", ".c", ".td", ".inc"))
    if not files:
        sys.exit(f"check_laws.py: error: {root}: no sources found")
    breaches = 0
    for path in files:
        name = path.relative_to(root).as_posix()
        for number, what in check(name, path.read_text(encoding="utf-8")):
            print(f"{name}:{number}: {what}")
            breaches += 1
    print(f"{len(files)} files, {breaches} breaches")
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()
