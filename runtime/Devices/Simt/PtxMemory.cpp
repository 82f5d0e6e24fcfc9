//===- PtxMemory.cpp - loads, stores, atomics, copies ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/PtxEmitter.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace steep::simt::ptx;

/// The number of the address space; that of generic and local addresses is 0.
unsigned Emitter::takeSpace() {
  StringRef space = takeOneOf(
      {"global", "shared", "shared::cta", "shared::cluster", "const", "local"});
  return space == "global"             ? 1
         : space.starts_with("shared") ? 3
         : space == "const"            ? 4
                                       : 0;
}

/// Takes what only advises caches. Returns how many operands at the end belong
/// to it.
unsigned Emitter::dropCacheHints() {
  unsigned operands = take("L2::cache_hint");
  while (takePrefix("L1::") || takePrefix("L2::"))
    ;
  takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  take("nc");
  take("weak");
  return operands;
}

/// What .relaxed, .acquire, ... and .cta, .gpu, ... mean to LLVM.
Emitter::Order Emitter::takeOrder() {
  Order order;
  StringRef name =
      takeOneOf({"relaxed", "acquire", "release", "acq_rel", "sc", "mmio"});
  order.ordering = StringSwitch<AtomicOrdering>(name)
                       .Cases({"relaxed", "mmio"}, AtomicOrdering::Monotonic)
                       .Case("acquire", AtomicOrdering::Acquire)
                       .Case("release", AtomicOrdering::Release)
                       .Case("acq_rel", AtomicOrdering::AcquireRelease)
                       .Case("sc", AtomicOrdering::SequentiallyConsistent)
                       .Default(AtomicOrdering::NotAtomic);
  StringRef scope = takeOneOf({"cta", "cluster", "gpu", "sys"}, "gpu");
  StringRef llvmScope = scope == "cta"       ? "block"
                        : scope == "gpu"     ? "device"
                        : scope == "cluster" ? "cluster"
                                             : "";
  order.scope = context.getOrInsertSyncScopeID(llvmScope);
  return order;
}

//===----------------------------------------------------------------------===//
// ld, st
//===----------------------------------------------------------------------===//

void Emitter::load() {
  if (is_contained(mods, "param") || is_contained(mods, "param::entry") ||
      is_contained(mods, "param::func"))
    return loadParameter();
  bool isVolatile = take("volatile");
  Order order = takeOrder();
  unsigned extra = dropCacheHints(), space = takeSpace(), count = takeVector();
  PtxType type = takeType();
  expectOperands(2 + extra, 2 + extra);
  finishLoad(address(operand(1), space), type, count, isVolatile, order);
}

/// Vectors must be aligned as a whole, scalars to their size.
void Emitter::finishLoad(Value *pointer, PtxType type, unsigned count,
                         bool isVolatile, Order order) {
  if (type.bits() < 8)
    unknown();
  llvm::Type *element = llvmType(type);
  llvm::Type *whole =
      count == 1 ? element : FixedVectorType::get(element, count);
  LoadInst *loaded = b.CreateAlignedLoad(
      whole, pointer, Align(type.bits() / 8 * count), isVolatile);
  if (order.ordering != AtomicOrdering::NotAtomic) {
    if (count == 1 && type.bits() <= 64)
      loaded->setAtomic(order.ordering, order.scope);
    else
      loaded->setVolatile(true);
  }
  ArrayRef<Operand> to = elements(operand(0));
  if (to.size() != count)
    malformed(fmt::format("{} registers to load", count));
  for (unsigned i = 0; i < count; ++i)
    write(to[i],
          count == 1 ? static_cast<Value *>(loaded)
                     : b.CreateExtractElement(loaded, i),
          type.isSigned());
}

/// Parameters of a kernel are values; they go to memory where the text reads
/// a part of one.
void Emitter::loadParameter() {
  takeOneOf({"param", "param::entry", "param::func"});
  unsigned count = takeVector();
  PtxType type = takeType();
  expectOperands(2, 2);
  const Operand &from = operand(1);
  auto found = scopes.front().names.find(from.name);
  if (found == scopes.front().names.end() || !found->second.value)
    return finishLoad(address(from, 0), type, count, false, {});
  Symbol &symbol = found->second;
  llvm::Type *held = symbol.value->getType();
  unsigned bits = held->isPointerTy() ? 64 : held->getPrimitiveSizeInBits();
  if (count == 1 && from.bits == 0 && type.bits() == bits) {
    Value *value = held->isPointerTy()
                       ? b.CreatePtrToInt(symbol.value, b.getInt64Ty())
                       : symbol.value;
    return write(operand(0), value, type.isSigned());
  }
  if (!symbol.memory) {
    IRBuilder<> entry(function->getEntryBlock().getTerminator());
    AllocaInst *slot = entry.CreateAlloca(held);
    slot->setAlignment(Align(16));
    entry.CreateStore(symbol.value, slot);
    symbol.memory = slot;
  }
  if (from.bits + count * type.bits() / 8 > bits / 8)
    malformed("a place within the parameter");
  finishLoad(address(from, 0), type, count, false, {});
}

