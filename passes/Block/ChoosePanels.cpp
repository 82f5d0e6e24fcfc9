//===- ChoosePanels.cpp - which matrices lie in panels --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "passes/Block/Placement.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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

/// Whether an operand of a product is read by its columns: an element of the
/// result wants one of them.
static bool isReadAcross(linalg::LinalgOp product, unsigned number) {
  SmallVector<unsigned> loops;
  product.getReductionDims(loops);
  AffineMap map =
      product.getMatchingIndexingMap(product.getDpsInputOperand(number));
  return map.getResult(1) !=
         getAffineDimExpr(loops.front(), product.getContext());
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

/// Whether a product may round its operands to BF16, and its terms come in
/// pairs, which is how they are multiplied then.
static bool isRounded(linalg::LinalgOp product) {
  auto dot = product->getAttrOfType<geo::DotAttr>(geo::GeoDialect::dotAttrName);
  SmallVector<unsigned> loops;
  product.getReductionDims(loops);
  return dot && dot.getValue() == geo::Dot::bf16 &&
         product.getStaticLoopRanges()[loops.front()] % 2 == 0;
}

/// The product of other operands, of which some, by number, are transposed; if
/// they are BF16, its terms are still FP32.
static linalg::LinalgOp replace(linalg::LinalgOp product, Value left,
                                Value right, ArrayRef<unsigned> transposed) {
  OpBuilder b(product);
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  for (unsigned number : transposed)
    maps[number] = AffineMap::get(
        maps[number].getNumDims(), 0,
        {maps[number].getResult(1), maps[number].getResult(0)}, b.getContext());
  auto generic = linalg::GenericOp::create(
      b, product.getLoc(), product->getResultTypes(), ValueRange{left, right},
      product.getDpsInits(), maps, product.getIteratorTypesArray(),
      [&](OpBuilder &b, Location loc, ValueRange v) {
        Value factors[2] = {v[0], v[1]};
        for (Value &factor : factors)
          if (factor.getType() != v[2].getType())
            factor = arith::ExtFOp::create(b, loc, v[2].getType(), factor);
        Value term = arith::MulFOp::create(b, loc, factors[0], factors[1]);
        Value sum = arith::AddFOp::create(b, loc, v[2], term);
        linalg::YieldOp::create(b, loc, sum);
      });
  generic->setDiscardableAttrs(product->getDiscardableAttrDictionary());
  product->replaceAllUsesWith(generic);
  product->erase();
  return generic;
}

namespace {
/// Copies of the values that products multiply.
class OperandCopies {
public:
  OperandCopies(func::FuncOp func, bool inRows) : func(func), inRows(inRows) {}
  void visit(linalg::LinalgOp product);

private:
  enum Kind : unsigned { Same, Transposed, Rounded, RoundedPairs };
  Value get(Value value, Kind kind);
  Value create(Value value, Kind kind);

  func::FuncOp func;
  bool inRows;
  llvm::DenseMap<std::pair<Value, unsigned>, Value> copies;
};
} // namespace

Value OperandCopies::get(Value value, Kind kind) {
  Value &copy = copies[{value, kind}];
  if (!copy)
    copy = create(value, kind);
  return copy;
}

/// To nearest, ties to even, in whole numbers: few targets have an instruction,
/// and the others would call a library. What is not a number stays that.
static Value roundToBF16(OpBuilder &b, Location loc, Value x) {
  Type i32 = b.getI32Type();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  };
  Value bits = arith::BitcastOp::create(b, loc, i32, x);
  Value upper = arith::ShRUIOp::create(b, loc, bits, number(16));
  Value odd = arith::AndIOp::create(b, loc, upper, number(1));
  Value half = arith::AddIOp::create(b, loc, odd, number(0x7fff));
  Value sum = arith::AddIOp::create(b, loc, bits, half);
  Value rounded = arith::ShRUIOp::create(b, loc, sum, number(16));
  Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  Value nan = arith::OrIOp::create(b, loc, upper, number(0x40));
  Value chosen = arith::SelectOp::create(b, loc, isNaN, nan, rounded);
  Value word = arith::TruncIOp::create(b, loc, b.getI16Type(), chosen);
  return arith::BitcastOp::create(b, loc, b.getBF16Type(), word);
}

