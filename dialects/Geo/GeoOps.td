//===- GeoOps.td - the ops of the geo dialect --------------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_GEOOPS_TD
#define STEEP_DIALECTS_GEO_GEOOPS_TD

include "dialects/Geo/GeoAttrs.td"
include "dialects/Geo/GeoInterfaces.td"
include "mlir/Dialect/Linalg/IR/LinalgInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/TilingInterface.td"

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

def Geo_Matrix : 2DTensorOf<[F32]>;
def Geo_RowValues : 1DTensorOf<[F64]>;

class Geo_Op<string mnemonic, list<Trait> traits = []>
    : Op<Geo_Dialect, mnemonic, [
        Pure,
        DeclareOpInterfaceMethods<AggregatedOpInterface, ["decomposeOperation"]>
      ] # traits> {
  let hasVerifier = 1;
}

/// An op whose tiles are cut along its first `loops` dimensions: 1 where a
/// tile owns whole rows, 2 where elements do not see each other.
class Geo_TiledOp<string mnemonic, int loops, list<Trait> traits = []>
    : Geo_Op<mnemonic, [
        DeclareOpInterfaceMethods<TilingInterface,
          ["getLoopIteratorTypes", "getIterationDomain",
           "getTiledImplementation", "getResultTilePosition",
           "generateResultTileValue", "getIterationDomainTileFromResultTile"]>
      ] # traits> {
  let extraClassDefinition = [{
    ::llvm::SmallVector<::mlir::utils::IteratorType>
    $cppClass::getLoopIteratorTypes() {
      return ::llvm::SmallVector<::mlir::utils::IteratorType>(
          }] # loops # [{, ::mlir::utils::IteratorType::parallel);
    }
    ::llvm::SmallVector<::mlir::Range>
    $cppClass::getIterationDomain(::mlir::OpBuilder &b) {
      return detail::getIterationDomain(b, *this, }] # loops # [{);
    }
    ::mlir::FailureOr<::mlir::TilingResult> $cppClass::getTiledImplementation(
        ::mlir::OpBuilder &b, ::mlir::ArrayRef<::mlir::OpFoldResult> offsets,
        ::mlir::ArrayRef<::mlir::OpFoldResult> sizes) {
      return detail::tile(b, *this, offsets, sizes);
    }
    ::llvm::LogicalResult $cppClass::getResultTilePosition(
        ::mlir::OpBuilder &b, unsigned resultNumber,
        ::mlir::ArrayRef<::mlir::OpFoldResult> offsets,
        ::mlir::ArrayRef<::mlir::OpFoldResult> sizes,
        ::mlir::SmallVector<::mlir::OpFoldResult> &resultOffsets,
        ::mlir::SmallVector<::mlir::OpFoldResult> &resultSizes) {
      return detail::getResultTilePosition(b, *this, resultNumber, offsets,
                                           sizes, resultOffsets, resultSizes);
    }
    ::mlir::FailureOr<::mlir::TilingResult> $cppClass::generateResultTileValue(
        ::mlir::OpBuilder &b, unsigned resultNumber,
        ::mlir::ArrayRef<::mlir::OpFoldResult> offsets,
        ::mlir::ArrayRef<::mlir::OpFoldResult> sizes) {
      return detail::generateResultTileValue(b, *this, resultNumber, offsets,
                                             sizes);
    }
    ::llvm::LogicalResult $cppClass::getIterationDomainTileFromResultTile(
        ::mlir::OpBuilder &b, unsigned resultNumber,
        ::mlir::ArrayRef<::mlir::OpFoldResult> offsets,
        ::mlir::ArrayRef<::mlir::OpFoldResult> sizes,
        ::mlir::SmallVectorImpl<::mlir::OpFoldResult> &domainOffsets,
        ::mlir::SmallVectorImpl<::mlir::OpFoldResult> &domainSizes) {
      return detail::getDomainTileFromResultTile(*this, offsets, sizes,
                                                 domainOffsets, domainSizes);
    }
  }];
}

