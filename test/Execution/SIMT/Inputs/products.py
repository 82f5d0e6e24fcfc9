"""Kernels with a matrix product: `products.py print` writes them as formed
kernels, `products.py run LIBRARY MODULE` runs them on the emulated GPU and
compares with plain loops in binary64. `run LIBRARY MODULE
PREFIX...` runs those whose names begin so."""

import sys

import kernel_device as dev

# m, n, k: whole tiles, tiles with edges, nothing that a vector divides.
SHAPES = [(64, 64, 96), (96, 160, 48), (33, 17, 50)]
GRAMS = [(128, 96), (96, 64), (33, 40)]
SQUARES = [96, 33]
# dot, type of the operands in memory; tile, warps, stages. Operands that are rounded on
# the way go through registers.
KINDS = {
    "ieee": ("ieee", "f32", (64, 64, 16), 2, 3),
    "rounding": ("bf16", "f32", (64, 64, 64), 4, 2),
    "bf16": ("bf16", "bf16", (64, 64, 64), 4, 3),
    "tf32x3": ("tf32x3", "f32", (64, 64, 16), 4, 3),
    "large": ("bf16", "bf16", (128, 128, 64), 8, 3),
}
DYNAMIC = {"large": 3 * 2 * 128 * 64 * 2}  # bytes of shared memory beyond 48 KiB
LIMITS = {"ieee": 1e-6, "bf16": 1e-2, "tf32x3": 5e-6}
SCALE = 0.5


def kernel(kind, name, shape, transposed, symmetric):
    """c <- SCALE c + a b. What is symmetric is made of one operand, or says so."""
    dot, operand, (tm, tn, tk), warps, stages = KINDS[kind]
    m, n, k = shape
    a = f"{k}x{m}x{operand}" if transposed else f"{m}x{k}x{operand}"
    b, c = f"{k}x{n}x{operand}", f"{m}x{n}xf32"
    read = "(k, m)" if transposed else "(m, k)"
    right = "%at" if symmetric == "gram" else "%bt"
    attribute = "{geo.symmetric} " if symmetric == "square" else ""
    maps = f"affine_map<(m, n, k) -> {read}>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>"
    lines = [
        f"func.func @{name}(%a: memref<{a}>, %b: memref<{b}>, %c: memref<{c}>, %s: f32) "
        f"attributes {{block.kernel, block.config = #block.config<tile = [{tm}, {tn}, {tk}], "
        f"warps = {warps}, stages = {stages}, dot = {dot}>}} {{",
        f"  %at = bufferization.to_tensor %a restrict : memref<{a}> to tensor<{a}>",
        f"  %bt = bufferization.to_tensor %b restrict : memref<{b}> to tensor<{b}>",
        f"  %ct = bufferization.to_tensor %c restrict writable : memref<{c}> to tensor<{c}>",
        "  %zero = arith.constant 0.0 : f32",
        f"  %e = tensor.empty() : tensor<{c}>",
        f"  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{c}>) -> tensor<{c}>",
        f"  %p = linalg.matmul indexing_maps = [{maps}] {attribute}"
        f"ins(%at, {right} : tensor<{a}>, tensor<{b}>) outs(%f : tensor<{c}>) -> tensor<{c}>",
        "  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, "
        'affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} '
        f"ins(%p : tensor<{c}>) outs(%ct : tensor<{c}>) {{",
        "  ^bb0(%x: f32, %o: f32):",
        "    %y = math.fma %s, %o, %x : f32",
        "    linalg.yield %y : f32",
        f"  }} -> tensor<{c}>",
        f"  bufferization.materialize_in_destination %r in restrict writable %c : (tensor<{c}>, memref<{c}>) -> ()",
        "  return",
        "}",
        "",
    ]
    return "\n".join(lines)


def cases():
    for kind in KINDS:
        if kind == "large":
            yield kind, "large_nn_160", (160, 144, 200), False, ""
            yield kind, "large_gram_144", (144, 144, 72), True, "gram"
            continue
        for shape in SHAPES:
            for transposed in (False, True):
                yield kind, f"{kind}_{'tn' if transposed else 'nn'}_{shape[0]}", shape, transposed, ""
        for m, k in GRAMS:
            yield kind, f"{kind}_gram_{m}", (m, m, k), True, "gram"
        for m in SQUARES:
            yield kind, f"{kind}_square_{m}", (m, m, m), False, "square"


def mirrored(numbers, m):
    """The symmetric matrix with this lower triangle."""
    return [numbers[max(i, j) * m + min(i, j)] for i in range(m) for j in range(m)]


def operands(shape, symmetric):
    m, n, k = shape
    a, b, c = (dev.normal(size, seed) for seed, size in enumerate((m * k, k * n, m * n)))
    if symmetric:
        c = mirrored(c, m)
    if symmetric == "gram":
        b = a
    if symmetric == "square":
        a = mirrored(a, m)
        # Commutes with a, but for rounding: a (2 - a).
        b = [2 * (i == j) - a[i * m + j] for i in range(m) for j in range(m)]
    return a, b, c


def run(gpu, module, case, worst):
    kind, name, (m, n, k), transposed, symmetric = case
    dot, operand, (tm, tn, _), warps, _ = KINDS[kind]
    a, b, c = operands((m, n, k), symmetric)
    down, across = -(-m // tm), -(-n // tn)
    grid = (down * (down + 1) // 2 if symmetric else down * across, 1, 1)
    make = dev.brain if operand == "bf16" else dev.Buffer
    buffers = [make(gpu, a), make(gpu, b), dev.Buffer(gpu, c), dev.Buffer(gpu, [SCALE])]
    gpu.launch(module, name, grid, warps, [*buffers, 0], DYNAMIC.get(kind, 0))
    left = [a[i::m] for i in range(m)] if transposed else [a[i * k : i * k + k] for i in range(m)]
    right = [b[j::n] for j in range(n)]
    wanted = [
        sum(x * y for x, y in zip(left[i], right[j])) + SCALE * c[i * n + j]
        for i in range(m)
        for j in range(n)
    ]
    got = buffers[2].read()
    error = dev.distance(got, wanted)
    if not error <= LIMITS[dot]:
        raise SystemExit(f"{name}: off by {error:.3g}, more than {LIMITS[dot]}")
    if symmetric and got != mirrored(got, m):
        raise SystemExit(f"{name}: not symmetric")
    worst[kind] = max(worst.get(kind, 0), error)


def main():
    if sys.argv[1] == "print":
        print("\n".join(kernel(*case) for case in cases()))
        return
    gpu = dev.Device(sys.argv[2])
    module = gpu.load(sys.argv[3])
    worst = {}
    prefixes = tuple(sys.argv[4:])
    for case in cases():
        if not prefixes or case[1].startswith(prefixes):
            run(gpu, module, case, worst)
    for kind, error in worst.items():
        print(f"{kind}: {error:.2g}")
    # Parts that are not there would show as a precision of bf16 or tf32.
    assert prefixes or (worst["bf16"] > 1e-4 and worst["tf32x3"] < 5e-6)


main()
