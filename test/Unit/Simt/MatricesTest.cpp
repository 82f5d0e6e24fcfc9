//===- MatricesTest.cpp - ldmatrix, mma.sync and wgmma --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs/FragmentsFromMLIR.ll comes from Inputs/FragmentsFromMLIR.mlir:
//
//   mlir-opt --transform-interpreter --symbol-dce, then in the gpu.module
//   convert-nvgpu-to-nvvm, lower-affine, convert-scf-to-cf,
//   convert-gpu-to-nvvm{index-bitwidth=64 use-bare-ptr-memref-call-conv=1},
//   convert-vector-to-llvm, convert-to-llvm, canonicalize, cse;
//   mlir-translate --mlir-to-llvmir of the module's body.
//
//===----------------------------------------------------------------------===//
#include "SimtTest.h"

#include "runtime/Devices/Simt/SmallFloats.h"

#include <cmath>

using namespace steep::simt;
using namespace steep::simt::test;

namespace {

using Words = std::vector<std::uint32_t>;
using Matrix = std::vector<float>;

/// Small integers, so that sums are exact in every format and order.
Matrix smallIntegers(std::size_t count, unsigned seed) {
  Matrix values(count);
  for (float &value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(seed >> 28) - 8);
  }
  return values;
}

/// C + A B, row-major.
Matrix product(const Matrix &a, const Matrix &b, Matrix c, unsigned m,
               unsigned n, unsigned k) {
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; ++j)
      for (unsigned p = 0; p < k; ++p)
        c[i * n + j] += a[i * k + p] * b[p * n + j];
  return c;
}

std::vector<std::uint16_t> halves(const Matrix &values) {
  std::vector<std::uint16_t> result;
  for (float value : values)
    result.push_back(floatToHalf(value));
  return result;
}

//===----------------------------------------------------------------------===//
// Layouts, by what MLIR makes of linalg.matmul
//===----------------------------------------------------------------------===//

TEST(Fragments, OfHalvesAreThoseOfMLIR) {
  auto program = load(readInput(STEEP_TEST_DATA "/FragmentsFromMLIR.ll"));
  Matrix a = smallIntegers(16 * 16, 1), b = smallIntegers(16 * 8, 2),
         c = smallIntegers(16 * 8, 3);
  Buffer<std::uint16_t> da(halves(a)), db(halves(b)), dc(halves(c));
  Outcome outcome =
      launch(*program, "half", sizes(1, 32), da.data(), db.data(), dc.data());
  ASSERT_TRUE(outcome.ok) << outcome.text;
  EXPECT_EQ(dc.values(), halves(product(a, b, c, 16, 8, 16)));
}

TEST(Fragments, OfTensorFloatsAreThoseOfMLIR) {
  auto program = load(readInput(STEEP_TEST_DATA "/FragmentsFromMLIR.ll"));
  Matrix a = smallIntegers(16 * 4, 4), b = smallIntegers(4 * 8, 5),
         c = smallIntegers(16 * 8, 6);
  Buffer<float> da(a), db(b), dc(c);
  Outcome outcome =
      launch(*program, "tensor", sizes(1, 32), da.data(), db.data(), dc.data());
  ASSERT_TRUE(outcome.ok) << outcome.text;
  EXPECT_EQ(dc.values(), product(a, b, c, 16, 8, 4));
}

//===----------------------------------------------------------------------===//
// Every product, from fragments that are built here
//===----------------------------------------------------------------------===//

