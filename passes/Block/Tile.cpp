//===- Tile.cpp - block-tile ----------------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two kinds of kernel: those whose blocks own rows, and the others (sums to a
// scalar, column means), which are one block. In each the innermost loop body
// computes one small part of every result, of static size: a row or a piece of
// one. What remains at the edges gets bodies of its own. Products of matrices
// have loops already (block-lower-products).
//
//===----------------------------------------------------------------------===//
#include "dialects/Block/Block.h"
#include "passes/Block/Cleanup.h"
#include "passes/Block/Config.h"
#include "passes/Block/Cutting.h"
#include "passes/Block/Passes.h"
#include "passes/Block/Tiler.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/TilingInterface.h"

namespace mlir::block {
#define GEN_PASS_DEF_TILE
#include "passes/Block/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;
using bufferization::MaterializeInDestinationOp;

namespace {

class KernelTiling {
public:
  KernelTiling(func::FuncOp func, const Cutting &cutting)
      : func(func), outputs(cutting.outputs), cuts(cutting.cuts),
        builder(func.getBody().front().getTerminator()), loc(func.getLoc()) {}

  LogicalResult run();

private:
  scf::ForallOp buildForall();
  LogicalResult buildBlock(scf::ForallOp forall);
  FailureOr<SmallVector<Value>> buildLoops(unsigned depth, ValueRange blocks,
                                           ValueRange current);
  FailureOr<SmallVector<Value>> buildFor(unsigned depth, ValueRange blocks,
                                         ValueRange current);
  FailureOr<SmallVector<Value>>
  buildRemainder(unsigned depth, ValueRange blocks, ValueRange current);
  FailureOr<SmallVector<Value>> buildTile(ValueRange current);

  Part blockPart(const Output &output);
  Part stepPart(const Output &output, ArrayRef<OpFoldResult> offsets);
  Value slice(Value tensor, const Part &part) {
    return builder.createOrFold<tensor::ExtractSliceOp>(
        loc, tensor, part.offsets, part.sizes, part.strides(builder));
  }
  // Offsets are made of arith ops: affine.apply would be composed anew by every
  // tiling, and equal offsets would be different values.
  OpFoldResult add(OpFoldResult x, OpFoldResult y);
  OpFoldResult multiply(OpFoldResult x, int64_t factor);
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  OpFoldResult apply(AffineExpr expr, ArrayRef<OpFoldResult> operands) {
    return affine::makeComposedFoldedAffineApply(builder, loc, expr, operands);
  }

