//===- GeoNeighbours.td - neighbours of Muon and RowNorm ---*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by GeoOps.td, whose classes it uses.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_GEONEIGHBOURS_TD
#define STEEP_DIALECTS_GEO_GEONEIGHBOURS_TD

//===----------------------------------------------------------------------===//
// Momentum as a mixture of averages
//===----------------------------------------------------------------------===//

def Geo_SwitchedEmaOp : Geo_ElementwiseOp<"switched_ema",
    [DestinationStyleOpInterface,
     AllTypesMatch<["buffer", "gradient", "result"]>]> {
  let summary = "an average whose rate changes once";
  let description = [{
    `B <- b(t) B + (1 - b(t)) G` with `b(t) = beta` for the updates
    t = 1 .. `switch_step`, and `b(t) = after` for all later ones; t is the number
    of the update, an operand. Arithmetic is that of `geo.ema`, bit for bit.

    It is the pole of a mixture (`geo.mix`). Several of them with one `beta`
    and one `switch_step`, from a zero start, are the same matrix up to and with
    update `switch_step`: so "one average M up to the switch; there every M_k
    becomes M; then each M_k goes its own way" needs no buffer for M and no
    copying, and a mixture of them is M itself until then.

    Laws: it is `geo.ema` where `after = beta`. A linear map of (B, G).

    Source: Bi-Maxwell, arXiv:2608.22994, where `switch_step` is T_on.

    Example:
    ```mlir
    %f1 = geo.switched_ema %f, %g step(%t) {beta = 0.95, switch_step = 1000, after = 0.85}
    ```
  }];
  let arguments = (ins Geo_Matrix:$buffer, Geo_Matrix:$gradient, I64:$step,
                       F64Attr:$beta, I64Attr:$switch_step,
                       F64Attr:$after);
  let results = (outs Geo_Matrix:$result);
  let assemblyFormat = [{
    $buffer `,` $gradient `step` `(` $step `)` ``
    custom<Settings>(attr-dict, type($buffer), "getOperationName()")
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getBufferMutable());
    }
  }];
}

def Geo_MixOp : Geo_ElementwiseOp<"mix", [AttrSizedOperandSegments]> {
  let summary = "a convex combination of matrices, annealed if wanted";
  let description = [{
    `E = sum_k w_k X_k`, with weights that sum to 1. It is computed as

        E = X_K + sum_{k < K} w_k (X_k - X_K)

    by fused multiply-adds in this order, so that the last weight is what the
    others leave of 1, and equal matrices mix to themselves without a rounding.

    With `step(%t)` the weights move from `weights` to `end_weights` over
    `anneal_steps` updates after update `start`:

        w(t) = (1 - f) weights + f end_weights,
        f = clamp((t - start) / anneal_steps, 0, 1)

    formed in f64, rounded to f32 once.

    Checked: two matrices or more; as many weights, each in [0, 1], with a sum
    that is 1 within 1e-5 (published tables have six digits).

    Laws: a mixture of one matrix is that matrix.

    Source: Bi-Maxwell, arXiv:2608.22994, M_eff; K-Maxwell, modded-nanogpt
    records of August 2026, for the annealing.

    Example:
    ```mlir
    %e = geo.mix %f, %s {weights = [0.4385, 0.5615]}
    %e = geo.mix %f, %s step(%t) {weights = [0.2, 0.8], end_weights = [0.9, 0.1],
                                  start = 1000, anneal_steps = 2250}
    ```
  }];
  let arguments = (ins Variadic<Geo_Matrix>:$inputs, Optional<I64>:$step,
                       F64ArrayAttr:$weights,
                       OptionalAttr<F64ArrayAttr>:$end_weights,
                       OptionalAttr<I64Attr>:$start,
                       OptionalAttr<I64Attr>:$anneal_steps);
  let results = (outs Geo_Matrix:$result);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}


//===----------------------------------------------------------------------===//
// Heads and tables
//===----------------------------------------------------------------------===//

