"""Writes kernels of every kind for many shapes, and the table that runs them.

usage: kernels.py KINDS LANES OUT.mlir OUT.inc
KINDS is a comma-separated list of functions below; LANES 4, 8 or 16 chooses the
register tile of products, as block-select-config does.
"""

import sys

SHAPES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 97]
ID = "affine_map<(i, j) -> (i, j)>"
TRANSPOSED = "affine_map<(i, j) -> (j, i)>"
ROW = "affine_map<(i, j) -> (i)>"
COLUMN = "affine_map<(i, j) -> (j)>"
NONE = "affine_map<(i, j) -> ()>"
PP = 'iterator_types = ["parallel", "parallel"]'
PR = 'iterator_types = ["parallel", "reduction"]'


def tensor(name, type, memory, writable=False):
    shape = type.replace("memref", "tensor")
    flag = " writable" if writable else ""
    return (f"  %{name} = bufferization.to_tensor %{memory} restrict{flag} "
            f": {type} to {shape}\n")


def store(value, type, memory):
    shape = type.replace("memref", "tensor")
    return (f"  bufferization.materialize_in_destination %{value} in restrict "
            f"writable %{memory} : ({shape}, {type}) -> ()\n")


def kernel(name, args, config, body):
    args = ", ".join(f"%{n}: {t}" for n, t in args)
    return (f"func.func @{name}({args}) attributes {{block.kernel, "
            f"block.config = #block.config<{config}>}} {{\n{body}  return\n}}\n")


def rownorm(m, n, rows=1):
    t, mt = f"tensor<{m}x{n}xf32>", f"memref<{m}x{n}xf32>"
    body = tensor("g", mt, "G") + tensor("b", mt, "B") + tensor("w", mt, "W")
    body += f"""
  %beta = arith.constant 0.95 : f32
  %rest = arith.constant 0.05 : f32
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f64
  %eps = arith.constant 1.0e-8 : f64
  %lrwd = arith.mulf %lr, %wd : f32
  %decay = arith.subf %one, %lrwd : f32
  %minus = arith.negf %lr : f32
  %b1 = linalg.generic {{indexing_maps = [{ID}, {ID}], {PP}}}
      ins(%g : {t}) outs(%b : {t}) {{
    ^bb0(%x: f32, %y: f32):
      %s = arith.mulf %rest, %x : f32
      %z = math.fma %beta, %y, %s : f32
      linalg.yield %z : f32
  }} -> {t}
  %e = tensor.empty() : tensor<{m}xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<{m}xf64>) -> tensor<{m}xf64>
  %sq = linalg.generic {{indexing_maps = [{ID}, {ROW}], {PR}}}
      ins(%b1 : {t}) outs(%f : tensor<{m}xf64>) {{
    ^bb0(%x: f32, %acc: f64):
      %x64 = arith.extf %x : f32 to f64
      %z = math.fma %x64, %x64, %acc : f64
      linalg.yield %z : f64
  }} -> tensor<{m}xf64>
  %es = tensor.empty() : {t}
  %s0 = linalg.generic {{indexing_maps = [{ID}, {ROW}, {ID}], {PP}}}
      ins(%b1, %sq : {t}, tensor<{m}xf64>) outs(%es : {t}) {{
    ^bb0(%x: f32, %q: f64, %o: f32):
      %r = math.sqrt %q : f64
      %re = arith.addf %r, %eps : f64
      %r32 = arith.truncf %re : f64 to f32
      %d = arith.divf %x, %r32 : f32
      %z = arith.mulf %minus, %d : f32
      linalg.yield %z : f32
  }} -> {t}
  %w1 = linalg.generic {{indexing_maps = [{ID}, {ID}], {PP}}}
      ins(%s0 : {t}) outs(%w : {t}) {{
    ^bb0(%x: f32, %y: f32):
      %z = math.fma %y, %decay, %x : f32
      linalg.yield %z : f32
  }} -> {t}
"""
    body += store("b1", mt, "B") + store("w1", mt, "W") + store("s0", mt, "S")
    return kernel(f"rownorm{rows}_{m}_{n}",
                  [("G", mt), ("B", mt), ("W", mt), ("S", mt), ("lr", "f32"), ("wd", "f32")],
                  f"rows = {rows}, chunk = 16", body)