void Emitter::store() {
  bool parameter = takeOneOf({"param", "param::func"}) != "";
  bool isVolatile = take("volatile");
  Order order = takeOrder();
  unsigned extra = dropCacheHints(), space = parameter ? 0 : takeSpace(),
           count = takeVector();
  PtxType type = takeType();
  expectOperands(2 + extra, 2 + extra);
  if (type.bits() < 8)
    unknown();
  ArrayRef<Operand> from = elements(operand(1));
  if (from.size() != count)
    malformed(fmt::format("{} values to store", count));
  Value *value = nullptr;
  if (count == 1) {
    value = read(from[0], type);
  } else {
    value = PoisonValue::get(FixedVectorType::get(llvmType(type), count));
    for (unsigned i = 0; i < count; ++i)
      value = b.CreateInsertElement(value, read(from[i], type), i);
  }
  Value *pointer = address(operand(0), space);
  StoreInst *stored = b.CreateAlignedStore(
      value, pointer, Align(type.bits() / 8 * count), isVolatile);
  if (order.ordering == AtomicOrdering::NotAtomic)
    return;
  if (count == 1 && type.bits() <= 64)
    stored->setAtomic(order.ordering, order.scope);
  else
    stored->setVolatile(true);
}

//===----------------------------------------------------------------------===//
// atom, red
//===----------------------------------------------------------------------===//

static AtomicRMWInst::BinOp atomicOperation(StringRef op, PtxType type) {
  using A = AtomicRMWInst;
  bool s = type.isSigned(), real = type.isFloat() || type.isPacked();
  if (real)
    return op == "add" ? A::FAdd : op == "exch" ? A::Xchg : A::BAD_BINOP;
  return StringSwitch<A::BinOp>(op)
      .Case("add", A::Add)
      .Case("and", A::And)
      .Case("or", A::Or)
      .Case("xor", A::Xor)
      .Case("exch", A::Xchg)
      .Case("inc", A::UIncWrap)
      .Case("dec", A::UDecWrap)
      .Case("min", s ? A::Min : A::UMin)
      .Case("max", s ? A::Max : A::UMax)
      .Default(A::BAD_BINOP);
}

void Emitter::atomic() {
  bool hasResult = inst->words[0] == "atom";
  Order order = takeOrder();
  if (order.ordering == AtomicOrdering::NotAtomic)
    order.ordering = AtomicOrdering::Monotonic;
  unsigned extra = dropCacheHints(), space = takeSpace();
  take("noftz");
  PtxType type = takeType();
  if (type.bits() < 16)
    unknown();
  StringRef op = mods.empty() ? "" : mods.pop_back_val();
  unsigned first = hasResult ? 1 : 0, count = op == "cas" ? 3 : 2;
  expectOperands(first + count + extra, first + count + extra);
  Value *pointer = address(operand(first), space), *result = nullptr;
  Align align(type.bits() / 8);
  if (op == "cas") {
    Value *expected = readInt(operand(first + 1), type.bits()),
          *wanted = readInt(operand(first + 2), type.bits());
    AtomicOrdering failure =
        AtomicCmpXchgInst::getStrongestFailureOrdering(order.ordering);
    Value *pair = b.CreateAtomicCmpXchg(pointer, expected, wanted, align,
                                        order.ordering, failure, order.scope);
    result = b.CreateExtractValue(pair, 0);
  } else {
    AtomicRMWInst::BinOp operation = atomicOperation(op, type);
    if (operation == AtomicRMWInst::BAD_BINOP)
      unknown();
    Value *value = read(operand(first + 1), type);
    if (operation == AtomicRMWInst::FAdd && value->getType()->isIntegerTy()) {
      llvm::Type *half =
          type.name.starts_with("bf16") ? b.getBFloatTy() : b.getHalfTy();
      value = b.CreateBitCast(
          value, type.isPacked() ? FixedVectorType::get(half, 2) : half);
    }
    result = b.CreateAtomicRMW(operation, pointer, value, align, order.ordering,
                               order.scope);
  }
  if (hasResult)
    write(operand(0), result, type.isSigned());
}

