//===- Kernel.cpp - one launch on the emulated GPU ------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/steep-simt/Kernel.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Core/Safetensors.h"
#include "runtime/Devices/Simt/Launch.h"
#include "runtime/Devices/Simt/Loader.h"
#include "runtime/Devices/Simt/Memory.h"
#include "tools/steep-simt/Arguments.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>

using namespace steep;
using namespace steep::simt;

static std::unique_ptr<Program> loadProgram(const KernelOptions &options) {
  Options how;
  how.check = options.check;
  how.seed = options.seed;
  how.threads = options.threads;
  // The parent process ends what hangs; a report of who waits for whom, a
  // little earlier, says more.
  how.timeoutMs = options.timeout * 900;
  auto program = loadBytes(readFile(options.file), options.file, how);
  if (!program)
    fail("{}", llvm::toString(program.takeError()));
  return std::move(*program);
}

static std::string namesOf(const Program &program) {
  std::string names;
  for (const Kernel &kernel : program.kernels)
    names += (names.empty() ? "" : ", ") + quote(kernel.name);
  return names;
}

static const Kernel &chooseKernel(const Program &program,
                                  const KernelOptions &options) {
  if (options.entry.empty() && program.kernels.size() == 1)
    return program.kernels.front();
  if (options.entry.empty())
    fail("--entry is required: {} has the kernels {}", quote(options.file),
         namesOf(program));
  const Kernel *kernel = program.findKernel(options.entry);
  if (!kernel)
    fail("{} has no kernel {}: it has {}", quote(options.file),
         quote(options.entry), namesOf(program));
  return *kernel;
}

static void listKernels(const Program &program) {
  for (const Kernel &kernel : program.kernels) {
    std::string sizes;
    for (std::uint32_t size : kernel.sizes)
      sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", size);
    std::printf("%s: parameters of %s bytes", kernel.name.c_str(),
                sizes.empty() ? "no" : sizes.c_str());
    if (kernel.required[0])
      std::printf(", blocks of %u x %u x %u threads", kernel.required[0],
                  std::max(1u, kernel.required[1]),
                  std::max(1u, kernel.required[2]));
    std::printf("\n");
  }
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Gives a buffer its memory and its contents, and the kernel its address.
static void placeBuffer(KernelArgument &argument) {
  GlobalMemory &memory = GlobalMemory::instance();
  void *buffer = memory.allocate(argument.bytes);
  if (!buffer)
    fail("there is no memory for the {} bytes of --arg={}", argument.bytes,
         argument.text);
  if (!argument.input.empty())
    std::memcpy(buffer, argument.input.data(), argument.bytes);
  std::string name = argument.tensor.empty() ? argument.text : argument.tensor;
  memory.declare(name, buffer, argument.bytes, argument.bytes, 1);
  argument.value.resize(sizeof buffer);
  std::memcpy(argument.value.data(), &buffer, sizeof buffer);
}

static std::vector<void *> bind(const Kernel &kernel,
                                std::vector<KernelArgument> &arguments) {
  if (arguments.size() != kernel.sizes.size())
    fail("kernel {} takes {} parameters, but {} --arg are given",
         quote(kernel.name), kernel.sizes.size(), arguments.size());
  std::vector<void *> parameters;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].isPointer())
      placeBuffer(arguments[i]);
    if (arguments[i].value.size() != kernel.sizes[i])
      fail("parameter {} of kernel {} has {} bytes, but --arg={} has {}", i,
           quote(kernel.name), kernel.sizes[i], arguments[i].text,
           arguments[i].value.size());
    const ParameterKind kind = kernel.kinds[i];
    if (kind != ParameterKind::Bits &&
        (kind == ParameterKind::Float) != arguments[i].isFloat)
      fail("parameter {} of kernel {} is {} of {} bytes, but --arg={} is not",
           i, quote(kernel.name),
           kind == ParameterKind::Float ? "a floating-point number"
                                        : "an integer or a pointer",
           kernel.sizes[i], arguments[i].text);
    parameters.push_back(arguments[i].value.data());
  }
  return parameters;
}

/// Tensors of one file are written together.
static void writeOutputs(const std::vector<KernelArgument> &arguments) {
  std::map<std::string, NamedTensors> files;
  for (const KernelArgument &argument : arguments) {
    if (argument.outputFile.empty())
      continue;
    Tensor result(argument.output.dtype(), argument.output.shape());
    void *buffer;
    std::memcpy(&buffer, argument.value.data(), sizeof buffer);
    std::memcpy(result.data(), buffer, result.bytes());
    files[argument.outputFile].emplace_back(argument.tensor, result);
  }
  for (auto &[file, tensors] : files)
    writeSafetensors(file, tensors);
}

int steep::runKernel(const KernelOptions &options) {
  std::unique_ptr<Program> program = loadProgram(options);
  if (options.list) {
    listKernels(*program);
    return 0;
  }
  const Kernel &kernel = chooseKernel(*program, options);
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  parseSizes("--grid", options.grid, grid);
  parseSizes("--block", options.block, block);
  std::vector<KernelArgument> arguments;
  for (const std::string &text : options.arguments)
    arguments.push_back(parseArgument(text));
  std::vector<void *> parameters = bind(kernel, arguments);
  Reports reports;
  std::string message;
  LaunchStats stats;
  auto start = std::chrono::steady_clock::now();
  bool done = run(*program, kernel, grid, block, options.shared,
                  parameters.data(), reports, message, &stats);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  if (!reports.empty()) {
    for (const std::string &text : reports.texts())
      std::fprintf(stderr, "steep-simt: report: %s\n", text.c_str());
    return 2;
  }
  if (!done)
    fail("{}", message);
  writeOutputs(arguments);
  std::printf("%s: %llu blocks, %llu threads, %.3f s\n", kernel.name.c_str(),
              static_cast<unsigned long long>(stats.blocks),
              static_cast<unsigned long long>(stats.threads), seconds.count());
  return 0;
}
