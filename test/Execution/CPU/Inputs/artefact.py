"""The C ABI of an artefact for tests: ctypes, plain Python, no numpy."""

import array
import ctypes as c
import json
import math
import os
import struct

OK, SKIPPED, INVALID, VERSION, CPU, WORKSPACE = 0, 1, -1, -2, -3, -4


class DLDevice(c.Structure):
    _fields_ = [("device_type", c.c_int32), ("device_id", c.c_int32)]


class DLDataType(c.Structure):
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class DLTensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p),
        ("device", DLDevice),
        ("ndim", c.c_int32),
        ("dtype", DLDataType),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)),
        ("byte_offset", c.c_uint64),
    ]


TASK = c.CFUNCTYPE(None, c.c_void_p, c.c_int64, c.c_int64)
RUN = c.CFUNCTYPE(None, c.c_void_p, c.c_int64, c.c_void_p, c.c_void_p)


class Pool(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("threads", c.c_int32),
        ("context", c.c_void_p),
        ("run", RUN),
    ]


class Scalar(c.Structure):
    _fields_ = [
        ("value", c.c_double),
        ("pointer", c.POINTER(c.c_float)),
        ("flags", c.c_uint32),
        ("reserved", c.c_uint32),
    ]


class PlanStruct(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("abi_version", c.c_uint32),
        ("name", c.c_char_p),
        ("parameter_count", c.c_int64),
        ("state_count", c.c_int64),
        ("group_count", c.c_int64),
        ("workspace_bytes", c.c_uint64),
        ("workspace_alignment", c.c_uint64),
    ]


class ParameterStruct(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("ndim", c.c_int32),
        ("name", c.c_char_p),
        ("group_name", c.c_char_p),
        ("rule_name", c.c_char_p),
        ("shape", c.POINTER(c.c_int64)),
        ("group", c.c_int64),
        ("state_begin", c.c_int64),
        ("state_count", c.c_int64),
        ("state_names", c.POINTER(c.c_char_p)),
    ]


class Arguments(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("flags", c.c_uint32),
        ("parameter_count", c.c_int64),
        ("parameters", c.POINTER(c.POINTER(DLTensor))),
        ("gradients", c.POINTER(c.POINTER(DLTensor))),
        ("state_count", c.c_int64),
        ("states", c.POINTER(c.POINTER(DLTensor))),
        ("updates", c.POINTER(c.POINTER(DLTensor))),
        ("group_count", c.c_int64),
        ("lr", c.POINTER(Scalar)),
        ("wd", c.POINTER(Scalar)),
        ("grad_scale", Scalar),
        ("step", c.c_int64),
        ("workspace", c.c_void_p),
        ("workspace_bytes", c.c_uint64),
        ("stream", c.c_void_p),
        ("pool", c.POINTER(Pool)),
        ("message", c.c_char_p),
        ("message_bytes", c.c_uint64),
        ("grad_norm", c.c_double),
        ("clip_factor", c.c_double),
        ("nonfinite_parameter", c.c_int64),
    ]


POINTERS = c.POINTER(c.POINTER(DLTensor))


class Arguments12(Arguments):
    """Of version 1.2 of the interface; the above is that of 1.0."""

    _fields_ = [
        ("device", c.c_void_p),
        ("step_counter", c.POINTER(c.c_int64)),
        ("report", c.c_void_p),
        ("masters", POINTERS),
        ("measures", c.POINTER(c.c_double)),
        ("measure_count", c.c_int64),
    ]


class Binding(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("reserved", c.c_uint32),
        ("name", c.c_char_p),
        ("parameter", c.POINTER(DLTensor)),
        ("gradient", c.POINTER(DLTensor)),
        ("master", c.POINTER(DLTensor)),
        ("update", c.POINTER(DLTensor)),
        ("states", POINTERS),
        ("index", c.c_int64),
    ]


class PlanStruct12(PlanStruct):
    _fields_ = [
        ("device_target_count", c.c_int64),
        ("device_bytes", c.c_uint64),
        ("bindings", c.POINTER(Binding)),
        ("binding_count", c.c_int64),
        ("step_flags", c.c_uint64),
        ("table", c.c_char_p),
        ("table_bytes", c.c_uint64),
        ("message", c.c_char_p),
        ("message_bytes", c.c_uint64),
        ("table_needed", c.c_uint64),
        ("clip_norm", c.c_double),
        ("measure_count", c.c_int64),
        ("measure_names", c.POINTER(c.c_char_p)),
    ]


