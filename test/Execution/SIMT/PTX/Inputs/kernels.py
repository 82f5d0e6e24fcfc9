"""Inputs of the kernels in this folder, and what they must give.

kernels.py make KERNEL FILE ROWS COLUMNS [DEPTH]     writes the inputs
kernels.py check KERNEL IN OUT TOLERANCE             compares, with plain loops

Matrices are row-major. BF16 is written as its 16 bits.
"""

import array
import json
import math
import random
import struct
import sys

CODES = {"F32": "f", "BF16": "H"}


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        piece = array.array(CODES[dtype], values).tobytes()
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = (entry["shape"], array.array(CODES[entry["dtype"]], data[begin:end]))
    return tensors


def to_bf16(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def from_bf16(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def make(kernel, path, rows, columns, depth=0):
    draw = random.Random(7)

    def normal(count):
        return [draw.gauss(0, 1) for _ in range(count)]

    if kernel == "rownorm":
        tensors = {name: ("F32", [rows, columns], normal(rows * columns)) for name in "wgb"}
    elif kernel == "bf16":
        tensors = {
            "a": ("BF16", [rows, depth], map(to_bf16, normal(rows * depth))),
            "b": ("BF16", [columns, depth], map(to_bf16, normal(columns * depth))),
        }
    elif kernel == "bf16rows":
        tensors = {
            "a": ("BF16", [rows, depth], map(to_bf16, normal(rows * depth))),
            "b": ("BF16", [depth, columns], map(to_bf16, normal(depth * columns))),
        }
    elif kernel == "product":
        tensors = {"a": ("F32", [rows, depth], normal(rows * depth)), "b": ("F32", [depth, columns], normal(depth * columns))}
    else:
        tensors = {"x": ("F32", [rows, columns], normal(rows * columns))}
    write(path, tensors)


def expected(kernel, given):
    """Every output: its values in double, and the size that errors scale with."""
    if kernel == "rownorm":
        (rows, columns), w = given["w"]
        g, b = given["g"][1], given["b"][1]
        weights, momenta = [], []
        for row in range(rows):
            span = range(row * columns, (row + 1) * columns)
            m = [b[i] * 0.95 + g[i] * (1 - 0.95) for i in span]
            norm = math.sqrt(sum(x * x for x in m)) + 1e-7
            momenta += m
            weights += [w[i] - 0.125 * x / norm for i, x in zip(span, m)]
        return {"w": weights, "b": momenta}
    if kernel in ("bf16", "bf16rows", "product"):
        (rows, depth), a = given["a"]
        shape, b = given["b"]
        if kernel != "product":
            a, b = list(map(from_bf16, a)), list(map(from_bf16, b))
        if kernel == "bf16":
            columns = shape[0]
            lines = [b[j * depth:(j + 1) * depth] for j in range(columns)]
        else:
            columns = shape[1]
            lines = [b[j::columns] for j in range(columns)]
        c = []
        for i in range(rows):
            row = a[i * depth:(i + 1) * depth]
            c += [sum(map(lambda x, y: x * y, row, line)) for line in lines]
        return {"c": c}
    return {"out": [math.fsum(given["x"][1])]}


def check(kernel, given_path, result_path, tolerance):
    result = read(result_path)
    for name, values in expected(kernel, read(given_path)).items():
        got = result[name][1]
        if got.typecode == "H":
            got = list(map(from_bf16, got))
        assert len(got) == len(values), f"{name} has {len(got)} values instead of {len(values)}"
        size = max(map(abs, values))
        # A comparison that not-a-number fails.
        wrong = [i for i, (x, y) in enumerate(zip(got, values)) if not abs(x - y) <= tolerance * size]
        if wrong:
            i = wrong[0]
            sys.exit(f"{name}: {len(wrong)} of {len(values)} differ; [{i}] is {got[i]} instead of {values[i]}")
        print(f"{name}: {len(values)} values agree")


if sys.argv[1] == "make":
    make(sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
else:
    check(sys.argv[2], sys.argv[3], sys.argv[4], float(sys.argv[5]))
