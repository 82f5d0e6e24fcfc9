"""Writes a safetensors file of zeros and ones without any package.

write.py FILE NAME:DTYPE:ROWSxCOLUMNS[:VALUE...] ...   (VALUEs repeat)
"""

import json
import struct
import sys

header, data = {}, b""
for argument in sys.argv[2:]:
    name, dtype, shape, *values = argument.split(":")
    sizes = [int(size) for size in shape.split("x")] if shape else []
    count = 1
    for size in sizes:
        count *= size
    numbers = [float(values[i % len(values)]) if values else 1.0 for i in range(count)]
    code = {"F32": "f", "F64": "d"}[dtype]
    piece = struct.pack(f"<{count}{code}", *numbers)
    header[name] = {
        "dtype": dtype,
        "shape": sizes,
        "data_offsets": [len(data), len(data) + len(piece)],
    }
    data += piece
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