def Geo_ClippedRowOp : Geo_RowOp<"clipped_row", Geo_OracleTraits<
    ["getEps", "setEps"]>.traits> {
  let summary = "oracle of row norms with bounded entries (AF-Muon)";
  let description = [{
    `S = -r U`, where row u of U answers row g of G, both of n entries:

        u_j = sign(g_j) min(clip, t |g_j|),  t such that
        sum_j u_j^2 = min(n, clip^2 * number of g_j that are not 0)

    It is the exact oracle of `||s_i|| <= r sqrt(n)` and `|s_ij| <= r clip`: a
    row of root mean square 1, none of whose entries is above `clip`. So it lies
    between sign (`clip = 1`) and row normalisation (`clip >= sqrt(n)`). A zero
    row stays zero, and so does a zero entry.

    t is found from below: entries that are clipped are set aside, the rest is
    scaled to the norm that is left, twelve times. Each time the row is
    feasible, so an early end costs a little norm and nothing else; for
    Gaussian rows three are exact. Sums and t are f64.

    Source: AF-Muon, arXiv:2610.01395 (there by bisection), clip 3.

    Example:
    ```mlir
    %s = geo.clipped_row %b1 radius(%lr) {clip = 3.0}
    ```
  }];
  let arguments = (ins Geo_Matrix:$gradient, F32:$radius, F64Attr:$clip);
  let results = (outs Geo_Matrix:$result);
  let assemblyFormat = [{
    $gradient `radius` `(` $radius `)` ``
    custom<Settings>(attr-dict, type($gradient), "getOperationName()")
  }];
}

def Geo_EqualizeOp : Geo_Op<"equalize", [
    DeclareOpInterfaceMethods<Geo_ExpandOpInterface>,
    AllTypesMatch<["gradient", "result"]>]> {
  let summary = "divide rows and columns by their root mean squares (MeqMuon)";
  let description = [{
    `S = -r N_c(N_r(G))` with `order = "rows_columns"` (the default), and
    `S = -r N_r(N_c(G))` with `order = "columns_rows"`: `N_r` divides every row
    by its root mean square, `N_c` every column by its own. A row or column
    whose root mean square is at most `floor` becomes zero; with `floor = 0`,
    the default, only zeros do. What is normalised last has root mean square r.

    Sums of squares are f64, and so are the factors; each normalisation rounds
    an entry once. Columns are seen whole, so this op has no tiles.

    Source: MeqMuon, arXiv:2609.35701, for embedding and head: rows, then
    columns, floor 1e-7, r = 0.2 lr.

    Example:
    ```mlir
    %s = geo.equalize %b1 radius(%r) {floor = 1.0e-7}
    ```
  }];
  let arguments = (ins Geo_Matrix:$gradient, F32:$radius,
                       DefaultValuedAttr<F64Attr, "0.0">:$floor,
                       DefaultValuedAttr<StrAttr, "\"rows_columns\"">:$order);
  let results = (outs Geo_Matrix:$result);
  let assemblyFormat = [{
    $gradient `radius` `(` $radius `)` ``
    custom<Settings>(attr-dict, type($gradient), "getOperationName()")
  }];
}

def Geo_EquidistantOp : Geo_Op<"equidistant", [
    DeclareOpInterfaceMethods<Geo_ExpandOpInterface>,
    AllTypesMatch<["gradient", "result"]>]> {
  let summary = "rows of one length, as far from one another as they can be";
  let description = [{
    `S = -r X`, where X starts as `RN(G)` and goes through `rounds` rounds of

        X <- RN(P polar(X))

    polar, centre, normalise rows. Every row has length r (a zero row of G may
    become one as well), so the row diameter is at most 2 r, while the smallest
    distance of two rows is raised: `rho(S) = delta(S)/D(S)` is 0.64 on a head
    gradient of 3000 x 128 where `RN(G)` has 0.09, and 1 for V = n + 1 rows, a
    regular simplex. The polar factor alone does not do it where rows are many
    and of very different lengths. The direction is that of a centred G: write
    `geo.center` before it, which facts may make redundant.

    The polar factor is `steps` steps of Newton-Schulz by the schedule
    `polar_express` with safety 1.01; a round costs O(m n^2). `dot` bounds the
    precision of its products.

    With `repulsion` sweeps afterwards, rows that are nearer than `distance`
    (of unit rows; 1.1 unless given) push one another apart, all pairs at once,
    and rows are centred and normalised again:

        c_ij = (distance - ||x_i - x_j||)^+ / (2 ||x_i - x_j||)
        x_i <- RN(P(x_i + f_i sum_j c_ij (x_i - x_j)))

    where f_i <= 1 damps a row with many near neighbours, and equal rows, which
    have no direction to part in, are left together. Five sweeps raise rho by
    another sixth at an unchanged angle to G. A sweep costs O(m^2 n) and m^2
    numbers of workspace, so it is refused for more than 8192 rows.

    A G whose rank is below both n and m - 1 has
    directions of rounding errors, which the rounds raise as well.

    Source: equidistant updates of arXiv:2608.22253, version 1.

    Example:
    ```mlir
    %c = geo.center %b1
    %s = geo.equidistant %c radius(%lr) {rounds = 5, steps = 6}
    ```
  }];
  let arguments = (ins Geo_Matrix:$gradient, F32:$radius,
                       DefaultValuedAttr<I64Attr, "5">:$rounds,
                       DefaultValuedAttr<I64Attr, "6">:$steps,
                       DefaultValuedAttr<I64Attr, "0">:$repulsion,
                       DefaultValuedAttr<F64Attr, "1.1">:$distance,
                       DefaultValuedAttr<Geo_DotAttr,
                         "::mlir::geo::Dot::ieee">:$dot);
  let results = (outs Geo_Matrix:$result);
  let assemblyFormat = [{
    $gradient `radius` `(` $radius `)` `` custom<Dot>($dot) ``
    custom<Settings>(attr-dict, type($gradient), "getOperationName()")
  }];
}

