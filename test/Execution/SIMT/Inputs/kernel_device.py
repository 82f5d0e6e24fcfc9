"""The emulated GPU through the CUDA driver API: arrays, kernels, launches."""

import array
import ctypes
import random


class Device:
    def __init__(self, library):
        self.lib = ctypes.CDLL(library)
        self.lib.steepSimtReport.restype = ctypes.c_char_p
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *args):
        status = getattr(self.lib, name)(*args)
        if status != 0:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorString(status, ctypes.byref(text))
            raise SystemExit(f"{name}: {text.value} {self.lib.steepSimtReport()}")

    def load(self, path):
        with open(path, "rb") as file:
            image = file.read()
        module = ctypes.c_void_p()
        buffer = ctypes.create_string_buffer(image, len(image) + 1)
        self.call("cuModuleLoadData", ctypes.byref(module), buffer)
        return module

    def launch(self, module, name, grid, warps, args, shared=0):
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if shared > 48 * 1024:
            most_dynamic_shared = 8
            self.call("cuFuncSetAttribute", function, most_dynamic_shared, shared)
        values = [ctypes.c_uint64(a.address if isinstance(a, Buffer) else a) for a in args]
        pointers = (ctypes.c_void_p * len(values))(
            *[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values]
        )
        self.call("cuLaunchKernel", function, *grid, 32, warps, 1, shared, None, pointers, None)
        self.call("cuCtxSynchronize")


class Buffer:
    """Numbers on the device; `kind` as in the module array."""

    def __init__(self, device, numbers, kind="f"):
        self.device, self.host = device, array.array(kind, numbers)
        address = ctypes.c_uint64()
        device.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(self.bytes()))
        self.address = address.value
        device.call("cuMemcpyHtoD_v2", address, self.at(), ctypes.c_size_t(self.bytes()))

    def bytes(self):
        return len(self.host) * self.host.itemsize

    def at(self):
        return ctypes.c_void_p(self.host.buffer_info()[0])

    def read(self):
        address = ctypes.c_uint64(self.address)
        self.device.call("cuMemcpyDtoH_v2", self.at(), address, ctypes.c_size_t(self.bytes()))
        return list(self.host)


def brain(device, numbers):
    """A buffer of the numbers in bf16, rounded to nearest, ties to even."""
    bits = array.array("I", array.array("f", numbers).tobytes())
    return Buffer(device, [(x + 0x7FFF + (x >> 16 & 1)) >> 16 for x in bits], "H")


def normal(count, seed, scale=1.0):
    """Numbers that are exact in binary32."""
    source = random.Random(seed)
    return list(array.array("f", (scale * source.gauss(0, 1) for _ in range(count))))


def distance(got, wanted):
    """Relative, in the norm of all; no number is NaN."""
    gap = sum((x - y) ** 2 for x, y in zip(got, wanted)) ** 0.5
    size = sum(y * y for y in wanted) ** 0.5
    if not gap == gap:
        return float("inf")
    return gap / size if size else gap
