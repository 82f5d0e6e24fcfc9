//===- DriverTest.cpp - the plug-in, through the names of the driver API --===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimtTest.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace steep::simt::test;

namespace {

using Pointer = unsigned long long;

class Driver : public testing::Test {
protected:
  void SetUp() override {
    library = dlopen(STEEP_SIMT_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library) << dlerror();
    EXPECT_EQ(call("cuInit", 0u), 0);
  }
  void TearDown() override {
    for (const char *name : {"STEEP_SIMT_CHECK", "STEEP_SIMT_THREADS"})
      unsetenv(name);
  }

  template <typename... Arguments>
  int call(const char *name, Arguments... arguments) {
    auto *function =
        reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
    if (!function) {
      ADD_FAILURE() << name << " is not exported";
      return -1;
    }
    return function(arguments...);
  }
  std::string report() {
    return reinterpret_cast<const char *(*)()>(
        dlsym(library, "steepSimtReport"))();
  }

  /// Launches `name` of the module with two buffers of 256 bytes.
  int launchTwo(const std::string &ir, unsigned threads, Pointer &out,
                unsigned shared = 0) {
    int result = call("cuModuleLoadData", &module,
                      static_cast<const void *>(ir.c_str()));
    if (result)
      return result;
    EXPECT_EQ(call("cuModuleGetFunction", &function, module, "k"), 0);
    EXPECT_EQ(call("cuMemAlloc_v2", &in, std::size_t(256)), 0);
    EXPECT_EQ(call("cuMemAlloc_v2", &out, std::size_t(256)), 0);
    EXPECT_EQ(call("cuMemsetD32_v2", in, 7u, std::size_t(64)), 0);
    void *parameters[] = {&in, &out};
    return call("cuLaunchKernel", function, 1u, 1u, 1u, threads, 1u, 1u, shared,
                static_cast<void *>(nullptr), static_cast<void **>(parameters),
                static_cast<void **>(nullptr));
  }

  void *library = nullptr, *module = nullptr, *function = nullptr;
  Pointer in = 0;
};

const std::string kAddOne = perThread("", "  %r = add i32 %x, 1");

TEST_F(Driver, LoadsCopiesAndLaunches) {
  int count = 0, major = 0;
  EXPECT_EQ(call("cuDeviceGetCount", &count), 0);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(call("cuDeviceGetAttribute", &major, 75, 0), 0);
  EXPECT_EQ(major, 9);
  void *context = nullptr, *stream = nullptr;
  EXPECT_EQ(call("cuDevicePrimaryCtxRetain", &context, 0), 0);
  EXPECT_EQ(call("cuCtxSetCurrent", context), 0);
  EXPECT_EQ(call("cuStreamCreate", &stream, 0u), 0);
  Pointer out = 0;
  ASSERT_EQ(launchTwo(kAddOne, 64, out), 0) << report();
  std::uint32_t host[64];
  EXPECT_EQ(call("cuMemcpyDtoHAsync_v2", static_cast<void *>(host), out,
                 sizeof host, stream),
            0);
  EXPECT_EQ(call("cuStreamSynchronize", stream), 0);
  for (std::uint32_t value : host)
    EXPECT_EQ(value, 8u);
  EXPECT_EQ(call("cuMemFree_v2", out), 0);
  EXPECT_EQ(call("cuMemFree_v2", out), 1);
  EXPECT_EQ(call("cuStreamDestroy_v2", stream), 0);
  EXPECT_EQ(call("cuModuleUnload", module), 0);
}

TEST_F(Driver, TakesParametersInOneBuffer) {
  Pointer out = 0;
  ASSERT_EQ(launchTwo(kAddOne, 64, out), 0);
  EXPECT_EQ(call("cuMemsetD8_v2", out, static_cast<unsigned char>(0),
                 std::size_t(256)),
            0);
  Pointer packed[] = {in, out};
  std::size_t size = sizeof packed;
  void *extra[] = {reinterpret_cast<void *>(1), packed,
                   reinterpret_cast<void *>(2), &size, nullptr};
  EXPECT_EQ(call("cuLaunchKernel", function, 1u, 1u, 1u, 64u, 1u, 1u, 0u,
                 static_cast<void *>(nullptr), static_cast<void **>(nullptr),
                 static_cast<void **>(extra)),
            0);
  std::uint32_t host[64];
  EXPECT_EQ(
      call("cuMemcpyDtoH_v2", static_cast<void *>(host), out, sizeof host), 0);
  EXPECT_EQ(host[63], 8u);
}

TEST_F(Driver, ReportsWhatAKernelDidWrong) {
  setenv("STEEP_SIMT_CHECK", "1", 1);
  Pointer out = 0;
  EXPECT_EQ(launchTwo(kAddOne, 96, out), 719);
  EXPECT_NE(report().find("kernel 'k', block (0,0,0), thread (64,0,0): global "
                          "memory out of bounds: read of 4 bytes at offset "
                          "256"),
            std::string::npos)
      << report();
}

TEST_F(Driver, ReportsWhatAModuleLacks) {
  Pointer out = 0;
  EXPECT_EQ(launchTwo(perThread("declare i32 @llvm.nvvm.fns(i32, i32, i32)",
                                "%r = call i32 @llvm.nvvm.fns(i32 %x, i32 0, "
                                "i32 0)"),
                      32, out),
            200);
  EXPECT_EQ(report(), "intrinsic llvm.nvvm.fns is not known");
  const char *name = nullptr;
  EXPECT_EQ(call("cuGetErrorName", 200, &name), 0);
  EXPECT_STREQ(name, "CUDA_ERROR_INVALID_IMAGE");
}

TEST_F(Driver, WantsAttributesForMuchSharedMemory) {
  std::string ir =
      perThread("@d = external addrspace(3) global [0 x i32], "
                "align 16",
                R"(  %p = getelementptr i32, ptr addrspace(3) @d, i32 20000
  store i32 %x, ptr addrspace(3) %p
  %r = load i32, ptr addrspace(3) %p)");
  Pointer out = 0;
  EXPECT_EQ(launchTwo(ir, 1, out, 100000), 1);
  EXPECT_NE(report().find("MAX_DYNAMIC_SHARED_SIZE_BYTES"), std::string::npos);
  EXPECT_EQ(call("cuFuncSetAttribute", function, 8, 100000), 0);
  void *parameters[] = {&in, &out};
  EXPECT_EQ(call("cuLaunchKernel", function, 1u, 1u, 1u, 1u, 1u, 1u, 100000u,
                 static_cast<void *>(nullptr), static_cast<void **>(parameters),
                 static_cast<void **>(nullptr)),
            0)
      << report();
}

TEST_F(Driver, RefusesCopiesBeyondAnAllocation) {
  char host[512] = {};
  Pointer memory = 0;
  EXPECT_EQ(call("cuMemAlloc_v2", &memory, std::size_t(256)), 0);
  EXPECT_EQ(call("cuMemcpyHtoD_v2", memory, static_cast<const void *>(host),
                 std::size_t(512)),
            1);
  EXPECT_NE(report().find("512 bytes"), std::string::npos);
}

TEST_F(Driver, NamesABadSetting) {
  setenv("STEEP_SIMT_THREADS", "many", 1);
  Pointer out = 0;
  EXPECT_EQ(launchTwo(kAddOne, 32, out), 200);
  EXPECT_EQ(report(), "environment variable STEEP_SIMT_THREADS: expected a "
                      "number, got 'many'");
}

} // namespace
