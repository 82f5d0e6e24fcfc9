//===- XlaTest.cpp - the step as XLA calls it -----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// XLA's side of its foreign function interface by hand: buffers of exactly the
// size they need, and threads that come at once, late or not at all.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Host/XlaApi.h"
#include "test/Unit/Target/HostStep.h"

#include <cmath>
#include <cstring>
#include <string>
#include <thread>

extern "C" {
uint64_t steep_host_export_xla_workspace_bytes(void);
void *steep_host_export_xla_step(void *frame);
}

struct xla_error {
  std::string message;
  int32_t code;
};

using namespace steep::test;

namespace {

enum class Threads { None, Inline, Own, Late, Refused };

/// What the scheduler of this thread's calls does. Late tasks wait here until
/// the step is over.
struct Scheduler {
  Threads kind = Threads::None;
  std::vector<std::thread> threads;
  std::vector<std::pair<void (*)(void *), void *>> late;
};
Scheduler scheduler;

xla_error *createError(xla_error_create *args) {
  return new xla_error{args->message, args->code};
}
void destroyError(xla_error_destroy *args) { delete args->error; }
xla_error *countThreads(xla_count_threads *args) {
  if (scheduler.kind == Threads::None)
    return new xla_error{"no pool", 12};
  *args->threads = 4;
  return nullptr;
}
xla_error *schedule(xla_schedule *args) {
  if (scheduler.kind == Threads::Refused)
    return new xla_error{"no thread", 8};
  if (scheduler.kind == Threads::Inline)
    args->task(args->data);
  else if (scheduler.kind == Threads::Own)
    scheduler.threads.emplace_back(args->task, args->data);
  else
    scheduler.late.emplace_back(args->task, args->data);
  return nullptr;
}

/// A call on the tensors of a Step, whose weights and states stay as they are.
class Call {
public:
  explicit Call(Step &step) : step(step), out(6 * elements) {
    for (int i = 0; i < Step::Updates; ++i)
      arguments.push_back(buffer(XLA_F32, step.values(i), 2, step.shape));
    for (int g = 0; g < 2; ++g) {
      lr[g] = float(step.lr[g].value);
      wd[g] = float(step.wd[g].value);
    }
    arguments.push_back(buffer(XLA_F32, lr, 1, &groups));
    arguments.push_back(buffer(XLA_F32, wd, 1, &groups));
    arguments.push_back(buffer(XLA_S32, &before, 0, nullptr));
    for (int i = 0; i < 6; ++i)
      results.push_back(buffer(XLA_F32, &out[i * elements], 2, step.shape));
    workspace.resize(steep_host_export_xla_workspace_bytes());
    bytes = int64_t(workspace.size());
    results.push_back(buffer(XLA_S32, &after, 0, nullptr));
    results.push_back(buffer(XLA_U8, workspace.data(), 1, &bytes));
    std::fill(out.begin(), out.end(), NAN); // XLA's memory has anything in it
  }

  /// The error's text, or nothing.
  std::string run(int32_t stage = XLA_STAGE_EXECUTE) {
    xla_api api = {};
    api.struct_size = sizeof api;
    api.create_error = createError;
    api.destroy_error = destroyError;
    api.schedule = schedule;
    api.count_threads = countThreads;
    xla_call call = {};
    call.struct_size = sizeof call;
    call.api = &api;
    call.stage = stage;
    auto in = point(arguments), to = point(results);
    call.arguments.size = int64_t(in.size());
    call.arguments.buffers = in.data();
    call.results.size = int64_t(to.size());
    call.results.buffers = to.data();
    auto *error = static_cast<xla_error *>(steep_host_export_xla_step(&call));
    finish();
    std::string text = error ? error->message : "";
    delete error;
    return text;
  }

  /// Updates, then states.
  float *result(int i) { return &out[i * elements]; }

  Step &step;
  std::vector<xla_buffer> arguments, results;
  std::vector<float> out;
  std::vector<char> workspace;
  float lr[2], wd[2];
  int64_t groups = 2, bytes;
  int32_t before = 6, after = -1;

private:
  static xla_buffer buffer(int32_t dtype, void *data, int64_t rank,
                           int64_t *dims) {
    return {sizeof(xla_buffer), nullptr, dtype, data, rank, dims};
  }
  static std::vector<xla_buffer *> point(std::vector<xla_buffer> &buffers) {
    std::vector<xla_buffer *> pointers;
    for (xla_buffer &each : buffers)
      pointers.push_back(&each);
    return pointers;
  }
  static void finish() {
    for (auto &[task, data] : scheduler.late)
      task(data);
    for (std::thread &thread : scheduler.threads)
      thread.join();
    scheduler.late.clear();
    scheduler.threads.clear();
  }
};

} // namespace

