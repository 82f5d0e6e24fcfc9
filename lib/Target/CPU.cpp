//===- CPU.cpp - which processor the kernels are compiled for -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <memory>

// Only x86 is used, so only x86 is initialised: InitializeAllTargets() would
// make every program depend on all of LLVM's targets.
extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
void LLVMInitializeX86AsmParser();
}

namespace steepc {

static constexpr llvm::StringLiteral triple = "x86_64-unknown-linux-gnu";

/// Register states in XCR0: SSE and AVX; the same and AVX-512's three; those
/// and AMX's two.
static constexpr uint32_t avxState = 0x6, avx512State = 0xe6,
                          amxState = 0x600e6;

/// Every feature whose instructions LLVM may choose by itself for scalar and
/// vector code, and AMX, whose instructions products of BF16 use. What is not
/// listed here is never required and never used.
static constexpr CPUFeature table[] = {
    {"sse3", "pni", 1, 0, 2, 0, 0},
    {"ssse3", "ssse3", 1, 0, 2, 9, 0},
    {"cx16", "cx16", 1, 0, 2, 13, 0},
    {"sse4.1", "sse4_1", 1, 0, 2, 19, 0},
    {"sse4.2", "sse4_2", 1, 0, 2, 20, 0},
    {"popcnt", "popcnt", 1, 0, 2, 23, 0},
    {"movbe", "movbe", 1, 0, 2, 22, 0},
    {"sahf", "lahf_lm", 0x80000001, 0, 2, 0, 0},
    {"lzcnt", "abm", 0x80000001, 0, 2, 5, 0},
    {"xop", "xop", 0x80000001, 0, 2, 11, avxState},
    {"fma4", "fma4", 0x80000001, 0, 2, 16, avxState},
    {"tbm", "tbm", 0x80000001, 0, 2, 21, 0},
    {"avx", "avx", 1, 0, 2, 28, avxState},
    {"f16c", "f16c", 1, 0, 2, 29, avxState},
    {"fma", "fma", 1, 0, 2, 12, avxState},
    {"avx2", "avx2", 7, 0, 1, 5, avxState},
    {"bmi", "bmi1", 7, 0, 1, 3, 0},
    {"bmi2", "bmi2", 7, 0, 1, 8, 0},
    {"gfni", "gfni", 7, 0, 2, 8, 0},
    {"vaes", "vaes", 7, 0, 2, 9, avxState},
    {"vpclmulqdq", "vpclmulqdq", 7, 0, 2, 10, avxState},
    {"avxvnni", "avx_vnni", 7, 1, 0, 4, avxState},
    {"avxifma", "avx_ifma", 7, 1, 0, 23, avxState},
    {"avx512f", "avx512f", 7, 0, 1, 16, avx512State},
    {"avx512dq", "avx512dq", 7, 0, 1, 17, avx512State},
    {"avx512ifma", "avx512ifma", 7, 0, 1, 21, avx512State},
    {"avx512cd", "avx512cd", 7, 0, 1, 28, avx512State},
    {"avx512bw", "avx512bw", 7, 0, 1, 30, avx512State},
    {"avx512vl", "avx512vl", 7, 0, 1, 31, avx512State},
    {"avx512vbmi", "avx512vbmi", 7, 0, 2, 1, avx512State},
    {"avx512vbmi2", "avx512_vbmi2", 7, 0, 2, 6, avx512State},
    {"avx512vnni", "avx512_vnni", 7, 0, 2, 11, avx512State},
    {"avx512bitalg", "avx512_bitalg", 7, 0, 2, 12, avx512State},
    {"avx512vpopcntdq", "avx512_vpopcntdq", 7, 0, 2, 14, avx512State},
    {"avx512vp2intersect", "avx512_vp2intersect", 7, 0, 3, 8, avx512State},
    {"avx512fp16", "avx512_fp16", 7, 0, 3, 23, avx512State},
    {"avx512bf16", "avx512_bf16", 7, 1, 0, 5, avx512State},
    {"amx-tile", "amx_tile", 7, 0, 3, 24, amxState},
    {"amx-bf16", "amx_bf16", 7, 0, 3, 22, amxState},
};

/// Features outside the table that change code generation: turned off, since
/// nothing checks for them.
static constexpr llvm::StringLiteral unused[] = {
    "egpr", "push2pop2", "ppx", "ndd", "ccmp", "nf", "cf", "zu", "avx10.2"};

template <typename... Args>
static llvm::Error failure(const char *format, Args &&...args) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Args>(args)...).str());
}

