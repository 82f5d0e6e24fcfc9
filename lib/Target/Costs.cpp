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
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include <cmath>
#include <functional>
#include <map>
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

namespace {
/// Counts what a kernel runs, as an interpreter of its loops and branches:
/// where the bounds of a loop depend on another one's iteration (triangles, the
/// last block of a grid), iteration by iteration.
class Counter {
public:
  double countRegion(Region &region);

private:
  double countOp(Operation &op);
  double countLoop(Region &body, int64_t begin, int64_t end, int64_t step,
                   Value number);
  std::optional<int64_t> evaluate(Value value);
  std::optional<int64_t> evaluate(OpFoldResult value) {
    if (auto constant = getConstantIntValue(value))
      return constant;
    return evaluate(cast<Value>(value));
  }

  llvm::DenseMap<Value, Attribute> known; ///< numbers of iterations
  /// What the ops of a block without regions do, and the others.
  struct Straight {
    double flops = 0;
    SmallVector<Operation *> others;
  };
  std::map<Block *, Straight> straight; // references into it stay
  /// Whether how often something is done depends on it.
  llvm::DenseMap<Value, bool> isControlling;
};
} // namespace

std::optional<int64_t> Counter::evaluate(Value value) {
  // Values of an iteration are computed anew in each.
  llvm::DenseMap<Value, Attribute> made;
  std::function<Attribute(Value)> find = [&](Value x) -> Attribute {
    if (Attribute number = known.lookup(x))
      return number;
    if (Attribute number = made.lookup(x))
      return number;
    Operation *op = x.getDefiningOp();
    if (!op || op->getNumRegions() > 0 || op->getNumResults() != 1 ||
        !isMemoryEffectFree(op))
      return {};
    Attribute number;
    if (!matchPattern(x, m_Constant(&number))) {
      SmallVector<Attribute> operands;
      for (Value operand : op->getOperands()) {
        operands.push_back(find(operand));
        if (!operands.back())
          return {};
      }
      SmallVector<OpFoldResult> results;
      if (failed(op->fold(operands, results)) || results.size() != 1)
        return {};
      number = dyn_cast<Attribute>(results[0]);
      if (!number)
        number = find(cast<Value>(results[0]));
    }
    return made[x] = number;
  };
  auto number = dyn_cast_or_null<IntegerAttr>(find(value));
  return number ? std::optional(number.getValue().getSExtValue())
                : std::nullopt;
}

/// Whether `value` is made from the number of an iteration.
static bool isMadeFrom(Value value, Value number) {
  if (value == number)
    return true;
  Operation *op = value.getDefiningOp();
  return op && llvm::any_of(op->getOperands(), [&](Value operand) {
           return isMadeFrom(operand, number);
         });
}

/// Whether how often something in `body` is done depends on the number of the
/// iteration.
static bool controls(Value number, Region &body) {
  return body
      .walk([&](Operation *op) {
        auto depends = [&](Value value) { return isMadeFrom(value, number); };
        if (auto loop = dyn_cast<scf::ForOp>(op))
          return depends(loop.getLowerBound()) || depends(loop.getUpperBound())
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        if (auto branch = dyn_cast<scf::IfOp>(op))
          return depends(branch.getCondition()) ? WalkResult::interrupt()
                                                : WalkResult::advance();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

double Counter::countLoop(Region &body, int64_t begin, int64_t end,
                          int64_t step, Value number) {
  Builder b(body.getContext());
  if (begin >= end)
    return 0;
  double flops = 0, trips = double((end - begin + step - 1) / step);
  auto [entry, isNew] = isControlling.try_emplace(number);
  if (isNew)
    entry->second = controls(number, body);
  bool isUniform = !entry->second;
  for (int64_t i = begin; i < end; i += step) {
    known[number] = b.getIntegerAttr(number.getType(), i);
    double once = countRegion(body);
    flops += isUniform ? trips * once : once;
    if (isUniform)
      break;
  }
  known.erase(number);
  return flops;
}

double Counter::countOp(Operation &op) {
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    std::optional<OpFoldResult> begins = loop.getSingleLowerBound(),
                                ends = loop.getSingleUpperBound(),
                                steps = loop.getSingleStep();
    if (begins && ends && steps) {
      auto begin = evaluate(*begins), end = evaluate(*ends),
           step = evaluate(*steps);
      if (begin && end && step && *step > 0)
        return countLoop(*loop.getLoopRegions().front(), *begin, *end, *step,
                         *loop.getSingleInductionVar());
    }
    // Once where the number of iterations is not known.
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    std::optional<int64_t> taken = evaluate(branch.getCondition());
    double then = countRegion(branch.getThenRegion()),
           otherwise = countRegion(branch.getElseRegion());
    return !taken ? std::max(then, otherwise) : *taken ? then : otherwise;
  }
  double inside = 0, trips = 1;
  for (Region &nested : op.getRegions())
    inside += countRegion(nested);
  // What is not tiled stands for its loops.
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    for (int64_t range : linalgOp.getStaticLoopRanges())
      trips *= double(std::max<int64_t>(range, 1));
  return flopsOf(&op) + trips * inside;
}

double Counter::countRegion(Region &region) {
  double flops = 0;
  for (Block &block : region) {
    auto [entry, isNew] = straight.try_emplace(&block);
    Straight &here = entry->second;
    for (Operation &op : block)
      if (!isNew)
        break;
      else if (op.getNumRegions() == 0)
        here.flops += flopsOf(&op);
      else
        here.others.push_back(&op);
    flops += here.flops;
    for (Operation *op : here.others)
      flops += countOp(*op);
  }
  return flops;
}

/// Folding may reorder operands, so it is a copy that is looked at.
static double flopsIn(func::FuncOp kernel) {
  func::FuncOp copy = kernel.clone();
  double flops = Counter().countRegion(copy.getBody());
  copy.erase();
  return flops;
}

Cost estimateCost(func::FuncOp kernel) {
  return {bytesOf(kernel), flopsIn(kernel)};
}

double Cost::bytes() const {
  return std::accumulate(argumentBytes.begin(), argumentBytes.end(), 0.0);
}

} // namespace steepc
