//===- PtxTest.cpp - what PTX texts are made of ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Simt/PtxTest.h"

#include "runtime/Devices/Simt/Launch.h"
#include "runtime/Devices/Simt/Loader.h"
#include "runtime/Devices/Simt/Memory.h"
#include "runtime/Devices/Simt/PtxReader.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace steep::simt;
using namespace steep::simt::test;

std::string test::kernelText(const std::string &body,
                             const std::string &globals) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n" + globals +
         ".visible .entry k(.param .u64 .ptr .global in,\n"
         "                  .param .u64 .ptr .global out)\n{\n"
         ".reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<64>, %t;\n"
         ".reg .f32 %f<32>;\n.reg .b64 %rd<32>, %in, %out;\n"
         ".reg .f64 %d<16>;\n.reg .b128 %q<4>;\n"
         "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n"
         "mov.u32 %t, %tid.x;\n" +
         body + "\nret;\n}\n";
}

PtxRun test::runText(const std::string &text, std::vector<std::uint64_t> in,
                     std::size_t outs, unsigned threads, unsigned shared,
                     bool check) {
  PtxRun result;
  Options options;
  options.check = check;
  auto program = loadBytes(text, "text.ptx", options);
  if (!program) {
    result.error = llvm::toString(program.takeError());
    return result;
  }
  GlobalMemory &memory = GlobalMemory::instance();
  std::size_t inBytes = std::max<std::size_t>(in.size() * 8, 8);
  void *input = memory.allocate(inBytes), *output = memory.allocate(outs * 8);
  std::memcpy(input, in.data(), in.size() * 8);
  std::memset(output, 0, outs * 8);
  void *parameters[] = {&input, &output};
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {threads, 1, 1};
  Reports reports;
  std::string message;
  if (!run(**program, (*program)->kernels.front(), grid, block, shared,
           parameters, reports, message))
    result.error = reports.empty() ? message : reports.all();
  result.values.resize(outs);
  std::memcpy(result.values.data(), output, outs * 8);
  memory.release(input);
  memory.release(output);
  return result;
}

std::string test::refusal(const std::string &text) {
  llvm::LLVMContext context;
  auto module = readPtx(text, "text.ptx", context);
  return module ? "" : llvm::toString(module.takeError());
}

namespace {

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

TEST(PtxText, IsRecognised) {
  EXPECT_TRUE(isPtx("// a comment\n/* another */ .version 9.4\n"));
  EXPECT_FALSE(isPtx("define void @f() { ret void }"));
  EXPECT_FALSE(isPtx("BC\xc0\xde"));
  EXPECT_FALSE(isPtx(""));
}

TEST(PtxText, LabelsBelongToTheirBraces) {
  PtxRun run = runText(kernelText("mov.u32 %r0, 0;\n"
                                  "{ bra L;\n add.u32 %r0, %r0, 100;\n"
                                  "L: add.u32 %r0, %r0, 1; }\n"
                                  "{ bra L;\n add.u32 %r0, %r0, 100;\n"
                                  "L: add.u32 %r0, %r0, 2; }\n"
                                  "st.global.u32 [%out], %r0;"),
                       {}, 1);
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.values[0], 3u);
}

TEST(PtxText, RegistersOfInnerBracesHideOthers) {
  PtxRun run = runText(kernelText("mov.u32 %r0, 5;\n"
                                  "{ .reg .b32 %r0; mov.u32 %r0, 7;\n"
                                  "  st.global.u32 [%out+8], %r0; }\n"
                                  "st.global.u32 [%out], %r0;"),
                       {}, 2);
  EXPECT_EQ(run.values, (std::vector<std::uint64_t>{5, 7}));
}

TEST(PtxText, LoopsAndGuards) {
  // The sum of 1 to 10, but for those a guard leaves out (3, 6, 9).
  PtxRun run = runText(kernelText("mov.u32 %r0, 0;\nmov.u32 %r1, 1;\n"
                                  "$L_1:\nrem.u32 %r2, %r1, 3;\n"
                                  "setp.eq.u32 %p1, %r2, 0;\n"
                                  "@!%p1 add.u32 %r0, %r0, %r1;\n"
                                  "add.u32 %r1, %r1, 1;\n"
                                  "setp.le.u32 %p2, %r1, 10;\n"
                                  "@%p2 bra.uni $L_1;\n"
                                  "st.global.u32 [%out], %r0;"),
                       {}, 1);
  EXPECT_EQ(run.values[0], 55u - 18u);
}

