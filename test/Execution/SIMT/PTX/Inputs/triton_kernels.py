"""Sources of the Triton fixtures, in the way people write such kernels."""

import triton
import triton.language as tl


@triton.jit
def rownorm(w, g, b, lr, eps, columns, COLUMNS: tl.constexpr, BETA: tl.constexpr):
    """b = BETA b + (1 - BETA) g; w = w - lr b / (|b| + eps); one program a row."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, COLUMNS)
    inside = column < columns
    at = row * columns + column
    m = tl.load(b + at, mask=inside, other=0.0) * BETA
    m += tl.load(g + at, mask=inside, other=0.0) * (1 - BETA)
    norm = tl.sqrt(tl.sum(m * m, 0))
    tl.store(b + at, m, mask=inside)
    tl.store(w + at, tl.load(w + at, mask=inside) - lr * m / (norm + eps), mask=inside)


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = a b' for a of M x K and b of N x K, BF16 with sums in FP32."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * K + rk[None, :]
    pb = b + rn[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc += tl.dot(tl.load(pa), tl.load(pb))
        pa += BK
        pb += BK
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16))
