//===- LookUps.cpp - loops that can be interrupted ------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes are not preempted. So that one that spins lets others go on, and one
// that never ends is found, loops count down the lane's fuel and call the
// emulator when it is used up. Done after optimisation, to the loops that are
// left; loops of few iterations need no count.
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Block.h"
#include "runtime/Devices/Simt/Retarget.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <cstddef>

using namespace llvm;

namespace steep::simt {

static constexpr unsigned kFewIterations = 1024;
/// What an iteration of a loop that may wait for another thread costs: it
/// looks up 16384 times as often.
static constexpr unsigned kWaiting = 1 << 14;

namespace {
struct Latch {
  Instruction *terminator;
  unsigned cost;
};
} // namespace

/// A loop that reads memory others may change meanwhile.
static bool mayWait(const Loop &loop) {
  for (const BasicBlock *block : loop.blocks())
    for (const Instruction &instruction : *block)
      if (instruction.isAtomic() || instruction.isVolatile())
        return true;
  return false;
}

/// Latches of the loops that could run long.
static SmallVector<Latch> findLatches(Function &body) {
  DominatorTree dominators(body);
  LoopInfo loops(dominators);
  AssumptionCache assumptions(body);
  TargetLibraryInfoImpl libraryImpl(body.getParent()->getTargetTriple());
  TargetLibraryInfo library(libraryImpl, &body);
  ScalarEvolution evolution(body, library, assumptions, dominators, loops);
  SmallVector<Latch> latches;
  for (Loop *loop : loops.getLoopsInPreorder()) {
    unsigned most = evolution.getSmallConstantMaxTripCount(loop);
    if (most && most <= kFewIterations)
      continue;
    SmallVector<BasicBlock *> blocks;
    loop->getLoopLatches(blocks);
    unsigned cost = mayWait(*loop) ? kWaiting : 1;
    for (BasicBlock *block : blocks)
      latches.push_back({block->getTerminator(), cost});
  }
  return latches;
}

void insertLookUps(Function &body, SiteList &sites) {
  Module &module = *body.getParent();
  Argument *context = body.getArg(0);
  for (auto [latch, cost] : findLatches(body)) {
    IRBuilder<> builder(latch);
    Value *address = builder.CreateConstInBoundsGEP1_32(
        builder.getInt8Ty(), context, offsetof(Context, fuel));
    Value *left =
        builder.CreateSub(builder.CreateLoad(builder.getInt64Ty(), address),
                          builder.getInt64(cost));
    builder.CreateStore(left, address);
    Value *empty = builder.CreateICmpSLT(left, builder.getInt64(0));
    Instruction *rarely = SplitBlockAndInsertIfThen(
        empty, latch, false,
        MDBuilder(body.getContext()).createUnlikelyBranchWeights());
    builder.SetInsertPoint(rarely);
    Site &site = sites.add(*latch);
    Type *pointer = builder.getPtrTy();
    builder.CreateCall(
        entryPoint(module, "steepSimtLookUp", {pointer, pointer}),
        {context, siteAddress(body.getContext(), site)});
  }
}

} // namespace steep::simt
