//===- ThreadMemory.cpp - what one thread reads and writes ----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/ThreadEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::block;

/// The argument that a memref is a view of.
Value ThreadEmitter::getViewed(Value memory) {
  while (Operation *view = memory.getDefiningOp())
    memory = view->getOperand(0);
  return memory;
}

/// The address of element `lane` of a place, and what it is known to be aligned
/// to, in bytes.
Value ThreadEmitter::address(Value memory, const ThreadPlace &place,
                             int64_t lane, int64_t &alignment) {
  auto type = cast<MemRefType>(memory.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  Value base = entry.arguments.lookup(getViewed(memory));
  int64_t fixed = offset;
  Value sum;
  for (auto [dim, stride] : llvm::enumerate(strides)) {
    if (int(dim) == place.along)
      fixed += (place.shift + lane) * stride;
    APInt known;
    Value term = place.index[dim];
    // What is added to an index goes into the instruction's offset.
    if (auto added = term.getDefiningOp<arith::AddIOp>();
        added && matchPattern(added.getRhs(), m_ConstantInt(&known))) {
      fixed += known.getSExtValue() * stride;
      term = added.getLhs();
    }
    if (matchPattern(term, m_ConstantInt(&known))) {
      fixed += known.getSExtValue() * stride;
      continue;
    }
    if (stride != 1)
      term = arith::MulIOp::create(builder, loc, term, constant(stride));
    sum = sum ? arith::AddIOp::create(builder, loc, sum, term) : term;
  }
  Type element = type.getElementType();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
  auto move = [&](Value to, ArrayRef<LLVM::GEPArg> by) -> Value {
    return LLVM::GEPOp::create(builder, loc, pointer, element, to, by,
                               LLVM::GEPNoWrapFlags::inbounds);
  };
  if (sum)
    base = move(base, {sum});
  if (fixed != 0)
    base = move(base, llvm::isInt<31>(fixed) ? LLVM::GEPArg(int32_t(fixed))
                                             : LLVM::GEPArg(constant(fixed)));
  alignment = type.getElementTypeBitWidth() / 8;
  return base;
}

Value ThreadEmitter::pointTo(Value memory, const ThreadPlace &place) {
  int64_t alignment;
  return address(memory, place, 0, alignment);
}

/// What `make` makes where the mask holds, zeros elsewhere.
Value ThreadEmitter::underMask(Value mask, Type type,
                               llvm::function_ref<Value()> make) {
  if (!mask)
    return make();
  auto branch = scf::IfOp::create(builder, loc, type, mask, true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, make());
  builder.setInsertionPointToStart(branch.elseBlock());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  scf::YieldOp::create(builder, loc, zero);
  return branch.getResult(0);
}

/// Whether a vector at `place` starts at a multiple of its width.
static bool isVectorAccess(MemRefType type, const ThreadPlace &place) {
  auto [strides, offset] = type.getStridesAndOffset();
  if (strides[place.along] != 1 || offset % place.width != 0 ||
      place.shift % place.width != 0)
    return false;
  for (auto [dim, stride] : llvm::enumerate(strides))
    if (int(dim) != place.along && stride % place.width != 0)
      return false;
  return true;
}

FailureOr<Value> ThreadEmitter::read(Value memory, const ThreadPlace &place) {
  auto type = cast<MemRefType>(memory.getType());
  Type element = type.getElementType();
  bool invariant = llvm::none_of(shape.results, [&](const KernelResult &r) {
    return getViewed(r.memory) == getViewed(memory);
  });
  auto load = [&](Type loaded, int64_t lane, int64_t width) -> Value {
    int64_t alignment;
    Value from = address(memory, place, lane, alignment);
    return LLVM::LoadOp::create(builder, loc, loaded, from, alignment * width,
                                false, false, invariant);
  };
  if (!place.isVector())
    return load(element, 0, 1);
  auto vectorType = VectorType::get({place.width}, element);
  return underMask(place.mask, vectorType, [&]() -> Value {
    if (isVectorAccess(type, place))
      return load(vectorType, 0,
                  std::min<int64_t>(place.width,
                                    128 / element.getIntOrFloatBitWidth()));
    Values elements;
    for (int64_t lane = 0; lane < place.width; ++lane)
      elements.push_back(load(element, lane, 1));
    return vector::FromElementsOp::create(builder, loc, vectorType, elements);
  });
}

/// The mask is the caller's affair.
LogicalResult ThreadEmitter::write(Value value, Value memory,
                                   const ThreadPlace &place) {
  auto type = cast<MemRefType>(memory.getType());
  Type element = type.getElementType();
  auto store = [&](Value what, int64_t lane, int64_t width) {
    int64_t alignment;
    Value to = address(memory, place, lane, alignment);
    LLVM::StoreOp::create(builder, loc, what, to, alignment * width);
  };
  if (!place.isVector()) {
    store(value, 0, 1);
    return success();
  }
  value = toVector(value, place.width);
  if (isVectorAccess(type, place)) {
    store(
        value, 0,
        std::min<int64_t>(place.width, 128 / element.getIntOrFloatBitWidth()));
    return success();
  }
  for (int64_t lane = 0; lane < place.width; ++lane)
    store(
        vector::ExtractOp::create(builder, loc, value, ArrayRef<int64_t>{lane}),
        lane, 1);
  return success();
}
