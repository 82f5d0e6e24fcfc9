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

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <unistd.h>

using namespace steep;

/// Keys stay in the order in which they are set.
using Json = nlohmann::ordered_json;

/// Numbers that a line holds where they were measured, in their order.
static constexpr std::pair<const char *, std::optional<double> StepMetrics::*>
    optionalNumbers[] = {{"val_loss", &StepMetrics::valLoss},
                         {"head_diameter", &StepMetrics::headDiameter},
                         {"hilbert_rms", &StepMetrics::hilbertRms},
                         {"head_decrease", &StepMetrics::headDecrease},
                         {"head_certificate", &StepMetrics::headCertificate},
                         {"head_gap", &StepMetrics::headGap}};

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
  for (const auto &[key, member] : optionalNumbers)
    if (const std::optional<double> &number = this->*member)
      json[key] = *number;
  for (const auto &[parameter, numbers] : measures)
    for (const auto &[name, number] : numbers)
      json["measures"][parameter][name] = number;
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
  for (const auto &[key, member] : optionalNumbers)
    if (json.contains(key))
      metrics.*member = numberAt(value, key);
  if (json.contains("measures"))
    for (const auto &[parameter, numbers] : json["measures"].items())
      for (const auto &item : numbers.items())
        metrics.measures[parameter][item.key()] =
            numberAt(value.at("measures").at(parameter), item.key().c_str());
  return metrics;
}

/// Calls visit(line, origin, end) for each whole line, `end` being where the
/// next one begins, until it returns false.
template <typename Visit>
static void forEachLine(const std::string &path, const std::string &text,
                        Visit &&visit) {
  std::size_t begin = 0, count = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos;
       end = text.find('\n', begin)) {
    const std::string origin = fmt::format("{}:{}", path, ++count);
    if (!visit(text.substr(begin, end - begin), origin, end + 1))
      return;
    begin = end + 1;
  }
}

std::vector<StepMetrics> steep::readMetrics(const std::string &path) {
  const std::string text = readFile(path);
  std::vector<StepMetrics> lines;
  forEachLine(path, text,
              [&](const std::string &line, const std::string &origin, auto) {
                lines.push_back(StepMetrics::parse(line, origin));
                return true;
              });
  return lines;
}

/// How much of a metrics file is of steps up to `keep`. What a checkpoint
/// counts as done must be there as it was written.
static std::size_t keptBytes(const std::string &path, const std::string &text,
                             int64_t keep) {
  std::size_t kept = 0;
  std::optional<int64_t> last;
  forEachLine(
      path, text,
      [&](const std::string &line, const std::string &origin, std::size_t end) {
        if (last.value_or(0) >= keep)
          return false;
        const int64_t step = StepMetrics::parse(line, origin).step;
        if (last && step != *last + 1)
          fail("{}: step is {}, but {} is expected", quote(origin), step,
               *last + 1);
        if (step > keep)
          return false;
        last = step;
        kept = end;
        return true;
      });
  const std::size_t line = 1 + static_cast<std::size_t>(std::count(
                                   text.begin(), text.begin() + kept, '\n'));
  if (last.value_or(keep) < keep || (!last && keep > 0 && kept < text.size() &&
                                     text.find('\n') == std::string::npos))
    fail("{}: {}, but the lines up to step {} are expected, where the "
         "checkpoint was made",
         quote(fmt::format("{}:{}", path, line)),
         kept < text.size() ? "the line is cut off" : "the file ends here",
         keep);
  return kept;
}

MetricsLog::MetricsLog(const std::string &path, int64_t keep) : path(path) {
  if (std::filesystem::exists(path)) {
    const std::string text = readFile(path);
    const std::size_t kept = keptBytes(path, text, keep);
    if (kept < text.size())
      writeFile(path, text.substr(0, kept));
  } else if (keep > 0) {
    fail("{}: it is missing, but the lines up to step {} are expected, where "
         "the checkpoint was made; an empty file in its place begins it anew",
         quote(path), keep);
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

void MetricsLog::sync() {
  // Some file systems cannot; that is no error of ours.
  if (::fsync(fileno(file.get())) != 0 && errno != EINVAL)
    fail("{}: cannot be written: {}", quote(path), std::strerror(errno));
}
