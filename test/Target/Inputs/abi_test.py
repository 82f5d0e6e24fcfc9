"""abi_test.py FOLDER: what the entries of an artefact accept and refuse.

Works on any artefact; every refusal must leave weights and states as they are
and say in one line which argument is wrong.
"""

import ctypes as c
import math
import mmap
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Execution/CPU/Inputs"))
from artefact import *

a = Artefact(sys.argv[1])
generator = random.Random(1)


def fill():
    for matrix in a.weights + a.gradients:
        matrix.set([generator.gauss(0, 1) for _ in matrix.values()])
    for matrix in a.states:
        matrix.set([0.0] * len(matrix.values()))


def refuses(what, expected, change, code=INVALID, entries=("step", "apply")):
    for entry in entries:
        arguments = a.arguments()
        arguments.clip_factor, arguments.nonfinite_parameter = 1.0, -1
        undo = change(arguments)
        before = a.snapshot()
        got = a.call(entry, arguments)
        assert got == code, f"{what}: {entry} returned {got}, not {code}"
        assert expected in a.said, f"{what}: {entry} said {a.said!r}"
        assert "\n" not in a.said, f"{what}: {a.said!r} is more than a line"
        assert before == a.snapshot(), f"{what}: something was written"
        if undo:
            undo()
    assert before == a.snapshot()
    print(f"ok: {what}: {a.said}")


def setting(field, value):
    return lambda arguments: setattr(arguments, field, value)


def changing(tensor, **fields):
    """Changes fields of a DLTensor, and puts them back."""

    def change(_):
        old = bytes(tensor)
        for key, value in fields.items():
            setattr(tensor, key, value)
        return lambda: c.memmove(c.addressof(tensor), old, len(old))

    return change


fill()
name = a.parameters[0]["name"]
last = a.parameters[-1]["name"]
rows, columns = a.parameters[0]["shape"]
both = ("prepare", "step", "apply")
skipped = INVALID if a.manifest["nonfinite"] == "error" else SKIPPED

# --- plan, parameter, versions -------------------------------------------------
assert a.entry("abi_version")() == 1 << 16 | 2
assert a.entry("build_info")() == a.text, "build_info is not the manifest"
assert a.plan.workspace_bytes == a.manifest["workspace"]["bytes"]
assert a.plan.parameter_count == len(a.parameters)
assert a.plan.name.decode() == a.name
assert a.entry("plan")(None) == INVALID
assert a.entry("plan")(c.byref(PlanStruct(8))) == VERSION
begin = 0
for i, p in enumerate(a.parameters):
    entry = ParameterStruct(c.sizeof(ParameterStruct))
    assert a.entry("parameter")(c.c_int64(i), c.byref(entry)) == OK
    assert entry.name.decode() == p["name"]
    assert entry.rule_name.decode() == p["rule"]
    assert entry.group_name.decode() == p["group"]
    assert [entry.shape[0], entry.shape[1]] == p["shape"] and entry.ndim == 2
    assert a.manifest["groups"][entry.group]["name"] == p["group"]
    assert entry.state_begin == begin
    names = [entry.state_names[k].decode() for k in range(entry.state_count)]
    assert names == [s["name"] for s in p["states"]]
    begin += entry.state_count
entry = ParameterStruct(c.sizeof(ParameterStruct))
for i in (-1, len(a.parameters)):
    assert a.entry("parameter")(c.c_int64(i), c.byref(entry)) == INVALID
assert a.entry("parameter")(c.c_int64(0), c.byref(ParameterStruct(8))) == VERSION
assert a.entry("step")(None) == INVALID
print("ok: plan and parameter")

# --- fields --------------------------------------------------------------------
refuses("short structure", "", setting("struct_size", 64), VERSION, both)
refuses("flags", "flags: expected 0 or STEEP_DELTA_ONLY, got 2", setting("flags", 2), entries=both)
refuses("parameter count", f"parameter_count: expected {len(a.weights)}, got 1000",
        setting("parameter_count", 1000), entries=both)
refuses("state count", f"state_count: expected {len(a.states)}, got 1000",
        setting("state_count", 1000))
