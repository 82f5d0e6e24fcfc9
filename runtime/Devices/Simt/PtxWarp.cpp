//===- PtxWarp.cpp - what the lanes of a warp do together ------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/PtxEmitter.h"

using namespace llvm;
using namespace steep::simt::ptx;

/// bar and barrier: sync, arrive, red, warp.sync; cluster.
void Emitter::barrier() {
  if (take("warp")) {
    take("sync");
    expectOperands(1, 1);
    return void(
        intrinsic("llvm.nvvm.bar.warp.sync", {readInt(operand(0), 32)}));
  }
  if (take("cluster")) {
    StringRef part = takeOneOf({"arrive", "wait"});
    bool relaxed = take("relaxed");
    take(part == "arrive" ? "release" : "acquire");
    std::string name = ("llvm.nvvm.barrier.cluster." + part).str();
    name += relaxed ? ".relaxed" : "";
    name += take("aligned") ? ".aligned" : "";
    expectOperands(0, 0);
    return void(intrinsic(name));
  }
  take("cta");
  // `bar` promises that all threads of a warp arrive together.
  std::string aligned =
      inst->words[0] == "bar" || take("aligned") ? ".aligned" : "";
  StringRef part = takeOneOf({"sync", "arrive", "red"});
  std::string name = ("llvm.nvvm.barrier.cta." + part).str();
  if (part == "red") {
    StringRef op = takeOneOf({"popc", "and", "or"});
    takeType();
    expectOperands(3, 4);
    name += ("." + op).str() + aligned + (operands() == 4 ? ".count" : ".all");
    SmallVector<Value *, 3> arguments;
    for (unsigned i = 1; i + 1 < operands(); ++i)
      arguments.push_back(readInt(operand(i), 32));
    arguments.push_back(readPredicate(operand(operands() - 1)));
    return write(operand(0), intrinsic(name, arguments));
  }
  expectOperands(part == "arrive" ? 2 : 1, 2);
  SmallVector<Value *, 2> arguments;
  for (const Operand &each : inst->operands)
    arguments.push_back(readInt(each, 32));
  intrinsic(name + aligned + (operands() == 2 ? ".count" : ".all"), arguments);
}

void Emitter::shuffle() {
  if (!take("sync"))
    unknown();
  StringRef mode = takeOneOf({"up", "down", "bfly", "idx"});
  if (takeType().name != "b32")
    unknown();
  expectOperands(5, 5);
  bool pair = operand(0).kind == Operand::Pair;
  Value *arguments[] = {readInt(operand(4), 32), readInt(operand(1), 32),
                        readInt(operand(2), 32), readInt(operand(3), 32)};
  Value *result = intrinsic(
      ("llvm.nvvm.shfl.sync." + mode + (pair ? ".i32p" : ".i32")).str(),
      arguments);
  writeResults(pair ? ArrayRef<Operand>(operand(0).parts)
                    : ArrayRef<Operand>(operand(0)),
               result);
}

/// vote.sync, activemask, elect.sync.
void Emitter::vote() {
  StringRef name = inst->words[0];
  if (name == "activemask") {
    take("b32");
    expectOperands(1, 1);
    return write(operand(0), intrinsic("llvm.nvvm.activemask"));
  }
  if (!take("sync"))
    unknown();
  if (name == "elect") {
    expectOperands(2, 2);
    if (operand(0).kind != Operand::Pair)
      malformed("two results");
    return writeResults(operand(0).parts, intrinsic("llvm.nvvm.elect.sync",
                                                    {readInt(operand(1), 32)}));
  }
  StringRef mode = takeOneOf({"all", "any", "uni", "ballot"});
  if (takeType().name != (mode == "ballot" ? "b32" : "pred"))
    unknown();
  expectOperands(3, 3);
  write(operand(0),
        intrinsic(("llvm.nvvm.vote." + mode + ".sync").str(),
                  {readInt(operand(2), 32), readPredicate(operand(1))}));
}

