//===- ChoosePanels.cpp - which matrices lie in panels --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Block/Placement.h"

using namespace mlir;
using namespace mlir::block;

//===----------------------------------------------------------------------===//
// Copies of operands
//===----------------------------------------------------------------------===//

/// A product of matrices, with loops m, n, k.
static linalg::LinalgOp getProduct(Operation *op) {
  auto product = dyn_cast<linalg::LinalgOp>(op);
  return product && product.getNumLoops() == 3 &&
                 linalg::isaContractionOpInterface(product)
             ? product
             : linalg::LinalgOp();
}

/// Whether an operand of a product is read down its columns, that is, where its
/// rows would be wanted.
static bool isReadDown(linalg::LinalgOp product, OpOperand *operand) {
  SmallVector<unsigned> loops;
  product.getReductionDims(loops);
  AffineMap result =
      product.getIndexingMapMatchingResult(product->getResult(0));
  AffineMap map = product.getMatchingIndexingMap(operand);
  return operand->getOperandNumber() == 1 && map.getNumResults() == 2 &&
         map.getResult(1) ==
             getAffineDimExpr(loops.front(), product.getContext()) &&
         map.getResult(0) == result.getResult(1);
}

/// A product whose right operand is read down becomes one that reads `right`,
/// its transpose.
static void setRight(linalg::LinalgOp product, Value right) {
  OpBuilder b(product);
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  maps[1] = AffineMap::get(maps[1].getNumDims(), 0,
                           {maps[1].getResult(1), maps[1].getResult(0)},
                           b.getContext());
  auto generic = linalg::GenericOp::create(
      b, product.getLoc(), product->getResultTypes(),
      ValueRange{product.getDpsInputs()[0], right}, product.getDpsInits(), maps,
      product.getIteratorTypesArray());
  generic.getRegion().takeBody(product->getRegion(0));
  generic->setDiscardableAttrs(product->getDiscardableAttrDictionary());
  product->replaceAllUsesWith(generic);
  product->erase();
}

void block::copyOperands(func::FuncOp func) {
  llvm::DenseMap<std::pair<Value, unsigned>, Value> copies;
  SmallVector<linalg::LinalgOp> products;
  for (Operation &op : func.getBody().getOps())
    if (linalg::LinalgOp product = getProduct(&op))
      products.push_back(product);
  for (linalg::LinalgOp product : products) {
    bool isRightRead = isReadDown(product, product.getDpsInputOperand(1));
    for (unsigned number : {0u, 1u}) {
      Value value = product.getDpsInputs()[number];
      bool transposes = number == 1 && isRightRead;
      Operation *def = value.getDefiningOp();
      bool isMade = def && !isView(def) && !isRepeatable(def) &&
                    !isa<tensor::InsertSliceOp>(def);
      auto type = cast<RankedTensorType>(value.getType());
      if (type.getRank() != 2 || (isMade && !transposes))
        continue;
      Value &copy = copies[{value, unsigned(transposes)}];
      if (!copy) {
        // Right behind what is copied, for whoever multiplies it first.
        OpBuilder b(func.getContext());
        if (def)
          b.setInsertionPointAfter(def);
        else
          b.setInsertionPointToStart(&func.getBody().front());
        SmallVector<int64_t> shape(type.getShape());
        if (transposes)
          std::swap(shape[0], shape[1]);
        Value empty = tensor::EmptyOp::create(b, product.getLoc(), shape,
                                              type.getElementType());
        copy = transposes
                   ? linalg::TransposeOp::create(b, product.getLoc(), value,
                                                 empty, ArrayRef<int64_t>{1, 0})
                         ->getResult(0)
                   : linalg::CopyOp::create(b, product.getLoc(), value, empty)
                         .getResult(0);
      }
      if (!transposes)
        product->setOperand(number, copy);
    }
    if (isRightRead)
      setRight(product, copies[{product.getDpsInputs()[1], 1}]);
  }
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// Whether an op computes each element of a matrix by itself.
static bool isElementwise(Operation *op, const Work &work) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.getNumLoops() == 2 && linalgOp.getNumParallelLoops() == 2 &&
           !linalgOp.hasIndexSemantics();
  if (op->getNumRegions() > 0 || work.gridLoops.size() != 2)
    return false;
  // Of `geo` ops, those that want no more than their own element.
  return llvm::all_of(work.operands, [](const Access &access) {
    return access.empty() || access == Access{0, 1};
  });
}

/// Whether a kernel can read and write matrices in panels: products and what
/// works element by element.
static bool canUsePanels(const Call &call, const KernelGraph &graph) {
  if (call.scratch || call.ops.empty())
    return false;
  for (Operation *op : call.ops)
    if (!graph.kernelOf.contains(op) ||
        (!getProduct(op) && !isElementwise(op, graph.getWork(op))))
      return false;
  return llvm::all_of(call.stores, [&](const Store &store) {
    return !store.place && store.to->type.getRank() == 2 &&
           store.to->type.getShape() == call.stores[0].to->type.getShape();
  });
}

void Placement::choosePanels(const KernelGraph &graph, int64_t panel) {
  llvm::SmallPtrSet<Storage *, 8> wanted, refused;
  for (const Call &call : calls) {
    bool can = canUsePanels(call, graph);
    auto touch = [&](Storage *storage, bool throughView) {
      if (storage && (!can || throughView))
        refused.insert(storage);
    };
    for (const Store &store : call.stores) {
      touch(store.to, false);
      touch(storageOf.lookup(stripViews(store.value)),
            isView(store.value.getDefiningOp()));
    }
    for (Operation *op : call.ops) {
      if (!graph.kernelOf.contains(op))
        continue;
      for (const Read &read : graph.getReads(op))
        touch(storageOf.lookup(read.value), read.throughView);
      if (linalg::LinalgOp product = getProduct(op))
        for (Value operand : product.getDpsInputs())
          wanted.insert(storageOf.lookup(operand));
    }
  }
  for (Storage &storage : *storages)
    if (storage.argument < 0 && storage.type.getRank() == 2 &&
        storage.type.getElementType().isF32() && wanted.contains(&storage) &&
        !refused.contains(&storage))
      storage.panel = panel;
}
