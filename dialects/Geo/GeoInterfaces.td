//===- GeoInterfaces.td - what passes ask of a geometry ----*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_GEOINTERFACES_TD
#define STEEP_DIALECTS_GEO_GEOINTERFACES_TD

include "mlir/IR/OpBase.td"

def Geo_GeometryOpInterface : OpInterface<"GeometryOpInterface"> {
  let cppNamespace = "::mlir::geo";
  let description = [{
    An oracle of a norm ball: `argmin <G, S>` over `||S|| <= r`. The minimum is
    `-r ||G||_*`, with the dual norm; so the decrease that an op can promise is
    its radius times its dual norm. A new geometry is one op that implements
    this, and no edited pass.
  }];
  let methods = [
    InterfaceMethod<"The matrix that the oracle is fed.",
      "::mlir::Value", "getGradient">,
    InterfaceMethod<"The same, to replace it.",
      "::mlir::OpOperand &", "getGradientMutable">,
    InterfaceMethod<"What is added to the norm that is divided by.",
      "::llvm::APFloat", "getEps">,
    InterfaceMethod<"Sets what is added to the norm that is divided by.",
      "void", "setEps", (ins "::llvm::APFloat":$eps)>,
    InterfaceMethod<[{
        The dual norm of `G`, as a formula in the dialect's notation.
      }], "::llvm::StringRef", "getDualNorm">,
    InterfaceMethod<[{
        Whether the answer is the same for `c G`, for every c > 0.
      }], "bool", "isHomogeneous", (ins), "", [{
        return $_op.getEps().isZero();
      }]>,
    InterfaceMethod<[{
        Whether the answer is the same for `G` and `G + 1 a^T`, for every row
        vector a.
      }], "bool", "isBlindToRowShifts", (ins), "", "return false;">,
    InterfaceMethod<[{
        Whether every column of the answer sums to zero, whatever `G` is.
      }], "bool", "hasCenteredResult", (ins), "", "return false;">
  ];
}

def Geo_ExpandOpInterface : OpInterface<"ExpandOpInterface"> {
  let cppNamespace = "::mlir::geo";
  let description = [{
    An op that needs matrix products or sums over a whole matrix, so that no
    tile of it is an op of its kind. `geo-expand-spectral` replaces it by what
    this builds: ops that are tiled (geo ops, `linalg.generic`), products, and
    ops with this interface, which are expanded in turn. A geometry that
    iterates implements it, and no pass is edited.

    Products are `linalg.matmul` of the forms A B and A^T B, which read their
    right operand by contiguous rows; their sides may be rounded up, with
    zeros; a precision other than ieee is handed on as attribute `geo.dot`, and
    a product that is symmetric is marked with `geo.symmetric`.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the values of all results at the rewriter's insertion point, the
        sides of products rounded up to multiples of `padTo` where zeros change
        nothing. Fails on a dynamic shape, and on nothing else.
      }], "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "expand",
      (ins "::mlir::RewriterBase &":$rewriter, "int64_t":$padTo)>
  ];
}

def Geo_HostKernelOpInterface : OpInterface<"HostKernelOpInterface"> {
  let cppNamespace = "::mlir::geo";
  let description = [{
    An op that no block program computes: a solver of the host does, a function
    with the signature of a CPU kernel, whose bitcode `steepc` links in. It
    becomes a kernel of its own, of one block. Its arguments are the operands,
    then the results as memory, the work space, and the constants. Scalars are
    arguments of the step, or `tensor<f32>`s where a kernel computes them. A
    target without a host refuses the op by its name.
  }];
  let methods = [
    InterfaceMethod<"The function's symbol; empty where the op must be "
                    "rewritten before.",
      "::llvm::StringRef", "getHostSymbol">,
    InterfaceMethod<"Bytes of work space, of static shapes.",
      "int64_t", "getWorkspaceBytes">,
    InterfaceMethod<"Numbers that follow the work space.",
      "::llvm::SmallVector<::mlir::TypedAttr>", "getHostConstants">,
    InterfaceMethod<[{
        What a call takes, for people: how often it goes through what, since
        the time depends on the data.
      }], "std::string", "getHostCost">
  ];
}

def Geo_MeasureOpInterface : OpInterface<"MeasureOpInterface"> {
  let cppNamespace = "::mlir::geo";
  let description = [{
    An op that looks at what a step computes and changes nothing of it: no
    projection is kept because of it.
  }];
  let methods = [
    InterfaceMethod<[{
        The matrix that is centred before it is measured, or null.
      }], "::mlir::Value", "getCenteredInput", (ins), "", "return {};">,
    InterfaceMethod<[{
        Told that facts make this centring redundant.
      }], "void", "assumeCentered", (ins), "", "return;">
  ];
}

#endif // STEEP_DIALECTS_GEO_GEOINTERFACES_TD
