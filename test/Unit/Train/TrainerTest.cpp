//===- TrainerTest.cpp - the training loop --------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Doubles.h"

#include "runtime/Core/Files.h"
#include "runtime/Core/Safetensors.h"
#include "runtime/Geometry/Measure.h"
#include "runtime/Train/Report.h"
#include "runtime/Train/Signals.h"
#include "runtime/Train/Trainer.h"

#include <cmath>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>

using namespace steep;
using namespace steep::test;

namespace fs = std::filesystem;

namespace {

/// Everything that a run leaves and that must not depend on the clock.
struct Outcome {
  std::string model, optimizer;
  std::vector<StepMetrics> metrics;
};

Outcome outcomeOf(const std::string &out) {
  const std::vector<std::string> checkpoints = listCheckpoints(out);
  EXPECT_FALSE(checkpoints.empty());
  Outcome outcome;
  outcome.model = readFile(checkpoints.back() + "/model.safetensors");
  outcome.optimizer = readFile(checkpoints.back() + "/optimizer.safetensors");
  outcome.metrics = readMetrics(out + "/metrics.jsonl");
  for (StepMetrics &metrics : outcome.metrics)
    metrics.seconds = metrics.tokensPerS = 0;
  return outcome;
}

void expectSame(const Outcome &a, const Outcome &b) {
  EXPECT_TRUE(a.model == b.model);
  EXPECT_TRUE(a.optimizer == b.optimizer);
  ASSERT_EQ(a.metrics.size(), b.metrics.size());
  for (std::size_t i = 0; i < a.metrics.size(); ++i)
    EXPECT_EQ(a.metrics[i].json(), b.metrics[i].json());
}

/// A trainer with its doubles at hand.
struct Session {
  explicit Session(const RunConfig &config, const std::string &head = "rownorm")
      : progress(ProgressMode::None, stdout) {
    auto owned = std::make_unique<ReferenceOptimizer>(config.sizes, head);
    auto batches = std::make_unique<SyntheticData>(config);
    optimizer = owned.get();
    data = batches.get();
    trainer = std::make_unique<Trainer>(config, std::move(owned),
                                        std::move(batches), progress);
  }
  Session(const RunConfig &config, bool resume) : Session(config) {
    if (resume)
      trainer->restore(listCheckpoints(config.out).back());
  }
  Progress progress;
  ReferenceOptimizer *optimizer;
  SyntheticData *data;
  std::unique_ptr<Trainer> trainer;
};

void poison(StepArguments &arguments, std::size_t index) {
  arguments.gradients[index].f32()[3] = std::numeric_limits<float>::quiet_NaN();
}

} // namespace

TEST(Trainer, LeavesWhatARunLeaves) {
  TemporaryFolder folder;
  const RunConfig config = smallRun(folder.path("run"));
  EXPECT_EQ(Session(config).trainer->run(), RunStatus::Complete);
  for (const char *name : {"config.json", "metrics.jsonl", "summary.json",
                           "loss.svg", "head_diameter.svg", "hilbert_rms.svg",
                           "checkpoint-00000008/model.safetensors",
                           "checkpoint-00000008/optimizer.safetensors",
                           "checkpoint-00000008/trainer.json"})
    EXPECT_TRUE(fs::exists(folder.path("run") + "/" + name)) << name;

  const std::vector<StepMetrics> metrics =
      readMetrics(folder.path("run/metrics.jsonl"));
  ASSERT_EQ(metrics.size(), 8u);
  for (int64_t i = 0; i < 8; ++i) {
    const StepMetrics &m = metrics[i];
    EXPECT_EQ(m.step, i + 1);
    EXPECT_EQ(m.tokens, (i + 1) * 48);
    EXPECT_FALSE(m.skipped);
    EXPECT_GT(m.gradNorm, 0);
    EXPECT_GT(m.seconds, 0);
    const bool last = i == 7;
    EXPECT_EQ(m.headDiameter.has_value(), (i + 1) % 3 == 0 || last);
    EXPECT_EQ(m.hilbertRms.has_value(), (i + 1) % 4 == 0 || last);
    EXPECT_EQ(m.valLoss.has_value(), (i + 1) % 4 == 0 || last);
  }
  // 8 updates warm up for floor(0.8) = 0; a random model knows nothing.
  EXPECT_EQ(metrics[0].lrScale, 1);
  EXPECT_NEAR(metrics[7].lrScale, 0.1, 1e-15);
  EXPECT_NEAR(metrics[0].loss, std::log(61), 0.1);
  // RowNorm's increments have rows of length lr: D(S_t) <= 2 lr.
  const double bound = 2 * 3.2e-3 * metrics[7].lrScale;
  EXPECT_LE(*metrics[7].headDiameter, bound * (1 + 1e-6));
  EXPECT_GT(*metrics[7].headDiameter, bound / 4);
  EXPECT_GT(*metrics[7].hilbertRms, 0);
}

