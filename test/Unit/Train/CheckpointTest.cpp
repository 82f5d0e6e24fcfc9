//===- CheckpointTest.cpp - checkpoints on disk ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Doubles.h"

#include "runtime/Core/Files.h"
#include "runtime/Train/Checkpoint.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace steep;
using namespace steep::test;

namespace fs = std::filesystem;

namespace {

/// A saved checkpoint of the small model, and tensors to load it into.
class Checkpoint : public testing::Test {
protected:
  Checkpoint()
      : config(smallRun(folder.path("run"))), optimizer(config.sizes, "adamw"),
        tensors(fresh()) {
    for (auto &[name, tensor] : tensors.parameters)
      tensor.f32()[1] = 0.5f;
    tensors.states[2].f32()[3] = 0.25f;
    fs::create_directories(config.out);
    state.step = 12;
    state.updates = 11;
    state.skipped = 1;
    state.data = R"({"batches": 12})";
    saveCheckpoint(config, state, tensors);
    path = folder.path("run/checkpoint-00000012");
  }

  CheckpointTensors fresh() const {
    CheckpointTensors all{optimizer.manifest(), {}, optimizer.makeStates()};
    for (const ParameterSpec &spec : parameterSpecs(config.sizes))
      all.parameters.emplace_back(spec.name, Tensor(DType::F32, spec.shape));
    return all;
  }
  /// The error of loading, after the checkpoint's folder in it, if it is so.
  std::string refusal() {
    const std::string text = failure([&] { loadCheckpoint(path, fresh()); });
    const std::size_t at = text.find(path + "/");
    return at == std::string::npos ? text
                                   : "'" + text.substr(at + path.size() + 1);
  }
  /// What optimizer.safetensors holds.
  NamedTensors savedStates(std::map<std::string, std::string> &metadata) {
    const SafetensorsFile saved =
        SafetensorsFile::open(path + "/optimizer.safetensors");
    metadata = saved.metadata();
    NamedTensors named;
    for (const auto &[name, entry] : saved.entries())
      named.emplace_back(name, saved.load(name));
    return named;
  }
  void rewrite(const char *name, const NamedTensors &named,
               const std::map<std::string, std::string> &metadata = {}) {
    writeSafetensors(path + "/" + name, named, metadata);
  }
  void edit(const std::string &from, const std::string &to) {
    std::string text = readFile(path + "/trainer.json");
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    writeFile(path + "/trainer.json", text);
  }

  TemporaryFolder folder;
  RunConfig config;
  ReferenceOptimizer optimizer;
  CheckpointTensors tensors;
  TrainerState state;
  std::string path;
};

} // namespace

TEST_F(Checkpoint, RoundTrip) {
  CheckpointTensors loaded = fresh();
  const TrainerState again = loadCheckpoint(path, loaded);
  EXPECT_EQ(again.step, 12);
  EXPECT_EQ(again.updates, 11);
  EXPECT_EQ(again.skipped, 1);
  EXPECT_FALSE(again.pending.has_value());
  for (const auto &[name, tensor] : loaded.parameters)
    EXPECT_EQ(tensor.f32()[1], 0.5f) << name;
  EXPECT_EQ(loaded.states[2].f32()[3], 0.25f);
  EXPECT_EQ(readCheckpointConfig(path).json(), config.json());
}

TEST_F(Checkpoint, StartNeedsNoTrainerJson) {
  fs::remove(path + "/trainer.json");
  CheckpointTensors loaded = fresh();
  EXPECT_EQ(loadStart(path, loaded), 11);
  EXPECT_EQ(loaded.states[2].f32()[3], 0.25f);

  const auto refusalAt = [&](float first, float others) {
    std::map<std::string, std::string> metadata;
    NamedTensors named = savedStates(metadata);
    float step = first;
    for (auto &[name, tensor] : named)
      if (tensor.rank() == 0) {
        tensor.f32()[0] = step;
        step = others;
      }
    rewrite("optimizer.safetensors", named, metadata);
    return failure([&] { loadStart(path, loaded); });
  };
  EXPECT_NE(refusalAt(11, 5).find("of others: expected one number of updates"),
            std::string::npos);
  EXPECT_NE(refusalAt(-1, -1).find("is -1, expected a number of updates"),
            std::string::npos);
}

