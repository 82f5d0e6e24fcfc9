//===- RoundOperands.cpp - geo-round-operands -----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "passes/Geo/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::geo {
#define GEN_PASS_DEF_ROUNDOPERANDS
#include "passes/Geo/Passes.h.inc"
} // namespace mlir::geo

using namespace mlir;
using namespace mlir::geo;

namespace {
struct RoundOperandsPass : geo::impl::RoundOperandsBase<RoundOperandsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::MatmulOp> products;
    getOperation().walk([&](linalg::MatmulOp op) {
      auto dot = op->getAttrOfType<DotAttr>(GeoDialect::dotAttrName);
      if (dot && dot.getValue() == Dot::bf16)
        products.push_back(op);
    });
    for (linalg::MatmulOp op : products)
      for (OpOperand *operand : op.getDpsInputOperands())
        if (isMatrixOfF32(operand->get()))
          roundOperand(op, *operand);
    rounded.clear();
  }

private:
  static bool isMatrixOfF32(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape() && type.getElementType().isF32();
  }
  void roundOperand(linalg::MatmulOp op, OpOperand &operand);
  Value getRounded(Value value);

  llvm::DenseMap<Value, Value> rounded;
};
} // namespace

/// The value in bf16, made where the value is, once.
Value RoundOperandsPass::getRounded(Value value) {
  Value &known = rounded[value];
  if (known)
    return known;
  OpBuilder b(&getContext());
  b.setInsertionPointAfterValue(value);
  Location loc = value.getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  Value empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), b.getBF16Type());
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  known =
      linalg::GenericOp::create(b, loc, empty.getType(), ValueRange{value},
                                ValueRange{empty}, maps, loops,
                                [](OpBuilder &b, Location loc, ValueRange v) {
                                  Value result = arith::TruncFOp::create(
                                      b, loc, b.getBF16Type(), v[0]);
                                  linalg::YieldOp::create(b, loc, result);
                                })
          .getResult(0);
  return known;
}

/// The product's body is written for the types of its operands.
void RoundOperandsPass::roundOperand(linalg::MatmulOp op, OpOperand &operand) {
  operand.set(getRounded(operand.get()));
  BlockArgument number = op.getMatchingBlockArgument(&operand);
  Type f32 = number.getType();
  number.setType(BFloat16Type::get(&getContext()));
  OpBuilder b = OpBuilder::atBlockBegin(op.getBlock());
  auto extended = arith::ExtFOp::create(b, op.getLoc(), f32, number);
  number.replaceAllUsesExcept(extended, extended);
}