TEST(Trainer, ComparesTheHeadWithTheExactOracle) {
  TemporaryFolder folder;
  RunConfig config = smallRun(folder.path("run"));
  config.oracleEvery = 3;
  EXPECT_EQ(Session(config).trainer->run(), RunStatus::Complete);
  const std::vector<StepMetrics> metrics =
      readMetrics(folder.path("run/metrics.jsonl"));
  ASSERT_EQ(metrics.size(), 8u);
  for (const StepMetrics &m : metrics) {
    const bool wanted = m.step % 3 == 0 || m.step == 8;
    ASSERT_EQ(m.headCertificate.has_value(), wanted);
    ASSERT_EQ(m.headDecrease.has_value(), wanted);
    ASSERT_EQ(m.headGap.has_value(), wanted);
    if (!wanted)
      continue;
    // RowNorm's step: no optimum, but within what is promised.
    EXPECT_GE(*m.headCertificate, std::sqrt(0.5));
    EXPECT_GT(*m.headGap, 1e-3);
    EXPECT_LE(*m.headGap, 1 - *m.headCertificate + 1e-5);
    EXPECT_GT(*m.headDecrease, 0);
  }
}

TEST(Trainer, TheSameBitsAgain) {
  TemporaryFolder folder;
  Session(smallRun(folder.path("a"))).trainer->run();
  Session(smallRun(folder.path("b"))).trainer->run();
  expectSame(outcomeOf(folder.path("a")), outcomeOf(folder.path("b")));
}

TEST(Trainer, StopAndResumeEqualOneRun) {
  TemporaryFolder folder;
  const RunConfig whole = smallRun(folder.path("whole"));
  Session(whole).trainer->run();
  RunConfig half = smallRun(folder.path("half"));
  half.stopAt = 4;
  EXPECT_EQ(Session(half).trainer->run(), RunStatus::StopAt);
  EXPECT_EQ(readMetrics(folder.path("half/metrics.jsonl")).size(), 4u);
  half.stopAt = 0;
  EXPECT_EQ(Session(half, true).trainer->run(), RunStatus::Complete);
  expectSame(outcomeOf(whole.out), outcomeOf(half.out));
}

TEST(Trainer, StartsWhereAnotherEnded) {
  TemporaryFolder folder;
  const RunConfig whole = smallRun(folder.path("whole"));
  Session(whole).trainer->run();
  RunConfig half = smallRun(folder.path("half"));
  half.stopAt = 4;
  Session(half).trainer->run();
  // Of the other trainer there are two files of tensors.
  const std::string other = folder.path("other");
  fs::create_directories(other);
  for (const char *name : {"/model.safetensors", "/optimizer.safetensors"})
    fs::copy_file(half.out + "/checkpoint-00000004" + name, other + name);

  const RunConfig rest = smallRun(folder.path("rest"));
  Session session(rest);
  session.trainer->start(other);
  EXPECT_EQ(session.trainer->state().step, 4);
  EXPECT_EQ(session.trainer->state().tokens, 4 * 48);
  EXPECT_EQ(session.trainer->run(), RunStatus::Complete);
  Outcome expected = outcomeOf(whole.out);
  expected.metrics.erase(expected.metrics.begin(),
                         expected.metrics.begin() + 4);
  expectSame(expected, outcomeOf(rest.out));
  // A run that was started can be resumed.
  Session again(rest, true);
  EXPECT_EQ(again.trainer->state().step, 8);
}

TEST(Trainer, ResumesFromTheLastCheckpointAfterACrash) {
  TemporaryFolder folder;
  const RunConfig whole = smallRun(folder.path("whole"));
  Session(whole).trainer->run();
  RunConfig crashed = smallRun(folder.path("crashed"));
  crashed.saveEvery = 3;
  {
    Session session(crashed);
    session.data->onNext = [](int64_t batch) {
      if (batch == 5)
        throw std::runtime_error("the machine went away");
    };
    EXPECT_THROW(session.trainer->run(), std::runtime_error);
  }
  EXPECT_EQ(readMetrics(folder.path("crashed/metrics.jsonl")).size(), 5u);
  EXPECT_EQ(Session(crashed, true).trainer->run(), RunStatus::Complete);
  expectSame(outcomeOf(whole.out), outcomeOf(crashed.out));
}

