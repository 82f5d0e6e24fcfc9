"""bad_arguments.py SPECS TINY FOLDER: command lines that steepc refuses."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from refusals import done, refuses

specs, tiny, folder = sys.argv[1:]
paper = os.path.join(specs, "paper.mlir")
given = [paper, "--params", tiny]
os.makedirs(folder, exist_ok=True)


def spec(text):
    path = os.path.join(folder, "spec.mlir")
    with open(path, "w") as file:
        file.write(text)
    return path


refuses(folder, [], "SPEC is required")
refuses(folder, [*given, "--bogus"], "not expected: --bogus")
refuses(folder, [*given, "--params"], "--params")
refuses(folder, [*given, "more"], "not expected: more")
refuses(folder, [*given, "--emit=bar"],
        "--emit: expected optim, geo, block, llvm, asm, obj, ptx or cubin, got 'bar'")
refuses(folder, [*given, "--emit=obj", "-o", "-"], "--emit=obj: expected -o FILE")
for option in ("-o", "--name", "--target", "--only-rule", "--emit", "--dump-stages"):
    refuses(folder, [*given, option, ""], f"{option}: expected a value, got ''")
refuses(folder, ["none.mlir", "--params", tiny],
        "none.mlir: cannot be read: No such file or directory")
refuses(folder, [folder, "--params", tiny], "cannot be read: Is a directory")
refuses(folder, [*given, "-o", "/dev/null"], "cannot write to /dev/null: it is not a folder")
refuses(folder, [*given, "-o", os.path.join(folder, "no/where")],
        "cannot create a folder in " + os.path.join(folder, "no"))

# --- targets -------------------------------------------------------------------
for cpu in ("foo", "i386", "pentium4", "znver", "cortex-a53", "help", "x86_64", "a b"):
    refuses(folder, [*given, "--target", cpu],
            f"--target: unknown CPU '{cpu}'; expected native, none, x86-64, x86-64-v2, x86-64-v3, "
            "x86-64-v4 or a CPU that")
for gpu in ("sm_75", "sm_90b", "sm_", "native,sm_9"):
    refuses(folder, [*given, "--target", gpu],
            f"--target: unknown GPU '{gpu.split(',')[-1]}'; expected one of sm_80, sm_86, ")
refuses(folder, [*given, "--target", "haswell,znver4"],
        "--target: expected at most one CPU, got 'haswell' and 'znver4'")
refuses(folder, [*given, "--target", "sm_80,sm_80"], "--target: names 'sm_80' twice")
refuses(folder, [*given, "--target", "sm_80,"], "--target: expected names with commas and no spaces between")
for target in ("native", "sm_80,sm_90a"):
    refuses(folder, [*given, "--emit=ptx", "--target", target],
            f"--emit=ptx: expected one GPU in --target, got '{target}'")
refuses(folder, [*given, "--emit=cubin", "-o", "-", "--target", "sm_80"],
        "--emit=cubin: expected -o FILE")
for feature in ("foo", "", "32bit-mode", "soft-float", "avx512"):
    refuses(folder, [*given, "--target", "x86-64+" + feature],
            f"--target: unknown feature '+{feature}'; expected one of sse3, ssse3, ")
refuses(folder, [*given, "--target", "x86-64-avx"], "--target: unknown CPU 'x86-64-avx'")

# --- specs that are not specs ----------------------------------------------------
refuses(folder, [spec("// nothing\n"), "--params", tiny], "expected an optim.spec")
refuses(folder, [*given, "--name", "a-b"],
        "--name: expected the optimizer's name to be a C identifier of at most 100 characters, "
        "got 'a-b'")
refuses(folder, [*given, "--name", "9a"], "got '9a'")
refuses(folder, [*given, "--name", "n" * 101], "to be a C identifier of at most 100")
refuses(folder, [spec('optim.spec @s {\n optim.parameter "a" : tensor<2x2xf32>\n}'),
                 "--params", tiny], "names parameters of its own")

# --- one rule of a spec ------------------------------------------------------------
refuses(folder, [*given, "--only-rule", "sgd"],
        "--only-rule: expected one of its rules (muon, adamw, rownorm), got 'sgd'")
done(30)
