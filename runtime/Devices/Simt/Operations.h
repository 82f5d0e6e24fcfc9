//===- Operations.h - what intrinsics of the GPU do -------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that is more than a scalar function is an operation of the
// executor: code calls it with its operands in 8-byte slots, in the order of
// the intrinsic, and finds the results in such slots. So no convention for
// structs or vectors is needed, and whoever performs a collective reads and
// writes the slots of all lanes, whose stacks stay alive while they wait.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_OPERATIONS_H
#define STEEP_RUNTIME_DEVICES_SIMT_OPERATIONS_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace steep::simt {

class Block;
struct Lane;

/// Who must have arrived before an operation runs.
enum class Gather : std::uint8_t {
  Lane,     ///< Nobody: each lane for itself.
  Warp,     ///< The lanes of the member mask.
  Warpgroup ///< 128 lanes.
};

struct Operation {
  const char *name;
  Gather gather;
  /// All lanes of a warp must come through the same instruction.
  bool aligned;
  /// The operand that is the member mask; -1: all lanes.
  std::int8_t maskOperand;
  /// Runs once all are there; `lane` is the last to come and `members` the
  /// mask. It may not hold memory of its own while it waits: a block that
  /// stops never comes back to it.
  void (*run)(Block &block, Lane &lane, std::uint32_t members);
  /// Asks whether something has happened yet: a block whose lanes do nothing
  /// else will never end.
  bool polls = false;
};

/// An intrinsic, without "llvm.nvvm.".
struct NamedOperation {
  std::string_view intrinsic;
  const Operation *operation;
  std::uint32_t immediate;
};

/// Null if the intrinsic is none of the operations.
const NamedOperation *findOperation(std::string_view intrinsic);

using OperationTable = std::vector<NamedOperation>;
OperationTable collectiveOperations();
OperationTable barrierOperations();
OperationTable transactionBarrierOperations();
OperationTable asyncCopyOperations();
OperationTable matrixOperations();
OperationTable warpgroupOperations();

/// The shape of a wgmma instruction, packed into a site's immediate.
struct WarpgroupShape {
  enum Type : std::uint32_t { F16, BF16, TF32 };
  std::uint32_t n;
  Type type;

  std::uint32_t pack() const { return n | type << 16; }
  static WarpgroupShape unpack(std::uint32_t immediate) {
    return {immediate & 0xffff, static_cast<Type>(immediate >> 16)};
  }
  std::uint32_t k() const { return type == TF32 ? 8 : 16; }
};

/// Operations that come as inline assembly and have no intrinsic.
extern const Operation warpgroupProduct;
extern const Operation waitForParity;

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_OPERATIONS_H