TEST(Trainer, ASignalSavesAndResumes) {
  TemporaryFolder folder;
  const RunConfig whole = smallRun(folder.path("whole"));
  Session(whole).trainer->run();
  for (int signal : {SIGINT, SIGTERM}) {
    const RunConfig config =
        smallRun(folder.path("stopped" + std::to_string(signal)));
    {
      Session session(config);
      session.data->onNext = [&](int64_t batch) {
        if (batch == 3)
          std::raise(signal);
      };
      EXPECT_EQ(session.trainer->run(), RunStatus::Interrupted);
    }
    // The batch that the signal hit was given up.
    ASSERT_EQ(listCheckpoints(config.out).size(), 1u);
    EXPECT_EQ(fs::path(listCheckpoints(config.out)[0]).filename(),
              "checkpoint-00000003");
    EXPECT_EQ(Session(config, true).trainer->run(), RunStatus::Complete);
    expectSame(outcomeOf(whole.out), outcomeOf(config.out));
  }
}

TEST(Trainer, ASignalDuringValidationSavesAndResumes) {
  TemporaryFolder folder;
  const RunConfig whole = smallRun(folder.path("whole"));
  Session(whole).trainer->run();
  for (int call : {2, 5}) { // at step 4, and at the last step
    const RunConfig config =
        smallRun(folder.path("stopped" + std::to_string(call)));
    {
      Session session(config);
      int calls = 0;
      session.data->onValidation = [&] {
        if (++calls == call)
          std::raise(SIGINT);
      };
      EXPECT_EQ(session.trainer->run(), RunStatus::Interrupted);
      EXPECT_TRUE(session.trainer->state().pending.has_value());
    }
    EXPECT_EQ(Session(config, true).trainer->run(), RunStatus::Complete);
    expectSame(outcomeOf(whole.out), outcomeOf(config.out));
  }
}

TEST(Trainer, ANonFiniteGradientChangesNothing) {
  TemporaryFolder folder;
  const RunConfig config = smallRun(folder.path("run"));
  Session session(config);
  int call = 0;
  std::vector<float> weights;
  session.optimizer->before = [&](StepArguments &arguments) {
    const Tensor &weight = arguments.parameters[0];
    const std::vector<float> now(weight.f32(), weight.f32() + weight.count());
    ++call;
    if (call == 3)
      poison(arguments, 2);
    if (call == 4) {
      EXPECT_TRUE(now == weights);
      EXPECT_EQ(arguments.step, 3); // t has not advanced
    }
    weights = now;
  };
  EXPECT_EQ(session.trainer->run(), RunStatus::Complete);
  EXPECT_EQ(session.trainer->state().updates, 7);
  EXPECT_EQ(session.trainer->state().skipped, 1);
  const std::vector<StepMetrics> metrics =
      readMetrics(config.out + "/metrics.jsonl");
  ASSERT_EQ(metrics.size(), 8u);
  EXPECT_TRUE(metrics[2].skipped);
  EXPECT_EQ(metrics[2].nonfinite, "blocks.0.attn.k.weight");
  EXPECT_TRUE(std::isnan(metrics[2].gradNorm));
  EXPECT_FALSE(metrics[2].headDiameter.has_value());
  // The schedule counts batches.
  const RateSchedule schedule{8, 0, 0.1, false};
  EXPECT_EQ(metrics[3].lrScale, schedule.scale(3));
}

TEST(Trainer, ThreeNonFiniteGradientsInARowStop) {
  TemporaryFolder folder;
  const RunConfig config = smallRun(folder.path("run"));
  Session session(config);
  int call = 0;
  session.optimizer->before = [&](StepArguments &arguments) {
    ++call;
    if (call == 2 || call == 3 || call >= 5)
      poison(arguments, 0);
  };
  EXPECT_EQ(session.trainer->run(), RunStatus::NonFinite);
  EXPECT_EQ(call, 7);
  // The checkpoint is that of the last applied update, the fourth batch.
  ASSERT_EQ(listCheckpoints(config.out).size(), 1u);
  EXPECT_EQ(fs::path(listCheckpoints(config.out)[0]).filename(),
            "checkpoint-00000004");
  // The same batches without the fault: the run goes on.
  Session resumed(config, true);
  EXPECT_EQ(resumed.trainer->state().updates, 2);
  EXPECT_EQ(resumed.trainer->state().skippedInARow, 0);
  EXPECT_EQ(resumed.trainer->run(), RunStatus::Complete);
  EXPECT_EQ(resumed.trainer->state().updates, 6);
}

TEST(Trainer, SavesNothingAfterASkippedUpdate) {
  TemporaryFolder folder;
  RunConfig config = smallRun(folder.path("run"));
  config.saveEvery = 1;
  config.keep = 1;
  Session session(config);
  int call = 0;
  session.optimizer->before = [&](StepArguments &arguments) {
    if (++call >= 5)
      poison(arguments, 0);
  };
  EXPECT_EQ(session.trainer->run(), RunStatus::NonFinite);
  EXPECT_EQ(session.trainer->lastApplied().step, 4);
  const std::vector<std::string> all = listCheckpoints(config.out);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(fs::path(all[0]).filename(), "checkpoint-00000004");
}