def rownorm4(m, n):
    return rownorm(m, n, 4)


def momentum(m, n):
    t, mt = f"tensor<{m}x{n}xf32>", f"memref<{m}x{n}xf32>"
    body = tensor("g", mt, "G") + tensor("b", mt, "B")
    body += f"""
  %beta = arith.constant 0.95 : f32
  %zero = arith.constant 0.0 : f64
  %eb = tensor.empty() : {t}
  %b1, %n = linalg.generic {{indexing_maps = [{ID}, {ID}, {ID}, {ID}], {PP}}}
      ins(%b, %g : {t}, {t}) outs(%eb, %eb : {t}, {t}) {{
    ^bb0(%y: f32, %x: f32, %o0: f32, %o1: f32):
      %z = math.fma %beta, %y, %x : f32
      %v = math.fma %beta, %z, %x : f32
      linalg.yield %z, %v : f32, f32
  }} -> ({t}, {t})
  %e = tensor.empty() : tensor<{m}xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<{m}xf64>) -> tensor<{m}xf64>
  %sq = linalg.generic {{indexing_maps = [{ID}, {ROW}], {PR}}}
      ins(%n : {t}) outs(%f : tensor<{m}xf64>) {{
    ^bb0(%x: f32, %acc: f64):
      %x64 = arith.extf %x : f32 to f64
      %x2 = arith.mulf %x64, %x64 : f64
      %z = arith.addf %acc, %x2 : f64
      linalg.yield %z : f64
  }} -> tensor<{m}xf64>
"""
    body += store("b1", mt, "B") + store("n", mt, "N") + store("sq", f"memref<{m}xf64>", "Q")
    return kernel(f"momentum_{m}_{n}", [("G", mt), ("B", mt), ("N", mt), ("Q", f"memref<{m}xf64>")],
                  "rows = 3", body)


def norm(m, n):
    """Frobenius norm from the squares of m rows: 1/(sqrt(sum) + eps)."""
    body = tensor("q", f"memref<{m}xf64>", "Q") + f"""
  %zero = arith.constant 0.0 : f64
  %eps = arith.constant 1.0e-5 : f64
  %one = arith.constant 1.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %sum = linalg.reduce ins(%q : tensor<{m}xf64>) outs(%f : tensor<f64>) dimensions = [0]
    (%x: f64, %acc: f64) {{
      %z = arith.addf %acc, %x : f64
      linalg.yield %z : f64
    }}
  %e32 = tensor.empty() : tensor<f32>
  %inv = linalg.generic {{indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}}
      ins(%sum : tensor<f64>) outs(%e32 : tensor<f32>) {{
    ^bb0(%x: f64, %o: f32):
      %r = math.sqrt %x : f64
      %re = arith.addf %r, %eps : f64
      %i = arith.divf %one, %re : f64
      %z = arith.truncf %i : f64 to f32
      linalg.yield %z : f32
  }} -> tensor<f32>
""" + store("inv", "memref<f32>", "I")
    return kernel(f"norm_{m}_{n}", [("Q", f"memref<{m}xf64>"), ("I", "memref<f32>")], "rows = 1", body)


def up(x):
    return (x + 31) // 32 * 32


