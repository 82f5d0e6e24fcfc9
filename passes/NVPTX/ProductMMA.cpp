//===- ProductMMA.cpp - products by tensor cores --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mma.sync with operands of bf16 (m16n8k16) or tf32 (m16n8k8) and sums of
// binary32. Operands of bf16 are read by ldmatrix. Operands for tf32 are
// binary32 in memory and split when they are read from shared memory, into a
// leading and a remaining part, x = hi + lo, and a product is lo hi + hi lo +
// hi hi, small terms first.
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/ProductEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::block;

namespace {
class MMAProduct : public ProductEmitter {
public:
  MMAProduct(OpBuilder &builder, KernelEntry &entry, const KernelShape &shape,
             ThreadEmitter &values)
      : ProductEmitter(builder, entry, shape, values),
        isBF16(shape.config.getDot() == Dot::bf16), down(m / warpsDown / 16),
        across(n / (entry.warps / warpsDown) / 8) {}

  /// A warp makes a part of the tile; two rows of such parts.
  static constexpr int64_t warpsDown = 2;

protected:
  void layOut(OperandTile &tile) override;
  Values start() override;
  Values step(Value buffer, ValueRange sums,
              llvm::function_ref<void()> meanwhile) override;
  LogicalResult finish(ValueRange sums) override;

private:
  /// Registers of one part of an operand: as they are, or leading and
  /// remaining parts.
  struct Fragment {
    Values high, low;
  };
  Values loadMatrices(const OperandTile &tile, Value buffer, Value row,
                      Value column, int64_t rowOffset);
  Fragment loadLeft(Value buffer, int64_t tile, int64_t term);
  void loadRight(Value buffer, int64_t term, SmallVectorImpl<Fragment> &parts);
  Value loadNumber(const OperandTile &tile, Value buffer, Value outer,
                   Value inner, int64_t outerOffset, int64_t innerOffset);
  Fragment split(ArrayRef<Value> numbers);
  void multiplyAdd(ArrayRef<Value> a, ArrayRef<Value> b, Value *sums);

  bool isBF16;
  int64_t down, across;        ///< 16x8 parts of a warp
  Value firstRow, firstColumn; ///< of this warp
  Value group, member;         ///< lane / 4, lane % 4
};
} // namespace

/// As in memory, swizzled or such that the elements that a warp reads of a tf32
/// operand start in different banks.
void MMAProduct::layOut(OperandTile &tile) {
  if (isBF16)
    return layOutRounded(tile);
  tile.element = builder.getF32Type();
  tile.stride = tile.columns + (tile.alongDepth ? 4 : 8);
}