TEST(Xla, UpdatesAreThoseOfADeltaForAnyThreads) {
  Step plain;
  plain.args.step = 7;
  plain.args.flags = STEEP_DELTA_ONLY;
  plain.args.updates = plain.pointers + Step::Updates;
  ASSERT_EQ(steep_host_export_step(&plain.args), STEEP_OK) << plain.message;
  for (Threads kind : {Threads::None, Threads::Inline, Threads::Own,
                       Threads::Late, Threads::Refused}) {
    scheduler.kind = kind;
    for (bool donated : {false, true}) {
      Step step;
      const std::vector<float> before = step.data;
      Call call(step);
      for (int i = 0; donated && i < count; ++i)
        call.results[size_t(count + i)].data = step.values(Step::States + i);
      ASSERT_EQ(call.run(), "");
      EXPECT_EQ(call.after, 7);
      for (int i = 0; i < count * elements; ++i) {
        EXPECT_EQ(call.out[size_t(i)], plain.values(Step::Updates)[i]);
        const float *states =
            donated ? step.values(Step::States) : call.result(count);
        EXPECT_EQ(states[i], plain.values(Step::States)[i]);
      }
      // What is no result stays.
      size_t kept = size_t((donated ? Step::States : Step::All) * elements);
      EXPECT_TRUE(std::equal(before.begin(), before.begin() + long(kept),
                             step.data.begin()));
    }
  }
}

// optimizer.update(params, state, params) is a call on one buffer twice.
TEST(Xla, AWeightMayBeItsGradient) {
  Step step;
  Call call(step);
  call.arguments[Step::Gradients].data = step.values(0);
  EXPECT_EQ(call.run(), "");
}

TEST(Xla, ASkippedStepAddsNothing) {
  for (Threads kind : {Threads::None, Threads::Own}) {
    scheduler.kind = kind;
    Step step;
    step.values(Step::States)[3] = 0.5f;
    step.values(Step::Gradients + 2)[elements - 1] = INFINITY;
    Call call(step);
    ASSERT_EQ(call.run(), "");
    EXPECT_EQ(call.after, call.before);
    for (int i = 0; i < count * elements; ++i) {
      EXPECT_EQ(call.out[size_t(i)], 0);
      EXPECT_EQ(call.result(count)[i], step.values(Step::States)[i]);
    }
  }
}

TEST(Xla, RefusesWhatIsNoCallOfThisArtefact) {
  scheduler.kind = Threads::Own;
  auto refuses = [](const char *message, void (*change)(Call &)) {
    Step step;
    const std::vector<float> before = step.data;
    Call call(step);
    change(call);
    EXPECT_EQ(call.run(), message);
    EXPECT_EQ(call.after, -1);
    EXPECT_EQ(step.data, before);
  };
  refuses("expected the arguments and results of this artefact's parameters",
          [](Call &call) { call.arguments.pop_back(); });
  refuses("lr and wd: expected f32, one number a group",
          [](Call &call) { call.groups = 1; });
  refuses("count: expected s32",
          [](Call &call) { call.results[6].dtype = XLA_F32; });
  refuses("workspace: expected u8, steep_NAME_xla_workspace_bytes() of them",
          [](Call &call) { call.bytes -= 1; });
  static int64_t wide[2] = {4, 9}, flat[1] = {32};
  refuses("states: expected the shapes of their results",
          [](Call &call) { call.arguments[Step::States].dims = wide; });
  refuses("parameter \"a\": expected shape 4x8, got 4x9",
          [](Call &call) { call.arguments[0].dims = wide; });
  refuses("update of \"a\": expected a matrix of 4x8, got a tensor of rank 1",
          [](Call &call) {
            call.results[0].rank = 1;
            call.results[0].dims = flat;
          });
  refuses(
      "gradient of \"c\": expected FP32 elements (DLPack type 2, 32 bits, "
      "1 lane) or BF16 (type 4, 16 bits), got type 0, 32 bits, 1 lanes",
      [](Call &call) { call.arguments[Step::Gradients + 2].dtype = XLA_S32; });
  Step step;
  EXPECT_EQ(Call(step).run(0), "the step runs in the stage `execute` only");
}
