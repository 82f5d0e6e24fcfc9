//===- GeoSpectral.td - the oracle of the spectral norm ----*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included from GeoOps.td, after its classes.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_GEOSPECTRAL_TD
#define STEEP_DIALECTS_GEO_GEOSPECTRAL_TD

def Geo_CoefficientsAttr : AnyAttrOf<[StrAttr, ArrayAttr],
    "a schedule's name, or triples [a, b, c]">;

def Geo_SpectralOp : Geo_Op<"spectral", Geo_OracleTraits<
    ["isHomogeneous"]>.traits # [
    DeclareOpInterfaceMethods<Geo_ExpandOpInterface>]> {
  let summary = "oracle of the spectral norm, by Newton-Schulz";
  let description = [{
    `S = -r NS(G / (||G||_F + eps))`. `NS` moves every singular value towards 1
    by odd polynomials and leaves the singular vectors: step k maps X, with its
    smaller side first, to

        A = X X^T ;  X <- a_k X + (b_k A + c_k A^2) X

    The exact oracle of `||S||_op <= r` is `-r polar(G)`, its decrease
    `r ||G||_nuclear`; how near the answer comes is a matter of the schedule of
    coefficients, of 1 to 20 steps:

    | schedule | (a, b, c) | after the last triple |
    | --- | --- | --- |
    | `jordan` | one triple, singular values end in about [0.68, 1.20] (K. Jordan 2024) | the same |
    | `you` | five triples | the fifth again |
    | `samuon` | four triples (arXiv:2608.25990, table 4), within 0.007 of 1 from 0.02 on | none: at most four steps |
    | `polar_express` | seven triples; `safety` s divides their a, b, c by s, s^3, s^5 (arXiv:2505.16932) | (15/8, -10/8, 3/8) |
    | `cubic` | (15/8, -10/8, 3/8), converges to the polar factor | the same |
    | `[[a, b, c], ...]` | the spec's own | what `then` says: `repeat` (the last) or `cubic`; without it there are no more steps than triples |

    The verifier works out the image f of a singular value on (0, 1 + margin],
    margin 1e-3, or 2^-7 with `dot(bf16)`, and refuses a schedule that leaves
    0 < f <= 1.5 there, or takes a singular value of at least 0.01 below 1e-3,
    naming it: `polar_express` needs at least five steps and a safety factor
    (1.01 is usual). Coefficients of own triples, which may be integers, are 0
    or of a size in [1e-9, 1e4], with `dot(bf16)` in [1e-9, 64]: f32 steps lose
    or magnify others. A remark prints the band of
    f on [0.01, 1]. `dot` bounds the precision of the products.

    `normalization` says what G is divided by before the first step:

    | normalization | divisor |
    | --- | --- |
    | `frobenius` | `||G||_F + eps` |
    | `safety` | `s ||G||_F + eps` with the schedule's safety factor s |
    | `scale_free` | `||G||_F (1 + eps)`: the answer is the same for c G, from the smallest c to the largest that f32 bears, bit by bit for powers of two |

    Quotients are formed in f64 where nothing keeps the inverse norm within f32:
    with `scale_free`, and with an eps of 0 or below the normal numbers of f32.
    So a G of denormal numbers has a step, and not NaN.

    `form` says how the steps are computed; in exact arithmetic it changes
    nothing:

    | form | products |
    | --- | --- |
    | `standard` | those above |
    | `gram` | with R = X X^T and Q = I a step is `Z = b R + c R^2`, `Q <- Q Z + a Q`, `R <- (a I + Z)^2 R`, and X <- Q X at the end (J. Zhang et al. 2026) |
    | `auto` | the one of the two that takes less arithmetic for the shape: gram where one side is much the larger; standard where gram is refused |

    Rounding errors of the Gram form grow with the product of the a's;
    `restarts` lists the steps after which Q is applied to X and R formed anew.
    By default there is none in five steps of `jordan`, one after step 3 for
    `polar_express`, `you` and own triples, and more where the product would
    exceed 500. A Gram form whose product times the unit roundoff of the
    products exceeds 2^-10 is refused; so it always is with `dot(bf16)`.

    Source: K. Jordan et al., Muon, 2024; arXiv:2608.22253, training recipe.

    Example:
    ```mlir
    %s = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, eps = 1.0e-5}
    %s = geo.spectral %n radius(%r) dot(bf16)
           {schedule = "polar_express", steps = 5, safety = 1.05, eps = 1.0e-5}
    %s = geo.spectral %n radius(%r)
           {schedule = "you", steps = 6, form = "gram", restarts = [3],
            normalization = "scale_free"}
    %s = geo.spectral %n radius(%r)
           {schedule = [[2.0, -1.5, 0.5]], steps = 8, then = "cubic"}
    ```
  }];
  let arguments = (ins Geo_Matrix:$gradient, F32:$radius,
                       Geo_CoefficientsAttr:$schedule,
                       I64Attr:$steps, DefaultValuedAttr<F64Attr, "0.0">:$eps,
                       OptionalAttr<F64Attr>:$safety,
                       OptionalAttr<StrAttr>:$then,
                       DefaultValuedAttr<StrAttr, "\"frobenius\"">:$normalization,
                       DefaultValuedAttr<StrAttr, "\"standard\"">:$form,
                       OptionalAttr<I64ArrayAttr>:$restarts,
                       DefaultValuedAttr<Geo_DotAttr,
                         "::mlir::geo::Dot::ieee">:$dot);
  let results = (outs Geo_Matrix:$result);
  let extraClassDeclaration = [{
    /// Coefficients of all steps; nothing where the verifier would fail.
    std::optional<std::vector<::steep::schedules::Triple>> getTriples();
    /// Those of the attribute, or those by default.
    ::steep::schedules::Restarts getAllRestarts();
    /// The form that the expansion takes for this shape, which is static.
    ::steep::schedules::Form getChosenForm();
  }];
  let assemblyFormat = [{
    $gradient `radius` `(` $radius `)` `` custom<Dot>($dot) ``
    custom<Settings>(attr-dict, type($gradient), "getOperationName()")
  }];
}

#endif // STEEP_DIALECTS_GEO_GEOSPECTRAL_TD
