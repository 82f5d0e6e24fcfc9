//===- Operations.cpp - what intrinsics of the GPU do ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Operations.h"

#include <unordered_map>

namespace steep::simt {

const NamedOperation *findOperation(std::string_view intrinsic) {
  static const auto table = [] {
    std::unordered_map<std::string_view, NamedOperation> map;
    for (auto *operations :
         {collectiveOperations, barrierOperations, transactionBarrierOperations,
          asyncCopyOperations, matrixOperations, warpgroupOperations})
      for (const NamedOperation &named : operations())
        map.emplace(named.intrinsic, named);
    return map;
  }();
  auto it = table.find(intrinsic);
  // Some names end with the address space of their pointer.
  std::size_t dot = intrinsic.rfind(".p");
  if (it == table.end() && dot != intrinsic.npos && dot + 3 == intrinsic.size())
    it = table.find(intrinsic.substr(0, dot));
  return it == table.end() ? nullptr : &it->second;
}

} // namespace steep::simt
