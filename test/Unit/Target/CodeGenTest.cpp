//===- CodeGenTest.cpp - LLVM in a child process --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CodeGen.h"
#include "lib/Target/HostCode.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

using namespace steepc;

/// Compiles a function in LLVM IR for `target`: its code, or the message.
static std::string compile(const char *text, const char *target, CodeKind kind,
                           bool &good) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  auto cpu = parseCPU(target);
  EXPECT_TRUE(bool(cpu));
  module->setTargetTriple(llvm::Triple(cpu->triple));
  setKernelTarget(*module, *cpu);
  auto code = generateCode(*module, *cpu, kind);
  good = bool(code);
  return good ? *code : llvm::toString(code.takeError());
}

static const char *const sum = R"(
  define <16 x float> @sum(<16 x float> %a, <16 x float> %b) {
    %c = fadd <16 x float> %a, %b
    ret <16 x float> %c
  })";

TEST(CodeGen, UsesTheVectorsOfItsTarget) {
  bool good;
  std::string v4 = compile(sum, "x86-64-v4", CodeKind::Assembly, good);
  EXPECT_TRUE(good);
  EXPECT_NE(v4.find("zmm"), std::string::npos) << v4;
  std::string v3 = compile(sum, "x86-64-v3", CodeKind::Assembly, good);
  EXPECT_TRUE(good);
  EXPECT_EQ(v3.find("zmm"), std::string::npos) << v3;
  EXPECT_NE(v3.find("ymm"), std::string::npos) << v3;
}

TEST(CodeGen, GivesTheSameBytesAgain) {
  bool good;
  std::string one = compile(sum, "x86-64-v4", CodeKind::Object, good);
  std::string two = compile(sum, "x86-64-v4", CodeKind::Object, good);
  EXPECT_EQ(one.substr(0, 4), "\x7f"
                              "ELF");
  EXPECT_EQ(one, two);
}

TEST(CodeGen, NeverContractsByItself) {
  const char *text = R"(
    define float @f(float %a, float %b, float %c) {
      %p = fmul float %a, %b
      %s = fadd float %p, %c
      ret float %s
    })";
  bool good;
  std::string code = compile(text, "x86-64-v4", CodeKind::Assembly, good);
  EXPECT_TRUE(good);
  EXPECT_EQ(code.find("fmadd"), std::string::npos) << code;
}

// LLVM aborts here: the instruction is none of the target's.
TEST(CodeGen, AnAbortIsOneMessage) {
  const char *text = R"(
    declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(
        <16 x float>, <32 x bfloat>, <32 x bfloat>)
    define <16 x float> @f(<16 x float> %a, <32 x bfloat> %b) {
      %c = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(
          <16 x float> %a, <32 x bfloat> %b, <32 x bfloat> %b)
      ret <16 x float> %c
    })";
  bool good;
  std::string message = compile(text, "x86-64-v4", CodeKind::Object, good);
  EXPECT_FALSE(good);
  llvm::StringRef prefix = "LLVM cannot generate code for x86-64-v4: ";
  EXPECT_EQ(message.find(prefix), 0u) << message;
  EXPECT_GT(message.size(), prefix.size()) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  compile(text, "x86-64-v4+avx512bf16", CodeKind::Object, good);
  EXPECT_TRUE(good);
}
