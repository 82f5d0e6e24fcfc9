//===- steep-train.cpp - trains with a compiled optimizer -----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "runtime/Core/Error.h"
#include "runtime/Devices/Supervisor.h"
#include "runtime/Model/WaitPolicy.h"
#include "runtime/Train/Presets.h"
#include "runtime/Train/Replay.h"
#include "runtime/Train/Report.h"
#include "runtime/Train/ShardData.h"
#include "runtime/Train/Trainer.h"
#include "tools/ToolMain.h"

#include <cstdio>
#include <filesystem>
#include <thread>

using namespace steep;

namespace fs = std::filesystem;

/// The shipped spec of this name: beside an installed or a built program, or
/// in the source tree that this program was built from.
static std::string shippedSpec(const std::string &name) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path &folder : {program.parent_path() / "../share/steep/specs",
                                 program.parent_path() / "../../specs",
                                 fs::path(STEEP_SOURCE_DIR) / "specs"})
    if (fs::exists(folder / name))
      return (folder / name).lexically_normal().string();
  fail("--spec is missing, and the shipped {} was not found", name);
}

/// The artefact that was given, or the spec compiled for a model.
static std::unique_ptr<Optimizer> makeOptimizer(const RunConfig &config,
                                                const ModelConfig &sizes) {
  std::unique_ptr<Device> device;
  if (config.device != "host")
    device = openDevice(config.device, static_cast<int>(config.threads));
  if (!config.artefact.empty())
    return loadOptimizer(config.artefact, std::move(device));
  CompileRequest request;
  request.spec = config.spec;
  request.parameters = parametersJson(sizes);
  request.target = device ? device->target(config.target) : config.target;
  const std::string folder = compileArtefact(request);
  return loadOptimizer(folder, std::move(device));
}

//===----------------------------------------------------------------------===//
// --replay
//===----------------------------------------------------------------------===//

