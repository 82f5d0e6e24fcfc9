//===- LoaderTest.cpp - what can be loaded, and what is refused -----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimtTest.h"

using namespace steep::simt;
using namespace steep::simt::test;

namespace {

const std::string kTarget = "target triple = \"nvptx64-nvidia-cuda\"\n";

std::string refusal(const std::string &ir) {
  Loaded loaded = tryLoad(kTarget + ir);
  EXPECT_EQ(loaded.program, nullptr);
  return loaded.message;
}

TEST(Loader, NamesEveryIntrinsicThatItDoesNotKnow) {
  EXPECT_EQ(refusal(R"(
declare void @llvm.nvvm.barrier.cluster.arrive()
declare float @llvm.exp.f32(float)
define ptx_kernel void @k(ptr addrspace(1) %p) {
  call void @llvm.nvvm.barrier.cluster.arrive()
  call void @llvm.nvvm.barrier.cluster.arrive()
  %e = call float @llvm.exp.f32(float 1.0)
  store float %e, ptr addrspace(1) %p
  ret void
})"),
            "intrinsic llvm.nvvm.barrier.cluster.arrive is not known\n"
            "intrinsic llvm.exp.f32 is not known");
}

TEST(Loader, QuotesInlineAssemblyThatItDoesNotKnow) {
  EXPECT_EQ(refusal(R"(
define ptx_kernel void @k() {
  call void asm sideeffect "griddepcontrol.wait;", ""()
  ret void
})"),
            "inline assembly is not known: griddepcontrol.wait;");
}

TEST(Loader, RefusesAProductOfAnotherShape) {
  EXPECT_NE(refusal(R"(
define ptx_kernel void @k() {
  call void asm sideeffect "wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16 {};", ""()
  ret void
})")
                .find("is not known: wgmma"),
            std::string::npos);
}

TEST(Loader, WantsBodies) {
  EXPECT_EQ(refusal(R"(
declare float @__nv_expf(float)
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %e = call float @__nv_expf(float 1.0)
  store float %e, ptr addrspace(1) %p
  ret void
})"),
            "function '__nv_expf' has no body");
  EXPECT_EQ(refusal(R"(
define void @f(i32 %n) {
  %z = icmp eq i32 %n, 0
  br i1 %z, label %end, label %more
more:
  %m = sub i32 %n, 1
  call void @f(i32 %m)
  br label %end
end:
  ret void
}
define ptx_kernel void @k() {
  call void @f(i32 3)
  ret void
})"),
            "function 'f' cannot be inlined (recursion or a pointer to it)");
  EXPECT_EQ(refusal("define void @f() { ret void }"),
            "the module has no kernel");
}

TEST(Loader, RefusesFlushedDenormals) {
  EXPECT_EQ(refusal(R"(
define ptx_kernel void @k() #0 { ret void }
attributes #0 = { "denormal-fp-math-f32"="preserve-sign,preserve-sign" })"),
            "function 'k' flushes denormals for plain operations "
            "(denormal-fp-math-f32), which is not emulated");
}

TEST(Loader, SaysWhereTextIsWrong) {
  Loaded loaded = tryLoad("define void @k( { ret void }");
  EXPECT_EQ(loaded.program, nullptr);
  EXPECT_EQ(loaded.message, "test:1:19: expected type");
}

TEST(Loader, InlinesFunctionsAndAnswersReflect) {
  auto program = load(kTarget + R"(
@ftz = private unnamed_addr addrspace(4) constant [11 x i8] c"__CUDA_FTZ\00"
declare i32 @__nvvm_reflect(ptr)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define internal i32 @helper(i32 %x) noinline {
  %f = call i32 @__nvvm_reflect(ptr addrspacecast (ptr addrspace(4) @ftz to ptr))
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = mul i32 %x, %t
  %z = add i32 %y, %f
  ret i32 %z
}
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v = call i32 @helper(i32 7)
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %v, ptr addrspace(1) %p
  ret void
})");
  ASSERT_TRUE(program);
  Buffer<std::uint32_t> out(32);
  ASSERT_TRUE(launch(*program, "k", sizes(1, 32), out.data()).ok);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], 7 * i);
}

