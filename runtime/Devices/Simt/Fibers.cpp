//===- Fibers.cpp - stacks of lanes, and switching between them -----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Fibers.h"

#include <cstdint>
#include <sys/mman.h>

// The System V ABI makes a call preserve these six registers and nothing else
// that code compiled here uses; swapcontext would add two system calls.
asm(R"(
.text
.globl steepSimtSwitch
.hidden steepSimtSwitch
.type steepSimtSwitch,@function
steepSimtSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size steepSimtSwitch, .-steepSimtSwitch

.type steepSimtStart,@function
.globl steepSimtStart
.hidden steepSimtStart
steepSimtStart:
  movq %rbx, %rdi
  callq *%r12
  ud2
.size steepSimtStart, .-steepSimtStart
)");

extern "C" void steepSimtStart();

namespace steep::simt {

static constexpr std::size_t kPage = 4096;
/// Enough for kernels that nobody optimised; pages count once they are used.
static constexpr std::size_t kStack = 256 * 1024;
static constexpr std::size_t kStride = kStack + kPage;

Stacks::Stacks(unsigned count) : count(count) {
  void *mapped = mmap(nullptr, count * kStride, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return;
  memory = static_cast<char *>(mapped);
  for (unsigned i = 0; i < count; ++i)
    mprotect(memory + i * kStride, kPage, PROT_NONE);
}

Stacks::~Stacks() {
  if (memory)
    munmap(memory, count * kStride);
}

void *Stacks::prepare(unsigned index, void (*body)(void *), void *argument) {
  // Stacks that all start at the same offset of a page would share cache
  // sets: stagger them.
  char *top = memory + (index + 1) * kStride - 64 - (index % 32) * 128;
  auto **slot = reinterpret_cast<void **>(top);
  // steepSimtStart begins with the stack pointer at `top`, aligned to 16.
  *--slot = reinterpret_cast<void *>(&steepSimtStart);
  *--slot = nullptr;                        // rbp
  *--slot = argument;                       // rbx
  *--slot = reinterpret_cast<void *>(body); // r12
  *--slot = nullptr;                        // r13
  *--slot = nullptr;                        // r14
  *--slot = nullptr;                        // r15
  return slot;
}

bool Stacks::contains(const void *address) const {
  return memory && address >= memory && address < memory + count * kStride;
}

bool Stacks::isGuard(const void *address) const {
  auto offset = reinterpret_cast<std::uintptr_t>(address) -
                reinterpret_cast<std::uintptr_t>(memory);
  return memory && offset < count * kStride && offset % kStride < kPage;
}

} // namespace steep::simt
