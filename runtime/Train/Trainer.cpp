//===- Trainer.cpp - the training loop ------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/Trainer.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Geometry/Measure.h"
#include "runtime/Geometry/StepQuality.h"
#include "runtime/Train/Metrics.h"
#include "runtime/Train/Presets.h"
#include "runtime/Train/Report.h"
#include "runtime/Train/Signals.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>

using namespace steep;

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Non-finite gradients in a row that end a run.
static constexpr int64_t maxSkippedInARow = 3;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

const char *steep::nameOf(RunStatus status) {
  switch (status) {
  case RunStatus::Complete:
    return "complete";
  case RunStatus::StopAt:
    return "stopped";
  case RunStatus::Interrupted:
    return "interrupted";
  case RunStatus::NonFinite:
    return "nonfinite";
  }
  return "";
}

TrainingData::~TrainingData() = default;

/// Measures that a run asks for and that no rule of its spec has.
static void checkMeasures(const RunConfig &options, const Manifest &manifest) {
  const bool hasGuarantee = std::any_of(
      manifest.parameters.begin(), manifest.parameters.end(),
      [](const Manifest::Parameter &p) { return p.guarantee.has_value(); });
  if (options.measuresEvery > 0 && manifest.measures.empty() && !hasGuarantee)
    fail("--measures-every: no rule of the spec {} yields measures",
         quote(manifest.name));
}

Trainer::Trainer(const RunConfig &config, std::unique_ptr<Optimizer> compiled,
                 std::unique_ptr<TrainingData> batches, Progress &progress)
    : options(config), optimizer(std::move(compiled)), data(std::move(batches)),
      progress(progress), pool(static_cast<int>(config.threads)) {
  const Manifest &manifest = optimizer->manifest();
  checkMeasures(options, manifest);
  const std::vector<std::size_t> order =
      matchParameters(manifest, options.sizes);
  schedule = makeSchedule(manifest, options.steps, options.warmup);
  options.warmup = schedule.warmup;
  peaks = steep::peakRates(manifest, options.sizes.dim, !options.model.empty(),
                           options.lr);

  network =
      std::make_unique<Model>(options.sizes, static_cast<int>(options.threads));
  network->initialise(static_cast<uint64_t>(options.seed));
  for (std::size_t i = 0; i < order.size(); ++i) {
    arguments.parameters.push_back(network->parameters()[order[i]]);
    arguments.gradients.push_back(network->gradients()[order[i]]);
    if (manifest.parameters[i].name == "lm_head.weight")
      headIndex = static_cast<int64_t>(i);
  }
  arguments.states = optimizer->makeStates();
  for (const Manifest::Group &group : manifest.groups)
    arguments.wd.push_back(group.wd);
  inputs.resize(options.batchTokens());
  targets.resize(options.batchTokens());
  counters.data = data->position();
  lastGood = counters;
}

Trainer::~Trainer() = default;

CheckpointTensors Trainer::tensors() const {
  CheckpointTensors all{optimizer->manifest(), {}, arguments.states};
  for (std::size_t i = 0; i < network->specs().size(); ++i)
    all.parameters.emplace_back(network->specs()[i].name,
                                network->parameters()[i]);
  return all;
}

void Trainer::restore(const std::string &checkpoint) {
  counters = loadCheckpoint(checkpoint, tensors());
  if (counters.step > options.steps)
    fail("{}: the checkpoint is of step {}, but the run has {} steps",
         quote(checkpoint), counters.step, options.steps);
  optimizer->hostChanged();
  data->restore(counters.data);
  lastGood = counters;
}

void Trainer::start(const std::string &folder) {
  const int64_t updates = loadStart(folder, tensors());
  if (updates > options.steps)
    fail("{}: it has seen {} updates, but the run has {} steps", quote(folder),
         updates, options.steps);
  optimizer->hostChanged();
  for (int64_t i = 0; i < updates; ++i)
    data->next(inputs.data(), targets.data());
  counters.step = counters.updates = updates;
  counters.tokens = updates * options.batchTokens();
  counters.data = data->position();
  lastGood = counters;
  beginMetrics = true;
}

void Trainer::save(const TrainerState &state, int64_t extra) {
  optimizer->fetchStates(arguments);
  saveCheckpoint(options, state, tensors(), extra);
}

