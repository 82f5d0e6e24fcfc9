//===- Passes.td - passes of the geometry level ------------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_GEO_PASSES_TD
#define STEEP_PASSES_GEO_PASSES_TD

include "mlir/Pass/PassBase.td"

class GeoPass<string argument>
    : Pass<argument, "::mlir::func::FuncOp"> {
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::geo::GeoDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def InferCentering : GeoPass<"geo-infer-centering"> {
  let summary = "leave out the projections that facts make redundant";
  let description = [{
    Rewrites `geo.common_ball` to `geo.center`, `geo.max_row`, `geo.center`, then
    removes every `geo.center`

    1. whose operand has column sums of zero already. A gradient has them by the
       fact `#geo.zero_column_sum`; `geo.scale`, `geo.ema`, `geo.momentum`,
       `geo.correct_bias` and `geo.apply` keep them; a state has them if every
       update that is computed from such a state returns such a state: states
       start from zero;
    2. whose result is only seen up to a common row: by `geo.apply` to a weight
       with the fact `#geo.shift_invariant` (and, as the increment of that
       weight, by the caller), by another `geo.center`, or by a geometry that is
       blind to common row shifts. The rule itself must not see more of the
       weight either.

    Arguments and results are told apart by `optim.role`. Remarks of the category
    `geo-infer-centering` say of every geometry what it promises, and of every
    projection why it is left out or kept.

    ```mlir
    func.func @head(%u: tensor<64x8xf32> {optim.role = "weight", geo.facts = [#geo.shift_invariant]},
                    %g: tensor<64x8xf32> {optim.role = "gradient", geo.facts = [#geo.zero_column_sum]},
                    %lr: f32 {optim.role = "lr"}) -> (tensor<64x8xf32> {optim.role = "weight"}) {
      %s = geo.common_ball %g radius(%lr) : tensor<64x8xf32>
      %u1 = geo.apply %u, %s : tensor<64x8xf32>
    ```
    becomes
    ```mlir
      %s = geo.max_row %g radius(%lr) : tensor<64x8xf32>
      %u1 = geo.apply %u, %s : tensor<64x8xf32>
    ```
  }];
  let statistics = [
    Statistic<"numCentered", "centered-operands",
      "projections left out since their operand is centred">,
    Statistic<"numUnseen", "unseen-shifts",
      "projections left out since nobody sees a common row">
  ];
}

def CarryMeans : Pass<"geo-carry-means", "::mlir::ModuleOp"> {
  let summary = "carry the mean rows of linear states from step to step";
  let description = [{
    A `geo.center` that is left needs the mean row of its operand, and so a pass
    over all rows before the one that uses it. Where the operand is linear in the
    gradient and in states that are so themselves (`geo.scale`, `geo.ema`,
    `geo.momentum`, `geo.correct_bias`, ...), its mean row is the same function
    of their mean rows, n numbers each:

        mean(beta B + (1 - beta) c G) = beta mean(B) + (1 - beta) c mean(G)

    So each such state gets a state of one row beside it, `NAME_mean`, of the
    convention "mean", and the projection becomes a subtraction, which joins the
    pass over the rows. The gradient's mean row is an argument of the role
    "gradient_mean": the function that gives the squares of its rows, which reads
    the gradient before every step, gives the sums of its columns too. A third
    function of the batch, `refresh`, computes the mean rows of the states from
    the states: a step runs it where such a row is all zeros, as it is before the
    first step and after a checkpoint without it was loaded.

    Rounding errors of the carried row decay with the states': they stay below
    1 / (1 - beta) roundings.

    ```mlir
    %b1 = geo.ema %b, %g {beta = 9.5e-1} : tensor<64x8xf32>
    %c = geo.center %b1 : tensor<64x8xf32>
    ```
    becomes
    ```mlir
    %b1 = geo.ema %b, %g {beta = 9.5e-1} : tensor<64x8xf32>
    %m1 = geo.ema %b_mean, %g_mean {beta = 9.5e-1} : tensor<1x8xf32>
    %c = linalg.generic ... ins(%b1, %m1 ...) { arith.subf }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::geo::GeoDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::optim::OptimDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numCarried", "carried-means", "states whose mean row is carried">
  ];
}

def RelaxRowDiameter : GeoPass<"geo-relax-row-diameter"> {
  let summary = "write row diameters that may be relaxed as common balls";
  let description = [{
    Replaces every `geo.row_diameter` whose form is "relax" by `geo.common_ball`
    of the same radius, without eps: all rows in one ball of radius r are no
    farther apart than 2 r. Other forms stay. The answer decreases `<G, S>` by at
    least sqrt((k+1)/(2k)) of what was asked for, k = min(m - 1, n) being no less
    than the rank of the centred gradient (arXiv:2608.22253); this number stands
    as `geo.guarantee` on the new op and on the function, and in a remark.

    Where the op's bounds are used, they become those of `geo.measure_tension`.
    The shape must be static.
  }];
}

def ExpandSpectral : GeoPass<"geo-expand-spectral"> {
  let summary = "write geometries that need a whole matrix as their products";
  let description = [{
    Replaces every op that implements `ExpandOpInterface` by its expansion,
    until none is left; nothing is approximate that the op did not already say.
    The pass knows none of these ops.

    `geo.spectral`, after which it is named, becomes its Newton-Schulz steps,
    unrolled. The iterate X is kept tall, B x S, transposed once at either end
    where the weight is wide, so that products read their right operand by
    contiguous rows:

        inv = 1 / (sqrt(sum of row_squares(G)) + eps)        in f64, rounded
        X = G inv
        A = X^T X ;  X <- fma(a, X, X (b A + c A A))         a step
        S = -r X

    Sides are rounded up to multiples of `pad-to`, with zeros, which an odd
    polynomial keeps. The op's `dot` is passed on to the products as attribute
    `geo.dot`, unless it is ieee; products that are symmetric, as A and A A, carry
    `geo.symmetric`. The shape must be static.
  }];
  let options = [
    Option<"padTo", "pad-to", "int64_t", "1",
      "what the sides of the iterate are rounded up to multiples of">
  ];
}

def ExpandCentering : GeoPass<"geo-expand-centering"> {
  let summary = "write geo.center as column means and a subtraction";
  let description = [{
    Column sums are accumulated in f64. Where there are many rows (twice as many
    as make 256 KiB, and 128 at least), groups of them are summed by themselves,
    which blocks can share; the sums of the groups, then the rows that are left
    over, are added in their order. The order depends on the shape alone, and so
    do the bits. The mean row is rounded to f32 once and subtracted. What sees
    all rows is thus apart from what sees one.

    Where the operand is computed row by row from one other matrix that is in
    memory (the corrected average from the average, normalised rows from
    those), both the sums and the difference are computed from that one: less
    than writing the operand for the one and reading it again for the other.
  }];
}

def RoundOperands : GeoPass<"geo-round-operands"> {
  let summary = "round the operands of bf16 products where they are made";
  let description = [{
    A product with `geo.dot = #geo<dot bf16>` rounds its operands to bf16. This pass
    writes the rounding down as a value of its own, once for all products that read
    it, next to what makes the operand:

    ```mlir
    %xb = linalg.generic ... ins(%x : tensor<64x32xf32>) outs(... : tensor<64x32xbf16>) { arith.truncf }
    %a = linalg.matmul {geo.dot = #geo<dot bf16>} ins(%xb, %xb : tensor<64x32xbf16>, ...) outs(... : tensor<32x32xf32>)
    ```

    The result is the same; a target that rounds by itself reads half the bytes, and
    the rounding becomes a part of the kernel that computes the operand.
  }];
}

def ConvertGeoToLinalg : GeoPass<"convert-geo-to-linalg"> {
  let summary = "write every geo op in terms of linalg on tensors";
  let description = [{
    Replaces every `geo` op by its decomposition (`AggregatedOpInterface`):
    elementwise `linalg.generic`s and reductions over the last dimension, in f32
    with sums in f64, without fast-math flags. What is updated in place is the
    destination of its generic. No `geo` op is left; one that cannot be written
    so (`geo.spectral` of dynamic shape) is an error.
  }];
}

#endif // STEEP_PASSES_GEO_PASSES_TD
