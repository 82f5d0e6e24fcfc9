//===- Costs.cpp - bytes and operations of a kernel -----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Costs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace steepc {

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

static double sizeOf(Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  return type.hasStaticShape()
             ? double(type.getNumElements()) * type.getElementTypeBitWidth() / 8
             : HUGE_VAL;
}

namespace {
/// Bytes that are read from and written to a piece of memory.
struct Traffic {
  double read = 0, written = 0;
};
} // namespace

/// What instructions without an op do to memory of `all` bytes, through a
/// pointer to it or a number that becomes one: loads and stores of tiles.
static Traffic findTraffic(Value pointer, double all) {
  Traffic traffic;
  for (Operation *user : pointer.getUsers()) {
    if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(user)) {
      traffic.read += call.getIntrin().contains("tileload") ? all : 0;
      traffic.written += call.getIntrin().contains("tilestore") ? all : 0;
    } else if (user->getNumResults() == 1) {
      Traffic part = findTraffic(user->getResult(0), all);
      traffic.read += part.read;
      traffic.written += part.written;
    }
  }
  return traffic;
}

/// What ops do to the memory of `value`, through views too. A view of a fixed
/// part (rows that make no whole group) counts as that part; one that moves
/// with a loop, as all of the memory.
static Traffic findTraffic(Value value) {
  const double all = sizeOf(value);
  Traffic traffic;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto view = dyn_cast<ViewLikeOpInterface>(user)) {
      if (view.getViewSource() != value)
        continue;
      Traffic part = findTraffic(user->getResult(0));
      auto offsets = dyn_cast<OffsetSizeAndStrideOpInterface>(user);
      bool fixed = !offsets || llvm::none_of(offsets.getStaticOffsets(),
                                             ShapedType::isDynamic);
      traffic.read += fixed || part.read == 0 ? part.read : all;
      traffic.written += fixed || part.written == 0 ? part.written : all;
      continue;
    }
    if (isa<memref::ExtractAlignedPointerAsIndexOp>(user)) {
      Traffic part = findTraffic(user->getResult(0), all);
      traffic.read += part.read;
      traffic.written += part.written;
      continue;
    }
    auto effects = dyn_cast<MemoryEffectOpInterface>(user);
    if (!effects)
      continue;
    SmallVector<MemoryEffects::EffectInstance> list;
    effects.getEffectsOnValue(value, list);
    for (const auto &effect : list) {
      if (isa<MemoryEffects::Read>(effect.getEffect()))
        traffic.read = all;
      if (isa<MemoryEffects::Write>(effect.getEffect()))
        traffic.written = all;
    }
  }
  return {std::min(traffic.read, all), std::min(traffic.written, all)};
}

/// The arguments that the kernel writes before it reads them: what it reads
/// there later it has just made, and comes from a cache (rows that are added to
/// sums, and the sums).
static llvm::SmallPtrSet<Value, 4> findMade(func::FuncOp kernel) {
  llvm::SmallPtrSet<Value, 4> seen, made;
  kernel.walk<WalkOrder::PreOrder>([&](MemoryEffectOpInterface op) {
    SmallVector<MemoryEffects::EffectInstance> list;
    op.getEffects(list);
    llvm::SmallPtrSet<Value, 4> written;
    for (const auto &effect : list) {
      auto memory = dyn_cast_or_null<MemrefValue>(effect.getValue());
      if (!memory)
        continue;
      Value base = memref::skipViewLikeOps(memory);
      if (isa<MemoryEffects::Read>(effect.getEffect()))
        seen.insert(base);
      else if (isa<MemoryEffects::Write>(effect.getEffect()))
        written.insert(base);
    }
    for (Value base : written)
      if (seen.insert(base).second)
        made.insert(base);
  });
  return made;
}

/// One number an argument.
static std::vector<double> bytesOf(func::FuncOp kernel) {
  std::vector<double> bytes;
  llvm::SmallPtrSet<Value, 4> made = findMade(kernel);
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    Traffic traffic;
    if (type && type.hasStaticShape())
      traffic = findTraffic(argument);
    bytes.push_back((made.contains(argument) ? 0 : traffic.read) +
                    traffic.written);
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static double elementsOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? double(vector.getNumElements()) : 1;
}

