//===- ChainKernels.cpp - block-chain-kernels -----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Block/Block.h"
#include "passes/Block/Cleanup.h"
#include "passes/Block/Config.h"
#include "passes/Block/Interleave.h"
#include "passes/Block/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::block {
#define GEN_PASS_DEF_CHAINKERNELS
#include "passes/Block/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;

static scf::ForallOp getForall(func::FuncOp kernel) {
  auto loops = kernel.getBody().getOps<scf::ForallOp>();
  return loops.empty() ? scf::ForallOp() : *loops.begin();
}

static int64_t getGrid(func::FuncOp kernel) {
  auto grid = kernel->getAttrOfType<IntegerAttr>(BlockDialect::gridAttrName);
  return grid ? grid.getInt() : 0;
}

/// Blocks of `maker` are of as many rows as `reader` takes together.
static bool haveEqualBlocks(func::FuncOp maker, func::FuncOp reader) {
  auto group = maker->getAttrOfType<IntegerAttr>(BlockDialect::groupAttrName);
  // Kernels of the host have no config.
  auto rows = maker->getAttrOfType<ConfigAttr>(BlockDialect::configAttrName);
  auto groups = reader->getAttrOfType<ConfigAttr>(BlockDialect::configAttrName);
  return group && rows && groups && rows.getRows() == group.getInt() &&
         groups.getRows() == 1 && getGrid(maker) >= getGrid(reader) &&
         getForall(maker) && getForall(reader);
}

namespace {
/// Two calls of a step that become one.
class Chain {
public:
  Chain(func::CallOp first, func::CallOp second, func::FuncOp maker,
        func::FuncOp reader)
      : calls{first, second}, kernels{maker, reader} {
    for (func::CallOp call : calls)
      for (Value operand : call.getOperands())
        operands.insert(operand);
  }

  /// Names the kernels and which arguments they share.
  std::string key();
  func::FuncOp build();
  void replaceCalls(func::FuncOp kernel);

private:
  bool isMade(BlockArgument argument);
  Value isReaders(scf::ForallOp into);
  void cloneBody(unsigned which, scf::ForallOp into, IRMapping mapping);

  func::CallOp calls[2];
  func::FuncOp kernels[2];
  llvm::SmallSetVector<Value, 8> operands;
};
} // namespace

std::string Chain::key() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (func::CallOp call : calls) {
    stream << call.getCallee();
    for (Value operand : call.getOperands())
      stream << " " << llvm::find(operands, operand) - operands.begin();
    stream << ";";
  }
  return text;
}

/// Whether memory is written through `value` or a view of it.
static bool isWritten(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (auto view = dyn_cast<ViewLikeOpInterface>(user))
      return view.getViewSource() == value && isWritten(user->getResult(0));
    auto effects = dyn_cast<MemoryEffectOpInterface>(user);
    return effects &&
           effects.getEffectOnValue<MemoryEffects::Write>(value).has_value();
  });
}

/// Whether the maker writes what the reader has as `argument`.
bool Chain::isMade(BlockArgument argument) {
  Value operand = calls[1].getOperand(argument.getArgNumber());
  return llvm::any_of(
      llvm::zip_equal(kernels[0].getArguments(), calls[0].getOperands()),
      [&](auto pair) {
        return std::get<1>(pair) == operand && isWritten(std::get<0>(pair));
      });
}

/// Whether a block is one that the reader has too; null where all are.
Value Chain::isReaders(scf::ForallOp into) {
  if (getGrid(kernels[1]) == getGrid(kernels[0]))
    return {};
  OpBuilder b(into.getTerminator());
  Location loc = kernels[1].getLoc();
  Value blocks = arith::ConstantIndexOp::create(b, loc, getGrid(kernels[1]));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                               into.getInductionVar(0), blocks);
}

/// The blocks of one kernel inside of the common loop; where it has fewer,
/// under a condition.
void Chain::cloneBody(unsigned which, scf::ForallOp into, IRMapping mapping) {
  scf::ForallOp forall = getForall(kernels[which]);
  Value inside = which == 1 ? isReaders(into) : Value();
  OpBuilder b(into.getTerminator());
  if (inside)
    b.setInsertionPointToStart(
        scf::IfOp::create(b, forall.getLoc(), inside).thenBlock());
  for (Operation &op : forall.getBody()->without_terminator())
    b.clone(op, mapping);
}