class Geo_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : Geo_TiledOp<mnemonic, 2, traits>;
class Geo_RowOp<string mnemonic, list<Trait> traits = []>
    : Geo_TiledOp<mnemonic, 1, traits>;

//===----------------------------------------------------------------------===//
// What an oracle is fed
//===----------------------------------------------------------------------===//

def Geo_ScaleOp : Geo_ElementwiseOp<"scale",
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "multiply a matrix by a number";
  let description = [{
    `c X`, each product rounded to f32. Clip factor and gradient scale of a
    step come in here.

    Laws: a scale by 1 vanishes; `c (d X)` is `(c d) X`; a positive constant
    before a homogeneous geometry vanishes, and before one with eps > 0 it
    moves into eps.

    Example:
    ```mlir
    %gc = geo.scale %g, %clip
    ```
  }];
  let arguments = (ins Geo_Matrix:$input, F32:$factor);
  let results = (outs Geo_Matrix:$result);
  let assemblyFormat = [{
    $input `,` $factor ``
    custom<Settings>(attr-dict, type($input), "getOperationName()")
  }];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let hasVerifier = 0;
}

def Geo_EmaOp : Geo_ElementwiseOp<"ema",
    [DestinationStyleOpInterface,
     AllTypesMatch<["buffer", "gradient", "result"]>]> {
  let summary = "exponential moving average of gradients";
  let description = [{
    `B <- beta B + (1 - beta) G`, computed as `fma(beta, B, (1 - beta) G)`.
    `1 - beta` is formed in f64 and rounded to f32. The state is updated in
    place: the buffer is the destination. A linear map of (B, G): columns that
    sum to zero in both sum to zero in the result.

    Source: arXiv:2608.22253, training recipe (RowNorm head, beta 0.95).

    Example:
    ```mlir
    %gc = geo.scale %g, %clip
    %b1 = geo.ema %b, %gc {beta = 0.95}
    ```
  }];
  let arguments = (ins Geo_Matrix:$buffer, Geo_Matrix:$gradient, F64Attr:$beta);
  let results = (outs Geo_Matrix:$result);
  let assemblyFormat = [{
    $buffer `,` $gradient ``
    custom<Settings>(attr-dict, type($buffer), "getOperationName()")
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getBufferMutable());
    }
  }];
}

def Geo_MomentumOp : Geo_ElementwiseOp<"momentum"> {
  let summary = "heavy-ball momentum, with Nesterov's look-ahead if wanted";
  let description = [{
    `B <- beta B + G`, computed as `fma(beta, B, G)`. With `nesterov` there is
    a second result `N = fma(beta, B, G)` with the new `B`, one step ahead.

    The first result is meant to overwrite the buffer. The op is not in
    destination style all the same, since that style wants one destination a
    result, and `N` has none.

    Source: Muon, K. Jordan 2024; arXiv:2608.22253, training recipe.

    Example:
    ```mlir
    %gc = geo.scale %g, %clip
    %b1 = geo.momentum %b, %gc {beta = 0.95}
    %b1, %n = geo.momentum %b, %gc {beta = 0.95, nesterov}
    ```
  }];
  let arguments = (ins Geo_Matrix:$buffer, Geo_Matrix:$gradient, F64Attr:$beta,
                       UnitAttr:$nesterov);
  let results = (outs Geo_Matrix:$result, Optional<Geo_Matrix>:$lookahead);
  let hasCustomAssemblyFormat = 1;
}