def pack(m, n):
    """X = N * inv, tall (transposed if N is wide), zero-padded."""
    big, small = max(m, n), min(m, n)
    t, mt = f"tensor<{m}x{n}xf32>", f"memref<{m}x{n}xf32>"
    x = f"tensor<{big}x{small}xf32>"
    p, mp = f"tensor<{up(big)}x{up(small)}xf32>", f"memref<{up(big)}x{up(small)}xf32>"
    body = tensor("n", mt, "N") + tensor("i", "memref<f32>", "I") + f"""
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {x}
  %s = linalg.generic {{indexing_maps = [{TRANSPOSED if m < n else ID}, {NONE}, {ID}], {PP}}}
      ins(%n, %i : {t}, tensor<f32>) outs(%e : {x}) {{
    ^bb0(%a: f32, %b: f32, %o: f32):
      %z = arith.mulf %a, %b : f32
      linalg.yield %z : f32
  }} -> {x}
  %ep = tensor.empty() : {p}
  %f = linalg.fill ins(%zero : f32) outs(%ep : {p}) -> {p}
  %x = tensor.insert_slice %s into %f[0, 0] [{big}, {small}] [1, 1] : {x} into {p}
""" + store("x", mp, "X")
    return kernel(f"pack_{m}_{n}", [("N", mt), ("I", "memref<f32>"), ("X", mp)], "rows = 2", body)


def unpack(m, n):
    """W = fma(W, decay, -r X), X padded and transposed back if W is wide; S too."""
    big, small = max(m, n), min(m, n)
    t, mt = f"tensor<{m}x{n}xf32>", f"memref<{m}x{n}xf32>"
    x = f"tensor<{big}x{small}xf32>"
    p, mp = f"tensor<{up(big)}x{up(small)}xf32>", f"memref<{up(big)}x{up(small)}xf32>"
    body = tensor("w", mt, "W") + tensor("xp", mp, "X") + f"""
  %one = arith.constant 1.0 : f32
  %lrwd = arith.mulf %lr, %wd : f32
  %decay = arith.subf %one, %lrwd : f32
  %minus = arith.negf %lr : f32
  %x = tensor.extract_slice %xp[0, 0] [{big}, {small}] [1, 1] : {p} to {x}
  %e = tensor.empty() : {t}
  %s0 = linalg.generic {{indexing_maps = [{TRANSPOSED if m < n else ID}, {ID}], {PP}}}
      ins(%x : {x}) outs(%e : {t}) {{
    ^bb0(%a: f32, %o: f32):
      %z = arith.mulf %minus, %a : f32
      linalg.yield %z : f32
  }} -> {t}
  %w1 = linalg.generic {{indexing_maps = [{ID}, {ID}], {PP}}}
      ins(%s0 : {t}) outs(%w : {t}) {{
    ^bb0(%a: f32, %y: f32):
      %z = math.fma %y, %decay, %a : f32
      linalg.yield %z : f32
  }} -> {t}
""" + store("w1", mt, "W") + store("s0", mt, "S")
    return kernel(f"unpack_{m}_{n}", [("X", mp), ("W", mt), ("S", mt), ("lr", "f32"), ("wd", "f32")],
                  "rows = 3", body)


MICRO = {16: (8, 32), 8: (4, 16), 4: (4, 8)}


def product_config():
    i, j = MICRO[LANES]
    return f"tile = [{4 * i}, {2 * j}], micro = [{i}, {j}], lanes = {LANES}"


