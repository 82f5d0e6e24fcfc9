//===- Cutting.cpp - how a kernel is cut into tiles -----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Block/Cutting.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;
using namespace mlir::block;
using bufferization::MaterializeInDestinationOp;
using bufferization::ToTensorOp;

/// Columns of a step where a matrix is read transposed: rows of that matrix, in
/// as many lines of the first-level cache, which may all fall into one set.
static constexpr int64_t transposedColumns = 8;

//===----------------------------------------------------------------------===//
// What a kernel computes
//===----------------------------------------------------------------------===//

LogicalResult Cutting::collectOutputs(func::FuncOp func) {
  SmallVector<MaterializeInDestinationOp> stores(
      func.getOps<MaterializeInDestinationOp>());
  if (stores.empty())
    return func.emitOpError("kernel has no result");
  OpBuilder builder(func.getBody().front().getTerminator());
  for (MaterializeInDestinationOp store : stores) {
    auto type = dyn_cast<RankedTensorType>(store.getSource().getType());
    if (!type || !type.hasStaticShape())
      return store.emitOpError("expected a result of static shape");
    Output output{store.getSource(), store.getDest(), nullptr};
    for (ToTensorOp read : func.getOps<ToTensorOp>()) {
      if (read.getBuffer() != output.memory)
        continue;
      if (output.dest)
        return read.emitOpError("second view of an argument that the kernel "
                                "overwrites");
      output.dest = read;
      read.setWritable(true);
    }
    if (!output.dest)
      output.dest = ToTensorOp::create(builder, store.getLoc(), type,
                                       output.memory, /*restrict=*/true,
                                       /*writable=*/true);
    outputs.push_back(output);
  }
  for (MaterializeInDestinationOp store : stores)
    store.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// How it is cut
//===----------------------------------------------------------------------===//

/// Whether the first dimension of a result counts rows. A vector may also run
/// along the columns (a mean row): it does if it came from sums over rows.
static bool ownsRows(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() == 0)
    return false;
  if (type.getRank() >= 2)
    return true;
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<TilingInterface>(op))
    return false;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    AffineMap map =
        linalgOp.getIndexingMapMatchingResult(cast<OpResult>(value));
    unsigned dim = map.getNumResults() == 1
                       ? cast<AffineDimExpr>(map.getResult(0)).getPosition()
                       : 0;
    for (OpOperand *input : linalgOp.getDpsInputOperands()) {
      AffineMap read = linalgOp.getMatchingIndexingMap(input);
      if (read.getNumResults() >= 2)
        return read.getResult(0) == getAffineDimExpr(dim, value.getContext());
      if (read.getNumResults() == 1 && ownsRows(input->get()))
        return true;
    }
    return false;
  }
  // geo: sums along the rows of a matrix.
  return llvm::any_of(op->getOperandTypes(), [](Type operand) {
    auto matrix = dyn_cast<RankedTensorType>(operand);
    return matrix && matrix.getRank() == 2;
  });
}

/// Whether every op works element by element, and one of them reads a matrix
/// transposed. Padding is cut into whole rows only.
static bool isTransposing(func::FuncOp func) {
  bool transposes = false;
  for (Operation &op : func.getBody().getOps()) {
    if (isa<tensor::InsertSliceOp>(op))
      return false;
    auto interface = dyn_cast<TilingInterface>(op);
    if (!interface || llvm::all_of(op.getResultTypes(), [](Type type) {
          return cast<RankedTensorType>(type).getRank() == 0;
        }))
      continue;
    SmallVector<utils::IteratorType> loops = interface.getLoopIteratorTypes();
    if (loops.size() != 2 || !llvm::all_of(loops, [](utils::IteratorType type) {
          return type == utils::IteratorType::parallel;
        }))
      return false;
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      for (AffineMap map : linalgOp.getIndexingMapsArray())
        transposes |= map.getNumResults() == 2 && !map.isIdentity();
  }
  return transposes;
}

void Cutting::cutRows(func::FuncOp func, ConfigAttr config) {
  ArrayRef<int64_t> shape = outputs.front().type().getShape();
  int64_t rows = std::max<int64_t>(config.getRows(), 1);
  cuts.push_back({shape[0], std::min(rows, shape[0]), 1});
  // A few columns of all rows of a block, then the next columns: the lines
  // that one row reads a number each of are still near for the next row.
  if (isTransposing(func) && llvm::all_of(outputs, [](const Output &output) {
        return output.type().getRank() == 2;
      }))
    cuts.push_back({shape[1], shape[1], std::min(transposedColumns, shape[1])});
}

LogicalResult Cutting::checkShapes(func::FuncOp func) const {
  for (const Output &output : outputs) {
    ArrayRef<int64_t> other = output.type().getShape();
    bool fits = other.size() >= cuts.size();
    for (unsigned dim = 0; fits && dim < cuts.size(); ++dim)
      fits = other[dim] == cuts[dim].size;
    if (!fits)
      return func.emitOpError("results of shapes ")
             << outputs.front().type() << " and " << output.type()
             << " cannot be cut together";
  }
  return success();
}

FailureOr<Cutting> Cutting::choose(func::FuncOp func, ConfigAttr config) {
  Cutting cutting;
  if (failed(cutting.collectOutputs(func)))
    return failure();
  for (auto op : func.getOps<linalg::LinalgOp>())
    if (op.getNumLoops() == 3 && linalg::isaContractionOpInterface(op))
      return op->emitOpError("products of matrices are not cut into tiles, but "
                             "lowered by block-lower-products before");
  if (ownsRows(cutting.outputs.front().value))
    cutting.cutRows(func, config);
  if (failed(cutting.checkShapes(func)))
    return failure();
  return cutting;
}