refuses("group count", "group_count: expected", setting("group_count", 0))
refuses("step 0", "step: expected 1 for the first update", setting("step", 0))
refuses("no gradients", "gradients: expected an array, got NULL",
        setting("gradients", None), entries=both)
refuses("no lr", "lr: expected an array, got NULL", setting("lr", None))
refuses("no wd", "wd: expected an array, got NULL", setting("wd", None))
refuses("stream", "stream: expected NULL", setting("stream", 64), entries=both)
refuses("workspace size", f"workspace: expected {a.plan.workspace_bytes} bytes, got "
        f"{a.plan.workspace_bytes - 1}",
        setting("workspace_bytes", a.plan.workspace_bytes - 1), WORKSPACE, both)
refuses("workspace alignment", "workspace: expected a pointer aligned to 64 bytes",
        setting("workspace", a.workspace + 8), entries=both)
refuses("no workspace", "workspace: expected a pointer", setting("workspace", None),
        entries=both)
refuses("pool size", "pool: expected struct_size", setting("pool", c.pointer(Pool(4))),
        VERSION, both)
refuses("pool without run", "pool: expected a run function",
        setting("pool", c.pointer(Pool(c.sizeof(Pool), 1))), entries=both)


# --- scalars -------------------------------------------------------------------
def scalar(field, index, **fields):
    def change(arguments):
        where = getattr(arguments, field)
        where = where if index is None else where[index]
        for key, value in fields.items():
            setattr(where, key, value)

    return change


group = a.manifest["groups"][0]["name"]
refuses("lr NaN", f"lr of group {group}: expected a finite FP32 number, got nan",
        scalar("lr", 0, value=math.nan))
refuses("lr beyond FP32", f"lr of group {group}: expected a finite",
        scalar("lr", 0, value=1e39))
refuses("wd infinite", f"wd of group {group}: expected a finite",
        scalar("wd", 0, value=math.inf))
refuses("grad_scale NaN", "grad_scale: expected a finite",
        scalar("grad_scale", None, value=math.nan), entries=both)
refuses("scalar flags", f"lr of group {group}: expected flags 0 or STEEP_SCALAR_POINTER",
        scalar("lr", 0, flags=2))
refuses("scalar pointer", f"wd of group {group}: expected a pointer to a float",
        scalar("wd", 0, flags=1))

# --- tensors -------------------------------------------------------------------
w, g = a.weights[0], a.gradients[0]
wrong = (c.c_int64 * 2)(rows, columns + 1)
strides = (c.c_int64 * 2)(columns + 3, 1)
backward = (c.c_int64 * 2)(-columns, 1)
folded = (c.c_int64 * 2)(columns - 1, 1)
refuses("shape", f'parameter "{name}": expected shape {rows}x{columns}, got '
        f"{rows}x{columns + 1}", changing(w.tensor, shape=wrong))
refuses("gradient's shape", f'gradient of "{name}": expected shape',
        changing(g.tensor, shape=wrong), entries=both)
refuses("rank", f'parameter "{name}": expected a matrix of {rows}x{columns}, got a '
        "tensor of rank 3", changing(w.tensor, ndim=3))
refuses("strides backward", f'gradient of "{name}": expected strides of at least 0',
        changing(g.tensor, strides=backward), entries=both)
refuses("strides that fold", f'parameter "{name}": expected strides that reach no',
        changing(w.tensor, strides=folded))
refuses("strides without workspace", "workspace: expected",
        changing(g.tensor, strides=strides), WORKSPACE, entries=both)
refuses("BF16 weight without master", f'parameter "{name}": expected an FP32 master',
        changing(w.tensor, dtype=DLDataType(4, 16, 1)))
refuses("type", f'parameter "{name}": expected FP32 elements',
        changing(w.tensor, dtype=DLDataType(2, 16, 1)))
refuses("device", f'gradient of "{name}": expected a CPU tensor',
        changing(g.tensor, device=DLDevice(2, 0)), entries=both)
refuses("no data", f'gradient of "{name}": expected data, got a NULL pointer',
        changing(g.tensor, data=None), entries=both)
refuses("alignment", f'gradient of "{name}": expected data aligned to 4 bytes',
        changing(g.tensor, byte_offset=2), entries=both)
