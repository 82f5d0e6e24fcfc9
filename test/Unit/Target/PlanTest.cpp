//===- PlanTest.cpp - what an artefact says before a step -----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Target/HostStep.h"

#include <cstring>
#include <string>
#include <thread>

using namespace steep::test;

namespace {
/// Bindings of HostTables.c's three parameters, in their order.
struct Model {
  Model() {
    for (int p = 0; p < count; ++p) {
      bindings[p].struct_size = sizeof(steep_binding);
      bindings[p].parameter = &step.tensors[p];
    }
    bindings[0].name = "a";
    bindings[1].name = "line\n\"b\"";
    bindings[2].name = "c";
    plan.struct_size = sizeof plan;
    plan.bindings = bindings;
    plan.binding_count = count;
    plan.message = message;
    plan.message_bytes = sizeof message;
  }

  int32_t ask() { return steep_host_export_plan(&plan); }
  /// Asks what must be refused; the message.
  std::string refusal(int32_t code = STEEP_INVALID_ARGUMENT) {
    EXPECT_EQ(ask(), code);
    EXPECT_STREQ(message, steep_host_export_last_error());
    return message;
  }

  Step step;
  steep_binding bindings[4] = {};
  char message[300] = "";
  steep_plan plan = {};
};
} // namespace

TEST(Plan, TellsSizesAndEntries) {
  Model model;
  ASSERT_EQ(model.ask(), STEEP_OK) << model.message;
  EXPECT_EQ(model.plan.parameter_count, count);
  EXPECT_EQ(model.plan.workspace_bytes, 512u);
  EXPECT_EQ(model.plan.clip_norm, 0);
  EXPECT_EQ(model.plan.measure_count, 0);
  steep_state state = {};
  state.struct_size = sizeof state;
  ASSERT_EQ(steep_host_export_state(2, &state), STEEP_OK);
  EXPECT_STREQ(state.name, "momentum_buffer");
  EXPECT_STREQ(state.convention, "sum");
  EXPECT_EQ(state.parameter, 2);
  EXPECT_EQ(state.ndim, 2);
  EXPECT_EQ(state.shape[1], 8);
  steep_group group = {};
  group.struct_size = sizeof group;
  ASSERT_EQ(steep_host_export_group(0, &group), STEEP_OK);
  EXPECT_STREQ(group.name, "first");
  EXPECT_STREQ(group.rule_name, "rule");
  EXPECT_EQ(group.lr, 0.25);
  EXPECT_EQ(group.wd, 0.5);
  EXPECT_EQ(group.decays, 1u);
}

TEST(Plan, RefusesEntriesThatAreNotThere) {
  steep_state state = {};
  EXPECT_EQ(steep_host_export_state(0, &state), STEEP_VERSION_MISMATCH);
  EXPECT_STREQ(steep_host_export_last_error(),
               "steep_state: expected a struct_size of at least 40, got 0");
  state.struct_size = sizeof state;
  EXPECT_EQ(steep_host_export_state(3, &state), STEEP_INVALID_ARGUMENT);
  EXPECT_STREQ(steep_host_export_last_error(),
               "state: expected a number from 0 on and below 3, got 3");
  EXPECT_EQ(steep_host_export_group(-1, nullptr), STEEP_INVALID_ARGUMENT);
  EXPECT_STREQ(steep_host_export_last_error(),
               "group: expected a steep_group, got NULL");
}

