//===- RunConfig.cpp - everything a training run is told ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/RunConfig.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Json.h"
#include "runtime/Train/Presets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

using namespace steep;

/// Keys stay in the order in which they are set.
using Json = nlohmann::ordered_json;

/// Tokens that go through the model at a time where --micro-batch is not said:
/// enough to keep two cores busy, little enough for the memory of a laptop.
static constexpr int64_t microBatchTokens = 4096;

static void checkRange(const char *flag, int64_t value, int64_t least,
                       int64_t most) {
  if (value < least || value > most)
    fail("{} {}: expected {} to {}", flag, value, least, most);
}

static void resolveSizes(RunConfig &config) {
  ModelConfig &sizes = config.sizes;
  if (!config.model.empty()) {
    const Preset &preset = findPreset(config.model);
    sizes = preset.sizes;
    config.steps = config.steps ? config.steps : preset.steps;
    config.batch = config.batch ? config.batch : preset.batch;
    return;
  }
  struct Needed {
    const char *flag;
    int64_t value;
  };
  for (const Needed &needed : {Needed{"--dim", sizes.dim},
                               {"--layers", sizes.layers},
                               {"--vocab", sizes.vocab},
                               {"--context", sizes.context},
                               {"--steps", config.steps},
                               {"--batch", config.batch}})
    if (needed.value == 0)
      fail("{} is missing: give it, or --model", needed.flag);
  if (sizes.heads == 0) {
    if (sizes.dim % sizes.headDim != 0)
      fail("--dim {}: without --heads, a multiple of {} is expected", sizes.dim,
           sizes.headDim);
    sizes.heads = sizes.dim / sizes.headDim;
  } else if (sizes.heads > 0 && sizes.dim % sizes.heads == 0) {
    sizes.headDim = sizes.dim / sizes.heads;
  }
}

void RunConfig::resolve() {
  resolveSizes(*this);
  sizes.validate();
  if (seq == 0)
    seq = sizes.context;
  constexpr int64_t many = int64_t(1) << 40;
  checkRange("--steps", steps, 1, many);
  checkRange("--batch", batch, 1, 1 << 24);
  checkRange("--seq", seq, 1, sizes.context);
  if (warmup != -1)
    checkRange("--warmup", warmup, 0, steps);
  if (microBatch == 0) {
    // The largest divisor of the batch that stays below the token limit.
    microBatch = std::clamp<int64_t>(microBatchTokens / seq, 1, batch);
    while (batch % microBatch != 0)
      --microBatch;
  }
  checkRange("--micro-batch", microBatch, 1, batch);
  if (batch % microBatch != 0)
    fail("--micro-batch {}: expected a divisor of --batch {}", microBatch,
         batch);
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  checkRange("--seed", seed, 0, std::numeric_limits<int64_t>::max());
  checkRange("--threads", threads, 1, 1024);
  checkRange("--val-every", valEvery, 0, many);
  checkRange("--val-batches", valBatches, 1, 1 << 24);
  checkRange("--save-every", saveEvery, 0, many);
  checkRange("--keep", keep, 1, 1 << 20);
  checkRange("--diameter-every", diameterEvery, 0, many);
  checkRange("--hilbert-every", hilbertEvery, 0, many);
  checkRange("--hilbert-positions", hilbertPositions, 1, 1 << 24);
  checkRange("--oracle-every", oracleEvery, 0, many);
  checkRange("--measures-every", measuresEvery, 0, many);
  if (stopAt != 0)
    checkRange("--stop-at", stopAt, 1, steps);
  for (const auto &[group, rate] : lr)
    if (!(rate >= 0) || !std::isfinite(static_cast<float>(rate)))
      fail("--lr {}={}: expected a finite FP32 number, at least 0", group,
           rate);
  if (device != "host" && device != "simt" && device.rfind("cuda", 0) != 0)
    fail("--device {}: expected host, cuda (or cuda:1) or simt", device);
}