// PyTorch's BF16 weights have FP32 masters among their states.
TEST_F(Checkpoint, StartsAtMastersOfBF16Weights) {
  std::map<std::string, std::string> metadata;
  NamedTensors weights = tensors.parameters, states = savedStates(metadata);
  auto &[name, weight] = weights.back();
  Tensor master(DType::F32, weight.shape());
  master.f32()[1] = 0.7f; // no number of BF16
  weight = Tensor(DType::BF16, weight.shape());
  rewrite("model.safetensors", weights);
  CheckpointTensors loaded = fresh();
  EXPECT_NE(failure([&] {
              loadStart(path, loaded);
            }).find("'lm_head.weight' is BF16 [61, 32], expected F32"),
            std::string::npos);

  states.emplace_back(name + ".master", master);
  rewrite("optimizer.safetensors", states, metadata);
  EXPECT_EQ(loadStart(path, loaded), 11);
  EXPECT_EQ(loaded.parameters.back().second.f32()[1], 0.7f);
  EXPECT_EQ(loaded.parameters.front().second.f32()[1], 0.5f);

  states.back().second = Tensor(DType::F32, {3, 4});
  rewrite("optimizer.safetensors", states, metadata);
  EXPECT_NE(failure([&] {
              loadStart(path, loaded);
            }).find("'lm_head.weight.master' is F32 [3, 4]"),
            std::string::npos);
}

// What steps compute again need not be there, and may be another artefact's.
TEST_F(Checkpoint, MeanRowsMayBeMissingOrMore) {
  Manifest carried = optimizer.manifest();
  Manifest::Parameter &parameter = carried.parameters.front();
  const std::size_t at = parameter.states.size();
  const std::vector<int64_t> shape = {1, parameter.shape.back()};
  parameter.states.push_back({"exp_avg_mean", shape, "mean"});
  const auto freshWithMean = [&] {
    CheckpointTensors all{carried, fresh().parameters, fresh().states};
    all.states.emplace(all.states.begin() + std::ptrdiff_t(at), DType::F32,
                       shape);
    all.states[at].f32()[0] = 3;
    return all;
  };
  CheckpointTensors all = freshWithMean();
  loadCheckpoint(path, all);
  EXPECT_EQ(all.states[at].f32()[0], 0);
  EXPECT_EQ(all.states[3].f32()[3], 0.25f);
  all.states[at].f32()[0] = 3;
  EXPECT_EQ(loadStart(path, all), 11);
  EXPECT_EQ(all.states[at].f32()[0], 0);

  state.step = 13;
  state.updates = 12;
  all.states[at].f32()[0] = 0.75f;
  saveCheckpoint(config, state, all);
  const std::string other = folder.path("run/checkpoint-00000013");
  CheckpointTensors again = freshWithMean(), without = fresh();
  loadCheckpoint(other, again);
  EXPECT_EQ(again.states[at].f32()[0], 0.75f);
  loadCheckpoint(other, without);
  EXPECT_EQ(without.states[2].f32()[3], 0.25f);
}

TEST_F(Checkpoint, NamesOfPyTorch) {
  const SafetensorsFile file =
      SafetensorsFile::open(path + "/optimizer.safetensors");
  EXPECT_TRUE(file.contains("lm_head.weight.exp_avg"));
  EXPECT_TRUE(file.contains("lm_head.weight.exp_avg_sq"));
  EXPECT_TRUE(file.contains("blocks.0.attn.q.weight.momentum_buffer"));
  const Tensor step = file.load("lm_head.weight.step");
  EXPECT_EQ(step.rank(), 0);
  EXPECT_EQ(step.f32()[0], 11);
  EXPECT_EQ(
      file.metadataAt("convention.blocks.0.attn.q.weight.momentum_buffer"),
      "sum");
}

TEST_F(Checkpoint, OnlyWholeOnesCount) {
  fs::create_directories(folder.path("run/.checkpoint-00000013.tmp"));
  fs::create_directories(folder.path("run/checkpoint-00000014.part"));
  fs::create_directories(folder.path("run/checkpoint-x"));
  writeFile(folder.path("run/checkpoint-00000099"), "a file");
  EXPECT_EQ(listCheckpoints(config.out), std::vector<std::string>{path});
  EXPECT_TRUE(listCheckpoints(folder.path("nowhere")).empty());
}

TEST_F(Checkpoint, RefusesOtherTensors) {
  NamedTensors named = tensors.parameters;
  named.pop_back();
  rewrite("model.safetensors", named);
  EXPECT_EQ(refusal(), "'model.safetensors': the tensor 'lm_head.weight' is "
                       "missing");
  named.emplace_back("lm_head.weight", Tensor(DType::F32, {3, 4}));
  rewrite("model.safetensors", named);
  EXPECT_EQ(refusal(), "'model.safetensors': 'lm_head.weight' is F32 [3, 4], "
                       "expected F32 [61, 32]");
  named.back().second = Tensor(DType::F64, {61, 32});
  rewrite("model.safetensors", named);
  EXPECT_EQ(refusal(), "'model.safetensors': 'lm_head.weight' is F64 [61, 32], "
                       "expected F32 [61, 32]");
  named = tensors.parameters;
  named.emplace_back("extra", Tensor(DType::F32, {1}));
  rewrite("model.safetensors", named);
  EXPECT_EQ(refusal(), "'model.safetensors': the run has no tensor 'extra'");
}

