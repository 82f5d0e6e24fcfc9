//===- Fibers.h - stacks of lanes, and switching between them ---*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_FIBERS_H
#define STEEP_RUNTIME_DEVICES_SIMT_FIBERS_H

#include <cstddef>

namespace steep::simt {

/// Saves the callee-saved registers and the stack pointer at *save, and
/// continues where `to` was saved. Returns when something switches back.
extern "C" void steepSimtSwitch(void **save, void *to);

/// Stacks for `count` lanes, one mapping; between two stacks lies a page that
/// may not be touched, so that an overflow faults instead of writing into the
/// neighbour's stack.
class Stacks {
public:
  explicit Stacks(unsigned count);
  ~Stacks();
  Stacks(const Stacks &) = delete;
  Stacks &operator=(const Stacks &) = delete;

  /// Whether the system gave the memory.
  explicit operator bool() const { return memory != nullptr; }

  /// A saved state on stack `index` from which steepSimtSwitch calls
  /// body(argument), which must not return.
  void *prepare(unsigned index, void (*body)(void *), void *argument);

  /// Whether `address` lies in a stack: local memory.
  bool contains(const void *address) const;

  /// Whether `address` lies in the guard page below a stack.
  bool isGuard(const void *address) const;

private:
  char *memory = nullptr;
  unsigned count;
};

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_FIBERS_H