  func::FuncOp func;
  ArrayRef<Output> outputs;
  ArrayRef<Cut> cuts;
  OpBuilder builder;
  Location loc;
  /// Where the current block starts, how large it is, where in it the current
  /// step is, and how large that is; for each cut dimension.
  SmallVector<OpFoldResult, 2> start, extent, local;
  SmallVector<int64_t, 2> step;
};

} // namespace

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

OpFoldResult KernelTiling::add(OpFoldResult x, OpFoldResult y) {
  if (isZeroInteger(x) || isZeroInteger(y))
    return isZeroInteger(x) ? y : x;
  return builder.createOrFold<arith::AddIOp>(
      loc, getValueOrCreateConstantIndexOp(builder, loc, x),
      getValueOrCreateConstantIndexOp(builder, loc, y));
}

OpFoldResult KernelTiling::multiply(OpFoldResult x, int64_t factor) {
  if (isZeroInteger(x) || factor == 1)
    return x;
  return builder.createOrFold<arith::MulIOp>(
      loc, getValueOrCreateConstantIndexOp(builder, loc, x), constant(factor));
}

/// The part of an output that the current block writes.
Part KernelTiling::blockPart(const Output &output) {
  Part part = Part::whole(builder, output.type().getShape());
  for (unsigned dim = 0; dim < cuts.size(); ++dim) {
    part.offsets[dim] = start[dim];
    part.sizes[dim] = extent[dim];
  }
  return part;
}

/// The part that the current step writes, where it starts in each cut
/// dimension.
Part KernelTiling::stepPart(const Output &output,
                            ArrayRef<OpFoldResult> offsets) {
  Part part = Part::whole(builder, output.type().getShape());
  for (unsigned dim = 0; dim < cuts.size(); ++dim) {
    part.offsets[dim] = offsets[dim];
    part.sizes[dim] = builder.getIndexAttr(step[dim]);
  }
  return part;
}

scf::ForallOp KernelTiling::buildForall() {
  int64_t grid = 1;
  for (const Cut &cut : cuts)
    grid *= cut.blocks();
  func->setAttr(BlockDialect::gridAttrName, builder.getI64IntegerAttr(grid));
  SmallVector<Value> dests;
  for (const Output &output : outputs)
    dests.push_back(output.dest);
  Attribute mapping =
      gpu::GPUBlockMappingAttr::get(func.getContext(), gpu::MappingId::DimX);
  auto forall = scf::ForallOp::create(
      builder, loc, ArrayRef<OpFoldResult>{builder.getIndexAttr(grid)}, dests,
      builder.getArrayAttr(mapping));
  for (auto [output, result] : llvm::zip(outputs, forall.getResults()))
    MaterializeInDestinationOp::create(builder, loc, /*result=*/TypeRange{},
                                       result, output.memory, /*restrict=*/true,
                                       /*writable=*/true);
  return forall;
}

LogicalResult KernelTiling::buildBlock(scf::ForallOp forall) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(forall.getTerminator());
  AffineExpr d0;
  bindDims(func.getContext(), d0);
  Value block = forall.getInductionVar(0);
  SmallVector<Value, 2> blocks;
  for (unsigned dim = 0; dim < cuts.size(); ++dim) {
    const Cut &cut = cuts[dim];
    AffineExpr index = cuts.size() == 1 ? d0
                       : dim == 0       ? d0 % cut.blocks()
                                        : d0.floorDiv(cuts[0].blocks());
    OpFoldResult at = cut.blocks() == 1 ? builder.getIndexAttr(0)
                                        : apply(index, {OpFoldResult(block)});
    blocks.push_back(getValueOrCreateConstantIndexOp(builder, loc, at));
    start.push_back(multiply(at, cut.block));
    OpFoldResult size = builder.getIndexAttr(cut.block);
    if (cut.size % cut.block != 0) {
      AffineExpr left = getAffineConstantExpr(cut.size, func.getContext()) - d0;
      AffineMap map = AffineMap::get(
          1, 0, {getAffineConstantExpr(cut.block, func.getContext()), left},
          func.getContext());
      size = affine::makeComposedFoldedAffineMin(builder, loc, map,
                                                 {start.back()});
    }
    extent.push_back(size);
    local.push_back(builder.getIndexAttr(0));
    step.push_back(cut.step);
  }

  bool wholeBlock = llvm::all_of(cuts, [](const Cut &cut) {
    return cut.block == cut.step && cut.size % cut.step == 0;
  });
  SmallVector<Value> current;
  for (auto [output, arg] : llvm::zip(outputs, forall.getRegionIterArgs())) {
    Part part = blockPart(output);
    current.push_back(slice(arg, part));
  }
  FailureOr<SmallVector<Value>> results =
      wholeBlock ? buildTile(current) : buildLoops(0, blocks, current);
  if (failed(results))
    return failure();

  builder.setInsertionPointToEnd(forall.getTerminator().getBody());
  for (auto [output, value, arg] :
       llvm::zip(outputs, *results, forall.getRegionIterArgs())) {
    Part part = blockPart(output);
    tensor::ParallelInsertSliceOp::create(builder, loc, value, arg,
                                          part.offsets, part.sizes,
                                          part.strides(builder));
  }
  return success();
}

/// Loops over the steps of a block, columns outside, rows inside: what one row
/// reads of a transposed matrix is near for the next.
FailureOr<SmallVector<Value>> KernelTiling::buildLoops(unsigned depth,
                                                       ValueRange blocks,
                                                       ValueRange current) {
  if (depth == cuts.size()) {
    FailureOr<SmallVector<Value>> parts = buildTile(current);
    if (failed(parts))
      return failure();
    SmallVector<Value> next;
    for (auto [output, value, into] : llvm::zip(outputs, *parts, current)) {
      Part part = stepPart(output, local);
      next.push_back(tensor::InsertSliceOp::create(builder, loc, value, into,
                                                   part.offsets, part.sizes,
                                                   part.strides(builder)));
    }
    return next;
  }
  FailureOr<SmallVector<Value>> whole = buildFor(depth, blocks, current);
  if (failed(whole))
    return failure();
  return buildRemainder(depth, blocks, *whole);
}

