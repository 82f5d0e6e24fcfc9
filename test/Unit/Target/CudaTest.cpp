//===- CudaTest.cpp - the launcher of GPU kernels, on a fake driver -------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Target/HostStep.h"

extern "C" {
#include "test/Unit/Target/FakeDriver.h"
}

#include <cmath>
#include <cstring>
#include <dlfcn.h>

using namespace steep::test;

namespace {

/// A control of the fake driver, by its name.
template <typename Function> Function *control(const char *name) {
  static void *handle = ::dlopen(STEEP_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  void *address = handle ? ::dlsym(handle, name) : nullptr;
  EXPECT_TRUE(address) << name;
  return reinterpret_cast<Function *>(address);
}
#define CONTROL(name) control<decltype(name)>(#name)

/// An opened device, in memory of exactly the size that it needs.
struct Opened {
  Opened() {
    steep_plan plan = {};
    plan.struct_size = sizeof plan;
    EXPECT_EQ(steep_host_export_plan(&plan), STEEP_OK);
    EXPECT_EQ(plan.device_target_count, 3);
    memory.reset(std::aligned_alloc(64, (plan.device_bytes + 63) / 64 * 64));
    args.struct_size = sizeof args;
    args.driver = STEEP_FAKE_DRIVER;
    args.memory = memory.get();
    args.memory_bytes = plan.device_bytes;
    args.message = message;
    args.message_bytes = sizeof message;
  }
  ~Opened() { close(); }
  int32_t open() { return steep_host_export_device_open(&args); }
  void close() {
    if (args.device) {
      EXPECT_EQ(steep_host_export_device_close(args.device), STEEP_OK);
    }
    args.device = nullptr;
  }

  std::unique_ptr<void, decltype(&std::free)> memory{nullptr, std::free};
  char message[300] = "";
  steep_device_args args = {};
};

/// A step whose tensors are of the fake GPU.
struct DeviceStep : Step {
  explicit DeviceStep(const Opened &opened) {
    for (DLTensor &tensor : tensors)
      tensor.device.device_type = kDLCUDA;
    uint64_t bytes = opened.args.workspace_bytes;
    device.reset(std::aligned_alloc(256, bytes));
    std::memset(device.get(), 0xff, bytes);
    args.workspace = device.get();
    args.workspace_bytes = bytes;
    args.device = opened.args.device;
    args.report = &report;
  }
  std::unique_ptr<void, decltype(&std::free)> device{nullptr, std::free};
  steep_step_report report = {};
};

bool sameTensors(const Step &one, const Step &other) {
  return std::memcmp(one.data.data(), other.data.data(),
                     one.data.size() * sizeof(float)) == 0;
}

} // namespace

TEST(Cuda, ChoosesTheBestImage) {
  struct Case {
    int capability;
    uint32_t image;
    const char *expected;
  };
  for (const Case &c : {Case{80, STEEP_IMAGE_BEST, "cubin 80"},
                        Case{86, STEEP_IMAGE_BEST, "cubin 80"},
                        Case{86, STEEP_IMAGE_PTX, "ptx 80"},
                        Case{90, STEEP_IMAGE_BEST, "cubin 90a"},
                        Case{90, STEEP_IMAGE_PTX, "ptx 90a"},
                        // Machine code of 9.0 does not run on 10.0, nor does
                        // anything that is for 9.0 alone.
                        Case{100, STEEP_IMAGE_BEST, "ptx 90"}}) {
    CONTROL(fake_set_capability)(c.capability);
    Opened opened;
    opened.args.image = c.image;
    ASSERT_EQ(opened.open(), STEEP_OK) << opened.message;
    EXPECT_STREQ(CONTROL(fake_loaded)(), c.expected);
    EXPECT_EQ(CONTROL(fake_current)(), 0); // the caller's context is back
  }
  EXPECT_EQ(CONTROL(fake_loads)(), 0);
  CONTROL(fake_set_capability)(90);
  Opened named;
  named.args.target = "sm_80";
  named.args.image = STEEP_IMAGE_CUBIN; // not across majors
  EXPECT_EQ(named.open(), STEEP_DEVICE_ERROR);
  named.args.image = STEEP_IMAGE_BEST;
  named.args.target = "sm_90";
  ASSERT_EQ(named.open(), STEEP_OK) << named.message;
  EXPECT_STREQ(named.args.loaded_target, "sm_90");
  EXPECT_EQ(named.args.loaded_image, uint32_t(STEEP_IMAGE_PTX));
  CONTROL(fake_set_capability)(80);
}

TEST(Cuda, SaysWhyItDoesNotOpen) {
  auto refused = [](const char *expected, int32_t code, auto change) {
    Opened opened;
    change(opened.args);
    EXPECT_EQ(opened.open(), code);
    EXPECT_NE(std::strstr(opened.message, expected), nullptr) << opened.message;
    EXPECT_EQ(CONTROL(fake_loads)(), 0);
  };
  refused("driver: expected a library", STEEP_DEVICE_ERROR,
          [](steep_device_args &a) { a.driver = "/nowhere/libcuda.so"; });
  refused("to have the entry cuInit", STEEP_DEVICE_ERROR,
          [](steep_device_args &a) { a.driver = "libm.so.6"; });
  refused("ordinal: expected a number below 2", STEEP_INVALID_ARGUMENT,
          [](steep_device_args &a) { a.ordinal = 2; });
  refused("got sm_70", STEEP_INVALID_ARGUMENT,
          [](steep_device_args &a) { a.target = "sm_70"; });
  refused("memory: expected", STEEP_WORKSPACE_TOO_SMALL,
          [](steep_device_args &a) { --a.memory_bytes; });
  refused("memory: expected a pointer", STEEP_INVALID_ARGUMENT,
          [](steep_device_args &a) { a.memory = nullptr; });
  refused("image: expected one of", STEEP_INVALID_ARGUMENT,
          [](steep_device_args &a) { a.image = 9; });
  refused("driver: expected a library, or NULL for libcuda.so.1, got an empty",
          STEEP_INVALID_ARGUMENT, [](steep_device_args &a) { a.driver = ""; });
  refused("image: only an emulated GPU takes bitcode", STEEP_DEVICE_ERROR,
          [](steep_device_args &a) { a.image = STEEP_IMAGE_BITCODE; });
  CONTROL(fake_set_capability)(75);
  refused("compute capability 7.5", STEEP_DEVICE_ERROR,
          [](steep_device_args &) {});
  CONTROL(fake_set_capability)(80);
}

TEST(Cuda, LastErrorSaysWhatNoMessageCould) {
  auto said = steep_host_export_last_error;
  EXPECT_EQ(steep_host_export_device_open(nullptr), STEEP_INVALID_ARGUMENT);
  EXPECT_STREQ(said(), "args: expected a steep_device_args, got NULL");
  steep_device_args small = {};
  small.struct_size = 8;
  EXPECT_EQ(steep_host_export_device_open(&small), STEEP_VERSION_MISMATCH);
  EXPECT_EQ(said(), "steep_device_args: expected a struct_size of at least " +
                        std::to_string(sizeof small) + ", got 8");
  Opened opened;
  ASSERT_EQ(opened.open(), STEEP_OK) << opened.message;
  steep_device *device = opened.args.device;
  opened.close();
  for (steep_device *wrong : {device, static_cast<steep_device *>(nullptr)}) {
    EXPECT_EQ(steep_host_export_plan(nullptr), STEEP_INVALID_ARGUMENT);
    EXPECT_EQ(steep_host_export_device_close(wrong), STEEP_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(said()).rfind("device: expected one that device_open "
                                        "gave and that is still open, got ",
                                        0),
              0u)
        << said();
  }
}

TEST(Cuda, TensorsOfAGPUNeedADevice) {
  Step step; // with the CPU's workspace, and rates that are not looked at
  step.tensors[0].device.device_type = kDLCUDA;
  step.args.workspace_bytes = 0;
  step.lr[0].flags = STEEP_SCALAR_POINTER;
  EXPECT_EQ(steep_host_export_step(&step.args), STEEP_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(step.message, "is a tensor of a GPU (DLPack device "
                                      "type 2), but the step has no device"),
            nullptr)
      << step.message;
}

TEST(Cuda, AStepIsTheHosts) {
  Opened opened;
  ASSERT_EQ(opened.open(), STEEP_OK) << opened.message;
  for (int choice = 0; choice < 8; ++choice) {
    Step host;
    DeviceStep gpu(opened);
    for (Step *step : {&host, static_cast<Step *>(&gpu)}) {
      for (int p = 0; p < count; ++p)
        if (!(choice >> p & 1))
          step->pointers[Step::Updates + p] = nullptr;
      step->args.updates = step->pointers + Step::Updates;
      step->args.step = 3;
      step->args.grad_scale.value = 0.5;
    }
    ASSERT_EQ(steep_host_export_step(&host.args), STEEP_OK) << host.message;
    ASSERT_EQ(steep_host_export_step(&gpu.args), STEEP_OK) << gpu.message;
    EXPECT_TRUE(sameTensors(host, gpu));
    EXPECT_EQ(gpu.report.code, STEEP_OK);
    EXPECT_EQ(gpu.report.step, 3);
    EXPECT_NEAR(gpu.report.grad_norm, host.args.grad_norm, 1e-12);
    EXPECT_EQ(gpu.report.clip_factor, 1);
    EXPECT_EQ(gpu.report.nonfinite_parameter, -1);
  }
  EXPECT_EQ(CONTROL(fake_shared)(), 65536u);
}

TEST(Cuda, AnArtefactsDeviceMayBeOpenedTwice) {
  Opened one, two;
  ASSERT_EQ(one.open(), STEEP_OK);
  ASSERT_EQ(two.open(), STEEP_OK);
  one.close();
  Step host;
  DeviceStep gpu(two);
  ASSERT_EQ(steep_host_export_step(&host.args), STEEP_OK);
  ASSERT_EQ(steep_host_export_step(&gpu.args), STEEP_OK) << gpu.message;
  EXPECT_TRUE(sameTensors(host, gpu));
}

TEST(Cuda, SkipsWhatIsNotFiniteAfterScaling) {
  Opened opened;
  ASSERT_EQ(opened.open(), STEEP_OK) << opened.message;
  for (auto [value, scale] :
       {std::pair(INFINITY, 1.0), std::pair(NAN, 1.0), std::pair(1e30f, 1e30)})
    for (int p = 0; p < count; ++p) {
      DeviceStep gpu(opened);
      int64_t counter = 4;
      gpu.values(Step::Gradients + p)[7] = value;
      gpu.args.grad_scale.value = scale;
      gpu.args.step_counter = &counter;
      Step before;
      before.data = gpu.data;
      ASSERT_EQ(steep_host_export_step(&gpu.args), STEEP_OK) << gpu.message;
      EXPECT_EQ(gpu.report.code, STEEP_SKIPPED);
      EXPECT_EQ(gpu.report.nonfinite_parameter, p);
      EXPECT_EQ(counter, 4);
      EXPECT_TRUE(sameTensors(before, gpu));
    }
}

TEST(Cuda, ACapturedStepGoesOn) {
  Opened opened;
  ASSERT_EQ(opened.open(), STEEP_OK) << opened.message;
  DeviceStep gpu(opened);
  Step host;
  float rates[2] = {}, scale = 0;
  int64_t counter = 0;
  for (int g = 0; g < 2; ++g)
    gpu.lr[g] = {NAN, &rates[g], STEEP_SCALAR_POINTER, 0};
  gpu.args.grad_scale = {NAN, &scale, STEEP_SCALAR_POINTER, 0};
  gpu.args.step_counter = &counter;
  gpu.args.step = 0;
  CONTROL(fake_record)(1);
  ASSERT_EQ(steep_host_export_step(&gpu.args), STEEP_OK) << gpu.message;
  CONTROL(fake_record)(0);
  EXPECT_GT(CONTROL(fake_recorded)(), 5);
  EXPECT_EQ(counter, 0) << "a capture runs nothing";
  // What the host handed over may be gone by then.
  std::memset(&gpu.args, 0xee, sizeof gpu.args);
  for (int step = 1; step <= 3; ++step) {
    scale = 0.5f * float(step);
    for (int g = 0; g < 2; ++g) {
      rates[g] = 0.125f * float(step + g);
      host.lr[g].value = double(rates[g]);
    }
    host.args.grad_scale.value = double(scale);
    host.args.step = step;
    ASSERT_EQ(steep_host_export_step(&host.args), STEEP_OK);
    CONTROL(fake_replay)();
    EXPECT_EQ(counter, step);
    EXPECT_EQ(gpu.report.code, STEEP_OK);
    EXPECT_EQ(gpu.report.step, step);
    ASSERT_TRUE(sameTensors(host, gpu)) << "step " << step;
  }
  // A rate that is no number changes nothing.
  Step before;
  before.data = gpu.data;
  rates[1] = NAN;
  CONTROL(fake_replay)();
  EXPECT_EQ(gpu.report.code, STEEP_INVALID_ARGUMENT);
  EXPECT_EQ(counter, 3);
  EXPECT_TRUE(sameTensors(before, gpu));
}

/// What a stream that is being captured forbids, a step does not do: it
/// allocates nothing, waits for nothing, loads nothing.
TEST(Cuda, AStepOnlyLaunches) {
  Opened opened;
  ASSERT_EQ(opened.open(), STEEP_OK) << opened.message;
  DeviceStep gpu(opened);
  gpu.args.updates = gpu.pointers + Step::Updates;
  const int before = CONTROL(fake_other_calls)();
  EXPECT_GT(before, 5) << "opening counts";
  for (auto entry : {steep_host_export_step, steep_host_export_prepare,
                     steep_host_export_apply})
    ASSERT_EQ(entry(&gpu.args), STEEP_OK) << gpu.message;
  EXPECT_EQ(CONTROL(fake_other_calls)(), before);
}

/// An emulator learns what each launch may reach, and for that launch alone.
TEST(Cuda, SaysWhatKernelsMayReach) {
  Opened opened;
  ASSERT_EQ(opened.open(), STEEP_OK) << opened.message;
  DeviceStep gpu(opened);
  const int before = CONTROL(fake_declared)();
  ASSERT_EQ(steep_host_export_step(&gpu.args), STEEP_OK) << gpu.message;
  // Two waves, each of squares, average and apply with tables, matrices, views
  // and scalars; every one is said and taken back.
  EXPECT_GT(CONTROL(fake_declared)() - before, 2 * 2 * 10);
  EXPECT_EQ(CONTROL(fake_standing)(), 0);
}

TEST(Cuda, PrepareAndApplyAreAStep) {
  Opened opened;
  ASSERT_EQ(opened.open(), STEEP_OK) << opened.message;
  Step host;
  DeviceStep gpu(opened), own(opened);
  own.args.report = nullptr; // in the workspace
  ASSERT_EQ(steep_host_export_prepare(&host.args), STEEP_OK);
  host.args.clip_factor = 0.25;
  ASSERT_EQ(steep_host_export_apply(&host.args), STEEP_OK);
  ASSERT_EQ(steep_host_export_prepare(&gpu.args), STEEP_OK) << gpu.message;
  EXPECT_NEAR(gpu.report.grad_norm, host.args.grad_norm, 1e-12);
  gpu.report.clip_factor = 0.25;
  ASSERT_EQ(steep_host_export_apply(&gpu.args), STEEP_OK) << gpu.message;
  EXPECT_TRUE(sameTensors(host, gpu));
  ASSERT_EQ(steep_host_export_prepare(&own.args), STEEP_OK) << own.message;
  ASSERT_EQ(steep_host_export_apply(&own.args), STEEP_OK) << own.message;
  Step plain;
  ASSERT_EQ(steep_host_export_step(&plain.args), STEEP_OK);
  EXPECT_TRUE(sameTensors(plain, own));
}

TEST(Cuda, ChecksBeforeItLaunches) {
  Opened opened;
  ASSERT_EQ(opened.open(), STEEP_OK) << opened.message;
  auto refused = [&](const char *expected, int32_t code, auto change) {
    DeviceStep gpu(opened);
    change(gpu);
    CONTROL(fake_record)(1);
    EXPECT_EQ(steep_host_export_step(&gpu.args), code);
    CONTROL(fake_record)(0);
    EXPECT_EQ(CONTROL(fake_recorded)(), 0);
    EXPECT_NE(std::strstr(gpu.message, expected), nullptr) << gpu.message;
  };
  refused("parameter \"a\": expected a tensor of GPU 0", STEEP_INVALID_ARGUMENT,
          [](DeviceStep &s) { s.tensors[0].device.device_type = kDLCPU; });
  refused("got device type 2, number 1", STEEP_INVALID_ARGUMENT,
          [](DeviceStep &s) { s.tensors[3].device.device_id = 1; });
  refused("expected data aligned to 16 bytes", STEEP_INVALID_ARGUMENT,
          [](DeviceStep &s) { s.tensors[3].byte_offset = 4; });
  refused("overlap in memory", STEEP_INVALID_ARGUMENT,
          [](DeviceStep &s) { s.tensors[1].data = s.tensors[0].data; });
  refused("workspace: expected a pointer aligned to 256",
          STEEP_INVALID_ARGUMENT, [](DeviceStep &s) {
            s.args.workspace = static_cast<char *>(s.args.workspace) + 64;
          });
  refused("workspace: expected", STEEP_WORKSPACE_TOO_SMALL,
          [](DeviceStep &s) { --s.args.workspace_bytes; });
  refused("pool: expected NULL on a GPU", STEEP_INVALID_ARGUMENT,
          [](DeviceStep &s) {
            static const steep_pool pool = {};
            s.args.pool = &pool;
          });
  refused("step: expected 1", STEEP_INVALID_ARGUMENT,
          [](DeviceStep &s) { s.args.step = 0; });
  refused("device: expected one that", STEEP_INVALID_ARGUMENT,
          [](DeviceStep &s) {
            static char junk[1024];
            s.args.device = reinterpret_cast<steep_device *>(junk);
          });
  refused("aligned to 8 bytes", STEEP_INVALID_ARGUMENT, [](DeviceStep &s) {
    s.args.step_counter = reinterpret_cast<int64_t *>(uintptr_t(4));
  });
}

TEST(Cuda, NamesTheLaunchThatFailed) {
  Opened opened;
  ASSERT_EQ(opened.open(), STEEP_OK) << opened.message;
  DeviceStep gpu(opened);
  CONTROL(fake_fail_launch)(2); // the first stores words
  EXPECT_EQ(steep_host_export_step(&gpu.args), STEEP_DEVICE_ERROR);
  EXPECT_STREQ(gpu.message, "cuLaunchKernel of squares failed with error 719: "
                            "launch failed");
  EXPECT_EQ(CONTROL(fake_current)(), 0);
}

TEST(Cuda, TheHostStillTakesEarlierStructures) {
  Step step, whole;
  step.args.struct_size = offsetof(steep_step_args, device);
  std::memset(&step.args.device, 0xee,
              sizeof step.args - offsetof(steep_step_args, device));
  ASSERT_EQ(steep_host_export_step(&step.args), STEEP_OK) << step.message;
  ASSERT_EQ(steep_host_export_step(&whole.args), STEEP_OK);
  EXPECT_TRUE(sameTensors(step, whole));
  steep_plan plan = {};
  plan.struct_size = offsetof(steep_plan, device_target_count);
  plan.device_target_count = -7;
  EXPECT_EQ(steep_host_export_plan(&plan), STEEP_OK);
  EXPECT_EQ(plan.device_target_count, -7);
  steep_step_report report;
  whole.args.report = &report;
  EXPECT_EQ(steep_host_export_step(&whole.args), STEEP_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(whole.message, "expected NULL on the CPU"), nullptr);
}