TEST(PtxText, JumpsThroughATable) {
  PtxRun run = runText(kernelText("T: .branchtargets A, B, C;\n"
                                  "brx.idx %t, T;\n"
                                  "A: mov.u64 %rd0, 10; bra.uni E;\n"
                                  "B: mov.u64 %rd0, 11; bra.uni E;\n"
                                  "C: mov.u64 %rd0, 12;\n"
                                  "E: mul.wide.u32 %rd1, %t, 8;\n"
                                  "add.s64 %rd1, %rd1, %out;\n"
                                  "st.global.u64 [%rd1], %rd0;"),
                       {}, 3, 3);
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.values, (std::vector<std::uint64_t>{10, 11, 12}));
}

TEST(PtxText, CallsFunctions) {
  std::string function =
      ".func (.param .b32 result) twice(.param .b32 a, .param .align 8 .b8 "
      "s[16])\n{\n.reg .b32 %r<4>;\nld.param.b32 %r1, [a];\n"
      "ld.param.b32 %r2, [s+12];\nmad.lo.u32 %r3, %r1, 2, %r2;\n"
      "st.param.b32 [result], %r3;\nret;\n}\n";
  PtxRun run = runText(
      kernelText("{ // callseq\n.param .b32 p0;\n.param .align 8 .b8 p1[16];\n"
                 ".param .b32 r;\nst.param.b32 [p0], 21;\n"
                 "st.param.v2.b32 [p1+8], {1, 3};\n"
                 "call.uni (r), twice, (p0, p1);\n"
                 "ld.param.b32 %r0, [r]; }\nst.global.u32 [%out], %r0;",
                 function),
      {}, 1);
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.values[0], 45u);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST(PtxText, VectorsAndWideRegisters) {
  PtxRun run = runText(
      kernelText("ld.global.v4.b32 {%r0, %r1, %r2, _}, [%in];\n"
                 "st.global.v2.u32 [%out], {%r2, %r0};\n"
                 "ld.global.nc.L1::no_allocate.L2::128B.b128 %q0, [%in];\n"
                 "mov.b128 {%rd0, %rd1}, %q0;\n"
                 "st.global.v2.b64 [%out+16], {%rd1, %rd0};\n"
                 "ld.global.s8 %r3, [%in+1];\nst.global.s32 [%out+8], %r3;\n"
                 "ld.global.u16 %r4, [%in];\nst.global.u32 [%out+12], %r4;"),
      {0x1122334455669988, 0xaabbccdd12345678}, 4);
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.values[0], 0x5566998812345678u);
  EXPECT_EQ(run.values[1], 0x00009988ffffff99u);
  EXPECT_EQ(run.values[2], 0xaabbccdd12345678u);
  EXPECT_EQ(run.values[3], 0x1122334455669988u);
}

TEST(PtxText, VariablesWithValues) {
  std::string globals = ".const .align 4 .u32 table[2][2] = {{1, 2}, {3}};\n"
                        ".global .align 8 .u64 link = generic(table);\n"
                        ".visible .global .f32 half = 0f3F000000;\n";
  PtxRun run = runText(kernelText("ld.const.u32 %r0, [table+8];\n"
                                  "st.global.u32 [%out], %r0;\n"
                                  "ld.global.u64 %rd0, [link];\n"
                                  "ld.u32 %r1, [%rd0+4];\n"
                                  "st.global.u32 [%out+4], %r1;\n"
                                  "mov.u64 %rd1, half;\n"
                                  "cvta.to.global.u64 %rd1, %rd1;\n"
                                  "ld.global.b32 %r2, [%rd1];\n"
                                  "st.global.u32 [%out+8], %r2;\n"
                                  "ld.const.u32 %r3, [table+12];\n"
                                  "st.global.u32 [%out+12], %r3;",
                                  globals),
                       {}, 2);
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.values[0], 0x200000003u);
  EXPECT_EQ(run.values[1], 0x3f000000u);
}

