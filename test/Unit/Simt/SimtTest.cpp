//===- SimtTest.cpp - loading and running small kernels -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimtTest.h"

#include "runtime/Devices/Simt/Loader.h"

#include <fstream>
#include <sstream>

namespace steep::simt::test {

Loaded tryLoad(const std::string &ir, const Options &options) {
  auto program = loadBytes(ir, "test", options);
  if (program)
    return {std::move(*program), ""};
  return {nullptr, llvm::toString(program.takeError())};
}

std::unique_ptr<Program> load(const std::string &ir, const Options &options) {
  Loaded loaded = tryLoad(ir, options);
  EXPECT_EQ(loaded.message, "");
  return std::move(loaded.program);
}

Sizes sizes(std::uint32_t grid, std::uint32_t block, std::uint32_t shared) {
  Sizes result;
  result.grid[0] = grid;
  result.block[0] = block;
  result.shared = shared;
  return result;
}

Outcome launchPointers(const Program &program, const std::string &name,
                       const Sizes &sizes, std::vector<void *> parameters) {
  Outcome outcome;
  const Kernel *kernel = program.findKernel(name);
  if (!kernel) {
    outcome.text = "no kernel '" + name + "'";
    return outcome;
  }
  EXPECT_EQ(kernel->sizes.size(), parameters.size());
  Reports reports(program.options.maxReports);
  outcome.ok = run(program, *kernel, sizes.grid, sizes.block, sizes.shared,
                   parameters.data(), reports, outcome.text, &outcome.stats);
  outcome.text += reports.all();
  return outcome;
}

std::string perThread(const std::string &declarations,
                      const std::string &body) {
  return R"(target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
)" + declarations +
         R"(
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %tid64 = zext i32 %tid to i64
  %inp = getelementptr i32, ptr addrspace(1) %in, i64 %tid64
  %outp = getelementptr i32, ptr addrspace(1) %out, i64 %tid64
  %x = load i32, ptr addrspace(1) %inp
)" + body +
         R"(
  store i32 %r, ptr addrspace(1) %outp
  ret void
}
)";
}

std::vector<std::uint32_t> runPerThread(const std::string &ir,
                                        std::vector<std::uint32_t> inputs,
                                        const Options &options) {
  auto program = load(ir, options);
  if (!program)
    return {};
  Buffer<std::uint32_t> in(inputs), out(inputs.size());
  Outcome outcome =
      launch(*program, "k", sizes(1, inputs.size()), in.data(), out.data());
  EXPECT_TRUE(outcome.ok) << outcome.text;
  return out.values();
}

std::string readInput(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace steep::simt::test