TEST(Loader, HandsOverParametersOfAllSizes) {
  auto program = load(kTarget + R"(
%pair = type { i32, double }
define ptx_kernel void @k(i8 %a, i16 %b, float %c, double %d, ptr byval(%pair) align 8 %e, <2 x float> %f, ptr addrspace(1) %out) {
  %a2 = uitofp i8 %a to double
  %b2 = uitofp i16 %b to double
  %c2 = fpext float %c to double
  %e0 = load i32, ptr %e
  %e2 = uitofp i32 %e0 to double
  %ep = getelementptr %pair, ptr %e, i32 0, i32 1
  %e3 = load double, ptr %ep
  %f0 = extractelement <2 x float> %f, i32 1
  %f2 = fpext float %f0 to double
  %s1 = fadd double %a2, %b2
  %s2 = fadd double %s1, %c2
  %s3 = fadd double %s2, %d
  %s4 = fadd double %s3, %e2
  %s5 = fadd double %s4, %e3
  %s6 = fadd double %s5, %f2
  store double %s6, ptr addrspace(1) %out
  ret void
})");
  ASSERT_TRUE(program);
  struct {
    std::uint32_t first;
    double second;
  } pair = {16, 32};
  struct {
    float x[2];
  } vector = {{9, 64}};
  Buffer<double> out(1);
  EXPECT_EQ(program->kernels[0].sizes,
            (std::vector<std::uint32_t>{1, 2, 4, 8, 16, 8, 8}));
  EXPECT_EQ(program->kernels[0].offsets,
            (std::vector<std::uint32_t>{0, 2, 4, 8, 16, 32, 40}));
  Outcome outcome =
      launch(*program, "k", sizes(1, 1), std::uint8_t(1), std::uint16_t(2),
             4.0f, 8.0, pair, vector, out.data());
  ASSERT_TRUE(outcome.ok) << outcome.text;
  EXPECT_EQ(out[0], 127);
}

TEST(Loader, KeepsVariablesFromLaunchToLaunch) {
  auto program = load(kTarget + R"(
@count = addrspace(1) global i32 40
@table = internal addrspace(4) constant [2 x i32] [i32 1, i32 2]
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %v = load i32, ptr addrspace(1) @count
  %c = load i32, ptr addrspace(4) getelementptr (i32, ptr addrspace(4) @table, i64 1)
  %w = add i32 %v, %c
  store i32 %w, ptr addrspace(1) @count
  store i32 %w, ptr addrspace(1) %out
  ret void
})");
  ASSERT_TRUE(program);
  Buffer<std::uint32_t> out(1);
  EXPECT_TRUE(launch(*program, "k", sizes(1, 1), out.data()).ok);
  EXPECT_TRUE(launch(*program, "k", sizes(1, 1), out.data()).ok);
  EXPECT_EQ(out[0], 44u);
  const Variable *variable = program->findVariable("count");
  ASSERT_TRUE(variable);
  EXPECT_EQ(variable->bytes, 4u);
  EXPECT_EQ(*static_cast<std::uint32_t *>(variable->address), 44u);
}

