"""A RowNorm row in Triton, for gpu_report.py: one program a row."""

import triton
import triton.language as tl


@triton.jit
def row_norm(w, g, b, columns, lr, beta, eps, size: tl.constexpr):
    at = tl.program_id(0) * columns + tl.arange(0, size)
    mask = tl.arange(0, size) < columns
    gradient = tl.load(g + at, mask=mask, other=0.0)
    average = beta * tl.load(b + at, mask=mask, other=0.0) + (1 - beta) * gradient
    norm = tl.sqrt(tl.sum(average * average, 0))
    tl.store(b + at, average, mask=mask)
    weight = tl.load(w + at, mask=mask, other=0.0)
    tl.store(w + at, weight - lr * average / (norm + eps), mask=mask)
