#!/usr/bin/env python3
"""Writes the products that ProductBench times: products.py PANEL WIDTH... > FILE

Each is an update whose weight is the product, so that the compiler forms its
kernels as it does those of an optimizer: copies of the operands to panels, then
the product.
"""
import sys

# name, m, n, k, left operand transposed, right operand transposed, symmetric, operands rounded to BF16
PRODUCTS = [
    ("nn_1024_1024_1024", 1024, 1024, 1024, False, False, False, False),
    ("nn_512_2048_512", 512, 2048, 512, False, False, False, False),
    ("tn_512_2048_512", 512, 2048, 512, True, False, False, False),
    ("nt_512_2048_512", 512, 2048, 512, False, True, False, False),
    ("nn_2048_2048_512", 2048, 2048, 512, False, False, False, False),
    ("tn_2048_2048_512", 2048, 2048, 512, True, False, False, False),
    ("sy_2048_2048_512", 2048, 2048, 512, True, False, True, False),
    ("nn_512_512_512", 512, 512, 512, False, False, False, False),
    ("tn_512_512_512", 512, 512, 512, True, False, False, False),
    ("sy_512_512_512", 512, 512, 512, True, False, True, False),
    ("tn_512_512_2048", 512, 512, 2048, True, False, False, False),
    ("sy_512_512_2048", 512, 512, 2048, True, False, True, False),
    ("nn_2048_512_512", 2048, 512, 512, False, False, False, False),
    ("tn_2048_2048_2048", 2048, 2048, 2048, True, False, False, False),
    ("sy_2048_2048_2048", 2048, 2048, 2048, True, False, True, False),
    ("bf16_nn_1024_1024_1024", 1024, 1024, 1024, False, False, False, True),
    ("bf16_nn_512_2048_512", 512, 2048, 512, False, False, False, True),
    ("bf16_tn_512_2048_512", 512, 2048, 512, True, False, False, True),
    ("bf16_nt_512_2048_512", 512, 2048, 512, False, True, False, True),
    ("bf16_nn_2048_2048_512", 2048, 2048, 512, False, False, False, True),
    ("bf16_tn_2048_2048_512", 2048, 2048, 512, True, False, False, True),
    ("bf16_sy_2048_2048_512", 2048, 2048, 512, True, False, True, True),
    ("bf16_nn_512_512_512", 512, 512, 512, False, False, False, True),
    ("bf16_tn_512_512_512", 512, 512, 512, True, False, False, True),
    ("bf16_sy_512_512_512", 512, 512, 512, True, False, True, True),
    ("bf16_tn_512_512_2048", 512, 512, 2048, True, False, False, True),
    ("bf16_sy_512_512_2048", 512, 512, 2048, True, False, True, True),
    ("bf16_nn_2048_512_512", 2048, 512, 512, False, False, False, True),
    ("bf16_tn_2048_2048_2048", 2048, 2048, 2048, True, False, False, True),
    ("bf16_sy_2048_2048_2048", 2048, 2048, 2048, True, False, True, True),
]


def product(name, m, n, k, left, right, symmetric, bf16):
    a = f"tensor<{k}x{m}xf32>" if left else f"tensor<{m}x{k}xf32>"
    b = f"tensor<{n}x{k}xf32>" if right else f"tensor<{k}x{n}xf32>"
    c = f"tensor<{m}x{n}xf32>"
    maps = ", ".join(f"affine_map<(i, j, k) -> {r}>" for r in
                     ("(k, i)" if left else "(i, k)", "(j, k)" if right else "(k, j)", "(i, j)"))
    marks = ["geo.symmetric"] * symmetric + ["geo.dot = #geo<dot bf16>"] * bf16
    mark = " {" + ", ".join(marks) + "}" if marks else ""
    other = "%a" if symmetric else "%b"
    return f"""
func.func @{name}(%c: {c} {{optim.role = "weight"}}, %a: {a} {{optim.role = "gradient"}},
    %b: {b} {{optim.role = "state"}}) -> ({c} {{optim.role = "weight"}}) attributes {{optim.rule = "{name}", optim.count = 1 : i64}} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {c}
  %z = linalg.fill ins(%zero : f32) outs(%e : {c}) -> {c}
  %p = linalg.matmul indexing_maps = [{maps}]{mark} ins(%a, {other} : {a}, {b}) outs(%z : {c}) -> {c}
  return %p : {c}
}}
"""


if __name__ == "__main__":
    for entry in PRODUCTS:
        sys.stdout.write(product(*entry))