void initializeX86() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser(); // the host code's xgetbv
}

/// The host's features as LLVM's string, in a fixed order.
static std::string hostFeatures() {
  llvm::SmallVector<std::string> list;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    list.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
  llvm::sort(list);
  return llvm::join(list, ",");
}

static std::unique_ptr<llvm::MCSubtargetInfo>
createSubtarget(llvm::StringRef cpu, llvm::StringRef features) {
  std::string error;
  llvm::Triple parsed(triple);
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(parsed, error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      target->createMCSubtargetInfo(parsed, cpu, features));
}

static bool isKnownCPU(llvm::StringRef cpu) {
  auto subtarget = createSubtarget("x86-64", "");
  if (!subtarget || !subtarget->isCPUStringValid(cpu) || cpu.empty())
    return false;
  // LLVM knows 32-bit processors too, and aborts on them here.
  auto own = createSubtarget(cpu, "");
  return own && own->checkFeatures("+64bit");
}

static llvm::Error unknownCPU(llvm::StringRef cpu) {
  return failure(
      "--target: unknown CPU '{0}'; expected native, none, x86-64, "
      "x86-64-v2, x86-64-v3, x86-64-v4 or a CPU that `llc -mcpu=help` "
      "lists for 64-bit x86 (haswell, skylake-avx512, znver4, ...), "
      "each with any number of +feature",
      cpu);
}

static llvm::Error unknownFeature(llvm::StringRef feature) {
  std::string names;
  for (const CPUFeature &entry : table)
    names += (names.empty() ? "" : ", ") + std::string(entry.llvmName);
  return failure("--target: unknown feature '+{0}'; expected one of {1}",
                 feature, names);
}

/// Fills in what follows from the name and the features.
static llvm::Error describe(CPU &cpu) {
  for (llvm::StringRef name : unused)
    cpu.features += (cpu.features.empty() ? "-" : ",-") + name.str();
  auto subtarget = createSubtarget(cpu.cpu, cpu.features);
  if (!subtarget)
    return failure("--target: this LLVM has no x86 target");
  auto has = [&](const char *name) {
    return subtarget->checkFeatures("+" + std::string(name));
  };
  for (const CPUFeature &feature : table)
    if (has(feature.llvmName))
      cpu.required.push_back(&feature);
  cpu.lanes = has("avx512f") ? 16 : has("avx") ? 8 : 4;
  // Not asked of the processor: what is compiled for a name is the same
  // everywhere. AVX512-FP16 came with caches of 2 MiB.
  cpu.l2 = (has("avx512fp16") ? 2048 : has("avx512f") ? 1024 : 512) * 1024;
  return llvm::Error::success();
}

bool CPU::has(llvm::StringRef name) const {
  return llvm::any_of(required, [&](const CPUFeature *feature) {
    return name == feature->llvmName;
  });
}

void CPU::dropAMX() {
  llvm::erase_if(required, [](const CPUFeature *feature) {
    return feature->xcr0 == amxState;
  });
}

llvm::Expected<CPU> parseCPU(llvm::StringRef text) {
  initializeX86();
  llvm::SmallVector<llvm::StringRef> cpus;
  text.split(cpus, ',');
  if (cpus.size() != 1)
    return failure("--target: expected one CPU, got '{0}'", text);
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, '+');
  CPU cpu;
  cpu.triple = triple.str();
  cpu.cpu = parts[0].str();
  if (parts[0] == "native") {
    cpu.cpu = llvm::sys::getHostCPUName().str();
    cpu.features = hostFeatures();
    // A processor newer than this LLVM still has its features.
    if (!isKnownCPU(cpu.cpu))
      cpu.cpu = "x86-64";
  } else if (!isKnownCPU(parts[0])) {
    return unknownCPU(parts[0]);
  }
  for (llvm::StringRef feature : llvm::drop_begin(parts)) {
    if (llvm::none_of(table, [&](const CPUFeature &entry) {
          return feature == entry.llvmName;
        }))
      return unknownFeature(feature);
    cpu.features += (cpu.features.empty() ? "+" : ",+") + feature.str();
  }
  if (llvm::Error error = describe(cpu))
    return error;
  return cpu;
}

} // namespace steepc
