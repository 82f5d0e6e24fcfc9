//===- Trainer.h - the training loop ----------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One step: a batch through the model in micro-batches, the compiled update,
// the measurements that are due, one line of metrics. The same configuration
// and the same number of threads give the same bits, also across a stop and a
// resume.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_TRAINER_H
#define STEEP_RUNTIME_TRAIN_TRAINER_H

#include "runtime/Core/ThreadPool.h"
#include "runtime/Model/Model.h"
#include "runtime/Train/Checkpoint.h"
#include "runtime/Train/Optimizer.h"
#include "runtime/Train/Progress.h"
#include "runtime/Train/RunConfig.h"
#include "runtime/Train/Schedule.h"
#include "runtime/Train/TrainingData.h"

#include <memory>
#include <string>
#include <vector>

namespace steep {

/// How a run ended.
enum class RunStatus {
  Complete,
  StopAt,      ///< --stop-at was reached
  Interrupted, ///< SIGINT, SIGTERM or SIGHUP; a checkpoint was written
  NonFinite    ///< three non-finite gradients in a row
};

/// "complete", "stopped", "interrupted" or "nonfinite", as in summary.json.
const char *nameOf(RunStatus status);

/// A table of the groups: parameters, rule, rate, decay, bytes of state.
std::string routingTable(const Manifest &manifest,
                         const std::vector<double> &peaks);

/// A model with its optimizer, and the loop that trains it.
class Trainer {
public:
  /// A fresh run: parameters drawn from the seed, states zero. `config` must be
  /// resolved. Nothing is written before run().
  Trainer(const RunConfig &config, std::unique_ptr<Optimizer> optimizer,
          std::unique_ptr<TrainingData> data, Progress &progress);
  ~Trainer();

  /// Continues a saved run.
  void restore(const std::string &checkpoint);
  /// Begins where another trainer ended: at the weights, states and number of
  /// updates of a folder (loadStart), after as many batches.
  void start(const std::string &folder);
  /// Trains to the end, or to the first reason to stop, and leaves metrics,
  /// checkpoints, plots and summary in config.out.
  RunStatus run();

  const RunConfig &config() const { return options; }
  const Model &model() const { return *network; }
  const TrainerState &state() const { return counters; }
  const std::vector<double> &peakRates() const { return peaks; }
  const Manifest &manifest() const { return optimizer->manifest(); }
  /// After the last update that was applied.
  const TrainerState &lastApplied() const { return lastGood; }
  /// The signal that interrupted run(), or 0.
  int signal() const { return stopSignal; }

private:
  /// What became of a step.
  enum class Outcome { Done, Interrupted, NonFinite };

  Outcome takeStep(class MetricsLog &log);
  /// Loss of the next batch, gradients in the model; false where a signal
  /// came.
  bool forwardBackward(double &loss);
  StepResult update(double scale, bool wantIncrement);
  void measure(StepMetrics &metrics);
  void measureHilbert(StepMetrics &metrics);
  void measureOracle(StepMetrics &metrics);
  void takeMeasures(StepMetrics &metrics) const;
  bool measurementDue(int64_t step) const;
  /// Mean loss over the validation sequences; nothing where a signal came.
  std::optional<double> validate();
  bool validationDue(int64_t step) const;
  /// Keeps `extra` checkpoints more than the configuration says.
  void save(const TrainerState &state, int64_t extra = 0);
  /// Saves, unless the weights or the loss say that this is not worth keeping.
  void savePeriodically();
  bool weightsAreFinite() const;
  void prepareFolder() const;
  CheckpointTensors tensors() const;
  void writeReport(RunStatus status) const;

  RunConfig options;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<TrainingData> data;
  Progress &progress;
  std::unique_ptr<Model> network;
  ThreadPool pool;
  RateSchedule schedule;
  std::vector<double> peaks;
  StepArguments arguments;
  Tensor increment;       ///< S_t of the head, where it was asked for
  int64_t headIndex = -1; ///< of the head in the manifest
  std::vector<int32_t> inputs, targets;
  TrainerState counters;
  int stopSignal = 0;
  bool beginMetrics = false; ///< the metrics begin at a later step than 1
  TrainerState lastGood;     ///< after the last applied update
  double lastLoss = 0;
};

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_TRAINER_H
