//===- GeoMeasure.td - what a step says about itself -------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers that a rule measures and yields. Included at the end of GeoOps.td,
// whose classes it uses.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_GEOMEASURE_TD
#define STEEP_DIALECTS_GEO_GEOMEASURE_TD

/// Looks at matrices and gives numbers in f64. It sees what a step computes: a
/// projection that facts make redundant is not there for it, and never comes
/// back because of it, so that a step has the same bits with and without.
class Geo_MeasureOp<string mnemonic, list<Trait> traits = []>
    : Geo_Op<mnemonic, [Geo_MeasureOpInterface] # traits>;

/// A measurement by sums over rows, on every target.
class Geo_SumMeasureOp<string mnemonic, list<Trait> traits = []>
    : Geo_MeasureOp<mnemonic,
        [DeclareOpInterfaceMethods<Geo_ExpandOpInterface>] # traits> {
  let extraClassDefinition = [{
    ::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>
    $cppClass::expand(::mlir::RewriterBase &rewriter, int64_t) {
      if (!getGradient().getType().hasStaticShape())
        return ::mlir::failure();
      return decomposeOperation(rewriter);
    }
  }];
}

/// A measurement by a function of the host, whose symbol follows the mnemonic;
/// `cost` says what it takes.
class Geo_HostMeasureOp<string mnemonic, string cost>
    : Geo_MeasureOp<mnemonic,
        [DeclareOpInterfaceMethods<Geo_HostKernelOpInterface>]> {
  let extraClassDefinition = [{
    ::llvm::StringRef $cppClass::getHostSymbol() {
      return "steep_kernel_}] # mnemonic # [{";
    }
    int64_t $cppClass::getWorkspaceBytes() {
      return detail::getMeasureBytes(*this);
    }
    ::llvm::SmallVector<::mlir::TypedAttr> $cppClass::getHostConstants() {
      return detail::getMeasureConstants(*this);
    }
    std::string $cppClass::getHostCost() { return "}] # cost # [{"; }
    ::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>
    $cppClass::decomposeOperation(::mlir::OpBuilder &) {
      return detail::refuseDecomposition(*this);
    }
    ::llvm::LogicalResult $cppClass::verify() {
      return detail::verifyMeasure(*this);
    }
  }];
}

class Geo_MeasureSyntax<string operand> {
  string format = "$" # operand # [{ ``
    custom<Settings>(attr-dict, type($}] # operand # [{), "getOperationName()")
  }];
}

//===----------------------------------------------------------------------===//
// By sums over rows
//===----------------------------------------------------------------------===//

def Geo_MeasureCertificateOp : Geo_SumMeasureOp<"measure_certificate", [
    DeclareOpInterfaceMethods<Geo_MeasureOpInterface,
      ["getCenteredInput", "assumeCentered"]>]> {
  let summary = "how good projected RowNorm is at least, on this gradient";
  let description = [{
    With n_i the norms of the rows of `P G` and `V_eff = (sum n_i)^2 / sum
    n_i^2`,

        ratio = 1/sqrt(2 (1 - 1/V_eff)),

    rounded down: `geo.common_ball` with eps = 0 takes at least this part of the
    decrease of the exact row-diameter oracle. `rows` is V_eff, rounded up; it
    is at least 2, and 0 for a zero gradient, whose ratio is 1.

    The norms are taken in the pass that writes the step, which has the rows at
    hand; then V numbers are summed. Where facts say that the columns sum to
    zero, `geo-infer-centering` says so here (`assumes_centered`): P is left out
    as in the step. The sums are then looked at, by each block for the rows that
    it has just written, and both results are NaN where `||1^T G||` is more than 1e-3 of `sum n_i`: the fact does not hold,
    and the step is no projected RowNorm.

    Source: the flow y_ij = n_i n_j (u_i - u_j) / sum n and Cauchy-Schwarz; see
    arXiv:2608.22253 for the dual.

    Example:
    ```mlir
    %ratio, %rows = geo.measure_certificate %c
    ```
  }];
  let arguments = (ins Geo_Matrix:$gradient, UnitAttr:$assumes_centered);
  let results = (outs Geo_Number:$ratio, Geo_Number:$rows);
  let assemblyFormat = Geo_MeasureSyntax<"gradient">.format;
  let hasCanonicalizer = 1;
}