/// Loads registers of `type` from in + 64 tid, multiplies and stores the
/// results to out + 16 tid.
std::string multiplyKernel(const std::string &name, unsigned operands,
                           const std::string &type, unsigned accumulators,
                           const std::string &accumulatorType) {
  std::string types, values, results, body;
  auto add = [](std::string &list, const std::string &item) {
    list += (list.empty() ? "" : ", ") + item;
  };
  for (unsigned i = 0; i < operands + accumulators; ++i) {
    const std::string &t = i < operands ? type : accumulatorType;
    std::string number = std::to_string(i);
    body += "  %p" + number +
            " = getelementptr i32, ptr addrspace(1) %from, "
            "i64 " +
            number + "\n  %v" + number + " = load " + t +
            ", ptr addrspace(1) %p" + number + ", align 4\n";
    add(types, t);
    add(values, t + " %v" + number);
  }
  for (unsigned i = 0; i < accumulators; ++i)
    add(results, accumulatorType);
  std::string function = "@llvm.nvvm.mma." + name;
  body += "  %d = call {" + results + "} " + function + "(" + values + ")\n";
  for (unsigned i = 0; i < accumulators; ++i) {
    std::string number = std::to_string(i);
    body += "  %d" + number + " = extractvalue {" + results + "} %d, " +
            number + "\n  %q" + number +
            " = getelementptr i32, ptr addrspace(1) %to, i64 " + number +
            "\n  store " + accumulatorType + " %d" + number +
            ", ptr addrspace(1) %q" + number + ", align 4\n";
  }
  return R"(target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare {)" +
         results + "} " + function + "(" + types + R"()
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64
  %fromOffset = mul i64 %t, 64
  %from = getelementptr i8, ptr addrspace(1) %in, i64 %fromOffset
  %toOffset = mul i64 %t, 16
  %to = getelementptr i8, ptr addrspace(1) %out, i64 %toOffset
)" + body +
         "  ret void\n}\n";
}

enum class Format { Half, Brain, Tensor };

std::uint32_t pair(Format format, float low, float high) {
  auto bits = [&](float x) -> std::uint32_t {
    return format == Format::Half ? floatToHalf(x) : floatToBrain(x);
  };
  return bits(low) | bits(high) << 16;
}

/// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and
/// the sections around it.
void checkProduct(const std::string &name, Format format, unsigned k,
                  const std::string &type) {
  bool tensor = format == Format::Tensor;
  unsigned forA = tensor ? k / 2 : k / 4, forB = tensor ? k / 4 : k / 8;
  Matrix a = smallIntegers(16 * k, 7), b = smallIntegers(k * 8, 8),
         c = smallIntegers(16 * 8, 9);
  Words in(32 * 16), out(32 * 4);
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned group = lane >> 2, thread = lane & 3;
    std::uint32_t *words = &in[lane * 16];
    for (unsigned r = 0; r < forA; ++r) {
      unsigned row = r % 2 ? group + 8 : group;
      unsigned column =
          tensor ? thread + (r >= 2 ? 4 : 0) : thread * 2 + (r >= 2 ? 8 : 0);
      words[r] =
          tensor ? bitsOf(a[row * k + column])
                 : pair(format, a[row * k + column], a[row * k + column + 1]);
    }
    for (unsigned r = 0; r < forB; ++r) {
      unsigned row = tensor ? thread + (r ? 4 : 0) : thread * 2 + (r ? 8 : 0);
      words[forA + r] =
          tensor ? bitsOf(b[row * 8 + group])
                 : pair(format, b[row * 8 + group], b[(row + 1) * 8 + group]);
    }
    for (unsigned r = 0; r < 4; ++r)
      words[forA + forB + r] =
          bitsOf(c[(r < 2 ? group : group + 8) * 8 + thread * 2 + (r & 1)]);
  }
  auto program = load(multiplyKernel(name, forA + forB, type, 4, "float"));
  Buffer<std::uint32_t> din(in), dout(out);
  Outcome outcome =
      launch(*program, "k", sizes(1, 32), din.data(), dout.data());
  ASSERT_TRUE(outcome.ok) << outcome.text;
  Matrix expected = product(a, b, c, 16, 8, k);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < 4; ++r)
      EXPECT_EQ(
          floatOf(dout[lane * 4 + r]),
          expected[(lane / 4 + (r < 2 ? 0 : 8)) * 8 + lane % 4 * 2 + (r & 1)])
          << name << " lane " << lane << " register " << r;
}

