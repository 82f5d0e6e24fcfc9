//===- Checkpoint.cpp - a run's state on disk -----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/Checkpoint.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Core/Json.h"
#include "runtime/Core/Sha256.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

using namespace steep;

namespace fs = std::filesystem;
/// Keys stay in the order in which they are set.
using Json = nlohmann::ordered_json;

std::string steep::checkpointName(int64_t step) {
  return fmt::format("checkpoint-{:08}", step);
}

std::vector<std::string> steep::listCheckpoints(const std::string &out) {
  std::vector<std::pair<int64_t, std::string>> found;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(out, error)) {
    const std::string name = entry.path().filename().string();
    const std::string prefix = "checkpoint-";
    // Nine digits and more are possible; what a crash left has another name.
    if (name.rfind(prefix, 0) != 0 || name.size() < prefix.size() + 8 ||
        name.size() > prefix.size() + 15 || !entry.is_directory())
      continue;
    const std::string digits = name.substr(prefix.size());
    if (digits.find_first_not_of("0123456789") == std::string::npos)
      found.emplace_back(std::stoll(digits), entry.path().string());
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> folders;
  for (auto &[step, path] : found)
    folders.push_back(std::move(path));
  return folders;
}

std::string steep::checkpointBefore(const std::string &out, int64_t step) {
  std::string before;
  for (const std::string &path : listCheckpoints(out)) {
    const std::string name = fs::path(path).filename().string();
    if (std::stoll(name.substr(name.find('-') + 1)) < step)
      before = path;
  }
  return before;
}

/// Reads through `read`. Where that fails because of what is in the checkpoint,
/// the error says which older one could take its place.
template <typename Read>
static auto readOrPointBack(const std::string &folder, Read &&read) {
  try {
    return read();
  } catch (const Error &error) {
    const fs::path path(folder);
    const std::vector<std::string> all =
        listCheckpoints(path.parent_path().string());
    const auto here = std::find(all.begin(), all.end(), folder);
    if (here == all.begin() || here == all.end())
      throw;
    fail("{}; without {}, --resume goes on from {}", error.what(),
         quote(folder), quote(*(here - 1)));
  }
}

/// The spec's hash as the artefact states it; empty where it does not.
static std::string specHash(const Manifest &manifest) {
  const Json json = Json::parse(manifest.text, nullptr, false);
  if (json.is_object() && json.contains("spec_sha256") &&
      json["spec_sha256"].is_string())
    return json["spec_sha256"].get<std::string>();
  return "";
}

/// PARAM.STATE and the tensor, and PARAM.step, for all parameters with state.
static NamedTensors optimizerTensors(const CheckpointTensors &tensors,
                                     int64_t updates) {
  NamedTensors named;
  std::size_t next = 0;
  for (const Manifest::Parameter &parameter : tensors.manifest.parameters) {
    for (const Manifest::State &state : parameter.states)
      named.emplace_back(parameter.name + "." + state.name,
                         tensors.states.at(next++));
    if (parameter.states.empty())
      continue;
    Tensor step(DType::F32, {});
    step.f32()[0] = static_cast<float>(updates);
    named.emplace_back(parameter.name + ".step", step);
  }
  return named;
}

/// "convention.PARAM.STATE" to "sum", "ema", "adam" or "mean".
static std::map<std::string, std::string>
conventions(const Manifest &manifest) {
  std::map<std::string, std::string> meta;
  for (const Manifest::Parameter &parameter : manifest.parameters)
    for (const Manifest::State &state : parameter.states)
      if (!state.convention.empty())
        meta["convention." + parameter.name + "." + state.name] =
            state.convention;
  return meta;
}

static constexpr const char *tensorFiles[] = {"model.safetensors",
                                              "optimizer.safetensors"};

/// Of the tensor files in `folder`, which are written already.
static std::string trainerJson(const RunConfig &config,
                               const TrainerState &state,
                               const Manifest &manifest,
                               const fs::path &folder) {
  Json json;
  json["step"] = state.step;
  json["updates"] = state.updates;
  json["tokens"] = state.tokens;
  json["skipped"] = state.skipped;
  json["skipped_in_a_row"] = state.skippedInARow;
  json["seconds"] = state.seconds;
  json["optimizer"] = {{"name", manifest.name},
                       {"spec_sha256", specHash(manifest)}};
  for (const char *name : tensorFiles)
    json["sha256"][name] = sha256OfFile((folder / name).string());
  json["data"] = Json::parse(state.data);
  if (state.pending)
    json["pending"] = Json::parse(state.pending->json());
  json["config"] = Json::parse(config.json());
  return json.dump(2) + "\n";
}