FailureOr<SmallVector<Value>>
KernelTiling::buildFor(unsigned depth, ValueRange blocks, ValueRange current) {
  unsigned dim = cuts.size() - 1 - depth;
  const Cut &cut = cuts[dim];
  if (cut.whole() == 0)
    return SmallVector<Value>(current);
  // Whole steps of this block: all of it, but for the last block's remainder.
  OpFoldResult end = extent[dim];
  if (cut.size % cut.step != 0) {
    AffineExpr d0;
    bindDims(func.getContext(), d0);
    AffineExpr left =
        getAffineConstantExpr(cut.whole(), func.getContext()) - d0;
    AffineMap map = AffineMap::get(
        1, 0, {getAffineConstantExpr(cut.block, func.getContext()), left},
        func.getContext());
    end = affine::makeComposedFoldedAffineMin(builder, loc, map, {start[dim]});
  }
  Value lower = constant(0), stride = constant(cut.step);
  Value upper = getValueOrCreateConstantIndexOp(builder, loc, end);
  auto loop = scf::ForOp::create(builder, loc, lower, upper, stride, current);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  local[dim] = loop.getInductionVar();
  step[dim] = cut.step;
  FailureOr<SmallVector<Value>> inner =
      buildLoops(depth + 1, blocks, loop.getRegionIterArgs());
  if (failed(inner))
    return failure();
  scf::YieldOp::create(builder, loc, *inner);
  return SmallVector<Value>(loop.getResults());
}

FailureOr<SmallVector<Value>> KernelTiling::buildRemainder(unsigned depth,
                                                           ValueRange blocks,
                                                           ValueRange current) {
  unsigned dim = cuts.size() - 1 - depth;
  const Cut &cut = cuts[dim];
  if (cut.size % cut.step == 0)
    return SmallVector<Value>(current);
  Value last = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                     blocks[dim], constant(cut.blocks() - 1));
  auto branch = scf::IfOp::create(builder, loc, current.getTypes(), last,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  local[dim] =
      builder.getIndexAttr(cut.whole() - (cut.blocks() - 1) * cut.block);
  step[dim] = cut.size % cut.step;
  FailureOr<SmallVector<Value>> inner = buildLoops(depth + 1, blocks, current);
  if (failed(inner))
    return failure();
  scf::YieldOp::create(builder, loc, *inner);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, current);
  return SmallVector<Value>(branch.getResults());
}

/// One step: its part of every result. `current` is what the block's parts of
/// the outputs hold so far.
FailureOr<SmallVector<Value>> KernelTiling::buildTile(ValueRange current) {
  SmallVector<OpFoldResult, 2> offsets;
  for (unsigned dim = 0; dim < cuts.size(); ++dim)
    offsets.push_back(add(start[dim], local[dim]));
  Tiler tiler(builder);
  for (auto [output, into] : llvm::zip(outputs, current)) {
    Part inBlock = stepPart(output, local);
    tiler.setInPlace(output.dest, stepPart(output, offsets),
                     slice(into, inBlock));
  }
  SmallVector<Value> results;
  for (const Output &output : outputs) {
    FailureOr<Value> value =
        tiler.tile(output.value, stepPart(output, offsets));
    if (failed(value))
      return failure();
    results.push_back(*value);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

LogicalResult KernelTiling::run() {
  if (failed(buildBlock(buildForall())))
    return failure();
  eraseDead(func);
  if (failed(decomposeGeo(func)))
    return failure();
  mergeEqual(func);
  // Scalars that do not depend on the block; tensors stay with their tile.
  hoistInvariant(func, [](Operation *op) {
    return llvm::none_of(op->getResultTypes(), llvm::IsaPred<ShapedType>);
  });
  eraseDead(func);
  return success();
}

namespace {
struct TilePass : block::impl::TileBase<TilePass> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    // A kernel that has its grid is tiled.
    if (!func->hasAttr(BlockDialect::kernelAttrName) ||
        func->hasAttr(BlockDialect::gridAttrName))
      return;
    FailureOr<ConfigAttr> config = getConfig(func);
    if (failed(config))
      return signalPassFailure();
    FailureOr<Cutting> cutting = Cutting::choose(func, *config);
    if (failed(cutting) || failed(KernelTiling(func, *cutting).run()))
      signalPassFailure();
  }
};
} // namespace
