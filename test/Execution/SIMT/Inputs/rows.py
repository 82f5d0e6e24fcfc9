"""Kernels that own rows: `rows.py print` writes them as formed kernels,
`rows.py run LIBRARY MODULE` runs them on the emulated GPU and compares with
plain loops in binary64."""

import math
import sys

import kernel_device as dev

BETA, EPS = 0.95, 1e-8
# Whole vectors, tails of vectors of 4, 2 and 1, several rows a warp, rows that
# warps share.
SHAPES = [(6, 512), (9, 40), (7, 33), (5, 130), (3, 4100), (2, 4099)]
CONFIGS = {512: (4, 4), 40: (8, 2), 33: (4, 4), 130: (1, 1), 4100: (1, 8), 4099: (1, 4)}


def kernel(name, shape, arguments, body, results):
    """A formed kernel: `arguments` are (name, type) with types as memrefs of the
    shape, `results` are (value, argument)."""
    m, n = shape
    rows, warps = CONFIGS[n]
    types = {"matrix": f"{m}x{n}xf32", "rows64": f"{m}xf64"}
    written = [to for _, to in results]
    full = ", ".join(
        f"%{a}: memref<{types[t]}>" if t in types else f"%{a}: {t}" for a, t in arguments
    )
    lines = [
        f"func.func @{name}_{m}_{n}({full}) attributes {{block.kernel, "
        f"block.config = #block.config<rows = {rows}, warps = {warps}>}} {{"
    ]
    for a, t in arguments:
        if t == "matrix":
            flag = " writable" if a in written else ""
            lines.append(
                f"  %{a}t = bufferization.to_tensor %{a} restrict{flag} : "
                f"memref<{types[t]}> to tensor<{types[t]}>"
            )
    lines += ["  " + line.replace("MATRIX", f"tensor<{types['matrix']}>") for line in body]
    of = dict(arguments)
    for value, to in results:
        t = types[of[to]]
        lines.append(
            f"  bufferization.materialize_in_destination {value} in restrict writable %{to} : "
            f"(tensor<{t}>, memref<{t}>) -> ()"
        )
    return "\n".join(lines + ["  return", "}", ""])


def kernels():
    for shape in SHAPES:
        yield kernel(
            "rownorm",
            shape,
            [("u", "matrix"), ("g", "matrix"), ("b", "matrix"), ("s", "matrix"),
             ("clip", "f32"), ("lr", "f32"), ("wd", "f32"), ("t", "i64")],
            ["%gc = geo.scale %gt, %clip : MATRIX",
             "%b1 = geo.ema %bt, %gc {beta = 0.95} : MATRIX",
             "%c = geo.correct_bias %b1, %t {beta = 0.95} : MATRIX",
             "%s1 = geo.max_row %c radius(%lr) {eps = 1.0e-8} : MATRIX",
             "%u1 = geo.apply %ut, %s1 decay(%lr, %wd) : MATRIX"],
            [("%b1", "b"), ("%u1", "u"), ("%s1", "s")],
        )
        yield kernel(
            "momentum",
            shape,
            [("g", "matrix"), ("b", "matrix"), ("n", "matrix"), ("q", "rows64")],
            ["%b1, %n1 = geo.momentum %bt, %gt {beta = 0.95, nesterov} : MATRIX",
             "%q1 = geo.row_squares %n1 : MATRIX"],
            [("%b1", "b"), ("%n1", "n"), ("%q1", "q")],
        )
        yield kernel(
            "adamw",
            shape,
            [("u", "matrix"), ("g", "matrix"), ("m", "matrix"), ("v", "matrix"),
             ("lr", "f32"), ("wd", "f32"), ("t", "i64")],
            ["%s, %m1, %v1 = geo.adamw %mt, %vt, %gt lr(%lr) step(%t) "
             "{beta1 = 0.9, beta2 = 0.999, eps = 1.0e-10} : MATRIX",
             "%u1 = geo.apply %ut, %s decay(%lr, %wd) : MATRIX"],
            [("%u1", "u"), ("%m1", "m"), ("%v1", "v")],
        )


def matrix(shape, seed, sizes=()):
    """Random numbers; row i is `sizes[i]` times as large."""
    m, n = shape
    numbers = dev.normal(m * n, seed)
    for row, size in enumerate(sizes[:m]):
        numbers[row * n : (row + 1) * n] = [size * x for x in numbers[row * n : (row + 1) * n]]
    return numbers


