"""The same kernels by Steep and by Triton, as ptxas makes them: no GPU is needed.

    python3 bench/triton_static.py [--build DIR]

wants a Python with Triton (pip install triton), steep-opt in DIR/bin, LLVM's tools, and
ptxas and cuobjdump in the PATH. It compiles the plain RowNorm of rows of 512, one warp
a row, and the BF16 product in tiles of 128x128x64, three stages, with both, assembles
both PTX texts with the same ptxas, and prints a table: registers, spills, instructions
up to EXIT, and what the inner loop consists of. Nothing is run."""

import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INPUTS = os.path.join(ROOT, "test", "Target", "NVPTX", "Inputs")
sys.path.insert(0, INPUTS)

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import sass  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

# Architecture, and LLVM's feature for its PTX version.
TARGETS = {"sm_80": "+ptx80", "sm_90a": "+ptx80"}
# ptxas 13.0 and older know no newer version than this; the texts need none.
PTX_VERSION = "8.0"


@triton.jit
def row_norm(u, g, b, lr, eps, columns: tl.constexpr, beta: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * columns + tl.arange(0, columns)
    average = tl.load(b + at) * beta + tl.load(g + at) * (1 - beta)
    norm = tl.sqrt(tl.sum(average * average, 0))
    tl.store(b + at, average)
    tl.store(u + at, tl.load(u + at) - lr * average / (norm + eps))


@triton.jit
def product(a, bt, c, n, k, tm: tl.constexpr, tn: tl.constexpr, tk: tl.constexpr):
    rows = tl.program_id(0) * tm + tl.arange(0, tm)
    columns = tl.program_id(1) * tn + tl.arange(0, tn)
    depth = tl.arange(0, tk)
    at_a = a + rows[:, None] * k + depth[None, :]
    at_b = bt + columns[None, :] * k + depth[:, None]
    sums = tl.zeros((tm, tn), tl.float32)
    for _ in range(0, k, tk):
        sums += tl.dot(tl.load(at_a), tl.load(at_b))
        at_a += tk
        at_b += tk
    tl.store(c + rows[:, None] * n + columns[None, :], sums)


def by_triton(kernel, signature, constants, arch, warps):
    """PTX; pointers and sizes are multiples of 16."""
    names = list(signature)
    aligned = {
        (names.index(name),): [["tt.divisibility", 16]]
        for name, kind in signature.items()
        if kind.startswith("*") or kind == "i32"
    }
    source = ASTSource(kernel, {**signature, **{c: "constexpr" for c in constants}}, constants, aligned)
    target = GPUTarget("cuda", int(re.search(r"\d+", arch).group()), 32)
    compiled = triton.compile(source, target=target, options={"num_warps": warps, "num_stages": 3})
    return re.sub(r"\.version [\d.]+", f".version {PTX_VERSION}", compiled.asm["ptx"])


def by_steep(build, file, passes, arch):
    """PTX by the passes of steep-opt and LLVM's tools, as steepc does it."""
    llvm = "-mtriple=nvptx64-nvidia-cuda", f"-mcpu={arch}"
    text = None
    for command in (
        [os.path.join(build, "bin", "steep-opt"), os.path.join(INPUTS, file), *passes],
        ["mlir-translate", "--mlir-to-llvmir"],
        ["opt", "-O3", *llvm],
        ["llc", *llvm, f"-mattr={TARGETS[arch]}", "--fp-contract=off"],
    ):
        text = subprocess.run(command, input=text, check=True, capture_output=True).stdout
    return text.decode()


def measure(folder, ptx, arch, name):
    path = os.path.join(folder, "kernel.ptx")
    with open(path, "w") as file:
        file.write(ptx)
    return sass.disassemble(*sass.assemble(path, arch), name)


def row(kernel, arch, who, code):
    # A row norm's only loop is of its rare branch.
    loop = f"{code.products()} of {len(code.loop)}" if "MMA" in code.products() else "-"
    wide = sum(n for word, n in code.count(r"(LDG|STG|LDGSTS)\S*\.128"))
    print(
        f"| {kernel} | {arch} | {who} | {code.registers} | {code.spilled} "
        f"| {len(code.instructions)} | {wide} | {loop} |"
    )


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--build", default=os.path.join(ROOT, "build"), help="Steep's build tree")
    build = options.parse_args().build
    os.environ["PATH"] = "/usr/lib/llvm-22/bin:" + os.environ["PATH"]
    ptxas = subprocess.run(["ptxas", "--version"], check=True, capture_output=True, text=True).stdout
    print(f"Triton {triton.__version__}, ptxas {re.search('V([0-9.]+)', ptxas).group(1)}\n")
    print("| kernel | target | by | registers | spilled | instructions | 128-bit accesses | products in the loop |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    floats = {"u": "*fp32", "g": "*fp32", "b": "*fp32", "lr": "fp32", "eps": "fp32"}
    brains = {"a": "*bf16", "bt": "*bf16", "c": "*fp32", "n": "i32", "k": "i32"}
    with tempfile.TemporaryDirectory() as folder:
        for arch in TARGETS:
            passes = ["--convert-geo-to-linalg", "--block-to-gpu", "--block-distribute-rows", "--block-lower-to-nvvm"]
            ptx = by_steep(build, "rownorm512.mlir", passes, arch)
            row("RowNorm 512", arch, "Steep", measure(folder, ptx, arch, "rownorm"))
            ptx = by_triton(row_norm, floats, {"columns": 512, "beta": 0.95}, arch, 1)
            row("RowNorm 512", arch, "Triton", measure(folder, ptx, arch, "row_norm"))
        for arch in TARGETS:
            lower = "--block-lower-matmul" + ("=wgmma" if arch == "sm_90a" else "")
            ptx = by_steep(build, "product128.mlir", ["--block-to-gpu", lower, "--block-lower-to-nvvm"], arch)
            for form in ("nn", "tn"):
                code = measure(folder, ptx, arch, f"bf16_{form}")
                row(f"BF16 128x128x64, {form.upper()}", arch, "Steep", code)
            for warps in (4, 8):
                ptx = by_triton(product, brains, {"tm": 128, "tn": 128, "tk": 64}, arch, warps)
                code = measure(folder, ptx, arch, "product")
                row(f"BF16 128x128x64, NT, {warps} warps", arch, "Triton", code)


if __name__ == "__main__":
    main()
