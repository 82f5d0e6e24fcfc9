//===- Driver.h - the CUDA driver API of the emulated GPU -------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types and names are those of NVIDIA's driver API, as far as the launcher
// and the runtime use it, so that one launcher runs on both. Work is done when
// a call returns: streams and events only keep their order.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_DRIVER_H
#define STEEP_RUNTIME_DEVICES_SIMT_DRIVER_H

#include <cstddef>
#include <string>

#define STEEP_SIMT_API extern "C" __attribute__((visibility("default")))

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;

namespace steep::simt {

/// Results that are used here.
enum Result : CUresult {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  InvalidHandle = 400,
  NotFound = 500,
  LaunchFailed = 719,
  NotSupported = 801,
};

/// Keeps the text for steepSimtReport and returns `result`.
CUresult fail(Result result, std::string text);

/// Compute capability, e.g. 90: STEEP_SIMT_SM, or 90.
int computeCapability();

} // namespace steep::simt

/// What was wrong with the last call that failed: the errors of a module, or
/// the reports of a launch, one a line. Empty if nothing was.
STEEP_SIMT_API const char *steepSimtReport(void);

/// Declares parts of an allocation (see GlobalMemory::declare), for checks.
STEEP_SIMT_API CUresult steepSimtDeclare(const char *name, CUdeviceptr pointer,
                                         std::size_t bytes, std::size_t stride,
                                         std::size_t count);

#endif // STEEP_RUNTIME_DEVICES_SIMT_DRIVER_H
