//===- Bodies.h - evaluating the bodies of linalg ops -----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the emitters for CPUs and GPUs have in common. Both compute values on
// demand, at a place: one element of a tensor, or some along one dimension.
// What else a place says is an emitter's own; a place type derives from
// ElementPlace and has
//
//   auto key() const        what tells places of one index apart
//   void becomeScalar()     forgets what only concerns vectors
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_BODIES_H
#define STEEP_PASSES_BLOCK_BODIES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace mlir::block {

/// One element, or `width` consecutive elements along the dimension `along`.
struct ElementPlace {
  SmallVector<Value> index;
  int along = -1;
  int64_t width = 0;

  bool isVector() const { return along >= 0; }
};

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The loops of an op that make its result at `place`; indices of reduction
/// loops stay null.
template <typename PlaceT>
PlaceT loopPlace(linalg::LinalgOp op, AffineMap resultMap,
                 const PlaceT &place) {
  PlaceT loops = place;
  loops.index.assign(op.getNumLoops(), Value());
  loops.along = -1;
  for (auto [position, expr] : llvm::enumerate(resultMap.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      continue;
    loops.index[dim.getPosition()] = place.index[position];
    if (place.along == int(position))
      loops.along = dim.getPosition();
  }
  return loops;
}

/// Where an operand is read in one iteration; nothing where the map has other
/// expressions than dimensions and numbers.
template <typename PlaceT>
std::optional<PlaceT>
operandPlace(AffineMap map, const PlaceT &loops,
             llvm::function_ref<Value(int64_t)> constant) {
  PlaceT place = loops;
  place.index.clear();
  place.along = -1;
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      place.index.push_back(loops.index[dim.getPosition()]);
      if (loops.along == int(dim.getPosition()))
        place.along = position;
    } else if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
      place.index.push_back(constant(number.getValue()));
    } else {
      return std::nullopt;
    }
  }
  if (!place.isVector())
    place.becomeScalar();
  return place;
}

/// What is known of values at places; an inner scope is left with its loop.
template <typename PlaceT> class ScopedValues {
public:
  using Key = std::tuple<void *, std::vector<void *>, int,
                         decltype(std::declval<PlaceT>().key())>;

  static Key key(Value value, const PlaceT &place) {
    std::vector<void *> index;
    for (Value part : place.index)
      index.push_back(part.getAsOpaquePointer());
    return {value.getAsOpaquePointer(), std::move(index), place.along,
            place.key()};
  }
  /// Null where nothing is known.
  Value lookup(Value value, const PlaceT &place) const {
    Key id = key(value, place);
    for (const auto &scope : llvm::reverse(scopes))
      if (auto known = scope.find(id); known != scope.end())
        return known->second;
    return nullptr;
  }
  void remember(Value value, const PlaceT &place, Value known) {
    scopes.back()[key(value, place)] = known;
  }
  /// The same for all scopes, as it lies outside of every loop.
  Value &global(Value value, const PlaceT &place) {
    return scopes.front()[key(value, place)];
  }
  void enter() { scopes.emplace_back(); }
  void leave() { scopes.pop_back(); }
  void clear() { scopes.assign(1, {}); }
  size_t depth() const { return scopes.size(); }

private:
  std::vector<std::map<Key, Value>> scopes =
      std::vector<std::map<Key, Value>>(1);
};

//===----------------------------------------------------------------------===//
// Ops of a body
//===----------------------------------------------------------------------===//

/// Fails on what no kernel's body may hold: regions, effects, several results,
/// fast-math flags.
LogicalResult checkBodyOp(Operation &op);

/// Maps the operands of an op that lie outside of the body, as `evaluate` says.
LogicalResult
mapOuterOperands(Operation &op, IRMapping &mapping,
                 llvm::function_ref<FailureOr<Value>(Value)> evaluate);

/// Clones an op whose operands are mapped: on vectors if one of them is one,
/// and then `toVector` makes vectors of the others.
LogicalResult cloneBodyOp(OpBuilder &builder, Operation &op, IRMapping &mapping,
                          int64_t width,
                          llvm::function_ref<Value(Value)> toVector);

/// A scalar that is made from elements of tensors, once a scope: `element`
/// gives the elements, `operand` what the op that makes the scalar reads.
template <typename PlaceT>
FailureOr<Value>
rebuildScalar(OpBuilder &builder, ScopedValues<PlaceT> &known, Value scalar,
              llvm::function_ref<FailureOr<Value>(Value, PlaceT)> element,
              llvm::function_ref<FailureOr<Value>(Value)> operand) {
  if (Value value = known.lookup(scalar, PlaceT()))
    return value;
  Operation *op = scalar.getDefiningOp();
  FailureOr<Value> result = failure();
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    PlaceT place;
    place.index.assign(extract.getIndices().begin(),
                       extract.getIndices().end());
    result = element(extract.getTensor(), place);
  } else {
    IRMapping mapping;
    if (failed(mapOuterOperands(*op, mapping, operand)))
      return failure();
    result = builder.clone(*op, mapping)
                 ->getResult(cast<OpResult>(scalar).getResultNumber());
  }
  if (succeeded(result))
    known.remember(scalar, PlaceT(), *result);
  return result;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The (first) reduction loop of an op, and how far it goes.
unsigned getReductionLoop(linalg::LinalgOp op);
int64_t getReductionExtent(linalg::LinalgOp op);

/// What `combine` leaves its other operand unchanged with; null if unknown.
TypedAttr getNeutral(Operation *combine, Type type);

/// For each result of a reduction, the op of its body that combines what was
/// there with what comes.
LogicalResult findCombiners(linalg::LinalgOp op,
                            SmallVectorImpl<Operation *> &combiners);

/// Two partial results of `combine` as one.
Value combineTwo(OpBuilder &builder, Location loc, Operation *combine,
                 Value lhs, Value rhs);

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_BODIES_H