bool Trainer::weightsAreFinite() const {
  for (const Tensor &tensor : network->parameters()) {
    bool finite = true;
    for (int64_t i = 0; i < tensor.count(); ++i)
      finite &= std::isfinite(tensor.f32()[i]);
    if (!finite)
      return false;
  }
  return true;
}

void Trainer::savePeriodically() {
  const bool good = counters.skippedInARow == 0 && std::isfinite(lastLoss) &&
                    weightsAreFinite();
  if (good)
    save(counters);
  else
    progress.note(fmt::format("step {}: no checkpoint: {}", counters.step,
                              counters.skippedInARow > 0
                                  ? "the update was skipped"
                                  : "weights or loss are not finite"),
                  /*always=*/true);
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

bool Trainer::forwardBackward(double &loss) {
  data->next(inputs.data(), targets.data());
  const int64_t parts = options.microBatches();
  const int64_t tokens = options.microBatch * options.seq;
  loss = 0;
  for (int64_t part = 0; part < parts; ++part) {
    // Weights are untouched so far: the batch can be given up.
    if (StopSignals::received())
      return false;
    loss += network->forwardBackward(inputs.data() + part * tokens,
                                     targets.data() + part * tokens,
                                     options.microBatch, options.seq,
                                     1.0 / static_cast<double>(parts),
                                     /*accumulate=*/part > 0) /
            static_cast<double>(parts);
  }
  return true;
}

StepResult Trainer::update(double scale, bool wantIncrement) {
  arguments.lr.clear();
  for (double peak : peaks)
    arguments.lr.push_back(peak * scale);
  arguments.step = counters.updates + 1;
  arguments.updates.clear();
  if (wantIncrement && headIndex >= 0) {
    if (increment.empty())
      increment = Tensor(DType::F32, arguments.parameters[headIndex].shape());
    arguments.updates.resize(arguments.parameters.size());
    arguments.updates[headIndex] = increment;
  }
  return optimizer->step(arguments, &pool);
}

static bool due(int64_t step, int64_t every, int64_t last) {
  return every > 0 && (step % every == 0 || step == last);
}

bool Trainer::validationDue(int64_t step) const {
  return due(step, options.valEvery, options.steps) &&
         data->validationSequences() > 0;
}

bool Trainer::measurementDue(int64_t step) const {
  return due(step, options.diameterEvery, options.steps) ||
         due(step, options.hilbertEvery, options.steps) ||
         due(step, options.oracleEvery, options.steps);
}

/// The increment that was just applied.
void Trainer::measure(StepMetrics &metrics) {
  if (headIndex < 0)
    return;
  if (due(metrics.step, options.diameterEvery, options.steps))
    metrics.headDiameter = rowDiameter(increment, &pool);
  if (due(metrics.step, options.hilbertEvery, options.steps))
    measureHilbert(metrics);
  if (due(metrics.step, options.oracleEvery, options.steps))
    measureOracle(metrics);
}

/// What the rules measured of the step that was just taken, and what relaxed
/// geometries promise of every step.
void Trainer::takeMeasures(StepMetrics &metrics) const {
  const Manifest &manifest = optimizer->manifest();
  for (const Manifest::Parameter &parameter : manifest.parameters)
    if (parameter.guarantee)
      metrics.measures[parameter.name]["guarantee"] = *parameter.guarantee;
  for (std::size_t i = 0; i < arguments.measures.size(); ++i) {
    const Manifest::Measure &measure = manifest.measures[i];
    metrics.measures[measure.matrix()][measure.name] = arguments.measures[i];
  }
}

/// The step against the exact row-diameter oracle. What the head's oracle was
/// fed is its average of gradients, up to a positive factor, or the gradient
/// where there is none; a rule of another kind (AdamW) has no such direction,
/// and is compared on the gradient, too.
void Trainer::measureOracle(StepMetrics &metrics) {
  const Manifest &manifest = optimizer->manifest();
  std::size_t first = 0;
  for (int64_t i = 0; i < headIndex; ++i)
    first += manifest.parameters[i].states.size();
  const Tensor &gradient = arguments.gradients[headIndex];
  Tensor direction = gradient;
  const auto &states = manifest.parameters[headIndex].states;
  const auto averages = std::count_if(
      states.begin(), states.end(),
      [](const Manifest::State &state) { return !state.isMean(); });
  if (averages == 1 &&
      (states[0].convention == "ema" || states[0].convention == "sum"))
    direction = arguments.states[first];
  const StepQuality quality = stepQuality(direction, increment, &pool);
  metrics.headDecrease = firstOrderDecrease(gradient, increment);
  metrics.headCertificate = quality.certificate;
  metrics.headGap = quality.gap;
}

void Trainer::measureHilbert(StepMetrics &metrics) {
  const int64_t sequences =
      std::min(data->validationSequences(),
               (options.hilbertPositions + options.seq - 1) / options.seq);
  if (sequences == 0)
    return;
  std::vector<int32_t> tokens(sequences * options.seq), unused(tokens.size());
  data->validation(0, sequences, tokens.data(), unused.data());
  const Tensor all =
      network->hiddenStates(tokens.data(), sequences, options.seq);
  const int64_t positions = std::min(all.dim(0), options.hilbertPositions);
  Tensor hidden(DType::F32, {positions, all.dim(1)});
  std::memcpy(hidden.data(), all.data(), hidden.bytes());
  metrics.hilbertRms = hilbertRms(increment, hidden, &pool);
}

std::optional<double> Trainer::validate() {
  const int64_t sequences =
      std::min(data->validationSequences(), options.valBatches * options.batch);
  std::vector<int32_t> tokens(options.microBatch * options.seq);
  std::vector<int32_t> wanted(tokens.size());
  double sum = 0;
  for (int64_t first = 0; first < sequences; first += options.microBatch) {
    if (StopSignals::received())
      return std::nullopt;
    progress.status(fmt::format("step {}: validating, sequence {} of {}",
                                counters.step, first, sequences));
    const int64_t count = std::min(options.microBatch, sequences - first);
    data->validation(first, count, tokens.data(), wanted.data());
    sum += network->loss(tokens.data(), wanted.data(), count, options.seq) *
           static_cast<double>(count);
  }
  return sum / static_cast<double>(sequences);
}

Trainer::Outcome Trainer::takeStep(MetricsLog &log) {
  const Clock::time_point begin = Clock::now();
  StepMetrics metrics;
  metrics.step = counters.step + 1;
  if (!forwardBackward(metrics.loss))
    return Outcome::Interrupted;
  lastLoss = metrics.loss;
  metrics.lrScale = schedule.scale(counters.step);
  const bool measured = measurementDue(metrics.step);
  const bool measuresDue =
      due(metrics.step, options.measuresEvery, options.steps);
  arguments.measure = measuresDue && !optimizer->manifest().measures.empty();
  const StepResult result = update(metrics.lrScale, measured);
  metrics.seconds = secondsSince(begin);
  metrics.gradNorm = result.gradNorm;
  metrics.tokensPerS =
      static_cast<double>(options.batchTokens()) / metrics.seconds;
  metrics.tokens = counters.tokens + options.batchTokens();
  metrics.skipped = result.skipped;

  counters.step = metrics.step;
  counters.tokens = metrics.tokens;
  counters.data = data->position();
  if (result.skipped) {
    ++counters.skipped;
    ++counters.skippedInARow;
    metrics.nonfinite = result.nonfiniteParameter < 0
                            ? "unknown"
                            : optimizer->manifest()
                                  .parameters.at(result.nonfiniteParameter)
                                  .name;
    progress.note(fmt::format("step {}: the gradient of {} is not finite; the "
                              "update is skipped ({} in a row)",
                              metrics.step, metrics.nonfinite,
                              counters.skippedInARow),
                  /*always=*/true);
  } else {
    ++counters.updates;
    counters.skippedInARow = 0;
    if (measured)
      measure(metrics);
    if (measuresDue)
      takeMeasures(metrics);
  }
  bool interrupted = false;
  if (validationDue(metrics.step)) {
    metrics.valLoss = validate();
    interrupted = !metrics.valLoss;
  }
  const double wall = secondsSince(begin);
  counters.seconds += wall;
  counters.pending.reset();
  if (interrupted)
    counters.pending = metrics;
  if (!result.skipped)
    lastGood = counters;
  log.append(metrics);
  progress.step(metrics, wall);
  if (counters.skippedInARow >= maxSkippedInARow)
    return Outcome::NonFinite;
  return interrupted ? Outcome::Interrupted : Outcome::Done;
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

void Trainer::prepareFolder() const {
  std::error_code error;
  fs::create_directories(options.out, error);
  if (error)
    fail("--out {}: cannot be made: {}", options.out, error.message());
  const fs::path folder(options.out);
  // What a run left that ended before its first checkpoint.
  if (counters.step == 0)
    fs::remove(folder / "metrics.jsonl");
  writeFile((folder / "config.json").string(), options.json());
}

void Trainer::writeReport(RunStatus status) const {
  RunSummary summary;
  summary.status = nameOf(status);
  summary.parameters = parameterCount(options.sizes);
  summary.threads = options.threads;
  summary.updates = counters.updates;
  summary.skipped = counters.skipped;
  summary.seconds = counters.seconds;
  summary.steps = options.steps;
  for (std::size_t g = 0; g < peaks.size(); ++g)
    summary.lr.emplace_back(optimizer->manifest().groups[g].name, peaks[g]);
  writeRunReport(options.out, summary);
}

RunStatus Trainer::run() {
  StopSignals signals;
  prepareFolder();
  const std::string metrics =
      (fs::path(options.out) / "metrics.jsonl").string();
  if (beginMetrics)
    writeFile(metrics, "");
  // The line of a step whose validation was interrupted is written anew.
  MetricsLog log(metrics, counters.pending ? counters.step - 1 : counters.step);
  progress.begin(counters.step, options.steps);
  RunStatus status = RunStatus::Complete;
  if (counters.pending) {
    StepMetrics metrics = *counters.pending;
    metrics.valLoss = validate();
    log.append(metrics);
    if (metrics.valLoss)
      counters.pending.reset();
    else
      status = RunStatus::Interrupted;
  }
  while (status == RunStatus::Complete && counters.step < options.steps) {
    if (StopSignals::received()) {
      status = RunStatus::Interrupted;
      break;
    }
    if (options.stopAt > 0 && counters.step >= options.stopAt) {
      status = RunStatus::StopAt;
      break;
    }
    const Outcome outcome = takeStep(log);
    if (outcome == Outcome::Interrupted)
      status = RunStatus::Interrupted;
    else if (outcome == Outcome::NonFinite)
      status = RunStatus::NonFinite;
    else if (options.saveEvery > 0 && counters.step % options.saveEvery == 0) {
      log.sync();
      savePeriodically();
    }
  }
  stopSignal = StopSignals::received();
  progress.end();
  log.sync();
  if (status == RunStatus::NonFinite) {
    // Weights and states are those of the last applied update, and so must
    // counters and data position be. It may be the one that went wrong: no
    // older checkpoint makes room for it.
    if (lastGood.step > 0 && weightsAreFinite())
      save(lastGood, /*extra=*/1);
  } else if (counters.step > 0) {
    save(counters, weightsAreFinite() ? 0 : 1);
  }
  writeReport(status);
  return status;
}

std::string steep::routingTable(const Manifest &manifest,
                                const std::vector<double> &peaks) {
  std::string table = fmt::format(
      "  {:<12} {:<10} {:>10} {:>14} {:>10} {:>8} {:>12}\n", "group", "rule",
      "matrices", "parameters", "peak lr", "decay", "state bytes");
  for (std::size_t g = 0; g < manifest.groups.size(); ++g) {
    int64_t matrices = 0, elements = 0, bytes = 0;
    for (const Manifest::Parameter &parameter : manifest.parameters) {
      if (parameter.group != manifest.groups[g].name)
        continue;
      ++matrices;
      elements += elementCount(parameter.shape).value_or(0);
      for (const Manifest::State &state : parameter.states)
        bytes += elementCount(state.shape).value_or(0) *
                 static_cast<int64_t>(sizeof(float));
    }
    table +=
        fmt::format("  {:<12} {:<10} {:>10} {:>14} {:>10.4g} {:>8g} "
                    "{:>12}\n",
                    manifest.groups[g].name, manifest.groups[g].rule, matrices,
                    elements, peaks[g], manifest.groups[g].wd, bytes);
  }
  return table;
}
