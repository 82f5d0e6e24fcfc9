"""The C ABI of an artefact on a GPU, for tests: ctypes over the driver's interface.

The driver is a library: the emulated GPU's, or libcuda.so.1."""

import ctypes as c
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../CPU/Inputs"))
from artefact import *

BEST, CUBIN, PTX, BITCODE = range(4)


class DeviceArguments(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("image", c.c_uint32),
        ("driver", c.c_char_p),
        ("target", c.c_char_p),
        ("ordinal", c.c_int64),
        ("memory", c.c_void_p),
        ("memory_bytes", c.c_uint64),
        ("message", c.c_char_p),
        ("message_bytes", c.c_uint64),
        ("device", c.c_void_p),
        ("loaded_target", c.c_char_p),
        ("loaded_image", c.c_uint32),
        ("reserved", c.c_uint32),
        ("workspace_bytes", c.c_uint64),
        ("workspace_alignment", c.c_uint64),
    ]


class Report(c.Structure):
    _fields_ = [
        ("grad_norm", c.c_double),
        ("clip_factor", c.c_double),
        ("nonfinite_parameter", c.c_int64),
        ("step", c.c_int64),
        ("code", c.c_int64),
    ]


class DevicePlan(c.Structure):
    _fields_ = PlanStruct._fields_ + [
        ("device_target_count", c.c_int64),
        ("device_bytes", c.c_uint64),
    ]


class StepArguments(c.Structure):
    _fields_ = Arguments._fields_ + [
        ("device", c.c_void_p),
        ("step_counter", c.c_void_p),
        ("report", c.c_void_p),
    ]


class Driver:
    """Device memory and copies."""

    def __init__(self, path):
        self.path = path
        self.library = c.CDLL(path)
        self.call("cuInit", c.c_uint(0))
        self.context = c.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", c.byref(self.context), c.c_int(0))
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        assert code == 0, f"{name} returned {code}{self.report()}"

    def report(self):
        if not hasattr(self.library, "steepSimtReport"):
            return ""
        self.library.steepSimtReport.restype = c.c_char_p
        text = self.library.steepSimtReport()
        return "\n" + text.decode() if text else ""

    def allocate(self, size):
        pointer = c.c_uint64()
        self.call("cuMemAlloc_v2", c.byref(pointer), c.c_size_t(max(size, 1)))
        return pointer.value

    def write(self, pointer, data):
        self.call("cuMemcpyHtoD_v2", c.c_uint64(pointer), data, c.c_size_t(len(data)))

    def read(self, pointer, size):
        data = c.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", data, c.c_uint64(pointer), c.c_size_t(size))
        return data.raw

    def wait(self):
        self.call("cuCtxSynchronize")


class DeviceArtefact(Artefact):
    """An artefact whose steps run on a GPU, with all tensors there."""

    def __init__(self, folder, driver, image=BEST, target=None):
        super().__init__(folder)
        self.driver = driver
        plan = DevicePlan(c.sizeof(DevicePlan))
        assert self.entry("plan")(c.byref(plan)) == OK
        self.device_memory = (c.c_char * (plan.device_bytes + 64))()
        base = c.addressof(self.device_memory)
        self.opened = DeviceArguments(
            struct_size=c.sizeof(DeviceArguments),
            image=image,
            driver=driver.path.encode(),
            target=target.encode() if target else None,
            memory=base + -base % 64,
            memory_bytes=plan.device_bytes,
            message=c.cast(self.message, c.c_char_p),
            message_bytes=len(self.message),
        )
        code = self.entry("device_open")(c.byref(self.opened))
        assert code == OK, (f"device_open returned {code}: {self.message.value.decode()}"
                            + driver.report())
        driver.call("cuCtxSetCurrent", driver.context)
        self.device_workspace = driver.allocate(self.opened.workspace_bytes)
        self.device_report = driver.allocate(c.sizeof(Report))
        self.device_counter = driver.allocate(8)
        self.there = {}
        for matrix in self.weights + self.gradients + self.states + self.updates:
            size = 4 * matrix.rows * matrix.columns
            self.there[id(matrix)] = driver.allocate(size)

    def close(self):
        assert self.entry("device_close")(c.c_void_p(self.opened.device)) == OK

    def upload(self):
        for matrix in self.weights + self.gradients + self.states:
            self.driver.write(self.there[id(matrix)], matrix.bytes())

    def download(self):
        for matrix in self.weights + self.states + self.updates:
            size = 4 * matrix.rows * matrix.columns
            matrix.set(array.array("f", self.driver.read(self.there[id(matrix)], size)))

    def place_scalars(self, arguments):
        """Moves every scalar to device memory; its value here is not a number."""
        groups = arguments.group_count
        scalars = [(arguments.lr[g], g) for g in range(groups)]
        scalars += [(arguments.wd[g], groups + g) for g in range(groups)]
        scalars.append((arguments.grad_scale, 2 * groups))
        memory = self.driver.allocate(4 * len(scalars))
        values = array.array("f", bytes(4 * len(scalars)))
        for scalar, index in scalars:
            values[index] = scalar.value
            scalar.value = math.nan
            scalar.pointer = c.cast(memory + 4 * index, c.POINTER(c.c_float))
            scalar.flags = 1
        self.driver.write(memory, values.tobytes())

    def device_step(self, entry="step", counter=False, placed=False, **options):
        """Hands a step over, waits for it and returns its report."""
        host = self.arguments(**options)
        if placed:
            self.place_scalars(host)
        arguments = StepArguments()
        c.memmove(c.byref(arguments), c.byref(host), c.sizeof(Arguments))
        for matrix in self.weights + self.gradients + self.states + self.updates:
            matrix.tensor.device = DLDevice(2, 0)
            matrix.tensor.data = self.there[id(matrix)]
        arguments.struct_size = c.sizeof(StepArguments)
        arguments.workspace = self.device_workspace
        arguments.workspace_bytes = self.opened.workspace_bytes
        arguments.device = self.opened.device
        arguments.report = self.device_report
        arguments.step_counter = self.device_counter if counter else None
        code = self.call(entry, arguments)
        assert code == OK, f"{entry} returned {code}: {self.said}{self.driver.report()}"
        self.driver.wait()
        return Report.from_buffer_copy(
            self.driver.read(self.device_report, c.sizeof(Report)))