void Emitter::match() {
  StringRef mode = takeOneOf({"any", "all"});
  if (!take("sync"))
    unknown();
  unsigned bits = takeType().bits();
  expectOperands(3, 3);
  bool all = mode == "all";
  std::string name = fmt::format("llvm.nvvm.match.{}.sync.i{}{}", mode.str(),
                                 bits, all ? "p" : "");
  Value *result =
      intrinsic(name, {readInt(operand(2), 32), readInt(operand(1), bits)});
  if (operand(0).kind == Operand::Pair)
    return writeResults(operand(0).parts, result);
  write(operand(0), all ? b.CreateExtractValue(result, 0) : result);
}

void Emitter::redux() {
  if (!take("sync"))
    unknown();
  PtxType type = takeType();
  bool absolute = take("abs"), nan = take("NaN"), real = type.name == "f32";
  StringRef op = takeOneOf({"add", "min", "max", "and", "or", "xor"});
  expectOperands(3, 3);
  std::string name = "llvm.nvvm.redux.sync.";
  if (op == "min" || op == "max")
    name += real ? "f" : type.isSigned() ? "" : "u";
  name += op.str();
  name += absolute ? ".abs" : "";
  name += nan ? ".NaN" : "";
  write(operand(0),
        intrinsic(name, {read(operand(1), type), readInt(operand(2), 32)}));
}

//===----------------------------------------------------------------------===//
// mbarrier
//===----------------------------------------------------------------------===//

void Emitter::mbarrier() {
  StringRef part =
      takeOneOf({"init", "inval", "arrive", "arrive_drop", "test_wait",
                 "try_wait", "expect_tx", "complete_tx"});
  bool expectTx = part == "arrive" && take("expect_tx"),
       parity = take("parity"), noComplete = take("noComplete");
  // One block is one cluster here, and shared memory orders all of it.
  takeOneOf({"release", "acquire", "relaxed"});
  takeOneOf({"cta", "cluster"});
  takeSpace();
  take("b64");
  const std::string prefix = "llvm.nvvm.mbarrier.",
                    scoped = ".scope.cta.space.cta";
  auto count = [&](unsigned index) { return readInt(operand(index), 32); };
  if (part == "init")
    return void(
        intrinsic(prefix + "init.shared", {address(operand(0), 3), count(1)}));
  if (part == "inval")
    return void(intrinsic(prefix + "inval.shared", {address(operand(0), 3)}));
  if (part == "expect_tx" || part == "complete_tx")
    return void(intrinsic(
        prefix + (part == "expect_tx" ? "expect.tx" : "complete.tx") + scoped,
        {address(operand(0), 3), count(1)}));
  if (part == "test_wait" || part == "try_wait") {
    expectOperands(3, 4);
    std::string name = prefix +
                       (part == "test_wait" ? "test.wait" : "try.wait") +
                       (parity ? ".parity" : "") + scoped;
    Value *phase = readInt(operand(2), parity ? 32 : 64);
    return write(operand(0), intrinsic(name, {address(operand(1), 3), phase}));
  }
  if (part.empty())
    unknown();
  // The result may be left out.
  unsigned at = operand(0).kind == Operand::Address ? 0 : 1;
  std::string name = prefix + (part == "arrive" ? "arrive" : "arrive.drop") +
                     (expectTx ? ".expect.tx" : "");
  bool counted = operands() == at + 2;
  Value *result;
  if (noComplete)
    result = intrinsic(name + ".noComplete.shared",
                       {address(operand(at), 3), count(at + 1)});
  else if (counted)
    result = intrinsic(name + scoped, {address(operand(at), 3), count(at + 1)});
  else
    result = intrinsic(name + ".shared", {address(operand(at), 3)});
  if (at == 1)
    write(operand(0), result);
}

void Emitter::addWarp(StringMap<Handler> &table) {
  table["bar"] = table["barrier"] = &Emitter::barrier;
  table["shfl"] = &Emitter::shuffle;
  table["vote"] = table["activemask"] = table["elect"] = &Emitter::vote;
  table["match"] = &Emitter::match;
  table["redux"] = &Emitter::redux;
  table["mbarrier"] = &Emitter::mbarrier;
  table["ldmatrix"] = table["stmatrix"] = &Emitter::matrixMove;
  table["mma"] = &Emitter::matrixMultiply;
  table["wgmma"] = &Emitter::warpgroup;
}