TEST_F(Checkpoint, RefusesTheOtherMomentum) {
  std::string bytes = readFile(path + "/optimizer.safetensors");
  std::size_t at = bytes.find("\"sum\"");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 5, "\"ema\"");
  writeFile(path + "/optimizer.safetensors", bytes);
  EXPECT_NE(refusal().find("the metadata says 'ema' for"), std::string::npos);
  EXPECT_NE(refusal().find("but the artefact's convention is 'sum'"),
            std::string::npos);
}

TEST_F(Checkpoint, RefusesWhatDoesNotFitTogether) {
  edit("\"updates\": 11", "\"updates\": 10");
  EXPECT_EQ(refusal(), "'trainer.json': 10 updates and 1 skipped ones do not "
                       "make 12 steps");
  edit("\"skipped\": 1", "\"skipped\": 2");
  EXPECT_NE(refusal().find("but trainer.json counts 10 updates"),
            std::string::npos);
}

TEST_F(Checkpoint, RefusesAnotherSpec) {
  edit("reference-adamw", "reference-other");
  EXPECT_EQ(refusal(),
            "'trainer.json': the run was trained with another spec (sha256 "
            "reference-other, now reference-adamw)");
}

TEST_F(Checkpoint, RefusesDamage) {
  edit("\"step\": 12", "\"step\": \"12\"");
  EXPECT_EQ(refusal(), "'trainer.json': step is \"12\", but an integer of at "
                       "least 0 is expected");
  writeFile(path + "/trainer.json", "{\"step\": 12");
  EXPECT_EQ(refusal(), "'trainer.json': it is not valid JSON at byte 12");
  fs::remove(path + "/trainer.json");
  EXPECT_NE(refusal(), "");
}

TEST_F(Checkpoint, RefusesOtherBytes) {
  for (const char *name : {"model.safetensors", "optimizer.safetensors"}) {
    const std::string saved = readFile(path + "/" + name);
    std::string flipped = saved;
    flipped[flipped.size() / 2] ^= 1;
    writeFile(path + "/" + name, flipped);
    CheckpointTensors target = fresh();
    EXPECT_NE(refusal().find("'" + std::string(name) +
                             "': it is not the file that was saved: its "
                             "SHA-256 is "),
              std::string::npos)
        << refusal();
    EXPECT_NE(failure([&] { loadCheckpoint(path, target); }), "");
    EXPECT_EQ(target.parameters[0].second.f32()[1], 0);
    writeFile(path + "/" + name, saved);
  }
  EXPECT_FALSE(loadCheckpoint(path, fresh()).unverified);
}

// As older versions wrote them: taken as they are, and known as such.
TEST_F(Checkpoint, TakesOneWithoutDigests) {
  edit("\"sha256\"", "\"other\"");
  EXPECT_TRUE(loadCheckpoint(path, fresh()).unverified);
}

TEST_F(Checkpoint, DamagePointsBackToTheOlderOne) {
  const std::string newer = folder.path("run/checkpoint-00000999");
  fs::create_directories(newer);
  const std::string hint =
      "; without '" + newer + "', --resume goes on from '" + path + "'";
  for (const std::string &said :
       {failure([&] { readCheckpointConfig(newer); }),
        failure([&] { loadCheckpoint(newer, fresh()); })}) {
    EXPECT_NE(said.find("/trainer.json': No such"), std::string::npos);
    EXPECT_NE(said.find(hint), std::string::npos) << said;
  }
  fs::copy(path, newer, fs::copy_options::recursive);
  writeFile(newer + "/model.safetensors", "x");
  EXPECT_NE(failure([&] { loadCheckpoint(newer, fresh()); }).find(hint),
            std::string::npos);
  EXPECT_EQ(checkpointBefore(config.out, 999), path);
  EXPECT_EQ(checkpointBefore(config.out, 12), "");
}

TEST_F(Checkpoint, ACutFileIsRefusedBeforeAnythingIsWritten) {
  const std::string bytes = readFile(path + "/optimizer.safetensors");
  writeFile(path + "/optimizer.safetensors", bytes.substr(0, bytes.size() - 4));
  CheckpointTensors target = fresh();
  EXPECT_NE(failure([&] { loadCheckpoint(path, target); }), "");
  EXPECT_EQ(target.parameters[0].second.f32()[1], 0);
}
