"""Prints the F32 tensors of a safetensors file, sorted, then its metadata."""

import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(length))
    data = file.read()
metadata = header.pop("__metadata__", {})
for name, entry in sorted(header.items()):
    begin, end = entry["data_offsets"]
    values = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    print(name, *(f"{value:.6g}" for value in values))
print(*(f"{key}={value}" for key, value in sorted(metadata.items())))
