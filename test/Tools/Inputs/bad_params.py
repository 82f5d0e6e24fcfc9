"""bad_params.py SPEC FOLDER: model files that --params refuses."""

import json
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(__file__))
from refusals import done, refuses

spec, folder = sys.argv[1:]
os.makedirs(folder, exist_ok=True)


def case(suffix, content, expected):
    path = os.path.join(folder, "model" + suffix)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    refuses(folder, [spec, "--params", path], [f"--params {path}: ", expected], content[:80])


def tensors(text):
    return '{"tensors": [' + text + "]}"


def tensor(**fields):
    entry = {"name": "w", "shape": [4, 8], "dtype": "F32", **fields}
    return json.dumps({k: v for k, v in entry.items() if v is not ...})


# --- JSON ----------------------------------------------------------------------
case(".json", "", "is not JSON: parse error at line 1, column 1")
case(".json", '{"tensors": [', "is not JSON: parse error")
case(".json", b'{"tensors": "\xff"}', "is not JSON: parse error")
case(".json", "[]", 'expected {"tensors": [...]}')
case(".json", '{"tensors": 3}', 'expected {"tensors": [...]}')
case(".json", '{"tensors": [], "tensors": []}', 'has the key "tensors" twice')
case(".json", "[" * 100000, "is nested deeper than 16 levels")
case(".json", tensors(""), "holds no tensor")
case(".json", tensors("1"), "tensor 0: expected an object, got 1")
case(".json", tensors(tensor(name=...)), 'tensor 0: expected the key "name"')
case(".json", tensors(tensor(shape=...)), 'tensor "w": expected the key "shape"')
case(".json", tensors(tensor(dtype=...)), 'tensor "w": expected the key "dtype"')
case(".json", tensors(tensor(name=7)), 'tensor 0: expected "name" to be a string, got 7')
case(".json", tensors(tensor(name="")), 'tensor "": expected a name of 1 to 4096 bytes')
case(".json", tensors(tensor(name="a\0b")), r'tensor "a\x00b": expected a name of')
case(".json", tensors(tensor(name="n" * 5000)), "expected a name of 1 to 4096 bytes")
case(".json", tensors(tensor(dtype="BF16")), 'tensor "w": expected dtype "F32", got "BF16"')
case(".json", tensors(tensor(name="a\nb", dtype="F64")), r'tensor "a\x0ab": expected dtype')
case(".json", tensors(tensor(shape=4)), 'tensor "w": expected "shape" to be a list of integers')
case(".json", tensors(tensor(shape=[4, -1])), 'expected extents of 0 to 2^48 in "shape", got -1')
case(".json", tensors(tensor(shape=[4, 1.5])), 'expected extents of 0 to 2^48 in "shape", got 1.5')
case(".json", tensors(tensor(shape=[2**63, 2])), "expected extents of 0 to 2^48")
case(".json", tensors(tensor(shape=[2**32, 2**32])), "has too many elements")
case(".json", tensors(tensor(shape=[0, 8])), 'tensor "w": expected at least one element, got 0x8')
case(".json", tensors(tensor(shape=[8])), 'tensor "w": expected a matrix, got a tensor of rank 1')
case(".json", tensors(tensor() + "," + tensor()), 'has the tensor "w" twice')
case(".json", tensors(tensor(aliases=3)), 'expected "aliases" to be the name of a tensor, got 3')
case(".json", tensors(tensor(alias="h")), 'tensor "w": unknown key "alias"; expected "name", "shape"')


# --- safetensors ---------------------------------------------------------------
def safetensors(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(shape, begin, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


four = bytes(16)
case(".safetensors", b"", "is no safetensors file: it has 0 bytes")
case(".safetensors", b"1234567", "is no safetensors file: it has 7 bytes")
case(".safetensors", safetensors({}, length=2**64 - 1),
     "is no safetensors file: a header of 18446744073709551615 bytes in a file of 10")
case(".safetensors", safetensors({}, length=11), "is no safetensors file: a header of 11")
case(".safetensors", safetensors({}, length=0), "is no safetensors file: a header of 0")
case(".safetensors", safetensors(b"[]"), "is no safetensors file: expected '{' at byte 8")
case(".safetensors", safetensors(b'{"a": }'), "is not JSON: parse error")
case(".safetensors", safetensors({}), "holds no tensor")
case(".safetensors", safetensors({"__metadata__": {"a": 1}}),
     'expected "__metadata__" to hold strings, got 1')
case(".safetensors", safetensors({"w": 1}), 'tensor "w": expected an object, got 1')
case(".safetensors", safetensors({"w": {"dtype": "F32", "shape": [2, 2]}}),
     'tensor "w": expected the key "data_offsets"')
case(".safetensors", safetensors({"w": entry([2, 2], 16, 0)}, four),
     'tensor "w": expected "data_offsets" [begin, end], got [16,0]')
case(".safetensors", safetensors({"w": entry([2, 2], 0, 12)}, bytes(12)),
     'tensor "w": expected 16 bytes for its shape and type, got 12')
case(".safetensors", safetensors({"w": entry([2**32, 2**32], 0, 0)}), "has too many elements")
case(".safetensors", safetensors({"w": entry([2, 2], 4, 20)}, bytes(20)),
     'tensor "w": expected its data to begin at 0, where the tensor before ends, got 4')
case(".safetensors", safetensors({"v": entry([2, 2], 0, 16), "w": entry([2, 2], 8, 24)}, bytes(24)),
     'tensor "w": expected its data to begin at 16')
case(".safetensors", safetensors({"w": entry([2, 2], 0, 16)}, bytes(20)),
     "the tensors end at byte 16 of 20 bytes of data")
case(".safetensors", safetensors({"w": entry([2, 2], 0, 16)}, bytes(8)),
     "the tensors end at byte 16 of 8 bytes of data")
case(".safetensors", safetensors({"w": entry([2, 2], 0, 16, "F31")}, four),
     'tensor "w": unknown dtype "F31"')
case(".safetensors", safetensors({"w": entry([2, 2], 0, 8, "BF16")}, bytes(8)),
     'tensor "w": expected dtype "F32", got "BF16"')
case(".safetensors", safetensors({"w": entry([4], 0, 16)}, four),
     'tensor "w": expected a matrix, got a tensor of rank 1')
text = json.dumps(entry([2, 2], 0, 16))
case(".safetensors", safetensors(f'{{"w": {text}, "w": {text}}}'.encode(), four),
     'has the key "w" twice')

# --- the file itself -----------------------------------------------------------
refuses(folder, [spec, "--params", os.path.join(folder, "none.json")],
        "none.json: cannot be read: No such file or directory")
refuses(folder, [spec, "--params", "/dev/zero.safetensors"], "cannot be read")
os.makedirs(os.path.join(folder, "a.json"), exist_ok=True)
refuses(folder, [spec, "--params", os.path.join(folder, "a.json")], "expected a regular file")
refuses(folder, [spec, "--params", "model.bin"],
        "--params model.bin: expected a .safetensors or .json file")
refuses(folder, [spec], "expected --params FILE, since ")
done(50)
