//===- ShardData.cpp - batches from token shards --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/ShardData.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Json.h"
#include "runtime/Core/Sha256.h"
#include "runtime/Data/Shard.h"
#include "runtime/Train/RunConfig.h"

using namespace steep;

static DataLoader::Options loaderOptions(const RunConfig &config) {
  DataLoader::Options options;
  options.shards = findShards(config.data, "train");
  options.batch = config.batch;
  options.length = config.seq;
  options.vocabulary = config.sizes.vocab;
  options.seed = static_cast<uint64_t>(config.seed);
  return options;
}

/// Of the tokens of all shards in their order; checks their ids.
static std::string fingerprint(const RunConfig &config, const char *kind) {
  std::string text;
  for (const std::string &path : findShards(config.data, kind))
    text += fmt::format("{:016x}\n",
                        TokenShard::open(path).checkIds(config.sizes.vocab));
  return sha256(text);
}

ShardData::ShardData(const RunConfig &config)
    : loader(loaderOptions(config)),
      fixed(findShards(config.data, "val"), config.seq, config.sizes.vocab) {
  // Now, and not hours later, when the batch with the wrong id is reached.
  trainTokens = fingerprint(config, "train");
  validationTokens = fingerprint(config, "val");
}

void ShardData::next(int32_t *tokens, int32_t *targets) {
  loader.next(tokens, targets);
}

std::string ShardData::position() const {
  const DataLoader::Position place = loader.position();
  nlohmann::ordered_json json;
  json["epoch"] = place.epoch;
  json["shard"] = place.shard;
  json["batch"] = place.batch;
  // Not needed to continue, but other shards are noticed.
  json["batches_per_epoch"] = loader.batchesPerEpoch();
  json["train_tokens"] = trainTokens;
  json["val_tokens"] = validationTokens;
  return json.dump();
}

void ShardData::restore(const std::string &position) {
  const nlohmann::json json = parseJson(position, "trainer.json: data");
  const JsonValue value(json, "trainer.json: data");
  const int64_t before = value.at("batches_per_epoch").integer(0);
  if (before != loader.batchesPerEpoch())
    fail("--data: the saved run had {} batches an epoch, these shards give {}",
         before, loader.batchesPerEpoch());
  auto check = [&](const char *key, const char *kind, const std::string &now) {
    const std::optional<JsonValue> saved = value.find(key);
    if (saved && saved->string() != now)
      fail("--data: the {} shards hold other tokens than those of the saved "
           "run",
           kind);
  };
  check("train_tokens", "training", trainTokens);
  check("val_tokens", "validation", validationTokens);
  loader.seek({value.at("epoch").integer(0), value.at("shard").integer(0),
               value.at("batch").integer(0)});
}

int64_t ShardData::validationSequences() const { return fixed.sequences(); }

void ShardData::validation(int64_t first, int64_t count, int32_t *tokens,
                           int32_t *targets) {
  fixed.read(first, count, tokens, targets);
}