if a.states:
    owner = next(p for p in a.parameters if p["states"])
    state = owner["states"][0]["name"]
    refuses("state's shape", f'state {state} of "{owner["name"]}": expected shape',
            changing(a.states[0].tensor, shape=(c.c_int64 * 2)(1 << 40, 1)))
    refuses("aliased state", f'"{owner["name"]}" overlap in memory',
            changing(a.states[0].tensor,
                     data=a.weights[a.index[owner["name"]]].tensor.data))
    tail = a.parameters[max(i for i, p in enumerate(a.parameters) if p["states"])]
    refuses("last state's type",
            f'state {tail["states"][-1]["name"]} of "{tail["name"]}": expected FP32',
            changing(a.states[-1].tensor, dtype=DLDataType(0, 32, 1)))
refuses("aliased gradient", f'"{name}" overlap in memory',
        changing(g.tensor, data=w.tensor.data))
refuses("aliased update", "overlap in memory",
        changing(a.updates[0].tensor, data=g.tensor.data))
refuses("gradient in the workspace", "the workspace", entries=both,
        change=changing(g.tensor, data=a.workspace))


def missing(arguments):
    arguments.parameters[len(a.weights) - 1] = c.POINTER(DLTensor)()


refuses("no tensor", f'parameter "{last}": expected a tensor, got NULL', missing)

# --- apply without prepare -----------------------------------------------------
refuses("clip factor 0", "clip_factor: expected what prepare left there",
        setting("clip_factor", 0.0), entries=("apply",))
refuses("nonfinite index", "nonfinite_parameter: expected what prepare left there",
        setting("nonfinite_parameter", 10**6), entries=("apply",))
refuses("apply after a non-finite gradient", f'gradient of "{name}" is not finite',
        setting("nonfinite_parameter", 0), skipped, ("apply",))

# --- non-finite gradients ------------------------------------------------------
fill()
a.step()
before = a.snapshot()
for value in (math.inf, -math.inf, math.nan):
    for i, p in enumerate(a.parameters):
        old = a.gradients[i].values()
        at = generator.randrange(len(old))
        a.gradients[i].memory[at] = value
        arguments = a.arguments(step=2)
        assert a.call("step", arguments) == skipped
        assert arguments.nonfinite_parameter == i
        assert a.said.startswith(f'gradient of "{p["name"]}" is not finite'), a.said
        assert a.snapshot() == before
        arguments = a.arguments(step=2)
        assert a.call("prepare", arguments) == skipped
        assert a.call("apply", arguments) == skipped
        assert a.snapshot() == before
        a.gradients[i].set(old)
# Finite, but beyond FP32 once the caller's scale is on it and nothing clips.
if a.manifest["clip"] is None:
    arguments = a.arguments(step=2, grad_scale=1e38)
    a.gradients[0].memory[0] = 1e10
    assert a.call("step", arguments) == skipped and a.snapshot() == before
a.step(step=2)
assert a.snapshot() != before
print("ok: a non-finite gradient is skipped")

# --- norm and clipping, scalars by pointer -------------------------------------
fill()
for scale in (1.0, -0.5, 3.0):
    arguments = a.arguments(grad_scale=scale)
    assert a.call("prepare", arguments) == OK
    norm = abs(scale) * math.sqrt(
        sum(x * x for m in a.gradients for x in m.values()))
    assert abs(arguments.grad_norm / norm - 1) < 1e-12
    clip = a.manifest["clip"]
    factor = min(1, clip["max"] / (norm + 1e-6)) if clip else 1
    assert abs(arguments.clip_factor / factor - 1) < 1e-12
start = a.snapshot()


def restore():
    at = 0
    for matrix in a.weights + a.states:
        matrix.memory[matrix.offset :] = array.array("f", start[at])
        at += 1


rates = {g["name"]: 0.25 + i for i, g in enumerate(a.manifest["groups"])}
a.step(lr=rates, wd=rates, grad_scale=0.5)
by_value = a.snapshot()
restore()
arguments = a.arguments(grad_scale=0.5)
floats = [c.c_float(rates[g["name"]]) for g in a.manifest["groups"]]
for i, number in enumerate(floats):
    for field in (arguments.lr, arguments.wd):
        field[i].value = math.nan
        field[i].flags = 1
        field[i].pointer = c.pointer(number)