func::FuncOp Chain::build() {
  Builder types(kernels[0].getContext());
  SmallVector<Type> arguments(
      llvm::map_range(operands, [](Value v) { return v.getType(); }));
  auto chained = func::FuncOp::create(kernels[0].getLoc(),
                                      (kernels[0].getName() + "_chain").str(),
                                      types.getFunctionType(arguments, {}));
  chained->setDiscardableAttrs(kernels[0]->getDiscardableAttrDictionary());
  chained->removeAttr(BlockDialect::groupAttrName);
  Block *body = chained.addEntryBlock();
  OpBuilder b = OpBuilder::atBlockEnd(body);

  // What stands before the loops, with the arguments of the common kernel.
  IRMapping mappings[2];
  for (unsigned which : {0u, 1u}) {
    func::CallOp call = calls[which];
    func::FuncOp kernel = kernels[which];
    for (auto [argument, operand] :
         llvm::zip_equal(kernel.getArguments(), call.getOperands()))
      mappings[which].map(
          argument, body->getArgument(unsigned(llvm::find(operands, operand) -
                                               operands.begin())));
    for (Operation &op : kernel.getBody().front().without_terminator())
      if (!isa<scf::ForallOp>(op))
        b.clone(op, mappings[which]);
  }
  scf::ForallOp model = getForall(kernels[0]);
  auto forall =
      scf::ForallOp::create(b, model.getLoc(), model.getMixedUpperBound(),
                            ValueRange(), model.getMapping());
  func::ReturnOp::create(b, chained.getLoc());
  for (unsigned which : {0u, 1u})
    mappings[which].map(getForall(kernels[which]).getInductionVar(0),
                        forall.getInductionVar(0));
  auto group =
      kernels[0]->getAttrOfType<IntegerAttr>(BlockDialect::groupAttrName);
  if (auto together = Interleaving::find(
          getForall(kernels[0]), getForall(kernels[1]), group.getInt(),
          [&](BlockArgument argument) { return isMade(argument); })) {
    together->emit(forall, mappings[0], mappings[1], isReaders(forall));
    eraseDead(chained);
    return chained;
  }
  for (unsigned which : {0u, 1u})
    cloneBody(which, forall, mappings[which]);
  return chained;
}

void Chain::replaceCalls(func::FuncOp kernel) {
  OpBuilder b(calls[1]);
  func::CallOp::create(b, calls[1].getLoc(), kernel, operands.getArrayRef());
  remark::passed(kernel.getLoc(), remark::RemarkOpts::name("Chained")
                                      .category("block-chain-kernels")
                                      .function(kernel.getName()))
      << remark::add("{0} runs block by block after {1}, on what that left in "
                     "the cache",
                     kernels[1].getName().str(), kernels[0].getName().str());
  for (func::CallOp call : calls)
    call.erase();
}

namespace {
struct ChainKernelsPass : block::impl::ChainKernelsBase<ChainKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto step : getOperation().getOps<func::FuncOp>())
      if (step->hasAttr(BlockDialect::stepAttrName))
        chainCalls(step, symbols);
    eraseUnused(symbols);
  }

private:
  void chainCalls(func::FuncOp step, SymbolTable &symbols);
  void eraseUnused(SymbolTable &symbols);

  llvm::StringMap<func::FuncOp> known;
  llvm::SmallSetVector<func::FuncOp, 8> parts;
};
} // namespace

void ChainKernelsPass::chainCalls(func::FuncOp step, SymbolTable &symbols) {
  SmallVector<func::CallOp> calls(step.getOps<func::CallOp>());
  for (size_t i = 0; i + 1 < calls.size(); ++i) {
    auto maker = symbols.lookup<func::FuncOp>(calls[i].getCallee());
    auto reader = symbols.lookup<func::FuncOp>(calls[i + 1].getCallee());
    if (!maker || !reader || !haveEqualBlocks(maker, reader))
      continue;
    Chain chain(calls[i], calls[i + 1], maker, reader);
    func::FuncOp &kernel = known[chain.key()];
    if (!kernel) {
      kernel = chain.build();
      symbols.insert(kernel, Block::iterator(step));
      mergeEqual(kernel);
      ++numChained;
    }
    chain.replaceCalls(kernel);
    parts.insert(maker);
    parts.insert(reader);
    ++i;
  }
}

/// Kernels that only chains called.
void ChainKernelsPass::eraseUnused(SymbolTable &symbols) {
  llvm::StringSet<> called;
  getOperation().walk(
      [&](func::CallOp call) { called.insert(call.getCallee()); });
  for (func::FuncOp part : parts)
    if (!called.contains(part.getName()))
      symbols.erase(part);
  known.clear();
  parts.clear();
}
