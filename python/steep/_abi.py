"""The structures of steep.h (ABI 1.2) for ctypes, under its own names."""

from __future__ import annotations

import ctypes as c

MAJOR = 1

OK, SKIPPED, INVALID_ARGUMENT = 0, 1, -1
VERSION_MISMATCH, CPU_MISMATCH = -2, -3

CPU = 1  # kDLCPU


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


class Scalar(c.Structure):
    _fields_ = [
        ("value", c.c_double),
        ("pointer", c.POINTER(c.c_float)),
        ("flags", c.c_uint32),
        ("reserved", c.c_uint32),
    ]


class Binding(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("reserved", c.c_uint32),
        ("name", c.c_char_p),
        ("parameter", c.c_void_p),
        ("gradient", c.c_void_p),
        ("master", c.c_void_p),
        ("update", c.c_void_p),
        ("states", c.c_void_p),
        ("index", c.c_int64),
    ]


class Plan(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("abi_version", c.c_uint32),
        ("name", c.c_char_p),
        ("parameter_count", c.c_int64),
        ("state_count", c.c_int64),
        ("group_count", c.c_int64),
        ("workspace_bytes", c.c_uint64),
        ("workspace_alignment", c.c_uint64),
        ("device_target_count", c.c_int64),
        ("device_bytes", c.c_uint64),
        ("bindings", c.c_void_p),
        ("binding_count", c.c_int64),
        ("step_flags", c.c_uint64),
        ("table", c.c_void_p),
        ("table_bytes", c.c_uint64),
        ("message", c.c_void_p),
        ("message_bytes", c.c_uint64),
        ("table_needed", c.c_uint64),
        ("clip_norm", c.c_double),
        ("measure_count", c.c_int64),
        ("measure_names", c.c_void_p),
    ]


class StepArgs(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("flags", c.c_uint32),
        ("parameter_count", c.c_int64),
        ("parameters", c.c_void_p),
        ("gradients", c.c_void_p),
        ("state_count", c.c_int64),
        ("states", c.c_void_p),
        ("updates", c.c_void_p),
        ("group_count", c.c_int64),
        ("lr", c.c_void_p),
        ("wd", c.c_void_p),
        ("grad_scale", Scalar),
        ("step", c.c_int64),
        ("workspace", c.c_void_p),
        ("workspace_bytes", c.c_uint64),
        ("stream", c.c_void_p),
        ("pool", c.c_void_p),
        ("message", c.c_void_p),
        ("message_bytes", c.c_uint64),
        ("grad_norm", c.c_double),
        ("clip_factor", c.c_double),
        ("nonfinite_parameter", c.c_int64),
        ("device", c.c_void_p),
        ("step_counter", c.c_void_p),
        ("report", c.c_void_p),
        ("masters", c.c_void_p),
        ("measures", c.c_void_p),
        ("measure_count", c.c_int64),
    ]