TEST(Product, OfAllShapes) {
  checkProduct("m16n8k16.row.col.f32.f32", Format::Half, 16, "<2 x half>");
  checkProduct("m16n8k8.row.col.f32.f32", Format::Half, 8, "<2 x half>");
  checkProduct("m16n8k16.row.col.bf16", Format::Brain, 16, "i32");
  checkProduct("m16n8k8.row.col.bf16", Format::Brain, 8, "i32");
  checkProduct("m16n8k8.row.col.tf32", Format::Tensor, 8, "i32");
  checkProduct("m16n8k4.row.col.tf32", Format::Tensor, 4, "i32");
}

TEST(Product, ReadsTheUpperBitsOfATensorFloat) {
  // 1 + 2^-12 has a bit that tf32 lacks.
  auto program =
      load(multiplyKernel("m16n8k4.row.col.tf32", 3, "i32", 4, "float"));
  Words in(32 * 16, 0);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < 3; ++r)
      in[lane * 16 + r] = bitsOf(1 + 0x1p-12f);
  Buffer<std::uint32_t> din(in), dout(32 * 4);
  ASSERT_TRUE(launch(*program, "k", sizes(1, 32), din.data(), dout.data()).ok);
  EXPECT_EQ(floatOf(dout[0]), 4.0f);
}

TEST(Product, InHalfPrecisionOfEightColumns) {
  // Only ones: every element is k, in either half of a register.
  auto program = load(multiplyKernel("m16n8k8.row.col.f16.f16", 3, "<2 x half>",
                                     2, "<2 x half>"));
  Words in(32 * 16, 0x3c003c00);
  Buffer<std::uint32_t> din(in), dout(32 * 4);
  ASSERT_TRUE(launch(*program, "k", sizes(1, 32), din.data(), dout.data()).ok);
  std::uint32_t nine = floatToHalf(9);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < 2; ++r)
      EXPECT_EQ(dout[lane * 4 + r], nine | nine << 16);
}

//===----------------------------------------------------------------------===//
// ldmatrix
//===----------------------------------------------------------------------===//

/// The warp fills shared memory with the halves 0, 1, 2, ..., and lane l names
/// row l (of 8 halves); its registers go to out.
Words loadMatrices(unsigned count, bool transposed) {
  std::string name = "@llvm.nvvm.ldmatrix.sync.aligned.m8n8.x" +
                     std::to_string(count) + (transposed ? ".trans" : "") +
                     ".b16.p3";
  std::string type = count == 1   ? "i32"
                     : count == 2 ? "{i32, i32}"
                                  : "{i32, i32, i32, i32}";
  std::string body;
  for (unsigned i = 0; i < count; ++i) {
    std::string number = std::to_string(i);
    body += (count == 1 ? "  %e0 = add i32 %m, 0\n"
                        : "  %e" + number + " = extractvalue " + type +
                              " %m, " + number + "\n") +
            "  %q" + number +
            " = getelementptr i32, ptr addrspace(1) %to, "
            "i64 " +
            number + "\n  store i32 %e" + number + ", ptr addrspace(1) %q" +
            number + "\n";
  }
  auto program = load(R"(target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [256 x i16] undef, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare )" + type + " " +
                      name + R"((ptr addrspace(3))
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64
  %o = mul i64 %t, 16
  %from = getelementptr i8, ptr addrspace(1) %in, i64 %o
  %row = getelementptr i8, ptr addrspace(3) @s, i64 %o
  %to = getelementptr i8, ptr addrspace(1) %out, i64 %o
  %v = load <8 x i16>, ptr addrspace(1) %from, align 16
  store <8 x i16> %v, ptr addrspace(3) %row, align 16
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %m = call )" + type +
                      " " + name + "(ptr addrspace(3) %row)\n" + body +
                      "  ret void\n}\n");
  std::vector<std::uint16_t> values(256);
  for (unsigned i = 0; i < 256; ++i)
    values[i] = i;
  Buffer<std::uint16_t> in(values);
  Buffer<std::uint32_t> out(32 * 4);
  Outcome outcome = launch(*program, "k", sizes(1, 32), in.data(), out.data());
  EXPECT_TRUE(outcome.ok) << outcome.text;
  return out.values();
}

