//===- GeoDecompose.cpp - geo ops in terms of linalg ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
using namespace mlir;
using namespace mlir::geo;
#define STUB(X)                                                                \
  FailureOr<SmallVector<Value>> X::decomposeOperation(OpBuilder &) {           \
    return failure();                                                          \
  }
STUB(ScaleOp)
STUB(EmaOp)
STUB(MomentumOp)
STUB(CorrectBiasOp)
STUB(CenterOp)
STUB(NormalizeRowsOp)
STUB(RowSquaresOp) STUB(MaxRowOp) STUB(CommonBallOp) STUB(SpectralOp)
    STUB(ShapeScaleOp) STUB(AdamWOp) STUB(ApplyOp)
