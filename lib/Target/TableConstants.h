//===- TableConstants.h - constants of eight bytes --------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_TABLECONSTANTS_H
#define STEEP_LIB_TARGET_TABLECONSTANTS_H

#include "lib/Target/DeviceCode.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

namespace steepc {

/// Makes constants of eight bytes, and memory that holds them.
class TableConstants {
public:
  explicit TableConstants(llvm::Module &module)
      : module(module), pointer(llvm::PointerType::get(module.getContext(), 0)),
        word(llvm::Type::getInt64Ty(module.getContext())) {}

  llvm::Constant *number(int64_t value) {
    return llvm::ConstantInt::get(word, uint64_t(value), true);
  }
  llvm::Constant *real(double value) {
    return llvm::ConstantFP::get(llvm::Type::getDoubleTy(module.getContext()),
                                 value);
  }
  llvm::Constant *text(llvm::StringRef value) {
    llvm::Constant *&known = texts[value];
    if (!known)
      known = place(
          llvm::ConstantDataArray::getString(module.getContext(), value, true));
    return known;
  }
  /// Bytes that another program reads, aligned for any of its structures, with
  /// a zero behind them.
  llvm::Constant *image(llvm::StringRef bytes) {
    auto *global = llvm::cast<llvm::GlobalVariable>(place(
        llvm::ConstantDataArray::getString(module.getContext(), bytes, true)));
    global->setAlignment(llvm::Align(64));
    return global;
  }
  llvm::Constant *record(llvm::ArrayRef<llvm::Constant *> fields) {
    return llvm::ConstantStruct::getAnon(module.getContext(), fields);
  }
  /// The address of an array; null where it is empty.
  llvm::Constant *array(llvm::ArrayRef<llvm::Constant *> elements) {
    if (elements.empty())
      return llvm::ConstantPointerNull::get(pointer);
    auto *type = llvm::ArrayType::get(elements[0]->getType(), elements.size());
    return place(llvm::ConstantArray::get(type, elements));
  }
  llvm::Constant *numbers(llvm::ArrayRef<int64_t> values) {
    llvm::SmallVector<llvm::Constant *> elements;
    for (int64_t value : values)
      elements.push_back(number(value));
    return array(elements);
  }

private:
  llvm::Constant *place(llvm::Constant *value) {
    auto *global = new llvm::GlobalVariable(module, value->getType(), true,
                                            llvm::GlobalValue::PrivateLinkage,
                                            value, "steep.table");
    global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return global;
  }

  llvm::Module &module;
  llvm::PointerType *pointer;
  llvm::Type *word;
  llvm::StringMap<llvm::Constant *> texts;
};

/// The array of steep_gpu_target for `codes`. A kernel that a GPU's plan calls
/// and its module lacks is left in `missing`.
llvm::Constant *makeGPUTargets(TableConstants &make,
                               llvm::ArrayRef<GPUCode> codes,
                               std::string &missing);

} // namespace steepc

#endif // STEEP_LIB_TARGET_TABLECONSTANTS_H