TEST(Trainer, WeightsThatAreNotFiniteReplaceNoCheckpoint) {
  TemporaryFolder folder;
  RunConfig config = smallRun(folder.path("run"));
  config.saveEvery = 2;
  config.keep = 1;
  Session session(config);
  int call = 0;
  session.optimizer->before = [&](StepArguments &arguments) {
    if (++call == 4) // what an update beyond FP32 does
      arguments.parameters[1].f32()[2] = std::numeric_limits<float>::infinity();
  };
  EXPECT_EQ(session.trainer->run(), RunStatus::NonFinite);
  const std::vector<std::string> all = listCheckpoints(config.out);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(fs::path(all[0]).filename(), "checkpoint-00000002");
}

// The weights of the end may be the bad ones: they push no other one out.
TEST(Trainer, KeepsTheCheckpointBeforeTheTrouble) {
  TemporaryFolder folder;
  RunConfig config = smallRun(folder.path("run"));
  config.saveEvery = 3;
  config.keep = 1;
  Session session(config);
  int call = 0;
  session.optimizer->before = [&](StepArguments &arguments) {
    if (++call >= 5)
      poison(arguments, 0);
  };
  EXPECT_EQ(session.trainer->run(), RunStatus::NonFinite);
  ASSERT_EQ(listCheckpoints(config.out).size(), 2u);
  EXPECT_EQ(checkpointBefore(config.out, session.trainer->lastApplied().step),
            folder.path("run/checkpoint-00000003"));
}

TEST(Trainer, MicroBatchesMakeOneBatch) {
  TemporaryFolder folder;
  RunConfig one = smallRun(folder.path("one"));
  one.microBatch = 4;
  RunConfig many = smallRun(folder.path("many"));
  many.microBatch = 1;
  Session(one).trainer->run();
  Session(many).trainer->run();
  const Outcome a = outcomeOf(one.out), b = outcomeOf(many.out);
  for (std::size_t i = 0; i < a.metrics.size(); ++i) {
    EXPECT_NEAR(a.metrics[i].loss, b.metrics[i].loss, 1e-5);
    EXPECT_NEAR(a.metrics[i].gradNorm, b.metrics[i].gradNorm, 1e-5);
  }
}

TEST(Trainer, KeepsTheLastCheckpoints) {
  TemporaryFolder folder;
  RunConfig config = smallRun(folder.path("run"));
  config.saveEvery = 1;
  config.keep = 2;
  Session(config).trainer->run();
  const std::vector<std::string> all = listCheckpoints(config.out);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(fs::path(all[0]).filename(), "checkpoint-00000007");
  EXPECT_EQ(fs::path(all[1]).filename(), "checkpoint-00000008");
  // Nothing else is left of the others.
  for (const auto &entry : fs::directory_iterator(config.out))
    EXPECT_NE(entry.path().filename().string()[0], '.') << entry.path();
}

TEST(Trainer, RefusesAnOptimizerOfOtherParameters) {
  TemporaryFolder folder;
  const RunConfig config = smallRun(folder.path("run"));
  auto build = [&](const std::function<void(Manifest &)> &change) {
    auto optimizer =
        std::make_unique<ReferenceOptimizer>(config.sizes, "adamw");
    change(optimizer->content);
    Progress progress(ProgressMode::None, stdout);
    Trainer(config, std::move(optimizer),
            std::make_unique<SyntheticData>(config), progress);
  };
  EXPECT_EQ(failure([&] {
              build([](Manifest &m) { m.parameters[0].shape = {60, 32}; });
            }),
            "the artefact 'reference' was compiled for embed.weight of shape "
            "[60, 32], but the model's has shape [61, 32]");
  EXPECT_EQ(
      failure([&] { build([](Manifest &m) { m.parameters.pop_back(); }); }),
      "the artefact 'reference' was compiled without the model's parameter "
      "'lm_head.weight'");
  EXPECT_EQ(failure([&] {
              build([](Manifest &m) { m.parameters[0].name = "wte.weight"; });
            }),
            "the artefact 'reference' was compiled for a parameter "
            "'wte.weight', which the model does not have");
  EXPECT_FALSE(fs::exists(config.out));
}

TEST(StopSignals, TheFirstIsNotedTheSecondEnds) {
  {
    StopSignals signals;
    EXPECT_EQ(StopSignals::received(), 0);
    std::raise(SIGTERM);
    EXPECT_EQ(StopSignals::received(), SIGTERM);
  }
  EXPECT_EQ(StopSignals::received(), 0);
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        StopSignals signals;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}
