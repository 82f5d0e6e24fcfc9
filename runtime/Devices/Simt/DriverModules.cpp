//===- DriverModules.cpp - modules, launches, streams and events ----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Core/Sha256.h"
#include "runtime/Devices/Simt/Driver.h"
#include "runtime/Devices/Simt/Launch.h"
#include "runtime/Devices/Simt/Loader.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

using namespace steep::simt;

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

struct CUfunc_st {
  const Program *program;
  const Kernel *kernel;
  std::uint32_t dynamicShared = 0; ///< What the caller asked to be allowed.
};

struct CUmod_st {
  std::shared_ptr<Program> program;
  std::map<std::string, CUfunc_st> functions;
};

static std::mutex modulesMutex;

/// Compiling takes longer than most kernels run: programs without variables,
/// which have no state, are kept by their bytes and options.
static std::map<std::string, std::shared_ptr<Program>> &programs() {
  static std::map<std::string, std::shared_ptr<Program>> cache;
  return cache;
}

static bool isBitcode(const unsigned char *image) {
  return image[0] == 'B' && image[1] == 'C' && image[2] == 0xC0 &&
         image[3] == 0xDE;
}
static bool isWrapped(const unsigned char *image) {
  return image[0] == 0xDE && image[1] == 0xC0 && image[2] == 0x17 &&
         image[3] == 0x0B;
}

static std::uint32_t word(const unsigned char *p) {
  std::uint32_t value;
  std::memcpy(&value, p, 4);
  return value;
}

/// Bytes of a bitcode image, which nobody tells: its top-level blocks follow
/// each other, each an abbreviation (2 bits, 1: enter a block), an id (8), a
/// width (4) and, in the next word, the number of words of its body. The last
/// is the table of strings.
static std::size_t bitcodeSize(const unsigned char *image) {
  if (isWrapped(image))
    return std::size_t(word(image + 8)) + word(image + 12);
  static constexpr std::uint32_t kStrings = 23;
  std::size_t end = 4;
  for (std::uint32_t id = 0; id != kStrings;) {
    std::uint32_t head = word(image + end);
    id = head >> 2 & 0xff;
    if ((head & 3) != 1 || id > 26 || head >> 14)
      return end;
    end += 8 + 4 * std::size_t(word(image + end + 4));
  }
  return end;
}

static std::shared_ptr<Program> loadImage(const void *image,
                                          std::string &message) {
  auto *bytes = static_cast<const unsigned char *>(image);
  std::size_t size = isBitcode(bytes) || isWrapped(bytes)
                         ? bitcodeSize(bytes)
                         : std::strlen(static_cast<const char *>(image));
  Options options;
  if (!optionsFromEnvironment(options, message))
    return nullptr;
  llvm::StringRef text(static_cast<const char *>(image), size);
  std::string key = steep::sha256(std::string_view(text.data(), size));
  for (std::uint64_t number :
       {std::uint64_t(options.check), std::uint64_t(options.optimize),
        options.seed, std::uint64_t(options.threads),
        std::uint64_t(options.timeoutMs)})
    key += " " + std::to_string(number);

  std::lock_guard<std::mutex> lock(modulesMutex);
  auto known = programs().find(key);
  if (known != programs().end())
    return known->second;
  auto loaded = loadBytes(text, "module", options);
  if (!loaded) {
    message = llvm::toString(loaded.takeError());
    return nullptr;
  }
  std::shared_ptr<Program> program(std::move(*loaded));
  if (program->variables.empty())
    programs()[key] = program;
  return program;
}

STEEP_SIMT_API CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  *module = nullptr;
  std::string message;
  auto program = loadImage(image, message);
  if (!program)
    return fail(InvalidImage, message);
  auto made = std::make_unique<CUmod_st>();
  made->program = std::move(program);
  for (const Kernel &kernel : made->program->kernels)
    made->functions[kernel.name] = {made->program.get(), &kernel};
  *module = made.release();
  return Success;
}

STEEP_SIMT_API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image,
                                           unsigned, int *, void **) {
  return cuModuleLoadData(module, image);
}

STEEP_SIMT_API CUresult cuModuleUnload(CUmodule module) {
  delete module;
  return Success;
}

STEEP_SIMT_API CUresult cuModuleGetFunction(CUfunction *function,
                                            CUmodule module, const char *name) {
  auto it = module->functions.find(name);
  *function = it == module->functions.end() ? nullptr : &it->second;
  return *function ? Success
                   : fail(NotFound, std::string("the module has no kernel '") +
                                        name + "'");
}