def matmul(name, m, n, transposed):
    """P = A B or A^T B with depth k, then Z = 2 C + 3 P, C and P of one shape."""
    k = DEPTHS[(m * 31 + n) % len(DEPTHS)]
    a = f"{k}x{m}" if transposed else f"{m}x{k}"
    ta, ma = f"tensor<{a}xf32>", f"memref<{a}xf32>"
    tb, mb = f"tensor<{k}x{n}xf32>", f"memref<{k}x{n}xf32>"
    t, mt = f"tensor<{m}x{n}xf32>", f"memref<{m}x{n}xf32>"
    maps = ""
    if transposed:
        maps = ("indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, "
                "affine_map<(i, j, k) -> (i, j)>] ")
    body = tensor("a", ma, "A") + tensor("b", mb, "B") + tensor("c", mt, "C") + f"""
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %e = tensor.empty() : {t}
  %f = linalg.fill ins(%zero : f32) outs(%e : {t}) -> {t}
  %p = linalg.matmul {maps}ins(%a, %b : {ta}, {tb}) outs(%f : {t}) -> {t}
  %z = linalg.generic {{indexing_maps = [{ID}, {ID}], {PP}}}
      ins(%p : {t}) outs(%c : {t}) {{
    ^bb0(%x: f32, %y: f32):
      %x3 = arith.mulf %three, %x : f32
      %z0 = math.fma %two, %y, %x3 : f32
      linalg.yield %z0 : f32
  }} -> {t}
""" + store("z", mt, "C") + (store("p", mt, "P") if not transposed else "")
    args = [("A", ma), ("B", mb), ("C", mt)] + ([("P", mt)] if not transposed else [])
    return kernel(f"{name}_{m}_{n}", args, product_config(), body)


DEPTHS = [1, 4, 7, 32, 33, 64]


def matmul_nn(m, n):
    return matmul("matmul_nn", m, n, False)


def matmul_tn(m, n):
    return matmul("matmul_tn", m, n, True)


def product_deep(m, n):
    """P = A^T B in place of garbage, its sums cut into slabs of 8 terms."""
    k = DEPTHS[(m * 31 + n) % len(DEPTHS)]
    ta, ma = f"tensor<{k}x{m}xf32>", f"memref<{k}x{m}xf32>"
    tb, mb = f"tensor<{k}x{n}xf32>", f"memref<{k}x{n}xf32>"
    t, mt = f"tensor<{m}x{n}xf32>", f"memref<{m}x{n}xf32>"
    body = tensor("a", ma, "A") + tensor("b", mb, "B") + f"""
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {t}
  %f = linalg.fill ins(%zero : f32) outs(%e : {t}) -> {t}
  %p = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, {ID.replace("(i, j)", "(i, j, k)", 1)}]
      ins(%a, %b : {ta}, {tb}) outs(%f : {t}) -> {t}
""" + store("p", mt, "P")
    config = product_config().replace("], micro", ", 8], micro")
    return kernel(f"product_deep_{m}_{n}", [("A", ma), ("B", mb), ("P", mt)], config, body)


def panels(m, n):
    """The memory of an m x n matrix in panels as wide as the register tile."""
    width = MICRO[LANES][1]
    return f"memref<{-(-n // width)}x{m}x{width}xf32>"


LAYOUT = "outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [{}]"


def unpack_panels(name, m, n, memory):
    """The matrix whose panels are an argument."""
    p = panels(m, n).replace("memref", "tensor")
    return (tensor(f"{name}_panels", panels(m, n), memory) + f"""
  %{name}_empty = tensor.empty() : tensor<{m}x{n}xf32>
  %{name} = linalg.unpack %{name}_panels {LAYOUT.format(MICRO[LANES][1])}
      into %{name}_empty : {p} -> tensor<{m}x{n}xf32>
""")


def pack_panels(name, m, n, memory):
    """Stores a matrix as panels."""
    p = panels(m, n).replace("memref", "tensor")
    return f"""
  %{name}_poison = ub.poison : f32
  %{name}_into = tensor.empty() : {p}
  %{name}_packed = linalg.pack %{name} padding_value(%{name}_poison : f32) {LAYOUT.format(MICRO[LANES][1])}
      into %{name}_into : tensor<{m}x{n}xf32> -> {p}
""" + store(f"{name}_packed", panels(m, n), memory)