std::string RunConfig::json() const {
  Json json;
  json["model"] = model;
  json["dim"] = sizes.dim;
  json["layers"] = sizes.layers;
  json["heads"] = sizes.heads;
  json["head_dim"] = sizes.headDim;
  json["vocab"] = sizes.vocab;
  json["context"] = sizes.context;
  json["parameters"] = parameterCount(sizes);
  json["spec"] = spec;
  json["artefact"] = artefact;
  json["data"] = data;
  json["out"] = out;
  json["device"] = device;
  json["target"] = target;
  json["steps"] = steps;
  json["warmup"] = warmup;
  json["batch"] = batch;
  json["micro_batch"] = microBatch;
  json["seq"] = seq;
  json["seed"] = seed;
  json["threads"] = threads;
  json["lr"] = Json::object();
  for (const auto &[group, rate] : lr)
    json["lr"][group] = rate;
  json["val_every"] = valEvery;
  json["val_batches"] = valBatches;
  json["save_every"] = saveEvery;
  json["keep"] = keep;
  json["diameter_every"] = diameterEvery;
  json["hilbert_every"] = hilbertEvery;
  json["hilbert_positions"] = hilbertPositions;
  json["oracle_every"] = oracleEvery;
  json["measures_every"] = measuresEvery;
  return json.dump(2) + "\n";
}

RunConfig RunConfig::parse(const std::string &text, const std::string &origin) {
  const nlohmann::json json = parseJson(text, origin);
  const JsonValue value(json, origin);
  RunConfig config;
  config.model = value.at("model").string();
  config.sizes.dim = value.at("dim").integer();
  config.sizes.layers = value.at("layers").integer();
  config.sizes.heads = value.at("heads").integer();
  config.sizes.headDim = value.at("head_dim").integer();
  config.sizes.vocab = value.at("vocab").integer();
  config.sizes.context = value.at("context").integer();
  config.spec = value.at("spec").string();
  config.artefact = value.at("artefact").string();
  config.data = value.at("data").string();
  config.out = value.at("out").string();
  config.device = value.at("device").string();
  config.target = value.at("target").string();
  config.steps = value.at("steps").integer();
  config.warmup = value.at("warmup").integer();
  config.batch = value.at("batch").integer();
  config.microBatch = value.at("micro_batch").integer();
  config.seq = value.at("seq").integer();
  config.seed = value.at("seed").integer(0);
  config.threads = value.at("threads").integer();
  const JsonValue rates = value.at("lr");
  for (const auto &item : json["lr"].items())
    config.lr[item.key()] = rates.at(item.key()).number();
  config.valEvery = value.at("val_every").integer();
  config.valBatches = value.at("val_batches").integer();
  config.saveEvery = value.at("save_every").integer();
  config.keep = value.at("keep").integer();
  config.diameterEvery = value.at("diameter_every").integer();
  config.hilbertEvery = value.at("hilbert_every").integer();
  config.hilbertPositions = value.at("hilbert_positions").integer();
  // Runs of before there was this measurement do not have it.
  if (json.contains("oracle_every"))
    config.oracleEvery = value.at("oracle_every").integer(0);
  if (json.contains("measures_every"))
    config.measuresEvery = value.at("measures_every").integer(0);
  return config;
}

void steep::checkSameRun(const RunConfig &saved, const RunConfig &now) {
  auto same = [](const char *flag, const auto &before, const auto &after) {
    if (before != after)
      fail("{} {}: the saved run has {}, and a resumed run must keep it", flag,
           after, before);
  };
  same("--model", saved.model, now.model);
  same("--dim", saved.sizes.dim, now.sizes.dim);
  same("--layers", saved.sizes.layers, now.sizes.layers);
  same("--heads", saved.sizes.heads, now.sizes.heads);
  same("--vocab", saved.sizes.vocab, now.sizes.vocab);
  same("--context", saved.sizes.context, now.sizes.context);
  same("--steps", saved.steps, now.steps);
  same("--warmup", saved.warmup, now.warmup);
  same("--batch", saved.batch, now.batch);
  same("--micro-batch", saved.microBatch, now.microBatch);
  same("--seq", saved.seq, now.seq);
  same("--seed", saved.seed, now.seed);
  for (const auto &[group, rate] : now.lr) {
    auto before = saved.lr.find(group);
    if (before == saved.lr.end() || before->second != rate)
      fail("--lr {}={}: the saved run has another rate, and a resumed run must "
           "keep it",
           group, rate);
  }
  same("number of --lr overrides", saved.lr.size(), now.lr.size());
}
