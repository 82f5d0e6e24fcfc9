//===- DeviceCodeTest.cpp - tests of modules of GPU kernels ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/DeviceCode.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

using namespace steepc;
using llvm::StringRef;

namespace {

/// w[i] = fma(-lr, g[i], w[i]) for the matrix ctaid.y, one float4 a thread.
const char *descent = R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)
define ptx_kernel void @descent(ptr addrspace(1) %w, ptr addrspace(1) %g,
    ptr addrspace(1) %lr, i64 %stride) #0 {
  %scratch = alloca float
  %y = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %pw = getelementptr ptr addrspace(1), ptr addrspace(1) %w, i32 %y
  %pg = getelementptr ptr addrspace(1), ptr addrspace(1) %g, i32 %y
  %plr = getelementptr float, ptr addrspace(1) %lr, i32 %y
  %mw = load ptr addrspace(1), ptr addrspace(1) %pw
  %mg = load ptr addrspace(1), ptr addrspace(1) %pg
  %rate = load float, ptr addrspace(1) %plr
  %minus = fneg float %rate
  store float %minus, ptr %scratch
  %one = load float, ptr %scratch
  %head = insertelement <4 x float> poison, float %one, i32 0
  %rates = shufflevector <4 x float> %head, <4 x float> poison, <4 x i32> zeroinitializer
  %aw = getelementptr <4 x float>, ptr addrspace(1) %mw, i32 %x
  %ag = getelementptr <4 x float>, ptr addrspace(1) %mg, i32 %x
  %vw = load <4 x float>, ptr addrspace(1) %aw, align 16
  %vg = load <4 x float>, ptr addrspace(1) %ag, align 16
  %new = call <4 x float> @llvm.fma.v4f32(<4 x float> %rates, <4 x float> %vg, <4 x float> %vw)
  store <4 x float> %new, ptr addrspace(1) %aw, align 16
  ret void
}
define float @helper(float %x) { ret float %x }
attributes #0 = { "nvvm.reqntid"="32,1,1" }
)";

GPU gpuNamed(StringRef name) {
  auto targets = parseTargets(name);
  EXPECT_TRUE(bool(targets));
  return targets->gpus.at(0);
}

std::unique_ptr<llvm::Module> parse(const char *text,
                                    llvm::LLVMContext &context) {
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  return module;
}

/// The whole way; ptxas too, where it is there.
GPUCode compile(const char *text, StringRef target) {
  llvm::LLVMContext context;
  GPUCode code{gpuNamed(target), {}, {}, "", "", "", ""};
  code.functions.push_back({"descent", {32, 1, 1}, 0, true, std::nullopt});
  auto module = parse(text, context);
  llvm::Error error = completeDeviceModule(*module, code.gpu);
  EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
  error =
      generateDeviceCode(*module, code, llvm::cantFail(findPtxas()), "test");
  EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
  return code;
}

TEST(DeviceCode, KernelsGetASkipFlag) {
  llvm::LLVMContext context;
  auto module = parse(descent, context);
  ASSERT_FALSE(bool(completeDeviceModule(*module, gpuNamed("sm_80"))));
  const llvm::Function *kernel = module->getFunction("descent");
  ASSERT_EQ(kernel->arg_size(), 5u);
  EXPECT_EQ(kernel->getArg(4)->getType()->getPointerAddressSpace(), 1u);
  EXPECT_EQ(kernel->getCallingConv(), llvm::CallingConv::PTX_Kernel);
  EXPECT_EQ(kernel->getFnAttribute("nvvm.reqntid").getValueAsString(),
            "32,1,1");
  // The alloca must stay static, and so in the new entry.
  EXPECT_TRUE(llvm::isa<llvm::AllocaInst>(kernel->getEntryBlock().front()));
  EXPECT_EQ(kernel->size(), 3u);
  for (const char *name : {"steep_prelude_store", "steep_prelude_sums",
                           "steep_prelude_finish", "steep_prelude_scalars"}) {
    const llvm::Function *prelude = module->getFunction(name);
    ASSERT_TRUE(prelude && !prelude->isDeclaration()) << name;
    EXPECT_FALSE(prelude->hasFnAttribute("target-cpu")) << name;
  }
  EXPECT_TRUE(module->getFunction("helper")->hasInternalLinkage());
}

TEST(DeviceCode, EveryGPUGetsPTX) {
  for (StringRef name : {"sm_80", "sm_90a", "sm_100a", "sm_120a"}) {
    GPUCode code = compile(descent, name);
    StringRef ptx = code.ptx;
    EXPECT_TRUE(ptx.contains((".target " + name).str())) << code.ptx;
    EXPECT_TRUE(ptx.contains(".visible .entry descent(")) << code.ptx;
    // 128 bits at once, as four floats or as two pairs.
    for (std::string access : {"ld.global.v", "st.global.v"})
      EXPECT_TRUE(ptx.contains(access + "4.b32") ||
                  ptx.contains(access + "2.b64"))
          << code.ptx;
    EXPECT_TRUE(ptx.contains("fma.rn.f32")) << code.ptx;
    EXPECT_FALSE(ptx.contains(".approx")) << code.ptx;
    EXPECT_FALSE(ptx.contains("fma.rn.f64")) << code.ptx;
    EXPECT_FALSE(ptx.contains("helper")) << code.ptx;
    llvm::LLVMContext context;
    auto again = llvm::parseBitcodeFile({code.bitcode, "the bitcode"}, context);
    ASSERT_TRUE(bool(again));
    EXPECT_TRUE((*again)->getFunction("descent"));
    if (code.cubin.empty())
      continue;
    EXPECT_EQ(code.cubin.substr(1, 3), "ELF");
    ASSERT_TRUE(code.functions[0].resources);
    EXPECT_GT(code.functions[0].resources->registers, 0);
    EXPECT_EQ(code.functions[0].resources->spillStores, 0);
  }
}

TEST(DeviceCode, TheSameModuleGivesTheSameBytes) {
  GPUCode one = compile(descent, "sm_80"), two = compile(descent, "sm_80");
  EXPECT_EQ(one.ptx, two.ptx);
  EXPECT_EQ(one.bitcode, two.bitcode);
  EXPECT_EQ(one.cubin, two.cubin);
}

TEST(DeviceCode, RefusesFastMath) {
  llvm::LLVMContext context;
  auto module =
      parse("define ptx_kernel void @k(float %x, ptr addrspace(1) %p) {\n"
            "  %y = fadd contract float %x, %x\n"
            "  store float %y, ptr addrspace(1) %p\n  ret void\n}\n",
            context);
  llvm::Error error = completeDeviceModule(*module, gpuNamed("sm_80"));
  EXPECT_EQ(llvm::toString(std::move(error)),
            "the kernel 'k' carries fast-math flags");
}

TEST(DeviceCode, NamesWhatItNeedsOfLibdevice) {
  llvm::LLVMContext context;
  ::setenv("STEEP_CUDA", "none", 1);
  auto module =
      parse("declare float @__nv_expf(float)\n"
            "define ptx_kernel void @k(float %x, ptr addrspace(1) %p) {\n"
            "  %y = call float @__nv_expf(float %x)\n"
            "  store float %y, ptr addrspace(1) %p\n  ret void\n}\n",
            context);
  std::string message =
      llvm::toString(completeDeviceModule(*module, gpuNamed("sm_80")));
  ::unsetenv("STEEP_CUDA");
  EXPECT_NE(message.find("__nv_expf of libdevice"), std::string::npos)
      << message;
}

} // namespace
