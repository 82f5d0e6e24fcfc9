//===- Report.cpp - plots, summaries and comparisons ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/Report.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Core/Json.h"
#include "runtime/Train/Metrics.h"
#include "runtime/Train/Plot.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

using namespace steep;

namespace fs = std::filesystem;
/// Keys stay in the order in which they are set.
using Json = nlohmann::ordered_json;

namespace {

/// A run, as its folder tells it.
struct Run {
  std::string name;
  Json config; ///< null where config.json is missing
  std::vector<StepMetrics> metrics;
};

using Value = std::optional<double> (*)(const StepMetrics &);

std::optional<double> lossOf(const StepMetrics &m) { return m.loss; }
std::optional<double> valLossOf(const StepMetrics &m) { return m.valLoss; }
std::optional<double> diameterOf(const StepMetrics &m) {
  return m.headDiameter;
}
std::optional<double> hilbertOf(const StepMetrics &m) { return m.hilbertRms; }

/// The last value that was measured.
std::optional<double> last(const Run &run, Value value) {
  for (auto m = run.metrics.rbegin(); m != run.metrics.rend(); ++m)
    if (value(*m))
      return value(*m);
  return std::nullopt;
}

Series makeSeries(const Run &run, Value value, const std::string &name,
                  int color, bool dashed = false) {
  Series series;
  series.name = name;
  series.color = color;
  series.dashed = dashed;
  for (const StepMetrics &m : run.metrics)
    if (value(m))
      series.points.emplace_back(static_cast<double>(m.step), *value(m));
  return series;
}

/// A file name and the plot that goes into it.
using NamedPlots = std::vector<std::pair<std::string, Plot>>;

NamedPlots makePlots(const std::vector<Run> &runs) {
  Plot loss{"Loss", "step", "cross entropy (nats)", false, {}};
  Plot diameter{
      "Row diameter of the head's increment", "step", "D(S_t)", true, {}};
  Plot hilbert{
      "Change of the next-token distribution", "step", "Hilbert RMS", true, {}};
  int color = 0;
  for (const Run &run : runs) {
    const std::string prefix = runs.size() > 1 ? run.name + ": " : "";
    loss.series.push_back(makeSeries(run, lossOf, prefix + "training", color));
    Series val = makeSeries(run, valLossOf, prefix + "validation", color, true);
    if (!val.points.empty())
      loss.series.push_back(std::move(val));
    const std::string own = runs.size() > 1 ? run.name : "head";
    diameter.series.push_back(makeSeries(run, diameterOf, own, color));
    hilbert.series.push_back(makeSeries(run, hilbertOf, own, color));
    ++color;
  }
  return {{"loss.svg", std::move(loss)},
          {"head_diameter.svg", std::move(diameter)},
          {"hilbert_rms.svg", std::move(hilbert)}};
}

void writePlots(const NamedPlots &plots, const std::string &out) {
  for (const auto &[name, plot] : plots)
    writeFile((fs::path(out) / name).string(), renderSvg(plot));
}

Json orNull(const std::optional<double> &value) {
  return value ? Json(*value) : Json();
}

Run readRun(const std::string &folder) {
  const fs::path metrics = fs::path(folder) / "metrics.jsonl";
  if (!fs::exists(metrics))
    fail("--compare {}: no run is there (metrics.jsonl is missing)", folder);
  Run run;
  // "out/rownorm/" is the run "rownorm".
  fs::path path = fs::absolute(fs::path(folder)).lexically_normal();
  run.name = path.has_filename() ? path.filename().string()
                                 : path.parent_path().filename().string();
  run.metrics = readMetrics(metrics.string());
  if (run.metrics.empty())
    fail("--compare {}: the run has no step yet", folder);
  const fs::path config = fs::path(folder) / "config.json";
  if (fs::exists(config))
    run.config = parseJson(readFile(config.string()), config.string());
  return run;
}

std::string cell(const std::optional<double> &value, const char *format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

/// A column of the comparison.
struct Column {
  const char *title;
  const char *key;
  Value value;
  const char *format;
};

constexpr Column columns[] = {
    {"loss", "loss", lossOf, "{:.4f}"},
    {"val loss", "val_loss", valLossOf, "{:.4f}"},
    {"D(S_t)", "head_diameter", diameterOf, "{:.4e}"},
    {"Hilbert RMS", "hilbert_rms", hilbertOf, "{:.4e}"},
};

/// `value / base` where both are there and base is not 0.
std::optional<double> ratio(const std::optional<double> &value,
                            const std::optional<double> &base) {
  if (!value || !base || *base == 0 || !std::isfinite(*value / *base))
    return std::nullopt;
  return *value / *base;
}

std::string comparisonTable(const std::vector<Run> &runs) {
  std::size_t widest = 12;
  for (const Run &run : runs)
    widest = std::max(widest, run.name.size() + 2);
  auto row = [&](const std::string &name, const std::string &step,
                 const std::vector<std::string> &cells) {
    std::string text = fmt::format("{:<{}} {:>8}", name, widest, step);
    for (const std::string &value : cells)
      text += fmt::format(" {:>12}", value);
    return text + "\n";
  };
  std::vector<std::string> cells;
  for (const Column &column : columns)
    cells.push_back(column.title);
  std::string table = row("run", "steps", cells);
  for (const Run &run : runs) {
    cells.clear();
    for (const Column &column : columns)
      cells.push_back(cell(last(run, column.value), column.format));
    table += row(run.name, fmt::format("{}", run.metrics.back().step), cells);
  }
  for (std::size_t i = 1; i < runs.size(); ++i) {
    cells.clear();
    for (const Column &column : columns)
      cells.push_back(
          cell(ratio(last(runs[i], column.value), last(runs[0], column.value)),
               "x {:.4g}"));
    table += row(runs.size() == 2 ? "ratio" : runs[i].name + "/1", "", cells);
  }
  return table;
}

/// A line where the runs are not equally long; else nothing.
std::string unequalLengths(const std::vector<Run> &runs) {
  auto steps = [](const Run &run) { return run.metrics.back().step; };
  std::string lengths;
  bool equal = true;
  for (const Run &run : runs) {
    equal &= steps(run) == steps(runs[0]);
    lengths += fmt::format("{}{} {}", lengths.empty() ? "" : ", ", run.name,
                           steps(run));
  }
  return equal ? ""
               : "The runs differ in their number of steps (" + lengths +
                     "): their last values do not compare like with like.\n";
}

/// What sets a run apart besides its optimizer: a line where the runs do not
/// agree, and one for metrics that begin late; else nothing.
std::string otherDifferences(const std::vector<Run> &runs) {
  std::string text, keys;
  for (const char *key : {"dim", "layers", "heads", "vocab", "context", "batch",
                          "seq", "seed", "data"}) {
    std::string values;
    bool equal = true;
    for (const Run &run : runs) {
      // What a run does not say is no difference.
      if (!run.config.is_object() || !run.config.contains(key) ||
          !runs[0].config.is_object() || !runs[0].config.contains(key))
        continue;
      equal &= run.config[key] == runs[0].config[key];
      values += (values.empty() ? "" : ", ") + run.config[key].dump();
    }
    if (!equal)
      keys += fmt::format("{}{} ({})", keys.empty() ? "" : ", ", key, values);
  }
  if (!keys.empty())
    text += "The runs differ in more than the optimizer: " + keys + ".\n";
  for (const Run &run : runs)
    if (run.metrics.front().step != 1)
      text += fmt::format("The metrics of {} begin at step {}.\n", run.name,
                          run.metrics.front().step);
  return text;
}

/// Where comparison and plots go: not over those of a run.
void checkOut(const std::vector<std::string> &folders, const std::string &out) {
  std::error_code ignored;
  for (const std::string &folder : folders)
    if (fs::equivalent(folder, out, ignored))
      fail("--out {}: it is one of the runs, whose own plots would be "
           "overwritten",
           out);
  if (fs::exists(fs::path(out) / "metrics.jsonl", ignored))
    fail("--out {}: a run is there, whose own plots would be overwritten", out);
}

/// The two sentences that a reader of the paper looks for.
std::string verdict(const std::vector<Run> &runs) {
  std::string text;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    for (const Column &column : {columns[2], columns[3]}) {
      const auto first = last(runs[0], column.value);
      const auto other = last(runs[i], column.value);
      const auto factor = ratio(other, first);
      if (!factor || *factor == 0)
        continue;
      const bool smaller = *factor >= 1;
      if (fmt::format("{:.1f}", smaller ? *factor : 1 / *factor) == "1.0") {
        text += fmt::format("The final {} of {} and {} are {}.\n", column.title,
                            runs[0].name, runs[i].name,
                            *factor == 1 ? "equal" : "nearly equal");
        continue;
      }
      text += fmt::format("The final {} of {} is {:.1f} times smaller than "
                          "that of {}.\n",
                          column.title, smaller ? runs[0].name : runs[i].name,
                          smaller ? *factor : 1 / *factor,
                          smaller ? runs[i].name : runs[0].name);
    }
    const auto a = last(runs[0], valLossOf), b = last(runs[i], valLossOf);
    if (a && b && std::isfinite(*a) && std::isfinite(*b) && *b != 0)
      text += fmt::format("Their validation losses differ by {:.4f} ({:.2f} "
                          "%).\n",
                          std::fabs(*a - *b), 100 * std::fabs(*a / *b - 1));
  }
  return text;
}

} // namespace