half = c.c_float(0.5)
arguments.grad_scale = Scalar(math.nan, c.pointer(half), 1)
assert a.call("step", arguments) == OK, a.said
assert a.snapshot() == by_value, "scalars by pointer give other bits"

# --- prepare and apply are step; an update does not change the rest ------------
restore()
arguments = a.arguments(lr=rates, wd=rates, grad_scale=0.5, updates=False)
assert a.call("prepare", arguments) == OK
assert a.call("apply", arguments) == OK
assert a.snapshot() == by_value, "prepare and apply, without updates, give other bits"
restore()
arguments = a.arguments(lr=rates, wd=rates, grad_scale=0.5)
for i in range(0, len(a.weights), 2):
    arguments.updates[i] = c.POINTER(DLTensor)()
assert a.call("step", arguments) == OK, a.said
assert a.snapshot() == by_value, "some updates give other bits"
print("ok: scalars, norm, prepare and apply")

# --- parameters without a gradient ---------------------------------------------
# The others take the step that they take where the gradient is zero.
for without in range(len(a.weights)):
    name = a.parameters[without]["name"]
    own = [a.weights[without]] + [a.state(name, s["name"])
                                  for s in a.parameters[without]["states"]]
    old = a.gradients[without].values()
    a.gradients[without].set([0.0] * len(old))
    restore()
    a.step(lr=rates, wd=rates)
    expected = [m.bytes() for m in a.weights + a.states if m not in own]
    a.gradients[without].set(old)
    restore()
    arguments = a.arguments(lr=rates, wd=rates)
    arguments.gradients[without] = c.POINTER(DLTensor)()
    kept = [m.bytes() for m in own]
    assert a.call("step", arguments) == OK, a.said
    assert [m.bytes() for m in own] == kept, f"{name} has no gradient, and changed"
    assert [m.bytes() for m in a.weights + a.states if m not in own] == expected
print("ok: a parameter without a gradient stays")

# --- pools ---------------------------------------------------------------------
create, destroy = a.entry("pool_create"), a.entry("pool_destroy")
assert not create(0) and not create(-1) and not create(1025)
destroy(None)
for threads in (1, 2, 3, 7):
    pool = create(threads)
    assert pool and pool.contents.threads == threads
    for _ in range(3):
        restore()
        a.step(lr=rates, wd=rates, grad_scale=0.5, pool=pool)
        assert a.snapshot() == by_value, f"{threads} threads give other bits"
    destroy(pool)


def backwards(context, count, task, data):
    """A caller's pool: single items, last first."""
    for i in reversed(range(count)):
        TASK(task)(data, i, i + 1)


restore()
pool = Pool(c.sizeof(Pool), 1, None, RUN(backwards))
a.step(lr=rates, wd=rates, grad_scale=0.5, pool=c.pointer(pool))
assert a.snapshot() == by_value, "a caller's pool gives other bits"
print("ok: pools")

# --- the caller's memory and floating-point mode ---------------------------------
# A gradient in pages that cannot be written: a write would end this program.
libc, libm = c.CDLL(None), c.CDLL("libm.so.6")
pages = []
for matrix in a.gradients:
    size = -(-len(matrix.bytes()) // mmap.PAGESIZE) * mmap.PAGESIZE
    page = mmap.mmap(-1, size)
    page.write(matrix.bytes())
    pages.append(page)
    address = c.addressof(c.c_char.from_buffer(page))
    matrix.tensor.data, matrix.tensor.byte_offset = address, 0
    assert libc.mprotect(c.c_void_p(address), c.c_size_t(size), mmap.PROT_READ) == 0
restore()
a.step(lr=rates, wd=rates, grad_scale=0.5)
assert a.snapshot() == by_value
print("ok: gradients are not written")

for mode in (0x400, 0x800, 0xC00):  # FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO
    restore()
    arguments = a.arguments(lr=rates, wd=rates, grad_scale=0.5)
    libm.fesetround(mode)
    code = a.call("step", arguments)
    kept = libm.fegetround()
    libm.fesetround(0)
    assert code == OK and kept == mode
    assert a.snapshot() == by_value, "the caller's rounding mode gives other bits"
print("ok: the caller's rounding mode stays and does not matter")