TEST(Plan, PrintsTheTable) {
  Model model;
  model.step.tensors[0].dtype = {kDLBfloat, 16, 1};
  DLTensor master = model.step.tensors[3];
  model.bindings[0].master = &master;
  DLTensor gradient = model.step.tensors[3];
  gradient.dtype = {kDLBfloat, 16, 1};
  model.bindings[2].gradient = &gradient;
  const std::string expected =
      "parameter          shape  weight    gradient  group  rule  states\n"
      "a                  4x8    BF16+F32  F32       first  rule  "
      "momentum_buffer\n"
      "line\\x0a\\x22b\\x22  4x8    F32       F32       rest   rule  "
      "momentum_buffer\n"
      "c                  4x8    F32       BF16      rest   rule  "
      "momentum_buffer\n"
      "3 parameters, 3 states of 384 bytes, workspace of 768 bytes\n";
  ASSERT_EQ(model.ask(), STEEP_OK) << model.message;
  ASSERT_EQ(model.plan.table_needed, expected.size() + 1);
  for (uint64_t bytes : {0u, 1u, 50u, 300u, 400u, 1000u}) {
    std::string table(bytes, 'x');
    model.plan.table = &table[0];
    model.plan.table_bytes = bytes;
    ASSERT_EQ(model.ask(), STEEP_OK);
    EXPECT_EQ(table.c_str(), expected.substr(0, bytes > 0 ? bytes - 1 : 0));
  }
}

TEST(Plan, RefusesNamesThatDoNotFit) {
  {
    Model model;
    model.bindings[1].name = "d";
    EXPECT_EQ(model.refusal(), "parameter \"d\": bindings[1] names it, but it "
                               "was not compiled");
  }
  {
    Model model;
    model.bindings[1].name = "a";
    EXPECT_EQ(model.refusal(), "parameter \"a\": expected it once, but "
                               "bindings[0] and [1] name it");
  }
  {
    Model model;
    model.plan.binding_count = 2;
    EXPECT_EQ(model.refusal(), "parameter \"c\": it was compiled, but none of "
                               "the 2 bindings names it");
  }
  {
    Model model;
    model.bindings[2].name = nullptr;
    EXPECT_EQ(model.refusal(), "bindings[2]: expected a name, got NULL");
  }
  {
    Model model;
    model.plan.bindings = nullptr;
    EXPECT_EQ(model.refusal(),
              "bindings: expected an array of binding_count (3), got NULL or a "
              "negative number");
  }
  {
    Model model;
    model.bindings[0].struct_size = 8;
    EXPECT_EQ(model.refusal(STEEP_VERSION_MISMATCH),
              "bindings[0]: expected a struct_size of at least 64, got 8");
  }
  {
    Model model;
    model.bindings[1].struct_size = 72;
    EXPECT_EQ(model.refusal(), "bindings[1]: expected the struct_size of the "
                               "first one, got 72");
  }
}

TEST(Plan, RefusesTensorsThatDoNotFit) {
  {
    Model model;
    model.step.shape[1] = 9;
    EXPECT_EQ(model.refusal(), "parameter \"a\": expected shape 4x8, got 4x9");
  }
  {
    Model model;
    model.step.tensors[2].dtype = {kDLFloat, 64, 1};
    EXPECT_EQ(model.refusal(),
              "parameter \"c\": expected FP32 elements (DLPack type 2, 32 "
              "bits, 1 lane) or BF16 (type 4, 16 bits), got type 2, 64 bits, 1 "
              "lanes");
  }
  {
    Model model;
    model.step.tensors[2].dtype = {kDLBfloat, 16, 1};
    EXPECT_EQ(model.refusal(), "parameter \"c\": expected an FP32 master of "
                               "this BF16 weight, got NULL");
    model.plan.step_flags = STEEP_DELTA_ONLY;
    EXPECT_EQ(model.ask(), STEEP_OK);
    model.plan.step_flags = 2;
    EXPECT_EQ(model.refusal(), "flags: expected 0 or STEEP_DELTA_ONLY, got 2");
  }
}

TEST(Plan, AThreadKeepsItsOwnError) {
  Step step;
  step.args.flags = 2;
  EXPECT_EQ(steep_host_export_step(&step.args), STEEP_INVALID_ARGUMENT);
  std::string mine = steep_host_export_last_error(), before, after;
  std::thread([&] {
    before = steep_host_export_last_error();
    steep_host_export_step(nullptr);
    after = steep_host_export_last_error();
  }).join();
  EXPECT_EQ(before, "");
  EXPECT_EQ(after, "args: expected a steep_step_args, got NULL");
  EXPECT_EQ(steep_host_export_last_error(), mine);
}