//===----------------------------------------------------------------------===//
// Spectral allocation
//===----------------------------------------------------------------------===//

def Geo_AllocateOp : Geo_Op<"allocate", [
    DeclareOpInterfaceMethods<Geo_ExpandOpInterface>,
    AllTypesMatch<["increment", "gradient", "result"]>]> {
  let summary = "enlarge a spectral step outside of its leading direction";
  let description = [{
    For a spectral increment `S = -r O` of the matrix M, with leading singular
    pairs (u_i, v_i), i = 1 .. k, of M:

        S <- g S + r sum_i (g - s_i) u_i v_i^T

    so that with an exact polar factor O the i-th singular value is `r s_i` for
    i <= k and `r g` beyond: the leading direction keeps its step, the rest of
    the spectrum takes one that is up to `gain` times as large.

        g    = 1 + (gain - 1) w,
        s_i  = 1 + (gain - 1) w ln(i)/ln(k)  (s_1 = 1 where k = `rank` is 1),
        w    = (1 - cos(pi min(1, t / warmup_steps))) / 2,  1 without warm-up

    t is the number of the update. w is formed in f64, without a library's
    cosine, so that it has the same bits everywhere.

    The pairs are found without a singular value decomposition of M: `rounds` of
    power iteration on M^T M, from a start that is the same at every step and
    for every weight of this width, in f64. A pair whose singular value is below
    2^-18 of the leading one does not count: in an f32 matrix of lower rank it is
    a rounding error, of which O holds next to nothing, so that taking from it
    would add a step uphill.

    The head is what O makes of it times `gain` minus what is taken away, so an
    error of the polynomial f is enlarged: a singular value s gets
    `gain (f(s) - 1) + 1` instead of 1. A spec with which that is not positive
    for some s in [0.02, 1 + margin] is refused, and so is a gain with which
    rounding errors of f (2^-20, or 2^-7 with `dot(bf16)`) would decide.

    Laws: with `gain = 1` the op vanishes. The answer is odd, and the same for
    c M, c > 0. Zero gives zero.

    Source: SAMuon, arXiv:2608.25990, equations 8 and 9; `rank = 1` is its
    SAMuon-lite.

    Example:
    ```mlir
    %s1 = geo.allocate %s, %m radius(%r) step(%t)
        {gain = 7.07, rank = 1, rounds = 12, warmup_steps = 1500}
    ```
  }];
  let arguments = (ins Geo_Matrix:$increment, Geo_Matrix:$gradient,
                       F32:$radius, I64:$step, F64Attr:$gain, I64Attr:$rank,
                       I64Attr:$rounds,
                       DefaultValuedAttr<I64Attr, "0">:$warmup_steps);
  let results = (outs Geo_Matrix:$result);
  let assemblyFormat = [{
    $increment `,` $gradient `radius` `(` $radius `)` `step` `(` $step `)` ``
    custom<Settings>(attr-dict, type($gradient), "getOperationName()")
  }];
  let hasFolder = 1;
}

#endif // STEEP_DIALECTS_GEO_GEONEIGHBOURS_TD
