"""Writes the .ptx files of this folder anew, from the sources beside them.

    python3 regenerate.py [triton] [nvcc]

`triton` needs the package triton 3.9 (no GPU), `nvcc` an nvcc on PATH. The
tests need neither: they run the files that are committed.
"""

import os
import re
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))


def write(name, ptx):
    # Debug information is of no use here, and holds the path of the source.
    ptx = re.sub(r"\t\.section\s+\.debug.*", "", ptx, flags=re.S)
    ptx = re.sub(r"\s*\.(loc|file)\t[^\n]*", "", ptx)
    ptx = re.sub(r", debug\b", "", ptx)
    with open(os.path.join(here, name), "w", encoding="ascii") as file:
        file.write(ptx.rstrip() + "\n")
    print(name, len(ptx.splitlines()), "lines")


def triton():
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, compile

    sys.path.insert(0, here)
    import triton_kernels as kernels

    def emit(name, kernel, types, constants, aligned, sm, **options):
        signature = {**types, **{constant: "constexpr" for constant in constants}}
        attributes = {(i,): [["tt.divisibility", 16]] for i in aligned}
        source = ASTSource(kernel, signature, constants, attributes)
        compiled = compile(source, target=GPUTarget("cuda", sm, 32), options=options)
        write(name, compiled.asm["ptx"])
        print("  dynamic shared memory:", compiled.metadata.shared)

    for sm, suffix in (80, "sm_80"), (90, "sm_90a"):
        emit(
            f"triton-rownorm-{suffix}.ptx", kernels.rownorm,
            {"w": "*fp32", "g": "*fp32", "b": "*fp32", "lr": "fp32", "eps": "fp32", "columns": "i32"},
            {"COLUMNS": 256, "BETA": 0.95}, (0, 1, 2), sm, num_warps=2,
        )
        emit(
            f"triton-product-{suffix}.ptx", kernels.product,
            {"a": "*bf16", "b": "*bf16", "c": "*bf16", "M": "i32", "N": "i32", "K": "i32"},
            {"BM": 64, "BN": 64, "BK": 64}, range(6), sm, num_warps=4, num_stages=3,
        )


def nvcc():
    for name in "reduce", "product":
        command = ["nvcc", "-arch=sm_80", "-ptx", name + ".cu", "-o", "/dev/stdout"]
        ptx = subprocess.run(command, cwd=here, check=True, capture_output=True, text=True)
        write(f"nvcc-{name}.ptx", ptx.stdout)


if __name__ == "__main__":
    for part in sys.argv[1:] or ["triton", "nvcc"]:
        {"triton": triton, "nvcc": nvcc}[part]()
