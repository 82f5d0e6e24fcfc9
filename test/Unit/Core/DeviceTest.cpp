//===- DeviceTest.cpp - tests of runtime/Devices --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Devices/Device.h"

#include "test/Unit/Core/FakeArtefact.h"
#include "test/Unit/Core/TestSupport.h"

using namespace steep;
using steep::test::TemporaryFolder;

TEST(Device, HostHasMemory) {
  std::unique_ptr<Device> host = openDevice("host", 1);
  EXPECT_STREQ(host->name(), "host");
  for (std::size_t bytes : {0, 1, 64, 1000}) {
    std::shared_ptr<void> memory = host->allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % 64, 0u);
  }
  std::shared_ptr<void> memory = host->allocate(4);
  int there = 7, back = 0;
  host->copyToDevice(memory.get(), &there, sizeof there);
  host->copyToHost(&back, memory.get(), sizeof back);
  host->wait();
  EXPECT_EQ(back, 7);
  EXPECT_ERROR(host->allocate(SIZE_MAX), "the host cannot allocate");
}

TEST(Device, HostRunsArtefacts) {
  TemporaryFolder folder;
  test::makeFakeArtefact(folder / "out");
  std::unique_ptr<Device> host = openDevice("host", 2);
  std::shared_ptr<Artefact> artefact = host->load(folder / "out");
  StepArguments arguments;
  arguments.parameters = {Tensor(DType::F32, {2, 3}),
                          Tensor(DType::F32, {1, 4})};
  arguments.gradients = {Tensor(DType::F32, {2, 3}),
                         Tensor(DType::F32, {1, 4})};
  arguments.gradients[1].f32()[2] = 3;
  arguments.states = artefact->makeStates();
  arguments.lr = {1, 2};
  arguments.wd = {0, 0};
  StepResult result = host->launch(*artefact, arguments);
  host->wait();
  EXPECT_FALSE(result.skipped);
  EXPECT_EQ(arguments.parameters[1].f32()[2], -6.0f);
}

TEST(Device, AGpuNeedsKernelsForIt) {
  TemporaryFolder folder;
  test::makeFakeArtefact(folder / "out");
  std::shared_ptr<Artefact> artefact = Artefact::load(folder / "out");
  EXPECT_ERROR(artefact->openGpu({}), "it has no kernels for GPUs");
}

TEST(Device, NamesWhatIsThere) {
  for (const char *name : {"", "gpu", "cuda:", "cuda:x", "cuda:12345", "host "})
    EXPECT_ERROR(openDevice(name, 1),
                 "host, simt, cuda or cuda:N is expected");
}