TEST(LoadMatrix, GivesEachLaneTwoElementsOfARowOrAColumn) {
  for (unsigned count : {1, 2, 4})
    for (bool transposed : {false, true}) {
      Words got = loadMatrices(count, transposed);
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned m = 0; m < count; ++m) {
          unsigned row = lane / 4, column = lane % 4 * 2;
          std::uint32_t first = transposed ? m * 64 + column * 8 + row
                                           : m * 64 + row * 8 + column;
          std::uint32_t second = transposed ? first + 8 : first + 1;
          EXPECT_EQ(got[lane * 4 + m], first | second << 16)
              << count << transposed << " lane " << lane;
        }
    }
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// How a tile of rows of 16 elements of two bytes is stored for a descriptor.
struct TileLayout {
  const char *name;
  std::uint64_t mode; ///< Bits 62 and 63 of the descriptor.
  unsigned span;      ///< Bytes of a row that follow each other.
};
const TileLayout kLayouts[] = {
    {"none", 0, 16}, {"128B", 1, 128}, {"64B", 2, 64}, {"32B", 3, 32}};

/// The byte of element (row, k) in a K-major tile, as the drawings of the
/// canonical layouts in the PTX ISA have it: groups of 8 rows, in which the
/// 16-byte units of row r are permuted by an exclusive or with r (128B), r / 2
/// (64B) or r / 4 (32B).
unsigned placeInTile(const TileLayout &layout, unsigned row, unsigned k,
                     unsigned rows) {
  unsigned unit = k / 8, within = k % 8 * 2;
  if (layout.mode == 0) // A column of core matrices after the other.
    return unit * rows * 16 + row / 8 * 128 + row % 8 * 16 + within;
  unsigned units = layout.span / 16, r = row % 8;
  unsigned turned = unit ^ (r / (8 / units));
  return row / 8 * 8 * layout.span + r * layout.span + turned * 16 + within;
}

std::uint64_t descriptorBits(const TileLayout &layout, unsigned rows) {
  std::uint64_t leading = layout.mode ? 16 : rows * 16;
  std::uint64_t stride = layout.mode ? 8 * layout.span : 128;
  return leading >> 4 << 16 | stride >> 4 << 32 | layout.mode << 62;
}

std::string repeated(const std::string &item, unsigned count) {
  std::string list = item;
  for (unsigned i = 1; i < count; ++i)
    list += ", " + item;
  return list;
}