def Geo_CorrectBiasOp : Geo_ElementwiseOp<"correct_bias",
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "undo the pull of an average towards its zero start";
  let description = [{
    `B / (1 - beta^t)`, where t >= 1 counts the updates that `B` averages. The
    factor `1 / (1 - beta^t)` is formed in f64 and rounded to f32 once, then
    every element is multiplied by it. With `ahead = a` the exponent is t + a:
    Nesterov's look-ahead corrects an average as of the next update.

    Source: D. Kingma and J. Ba, arXiv:1412.6980, section 3; T. Dozat,
    Incorporating Nesterov momentum into Adam, 2016 (ahead = 1).

    Example:
    ```mlir
    %c = geo.correct_bias %b1, %t {beta = 0.95}
    %d = geo.correct_bias %b1, %t {beta = 0.95, ahead = 1}
    ```
  }];
  let arguments = (ins Geo_Matrix:$input, I64:$step, F64Attr:$beta,
                       DefaultValuedAttr<I64Attr, "0">:$ahead);
  let results = (outs Geo_Matrix:$result);
  let assemblyFormat = [{
    $input `,` $step ``
    custom<Settings>(attr-dict, type($input), "getOperationName()")
  }];
  let hasFolder = 1;
}

def Geo_CenterOp : Geo_Op<"center", [AllTypesMatch<["input", "result"]>]> {
  let summary = "subtract the mean row from every row";
  let description = [{
    `P X`, `P = I - (1/m) 1 1^T`: afterwards every column sums to zero (up to
    rounding). Column sums are accumulated in f64. It sees all rows at once, so
    it has no tiles of rows; `geo-expand-centering` writes it as column means
    and a subtraction.

    Laws: centring is idempotent; it vanishes after a geometry whose answer is
    centred and before one that is blind to common row shifts. It does *not*
    vanish after `geo.normalize_rows`: rows of length one need not sum to zero.

    Source: arXiv:2608.22253, the projection P.

    Example:
    ```mlir
    %c = geo.center %g
    ```
  }];
  let arguments = (ins Geo_Matrix:$input);
  let results = (outs Geo_Matrix:$result);
  let assemblyFormat = [{
    $input ``
    custom<Settings>(attr-dict, type($input), "getOperationName()")
  }];
  let hasFolder = 1;
  let hasVerifier = 0;
}

def Geo_NormalizeRowsOp : Geo_RowOp<"normalize_rows",
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "divide every row by its Euclidean norm";
  let description = [{
    Row i becomes `x_i / (||x_i|| + eps)`; a zero row stays zero, with eps = 0
    too. Squares are summed in f64, so that rows of size 1e-20 and of size 1e20
    come out right; square root and division are IEEE's.

    Source: arXiv:2608.22253, `RN` and `RN_eps`.

    Example:
    ```mlir
    %n = geo.normalize_rows %c {eps = 1.0e-8}
    ```
  }];
  let arguments = (ins Geo_Matrix:$input, DefaultValuedAttr<F64Attr, "0.0">:$eps);
  let results = (outs Geo_Matrix:$result);
  let assemblyFormat = [{
    $input ``
    custom<Settings>(attr-dict, type($input), "getOperationName()")
  }];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Geo_RowSquaresOp : Geo_RowOp<"row_squares",
    [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "sum the squares of every row, in f64";
  let description = [{
    Element i of the result is `||x_i||^2`. The square of an f32 is exact in
    f64, so the only rounding is that of the sums. Global norms, for clipping
    and for the spectral geometry, are sums of these.

    Example:
    ```mlir
    %sq = geo.row_squares %g : tensor<512x2048xf32>  // tensor<512xf64>
    ```
  }];
  let arguments = (ins Geo_Matrix:$input);
  let results = (outs Geo_RowValues:$result);
  let assemblyFormat = [{
    $input ``
    custom<Settings>(attr-dict, type($input), "getOperationName()")
  }];
}

//===----------------------------------------------------------------------===//
// Oracles
//===----------------------------------------------------------------------===//

/// The answer is `argmin <G, S>` over `||S|| <= r`, signed.
class Geo_OracleTraits<list<string> methods = []> {
  list<Trait> traits = [
    DeclareOpInterfaceMethods<Geo_GeometryOpInterface, methods>,
    AllTypesMatch<["gradient", "result"]>
  ];
}