class Run:
    def __init__(self, library, path):
        self.gpu = dev.Device(library)
        self.module = self.gpu.load(path)
        self.worst = {}

    def buffers(self, *arrays):
        return [dev.Buffer(self.gpu, a, kind) for a, kind in arrays]

    def launch(self, name, shape, args):
        m, n = shape
        rows, warps = CONFIGS[n]
        grid = (-(-m // rows), 1, 1)
        self.gpu.launch(self.module, f"{name}_{m}_{n}", grid, warps, [*args, 0])

    def check(self, what, got, wanted, limit):
        error = dev.distance(got, wanted)
        self.worst[what] = max(self.worst.get(what, 0), error)
        if not error <= limit:
            raise SystemExit(f"{what}: off by {error:.3g}, more than {limit}")


def row_norm(run, shape):
    """Rows of ordinary size, tiny, huge and zero; each is checked by itself."""
    m, n = shape
    sizes = [1.0, 1e-20, 1e20, 0.0, 1e-30, 3.0]
    clip, lr, wd, t = dev.array.array("f", [0.5, 0.01, 0.1]).tolist() + [3]
    u, g = matrix(shape, 1), matrix(shape, 2, sizes)
    b = matrix(shape, 3, sizes)
    bu, bg, bb, bs, *scalars = run.buffers(
        (u, "f"), (g, "f"), (b, "f"), ([0.0] * (m * n), "f"),
        ([clip], "f"), ([lr], "f"), ([wd], "f"), ([t], "q"))
    g, b = list(bg.host), list(bb.host)
    run.launch("rownorm", shape, [bu, bg, bb, bs, *scalars])
    nu, nb, ns = bu.read(), bb.read(), bs.read()
    for row in range(m):
        part = slice(row * n, (row + 1) * n)
        b1 = [BETA * x + (1 - BETA) * clip * y for x, y in zip(b[part], g[part])]
        c = [x / (1 - BETA**t) for x in b1]
        norm = math.sqrt(math.fsum(x * x for x in c))
        s = [-lr * x / (norm + EPS) for x in c]
        run.check("momentum of row norm", nb[part], b1, 1e-6)
        run.check("increment of row norm", ns[part], s, 1e-5)
        run.check("weight of row norm", nu[part],
                  [x * (1 - lr * wd) + y for x, y in zip(u[part], s)], 1e-6)


def momentum(run, shape):
    m, n = shape
    sizes = [1.0, 1e-20, 1e20, 0.0]
    g, b = matrix(shape, 4, sizes), matrix(shape, 5, sizes)
    bg, bb, bn, bq = run.buffers((g, "f"), (b, "f"), ([0.0] * (m * n), "f"), ([7.0] * m, "d"))
    g, b = list(bg.host), list(bb.host)
    run.launch("momentum", shape, [bg, bb, bn, bq])
    nb, nn, nq = bb.read(), bn.read(), bq.read()
    for row in range(m):
        part = slice(row * n, (row + 1) * n)
        b1 = [BETA * x + y for x, y in zip(b[part], g[part])]
        look = [BETA * x + y for x, y in zip(b1, g[part])]
        run.check("momentum", nb[part], b1, 1e-6)
        run.check("look-ahead", nn[part], look, 1e-6)
        run.check("squares", [nq[row]], [math.fsum(x * x for x in look)], 2e-6)


def adamw(run, shape):
    m, n = shape
    lr, wd, t = dev.array.array("f", [0.01, 0.1]).tolist() + [5]
    u, g, mm = matrix(shape, 6), matrix(shape, 7), matrix(shape, 8)
    v = [x * x for x in matrix(shape, 9)]
    bu, bg, bm, bv, *scalars = run.buffers(
        (u, "f"), (g, "f"), (mm, "f"), (v, "f"), ([lr], "f"), ([wd], "f"), ([t], "q"))
    v = list(bv.host)
    run.launch("adamw", shape, [bu, bg, bm, bv, *scalars])
    m1 = [0.9 * x + 0.1 * y for x, y in zip(mm, g)]
    v1 = [0.999 * x + 0.001 * y * y for x, y in zip(v, g)]
    s = [-lr * x / (1 - 0.9**t) / (math.sqrt(y / (1 - 0.999**t)) + 1e-10)
         for x, y in zip(m1, v1)]
    run.check("adamw's first average", bm.read(), m1, 1e-6)
    run.check("adamw's second average", bv.read(), v1, 1e-6)
    run.check("weight of adamw", bu.read(),
              [x * (1 - lr * wd) + y for x, y in zip(u, s)], 1e-6)


def main():
    if sys.argv[1] == "print":
        print("\n".join(kernels()))
        return
    run = Run(*sys.argv[2:4])
    for shape in SHAPES:
        for test in (row_norm, momentum, adamw):
            test(run, shape)
    for what, error in run.worst.items():
        print(f"{what}: {error:.2g}")


main()
