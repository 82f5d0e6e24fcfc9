//===- Affine.cpp - matrices that are affine in another one ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Geo/Affine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::geo;

//===----------------------------------------------------------------------===//
// Finding it
//===----------------------------------------------------------------------===//

namespace {
/// An expression of elements: a slope, an offset, or both.
struct Terms {
  std::optional<Product> slope, offset;
};

/// Reads the arithmetic of one element, written into a block of its own.
class Reader {
public:
  Reader(Block &block, const Cone &cone) : block(block), cone(cone) {}
  std::optional<Terms> read(Value element);

private:
  std::optional<Terms> readLeaf(Value element);
  Block &block;
  const Cone &cone;
};
} // namespace

static Product multiply(Product a, const Product &b) {
  llvm::append_range(a.numbers, b.numbers);
  llvm::append_range(a.rows, b.rows);
  llvm::append_range(a.columns, b.columns);
  a.isNegative ^= b.isNegative;
  return a;
}

static Terms negate(Terms terms) {
  for (std::optional<Product> *product : {&terms.slope, &terms.offset})
    if (*product)
      (*product)->isNegative ^= true;
  return terms;
}

/// Sums of two products are none.
static std::optional<Terms> add(Terms a, const Terms &b) {
  if ((a.slope && b.slope) || (a.offset && b.offset))
    return std::nullopt;
  if (b.slope)
    a.slope = b.slope;
  if (b.offset)
    a.offset = b.offset;
  return a;
}

static std::optional<Terms> multiply(const Terms &a, const Terms &b) {
  if (a.slope && b.slope)
    return std::nullopt;
  if (a.slope)
    return multiply(b, a);
  if (!a.offset)
    return std::nullopt;
  Terms result = b;
  for (std::optional<Product> *product : {&result.slope, &result.offset})
    if (*product)
      *product = multiply(**product, *a.offset);
  return result;
}

std::optional<Terms> Reader::readLeaf(Value element) {
  auto argument = dyn_cast<BlockArgument>(element);
  Product product;
  if (!argument || argument.getOwner() != &block) {
    product.numbers.push_back(element);
    return Terms{std::nullopt, product};
  }
  unsigned number = argument.getArgNumber();
  if (number == 0)
    return Terms{Product(), std::nullopt};
  ArrayRef<unsigned> axes = cone.getInputs()[number].axes;
  if (axes.size() != 1)
    return std::nullopt;
  (axes[0] == 0 ? product.rows : product.columns).push_back(number);
  return Terms{std::nullopt, product};
}

std::optional<Terms> Reader::read(Value element) {
  Operation *op = element.getDefiningOp();
  if (!op || op->getBlock() != &block)
    return readLeaf(element);
  SmallVector<Terms, 2> operands;
  for (Value operand : op->getOperands()) {
    std::optional<Terms> terms = read(operand);
    if (!terms)
      return std::nullopt;
    operands.push_back(*terms);
  }
  if (isa<arith::MulFOp>(op))
    return multiply(operands[0], operands[1]);
  if (isa<arith::AddFOp>(op))
    return add(operands[0], operands[1]);
  if (isa<arith::SubFOp>(op))
    return add(operands[0], negate(operands[1]));
  if (isa<arith::NegFOp>(op))
    return negate(operands[0]);
  return std::nullopt;
}

std::optional<Affine> Affine::find(const Cone &cone, OpBuilder &b) {
  OpBuilder::InsertionGuard guard(b);
  Block block;
  for (const detail::Operand &input : cone.getInputs())
    block.addArgument(getElementTypeOrSelf(input.value.getType()),
                      input.value.getLoc());
  b.setInsertionPointToStart(&block);
  Value element = cone.emit(b, block.getArguments());
  std::optional<Terms> terms = Reader(block, cone).read(element);
  block.dropAllDefinedValueUses();
  if (!terms || !terms->slope || terms->slope->rows.size() > 1 ||
      (terms->offset && terms->offset->rows.size() > 1))
    return std::nullopt;
  return Affine{*terms->slope, terms->offset};
}

//===----------------------------------------------------------------------===//
// Its mean row
//===----------------------------------------------------------------------===//

static Value extend(OpBuilder &b, Location loc, Value x) {
  return x.getType().isF64()
             ? x
             : arith::ExtFOp::create(b, loc, b.getF64Type(), x).getResult();
}

/// The sum of a vector's values, in f64.
static Value createSum(OpBuilder &b, Location loc, Value vector) {
  return geo::detail::createGeneric(
      b, loc, {{vector, {0}}},
      {{geo::detail::createZeros(b, loc, {}, b.getF64Type()), {}}}, "r",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {arith::AddFOp::create(b, loc, v[1], extend(b, loc, v[0]))};
      })[0];
}

/// `sum` times what of the product no sum has: numbers, and the column's values
/// among `inputs`.
static Value applyProduct(OpBuilder &b, Location loc, Value sum,
                          const Product &product, ValueRange columns) {
  for (Value number : product.numbers)
    sum = arith::MulFOp::create(b, loc, sum, extend(b, loc, number));
  for (Value column : columns)
    sum = arith::MulFOp::create(b, loc, sum, extend(b, loc, column));
  return product.isNegative ? arith::NegFOp::create(b, loc, sum).getResult()
                            : sum;
}

Value geo::createAffineMean(OpBuilder &b, Location loc, const Cone &cone,
                            const Affine &affine, Value rows) {
  ArrayRef<geo::detail::Operand> inputs = cone.getInputs();
  SmallVector<geo::detail::Operand> summed = {inputs[0]}, operands;
  for (unsigned row : affine.slope.rows)
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
  for (unsigned column : affine.slope.columns)
    operands.push_back({inputs[column].value, {0}});
  unsigned offset = operands.size();
  if (affine.offset) {
    for (unsigned column : affine.offset->columns)
      operands.push_back({inputs[column].value, {0}});
    for (unsigned row : affine.offset->rows)
      operands.push_back({createSum(b, loc, inputs[row].value), {}});
  }
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, sums), b.getF32Type());
  return geo::detail::createGeneric(
      b, loc, operands, {{empty, {0}}}, "p",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        ValueRange columns = v.slice(1, offset - 1);
        Value sum = applyProduct(b, loc, v[0], affine.slope, columns);
        if (affine.offset) {
          bool hasRow = !affine.offset->rows.empty();
          columns = v.slice(offset, affine.offset->columns.size());
          Value ones = hasRow ? v[operands.size() - 1] : rows;
          sum = arith::AddFOp::create(
              b, loc, sum, applyProduct(b, loc, ones, *affine.offset, columns));
        }
        Value quotient = arith::DivFOp::create(b, loc, sum, rows);
        return {arith::TruncFOp::create(b, loc, b.getF32Type(), quotient)};
      })[0];
}