/// D (64 x 16) = A (64 x 16) B (16 x 16), with both tiles copied to shared
/// memory as they are in `in`: 8 KiB for A, 2 KiB for B.
std::string warpgroupKernel(const TileLayout &layout, const std::string &type,
                            int signA, int signB, bool accumulates) {
  std::string results = repeated("float", 8), list = "$0", ties = "0";
  for (unsigned i = 1; i < 8; ++i) {
    list += ", $" + std::to_string(i);
    ties += "," + std::to_string(i);
  }
  std::string stores;
  for (unsigned i = 0; i < 8; ++i) {
    std::string number = std::to_string(i);
    stores += "  %d" + number + " = extractvalue {" + results + "} %d, " +
              number + "\n  %q" + number +
              " = getelementptr float, ptr addrspace(1) %to, i64 " + number +
              "\n  store float %d" + number + ", ptr addrspace(1) %q" + number +
              "\n";
  }
  return R"(target triple = "nvptx64-nvidia-cuda"
@a = internal addrspace(3) global [8192 x i8] undef, align 1024
@b = internal addrspace(3) global [2048 x i8] undef, align 1024
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.fence.proxy.async.shared_cta()
declare void @llvm.nvvm.wgmma.fence.sync.aligned()
declare void @llvm.nvvm.wgmma.commit_group.sync.aligned()
declare void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64)
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64
  %oa = mul i64 %t, 64
  %fa = getelementptr i8, ptr addrspace(1) %in, i64 %oa
  %pa = getelementptr i8, ptr addrspace(3) @a, i64 %oa
  %va = load <16 x i32>, ptr addrspace(1) %fa, align 16
  store <16 x i32> %va, ptr addrspace(3) %pa, align 16
  %ob = mul i64 %t, 16
  %in.b = getelementptr i8, ptr addrspace(1) %in, i64 8192
  %fb = getelementptr i8, ptr addrspace(1) %in.b, i64 %ob
  %pb = getelementptr i8, ptr addrspace(3) @b, i64 %ob
  %vb = load <4 x i32>, ptr addrspace(1) %fb, align 16
  store <4 x i32> %vb, ptr addrspace(3) %pb, align 16
  call void @llvm.nvvm.fence.proxy.async.shared_cta()
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  %ia = ptrtoint ptr addrspace(3) @a to i64
  %ma = and i64 %ia, 262143
  %sa = lshr i64 %ma, 4
  %da = or i64 %sa, )" +
         std::to_string(descriptorBits(layout, 64)) + R"(
  %ib = ptrtoint ptr addrspace(3) @b to i64
  %mb = and i64 %ib, 262143
  %sb = lshr i64 %mb, 4
  %db = or i64 %sb, )" +
         std::to_string(descriptorBits(layout, 16)) + "\n  %d = call {" +
         results +
         R"(} asm sideeffect "{\0A.reg .pred p;\0Asetp.ne.b32 p, $18, 0;\0Awgmma.mma_async.sync.aligned.m64n16k16.f32.)" +
         type + "." + type + " {" + list +
         R"(}, $16, $17, p, $19,  $20, $21,  $22;\0A}\0A", ")" +
         "=f,=f,=f,=f,=f,=f,=f,=f," + ties + ",l,l,n,n,n,n,n\"(" +
         repeated("float 100.0", 8) + ", i64 %da, i64 %db, i32 " +
         (accumulates ? "1" : "0") + ", i32 " + std::to_string(signA) +
         ", i32 " + std::to_string(signB) + R"(, i32 0, i32 0)
  call void @llvm.nvvm.wgmma.commit_group.sync.aligned()
  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)
  %ot = mul i64 %t, 32
  %to = getelementptr i8, ptr addrspace(1) %out, i64 %ot
)" + stores +
         "  ret void\n}\n";
}

void checkWarpgroup(const TileLayout &layout, bool brain, int signA, int signB,
                    bool accumulates) {
  Matrix a = smallIntegers(64 * 16, 11), b = smallIntegers(16 * 16, 12);
  std::vector<std::uint16_t> in(8192 / 2 + 2048 / 2, 0x7fff);
  auto bits = [&](float x) { return brain ? floatToBrain(x) : floatToHalf(x); };
  for (unsigned k = 0; k < 16; ++k) {
    for (unsigned row = 0; row < 64; ++row)
      in[placeInTile(layout, row, k, 64) / 2] = bits(a[row * 16 + k]);
    for (unsigned column = 0; column < 16; ++column)
      in[4096 + placeInTile(layout, column, k, 16) / 2] =
          bits(b[k * 16 + column]);
  }
  Options options;
  options.check = true;
  auto program = load(warpgroupKernel(layout, brain ? "bf16" : "f16", signA,
                                      signB, accumulates),
                      options);
  Buffer<std::uint16_t> din(in);
  Buffer<float> dout(128 * 8);
  Outcome outcome =
      launch(*program, "k", sizes(1, 128), din.data(), dout.data());
  ASSERT_TRUE(outcome.ok) << outcome.text;
  Matrix expected = product(a, b, Matrix(64 * 16, 0), 64, 16, 16);
  for (unsigned t = 0; t < 128; ++t)
    for (unsigned r = 0; r < 8; ++r) {
      // PTX ISA, "WGMMA Fragment Layout for result matrix D".
      unsigned row = t / 32 * 16 + t % 32 / 4 + (r / 2 % 2) * 8;
      unsigned column = r / 4 * 8 + t % 4 * 2 + r % 2;
      float value = expected[row * 16 + column] * signA * signB;
      ASSERT_EQ(dout[t * 8 + r], accumulates ? 100 + value : value)
          << layout.name << " thread " << t << " register " << r;
    }
}

