#!/usr/bin/env python3
"""Times every kernel of an artefact on a GPU: gpu_report.py FOLDER TIMER [--steps N].

FOLDER is what steepc wrote, TIMER the library made of CudaTimer.c. Prints one table: the
shortest time of each kernel, what it moves and computes a second, and how much that is of
what the card can do. Byte rate: a copy inside the device, measured; FLOP rate: FP32
multiply-adds of all lanes at the highest clock. Updates of PyTorch and a row kernel of Triton follow
where those are installed."""

import argparse
import ctypes as c
import os
import random
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../test/Execution/SIMT/Inputs"))
from artefact_device import *


def attribute(driver, number):
    value = c.c_int()
    code = driver.library.cuDeviceGetAttribute(c.byref(value), c.c_int(number), c.c_int(0))
    return value.value if code == 0 else 0


class Card:
    """Name and limits."""

    def __init__(self, driver, copy_bytes):
        name = c.create_string_buffer(256)
        driver.call("cuDeviceGetName", name, c.c_int(256), c.c_int(0))
        self.name = name.value.decode()
        processors, kilohertz = attribute(driver, 16), attribute(driver, 13)
        self.flops = processors * 128 * 2 * kilohertz * 1e3
        self.bytes = self.copy_rate(driver, copy_bytes)

    @staticmethod
    def copy_rate(driver, size):
        """Bytes a second, read and written."""
        one, two = driver.allocate(size), driver.allocate(size)
        begin, end = c.c_void_p(), c.c_void_p()
        driver.call("cuEventCreate", c.byref(begin), c.c_uint(0))
        driver.call("cuEventCreate", c.byref(end), c.c_uint(0))
        best = None
        for _ in range(10):
            milliseconds = c.c_float()
            driver.call("cuEventRecord", begin, None)
            driver.call("cuMemcpyDtoDAsync_v2", c.c_uint64(two), c.c_uint64(one),
                        c.c_size_t(size), None)
            driver.call("cuEventRecord", end, None)
            driver.call("cuEventSynchronize", end)
            driver.call("cuEventElapsedTime", c.byref(milliseconds), begin, end)
            best = min(best or milliseconds.value, milliseconds.value)
        for memory in (one, two):
            driver.call("cuMemFree_v2", c.c_uint64(memory))
        return 2 * size / (best * 1e-3) if best else 0


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))))


def part(value, limit):
    return f"{100 * value / limit:.0f}%" if limit else "-"


def kernels_of(manifest, target):
    for entry in manifest["gpu"]["targets"]:
        if entry["name"] == target:
            return {k["name"]: k for b in entry["batches"] for k in b["kernels"]}
    raise SystemExit(f"the manifest has no GPU target {target}")


def time_artefact(folder, timer_path, driver_path, steps, copy_bytes):
    os.environ["STEEP_TIMED_DRIVER"] = driver_path
    driver = Driver(driver_path)
    card = Card(driver, copy_bytes)
    timer = c.CDLL(timer_path)
    timer.steep_timer_name.restype = c.c_char_p
    timer.steep_timer_microseconds.restype = c.c_double
    plain = driver.path
    driver.path = timer_path
    artefact = DeviceArtefact(folder, driver)
    driver.path = plain
    generator = random.Random(1)
    for matrix in artefact.weights + artefact.gradients:
        row = [generator.gauss(0, 0.02) for _ in range(min(4096, matrix.rows * matrix.columns))]
        size = matrix.rows * matrix.columns
        matrix.set((row * (size // len(row) + 1))[:size])
    artefact.upload()
    for step in range(1, steps + 1):
        assert artefact.device_step(step=step, updates=False).code == OK
    target = artefact.opened.loaded_target.decode()
    image = ("", "cubin", "PTX", "bitcode")[artefact.opened.loaded_image]
    print(f"{card.name}: copies {card.bytes / 1e9:.0f} GB/s, FP32 at most "
          f"{card.flops / 1e12:.1f} TFLOP/s; {target} ({image}), best of {steps} steps")
    known = kernels_of(artefact.manifest, target)
    rows = [("kernel", "matrices", "us", "GB/s", "of copy", "GFLOP/s", "of FP32",
             "registers", "occupancy")]
    total = 0
    for i in range(timer.steep_timer_count()):
        name = timer.steep_timer_name(i).decode()
        matrices = timer.steep_timer_matrices(i)
        us = timer.steep_timer_microseconds(i)
        total += us
        entry = known.get(name)
        if not entry:
            rows.append((name, "", f"{us:.1f}", "", "", "", "", "", ""))
            continue
        seconds = max(us, 1e-3) * 1e-6
        moved, done = (entry[k] * matrices / seconds for k in ("bytes", "flops"))
        rows.append((name, str(matrices), f"{us:.1f}", f"{moved / 1e9:.0f}",
                     part(moved, card.bytes), f"{done / 1e9:.0f}", part(done, card.flops),
                     str(entry.get("registers", "-")),
                     f"{entry['occupancy']:.2f}" if "occupancy" in entry else "-"))
    rows.append(("all of the above, once each", "", f"{total:.1f}", "", "", "", "", "", ""))
    table(rows)
    artefact.close()
    return [p["shape"] for p in artefact.parameters]


def time_torch(shapes):
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: no comparison")
        return
    rows = [("PyTorch " + torch.__version__, "us")]

    def best(run, repeats=20):
        run()
        times = []
        for _ in range(repeats):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            run()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        return 1e3 * min(times)

    def parameters():
        made = [torch.nn.Parameter(torch.randn(s, device="cuda")) for s in shapes]
        for p in made:
            p.grad = torch.randn_like(p)
        return made

    rows.append(("AdamW(fused) of all", f"{best(torch.optim.AdamW(parameters(), fused=True).step):.1f}"))
    if hasattr(torch.optim, "Muon"):
        rows.append(("Muon of all (BF16)", f"{best(torch.optim.Muon(parameters()).step):.1f}"))
    head = max(shapes, key=lambda s: s[0] * s[1])
    w, g, b = (torch.randn(head, device="cuda") for _ in range(3))

    def rownorm():
        b.lerp_(g, 0.05)
        w.sub_(b / (b.norm(dim=1, keepdim=True) + 1e-8), alpha=0.01)

    rows.append((f"RowNorm {head[0]}x{head[1]}, eager", f"{best(rownorm):.1f}"))
    try:
        rows.append((f"RowNorm {head[0]}x{head[1]}, torch.compile", f"{best(torch.compile(rownorm)):.1f}"))
    except Exception as error:  # what it cannot compile is a result too
        rows.append((f"RowNorm, torch.compile: {type(error).__name__}", "-"))
    time_triton(rows, best, w, g, b)
    table(rows)


def time_triton(rows, best, w, g, b):
    try:
        import triton
        from gpu_report_triton import row_norm
    except ImportError:
        return
    grid = (w.shape[0],)
    size = triton.next_power_of_2(w.shape[1])
    us = best(lambda: row_norm[grid](w, g, b, w.shape[1], 0.01, 0.95, 1e-8, size, num_warps=1))
    rows.append((f"RowNorm, Triton {triton.__version__}", f"{us:.1f}"))


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("folder")
parser.add_argument("timer")
parser.add_argument("--driver", default="libcuda.so.1")
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--copy-mib", type=int, default=512)
options = parser.parse_args()
shapes = time_artefact(options.folder, options.timer, options.driver, options.steps,
                       options.copy_mib << 20)
if options.driver == "libcuda.so.1":
    time_torch(shapes)