TEST(Loader, LaysOutSharedMemoryAKernel) {
  auto program = load(kTarget + R"(
@a = internal addrspace(3) global [5 x i8] undef
@b = internal addrspace(3) global [4 x i64] undef, align 32
@c = internal addrspace(3) global [100000 x i8] undef
@d = external addrspace(3) global [0 x float], align 16
declare i32 @llvm.nvvm.read.ptx.sreg.dynamic_smem_size()
declare i32 @llvm.nvvm.read.ptx.sreg.total_smem_size()
define ptx_kernel void @k(ptr addrspace(1) %out) {
  store i8 1, ptr addrspace(3) @a
  store i64 2, ptr addrspace(3) @b
  %address = ptrtoint ptr addrspace(3) @d to i32
  %base = ptrtoint ptr addrspace(3) @a to i32
  %offset = sub i32 %address, %base
  store i32 %offset, ptr addrspace(1) %out
  %p = getelementptr i32, ptr addrspace(1) %out, i64 1
  %n = call i32 @llvm.nvvm.read.ptx.sreg.dynamic_smem_size()
  store i32 %n, ptr addrspace(1) %p
  %q = getelementptr i32, ptr addrspace(1) %out, i64 2
  %m = call i32 @llvm.nvvm.read.ptx.sreg.total_smem_size()
  store i32 %m, ptr addrspace(1) %q
  ; A 32-bit address is all there is to a shared address.
  %same = inttoptr i32 %address to ptr addrspace(3)
  store float 1.0, ptr addrspace(3) %same
  ret void
}
define ptx_kernel void @l() {
  store i8 1, ptr addrspace(3) @c
  ret void
})");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->findKernel("k")->staticShared, 64u);
  EXPECT_EQ(program->findKernel("l")->staticShared, 100000u);
  Buffer<std::uint32_t> out(3);
  Outcome outcome = launch(*program, "k", sizes(1, 1, 400), out.data());
  ASSERT_TRUE(outcome.ok) << outcome.text;
  EXPECT_EQ(out.values(), (std::vector<std::uint32_t>{64, 400, 464}));
}

TEST(Loader, FusesNothingThatTheModuleDoesNotSay) {
  // x * x - 1 with x = 1 + 2^-12: the rounded product is 1 + 2^-11.
  auto program = load(kTarget + R"(
declare float @llvm.fma.f32(float, float, float)
define ptx_kernel void @k(float %x, ptr addrspace(1) %out) {
  %p = fmul float %x, %x
  %d = fsub float %p, 1.0
  store float %d, ptr addrspace(1) %out
  %e = call float @llvm.fma.f32(float %x, float %x, float -1.0)
  %q = getelementptr float, ptr addrspace(1) %out, i64 1
  store float %e, ptr addrspace(1) %q
  ret void
})");
  Buffer<float> out(2);
  ASSERT_TRUE(launch(*program, "k", sizes(1, 1), 1 + 0x1p-12f, out.data()).ok);
  EXPECT_EQ(out[0], 0x1p-11f);
  EXPECT_EQ(out[1], 0x1p-11f + 0x1p-24f);
}

TEST(Loader, TellsWhichAddressesAreShared) {
  auto program = load(kTarget + R"(
@s = internal addrspace(3) global i32 undef
declare i1 @llvm.nvvm.isspacep.shared(ptr)
declare i1 @llvm.nvvm.isspacep.global(ptr)
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %s = addrspacecast ptr addrspace(3) @s to ptr
  %g = addrspacecast ptr addrspace(1) %out to ptr
  %ss = call i1 @llvm.nvvm.isspacep.shared(ptr %s)
  %sg = call i1 @llvm.nvvm.isspacep.global(ptr %s)
  %gs = call i1 @llvm.nvvm.isspacep.shared(ptr %g)
  %gg = call i1 @llvm.nvvm.isspacep.global(ptr %g)
  %a = zext i1 %ss to i32
  %b = zext i1 %sg to i32
  %c = zext i1 %gs to i32
  %d = zext i1 %gg to i32
  store i32 %a, ptr addrspace(1) %out
  %p1 = getelementptr i32, ptr addrspace(1) %out, i64 1
  store i32 %b, ptr addrspace(1) %p1
  %p2 = getelementptr i32, ptr addrspace(1) %out, i64 2
  store i32 %c, ptr addrspace(1) %p2
  %p3 = getelementptr i32, ptr addrspace(1) %out, i64 3
  store i32 %d, ptr addrspace(1) %p3
  ret void
})");
  Buffer<std::uint32_t> out(4);
  ASSERT_TRUE(launch(*program, "k", sizes(1, 1), out.data()).ok);
  EXPECT_EQ(out.values(), (std::vector<std::uint32_t>{1, 0, 0, 1}));
}

} // namespace