def panel_product(name, m, n, left, right, transposed, symmetric):
    """P = L R or L^T R with slabs of 8 terms, as panels, and Z = 3 P."""
    k = DEPTHS[(m * 31 + n) % len(DEPTHS)]
    a = (k, m) if transposed else (m, k)
    t, mt = f"tensor<{m}x{n}xf32>", f"memref<{m}x{n}xf32>"
    maps = ", ".join(f"affine_map<(i, j, k) -> {r}>" for r in
                     ("(k, i)" if transposed else "(i, k)", "(k, j)", "(i, j)"))
    mark = " {geo.symmetric}" if symmetric else ""
    ta, tb = f"tensor<{a[0]}x{a[1]}xf32>", f"tensor<{k}x{n}xf32>"
    args = [("A", panels(*a))] + ([] if left == right else [("B", panels(k, n))])
    body = unpack_panels(left, *a, "A")
    if left != right:
        body += unpack_panels(right, k, n, "B")
    body += f"""
  %zero = arith.constant 0.0 : f32
  %three = arith.constant 3.0 : f32
  %e = tensor.empty() : {t}
  %f = linalg.fill ins(%zero : f32) outs(%e : {t}) -> {t}
  %p = linalg.matmul indexing_maps = [{maps}]{mark} ins(%{left}, %{right} : {ta}, {tb}) outs(%f : {t}) -> {t}
  %z = linalg.generic {{indexing_maps = [{ID}, {ID}], {PP}}} ins(%p : {t}) outs(%e : {t}) {{
    ^bb0(%x: f32, %y: f32):
      %x3 = arith.mulf %three, %x : f32
      linalg.yield %x3 : f32
  }} -> {t}
""" + pack_panels("p", m, n, "P") + store("z", mt, "Z")
    config = product_config().replace("], micro", ", 8], micro")
    return kernel(f"{name}_{m}_{n}", args + [("P", panels(m, n)), ("Z", mt)], config, body)


def panel_nn(m, n):
    return panel_product("panel_nn", m, n, "a", "b", False, False)


def panel_tn(m, n):
    return panel_product("panel_tn", m, n, "a", "b", True, False)


def panel_symmetric(m, n):
    """P = A^T A, of which one triangle is computed."""
    return panel_product("panel_symmetric", n, n, "a", "a", True, True).replace(
        f"@panel_symmetric_{n}_{n}(", f"@panel_symmetric_{m}_{n}(")


def panel_transpose(m, n):
    """Y = c X^T from panels to rows, Z = c W^T from rows to panels."""
    t, mt, mw = f"tensor<{m}x{n}xf32>", f"memref<{m}x{n}xf32>", f"memref<{n}x{m}xf32>"
    body = unpack_panels("x", n, m, "X") + tensor("w", mw, "W")
    for source, result in (("x", "y"), ("w", "z")):
        body += f"""
  %{result}_into_rows = tensor.empty() : {t}
  %{result} = linalg.generic {{indexing_maps = [{TRANSPOSED}, {ID}], {PP}}}
      ins(%{source} : tensor<{n}x{m}xf32>) outs(%{result}_into_rows : {t}) {{
    ^bb0(%a: f32, %o: f32):
      %s = arith.mulf %c, %a : f32
      linalg.yield %s : f32
  }} -> {t}
"""
    body += store("y", mt, "Y") + pack_panels("z", m, n, "Z")
    args = [("X", panels(n, m)), ("W", mw), ("Y", mt), ("Z", panels(m, n)), ("c", "f32")]
    return kernel(f"panel_transpose_{m}_{n}", args, f"rows = 16, lanes = {LANES}", body)


def bf16_panels(m, n, pairs):
    """The memory of an m x n matrix of BF16 in panels, its rows in pairs or not."""
    width = MICRO[LANES][1]
    return (f"memref<{-(-n // width)}x{-(-m // 2)}x{width}x2xbf16>" if pairs else
            panels(m, n).replace("f32", "bf16"))


def bf16_layout(pairs):
    width = MICRO[LANES][1]
    return ("outer_dims_perm = [1, 0] inner_dims_pos = " +
            (f"[1, 0] inner_tiles = [{width}, 2]" if pairs else f"[1] inner_tiles = [{width}]"))


