//===- ProductWarpgroup.cpp - products by wgmma ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmma.mma_async m64nNk16 of bf16 operands (sm_90a): four warps have 64 rows
// of the tile, and tensor cores read both operands from shared memory, as
// matrix descriptors say. Descriptors and layouts: PTX ISA, "Asynchronous
// warpgroup level matrix shared memory layout" and "Matrix descriptor format".
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/ProductEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::block;

/// A warpgroup's warps, the rows of its products, and the terms of one.
static constexpr int64_t groupWarps = 4, groupRows = 64, groupTerms = 16;

namespace {
class WarpgroupProduct : public ProductEmitter {
public:
  using ProductEmitter::ProductEmitter;

protected:
  void layOut(OperandTile &tile) override { layOutRounded(tile); }
  Values start() override;
  Values step(Value buffer, ValueRange sums,
              llvm::function_ref<void()> meanwhile) override;
  LogicalResult finish(ValueRange sums) override;
  void publish() override;

private:
  Value describe(const OperandTile &tile, Value buffer, Value outer);
  Value advance(const OperandTile &tile, Value descriptor, int64_t term);
  Value multiplyAdd(Value a, Value b, Value sums);

  Value group; ///< the number of this thread's warpgroup
};
} // namespace

ProductEmitter::Values WarpgroupProduct::start() {
  group = divide(entry.warp, groupWarps);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  return Values(n / 2, zero);
}

/// Tensor cores see what threads, or their asynchronous copies, wrote only
/// beyond such a fence.
void WarpgroupProduct::publish() {
  NVVM::FenceProxyOp::create(
      builder, loc,
      NVVM::ProxyKindAttr::get(builder.getContext(),
                               NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(builder.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}

/// The descriptor of an operand's part from `outer` on, a multiple of the
/// swizzle's span or rows. In units of 16 bytes: the address, the distance from
/// one span to the next (bits 16 and on), and that from one group of eight rows
/// to the next (bits 32 and on); bit 62 is the swizzle of 128 bytes.
Value WarpgroupProduct::describe(const OperandTile &tile, Value buffer,
                                 Value outer) {
  Value index = tile.alongDepth ? multiply(outer, spanOfSwizzle)
                                : multiply(divide(outer, spanOfSwizzle),
                                           tile.rows * spanOfSwizzle);
  Value address = LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(),
                                           at(tile, buffer, index, 0));
  Value units = divide(
      arith::AndIOp::create(builder, loc, address, constant(0x3ffff)), 16);
  int64_t span = tile.rows * spanOfSwizzle * tile.elementBytes() / 16;
  int64_t rows = rowsOfSwizzle * spanOfSwizzle * tile.elementBytes() / 16;
  int64_t rest = span << 16 | rows << 32 | int64_t(1) << 62;
  return arith::OrIOp::create(builder, loc, units, constant(rest));
}

/// The same from `term` on. Units are exchanged by bits of the address alone,
/// so that terms of a span are an offset like any other; an address within a
/// block's memory never carries into the fields above it.
Value WarpgroupProduct::advance(const OperandTile &tile, Value descriptor,
                                int64_t term) {
  int64_t elements = tile.alongDepth
                         ? term / spanOfSwizzle * tile.rows * spanOfSwizzle +
                               term % spanOfSwizzle
                         : term * spanOfSwizzle;
  return add(descriptor, elements * tile.elementBytes() / 16);
}

Value WarpgroupProduct::multiplyAdd(Value a, Value b, Value sums) {
  MLIRContext *context = builder.getContext();
  auto element = NVVM::WGMMATypesAttr::get(context, NVVM::WGMMATypes::bf16);
  auto plus = NVVM::WGMMAScaleInAttr::get(context, NVVM::WGMMAScaleIn::one);
  auto layout = [&](bool isRow) {
    return NVVM::MMALayoutAttr::get(context, isRow ? NVVM::MMALayout::row
                                                   : NVVM::MMALayout::col);
  };
  return NVVM::WgmmaMmaAsyncOp::create(
      builder, loc, sums.getType(), sums, a, b,
      NVVM::MMAShapeAttr::get(context, groupRows, n, groupTerms), element,
      element, NVVM::WGMMATypesAttr::get(context, NVVM::WGMMATypes::f32),
      NVVM::WGMMAScaleOutAttr::get(context, NVVM::WGMMAScaleOut::one), plus,
      plus, layout(left.alongDepth), layout(!right.alongDepth),
      NVVM::MMAIntOverflowAttr());
}

/// Products are complete before the step ends: the barrier of the next one then
/// says that nobody reads this buffer any more. Copies run meanwhile.
ProductEmitter::Values
WarpgroupProduct::step(Value buffer, ValueRange sums,
                       llvm::function_ref<void()> meanwhile) {
  SmallVector<Type> types(sums.size(), builder.getF32Type());
  Value all = LLVM::UndefOp::create(
      builder, loc,
      LLVM::LLVMStructType::getLiteral(builder.getContext(), types));
  for (auto [i, sum] : llvm::enumerate(sums))
    all = LLVM::InsertValueOp::create(builder, loc, all, sum, int64_t(i));
  NVVM::WgmmaFenceAlignedOp::create(builder, loc);
  Value a = describe(left, buffer, multiply(group, groupRows)),
        b = describe(right, buffer, constant(0));
  for (int64_t term = 0; term < k; term += groupTerms)
    all = multiplyAdd(advance(left, a, term), advance(right, b, term), all);
  NVVM::WgmmaGroupSyncAlignedOp::create(builder, loc);
  meanwhile();
  NVVM::WgmmaWaitGroupSyncOp::create(builder, loc, 0);
  Values next;
  for (size_t i = 0; i < sums.size(); ++i)
    next.push_back(LLVM::ExtractValueOp::create(builder, loc, all, int64_t(i)));
  return next;
}

LogicalResult WarpgroupProduct::finish(ValueRange sums) {
  return emitParts(sums, multiply(entry.warp, groupRows / groupWarps),
                   constant(0), 1, n / 8);
}

bool mlir::block::isWarpgroupTile(ConfigAttr config) {
  ArrayRef<int64_t> tile = config.getTile();
  return config.getDot() == Dot::bf16 && config.getWarps() % groupWarps == 0 &&
         tile[0] == config.getWarps() / groupWarps * groupRows &&
         tile[1] % spanOfSwizzle == 0 && tile[1] <= 256 &&
         tile[2] % spanOfSwizzle == 0;
}

std::unique_ptr<ProductEmitter>
mlir::block::createWarpgroupProduct(OpBuilder &builder, KernelEntry &entry,
                                    const KernelShape &shape,
                                    ThreadEmitter &values) {
  return std::make_unique<WarpgroupProduct>(builder, entry, shape, values);
}
