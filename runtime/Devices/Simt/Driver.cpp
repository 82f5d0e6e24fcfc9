//===- Driver.cpp - devices, contexts and memory --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Driver.h"

#include "runtime/Devices/Simt/Memory.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

using namespace steep::simt;

//===----------------------------------------------------------------------===//
// Reports and errors
//===----------------------------------------------------------------------===//

static std::mutex reportMutex;
static std::string lastReport;

CUresult steep::simt::fail(Result result, std::string text) {
  std::lock_guard<std::mutex> lock(reportMutex);
  lastReport = std::move(text);
  return result;
}

const char *steepSimtReport(void) {
  // A copy a thread: the text may be replaced while the caller reads.
  static thread_local std::string copy;
  std::lock_guard<std::mutex> lock(reportMutex);
  copy = lastReport;
  return copy.c_str();
}

namespace {
struct ResultName {
  Result result;
  const char *name, *text;
};
} // namespace

static const ResultName kResults[] = {
    {Success, "CUDA_SUCCESS", "no error"},
    {InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {InvalidImage, "CUDA_ERROR_INVALID_IMAGE",
     "device kernel image is invalid"},
    {InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {NotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

static const ResultName *findResult(CUresult result) {
  for (const ResultName &known : kResults)
    if (known.result == result)
      return &known;
  return nullptr;
}

STEEP_SIMT_API CUresult cuGetErrorName(CUresult result, const char **text) {
  const ResultName *known = findResult(result);
  *text = known ? known->name : nullptr;
  return known ? Success : InvalidValue;
}

STEEP_SIMT_API CUresult cuGetErrorString(CUresult result, const char **text) {
  const ResultName *known = findResult(result);
  *text = known ? known->text : nullptr;
  return known ? Success : InvalidValue;
}

//===----------------------------------------------------------------------===//
// Device and context: one of each
//===----------------------------------------------------------------------===//

int steep::simt::computeCapability() {
  const char *text = std::getenv("STEEP_SIMT_SM");
  int value = text ? std::atoi(text) : 0;
  return value >= 50 && value < 1000 ? value : 90;
}

static CUcontext theContext() {
  static char place;
  return reinterpret_cast<CUcontext>(&place);
}
static thread_local CUcontext currentContext = nullptr;

STEEP_SIMT_API CUresult cuInit(unsigned) { return Success; }

STEEP_SIMT_API CUresult cuDriverGetVersion(int *version) {
  *version = 12080;
  return Success;
}

STEEP_SIMT_API CUresult cuDeviceGetCount(int *count) {
  *count = 1;
  return Success;
}

STEEP_SIMT_API CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = 0;
  return ordinal == 0 ? Success : InvalidDevice;
}

STEEP_SIMT_API CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  if (length < 1)
    return InvalidValue;
  std::strncpy(name, "Steep simt (emulated GPU)", length - 1);
  name[length - 1] = 0;
  return Success;
}

STEEP_SIMT_API CUresult cuDeviceTotalMem_v2(std::size_t *bytes, CUdevice) {
  *bytes = std::size_t(16) << 30;
  return Success;
}

STEEP_SIMT_API CUresult cuDeviceGetAttribute(int *value, int attribute,
                                             CUdevice) {
  // The numbers of CUdevice_attribute, with the values of an H100.
  switch (attribute) {
  case 1: // MAX_THREADS_PER_BLOCK
  case 2: // MAX_BLOCK_DIM_X
  case 3: // MAX_BLOCK_DIM_Y
    *value = 1024;
    return Success;
  case 4: // MAX_BLOCK_DIM_Z
    *value = 64;
    return Success;
  case 5: // MAX_GRID_DIM_X
    *value = 0x7fffffff;
    return Success;
  case 6: // MAX_GRID_DIM_Y
  case 7: // MAX_GRID_DIM_Z
    *value = 65535;
    return Success;
  case 8: // MAX_SHARED_MEMORY_PER_BLOCK
    *value = 48 * 1024;
    return Success;
  case 10: // WARP_SIZE
    *value = 32;
    return Success;
  case 12: // MAX_REGISTERS_PER_BLOCK
  case 82: // MAX_REGISTERS_PER_MULTIPROCESSOR
    *value = 65536;
    return Success;
  case 16: // MULTIPROCESSOR_COUNT
    *value = 132;
    return Success;
  case 39: // MAX_THREADS_PER_MULTIPROCESSOR
    *value = 2048;
    return Success;
  case 41: // UNIFIED_ADDRESSING
    *value = 1;
    return Success;
  case 75: // COMPUTE_CAPABILITY_MAJOR
    *value = computeCapability() / 10;
    return Success;
  case 76: // COMPUTE_CAPABILITY_MINOR
    *value = computeCapability() % 10;
    return Success;
  case 81: // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    *value = 228 * 1024;
    return Success;
  case 97: // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    *value = 227 * 1024;
    return Success;
  default:
    *value = 0;
    return fail(InvalidValue, "cuDeviceGetAttribute: attribute " +
                                  std::to_string(attribute) + " is not known");
  }
}

STEEP_SIMT_API CUresult cuDevicePrimaryCtxRetain(CUcontext *context,
                                                 CUdevice device) {
  *context = theContext();
  return device == 0 ? Success : InvalidDevice;
}

STEEP_SIMT_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return device == 0 ? Success : InvalidDevice;
}

STEEP_SIMT_API CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return cuDevicePrimaryCtxRelease_v2(device);
}

