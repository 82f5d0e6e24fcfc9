//===- GeoBalls.td - oracles without matrix products -------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included from GeoOps.td, after its classes.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_GEOBALLS_TD
#define STEEP_DIALECTS_GEO_GEOBALLS_TD

/// A matrix, a radius and an eps: what an oracle without choices takes.
class Geo_BallSyntax {
  dag arguments = (ins Geo_Matrix:$gradient, F32:$radius,
                       DefaultValuedAttr<F64Attr, "0.0">:$eps);
  dag results = (outs Geo_Matrix:$result);
  string format = [{
    $gradient `radius` `(` $radius `)` ``
    custom<Settings>(attr-dict, type($gradient), "getOperationName()")
  }];
}

def Geo_SignOp : Geo_ElementwiseOp<"sign", Geo_OracleTraits<>.traits> {
  let summary = "oracle of the largest entry (sign descent)";
  let description = [{
    `S_ij = -r g_ij / (|g_ij| + eps)`; a zero stays zero. With eps = 0 it is
    `-r sign(G)`, the exact oracle of `max |S_ij| <= r`, exact in every bit; the
    decrease is `r sum |g_ij|`. eps > 0 makes entries below it proportional to
    the gradient instead.

    Source: X. Chen et al., Lion, arXiv:2302.06675; T. Pethick et al., Scion,
    arXiv:2502.07529 (the output layer's ball).

    Example:
    ```mlir
    %s = geo.sign %c radius(%lr)
    ```
  }];
  let arguments = Geo_BallSyntax<>.arguments;
  let results = Geo_BallSyntax<>.results;
  let assemblyFormat = Geo_BallSyntax<>.format;
}

def Geo_FrobeniusOp : Geo_Op<"frobenius", Geo_OracleTraits<>.traits # [
    DeclareOpInterfaceMethods<Geo_ExpandOpInterface>]> {
  let summary = "oracle of the Frobenius norm (normalised gradient)";
  let description = [{
    `S = -r G / (||G||_F + eps)`; a zero matrix stays zero. With eps = 0 it is
    the exact oracle of `||S||_F <= r`, and the decrease is `r ||G||_F`.

    The norm is a sum of the whole matrix, in f64, and so is each quotient: a
    matrix of any size that f32 holds comes out right.

    Example:
    ```mlir
    %s = geo.frobenius %c radius(%lr) {eps = 1.0e-8}
    ```
  }];
  let arguments = Geo_BallSyntax<>.arguments;
  let results = Geo_BallSyntax<>.results;
  let assemblyFormat = Geo_BallSyntax<>.format;
}

def Geo_MaxColumnOp : Geo_Op<"max_column", Geo_OracleTraits<>.traits # [
    DeclareOpInterfaceMethods<Geo_ExpandOpInterface>]> {
  let summary = "oracle of the largest column norm (column normalisation)";
  let description = [{
    Column j of S is `-r g_j / (||g_j|| + eps)`; a zero column stays zero. With
    eps = 0 it is the exact oracle of `max_j ||S_:j|| <= r`; the decrease is
    `r sum_j ||G_:j||`. Numerics are those of `geo.max_row`, down the columns:
    squares are summed in f64, so that columns of size 1e-20 and 1e20 come out
    right, and the quotient is rounded before it is multiplied by -r.

    Source: A. Glentis et al., SCALE, arXiv:2506.16659; T. Pethick et al.,
    Scion, arXiv:2502.07529 (ColNorm).

    Example:
    ```mlir
    %s = geo.max_column %c radius(%lr) {eps = 1.0e-8}
    ```
  }];
  let arguments = Geo_BallSyntax<>.arguments;
  let results = Geo_BallSyntax<>.results;
  let assemblyFormat = Geo_BallSyntax<>.format;
}

#endif // STEEP_DIALECTS_GEO_GEOBALLS_TD