STEEP_SIMT_API CUresult cuModuleGetGlobal_v2(CUdeviceptr *pointer,
                                             std::size_t *bytes,
                                             CUmodule module,
                                             const char *name) {
  const Variable *variable = module->program->findVariable(name);
  if (!variable)
    return fail(NotFound,
                std::string("the module has no variable '") + name + "'");
  if (pointer)
    *pointer = reinterpret_cast<std::uintptr_t>(variable->address);
  if (bytes)
    *bytes = variable->bytes;
  return Success;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static constexpr int kMaxThreadsPerBlock = 0, kSharedSize = 1, kRegisters = 4,
                     kMaxDynamicShared = 8, kSharedCarveout = 9;
static constexpr std::uint32_t kPlainShared = 48 * 1024;

STEEP_SIMT_API CUresult cuFuncSetAttribute(CUfunction function, int attribute,
                                           int value) {
  if (attribute == kSharedCarveout)
    return Success;
  if (attribute != kMaxDynamicShared || value < 0 ||
      value + function->kernel->staticShared > 227 * 1024)
    return fail(InvalidValue, "cuFuncSetAttribute: attribute " +
                                  std::to_string(attribute) + " = " +
                                  std::to_string(value));
  function->dynamicShared = value;
  return Success;
}

STEEP_SIMT_API CUresult cuFuncGetAttribute(int *value, int attribute,
                                           CUfunction function) {
  const Kernel &kernel = *function->kernel;
  switch (attribute) {
  case kMaxThreadsPerBlock:
    *value = kernel.maxThreads ? kernel.maxThreads
             : kernel.required[0]
                 ? kernel.required[0] * std::max(1u, kernel.required[1]) *
                       std::max(1u, kernel.required[2])
                 : 1024;
    return Success;
  case kSharedSize:
    *value = kernel.staticShared;
    return Success;
  case kRegisters:
    *value = 0; // There are none to count.
    return Success;
  case kMaxDynamicShared:
    *value = function->dynamicShared;
    return Success;
  default:
    return fail(InvalidValue, "cuFuncGetAttribute: attribute " +
                                  std::to_string(attribute) + " is not known");
  }
}

/// The packed buffer of `extra` as an array of pointers.
static bool unpackExtra(void **extra, const Kernel &kernel,
                        std::vector<void *> &parameters) {
  char *buffer = nullptr;
  std::size_t size = 0;
  for (; *extra; extra += 2)
    if (reinterpret_cast<std::uintptr_t>(extra[0]) == 1)
      buffer = static_cast<char *>(extra[1]);
    else if (reinterpret_cast<std::uintptr_t>(extra[0]) == 2)
      size = *static_cast<std::size_t *>(extra[1]);
    else
      return false;
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i) {
    if (!buffer || kernel.offsets[i] + kernel.sizes[i] > size)
      return false;
    parameters.push_back(buffer + kernel.offsets[i]);
  }
  return true;
}

STEEP_SIMT_API CUresult cuLaunchKernel(CUfunction function, unsigned gridX,
                                       unsigned gridY, unsigned gridZ,
                                       unsigned blockX, unsigned blockY,
                                       unsigned blockZ, unsigned sharedBytes,
                                       CUstream, void **parameters,
                                       void **extra) {
  if (!function)
    return fail(InvalidHandle, "cuLaunchKernel: no function");
  const Kernel &kernel = *function->kernel;
  if (kernel.staticShared + sharedBytes > kPlainShared &&
      sharedBytes > function->dynamicShared)
    return fail(InvalidValue,
                "kernel '" + kernel.name + "': " + std::to_string(sharedBytes) +
                    " bytes of dynamic shared memory need cuFuncSetAttribute(" +
                    "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)");
  std::vector<void *> unpacked;
  if (!parameters && extra) {
    if (!unpackExtra(extra, kernel, unpacked))
      return fail(InvalidValue,
                  "kernel '" + kernel.name + "': the parameter buffer is bad");
    parameters = unpacked.data();
  }
  if (!parameters && !kernel.sizes.empty())
    return fail(InvalidValue, "kernel '" + kernel.name + "': no parameters");
  Reports reports(function->program->options.maxReports);
  std::string message;
  if (run(*function->program, kernel, {gridX, gridY, gridZ},
          {blockX, blockY, blockZ}, sharedBytes, parameters, reports, message))
    return Success;
  if (!message.empty())
    return fail(InvalidValue, message);
  return fail(LaunchFailed, reports.all());
}

//===----------------------------------------------------------------------===//
// Streams and events: order is all they have
//===----------------------------------------------------------------------===//

struct CUstream_st {};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
};

STEEP_SIMT_API CUresult cuStreamCreate(CUstream *stream, unsigned) {
  *stream = new CUstream_st;
  return Success;
}

STEEP_SIMT_API CUresult cuStreamDestroy_v2(CUstream stream) {
  delete stream;
  return Success;
}

STEEP_SIMT_API CUresult cuStreamSynchronize(CUstream) { return Success; }
STEEP_SIMT_API CUresult cuStreamQuery(CUstream) { return Success; }
STEEP_SIMT_API CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) {
  return Success;
}

STEEP_SIMT_API CUresult cuEventCreate(CUevent *event, unsigned) {
  *event = new CUevent_st{std::chrono::steady_clock::now()};
  return Success;
}

STEEP_SIMT_API CUresult cuEventDestroy_v2(CUevent event) {
  delete event;
  return Success;
}

STEEP_SIMT_API CUresult cuEventRecord(CUevent event, CUstream) {
  event->time = std::chrono::steady_clock::now();
  return Success;
}

STEEP_SIMT_API CUresult cuEventSynchronize(CUevent) { return Success; }
STEEP_SIMT_API CUresult cuEventQuery(CUevent) { return Success; }

STEEP_SIMT_API CUresult cuEventElapsedTime(float *milliseconds, CUevent from,
                                           CUevent to) {
  *milliseconds =
      std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return Success;
}
