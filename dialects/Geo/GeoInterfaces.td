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

#endif // STEEP_DIALECTS_GEO_GEOINTERFACES_TD