/// Right behind what is copied, for whoever multiplies it first.
Value OperandCopies::create(Value value, Kind kind) {
  OpBuilder b(func.getContext());
  if (Operation *def = value.getDefiningOp())
    b.setInsertionPointAfter(def);
  else
    b.setInsertionPointToStart(&func.getBody().front());
  Location loc = value.getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (kind == Transposed)
    std::swap(shape[0], shape[1]);
  bool rounds = kind == Rounded || kind == RoundedPairs;
  Type element = rounds ? Type(b.getBF16Type()) : type.getElementType();
  Value empty = tensor::EmptyOp::create(b, loc, shape, element);
  if (kind == Transposed)
    return linalg::TransposeOp::create(b, loc, value, empty,
                                       ArrayRef<int64_t>{1, 0})
        ->getResult(0);
  if (kind == Same)
    return linalg::CopyOp::create(b, loc, value, empty).getResult(0);
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(2));
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, TypeRange{empty.getType()}, ValueRange{value},
             ValueRange{empty}, maps, loops,
             [&](OpBuilder &b, Location loc, ValueRange v) {
               // AMX's processors have an instruction; what it takes as zero,
               // denormal numbers, products do as well.
               Value rounded =
                   inRows ? arith::TruncFOp::create(b, loc, element, v[0])
                                .getResult()
                          : roundToBF16(b, loc, v[0]);
               linalg::YieldOp::create(b, loc, rounded);
             })
      .getResult(0);
}

void OperandCopies::visit(linalg::LinalgOp product) {
  Value left = product.getDpsInputs()[0], right = product.getDpsInputs()[1];
  if (isReadDown(product, product.getDpsInputOperand(1))) {
    right = get(right, Transposed);
    product = replace(product, left, right, /*transposed=*/{1});
  }
  if (isRounded(product)) {
    SmallVector<unsigned> transposed;
    bool isAcross = isReadAcross(product, 0);
    if (isAcross && inRows) {
      left = get(left, Transposed);
      transposed = {0};
      isAcross = false;
    }
    replace(product, get(left, isAcross ? RoundedPairs : Rounded),
            get(right, RoundedPairs), transposed);
    return;
  }
  for (unsigned number : {0u, 1u}) {
    Value value = product.getDpsInputs()[number];
    Operation *def = value.getDefiningOp();
    if (!def || isView(def) || isRepeatable(def) ||
        isa<tensor::InsertSliceOp>(def))
      product->setOperand(number, get(value, Same));
  }
}

bool block::roundsOperands(func::FuncOp func) {
  return llvm::any_of(func.getBody().getOps(), [](Operation &op) {
    linalg::LinalgOp product = getProduct(&op);
    return product && isRounded(product);
  });
}

void block::copyOperands(func::FuncOp func, bool inRows) {
  SmallVector<linalg::LinalgOp> products;
  for (Operation &op : func.getBody().getOps())
    if (linalg::LinalgOp product = getProduct(&op))
      products.push_back(product);
  OperandCopies copies(func, inRows);
  for (linalg::LinalgOp product : products)
    copies.visit(product);
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
  llvm::SmallPtrSet<Storage *, 8> wanted, refused, paired;
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
        for (unsigned number : {0u, 1u}) {
          Storage *storage = storageOf.lookup(product.getDpsInputs()[number]);
          wanted.insert(storage);
          if (storage && storage->type.getElementType().isBF16() &&
              isReadAcross(product, number))
            paired.insert(storage);
        }
    }
  }
  for (Storage &storage : *storages)
    if (storage.argument < 0 && storage.type.getRank() == 2 &&
        wanted.contains(&storage) && !refused.contains(&storage))
      storage.layout = {panel, paired.contains(&storage)};
}