def Geo_MeasureTensionOp : Geo_SumMeasureOp<"measure_tension", [
    DeclareOpInterfaceMethods<Geo_MeasureOpInterface,
      ["getCenteredInput", "assumeCentered"]>]> {
  let summary = "bounds of the row diameter's oracle, by projected RowNorm";
  let description = [{
    With n_i the norms of the rows of `P G`, and `ratio` the number of
    `geo.measure_certificate`,

        lower = 1/2 sum n_i <= T(G) <= lower / max(ratio, jung) = upper:

    the decrease of projected RowNorm at D(S) <= 1 is a lower bound of that of
    the exact oracle, T(G), and the certificate says how far below it can be; so
    does the guarantee that holds for every gradient, jung = sqrt((k+1)/(2k))
    with k = min(V - 1, d), which is the sharper one where V_eff is beyond d + 1.
    Both are rounded outwards. `geo-relax-row-diameter` puts this in the place
    of the bounds that the solvers of `geo.row_diameter` have.

    Where facts leave P out (`assumes_centered`), both are NaN where the column
    sums contradict them, as of `geo.measure_certificate`.

    Source: as of `geo.measure_certificate`.

    Example:
    ```mlir
    %lower, %upper = geo.measure_tension %c
    ```
  }];
  let arguments = (ins Geo_Matrix:$gradient, UnitAttr:$assumes_centered);
  let results = (outs Geo_Number:$lower, Geo_Number:$upper);
  let assemblyFormat = Geo_MeasureSyntax<"gradient">.format;
}

def Geo_MeasureColumnsOp : Geo_SumMeasureOp<"measure_columns"> {
  let summary = "how far columns are from summing to zero";
  let description = [{
    `norm = ||1^T G||` and `defect = norm / sum_i ||g_i||`, 0 for a zero matrix:
    zero to rounding where `#geo.zero_column_sum` holds.

    Example:
    ```mlir
    %norm, %defect = geo.measure_columns %g
    ```
  }];
  let arguments = (ins Geo_Matrix:$gradient);
  let results = (outs Geo_Number:$norm, Geo_Number:$defect);
  let assemblyFormat = Geo_MeasureSyntax<"gradient">.format;
}

def Geo_MeasureDecreaseOp : Geo_SumMeasureOp<"measure_decrease", [
    AllTypesMatch<["gradient", "increment"]>]> {
  let summary = "what an increment takes off the loss, to first order";
  let description = [{
    `-<G, S>`, a sum in f64 of products that are exact there.

    Example:
    ```mlir
    %decrease = geo.measure_decrease %g, %s
    ```
  }];
  let arguments = (ins Geo_Matrix:$gradient, Geo_Matrix:$increment);
  let results = (outs Geo_Number:$result);
  let assemblyFormat = [{
    $gradient `,` $increment ``
    custom<Settings>(attr-dict, type($gradient), "getOperationName()")
  }];
}

def Geo_DualNormOp : Geo_SumMeasureOp<"dual_norm", [
    DeclareOpInterfaceMethods<Geo_MeasureOpInterface,
      ["getCenteredInput", "assumeCentered"]>]> {
  let summary = "the decrease of a ball's oracle at radius 1";
  let description = [{
    | `ball` | value |
    | --- | --- |
    | `max_row` | `sum_i \|\|g_i\|\|` |
    | `common_ball` | `sum_i \|\|(P G)_i\|\|` |
    | `max_column` | `sum_j \|\|G_:j\|\|` |
    | `sign` | `sum \|g_ij\|` |
    | `frobenius` | `\|\|G\|\|_F` |

    The spectral ball's is a sum of singular values, which no sum over rows
    gives: `geo.measure_nuclear`. The row diameter's are the bounds of
    `geo.row_diameter`.

    Where facts say that the columns sum to zero, P is left out
    (`assumes_centered`); the value is NaN where the column sums contradict
    them, as of `geo.measure_certificate`.

    Example:
    ```mlir
    %n = geo.dual_norm %c {ball = "common_ball"}
    ```
  }];
  let arguments = (ins Geo_Matrix:$gradient, StrAttr:$ball,
                       UnitAttr:$assumes_centered);
  let results = (outs Geo_Number:$result);
  let assemblyFormat = Geo_MeasureSyntax<"gradient">.format;
}

//===----------------------------------------------------------------------===//
// By the host
//===----------------------------------------------------------------------===//