STEEP_SIMT_API CUresult cuCtxSetCurrent(CUcontext context) {
  if (context && context != theContext())
    return InvalidContext;
  currentContext = context;
  return Success;
}

STEEP_SIMT_API CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = currentContext;
  return Success;
}

STEEP_SIMT_API CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return cuCtxSetCurrent(context);
}

STEEP_SIMT_API CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  if (context)
    *context = currentContext;
  currentContext = nullptr;
  return Success;
}

STEEP_SIMT_API CUresult cuCtxGetDevice(CUdevice *device) {
  *device = 0;
  return currentContext ? Success : InvalidContext;
}

STEEP_SIMT_API CUresult cuCtxSynchronize(void) { return Success; }

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static void *hostOf(CUdeviceptr pointer) {
  return reinterpret_cast<void *>(static_cast<std::uintptr_t>(pointer));
}

/// Device memory that a copy or a fill touches must exist.
static CUresult checkRange(const char *call, CUdeviceptr pointer,
                           std::size_t bytes) {
  if (bytes == 0 || GlobalMemory::instance().contains(hostOf(pointer), bytes))
    return Success;
  return fail(InvalidValue, std::string(call) + ": " + std::to_string(bytes) +
                                " bytes at " + std::to_string(pointer) +
                                " are not inside one allocation");
}

STEEP_SIMT_API CUresult cuMemAlloc_v2(CUdeviceptr *pointer, std::size_t bytes) {
  if (bytes == 0)
    return fail(InvalidValue, "cuMemAlloc: zero bytes");
  void *memory = GlobalMemory::instance().allocate(bytes);
  *pointer = reinterpret_cast<std::uintptr_t>(memory);
  return memory ? Success
                : fail(OutOfMemory, "cuMemAlloc: no memory for " +
                                        std::to_string(bytes) + " bytes");
}

STEEP_SIMT_API CUresult cuMemFree_v2(CUdeviceptr pointer) {
  if (pointer == 0 || GlobalMemory::instance().release(hostOf(pointer)))
    return Success;
  return fail(InvalidValue, "cuMemFree: the pointer is not an allocation's");
}

STEEP_SIMT_API CUresult cuMemGetInfo_v2(std::size_t *left, std::size_t *total) {
  *left = *total = std::size_t(16) << 30;
  return Success;
}

STEEP_SIMT_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from,
                                        std::size_t bytes) {
  if (CUresult bad = checkRange("cuMemcpyHtoD", to, bytes))
    return bad;
  std::memcpy(hostOf(to), from, bytes);
  return Success;
}

STEEP_SIMT_API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from,
                                        std::size_t bytes) {
  if (CUresult bad = checkRange("cuMemcpyDtoH", from, bytes))
    return bad;
  std::memcpy(to, hostOf(from), bytes);
  return Success;
}

STEEP_SIMT_API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from,
                                        std::size_t bytes) {
  if (CUresult bad = checkRange("cuMemcpyDtoD", to, bytes))
    return bad;
  if (CUresult bad = checkRange("cuMemcpyDtoD", from, bytes))
    return bad;
  std::memmove(hostOf(to), hostOf(from), bytes);
  return Success;
}

STEEP_SIMT_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from,
                                             std::size_t bytes, CUstream) {
  return cuMemcpyHtoD_v2(to, from, bytes);
}

STEEP_SIMT_API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from,
                                             std::size_t bytes, CUstream) {
  return cuMemcpyDtoH_v2(to, from, bytes);
}

STEEP_SIMT_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from,
                                             std::size_t bytes, CUstream) {
  return cuMemcpyDtoD_v2(to, from, bytes);
}

STEEP_SIMT_API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value,
                                      std::size_t count) {
  if (CUresult bad = checkRange("cuMemsetD8", to, count))
    return bad;
  std::memset(hostOf(to), value, count);
  return Success;
}

STEEP_SIMT_API CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value,
                                       std::size_t count) {
  if (to % 4)
    return fail(InvalidValue, "cuMemsetD32: the pointer is not aligned to 4");
  if (CUresult bad = checkRange("cuMemsetD32", to, count * 4))
    return bad;
  auto *words = static_cast<unsigned *>(hostOf(to));
  for (std::size_t i = 0; i < count; ++i)
    words[i] = value;
  return Success;
}

STEEP_SIMT_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value,
                                        std::size_t count, CUstream) {
  return cuMemsetD8_v2(to, value, count);
}

STEEP_SIMT_API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value,
                                         std::size_t count, CUstream) {
  return cuMemsetD32_v2(to, value, count);
}

STEEP_SIMT_API CUresult cuMemHostAlloc(void **pointer, std::size_t bytes,
                                       unsigned) {
  *pointer = std::malloc(bytes);
  return *pointer ? Success : OutOfMemory;
}

STEEP_SIMT_API CUresult cuMemFreeHost(void *pointer) {
  std::free(pointer);
  return Success;
}

CUresult steepSimtDeclare(const char *name, CUdeviceptr pointer,
                          std::size_t bytes, std::size_t stride,
                          std::size_t count) {
  if (GlobalMemory::instance().declare(name, hostOf(pointer), bytes, stride,
                                       count))
    return Success;
  return fail(InvalidValue, std::string("steepSimtDeclare: the parts '") +
                                name + "' overlap or leave their allocation");
}
