//===- Metrics.cpp - metrics.jsonl ----------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/Metrics.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Core/Json.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

using namespace steep;

/// Keys stay in the order in which they are set.
using Json = nlohmann::ordered_json;

std::string StepMetrics::json() const {
  Json json;
  json["step"] = step;
  json["tokens"] = tokens;
  json["loss"] = loss;
  json["grad_norm"] = gradNorm;
  json["lr_scale"] = lrScale;
  json["seconds"] = seconds;
  json["tokens_per_s"] = tokensPerS;
  json["skipped"] = skipped;
  if (!nonfinite.empty())
    json["nonfinite"] = nonfinite;
  if (valLoss)
    json["val_loss"] = *valLoss;
  if (headDiameter)
    json["head_diameter"] = *headDiameter;
  if (hilbertRms)
    json["hilbert_rms"] = *hilbertRms;
  return json.dump();
}

/// A number that must be there; null stands for one that is not finite.
static double numberAt(const JsonValue &value, const char *key) {
  value.at(key);
  const std::optional<JsonValue> number = value.find(key);
  return number ? number->number() : std::numeric_limits<double>::quiet_NaN();
}

StepMetrics StepMetrics::parse(const std::string &line,
                               const std::string &origin) {
  const nlohmann::json json = parseJson(line, origin);
  const JsonValue value(json, origin);
  StepMetrics metrics;
  metrics.step = value.at("step").integer();
  metrics.tokens = value.at("tokens").integer();
  metrics.loss = numberAt(value, "loss");
  metrics.gradNorm = numberAt(value, "grad_norm");
  metrics.lrScale = numberAt(value, "lr_scale");
  metrics.seconds = numberAt(value, "seconds");
  metrics.tokensPerS = numberAt(value, "tokens_per_s");
  metrics.skipped = value.at("skipped").boolean();
  if (json.contains("nonfinite"))
    metrics.nonfinite = value.at("nonfinite").string();
  if (json.contains("val_loss"))
    metrics.valLoss = numberAt(value, "val_loss");
  if (json.contains("head_diameter"))
    metrics.headDiameter = numberAt(value, "head_diameter");
  if (json.contains("hilbert_rms"))
    metrics.hilbertRms = numberAt(value, "hilbert_rms");
  return metrics;
}

std::vector<StepMetrics> steep::readMetrics(const std::string &path) {
  const std::string text = readFile(path);
  std::vector<StepMetrics> lines;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos;
       end = text.find('\n', begin)) {
    const std::string origin = fmt::format("{}:{}", path, lines.size() + 1);
    lines.push_back(
        StepMetrics::parse(text.substr(begin, end - begin), origin));
    begin = end + 1;
  }
  return lines;
}

MetricsLog::MetricsLog(const std::string &path, int64_t keep) : path(path) {
  if (std::filesystem::exists(path)) {
    std::string kept;
    for (const StepMetrics &line : readMetrics(path))
      if (line.step <= keep)
        kept += line.json() + "\n";
    writeFile(path, kept);
  }
  file.reset(std::fopen(path.c_str(), "a"));
  if (!file)
    fail("{}: cannot be opened for writing: {}", quote(path),
         std::strerror(errno));
}

void MetricsLog::append(const StepMetrics &metrics) {
  const std::string line = metrics.json() + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file.get()) != line.size() ||
      std::fflush(file.get()) != 0)
    fail("{}: cannot be written: {}", quote(path), std::strerror(errno));
}