class Matrix:
    """A dense FP32 matrix whose base is `offset` elements into its memory."""

    def __init__(self, rows, columns, values=None, offset=0):
        self.rows, self.columns, self.offset = rows, columns, offset
        self.memory = array.array("f", bytes(4 * (rows * columns + offset)))
        if values is not None:
            self.set(values)
        self.shape = (c.c_int64 * 2)(rows, columns)
        self.tensor = DLTensor(
            self.memory.buffer_info()[0],
            DLDevice(1, 0),
            2,
            DLDataType(2, 32, 1),
            self.shape,
            None,
            4 * offset,
        )

    def set(self, values):
        self.memory[self.offset :] = array.array("f", values)

    def values(self):
        return self.memory[self.offset :]

    def bytes(self):
        return self.values().tobytes()


class Artefact:
    """A folder that steepc wrote, and tensors for one run of it."""

    def __init__(self, folder, offset=0):
        names = [n for n in os.listdir(folder) if n.endswith(".json")]
        with open(os.path.join(folder, names[0]), "rb") as file:
            self.text = file.read()
        self.manifest = json.loads(self.text)
        self.name = self.manifest["name"]
        self.library = c.CDLL(os.path.join(folder, f"lib{self.name}.so"))
        self.entry("pool_create").restype = c.POINTER(Pool)
        self.entry("build_info").restype = c.c_char_p
        self.plan = PlanStruct(c.sizeof(PlanStruct))
        code = self.entry("plan")(c.byref(self.plan))
        assert code == OK, f"plan returned {code}"
        self.parameters = self.manifest["parameters"]
        self.index = {p["name"]: i for i, p in enumerate(self.parameters)}

        self.make_tensors(offset)
        size = self.plan.workspace_bytes + 64
        self.memory = (c.c_char * size)()
        base = c.addressof(self.memory)
        self.workspace = base + -base % 64
        self.message = c.create_string_buffer(4096)
        self.keep = []

    def make_tensors(self, offset):
        def matrices(shapes):
            return [Matrix(*shape, offset=offset) for shape in shapes]

        shapes = [p["shape"] for p in self.parameters]
        self.weights, self.gradients = matrices(shapes), matrices(shapes)
        self.updates = matrices(shapes)
        self.states = matrices(
            s["shape"] for p in self.parameters for s in p["states"]
        )

    def entry(self, name):
        return getattr(self.library, f"steep_{self.name}_{name}")

    def state(self, parameter, name):
        begin = sum(len(p["states"]) for p in self.parameters[: self.index[parameter]])
        states = self.parameters[self.index[parameter]]["states"]
        return self.states[begin + [s["name"] for s in states].index(name)]

    def table(self, matrices):
        pointers = (c.POINTER(DLTensor) * max(1, len(matrices)))(
            *[c.pointer(m.tensor) if m else None for m in matrices]
        )
        self.keep.append(pointers)
        return c.cast(pointers, c.POINTER(c.POINTER(DLTensor)))

    def arguments(self, step=1, lr=None, wd=None, grad_scale=1.0, pool=None,
                  updates=True):
        groups = self.manifest["groups"]

        def scalars(key, given):
            given = given or {}
            values = [Scalar(given.get(g["name"], g[key])) for g in groups]
            array_type = Scalar * len(values)
            self.keep.append(array_type(*values))
            return c.cast(self.keep[-1], c.POINTER(Scalar))

        self.keep = []
        return Arguments(
            struct_size=c.sizeof(Arguments),
            parameter_count=len(self.weights),
            parameters=self.table(self.weights),
            gradients=self.table(self.gradients),
            state_count=len(self.states),
            states=self.table(self.states),
            updates=self.table(self.updates) if updates else None,
            group_count=len(groups),
            lr=scalars("lr", lr),
            wd=scalars("wd", wd),
            grad_scale=Scalar(grad_scale),
            step=step,
            workspace=self.workspace,
            workspace_bytes=self.plan.workspace_bytes,
            pool=pool,
            message=c.cast(self.message, c.c_char_p),
            message_bytes=len(self.message),
        )

    def call(self, entry, arguments):
        """The returned code; self.said is the message."""
        self.message.value = b""
        code = self.entry(entry)(c.byref(arguments))
        self.said = self.message.value.decode("utf-8", "replace")
        return code

    def step(self, **options):
        """Takes a step that must succeed; returns its arguments."""
        arguments = self.arguments(**options)
        code = self.call("step", arguments)
        assert code == OK, f"step returned {code}: {self.said}"
        return arguments

    def snapshot(self):
        return [m.bytes() for m in self.weights + self.states]


def read_safetensors(path):
    """({name: (shape, array)}, metadata)"""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + o for o in entry["data_offsets"])
        code = {"F32": "f", "F64": "d"}.get(entry["dtype"])
        if code:
            tensors[name] = (entry["shape"], array.array(code, data[begin:end]))
    return tensors, metadata


def relative(values, expected):
    """Relative difference in the Frobenius norm."""
    difference = math.sqrt(sum((a - b) ** 2 for a, b in zip(values, expected)))
    size = math.sqrt(sum(b * b for b in expected))
    return difference / max(size, 1e-30) if difference else 0.0