def Geo_MeasureDiameterOp : Geo_HostMeasureOp<"measure_diameter",
    "V^2 d operations at most, less the pairs of rows that norms rule out"> {
  let summary = "the row diameter, exactly";
  let description = [{
    `D(S) = max_{i<j} \|\|s_i - s_j\|\|`, 0 for one row, NaN where an entry is
    not finite. Blocks of pairs that norms rule out are not looked at; pairs
    that may decide are measured by subtraction, in f64.

    Example:
    ```mlir
    %d = geo.measure_diameter %s
    ```
  }];
  let arguments = (ins Geo_Matrix:$increment);
  let results = (outs Geo_Number:$result);
  let assemblyFormat = Geo_MeasureSyntax<"increment">.format;
}

def Geo_MeasureSeparationOp : Geo_HostMeasureOp<"measure_separation",
    "twice V^2 d operations at most, less the pairs of rows that norms rule out"> {
  let summary = "the smallest distance of two rows";
  let description = [{
    `separation = min_{i<j} \|\|s_i - s_j\|\|` and `rho = separation / D(S)`, in
    [0, 1]: 1 where all rows are equally far from one another. A single row is
    separated by infinity; rho is NaN where D(S) is zero, and both are where an
    entry is not finite.

    Example:
    ```mlir
    %separation, %rho = geo.measure_separation %s
    ```
  }];
  let arguments = (ins Geo_Matrix:$increment);
  let results = (outs Geo_Number:$separation, Geo_Number:$rho);
  let assemblyFormat = Geo_MeasureSyntax<"increment">.format;
}

def Geo_MeasureCoveringOp : Geo_HostMeasureOp<"measure_covering",
    "at most 2000 sweeps over the rows, V d operations each, and the diameter"> {
  let summary = "bounds of the covering radius";
  let description = [{
    `lower <= min_c max_i \|\|s_i - c\|\| <= upper`, by steps of Frank and Wolfe
    on the dual of the smallest ball, until the bounds are within 1e-3 of each
    other or 2000 steps are done. What the diameter says is never given up:
    `D(S)/2 <= lower` and `upper <= sqrt(k/(2 (k+1))) D(S)`, k = min(V - 1, d)
    (Jung's theorem). NaN where an entry is not finite.

    Example:
    ```mlir
    %lower, %upper = geo.measure_covering %s
    ```
  }];
  let arguments = (ins Geo_Matrix:$increment);
  let results = (outs Geo_Number:$lower, Geo_Number:$upper);
  let assemblyFormat = Geo_MeasureSyntax<"increment">.format;
}

def Geo_MeasureHilbertOp : Geo_HostMeasureOp<"measure_hilbert",
    "V N d operations"> {
  let summary = "how far an increment moves a head's predictions";
  let description = [{
    The root mean square, over the rows h of `states` [N, d], of the Hilbert
    distance `max_i (S h)_i - min_i (S h)_i` between the next-token
    distributions before and after a step S. A rule has no hidden states of its
    own; those who run this op on its own have. NaN where an entry is not
    finite.

    Example:
    ```mlir
    %rms = geo.measure_hilbert %s, %h : tensor<1000x64xf32>, tensor<512x64xf32>
    ```
  }];
  let arguments = (ins Geo_Matrix:$increment, Geo_Matrix:$states);
  let results = (outs Geo_Number:$result);
  let assemblyFormat = [{
    $increment `,` $states attr-dict `:` type($increment) `,` type($states)
  }];
}

def Geo_MeasureNuclearOp : Geo_HostMeasureOp<"measure_nuclear",
    "some ten sweeps, m^2 n operations each, m the smaller side"> {
  let summary = "the sum of singular values";
  let description = [{
    The dual norm of the operator norm: the decrease of an exact
    `geo.spectral` at radius 1. By one-sided rotations of Jacobi, in f64, of the
    smaller side: O(m^2 n) a sweep, some ten sweeps. NaN where an entry is not
    finite.

    Example:
    ```mlir
    %n = geo.measure_nuclear %g
    ```
  }];
  let arguments = (ins Geo_Matrix:$gradient);
  let results = (outs Geo_Number:$result);
  let assemblyFormat = Geo_MeasureSyntax<"gradient">.format;
}

#endif // STEEP_DIALECTS_GEO_GEOMEASURE_TD
