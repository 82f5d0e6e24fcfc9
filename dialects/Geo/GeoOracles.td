//===- GeoOracles.td - oracles without a closed form -------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included at the end of GeoOps.td, whose classes it uses.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_GEOORACLES_TD
#define STEEP_DIALECTS_GEO_GEOORACLES_TD

/// One number in f64, as a tensor of rank 0.
def Geo_Number : Type<CPred<[{
      ::llvm::isa<::mlir::RankedTensorType>($_self) &&
      ::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0 &&
      ::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isF64()
    }]>, "a tensor<f64>", "::mlir::RankedTensorType">,
    BuildableType<
      "::mlir::RankedTensorType::get({}, $_builder.getF64Type())">;

/// A radius; in memory, where a kernel computes it for a function of the host.
def Geo_HostRadius : AnyTypeOf<[F32, 0DTensorOf<[F32]>],
    "an f32 or a tensor<f32>">;

def Geo_RowDiameterOp : Geo_Op<"row_diameter", Geo_OracleTraits<
    ["getEps", "setEps", "isBlindToRowShifts", "hasCenteredResult"]>.traits # [
      DeclareOpInterfaceMethods<Geo_HostKernelOpInterface>]> {
  let summary = "oracle of the row diameter";
  let description = [{
    `S = argmin <G, S>` over `D(S) = max_{i<j} ||s_i - s_j|| <= 2 r` and
    `1^T S = 0`. (2 r, so that the radius means the same as for
    `geo.common_ball`, whose answer it improves.) For all hidden states of norm
    at most R, the head's Hilbert distance moves by at most `R D(S)`; so this is
    the steepest step under a bound on that. Its decrease is `2 r T(G)`, T being
    the least tension of a flow that balances `P G`; there is no closed form.

    `form` says what is done, and nothing else is ever done instead:

    | form | answer | serves |
    | --- | --- | --- |
    | `exact` | cutting planes and primal-dual Newton steps, to a certified gap of at most `tolerance` (1e-12 or more), or what `steps` Newton steps reach | up to 4096 x 4096, in seconds for some hundred rows, tens of seconds on a gradient late in a training; a CPU |
    | `repair` | rows of 0.6 u_i, `steps` repairs of all pairs that are too long, a division by the exact diameter | up to 4194304 rows, some sweeps over all pairs; a CPU |
    | `relax` | `geo.common_ball`, by `geo-relax-row-diameter`; at least sqrt((k+1)/(2k)) of the decrease, k the rank of G, which stays visible as `geo.guarantee` | any size, any target |

    In the forms `exact` and `repair` the stored f32 values have `D(S) <= 2 r`,
    checked in f64; `relax` has it within 2^-21 relative.

    The other results bound T(G) from below, by a feasible S, and from above, by
    a balanced flow: `lower <= T(G) <= upper` whatever happened, so that the
    step's relative gap is at most `(upper - lower)/upper`. Those of `relax` are
    the ones of `geo.measure_tension`: one pass over G, where they are asked
    for.

    No form takes an eps: the answer does not depend on the scale of G, and the
    guarantee of `relax` is one of exact normalisation. A zero row moves to
    wherever it does not matter. `steps` is 200 by default for `exact`, 3 for
    `repair`, and `tolerance`, of `exact` alone, 1e-6.

    The radius is any number that the rule has, a constant of at least 0, or
    computed (`lr rho`); one with a negative factor is refused. What turns out to
    be negative or not finite has no answer of the solvers, and S is NaN. A function of the host reads a computed one from
    memory: `block-form-kernels` makes it a `tensor<f32>`.

    Source: arXiv:2608.22253, the row-diameter oracle, its dual and the
    guarantee of projected RowNorm (by Jung's theorem).

    Example:
    ```mlir
    %s, %lower, %upper = geo.row_diameter %c radius(%lr)
        {form = "exact", tolerance = 1.0e-6, steps = 200}
    ```
  }];
  let arguments = (ins Geo_Matrix:$gradient, Geo_HostRadius:$radius,
                       StrAttr:$form, OptionalAttr<F64Attr>:$tolerance,
                       OptionalAttr<I64Attr>:$steps);
  let results = (outs Geo_Matrix:$result, Geo_Number:$lower, Geo_Number:$upper);
  let assemblyFormat = [{
    $gradient `radius` `(` custom<Radius>($radius, type($radius)) `)` ``
    custom<Settings>(attr-dict, type($gradient), "getOperationName()")
  }];
  let extraClassDeclaration = [{
    bool isRelaxed() { return getForm() == "relax"; }
    /// Newton steps or repairs at most, as given or by default.
    int64_t getStepLimit();
    /// The largest relative gap of `exact`, as given or by default.
    double getLargestGap();
  }];
}

#endif // STEEP_DIALECTS_GEO_GEOORACLES_TD
