"""Kernels with a matrix product: `products.py print` writes them as formed
kernels, `products.py run LIBRARY MODULE` runs them on the emulated GPU and
compares with plain loops in binary64."""

import sys

import kernel_device as dev

# m, n, k: whole tiles, tiles with edges, nothing that a vector divides.
SHAPES = [(64, 64, 96), (96, 160, 48), (33, 17, 50)]
GRAMS = [(128, 96), (96, 64), (33, 40)]
TILES = {"ieee": ((64, 64, 16), 2), "bf16": ((64, 64, 32), 4), "tf32x3": ((64, 64, 16), 4)}
LIMITS = {"ieee": 1e-6, "bf16": 1e-2, "tf32x3": 5e-6}
SCALE = 0.5


def kernel(name, dot, shape, transposed, gram):
    m, n, k = shape
    (tm, tn, tk), warps = TILES[dot]
    a = f"{k}x{m}xf32" if transposed else f"{m}x{k}xf32"
    b, c = f"{k}x{n}xf32", f"{m}x{n}xf32"
    read = "(k, m)" if transposed else "(m, k)"
    right = "%at" if gram else "%bt"
    maps = f"affine_map<(m, n, k) -> {read}>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>"
    lines = [
        f"func.func @{name}(%a: memref<{a}>, %b: memref<{b}>, %c: memref<{c}>, %s: f32) "
        f"attributes {{block.kernel, block.config = #block.config<tile = [{tm}, {tn}, {tk}], "
        f"warps = {warps}, stages = 2, dot = {dot}>}} {{",
        f"  %at = bufferization.to_tensor %a restrict : memref<{a}> to tensor<{a}>",
        f"  %bt = bufferization.to_tensor %b restrict : memref<{b}> to tensor<{b}>",
        f"  %ct = bufferization.to_tensor %c restrict writable : memref<{c}> to tensor<{c}>",
        "  %zero = arith.constant 0.0 : f32",
        f"  %e = tensor.empty() : tensor<{c}>",
        f"  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{c}>) -> tensor<{c}>",
        f"  %p = linalg.matmul indexing_maps = [{maps}] "
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
    for dot in TILES:
        for shape in SHAPES:
            for transposed in (False, True):
                yield f"{dot}_{'tn' if transposed else 'nn'}_{shape[0]}", dot, shape, transposed, False
        for m, k in GRAMS:
            yield f"{dot}_gram_{m}", dot, (m, m, k), True, True


def run(gpu, module, case, worst):
    name, dot, (m, n, k), transposed, gram = case
    a, b, c = (dev.normal(size, seed) for seed, size in enumerate((m * k, k * n, m * n)))
    if gram:
        b = a
    (tm, tn, _), warps = TILES[dot]
    down, across = -(-m // tm), -(-n // tn)
    grid = (down * (down + 1) // 2 if gram else down * across, 1, 1)
    buffers = [dev.Buffer(gpu, x) for x in (a, b, c, [SCALE])]
    gpu.launch(module, name, grid, warps, [*buffers, 0])
    left = [a[i::m] for i in range(m)] if transposed else [a[i * k : i * k + k] for i in range(m)]
    right = [b[j::n] for j in range(n)]
    wanted = [
        sum(x * y for x, y in zip(left[i], right[j])) + SCALE * c[i * n + j]
        for i in range(m)
        for j in range(n)
    ]
    error = dev.distance(buffers[2].read(), wanted)
    if not error <= LIMITS[dot]:
        raise SystemExit(f"{name}: off by {error:.3g}, more than {LIMITS[dot]}")
    worst[dot] = max(worst.get(dot, 0), error)


def main():
    if sys.argv[1] == "print":
        print("\n".join(kernel(*case) for case in cases()))
        return
    gpu = dev.Device(sys.argv[2])
    module = gpu.load(sys.argv[3])
    worst = {}
    for case in cases():
        run(gpu, module, case, worst)
    for dot, error in worst.items():
        print(f"{dot}: {error:.2g}")
    # Parts that are not there would show as a precision of bf16 or tf32.
    assert worst["bf16"] > 1e-4 and worst["tf32x3"] < 5e-6


main()