void steep::saveCheckpoint(const RunConfig &config, const TrainerState &state,
                           const CheckpointTensors &tensors, int64_t extra) {
  const std::string path =
      (fs::path(config.out) / checkpointName(state.step)).string();
  if (fs::exists(path))
    return;
  writeFolder(path, [&](const std::string &folder) {
    const fs::path inside(folder);
    writeSafetensors((inside / "model.safetensors").string(),
                     tensors.parameters);
    writeSafetensors((inside / "optimizer.safetensors").string(),
                     optimizerTensors(tensors, state.updates),
                     conventions(tensors.manifest));
    writeFile((inside / "trainer.json").string(),
              trainerJson(config, state, tensors.manifest, inside));
  });
  std::vector<std::string> all = listCheckpoints(config.out);
  const std::size_t keep = static_cast<std::size_t>(config.keep + extra);
  for (std::size_t i = 0; i + keep < all.size(); ++i) {
    // Renamed first, so that a crash leaves no half of a checkpoint.
    const fs::path old(all[i]);
    const fs::path doomed =
        old.parent_path() / (".removed-" + old.filename().string());
    fs::rename(old, doomed);
    fs::remove_all(doomed);
  }
}

RunConfig steep::readCheckpointConfig(const std::string &folder) {
  return readOrPointBack(folder, [&] {
    const std::string path = (fs::path(folder) / "trainer.json").string();
    const nlohmann::json json = parseJson(readFile(path), path);
    JsonValue(json, path).at("config");
    return RunConfig::parse(json["config"].dump(), path + ": config");
  });
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Takes from `wanted` the mean rows that the file lacks: they are zero, and
/// the next step computes them. Artefacts for other targets have none.
static NamedTensors takeMissingMeans(const SafetensorsFile &file,
                                     const Manifest &manifest,
                                     NamedTensors &wanted) {
  NamedTensors missing;
  for (const Manifest::Parameter &parameter : manifest.parameters)
    for (const Manifest::State &state : parameter.states) {
      const std::string name = parameter.name + "." + state.name;
      auto it =
          std::find_if(wanted.begin(), wanted.end(),
                       [&](const auto &item) { return item.first == name; });
      if (!state.isMean() || file.entries().count(name) || it == wanted.end())
        continue;
      missing.push_back(*it);
      wanted.erase(it);
    }
  return missing;
}

/// Every wanted tensor is there with this type and shape, and no other is but
/// mean rows. Those of `halves` are BF16.
static void checkTensors(const SafetensorsFile &file,
                         const NamedTensors &wanted,
                         const std::set<std::string> &halves = {}) {
  for (const auto &[name, tensor] : wanted) {
    auto entry = file.entries().find(name);
    const DType dtype = halves.count(name) ? DType::BF16 : tensor.dtype();
    if (entry == file.entries().end())
      fail("{}: the tensor '{}' is missing", quote(file.path()), name);
    if (entry->second.dtype != dtype || entry->second.shape != tensor.shape())
      fail("{}: '{}' is {} {}, expected {} {}", quote(file.path()), name,
           nameOf(entry->second.dtype), shapeString(entry->second.shape),
           nameOf(dtype), shapeString(tensor.shape()));
  }
  if (file.entries().size() == wanted.size())
    return;
  auto isMean = [&](const std::string &name) {
    auto found = file.metadata().find("convention." + name);
    return found != file.metadata().end() && found->second == "mean";
  };
  for (const auto &[name, entry] : file.entries())
    if (!isMean(name) &&
        std::none_of(wanted.begin(), wanted.end(),
                     [&](const auto &item) { return item.first == name; }))
      fail("{}: the run has no tensor {}", quote(file.path()), quote(name));
}

static void checkConventions(const SafetensorsFile &file,
                             const Manifest &manifest) {
  for (const auto &[key, expected] : conventions(manifest)) {
    auto found = file.metadata().find(key);
    if (expected == "mean" && found == file.metadata().end())
      continue;
    if (found == file.metadata().end() || found->second != expected)
      fail("{}: the metadata says {} for '{}', but the artefact's convention "
           "is '{}'",
           quote(file.path()),
           found == file.metadata().end() ? "nothing" : quote(found->second),
           key.substr(key.find('.') + 1), expected);
  }
}

static void checkSpec(const JsonValue &trainer, const std::string &path,
                      const Manifest &manifest) {
  const std::string before = trainer.at("optimizer").at("spec_sha256").string();
  const std::string now = specHash(manifest);
  if (!before.empty() && !now.empty() && before != now)
    fail("{}: the run was trained with another spec (sha256 {}, now {})",
         quote(path), before, now);
}

static void checkDigests(const JsonValue &digests, const fs::path &folder) {
  for (const char *name : tensorFiles) {
    const std::string path = (folder / name).string();
    const std::string expected = digests.at(name).string();
    const std::string found = sha256OfFile(path);
    if (found != expected)
      fail("{}: it is not the file that was saved: its SHA-256 is {}, but "
           "trainer.json says {}",
           quote(path), found, expected);
  }
}

static TrainerState readState(const nlohmann::json &json,
                              const std::string &path) {
  const JsonValue value(json, path);
  TrainerState state;
  state.step = value.at("step").integer(0);
  state.updates = value.at("updates").integer(0);
  state.tokens = value.at("tokens").integer(0);
  state.skipped = value.at("skipped").integer(0);
  state.skippedInARow = value.at("skipped_in_a_row").integer(0);
  state.seconds = value.at("seconds").number();
  value.at("data");
  state.data = json["data"].dump();
  if (json.contains("pending"))
    state.pending =
        StepMetrics::parse(json["pending"].dump(), path + ": pending");
  if (state.updates + state.skipped != state.step)
    fail("{}: {} updates and {} skipped ones do not make {} steps", quote(path),
         state.updates, state.skipped, state.step);
  state.unverified = !value.find("sha256");
  return state;
}

static void fill(const SafetensorsFile &file, const NamedTensors &targets) {
  for (const auto &[name, tensor] : targets)
    std::memcpy(tensor.data(), file.load(name).data(), tensor.bytes());
}

static void clear(const NamedTensors &targets) {
  for (const auto &[name, tensor] : targets)
    std::memset(tensor.data(), 0, tensor.bytes());
}

/// model.safetensors and optimizer.safetensors in a folder.
static std::pair<SafetensorsFile, SafetensorsFile>
openTensors(const fs::path &folder) {
  return {SafetensorsFile::open((folder / "model.safetensors").string()),
          SafetensorsFile::open((folder / "optimizer.safetensors").string())};
}

/// Fills nothing before everything is checked.
static TrainerState loadTensors(const nlohmann::json &json,
                                const fs::path &inside,
                                const CheckpointTensors &tensors) {
  const std::string path = (inside / "trainer.json").string();
  const TrainerState state = readState(json, path);
  NamedTensors wanted = optimizerTensors(tensors, state.updates);
  const auto [model, optimizer] = openTensors(inside);
  const NamedTensors unknown =
      takeMissingMeans(optimizer, tensors.manifest, wanted);
  checkTensors(model, tensors.parameters);
  checkTensors(optimizer, wanted);
  checkConventions(optimizer, tensors.manifest);
  for (const auto &[name, tensor] : wanted)
    if (tensor.rank() == 0 && optimizer.load(name).f32()[0] != tensor.f32()[0])
      fail("{}: '{}' is {}, but trainer.json counts {} updates",
           quote(optimizer.path()), name, optimizer.load(name).f32()[0],
           state.updates);
  if (const std::optional<JsonValue> digests =
          JsonValue(json, path).find("sha256"))
    checkDigests(*digests, inside);

  fill(model, tensors.parameters);
  fill(optimizer, wanted);
  clear(unknown);
  return state;
}

/// Of weights that PyTorch has in BF16, with FP32 masters among the states: the
/// masters are what is trained here.
static std::set<std::string> findHalves(const SafetensorsFile &model,
                                        const SafetensorsFile &optimizer,
                                        const NamedTensors &parameters) {
  std::set<std::string> halves;
  for (const auto &[name, tensor] : parameters) {
    auto entry = model.entries().find(name);
    if (entry != model.entries().end() && entry->second.dtype == DType::BF16 &&
        optimizer.entries().count(name + ".master"))
      halves.insert(name);
  }
  return halves;
}

int64_t steep::loadStart(const std::string &folder,
                         const CheckpointTensors &tensors) {
  const auto [model, optimizer] = openTensors(folder);
  const std::set<std::string> halves =
      findHalves(model, optimizer, tensors.parameters);
  NamedTensors weights, wanted = optimizerTensors(tensors, 0);
  for (const auto &[name, tensor] : tensors.parameters)
    if (halves.count(name))
      wanted.emplace_back(name + ".master", tensor);
    else
      weights.emplace_back(name, tensor);
  const NamedTensors unknown =
      takeMissingMeans(optimizer, tensors.manifest, wanted);
  checkTensors(model, tensors.parameters, halves);
  checkTensors(optimizer, wanted);
  checkConventions(optimizer, tensors.manifest);
  std::optional<float> updates;
  for (const auto &[name, tensor] : wanted) {
    if (tensor.rank() != 0)
      continue;
    const float step = optimizer.load(name).f32()[0];
    if (!(step >= 0 && step == std::floor(step) && step <= 0x1p24f))
      fail("{}: '{}' is {}, expected a number of updates",
           quote(optimizer.path()), name, step);
    if (updates.value_or(step) != step)
      fail("{}: '{}' is {}, but {} of others: expected one number of updates",
           quote(optimizer.path()), name, step, *updates);
    updates = step;
  }
  fill(model, weights);
  fill(optimizer, wanted);
  clear(unknown);
  return static_cast<int64_t>(updates.value_or(0));
}

TrainerState steep::loadCheckpoint(const std::string &folder,
                                   const CheckpointTensors &tensors) {
  const fs::path inside(folder);
  const std::string path = (inside / "trainer.json").string();
  const nlohmann::json json =
      readOrPointBack(folder, [&] { return parseJson(readFile(path), path); });
  // Another spec is no damage: another checkpoint would not fit either.
  checkSpec(JsonValue(json, path), path, tensors.manifest);
  return readOrPointBack(folder,
                         [&] { return loadTensors(json, inside, tensors); });
}