def Geo_MaxRowOp : Geo_RowOp<"max_row", Geo_OracleTraits<>.traits> {
  let summary = "oracle of the largest row norm (RowNorm)";
  let description = [{
    `S = -r RN_eps(G)`: row i is `-r g_i / (||g_i|| + eps)`, a zero row stays
    zero. With eps = 0 it is the exact oracle of `max_i ||s_i|| <= r`; the
    decrease is `r sum_i ||g_i||`. Numerics are those of `geo.normalize_rows`;
    the quotient is rounded, then multiplied by -r.

    Source: arXiv:2608.22253, RowNorm without projections.

    Example:
    ```mlir
    %s = geo.max_row %c radius(%lr) {eps = 1.0e-8}
    ```
  }];
  let arguments = (ins Geo_Matrix:$gradient, F32:$radius,
                       DefaultValuedAttr<F64Attr, "0.0">:$eps);
  let results = (outs Geo_Matrix:$result);
  let assemblyFormat = [{
    $gradient `radius` `(` $radius `)` ``
    custom<Settings>(attr-dict, type($gradient), "getOperationName()")
  }];
}

def Geo_CommonBallOp : Geo_Op<"common_ball", Geo_OracleTraits<
    ["isBlindToRowShifts", "hasCenteredResult"]>.traits> {
  let summary = "oracle of the smallest ball that holds all rows";
  let description = [{
    `S = -r P RN_eps(P G)`: centre, normalise every row, centre. With eps = 0 it
    is the exact oracle of "all rows of S lie in one ball of radius r, and
    `1^T S = 0`"; so the row diameter of S is at most 2 r, and the decrease
    `r sum_i ||(P G)_i||` is at least 1/sqrt(2) of the exact row-diameter
    oracle's. The answer is blind to common row shifts of G.

    `geo-infer-centering` rewrites it to `geo.center`, `geo.max_row`,
    `geo.center`, leaving out the projections that facts make redundant.

    Source: arXiv:2608.22253, `PRN` and its guarantee (r = eta/2 there).

    Example:
    ```mlir
    %s = geo.common_ball %c radius(%lr) {eps = 1.0e-8}
    ```
  }];
  let arguments = (ins Geo_Matrix:$gradient, F32:$radius,
                       DefaultValuedAttr<F64Attr, "0.0">:$eps);
  let results = (outs Geo_Matrix:$result);
  let assemblyFormat = [{
    $gradient `radius` `(` $radius `)` ``
    custom<Settings>(attr-dict, type($gradient), "getOperationName()")
  }];
}

//===----------------------------------------------------------------------===//
// From an increment to the weight
//===----------------------------------------------------------------------===//