TEST(Warpgroup, MultipliesTilesOfAllLayouts) {
  for (const TileLayout &layout : kLayouts)
    for (bool brain : {false, true})
      checkWarpgroup(layout, brain, 1, 1, false);
}

/// One product of 64 x 64, with B as rows of k, 128 contiguous bytes each (N
/// is the inner index), or of tf32. Both tiles are swizzled by 128 bytes.
std::string wideKernel(const std::string &shape, const std::string &flags,
                       unsigned argumentsBehind, std::uint64_t descriptorB) {
  std::string ties = "0", list = "$0", outputs = "=f", stores;
  for (unsigned i = 1; i < 32; ++i) {
    list += ", $" + std::to_string(i);
    ties += "," + std::to_string(i);
    outputs += ",=f";
  }
  std::string results = repeated("float", 32);
  for (unsigned i = 0; i < 32; ++i) {
    std::string number = std::to_string(i);
    stores += "  %d" + number + " = extractvalue {" + results + "} %d, " +
              number + "\n  %q" + number +
              " = getelementptr float, ptr addrspace(1) %to, i64 " + number +
              "\n  store float %d" + number + ", ptr addrspace(1) %q" + number +
              "\n";
  }
  std::string behind = ",r", last;
  for (unsigned i = 1; i < argumentsBehind; ++i) {
    behind += ",n";
    last += ", $" + std::to_string(66 + i);
  }
  return R"(target triple = "nvptx64-nvidia-cuda"
@a = internal addrspace(3) global [8192 x i8] undef, align 1024
@b = internal addrspace(3) global [8192 x i8] undef, align 1024
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.fence.proxy.async.shared_cta()
declare void @llvm.nvvm.wgmma.fence.sync.aligned()
declare void @llvm.nvvm.wgmma.commit_group.sync.aligned()
declare void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64)
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64
  %o = mul i64 %t, 64
  %fa = getelementptr i8, ptr addrspace(1) %in, i64 %o
  %fb = getelementptr i8, ptr addrspace(1) %fa, i64 8192
  %pa = getelementptr i8, ptr addrspace(3) @a, i64 %o
  %pb = getelementptr i8, ptr addrspace(3) @b, i64 %o
  %va = load <16 x i32>, ptr addrspace(1) %fa, align 16
  store <16 x i32> %va, ptr addrspace(3) %pa, align 16
  %vb = load <16 x i32>, ptr addrspace(1) %fb, align 16
  store <16 x i32> %vb, ptr addrspace(3) %pb, align 16
  call void @llvm.nvvm.fence.proxy.async.shared_cta()
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  %ia = ptrtoint ptr addrspace(3) @a to i64
  %ma = and i64 %ia, 262143
  %sa = lshr i64 %ma, 4
  %da = or i64 %sa, )" +
         std::to_string(descriptorBits(kLayouts[1], 64)) + R"(
  %ib = ptrtoint ptr addrspace(3) @b to i64
  %mb = and i64 %ib, 262143
  %sb = lshr i64 %mb, 4
  %db = or i64 %sb, )" +
         std::to_string(descriptorB) + "\n  %d = call {" + results +
         R"(} asm sideeffect "{\0A.reg .pred p;\0Asetp.ne.b32 p, $66, 0;\0Awgmma.mma_async.sync.aligned.)" +
         shape + " {" + list + "}, $64, $65, p" + last + R"(;\0A}\0A", ")" +
         outputs + "," + ties + ",l,l" + behind + "\"(" +
         repeated("float 0.0", 32) + ", i64 %da, i64 %db, " + flags + R"()
  call void @llvm.nvvm.wgmma.commit_group.sync.aligned()
  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)
  %ot = mul i64 %t, 128
  %to = getelementptr i8, ptr addrspace(1) %out, i64 %ot
)" + stores +
         "  ret void\n}\n";
}

