//===- HostStep.h - arguments for the optimizer of HostTables.c -*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TEST_UNIT_TARGET_HOSTSTEP_H
#define STEEP_TEST_UNIT_TARGET_HOSTSTEP_H

#include "steep/steep.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>

extern "C" {
int32_t steep_host_export_plan(steep_plan *);
int32_t steep_host_export_state(int64_t, steep_state *);
int32_t steep_host_export_group(int64_t, steep_group *);
const char *steep_host_export_last_error(void);
int32_t steep_host_export_prepare(steep_step_args *);
int32_t steep_host_export_apply(steep_step_args *);
int32_t steep_host_export_step(steep_step_args *);
int32_t steep_host_export_device_open(steep_device_args *);
int32_t steep_host_export_device_close(steep_device *);
steep_pool *steep_host_export_pool_create(int32_t threads);
void steep_host_export_pool_destroy(steep_pool *);
}

namespace steep::test {

constexpr int count = 3, elements = 32;
constexpr int tensorBytes = elements * 4;

/// Tensors in one piece of memory of exactly the size they need, and arguments.
struct Step {
  enum { Weights = 0, Gradients = 3, States = 6, Updates = 9, All = 12 };

  Step() : data(All * elements) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (int i = 0; i < States * elements; ++i)
      data[i] = normal(random);
    for (int i = 0; i < All; ++i) {
      tensors[i] = {};
      tensors[i].data = &data[i * elements];
      tensors[i].device.device_type = kDLCPU;
      tensors[i].ndim = 2;
      tensors[i].dtype = {kDLFloat, 32, 1};
      tensors[i].shape = shape;
      pointers[i] = &tensors[i];
    }
    steep_plan plan = {};
    plan.struct_size = sizeof plan;
    EXPECT_EQ(steep_host_export_plan(&plan), STEEP_OK);
    workspace.reset(std::aligned_alloc(64, plan.workspace_bytes));
    args.struct_size = sizeof args;
    args.parameter_count = args.state_count = count;
    args.parameters = pointers + Weights;
    args.gradients = pointers + Gradients;
    args.states = pointers + States;
    args.group_count = 2;
    args.lr = lr;
    args.wd = wd;
    args.grad_scale.value = 1;
    args.step = 1;
    args.workspace = workspace.get();
    args.workspace_bytes = plan.workspace_bytes;
    args.message = message;
    args.message_bytes = sizeof message;
  }

  float *values(int tensor) { return &data[tensor * elements]; }
  /// What the rule in HostTables.c does to element i of a fresh parameter.
  float expected(const Step &before, int parameter, int i, float scale) const {
    int group = parameter > 0;
    float m = scale * before.data[(Gradients + parameter) * elements + i];
    float s = -float(lr[group].value) * m;
    return before.data[parameter * elements + i] *
               (1 - float(wd[group].value)) +
           s + 0.5f * float(args.step);
  }

  std::vector<float> data;
  int64_t shape[2] = {4, 8};
  DLTensor tensors[All];
  DLTensor *pointers[All];
  steep_scalar lr[2] = {{0.25, nullptr, 0, 0}, {2, nullptr, 0, 0}};
  steep_scalar wd[2] = {{0.5, nullptr, 0, 0}, {0.125, nullptr, 0, 0}};
  std::unique_ptr<void, decltype(&std::free)> workspace{nullptr, std::free};
  char message[200] = "";
  steep_step_args args = {};
};

} // namespace steep::test

#endif // STEEP_TEST_UNIT_TARGET_HOSTSTEP_H
