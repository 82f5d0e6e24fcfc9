//===- GeoFolds.cpp - algebra of the geo ops -----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
using namespace mlir;
using namespace mlir::geo;
void GeoDialect::getCanonicalizationPatterns(RewritePatternSet &) const {}
OpFoldResult ScaleOp::fold(FoldAdaptor) { return {}; }
OpFoldResult CorrectBiasOp::fold(FoldAdaptor) { return {}; }
OpFoldResult CenterOp::fold(FoldAdaptor) { return {}; }
OpFoldResult NormalizeRowsOp::fold(FoldAdaptor) { return {}; }
OpFoldResult ShapeScaleOp::fold(FoldAdaptor) { return {}; }
void ScaleOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void NormalizeRowsOp::getCanonicalizationPatterns(RewritePatternSet &,
                                                  MLIRContext *) {}
void ShapeScaleOp::getCanonicalizationPatterns(RewritePatternSet &,
                                               MLIRContext *) {}
void ApplyOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