void runWide(const std::string &ir, const std::vector<unsigned char> &tiles,
             const Matrix &expected) {
  Options options;
  options.check = true;
  auto program = load(ir, options);
  ASSERT_TRUE(program);
  Buffer<unsigned char> in(tiles);
  Buffer<float> out(128 * 32);
  Outcome outcome = launch(*program, "k", sizes(1, 128), in.data(), out.data());
  ASSERT_TRUE(outcome.ok) << outcome.text;
  for (unsigned t = 0; t < 128; ++t)
    for (unsigned r = 0; r < 32; ++r) {
      unsigned row = t / 32 * 16 + t % 32 / 4 + (r / 2 % 2) * 8;
      unsigned column = r / 4 * 8 + t % 4 * 2 + r % 2;
      ASSERT_EQ(out[t * 32 + r], expected[row * 64 + column])
          << "thread " << t << " register " << r;
    }
}

/// 16 bytes of row r of a tile with rows of 128 bytes change places with those
/// whose number differs by r % 8.
unsigned swizzled(unsigned row, unsigned byte) {
  return row * 128 + ((byte / 16) ^ (row % 8)) * 16 + byte % 16;
}

TEST(Warpgroup, MultipliesByRowsOfTheRightMatrix) {
  Matrix a = smallIntegers(64 * 16, 21), b = smallIntegers(16 * 64, 22);
  std::vector<unsigned char> tiles(16384, 0xff);
  auto put = [&](unsigned at, float x) {
    std::uint16_t bits = floatToBrain(x);
    std::memcpy(&tiles[at], &bits, 2);
  };
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned k = 0; k < 16; ++k)
      put(swizzled(row, k * 2), a[row * 16 + k]);
  for (unsigned k = 0; k < 16; ++k)
    for (unsigned column = 0; column < 64; ++column)
      put(8192 + swizzled(k, column * 2), b[k * 64 + column]);
  // 1024 bytes to the next 8 rows of k; all of N is in one span.
  runWide(wideKernel("m64n64k16.f32.bf16.bf16",
                     "i32 0, i32 1, i32 1, i32 0, i32 1", 5,
                     descriptorBits(kLayouts[1], 64)),
          tiles, product(a, b, Matrix(64 * 64, 0), 64, 64, 16));
}

TEST(Warpgroup, MultipliesTensorFloats) {
  Matrix a = smallIntegers(64 * 8, 23), b = smallIntegers(8 * 64, 24);
  std::vector<unsigned char> tiles(16384, 0xff);
  for (unsigned k = 0; k < 8; ++k)
    for (unsigned i = 0; i < 64; ++i) {
      std::memcpy(&tiles[swizzled(i, k * 4)], &a[i * 8 + k], 4);
      std::memcpy(&tiles[8192 + swizzled(i, k * 4)], &b[k * 64 + i], 4);
    }
  runWide(wideKernel("m64n64k8.f32.tf32.tf32", "i32 0, i32 1, i32 1", 3,
                     descriptorBits(kLayouts[1], 64)),
          tiles, product(a, b, Matrix(64 * 64, 0), 64, 64, 8));
}

TEST(Warpgroup, AddsAndNegates) {
  checkWarpgroup(kLayouts[1], true, 1, 1, true);
  checkWarpgroup(kLayouts[1], true, -1, 1, true);
  checkWarpgroup(kLayouts[1], true, 1, -1, false);
}

} // namespace
