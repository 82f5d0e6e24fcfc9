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

/// Latches of the loops that could run long.
static SmallVector<Instruction *> findLatches(Function &body) {
  DominatorTree dominators(body);
  LoopInfo loops(dominators);
  AssumptionCache assumptions(body);
  TargetLibraryInfoImpl libraryImpl(body.getParent()->getTargetTriple());
  TargetLibraryInfo library(libraryImpl, &body);
  ScalarEvolution evolution(body, library, assumptions, dominators, loops);
  SmallVector<Instruction *> latches;
  for (Loop *loop : loops.getLoopsInPreorder()) {
    unsigned most = evolution.getSmallConstantMaxTripCount(loop);
    if (most && most <= kFewIterations)
      continue;
    SmallVector<BasicBlock *> blocks;
    loop->getLoopLatches(blocks);
    for (BasicBlock *block : blocks)
      latches.push_back(block->getTerminator());
  }
  return latches;
}

void insertLookUps(Function &body, SiteList &sites) {
  Module &module = *body.getParent();
  Argument *context = body.getArg(0);
  for (Instruction *latch : findLatches(body)) {
    IRBuilder<> builder(latch);
    Value *address = builder.CreateConstInBoundsGEP1_32(
        builder.getInt8Ty(), context, offsetof(Context, fuel));
    Value *left = builder.CreateSub(
        builder.CreateLoad(builder.getInt64Ty(), address), builder.getInt64(1));
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