static int replay(const Options &options) {
  RunConfig config = options.config;
  const Replay recorded(options.replay);
  if (config.spec.empty() && config.artefact.empty())
    config.spec = shippedSpec(recorded.head() == "adamw" ? "paper_adamw.mlir"
                                                         : "paper.mlir");
  const int64_t threads =
      config.threads ? config.threads
                     : std::max(1u, std::thread::hardware_concurrency());
  if (threads < 1 || threads > 1024)
    fail("--threads {}: expected 1 to 1024", threads);
  const std::unique_ptr<Optimizer> optimizer =
      makeOptimizer(config, recorded.sizes());
  const ReplayResult result =
      recorded.run(*optimizer, static_cast<int>(threads));
  std::fputs(result.json().c_str(), stdout);
  if (options.tolerance && !(result.largest() <= *options.tolerance)) {
    std::fprintf(stderr,
                 "steep-train: the largest relative difference is %g, more "
                 "than --tolerance %g\n",
                 result.largest(), *options.tolerance);
    return 1;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

static std::string plural(int64_t count, const char *what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

static std::string mebibytes(double bytes) {
  return fmt::format("{:.1f} MiB", bytes / (1024 * 1024));
}

static std::string describe(const RunConfig &config, const Manifest &manifest,
                            const std::vector<double> &peaks) {
  const ModelConfig &sizes = config.sizes;
  std::string text = fmt::format(
      "model      {}{} of width {}, {}, vocabulary {}: {} parameters\n",
      config.model.empty() ? "" : config.model + ", ",
      plural(sizes.layers, "block"), sizes.dim, plural(sizes.heads, "head"),
      sizes.vocab, parameterCount(sizes));
  text += fmt::format("updates    {} of {} x {} ({} at a time), warm-up {}\n",
                      config.steps, plural(config.batch, "sequence"),
                      plural(config.seq, "token"), config.microBatch,
                      config.warmup);
  text += fmt::format("optimizer  {} ({}), {}, seed {}\n", manifest.name,
                      config.artefact.empty() ? config.spec : config.artefact,
                      plural(config.threads, "thread"), config.seed);
  return text + routingTable(manifest, peaks);
}

/// What --dry-run adds.
static std::string costs(const RunConfig &config, const Manifest &manifest) {
  const double weights =
      4.0 * static_cast<double>(parameterCount(config.sizes));
  double states = 0;
  for (const Manifest::Parameter &parameter : manifest.parameters)
    for (const Manifest::State &state : parameter.states)
      states +=
          4.0 * static_cast<double>(elementCount(state.shape).value_or(0));
  return fmt::format(
      "memory     weights {}, gradients {}, states {}, workspace {}, and the "
      "activations\n"
      "work       {:.4g} floating-point operations an update in the model\n",
      mebibytes(weights), mebibytes(weights), mebibytes(states),
      mebibytes(static_cast<double>(manifest.workspaceBytes)),
      trainingFlopsPerToken(config.sizes, config.seq) *
          static_cast<double>(config.batchTokens()));
}

/// --dry-run: arithmetic on sizes; neither model nor states are made, so that
/// it also answers for those that do not fit.
static int describeOnly(RunConfig config, const Manifest &manifest) {
  matchParameters(manifest, config.sizes);
  config.warmup = makeSchedule(manifest, config.steps, config.warmup).warmup;
  const std::vector<double> peaks =
      peakRates(manifest, config.sizes.dim, !config.model.empty(), config.lr);
  std::fputs(
      (describe(config, manifest, peaks) + costs(config, manifest)).c_str(),
      stdout);
  return 0;
}

static RunConfig resolveRun(const Options &options) {
  RunConfig config = options.config;
  if (config.model.empty() && config.sizes.dim == 0)
    fail("--model is missing (or --dim, --layers, --vocab, --context, --steps, "
         "--batch); --help lists the options");
  config.resolve();
  if (config.out.empty() && !options.dryRun)
    fail("--out is missing: the folder for metrics, checkpoints and plots");
  if (config.data.empty())
    fail("--data is missing: the folder with token shards (see steep-data)");
  if (config.spec.empty() && config.artefact.empty())
    config.spec = shippedSpec("paper.mlir");
  if (config.artefact.empty() && !fs::is_regular_file(config.spec))
    fail("--spec {}: there is no such file", config.spec);
  for (std::string *path : {&config.spec, &config.artefact, &config.data})
    if (!path->empty())
      *path = fs::absolute(*path).lexically_normal().string();
  return config;
}

/// The weights after the last applied update gave gradients that are not
/// finite: what can be trusted is a checkpoint from before it.
[[noreturn]] static void failNonFinite(const Trainer &trainer) {
  const int64_t step = trainer.lastApplied().step;
  const fs::path out(trainer.config().out);
  const std::string before = checkpointBefore(out.string(), step);
  const std::string own = (out / checkpointName(step)).string();
  const std::string text = fmt::format(
      "{} gradients in a row were not finite, the first with the weights after "
      "step {}; the last checkpoint before them is {}",
      trainer.state().skippedInARow, step, before.empty() ? "none" : before);
  if (before.empty() || !fs::exists(own))
    fail("{}", text);
  fail("{}; without {}, --resume goes on from there", text, own);
}

static int finish(const Trainer &trainer, RunStatus status) {
  const std::string out = trainer.config().out;
  const std::vector<std::string> checkpoints = listCheckpoints(out);
  const std::string last = checkpoints.empty() ? "none" : checkpoints.back();
  switch (status) {
  case RunStatus::Complete:
    std::printf("Done: metrics, plots and summary.json are in %s, the weights "
                "in %s.\n",
                out.c_str(), last.c_str());
    return 0;
  case RunStatus::StopAt:
    std::printf("Stopped after step %lld; checkpoint: %s.\n",
                static_cast<long long>(trainer.state().step), last.c_str());
    return 0;
  case RunStatus::Interrupted:
    std::fprintf(stderr,
                 "steep-train: interrupted after step %lld; checkpoint: %s; "
                 "--resume continues\n",
                 static_cast<long long>(trainer.state().step), last.c_str());
    return 128 + trainer.signal();
  case RunStatus::NonFinite:
    failNonFinite(trainer);
  }
  return 1;
}

static int train(Options &options) {
  const RunConfig config = resolveRun(options);
  Progress progress(progressMode(options.progress, stdout), stdout);
  if (!options.resume && !options.dryRun) {
    options.folder = std::make_unique<RunFolder>(config.out);
    if (options.folder->checkFresh())
      progress.note(fmt::format("{}: the run there ended before its first "
                                "checkpoint; starting it over",
                                config.out));
  }
  auto data = std::make_unique<ShardData>(config);
  if (config.artefact.empty())
    progress.note(
        fmt::format("Compiling {} (or taking it from the cache)", config.spec));
  std::unique_ptr<Optimizer> optimizer = makeOptimizer(config, config.sizes);
  if (options.dryRun)
    return describeOnly(config, optimizer->manifest());
  if (config.valEvery > 0 &&
      data->validationSequences() / config.batch < config.valBatches)
    progress.note(fmt::format(
        "--val-batches {} of {} sequences: the validation shards hold {}, and "
        "each validation takes them all",
        config.valBatches, config.batch,
        plural(data->validationSequences(), "sequence")));
  Trainer trainer(config, std::move(optimizer), std::move(data), progress);
  if (options.resume)
    trainer.restore(options.checkpoint);
  if (!options.start.empty())
    trainer.start(options.start);
  progress.note(
      describe(trainer.config(), trainer.manifest(), trainer.peakRates()));
  if (trainer.state().unverified)
    progress.note(fmt::format("{}: an older version wrote it, without digests: "
                              "its files are taken as they are",
                              options.checkpoint));
  if (!options.start.empty())
    progress.note(fmt::format("Starting after update {} from {}",
                              trainer.state().step, options.start));
  if (options.resume)
    progress.note(fmt::format("Resuming after step {} from {}",
                              trainer.state().step, options.checkpoint));
  return finish(trainer, trainer.run());
}

static int run(Options &options) {
  if (!options.replay.empty())
    return replay(options);
  if (!options.compare.empty()) {
    if (options.config.out.empty())
      fail("--compare needs --out DIR for its plots");
    std::fputs(compareRuns(options.compare, options.config.out).c_str(),
               stdout);
    return 0;
  }
  return train(options);
}

/// An error is one line on stderr and status 1.
static int reportErrors(const std::function<int()> &body) {
  try {
    return outputStatus("steep-train", body());
  } catch (const std::exception &error) {
    std::fflush(stdout);
    std::fprintf(stderr, "steep-train: error: %s\n", error.what());
    return 1;
  }
}

int main(int argc, char **argv) {
  limitSpinning(argv);
  return reportErrors([&] {
    Options options;
    if (const std::optional<int> status = parseOptions(argc, argv, options))
      return *status;
    return runForDevice(options.config.device, [&] {
      return reportErrors([&] { return run(options); });
    });
  });
}
