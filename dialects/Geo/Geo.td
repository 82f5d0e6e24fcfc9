//===- Geo.td - what an update is --------------------------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_GEO_TD
#define STEEP_DIALECTS_GEO_GEO_TD

include "mlir/IR/DialectBase.td"

def Geo_Dialect : Dialect {
  let name = "geo";
  let cppNamespace = "::mlir::geo";
  let summary = "Geometries of optimizer updates and their building blocks";
  let description = [{
    An update of a weight matrix is steepest in some geometry: among all
    increments `S` of at most a given size, it minimises `<G, S>`. The dialect
    says which size is meant (the oracles: `geo.spectral`, `geo.common_ball`,
    `geo.max_row`), what the oracle is fed (`geo.ema`, `geo.momentum`,
    `geo.correct_bias`, `geo.scale`, `geo.center`) and how its answer reaches
    the weight (`geo.shape_scale`, `geo.apply`). `geo.adamw` stands beside
    them as the baseline. Nothing here knows of machines.

    Notation, as in arXiv:2608.22253: `G` is a gradient or what plays its part,
    `S` the **signed** increment, learning rate included, that is added to the
    weight; `P X` is `X` minus its mean row; `||.||` without index is the
    Euclidean norm; `r` a radius.

    Every op works on values: matrices are `tensor<mxnxf32>` of rank 2, static
    or dynamic, rows are outputs of the layer. Constants are attributes in f64
    and rounded to f32 once; learning rate, decay, clip factor and step number
    are operands. A type `tensor<?x?xf32>`, what specs are written in, is not
    spelled out:

    ```mlir
    %b1 = geo.ema %b, %g {beta = 0.95}
    %b1 = geo.ema %b, %g {beta = 0.95} : tensor<50257x512xf32>
    ```

    ### Facts

    What holds for a function argument, and cannot be seen in the code, stands
    in its attribute `geo.facts`, an array of fact attributes
    (`#geo.zero_column_sum`, `#geo.shift_invariant`). Passes use facts, they
    never guess them.

    ```mlir
    func.func @head(%g: tensor<50257x512xf32> {geo.facts = [#geo.zero_column_sum]})
    ```

    A matrix product that an expansion knows to be symmetric, as X^T X, A A for a
    symmetric A, or a product of symmetric matrices that commute, carries the unit
    attribute `geo.symmetric`. In exact arithmetic it is; rounding may tell (i, j) from
    (j, i), so whoever computes one triangle and mirrors it writes each pair
    from one sum. Elementwise values of symmetric operands, as b A + c A A, are
    symmetric as well.

    ```mlir
    %p = linalg.matmul {geo.symmetric} ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
  // Its own attribute parser tells what there is where a name is unknown.
  let useDefaultAttributePrinterParser = 0;
  let hasRegionArgAttrVerify = 1;
  let hasOperationAttrVerify = 1;
  let hasCanonicalizer = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attribute,
                        ::mlir::DialectAsmPrinter &printer) const override;
    std::optional<ParseOpHook>
    getParseOperationHook(::llvm::StringRef name) const override;

    /// Name of the argument attribute that lists facts.
    static constexpr ::llvm::StringLiteral factsAttrName = "geo.facts";
    /// Name of the attribute that carries a geometry's `dot` to the products
    /// it is expanded to; absent for ieee.
    static constexpr ::llvm::StringLiteral dotAttrName = "geo.dot";
    /// Name of the unit attribute of a product that is symmetric but for
    /// rounding: a target may compute one triangle and mirror it.
    static constexpr ::llvm::StringLiteral symmetricAttrName = "geo.symmetric";
    /// Name of the attribute (f64) that a relaxed geometry and its function
    /// carry: the least part of the asked geometry's decrease.
    static constexpr ::llvm::StringLiteral guaranteeAttrName = "geo.guarantee";
  }];
}

#endif // STEEP_DIALECTS_GEO_GEO_TD
