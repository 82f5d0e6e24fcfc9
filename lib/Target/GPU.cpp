//===- GPU.cpp - which GPUs the kernels are compiled for ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

// See CPU.cpp: only what is used is initialised.
extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

using namespace llvm;

namespace steepc {

static constexpr int64_t kib = 1024;

namespace {
struct Entry {
  StringLiteral name;
  int64_t capability;
  bool exact;
  int64_t ptxVersion;
  GPULimits limits;
};
} // namespace

/// From sm_80 on: kernels use cp.async and bf16 products. PTX versions are the
/// least with which LLVM 22 has the architecture, but 8.0 at least.
static constexpr Entry table[] = {
    {"sm_80", 80, false, 80, {64, 32, 164 * kib, 163 * kib}},
    {"sm_86", 86, false, 80, {48, 16, 100 * kib, 99 * kib}},
    {"sm_87", 87, false, 80, {48, 16, 164 * kib, 163 * kib}},
    {"sm_89", 89, false, 80, {48, 24, 100 * kib, 99 * kib}},
    {"sm_90", 90, false, 80, {64, 32, 228 * kib, 227 * kib}},
    {"sm_90a", 90, true, 80, {64, 32, 228 * kib, 227 * kib}},
    {"sm_100", 100, false, 86, {64, 32, 228 * kib, 227 * kib}},
    {"sm_100a", 100, true, 86, {64, 32, 228 * kib, 227 * kib}},
    {"sm_103", 103, false, 88, {64, 32, 228 * kib, 227 * kib}},
    {"sm_103a", 103, true, 88, {64, 32, 228 * kib, 227 * kib}},
    {"sm_120", 120, false, 87, {48, 24, 100 * kib, 99 * kib}},
    {"sm_120a", 120, true, 87, {48, 24, 100 * kib, 99 * kib}},
    {"sm_121", 121, false, 88, {48, 24, 100 * kib, 99 * kib}},
    {"sm_121a", 121, true, 88, {48, 24, 100 * kib, 99 * kib}},
};

void initializeNVPTX() {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}

Expected<GPU> parseGPU(StringRef name) {
  std::string known;
  for (const Entry &entry : table) {
    if (name == entry.name)
      return GPU{name.str(),       "+ptx" + std::to_string(entry.ptxVersion),
                 entry.capability, entry.exact,
                 entry.ptxVersion, entry.limits};
    known += (known.empty() ? "" : ", ") + entry.name.str();
  }
  return createStringError("--target: unknown GPU '" + name +
                           "'; expected one of " + known);
}

Expected<Targets> parseTargets(StringRef text) {
  SmallVector<StringRef> names;
  text.split(names, ',');
  std::string cpu;
  Targets targets;
  for (StringRef name : names) {
    if (name.empty() || name.trim() != name)
      return createStringError("--target: expected names with commas and no "
                               "spaces between, got '" +
                               text + "'");
    if (!name.starts_with("sm_")) {
      if (!cpu.empty())
        return createStringError("--target: expected at most one CPU, got '" +
                                 cpu + "' and '" + name + "'");
      cpu = name.str();
      continue;
    }
    Expected<GPU> gpu = parseGPU(name);
    if (!gpu)
      return gpu.takeError();
    if (llvm::any_of(targets.gpus,
                     [&](const GPU &other) { return other.name == name; }))
      return createStringError("--target: names '" + name + "' twice");
    targets.gpus.push_back(std::move(*gpu));
  }
  const bool hasKernels = cpu != "none";
  if (!hasKernels && targets.gpus.empty())
    return createStringError("--target: expected a GPU beside 'none', got '" +
                             text + "'");
  Expected<CPU> parsed = parseCPU(cpu.empty()   ? "native"
                                  : !hasKernels ? "x86-64"
                                                : cpu);
  if (!parsed)
    return parsed.takeError();
  targets.cpu = std::move(*parsed);
  targets.cpu.hasKernels = hasKernels;
  return targets;
}

double occupancy(const GPU &gpu, int64_t threads, int64_t registers,
                 int64_t sharedBytes) {
  // Registers go to warps by 256, warps to four schedulers; shared memory goes
  // to blocks by 128 bytes, and the system takes 1 KiB of each block's.
  int64_t warps = divideCeil(threads, 32);
  int64_t perWarp = alignTo(uint64_t(registers) * 32, 256);
  int64_t warpsByRegisters =
      perWarp ? 64 * kib / 4 / perWarp * 4 : gpu.limits.warps;
  int64_t shared = alignTo(uint64_t(sharedBytes), 128) + kib;
  int64_t blocks =
      std::min({gpu.limits.blocks, gpu.limits.warps / warps,
                warpsByRegisters / warps, gpu.limits.sharedBytes / shared});
  return double(blocks * warps) / double(gpu.limits.warps);
}

} // namespace steepc