TEST(PtxText, LocalMemoryIsEachThreadsOwn) {
  PtxRun run = runText(kernelText(".local .align 16 .b8 depot[64];\n"
                                  "mov.u64 %rd0, depot;\n"
                                  "cvta.local.u64 %rd1, %rd0;\n"
                                  "st.u32 [%rd1+20], %t;\n"
                                  "bar.sync 0;\n"
                                  "ld.local.u32 %r0, [%rd0+20];\n"
                                  "mul.wide.u32 %rd2, %t, 8;\n"
                                  "add.s64 %rd2, %rd2, %out;\n"
                                  "st.global.u32 [%rd2], %r0;"),
                       {}, 4, 4);
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.values, (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

/// Writes at one end of shared memory, reads at the other.
static std::string sharedBody(const std::string &variable) {
  return "mov.u32 %r0, " + variable +
         ";\nshl.b32 %r1, %t, 2;\nadd.s32 %r2, %r0, %r1;\n"
         "st.shared.u32 [%r2], %t;\nbar.sync 0;\n"
         "mov.u64 %rd5, " +
         variable +
         ";\ncvta.shared.u64 %rd6, %rd5;\nsub.u32 %r3, 31, %t;\n"
         "mul.wide.u32 %rd1, %r3, 4;\nadd.s64 %rd1, %rd1, %rd6;\n"
         "ld.u32 %r4, [%rd1];\nmul.wide.u32 %rd2, %t, 8;\n"
         "add.s64 %rd2, %rd2, %out;\nst.global.u32 [%rd2], %r4;";
}

TEST(PtxText, SharedMemoryStaticAndDynamic) {
  PtxRun fixed =
      runText(kernelText(".shared .align 4 .b8 s[128];\n" + sharedBody("s")),
              {}, 32, 32);
  PtxRun dynamic = runText(
      kernelText(sharedBody("s"), ".extern .shared .align 16 .b8 s[];\n"), {},
      32, 32, 128);
  EXPECT_EQ(fixed.error, "");
  EXPECT_EQ(dynamic.error, "");
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(fixed.values[i], 31 - i);
    EXPECT_EQ(dynamic.values[i], 31 - i);
  }
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(PtxErrors, NameLineAndText) {
  EXPECT_EQ(refusal(kernelText("frobnicate.u32 %r0,\n\t%r1;")),
            "text.ptx:17: unknown instruction 'frobnicate.u32 %r0, %r1'");
  // A modifier that is not known makes an instruction unknown.
  EXPECT_EQ(refusal(kernelText("add.weird.s32 %r0, %r1, %r2;")),
            "text.ptx:17: unknown instruction 'add.weird.s32 %r0, %r1, %r2'");
  EXPECT_EQ(refusal(kernelText("@%p1 mma.sync.aligned.m8n8k4.row.col.f32 "
                               "%r0, %r1;")),
            "text.ptx:17: unknown instruction '@%p1 "
            "mma.sync.aligned.m8n8k4.row.col.f32 %r0, %r1'");
}

TEST(PtxErrors, SayWhatWasExpected) {
  auto contains = [](const std::string &body, const std::string &part) {
    std::string message = refusal(kernelText(body));
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  contains("add.s32 %r0, %r1;", "expected 3 operands in");
  contains("add.s32 %r0, %r1, %nothing;",
           "expected a register or a variable instead of '%nothing'");
  contains("bra nowhere;", "expected a label of this routine");
  contains("L: L: ret;", "label 'L' is there twice");
  contains("mov.u32 5, %r0;", "expected a register to write");
  contains("ld.global.v4.b32 {%r0, %r1}, [%in];",
           "expected 4 registers to load");
  contains("call.uni nobody, (%r0);", "expected a function with a body");
  contains("mov.u32 %r0, 99999999999999999999;",
           "expected an integer of 64 bits");
  contains("mov.b32 {}, %r1;", "expected vectors of 2 or 4 in");
  contains("ld.global.pred %p1, [%in];", "unknown instruction");
  contains("shfl.sync.bfly.b32 %r0, %r1, 1, 31, {};", "expected a register");
  contains(".shared .align 3 .b8 s[4];", "expected a power of two");
  contains(".shared .b8 s[99999999999];", "expected a size below");
  contains("mov.u32 %r0, {{{{{{{{{{{1}}}}}}}}}}};", "expected fewer brackets");
  contains(".bogus 3;", "unknown directive '.bogus'");
  contains("add.s32 %r0, %r1, \"x\";", "expected an operand");
  contains("add.s32 %r0, %r1, %r2", "expected ','");
}

TEST(PtxErrors, OfTheWholeText) {
  EXPECT_EQ(refusal(".version 8.0\n.address_size 32\n"),
            "text.ptx:2: expected '.address_size 64', but got 32");
  EXPECT_EQ(refusal(".version 8.0\n.entry k() { ret;"),
            "text.ptx:2: expected '}' at the end of 'k', but got the end of "
            "the text");
  EXPECT_EQ(refusal(".version 8.0\n/* open"),
            "text.ptx:2: expected '*/' at the end of a comment");
  EXPECT_EQ(refusal(".version 8.0\n.global .u32 x;\n.global .u32 x;\n"),
            "text.ptx:3: 'x' is declared twice");
}

/// Broken texts are refused, and do not bring the reader down.
TEST(PtxErrors, CutAnywhere) {
  std::string text = kernelText(
      "{ .reg .b32 %x; ld.global.v4.b32 {%r0, %r1, %r2, _}, [%in+16];\n"
      "@!%p1 bra L; call (r), f, (p); L: mov.f32 %f0, 0f3F800000; }\n"
      ".shared .align 4 .b8 s[4][4];",
      ".const .u32 t[2] = {1, generic(t)};\n");
  for (std::size_t length = 0; length < text.size(); length += 3)
    EXPECT_NE(refusal(text.substr(0, length) + "\x01"), "") << length;
}

} // namespace