void steep::writeRunReport(const std::string &out, const RunSummary &summary) {
  Run run{"run", Json(),
          readMetrics((fs::path(out) / "metrics.jsonl").string())};
  Json json;
  json["status"] = summary.status;
  json["step"] = run.metrics.empty() ? 0 : run.metrics.back().step;
  json["steps"] = summary.steps;
  json["tokens"] = run.metrics.empty() ? 0 : run.metrics.back().tokens;
  json["updates"] = summary.updates;
  json["skipped"] = summary.skipped;
  json["parameters"] = summary.parameters;
  json["threads"] = summary.threads;
  json["seconds"] = summary.seconds;
  for (const Column &column : columns)
    json[column.key] = orNull(last(run, column.value));
  json["lr"] = Json::object();
  for (const auto &[group, rate] : summary.lr)
    json["lr"][group] = rate;
  writeFile((fs::path(out) / "summary.json").string(), json.dump(2) + "\n");
  writePlots(makePlots({run}), out);
}

std::string steep::compareRuns(const std::vector<std::string> &folders,
                               const std::string &out) {
  if (folders.size() < 2)
    fail("--compare expects at least two runs' folders, got {}",
         folders.size());
  std::vector<Run> runs;
  for (const std::string &folder : folders)
    runs.push_back(readRun(folder));
  checkOut(folders, out);
  // Runs of one name are told apart by number.
  std::map<std::string, int> seen;
  for (Run &run : runs)
    if (int number = ++seen[run.name]; number > 1)
      run.name += fmt::format(" ({})", number);

  const std::string text = comparisonTable(runs) + "\n" + unequalLengths(runs) +
                           otherDifferences(runs) + verdict(runs);
  std::error_code error;
  fs::create_directories(out, error);
  if (error)
    fail("--out {}: cannot be made: {}", out, error.message());
  Json json = Json::array();
  for (const Run &run : runs) {
    Json entry;
    entry["run"] = run.name;
    entry["step"] = run.metrics.back().step;
    for (const Column &column : columns) {
      entry[column.key] = orNull(last(run, column.value));
      entry[std::string(column.key) + "_ratio"] =
          orNull(ratio(last(run, column.value), last(runs[0], column.value)));
    }
    json.push_back(std::move(entry));
  }
  writeFile((fs::path(out) / "comparison.json").string(), json.dump(2) + "\n");
  writeFile((fs::path(out) / "comparison.txt").string(), text);
  writePlots(makePlots(runs), out);
  return text;
}