def Geo_ShapeScaleOp : Geo_Op<"shape_scale"> {
  let summary = "adapt a radius to the shape of a weight";
  let description = [{
    `r s(m, n)` for an m x n weight, where the kind says what s is:

    | kind | s | what it makes of an oracle's answer |
    | --- | --- | --- |
    | `original` | `sqrt(max(1, m/n))` | Muon's (K. Jordan 2024; arXiv:2608.22253) |
    | `original_columns` | `sqrt(max(1, n/m))` | the same for weights stored inputs x outputs, as JAX's |
    | `ratio` | `sqrt(m/n)` | spectral: RMS of outputs for inputs of RMS 1 (arXiv:2502.07529) |
    | `match_rms_adamw` | `0.2 sqrt(max(m, n))` | spectral: entries of RMS 0.2 (arXiv:2502.16982) |
    | `row_rms` | `sqrt(n)` | rows of length 1 get RMS 1 |
    | `rms` | `sqrt(m n)` | a matrix of Frobenius norm 1 gets RMS 1 |
    | `mean` | `1/n` | signs: outputs of at most 1 for inputs of RMS 1 (arXiv:2502.07529) |

    On static shapes s is a constant, formed in f64 and rounded to f32.

    Example:
    ```mlir
    %r = geo.shape_scale %lr, %w {kind = "original"}
    ```
  }];
  let arguments = (ins F32:$radius, Geo_Matrix:$weight,
                       DefaultValuedAttr<StrAttr, "\"original\"">:$kind);
  let results = (outs F32:$result);
  let assemblyFormat = [{
    $radius `,` $weight ``
    custom<Settings>(attr-dict, type($weight), "getOperationName()")
  }];
  let extraClassDeclaration = [{
    /// s(m, n), where the shape is static.
    std::optional<double> getFactor();
  }];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Geo_AdamWOp : Geo_ElementwiseOp<"adamw",
    [AllTypesMatch<["expAvg", "expAvgSq", "gradient", "increment", "newExpAvg",
                    "newExpAvgSq"]>]> {
  let summary = "increment of AdamW, without its decay";
  let description = [{
    With m = `%expAvg`, v = `%expAvgSq`:

        m <- beta1 m + (1 - beta1) G
        v <- beta2 v + (1 - beta2) G^2
        S = -lr/(1 - beta1^t) * m / (sqrt(v)/sqrt(1 - beta2^t) + eps)

    elementwise; t >= 1 counts updates. The factors in t are formed in f64 and
    rounded to f32 once; sums are fused multiply-adds; square root and division
    are IEEE's. Results are S, m, v; the latter two are meant to overwrite the
    state. Decay is decoupled and belongs to `geo.apply`.

    Source: I. Loshchilov and F. Hutter, arXiv:1711.05101; torch.optim.AdamW.

    Example:
    ```mlir
    %s, %m1, %v1 = geo.adamw %m, %v, %g lr(%lr) step(%t)
        {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-10}
    ```
  }];
  let arguments = (ins Geo_Matrix:$expAvg, Geo_Matrix:$expAvgSq,
                       Geo_Matrix:$gradient, F32:$lr, I64:$step,
                       F64Attr:$beta1, F64Attr:$beta2, F64Attr:$eps);
  let results = (outs Geo_Matrix:$increment, Geo_Matrix:$newExpAvg,
                      Geo_Matrix:$newExpAvgSq);
  let assemblyFormat = [{
    $expAvg `,` $expAvgSq `,` $gradient `lr` `(` $lr `)` `step` `(` $step `)`
    `` custom<Settings>(attr-dict, type($gradient), "getOperationName()")
  }];
}

def Geo_ApplyOp : Geo_ElementwiseOp<"apply",
    [AttrSizedOperandSegments, DestinationStyleOpInterface,
     AllTypesMatch<["weight", "increment", "result"]>]> {
  let summary = "decay a weight, then add the increment";
  let description = [{
    `U <- fma(U, 1 - lr wd, S)`, the factor being `fma(-lr, wd, 1)`; without
    `decay`, `U + S`. The decay is decoupled, and follows the schedule with the
    learning rate. With `cautious` an entry decays only where the increment does
    not move it away from zero, `u s <= 0` (L. Chen et al., arXiv:2510.12402). S is rounded before, so that writing it out as well does
    not change the bits of U. The weight is the destination. It is the root of
    an update: what tiling starts from.

    Example:
    ```mlir
    %u1 = geo.apply %u, %s decay(%lr, %wd)
    ```
  }];
  let arguments = (ins Geo_Matrix:$weight, Geo_Matrix:$increment,
                       Optional<F32>:$lr, Optional<F32>:$wd,
                       UnitAttr:$cautious);
  let results = (outs Geo_Matrix:$result);
  let assemblyFormat = [{
    $weight `,` $increment `` custom<Decay>($lr, $wd) ``
    custom<Settings>(attr-dict, type($weight), "getOperationName()")
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getWeightMutable());
    }
  }];
  let hasCanonicalizer = 1;
}

//===----------------------------------------------------------------------===//
// Ops that have a file of their topic
//===----------------------------------------------------------------------===//

include "dialects/Geo/GeoBalls.td"
include "dialects/Geo/GeoMoments.td"
include "dialects/Geo/GeoSpectral.td"
include "dialects/Geo/GeoNeighbours.td"
include "dialects/Geo/GeoOracles.td"
include "dialects/Geo/GeoMeasure.td"

#endif // STEEP_DIALECTS_GEO_GEOOPS_TD