def bf16_product(name, m, n, transposed, symmetric, config, inRows=False):
    """P = L R or L^T R of BF16, its operands packed as it reads them, its result
    rounded to pairs. A symmetric one is L^T L of one matrix, or, with inRows,
    L R of a matrix and its transpose."""
    m, n = 2 * m, (2 * m if symmetric else n)
    k = 2 * DEPTHS[(m * 31 + n) % len(DEPTHS)]
    a = (k, m) if transposed else (m, k)
    t = f"tensor<{m}x{n}xf32>"
    maps = ", ".join(f"affine_map<(i, j, k) -> {r}>" for r in
                     ("(k, i)" if transposed else "(i, k)", "(k, j)", "(i, j)"))
    mark = ", geo.symmetric" if symmetric else ""
    ma, mb = bf16_panels(*a, transposed), bf16_panels(k, n, True)
    mp = bf16_panels(m, n, True)
    isOne = symmetric and not inRows
    right = "a" if isOne else "b"
    body = ""
    for x, mx, shape, pairs in [("a", ma, a, transposed)] + ([] if isOne else [("b", mb, (k, n), True)]):
        body += tensor(f"{x}_panels", mx, x.upper()) + f"""
  %{x}_empty = tensor.empty() : tensor<{shape[0]}x{shape[1]}xbf16>
  %{x} = linalg.unpack %{x}_panels {bf16_layout(pairs)}
      into %{x}_empty : {mx.replace("memref", "tensor")} -> tensor<{shape[0]}x{shape[1]}xbf16>
"""
    body += f"""
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {t}
  %f = linalg.fill ins(%zero : f32) outs(%e : {t}) -> {t}
  %p = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel", "reduction"]{mark}}}
      ins(%a, %{right} : tensor<{a[0]}x{a[1]}xbf16>, tensor<{k}x{n}xbf16>) outs(%f : {t}) {{
    ^bb0(%x: bf16, %y: bf16, %z: f32):
      %x32 = arith.extf %x : bf16 to f32
      %y32 = arith.extf %y : bf16 to f32
      %xy = arith.mulf %x32, %y32 : f32
      %s = arith.addf %z, %xy : f32
      linalg.yield %s : f32
  }} -> {t}
  %be = tensor.empty() : tensor<{m}x{n}xbf16>
  %q = linalg.generic {{indexing_maps = [{ID}, {ID}], {PP}}} ins(%p : {t}) outs(%be : tensor<{m}x{n}xbf16>) {{
    ^bb0(%x: f32, %y: bf16):
      %i16 = arith.constant 16 : i32
      %one = arith.constant 1 : i32
      %half = arith.constant 32767 : i32
      %bits = arith.bitcast %x : f32 to i32
      %up = arith.shrui %bits, %i16 : i32
      %odd = arith.andi %up, %one : i32
      %add = arith.addi %odd, %half : i32
      %sum = arith.addi %bits, %add : i32
      %high = arith.shrui %sum, %i16 : i32
      %word = arith.trunci %high : i32 to i16
      %r = arith.bitcast %word : i16 to bf16
      linalg.yield %r : bf16
  }} -> tensor<{m}x{n}xbf16>
  %poison = ub.poison : bf16
  %into = tensor.empty() : {mp.replace("memref", "tensor")}
  %packed = linalg.pack %q padding_value(%poison : bf16) {bf16_layout(True)}
      into %into : tensor<{m}x{n}xbf16> -> {mp.replace("memref", "tensor")}
""" + store("p", f"memref<{m}x{n}xf32>", "P") + store("packed", mp, "Q")
    args = [("A", ma)] + ([] if isOne else [("B", mb)]) + [("P", f"memref<{m}x{n}xf32>"), ("Q", mp)]
    return kernel(f"{name}_{m}_{n}", args, config, body)


def slabs_of_8():
    return product_config().replace("], micro", ", 8], micro")


def bf16_nn(m, n):
    return bf16_product("bf16_nn", m, n, False, False, slabs_of_8())


