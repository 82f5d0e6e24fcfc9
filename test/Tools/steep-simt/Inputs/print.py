"""Prints the tensors of a safetensors file, a line each."""

import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    size = struct.unpack("<Q", file.read(8))[0]
    header, data = json.loads(file.read(size)), file.read()
for name, entry in sorted(header.items()):
    if name != "__metadata__":
        begin, end = entry["data_offsets"]
        code, width = {"F32": ("f", 4), "F64": ("d", 8)}[entry["dtype"]]
        values = struct.unpack(f"<{(end - begin) // width}{code}", data[begin:end])
        print(name, entry["dtype"], entry["shape"], *values)
