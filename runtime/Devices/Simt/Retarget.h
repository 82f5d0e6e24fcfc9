//===- Retarget.h - modules of a GPU made modules of this machine -*- C++
//-*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps between an NVPTX-bound module and one that LLVM's x86 target
// compiles, in their order:
//
//   prepareModule     one function a kernel, no others; x86's triple
//   wrapKernels       a context argument, a thunk, shared memory as offsets
//   instrument        calls before every access (checked programs)
//   lowerIntrinsics   operations become calls, scalar intrinsics functions
//   insertLookUps     loops that LLVM leaves count down their fuel
//
// Address spaces stay in the module: x86 takes those below 256 as flat.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_RETARGET_H
#define STEEP_RUNTIME_DEVICES_SIMT_RETARGET_H

#include "runtime/Devices/Simt/Program.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace steep::simt {

/// Sites live as long as the program; code holds their addresses.
class SiteList {
public:
  /// A site for the instruction, with its text and location.
  Site &add(const llvm::Instruction &instruction);

private:
  std::mutex mutex;
  std::deque<Site> sites;
};

/// Everything that a module asks for and does not get.
using Problems = std::vector<std::string>;

/// Bytes of a block's shared memory.
struct SharedRange {
  std::uint32_t begin, end;
  bool dynamic;
};

/// A kernel on its way.
struct KernelCode {
  Kernel kernel;
  llvm::Function *body;  ///< The code, with the context first.
  llvm::Function *thunk; ///< What Program::entry returns.
  llvm::Argument *context;
  llvm::MapVector<llvm::GlobalVariable *, SharedRange> shared;
  /// Arguments that point to a parameter's own bytes.
  llvm::SmallDenseSet<unsigned> byValue;
};

void prepareModule(llvm::Module &module, llvm::TargetMachine &machine,
                   Problems &problems);

/// llvm.nvvm.atomic.* become LLVM's own atomic instructions.
void lowerAtomics(llvm::Module &module);

std::vector<KernelCode> wrapKernels(llvm::Module &module, Problems &problems);

/// Shared variables become addresses in the block's window.
void placeShared(KernelCode &code);

void instrument(KernelCode &code, SiteList &sites);

/// Links what is needed of the scalar library into the module.
void lowerIntrinsics(llvm::Module &module, std::vector<KernelCode> &kernels,
                     SiteList &sites, Problems &problems);

/// Inline assembly that stands for an operation of so many operands, or false.
bool findAssembly(llvm::StringRef text, std::size_t operands, Site &site);

void insertLookUps(llvm::Function &body, SiteList &sites);

/// Helpers of the steps.
llvm::Value *loadContext(llvm::IRBuilderBase &builder, llvm::Value *context,
                         unsigned offset, llvm::Type *type);
llvm::Constant *siteAddress(llvm::LLVMContext &context, const Site &site);
llvm::FunctionCallee entryPoint(llvm::Module &module, llvm::StringRef name,
                                llvm::ArrayRef<llvm::Type *> parameters);

/// A floating-point number as an integer of type `to`, towards zero and as PTX
/// has it: out of range it is the nearest integer there is; not-a-number is 0,
/// or the highest bit alone where one of the types has 64 bits.
llvm::Value *createConversion(llvm::IRBuilderBase &builder, llvm::Value *from,
                              llvm::Type *to, bool isSigned);

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_RETARGET_H
