#!/usr/bin/env python3
"""Compiles the products of products.py for one target.

  build_products.py LLVM_TOOLS STEEP_OPT TARGET LANES REGISTERS L2 FMA OBJECT TABLE

TARGET is llc's -mcpu; its first letters up to a '-' or digit make no difference
to names, so PREFIX_ is put before every kernel's. TABLE is C++: one row a product
with its kernels, the last of which is the product itself.
"""
import os
import re
import subprocess
import sys
import tempfile

import products


def run(command, text=None):
    return subprocess.run(command, input=text, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def read_step(text, name):
    """The calls of a step: kernel and slots, each an argument's letter or a workspace offset."""
    signature, body = re.search(rf"func\.func @{name}\((.*?)\) attributes \{{block\.step.*?\{{\n(.*?)\n  \}}", text, re.S).groups()
    names = re.findall(r"(%\w+): memref", signature)
    where = dict(zip(names, ("SLOT_C", "SLOT_A", "SLOT_B")))
    workspace = int(re.search(r"memref<(\d+)xi8>", signature).group(1)) if len(names) > 3 else 0
    numbers = {name: int(value) for name, value in re.findall(r"(%\w+) = arith\.constant (\d+) : index", body)}
    for name, shift in re.findall(r"(%\w+) = memref\.view %\w+\[(%\w+)\]", body):
        where[name] = str(numbers[shift])
    calls = [(name, [where[a] for a in arguments.split(", ")])
             for name, arguments in re.findall(r"call @(\w+)\((.*?)\)", body)]
    return workspace, calls


def main():
    tools, opt, target, lanes, registers, l2, fma, obj, table = sys.argv[1:]
    prefix = re.sub(r"\W", "_", target)
    rows, objects = [], []
    with tempfile.TemporaryDirectory() as folder:
        flags = open("/proc/cpuinfo").read()
        dot = target == "native" and "avx512_bf16" in flags
        amx = dot and "amx_bf16" in flags
        for entry in products.PRODUCTS:
            name, m, n, k, left, right, symmetric, bf16 = entry
            if bf16 and not dot:
                continue
            block = run([opt, "-", f"--steep-geo-to-block=lanes={lanes} registers={registers} l2={l2} dot-bf16={str(dot).lower()} amx={str(amx).lower()}"],
                        products.product(*entry))
            workspace, calls = read_step(block, name)
            grids = dict(re.findall(r"func\.func @(\w+)\(.*block\.grid = (\d+)", block))
            block = re.sub(r"@(\w+_k\d+)", rf"@{prefix}_\1", block)
            llvm = run([opt, "-", f"--steep-block-to-cpu=fma={fma}"], block)
            ir = run([os.path.join(tools, "mlir-translate"), "--mlir-to-llvmir"], llvm)
            path = os.path.join(folder, name + ".o")
            run([os.path.join(tools, "opt"), "-O3", f"-mcpu={target}", "-S", "-o", path + ".ll"], ir)
            run([os.path.join(tools, "llc"), "-O3", f"-mcpu={target}", "-relocation-model=pic", "-filetype=obj",
                 "-o", path, path + ".ll"])
            objects.append(path)
            entries = ", ".join(
                f'{{{prefix}_{kernel}, {grids[kernel]}, {{{", ".join(slots)}}}}}' for kernel, slots in calls)
            for kernel in grids:
                rows.append(f'extern "C" void {prefix}_{kernel}(void **, int64_t, int64_t);')
            rows.append(f'static const Product {prefix}_{name} = {{"{name}", "{target}", {m}, {n}, {k}, '
                        f'{int(left)}, {int(right)}, {int(symmetric)}, {int(bf16)}, {workspace}, {{{entries}}}}};')
            rows.append(f'static const bool {prefix}_{name}_added = addProduct({prefix}_{name});')
        run(["ld", "-r", "-o", obj] + objects)
    with open(table, "w") as file:
        file.write("\n".join(rows) + "\n")


main()
