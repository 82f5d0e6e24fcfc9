//===- HostCode.cpp - from kernels to a library's module ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/HostCode.h"

#include "lib/Target/CodeGen.h"

#include "hostBind.inc"
#include "hostCheck.inc"
#include "hostCrew.inc"
#include "hostCudaDevice.inc"
#include "hostCudaDriver.inc"
#include "hostCudaStep.inc"
#include "hostElements.inc"
#include "hostMessage.inc"
#include "hostOverlap.inc"
#include "hostPlan.inc"
#include "hostPool.inc"
#include "hostStage.inc"
#include "hostStep.inc"
#include "hostTable.inc"
#include "hostTensors.inc"
#include "hostTvmFfi.inc"
#include "hostXla.inc"
#include "oracleAVX2.inc"
#include "oracleAVX512.inc"
#include "oracleBaseline.inc"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace steepc {

/// What the host code's names begin with becomes what the artefact's do, with
/// NAME between the two parts.
static constexpr struct {
  StringLiteral host, before, after;
} exportPrefixes[] = {
    {"steep_host_export_", "steep_", "_"},
    {"steep_host_tvm__metadata_", "__tvm_ffi__metadata_steep_", "_"},
    {"steep_host_tvm_", "__tvm_ffi_steep_", "_"}};

/// The artefact's name of a function, empty where it is internal.
static std::string exportedName(StringRef function, StringRef name) {
  for (const auto &prefix : exportPrefixes)
    if (function.consume_front(prefix.host))
      return (prefix.before + name + prefix.after + function).str();
  return "";
}

template <size_t size>
static StringRef bytesOf(const unsigned char (&array)[size]) {
  return StringRef(reinterpret_cast<const char *>(array), size);
}

static Expected<std::unique_ptr<Module>> parse(StringRef bitcode,
                                               Module &module) {
  auto host = parseBitcodeFile(MemoryBufferRef(bitcode, "steep host code"),
                               module.getContext());
  if (!host)
    return host.takeError();
  (*host)->setDataLayout(module.getDataLayout());
  (*host)->setTargetTriple(module.getTargetTriple());
  for (Function &function : **host)
    if (!function.isDeclaration())
      function.addFnAttr(optimizedAttribute);
  return host;
}

/// The solvers' code for the widest vectors whose FMAs `cpu` has.
static StringRef selectOracle(const CPU &cpu) {
  if (!cpu.has("avx2") || !cpu.has("fma"))
    return bytesOf(oracleBaseline);
  return cpu.has("avx512f") ? bytesOf(oracleAVX512) : bytesOf(oracleAVX2);
}

Error linkHostKernels(Module &module, const CPU &cpu) {
  auto solvers = parse(selectOracle(cpu), module);
  if (!solvers)
    return solvers.takeError();
  // Templates are merged here and nowhere else.
  for (GlobalObject &object : (*solvers)->global_objects()) {
    object.setComdat(nullptr);
    if (!object.isDeclaration() && !object.hasLocalLinkage() &&
        !object.getName().starts_with("steep_kernel_"))
      object.setLinkage(GlobalValue::InternalLinkage);
  }
  if (Linker::linkModules(module, std::move(*solvers)))
    return createStringError("the host's solvers do not link to the kernels");
  return Error::success();
}

void setKernelTarget(Module &module, const CPU &cpu) {
  std::string bits = std::to_string(cpu.lanes * 32);
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", cpu.cpu);
    function.addFnAttr("target-features", cpu.features);
    // Vectors are chosen by the block level; LLVM must not halve them.
    function.addFnAttr("prefer-vector-width", bits);
    function.addFnAttr("min-legal-vector-width", bits);
    function.addFnAttr(Attribute::NoUnwind);
    // Profilers and debuggers find their way through kernels.
    function.setUWTableKind(UWTableKind::Async);
  }
}

Error linkHostCode(Module &module, StringRef name, bool withGPU) {
  for (GlobalValue &value : module.global_values())
    if (!value.isDeclaration() && !value.hasLocalLinkage())
      value.setVisibility(GlobalValue::HiddenVisibility);
  SmallVector<StringRef> files = {
      bytesOf(hostBind),     bytesOf(hostCheck),   bytesOf(hostCrew),
      bytesOf(hostElements), bytesOf(hostMessage), bytesOf(hostOverlap),
      bytesOf(hostPlan),     bytesOf(hostPool),    bytesOf(hostStage),
      bytesOf(hostStep),     bytesOf(hostTable),   bytesOf(hostTensors),
      bytesOf(hostTvmFfi),   bytesOf(hostXla)};
  if (withGPU)
    files.append({bytesOf(hostCudaDevice), bytesOf(hostCudaDriver),
                  bytesOf(hostCudaStep)});
  for (StringRef bitcode : files) {
    auto host = parse(bitcode, module);
    if (!host)
      return host.takeError();
    if (Linker::linkModules(module, std::move(*host)))
      return createStringError("the host code does not link to the kernels");
  }
  for (GlobalValue &value : module.global_values()) {
    if (value.isDeclaration() || value.hasLocalLinkage())
      continue;
    if (std::string fresh = exportedName(value.getName(), name);
        !fresh.empty()) {
      value.setName(fresh);
      value.setVisibility(GlobalValue::DefaultVisibility);
      continue;
    }
    value.setLinkage(GlobalValue::InternalLinkage);
    value.setVisibility(GlobalValue::DefaultVisibility);
    value.setDSOLocal(true);
  }
  // The compiler that made the host code is no business of the artefact.
  if (NamedMDNode *ident = module.getNamedMetadata("llvm.ident"))
    ident->eraseFromParent();
  module.setSourceFileName(name);
  module.setModuleIdentifier(name);
  return Error::success();
}

} // namespace steepc
