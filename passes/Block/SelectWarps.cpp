//===- SelectWarps.cpp - how kernels are executed on GPUs -----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Block/SelectWarps.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::block;

/// Whether a kernel ends in sums over the rows of a matrix.
static bool sumsRows(func::FuncOp func) {
  for (auto op : func.getOps<linalg::LinalgOp>())
    if (op.getNumLoops() == 2 &&
        op.getIteratorTypesArray().front() == utils::IteratorType::reduction)
      return true;
  return false;
}

/// Whether a kernel reads numbers of eight bytes along its rows.
static bool readsDoubles(func::FuncOp func, int64_t columns) {
  return llvm::any_of(func.getOps<bufferization::ToTensorOp>(),
                      [&](bufferization::ToTensorOp op) {
                        auto type = cast<RankedTensorType>(op.getType());
                        return type.getRank() > 0 &&
                               type.getShape().back() == columns &&
                               type.getElementTypeBitWidth() > 32;
                      });
}

ConfigAttr mlir::block::selectForWarps(func::FuncOp func) {
  auto make = [&](int64_t rows, int64_t warps) {
    return ConfigAttr::get(func.getContext(), rows, /*chunk=*/0, /*tile=*/{},
                           /*micro=*/{}, /*amx=*/{}, /*lanes=*/0, warps,
                           /*stages=*/0,
                           /*maxnreg=*/0, Dot::ieee);
  };
  int64_t rows = 1, columns = 1;
  bool hasMatrix = false, hasVector = false;
  for (auto op : func.getOps<bufferization::MaterializeInDestinationOp>()) {
    int64_t rank = cast<ShapedType>(op.getSource().getType()).getRank();
    hasMatrix |= rank >= 2;
    hasVector |= rank == 1;
  }
  for (auto op : func.getOps<bufferization::ToTensorOp>()) {
    auto type = cast<RankedTensorType>(op.getType());
    if (type.getRank() > 0)
      rows = std::max(rows, type.getDimSize(0));
    if (type.getRank() > 1)
      columns = std::max(columns, type.getDimSize(1));
  }
  // A sum of everything is one block: enough warps to hide latency.
  if (!hasMatrix && !hasVector)
    return make(
        0, llvm::bit_floor<uint64_t>(std::clamp<int64_t>(rows / 256, 1, 16)));
  // Warps share the rows of a block's columns.
  if (!hasMatrix && sumsRows(func))
    return make(
        0, llvm::bit_floor<uint64_t>(std::clamp<int64_t>(rows / 16, 1, 16)));
  // A warp holds a row of up to 2048 floats in registers, 64 a thread beside
  // what is computed from them; 128 would spill. A longer one is shared by a
  // block; beyond what its warps hold, it is read again for every walk. Numbers
  // of eight bytes take twice the registers.
  bool isDouble = readsDoubles(func, columns);
  int64_t longest = isDouble ? 1024 : 2048;
  int64_t most = isDouble && columns <= 16 * longest ? 16 : 8;
  if (columns > longest)
    return make(1, llvm::bit_ceil<uint64_t>(std::min<int64_t>(
                       most, llvm::divideCeil(columns, longest))));
  // Four warps a block; short rows are several a warp, so that what a thread
  // computes once (bias corrections) is spread over enough elements.
  constexpr int64_t warps = 4;
  int64_t perWarp =
      std::clamp<int64_t>(512 / std::max<int64_t>(columns, 1), 1, 8);
  // Small matrices fill the device first.
  while (perWarp > 1 && rows / (warps * perWarp) < 256)
    perWarp /= 2;
  return make(warps * perWarp, warps);
}

ConfigAttr mlir::block::selectForWarpProduct(Operation *product, Dot dot) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(product->getResult(0).getType()).getShape();
  // Blocks of 128x128 reuse operands most; where they would leave processors
  // idle, 64x64. A thread holds 8x8 results, on tensor cores 32x32 of a warp or
  // 64x32. Steps of bf16 are as deep as a swizzled row. Two steps are on their
  // way while one is computed: 96 KiB for the largest, which all targets have.
  int64_t side = shape[0] * shape[1] >= 2048 * 2048 ? 128 : 64;
  int64_t warps = dot == Dot::ieee ? side * side / 64 / 32 : side / 16;
  SmallVector<int64_t> tile = {side, side, dot == Dot::bf16 ? 64 : 16};
  return ConfigAttr::get(product->getContext(), /*rows=*/0, /*chunk=*/0, tile,
                         /*micro=*/{}, /*amx=*/{}, /*lanes=*/0, warps,
                         /*stages=*/3,
                         /*maxnreg=*/0, dot);
}