def bf16_tn(m, n):
    return bf16_product("bf16_tn", m, n, True, False, slabs_of_8())


def bf16_symmetric(m, n):
    return bf16_product("bf16_symmetric", m, n, True, True, slabs_of_8()).replace(
        f"@bf16_symmetric_{2 * m}_{2 * m}(", f"@bf16_symmetric_{m}_{n}(")


AMX = "micro = [32, 32], amx = [16, 16, 32], lanes = 16"


def amx_nn(m, n):
    return bf16_product("amx_nn", m, n, False, False, f"tile = [64, 64], {AMX}")


def amx_deep(m, n):
    """Slabs of 32 and 64 terms, the last of which may be shorter than a tile."""
    slab = 32 if m % 2 == 0 else 64
    return bf16_product("amx_deep", m, n, False, False, f"tile = [32, 96, {slab}], {AMX}")


def amx_symmetric(m, n):
    return bf16_product("amx_symmetric", m, n, False, True, f"tile = [1000, 64], {AMX}", inRows=True).replace(
        f"@amx_symmetric_{2 * m}_{2 * m}(", f"@amx_symmetric_{m}_{n}(")


def scale_transposed(m, n):
    """Y = c X^T, cut into steps of a few columns."""
    tx, mx = f"tensor<{n}x{m}xf32>", f"memref<{n}x{m}xf32>"
    t, mt = f"tensor<{m}x{n}xf32>", f"memref<{m}x{n}xf32>"
    body = tensor("x", mx, "X") + f"""
  %e = tensor.empty() : {t}
  %y = linalg.generic {{indexing_maps = [{TRANSPOSED}, {ID}], {PP}}}
      ins(%x : {tx}) outs(%e : {t}) {{
    ^bb0(%a: f32, %o: f32):
      %z = arith.mulf %c, %a : f32
      linalg.yield %z : f32
  }} -> {t}
""" + store("y", mt, "Y")
    return kernel(f"scale_transposed_{m}_{n}", [("X", mx), ("Y", mt), ("c", "f32")], "rows = 16", body)


def swap(m, n):
    """Two matrices in place of one another."""
    t, mt = f"tensor<{m}x{n}xf32>", f"memref<{m}x{n}xf32>"
    body = tensor("x", mt, "X") + tensor("y", mt, "Y") + f"""
  %e = tensor.empty() : {t}
  %x1 = linalg.copy ins(%y : {t}) outs(%e : {t}) -> {t}
  %y1 = linalg.copy ins(%x : {t}) outs(%e : {t}) -> {t}
""" + store("x1", mt, "X") + store("y1", mt, "Y")
    return kernel(f"swap_{m}_{n}", [("X", mt), ("Y", mt)], "rows = 2", body)


def groups(m):
    return next(r for r in (8, 4, 3, 2, 1) if m % r == 0)


def partial_sums(m, n):
    """Sums of groups of rows, in f64."""
    r = groups(m)
    b = m // r
    body = f"""
  %G3 = memref.expand_shape %G [[0, 1], [2]] output_shape [{b}, {r}, {n}] : memref<{m}x{n}xf32> into memref<{b}x{r}x{n}xf32>
""" + tensor("g", f"memref<{b}x{r}x{n}xf32>", "G3") + f"""
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<{b}x{n}xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<{b}x{n}xf64>) -> tensor<{b}x{n}xf64>
  %s = linalg.generic {{indexing_maps = [affine_map<(i, r, j) -> (i, r, j)>, affine_map<(i, r, j) -> (i, j)>],
      iterator_types = ["parallel", "reduction", "parallel"]}}
      ins(%g : tensor<{b}x{r}x{n}xf32>) outs(%f : tensor<{b}x{n}xf64>) {{
    ^bb0(%x: f32, %acc: f64):
      %x64 = arith.extf %x : f32 to f64
      %z = arith.addf %acc, %x64 : f64
      linalg.yield %z : f64
  }} -> tensor<{b}x{n}xf64>
""" + store("s", f"memref<{b}x{n}xf64>", "P")
    return kernel(f"partial_sums_{m}_{n}", [("G", f"memref<{m}x{n}xf32>"), ("P", f"memref<{b}x{n}xf64>")],
                  "rows = 1", body)


