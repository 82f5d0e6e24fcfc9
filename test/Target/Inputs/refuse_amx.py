"""refuse_amx.py FOLDER: opens an artefact that needs AMX in a process that the
system lets ask for it, and again where it refuses, as a sandbox does.

The refusal is a seccomp filter: EPERM for arch_prctl(ARCH_REQ_XCOMP_PERM, ...)."""

import ctypes as c
import struct
import sys

folder = sys.argv[1]
library = c.CDLL(f"{folder}/librounded.so")
library.steep_rounded_last_error.restype = c.c_char_p


def ask():
    plan = (c.c_uint32 * 256)(64)  # struct_size; the entries of version 1.0
    return library.steep_rounded_plan(plan)


def refuse():
    LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
    NUMBER, FIRST = 0, 16  # of the call and of its first argument
    program = [(LOAD, 0, 0, NUMBER), (EQUAL, 0, 3, 158), (LOAD, 0, 0, FIRST), (EQUAL, 0, 1, 0x1023),
               (RETURN, 0, 0, 0x00050001), (RETURN, 0, 0, 0x7FFF0000)]
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    buffer = c.create_string_buffer(code, len(code))

    class Program(c.Structure):
        _fields_ = [("length", c.c_ushort), ("filter", c.c_void_p)]

    filter = Program(len(program), c.cast(buffer, c.c_void_p))
    system = c.CDLL(None, use_errno=True)
    assert system.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert system.prctl(22, 2, c.byref(filter), 0, 0) == 0, c.get_errno()  # PR_SET_SECCOMP


print("plan:", ask())
refuse()
print("plan:", ask(), library.steep_rounded_last_error().decode())