//===----------------------------------------------------------------------===//
// cp.async, fences, spaces
//===----------------------------------------------------------------------===//

void Emitter::asyncCopy() {
  if (!take("async"))
    unknown();
  if (take("commit_group"))
    return void(intrinsic("llvm.nvvm.cp.async.commit.group"));
  if (take("wait_all"))
    return void(intrinsic("llvm.nvvm.cp.async.wait.all"));
  if (take("wait_group"))
    return void(intrinsic("llvm.nvvm.cp.async.wait.group",
                          {b.getInt32(constant(operand(0)))}));
  if (take("mbarrier")) {
    take("arrive");
    bool noInc = take("noinc");
    takeSpace();
    take("b64");
    expectOperands(1, 1);
    std::string name = "llvm.nvvm.cp.async.mbarrier.arrive";
    name += noInc ? ".noinc.shared" : ".shared";
    return void(intrinsic(name, {address(operand(0), 3)}));
  }
  StringRef level = takeOneOf({"ca", "cg"});
  bool hint = take("L2::cache_hint");
  while (takePrefix("L2::"))
    ;
  bool shared = takeOneOf({"shared", "shared::cta"}) != "";
  if (level.empty() || !shared || !take("global"))
    unknown();
  expectOperands(3 + hint, 4 + hint);
  uint64_t bytes = constant(operand(2));
  std::string name =
      fmt::format("llvm.nvvm.cp.async.{}.shared.global.{}", level.str(), bytes);
  SmallVector<Value *, 3> arguments = {address(operand(0), 3),
                                       address(operand(1), 1)};
  if (operands() == (hint ? 5 : 4)) {
    // The bytes to read, the rest being zeros; or a predicate to read none.
    const Operand &last = operand(3);
    const Symbol *symbol =
        last.kind == Operand::Name ? find(last.name) : nullptr;
    bool predicate = symbol && symbol->slot &&
                     symbol->slot->getAllocatedType()->isIntegerTy(1);
    name += ".s";
    arguments.push_back(
        predicate
            ? b.CreateSelect(readInt(last, 1), b.getInt32(0), b.getInt32(bytes))
            : readInt(last, 32));
  }
  intrinsic(name, arguments);
}

void Emitter::spaceTest() {
  StringRef space =
      takeOneOf({"global", "shared", "shared::cta", "local", "const"});
  expectOperands(2, 2);
  Value *pointer = b.CreateIntToPtr(readInt(operand(1), 64), b.getPtrTy());
  write(operand(0),
        intrinsic(("llvm.nvvm.isspacep." + space.split("::").first).str(),
                  {pointer}));
}

void Emitter::fence() {
  expectOperands(0, 0);
  if (inst->words[0] == "membar") {
    StringRef scope = takeOneOf({"cta", "gl", "sys"});
    return void(intrinsic(("llvm.nvvm.membar." + scope).str()));
  }
  if (take("proxy")) {
    if (!take("async"))
      unknown();
    StringRef space = takeOneOf({"global", "shared::cta", "shared::cluster"});
    std::string name = "llvm.nvvm.fence.proxy.async";
    if (!space.empty())
      name += space == "global"        ? ".global"
              : space == "shared::cta" ? ".shared_cta"
                                       : ".shared_cluster";
    return void(intrinsic(name));
  }
  if (take("mbarrier_init")) {
    take("release");
    take("cluster");
    return void(intrinsic("llvm.nvvm.fence.mbarrier_init.release.cluster"));
  }
  Order order = takeOrder();
  if (order.ordering == AtomicOrdering::NotAtomic ||
      order.ordering == AtomicOrdering::Monotonic)
    unknown();
  b.CreateFence(order.ordering, order.scope);
}

/// A policy of caching is a number that nothing reads.
void Emitter::createPolicy() {
  mods.clear();
  write(operand(0), b.getInt64(0));
}

void Emitter::addMemory(StringMap<Handler> &table) {
  table["ld"] = table["ldu"] = &Emitter::load;
  table["st"] = &Emitter::store;
  table["atom"] = table["red"] = &Emitter::atomic;
  table["cp"] = &Emitter::asyncCopy;
  table["isspacep"] = &Emitter::spaceTest;
  table["membar"] = table["fence"] = &Emitter::fence;
  table["createpolicy"] = &Emitter::createPolicy;
}
