//===- Scaled.cpp - matrices that are another one, scaled -----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Geo/Scaled.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::geo;

//===----------------------------------------------------------------------===//
// Finding it
//===----------------------------------------------------------------------===//

namespace {
/// Reads the arithmetic of one element, written into a block of its own.
class Reader {
public:
  Reader(Block &block, const Cone &cone) : block(block), cone(cone) {}
  /// Collects the factors of `element`; false where it is no product.
  bool read(Value element);

  Scaled product;
  unsigned matrices = 0; ///< how often the cone's matrix is a factor

private:
  bool readLeaf(Value element);
  Block &block;
  const Cone &cone;
};
} // namespace

bool Reader::readLeaf(Value element) {
  auto argument = dyn_cast<BlockArgument>(element);
  if (!argument || argument.getOwner() != &block) {
    product.numbers.push_back(element);
    return true;
  }
  unsigned number = argument.getArgNumber();
  if (number == 0) {
    ++matrices;
    return true;
  }
  ArrayRef<unsigned> axes = cone.getInputs()[number].axes;
  if (axes.size() != 1)
    return false;
  (axes[0] == 0 ? product.rows : product.columns).push_back(number);
  return true;
}

bool Reader::read(Value element) {
  Operation *op = element.getDefiningOp();
  if (!op || op->getBlock() != &block)
    return readLeaf(element);
  if (!isa<arith::MulFOp, arith::NegFOp>(op))
    return false;
  product.isNegative ^= isa<arith::NegFOp>(op);
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) { return read(operand); });
}

std::optional<Scaled> Scaled::find(const Cone &cone, OpBuilder &b) {
  OpBuilder::InsertionGuard guard(b);
  Block block;
  for (const detail::Operand &input : cone.getInputs())
    block.addArgument(getElementTypeOrSelf(input.value.getType()),
                      input.value.getLoc());
  b.setInsertionPointToStart(&block);
  Value element = cone.emit(b, block.getArguments());
  Reader reader(block, cone);
  bool isProduct = reader.read(element);
  block.dropAllDefinedValueUses();
  if (!isProduct || reader.matrices != 1 || reader.product.rows.size() > 1)
    return std::nullopt;
  return reader.product;
}

//===----------------------------------------------------------------------===//
// Its mean row
//===----------------------------------------------------------------------===//

static Value extend(OpBuilder &b, Location loc, Value x) {
  return x.getType().isF64()
             ? x
             : arith::ExtFOp::create(b, loc, b.getF64Type(), x).getResult();
}

Value geo::createScaledMean(OpBuilder &b, Location loc, const Cone &cone,
                            const Scaled &scaled, Value rows) {
  ArrayRef<geo::detail::Operand> inputs = cone.getInputs();
  SmallVector<geo::detail::Operand> summed = {inputs[0]}, operands;
  for (unsigned row : scaled.rows)
    summed.push_back(inputs[row]);
  Value sums = geo::detail::createColumnSums(
      b, loc, summed,
      [](OpBuilder &b, Location loc, ValueRange v, Value sum) -> Value {
        Value x = extend(b, loc, v[0]);
        if (v.size() == 1)
          return arith::AddFOp::create(b, loc, sum, x);
        // A product of two f32 is exact in f64, so nothing else is rounded.
        return math::FmaOp::create(b, loc, x, extend(b, loc, v[1]), sum);
      });

  operands.push_back({sums, {0}});
  for (unsigned column : scaled.columns)
    operands.push_back({inputs[column].value, {0}});
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, sums), b.getF32Type());
  return geo::detail::createGeneric(
      b, loc, operands, {{empty, {0}}}, "p",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value sum = v[0];
        SmallVector<Value> factors(scaled.numbers);
        llvm::append_range(factors, v.slice(1, scaled.columns.size()));
        for (Value factor : factors)
          sum = arith::MulFOp::create(b, loc, sum, extend(b, loc, factor));
        if (scaled.isNegative)
          sum = arith::NegFOp::create(b, loc, sum);
        Value quotient = arith::DivFOp::create(b, loc, sum, rows);
        return {arith::TruncFOp::create(b, loc, b.getF32Type(), quotient)};
      })[0];
}