static bool isFloat(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

/// Floating-point operations of one execution of `op` alone.
static double flopsOf(Operation *op) {
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
          arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
          arith::MinNumFOp, math::SqrtOp, math::RsqrtOp, math::PowFOp,
          math::ExpOp>(op))
    return elementsOf(op->getResult(0).getType());
  if (isa<math::FmaOp, vector::FMAOp>(op))
    return 2 * elementsOf(op->getResult(0).getType());
  if (auto outer = dyn_cast<vector::OuterProductOp>(op))
    return 2 * elementsOf(outer.getResult().getType());
  if (auto contract = dyn_cast<vector::ContractionOp>(op)) {
    SmallVector<int64_t> bounds;
    contract.getIterationBounds(bounds);
    double product = 2;
    for (int64_t bound : bounds)
      product *= bound;
    return product;
  }
  // Products of BF16: two terms an element, and 32 for each of 16 x 16 sums.
  if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op)) {
    if (call.getIntrin().contains(".dpbf16ps."))
      return 4 * elementsOf(call.getResult(0).getType());
    return call.getIntrin().ends_with(".tdpbf16ps") ? 2 * 16 * 16 * 32 : 0;
  }
  if (isa<vector::ReductionOp, vector::MultiDimReductionOp>(op) &&
      isFloat(op->getOperand(0).getType()))
    return elementsOf(op->getOperand(0).getType());
  return 0;
}

/// The value, or the largest that it can have: the last block of a grid counts
/// as a whole one.
static std::optional<int64_t> largest(OpFoldResult value) {
  if (auto constant = getConstantIntValue(value))
    return constant;
  auto bound = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, value, nullptr, /*closedUB=*/true);
  return succeeded(bound) ? std::optional(*bound) : std::nullopt;
}

/// The value, or the middle of its range: a loop that starts at the number of
/// another one's iteration.
static std::optional<int64_t> middle(OpFoldResult value) {
  if (auto constant = getConstantIntValue(value))
    return constant;
  auto low = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::LB, value);
  auto high = largest(value);
  return succeeded(low) && high ? std::optional((*low + *high) / 2)
                                : std::nullopt;
}

/// Iterations of what an op holds; 1 where they are not known.
static double tripsOf(Operation *op) {
  auto constant = [](OpFoldResult value) { return getConstantIntValue(value); };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    auto low = middle(loop.getLowerBound()),
         high = largest(loop.getUpperBound()), step = constant(loop.getStep());
    if (low && high && step && *step > 0)
      return double(std::max<int64_t>(0, (*high - *low + *step - 1) / *step));
    return 1;
  }
  if (auto forall = dyn_cast<scf::ForallOp>(op)) {
    double trips = 1;
    for (auto [low, high, step] :
         llvm::zip(forall.getMixedLowerBound(), forall.getMixedUpperBound(),
                   forall.getMixedStep())) {
      auto l = constant(low), h = constant(high), s = constant(step);
      if (l && h && s && *s > 0)
        trips *= double((*h - *l + *s - 1) / *s);
    }
    return trips;
  }
  // What is not tiled stands for its loops.
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    double trips = 1;
    for (int64_t range : linalgOp.getStaticLoopRanges())
      trips *= double(std::max<int64_t>(range, 1));
    return trips;
  }
  return 1;
}

static double flopsIn(Region &region) {
  double flops = 0;
  for (Block &block : region)
    for (Operation &op : block) {
      double inside = 0;
      for (Region &nested : op.getRegions())
        inside += flopsIn(nested);
      flops += flopsOf(&op) + tripsOf(&op) * inside;
    }
  return flops;
}

Cost estimateCost(func::FuncOp kernel) {
  return {bytesOf(kernel), flopsIn(kernel.getBody())};
}

double Cost::bytes() const {
  return std::accumulate(argumentBytes.begin(), argumentBytes.end(), 0.0);
}

} // namespace steepc
