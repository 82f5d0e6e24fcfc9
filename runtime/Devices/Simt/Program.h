//===- Program.h - a loaded module of the emulated GPU ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the loader hands to the executor: kernels as host functions that call
// it at sites. Nothing here knows LLVM.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_PROGRAM_H
#define STEEP_RUNTIME_DEVICES_SIMT_PROGRAM_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace steep::simt {

struct Context;
struct Operation;

/// How modules are loaded and run.
struct Options {
  /// Instrument every access and look for races, bounds and the like. Blocks
  /// then run on one thread, so that reports are the same from run to run.
  bool check = false;
  /// Optimise kernels before they run. Kernels with checks never are: the
  /// checks take longer than what they check.
  bool optimize = true;
  /// 0 runs warps and lanes in order; any other number in a random order that
  /// it determines.
  std::uint64_t seed = 0;
  /// Host threads that run blocks; 0 means one a CPU.
  unsigned threads = 1;
  /// A launch that takes longer is stopped with a report of who waits where.
  unsigned timeoutMs = 60000;
  /// Reports a launch makes before it stops looking.
  unsigned maxReports = 8;
};

/// STEEP_SIMT_CHECK, STEEP_SIMT_OPTIMIZE, STEEP_SIMT_SEED, STEEP_SIMT_THREADS
/// and STEEP_SIMT_TIMEOUT_MS. Returns false and a message for a value that is
/// not a number.
bool optionsFromEnvironment(Options &options, std::string &message);

/// A place in the code that calls the emulator.
struct Site {
  /// The instruction, and "FILE:LINE" of its debug location or nothing.
  std::string text, location;
  /// The operation that __simt_op performs; null for a checked access.
  const Operation *operation = nullptr;
  /// What the name of the intrinsic said beyond the operation (a count, a
  /// size, a shape), as the operation's file packs it.
  std::uint32_t immediate = 0;
  /// Checked accesses: the alignment the code promises, and the bytes of the
  /// shared variable it names, [sharedBegin, sharedEnd), or an empty range.
  std::uint32_t alignment = 1, sharedBegin = 0, sharedEnd = 0;
  /// The shared variable is the launch's dynamic part, whose end is not known
  /// when the module is loaded.
  bool dynamicShared = false;
  /// An atomic access that also releases what the lane did before.
  bool releases = false;
  std::uint32_t results = 0;
};

/// The thunk of a kernel: unpacks cuLaunchKernel's array and runs one lane.
using KernelEntry = void (*)(Context *, void **parameters);

/// What the code says of a parameter's type.
enum class ParameterKind : std::uint8_t {
  Bits, ///< Nothing: PTX's .b32 and the like, and structures.
  Integer,
  Float,
};

struct Kernel {
  std::string name;
  /// Bytes of each parameter, and their offsets in a packed buffer.
  std::vector<std::uint32_t> sizes, offsets;
  /// Pointers are integers.
  std::vector<ParameterKind> kinds;
  /// The launch's block must have these sizes (nvvm.reqntid); 0: any.
  std::uint32_t required[3] = {0, 0, 0};
  /// At most so many threads a block (nvvm.maxntid); 0: any.
  std::uint32_t maxThreads = 0;
  /// Bytes of shared memory before the launch's dynamic part.
  std::uint32_t staticShared = 0;
  /// Every access of the kernel to shared memory is of a multiple of so many
  /// bytes, aligned to them: checks need not look at single bytes.
  std::uint32_t sharedGranule = 1;
  /// The same for global memory: two where half-precision elements are the
  /// smallest, one where it accesses single bytes.
  std::uint32_t globalGranule = 1;
};

/// A variable in global or constant memory.
struct Variable {
  std::string name;
  void *address = nullptr;
  std::size_t bytes = 0;
};

/// A module. Launches of one program may run at the same time.
class Program {
public:
  virtual ~Program() = default;

  const Kernel *findKernel(const std::string &name) const;
  const Variable *findVariable(const std::string &name) const;

  /// The kernel's code, which is compiled when it is first asked for. Null and
  /// a message if that failed.
  virtual KernelEntry entry(const Kernel &kernel,
                            std::string &message) const = 0;

  Options options;
  /// So far; each has a schedule of its own where there is a seed.
  mutable std::atomic<std::uint64_t> launches{0};
  std::vector<Kernel> kernels;
  std::vector<Variable> variables;
};

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_PROGRAM_H