ProductEmitter::Values MMAProduct::start() {
  int64_t warpsAcross = entry.warps / warpsDown;
  firstRow = multiply(divide(entry.warp, warpsAcross), down * 16);
  firstColumn = multiply(remainder(entry.warp, warpsAcross), across * 8);
  group = divide(entry.lane, 4);
  member = remainder(entry.lane, 4);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  return Values(down * across * 4, zero);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Four 8x8 matrices of bf16; lane i gives the address of row i % 8 of matrix
/// i / 8, `rowOffset` rows, a multiple of 8, beyond `row`. They are transposed
/// where memory is.
ProductEmitter::Values MMAProduct::loadMatrices(const OperandTile &tile,
                                                Value buffer, Value row,
                                                Value column,
                                                int64_t rowOffset) {
  MLIRContext *context = builder.getContext();
  Type i32 = builder.getI32Type();
  auto type = LLVM::LLVMStructType::getLiteral(context, {i32, i32, i32, i32});
  Value address =
      at(tile, buffer, indexIn(tile, row, column), rowOffset * spanOfSwizzle);
  Value four = NVVM::LdMatrixOp::create(
      builder, loc, type, address, 4,
      tile.alongDepth ? NVVM::MMALayout::row : NVVM::MMALayout::col,
      NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
      NVVM::LdStMatrixEltType::B16);
  Values registers;
  for (int64_t i = 0; i < 4; ++i)
    registers.push_back(LLVM::ExtractValueOp::create(builder, loc, four, i));
  return registers;
}

/// One number of a binary32 tile, wherever its dimensions lie.
Value MMAProduct::loadNumber(const OperandTile &tile, Value buffer, Value outer,
                             Value inner, int64_t outerOffset,
                             int64_t innerOffset) {
  Value row = tile.alongDepth ? outer : inner,
        column = tile.alongDepth ? inner : outer;
  int64_t offset = tile.alongDepth ? outerOffset * tile.stride + innerOffset
                                   : innerOffset * tile.stride + outerOffset;
  Value index = add(multiply(row, tile.stride), column);
  return LLVM::LoadOp::create(builder, loc, builder.getF32Type(),
                              at(tile, buffer, index, offset), 4);
}

/// x = hi + lo, both numbers of tf32's eleven bits: hi is rounded to nearest,
/// so the difference is exact.
MMAProduct::Fragment MMAProduct::split(ArrayRef<Value> numbers) {
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  Value half = arith::ConstantIntOp::create(builder, loc, 0x1000, 32);
  Value kept = arith::ConstantIntOp::create(builder, loc, ~0x1fff, 32);
  auto round = [&](Value number) -> Value {
    Value bits = arith::BitcastOp::create(builder, loc, i32, number);
    bits = arith::AddIOp::create(builder, loc, bits, half);
    return arith::AndIOp::create(builder, loc, bits, kept);
  };
  Fragment parts;
  for (Value number : numbers) {
    Value high = round(number);
    Value rest = arith::SubFOp::create(
        builder, loc, number,
        arith::BitcastOp::create(builder, loc, f32, high));
    parts.high.push_back(high);
    parts.low.push_back(round(rest));
  }
  return parts;
}

/// Rows `tile * 16` and on of this warp, terms from `term` on.
MMAProduct::Fragment MMAProduct::loadLeft(Value buffer, int64_t tile,
                                          int64_t term) {
  int64_t row = tile * 16;
  if (!isBF16) {
    Values numbers;
    for (int64_t inner : {0, 4})
      for (int64_t outer : {0, 8})
        numbers.push_back(loadNumber(left, buffer, add(firstRow, group), member,
                                     row + outer, term + inner));
    return split(numbers);
  }
  if (left.alongDepth)
    return {loadMatrices(left, buffer, add(firstRow, remainder(entry.lane, 16)),
                         add(multiply(divide(entry.lane, 16), 8), term), row),
            {}};
  Value inner =
      add(remainder(entry.lane, 8), multiply(divide(entry.lane, 16), 8));
  Value outer = add(firstRow, multiply(remainder(divide(entry.lane, 8), 2), 8));
  return {loadMatrices(left, buffer, inner, add(outer, row), term), {}};
}

/// All columns of this warp, terms from `term` on.
void MMAProduct::loadRight(Value buffer, int64_t term,
                           SmallVectorImpl<Fragment> &parts) {
  if (!isBF16) {
    for (int64_t tile = 0; tile < across; ++tile) {
      Values numbers;
      for (int64_t inner : {0, 4})
        numbers.push_back(loadNumber(right, buffer, add(firstColumn, group),
                                     member, tile * 8, term + inner));
      parts.push_back(split(numbers));
    }
    return;
  }
  // Two parts a load.
  for (int64_t tile = 0; tile < across; tile += 2) {
    Values four;
    if (right.alongDepth) {
      Value outer = add(firstColumn, add(remainder(entry.lane, 8),
                                         multiply(divide(entry.lane, 16), 8)));
      Value inner = multiply(remainder(divide(entry.lane, 8), 2), 8);
      four = loadMatrices(right, buffer, outer, add(inner, term), tile * 8);
    } else {
      Value outer = add(firstColumn, multiply(divide(entry.lane, 16), 8));
      four = loadMatrices(right, buffer, remainder(entry.lane, 16),
                          add(outer, tile * 8), term);
    }
    parts.push_back({{four[0], four[1]}, {}});
    parts.push_back({{four[2], four[3]}, {}});
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void MMAProduct::multiplyAdd(ArrayRef<Value> a, ArrayRef<Value> b,
                             Value *sums) {
  Type f32 = builder.getF32Type();
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               {f32, f32, f32, f32});
  NVVM::MMATypes element = isBF16 ? NVVM::MMATypes::bf16 : NVVM::MMATypes::tf32;
  Value four = NVVM::MmaOp::create(
      builder, loc, type, a, b, ValueRange(ArrayRef(sums, 4)),
      ArrayRef<int64_t>{16, 8, isBF16 ? 16 : 8}, std::nullopt, std::nullopt,
      std::array{element, element},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (int64_t i = 0; i < 4; ++i)
    sums[i] = LLVM::ExtractValueOp::create(builder, loc, four, i);
}

ProductEmitter::Values MMAProduct::step(Value buffer, ValueRange sums,
                                        llvm::function_ref<void()> meanwhile) {
  meanwhile();
  Values next(sums);
  for (int64_t term = 0; term < k; term += isBF16 ? 16 : 8) {
    SmallVector<Fragment> columns;
    loadRight(buffer, term, columns);
    for (int64_t i = 0; i < down; ++i) {
      Fragment rows = loadLeft(buffer, i, term);
      for (int64_t j = 0; j < across; ++j) {
        Value *sum = &next[(i * across + j) * 4];
        if (!isBF16) {
          multiplyAdd(rows.low, columns[j].high, sum);
          multiplyAdd(rows.high, columns[j].low, sum);
        }
        multiplyAdd(rows.high, columns[j].high, sum);
      }
    }
  }
  return next;
}

LogicalResult MMAProduct::finish(ValueRange sums) {
  return emitParts(sums, firstRow, firstColumn, down, across);
}

std::unique_ptr<ProductEmitter>
mlir::block::createMMAProduct(OpBuilder &builder, KernelEntry &entry,
                              const KernelShape &shape, ThreadEmitter &values) {
  ArrayRef<int64_t> tile = shape.config.getTile();
  int64_t across = entry.warps / MMAProduct::warpsDown;
  bool isBF16 = shape.config.getDot() == Dot::bf16;
  int64_t side = isBF16 ? spanOfSwizzle : 8;
  bool fits = entry.warps % MMAProduct::warpsDown == 0 &&
              tile[0] % (16 * MMAProduct::warpsDown) == 0 &&
              tile[1] % (16 * across) == 0 &&
              llvm::all_of(tile, [&](int64_t n) { return n % side == 0; });
  if (!fits) {
    shape.func.emitOpError("expected ")
        << entry.warps
        << " warps, two rows of them, to share in parts of 16x16 a tile of "
           "multiples of "
        << side << ", but got tile = [" << tile << "]";
    return nullptr;
  }
  return std::make_unique<MMAProduct>(builder, entry, shape, values);
}
