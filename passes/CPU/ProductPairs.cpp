//===- ProductPairs.cpp - products of BF16, two terms at a time -----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/CPU/ProductLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::block;

/// Terms k and k + 1 of all sums. A pair of the left operand is one word of 32
/// bits and is broadcast as such.
FailureOr<ProductLoops::Values>
ProductLoops::addPair(Value k, ArrayRef<TilePlace> places, Values sums) {
  std::optional<TileMemory> right =
      values.findMemory(product.getDpsInputs()[1]);
  if (!right || !readsAcross(0) == !leftPanel)
    return product->emitOpError("expected operands of BF16 in memory");
  // One load an operand's part, however many sums it goes to.
  std::map<std::pair<void *, int64_t>, Value> lefts, rights;
  for (auto [place, sum] : llvm::zip(places, sums)) {
    Value &factors = rights[{place.index[1].getAsOpaquePointer(), place.width}];
    if (!factors)
      factors = values.loadPairs(*right, operandAt(1, place, k));
    Value &factor = lefts[{place.index[0].getAsOpaquePointer(), 0}];
    if (!factor) {
      FailureOr<Value> pair = readLeftPair(operandAt(0, place, k));
      if (failed(pair))
        return failure();
      factor = *pair;
    }
    sum = multiplyPairs(factor, factors, sum);
  }
  return sums;
}

/// The elements at terms k and k + 1, as one word.
FailureOr<Value> ProductLoops::readLeftPair(const TilePlace &at) {
  std::optional<TileMemory> left = values.findMemory(product.getDpsInputs()[0]);
  if (!left)
    return product->emitOpError("expected operands of BF16 in memory");
  Value pair = readsAcross(0) ? values.loadPairs(*left, at)
                              : values.load(*left, {{at.index, 1, 2}});
  Value word = vector::BitCastOp::create(
      builder, loc, VectorType::get({1}, builder.getI32Type()), pair);
  return vector::ExtractOp::create(builder, loc, word, ArrayRef<int64_t>{0})
      .getResult();
}

/// sum + left[0] right[0] + left[1] right[1] for each pair: one instruction
/// where the target has it for this width, else both halves as FP32, which they
/// are the upper half of.
Value ProductLoops::multiplyPairs(Value left, Value right, Value sum) {
  auto type = cast<VectorType>(sum.getType());
  int64_t width = type.getDimSize(0);
  auto words = VectorType::get({width}, builder.getI32Type());
  Value factors = vector::BroadcastOp::create(builder, loc, words, left);
  if (dotBF16 && width >= 4) {
    Value pairs =
        vector::BitCastOp::create(builder, loc, right.getType(), factors);
    std::string name =
        "llvm.x86.avx512bf16.dpbf16ps." + std::to_string(32 * width);
    return LLVM::CallIntrinsicOp::create(builder, loc, type,
                                         builder.getStringAttr(name),
                                         ValueRange{sum, pairs, right})
        .getResult(0);
  }
  Value others = vector::BitCastOp::create(builder, loc, words, right);
  auto splat = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(words, builder.getI32IntegerAttr(value)));
  };
  Value half = splat(16), upper = splat(0xffff0000);
  auto toFloat = [&](Value bits) -> Value {
    return vector::BitCastOp::create(builder, loc, type, bits);
  };
  Value even[2], odd[2];
  Value both[2] = {factors, others};
  for (auto [i, pairs] : llvm::enumerate(both)) {
    even[i] = toFloat(arith::ShLIOp::create(builder, loc, pairs, half));
    odd[i] = toFloat(arith::AndIOp::create(builder, loc, pairs, upper));
  }
  sum = multiplyAdd(even[0], even[1], sum);
  return multiplyAdd(odd[0], odd[1], sum);
}
