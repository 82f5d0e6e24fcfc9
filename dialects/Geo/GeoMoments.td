//===- GeoMoments.td - second moments after an oracle ------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included from GeoOps.td, after its classes.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_GEOMOMENTS_TD
#define STEEP_DIALECTS_GEO_GEOMOMENTS_TD

def Geo_RowMomentOp : Geo_RowOp<"row_moment",
    [AllTypesMatch<["input", "normalized"]>,
     AllTypesMatch<["moments", "newMoments"]>]> {
  let summary = "divide every row by the root of its averaged mean square";
  let description = [{
    With one moment v_i a row, in a matrix of one column:

        v_i <- beta v_i + (1 - beta) mean_j x_ij^2
        y_i = x_i / (sqrt(v_i) + eps)

    What an oracle gives is thus balanced between rows by their history. Results
    are the rows and the moments; the latter are meant to overwrite the state.
    The mean is formed in f64 and rounded to f32 once; the average is a fused
    multiply-add; square root and division are IEEE's. eps is positive: a row
    that was always zero stays zero.

    Source: Z. Li et al., NorMuon, arXiv:2510.05491.

    Example:
    ```mlir
    %y, %v1 = geo.row_moment %x, %v {beta = 0.95, eps = 1.0e-8}
    %y, %v1 = geo.row_moment %x, %v {beta = 0.95, eps = 1.0e-8}
        : tensor<64x32xf32>, tensor<64x1xf32>
    ```
  }];
  let arguments = (ins Geo_Matrix:$input, Geo_Matrix:$moments, F64Attr:$beta,
                       F64Attr:$eps);
  let results = (outs Geo_Matrix:$normalized, Geo_Matrix:$newMoments);
  let assemblyFormat = [{
    $input `,` $moments ``
    custom<MomentSettings>(attr-dict, type($input), type($moments),
                           "getOperationName()")
  }];
}

#endif // STEEP_DIALECTS_GEO_GEOMOMENTS_TD