def mean(m, n):
    """The mean row from m rows of f64."""
    body = tensor("p", f"memref<{m}x{n}xf64>", "P") + f"""
  %zero = arith.constant 0.0 : f64
  %count = arith.constant {float(m)} : f64
  %e = tensor.empty() : tensor<{n}xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<{n}xf64>) -> tensor<{n}xf64>
  %s = linalg.generic {{indexing_maps = [{ID}, {COLUMN}], iterator_types = ["reduction", "parallel"]}}
      ins(%p : tensor<{m}x{n}xf64>) outs(%f : tensor<{n}xf64>) {{
    ^bb0(%x: f64, %acc: f64):
      %z = arith.addf %acc, %x : f64
      linalg.yield %z : f64
  }} -> tensor<{n}xf64>
  %e32 = tensor.empty() : tensor<{n}xf32>
  %m = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%s : tensor<{n}xf64>) outs(%e32 : tensor<{n}xf32>) {{
    ^bb0(%x: f64, %o: f32):
      %q = arith.divf %x, %count : f64
      %z = arith.truncf %q : f64 to f32
      linalg.yield %z : f32
  }} -> tensor<{n}xf32>
""" + store("m", f"memref<{n}xf32>", "M")
    return kernel(f"mean_{m}_{n}", [("P", f"memref<{m}x{n}xf64>"), ("M", f"memref<{n}xf32>")], "rows = 1", body)


def subtract(m, n):
    """X minus a row, in place."""
    t, mt = f"tensor<{m}x{n}xf32>", f"memref<{m}x{n}xf32>"
    body = tensor("x", mt, "X") + tensor("r", f"memref<{n}xf32>", "R") + f"""
  %z = linalg.generic {{indexing_maps = [{COLUMN}, {ID}], {PP}}}
      ins(%r : tensor<{n}xf32>) outs(%x : {t}) {{
    ^bb0(%a: f32, %y: f32):
      %d = arith.subf %y, %a : f32
      linalg.yield %d : f32
  }} -> {t}
""" + store("z", mt, "X")
    return kernel(f"subtract_{m}_{n}", [("X", mt), ("R", f"memref<{n}xf32>")], "rows = 2", body)


def main():
    global LANES
    kinds, LANES, module, table = sys.argv[1].split(","), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    shapes = [(m, n) for m in SHAPES for n in SHAPES
              if m == n or (m * 7 + n) % 3 == 0 or n in (1, 17)] + [(64, 40), (70, 130)]
    if "matmul" in kinds[0]:  # unrolled, so they take long to compile
        shapes = [(m, n) for m, n in shapes if (m + 2 * n + LANES) % 3 == 0 or m > 60]
    few = [(3, 5), (8, 16), (17, 33), (33, 7), (64, 40), (33, 97)]
    tiles = [(1, 1), (8, 40), (16, 32), (17, 33), (33, 64), (48, 97), (64, 64), (80, 7)]
    with open(module, "w") as f, open(table, "w") as c:
        rows = []
        for kind in kinds:
            for m, n in tiles if kind.startswith("amx_") else few if kind.startswith(("panel_", "bf16_")) else shapes:
                text = globals()[kind](m, n)
                name = text.split("@")[1].split("(")[0]
                f.write(text)
                c.write(f"void {name}(void **, int64_t, int64_t);\n")
                k = DEPTHS[(m * 31 + n) % len(DEPTHS)]
                rows.append(f'{{"{name}", check_{kind}, {name}, {m}, {n}, {k}}},\n')
        c.write("static const struct Case cases[] = {\n" + "".join(rows) + "};\n")


main()
