//===- Options.cpp - the command line of steep-train ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "runtime/Core/Error.h"
#include "runtime/Train/Checkpoint.h"
#include "tools/ToolMain.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>

using namespace steep;

namespace fs = std::filesystem;

namespace {

/// Options that set a field of RunConfig, and which of them were given.
class Fields {
public:
  Fields(CLI::App &app, RunConfig &config) : app(app), config(config) {}

  template <typename T>
  CLI::Option *add(const std::string &flag, T RunConfig::*field,
                   const std::string &text) {
    return addAt(
        flag, [field](RunConfig &c) -> T & { return c.*field; }, text);
  }
  /// A number that must not be below `least` where it is given.
  void addCount(const std::string &flag, int64_t RunConfig::*field,
                const std::string &text, int64_t least = 1) {
    limits.push_back({add(flag, field, text), least,
                      [this, field] { return config.*field; }});
  }
  CLI::Option *addSize(const std::string &flag, int64_t ModelConfig::*field,
                       const std::string &text) {
    CLI::Option *option = addAt(
        flag, [field](RunConfig &c) -> int64_t & { return c.sizes.*field; },
        text);
    limits.push_back(
        {option, 1, [this, field] { return config.sizes.*field; }});
    return option;
  }
  /// Zero (or -1) stands for "not said": said, it is a mistake.
  void checkGiven() const {
    for (const auto &[option, least, value] : limits)
      if (option->count() > 0 && value() < least)
        fail("{}: expected at least {}, got {}", option->get_name(), least,
             value());
  }
  void copyGiven(RunConfig from, RunConfig &to) const {
    for (const auto &[option, copy] : copies)
      if (option->count() > 0)
        copy(from, to);
  }

private:
  template <typename Access>
  CLI::Option *addAt(const std::string &flag, Access access,
                     const std::string &text) {
    CLI::Option *option = app.add_option(flag, access(config), text);
    copies.emplace_back(option, [access](RunConfig &from, RunConfig &to) {
      access(to) = access(from);
    });
    return option;
  }

  struct Limit {
    CLI::Option *option;
    int64_t least;
    std::function<int64_t()> value;
  };

  CLI::App &app;
  RunConfig &config;
  std::vector<Limit> limits;
  std::vector<
      std::pair<CLI::Option *, std::function<void(RunConfig &, RunConfig &)>>>
      copies;
};

/// "head=1.5e-3".
std::pair<std::string, double> parseRate(const std::string &text) {
  const std::size_t at = text.find('=');
  const char *number = at == std::string::npos ? "" : text.c_str() + at + 1;
  char *end = nullptr;
  const double rate = std::strtod(number, &end);
  if (at == 0 || *number == '\0' || *end != '\0')
    fail("--lr {}: expected GROUP=X, as in --lr head=1.5e-3", text);
  return {text.substr(0, at), rate};
}

void addRunFields(Fields &fields) {
  fields.add("--spec", &RunConfig::spec,
             "optimizer spec (default: specs/paper.mlir)");
  fields.add("--artefact", &RunConfig::artefact,
             "use what steepc wrote into this folder instead of compiling");
  fields.add("--target", &RunConfig::target,
             "steepc's --target (default: native)");
  fields.add("--data", &RunConfig::data,
             "folder with *train*.bin and *val*.bin (see steep-data)");
  fields.add("--out", &RunConfig::out,
             "folder for metrics, checkpoints and plots");
  fields.addCount("--steps", &RunConfig::steps, "updates");
  fields.addCount("--warmup", &RunConfig::warmup,
                  "updates of warm-up (default: as the spec says)", 0);
  fields.addCount("--batch", &RunConfig::batch, "sequences an update");
  fields.addCount("--micro-batch", &RunConfig::microBatch,
                  "sequences that go through the model at a time");
  fields.addCount("--seq", &RunConfig::seq,
                  "tokens a sequence (default: the context)");
  fields.add("--seed", &RunConfig::seed, "of the weights and the shuffle");
  fields.addCount("--threads", &RunConfig::threads, "default: all cores");
  fields.add(
      "--device", &RunConfig::device,
      "where the optimizer's step runs: host, cuda (or cuda:1), or simt, "
      "an emulated GPU (host)");
  fields.add("--val-every", &RunConfig::valEvery,
             "validate every N steps and at the last (100; 0: never)");
  fields.add("--val-batches", &RunConfig::valBatches, "validation batches (8)");
  fields.add("--save-every", &RunConfig::saveEvery,
             "checkpoint every N steps (500; 0: only the last)");
  fields.add("--keep", &RunConfig::keep, "checkpoints to keep (3)");
  fields.add("--diameter-every", &RunConfig::diameterEvery,
             "measure D(S_t) every N steps and at the last (10; 0: never)");
  fields.add("--hilbert-every", &RunConfig::hilbertEvery,
             "measure the Hilbert RMS likewise (500; 0: never)");
  fields.add("--hilbert-positions", &RunConfig::hilbertPositions,
             "validation positions of the Hilbert RMS (8192)");
  fields.add("--oracle-every", &RunConfig::oracleEvery,
             "compare the head's step with the exact row-diameter oracle "
             "likewise: decrease, certificate, and gap where the vocabulary is "
             "small (0: never)");
  fields.add("--measures-every", &RunConfig::measuresEvery,
             "what the spec's rules measure, likewise (0: never)");
  fields.addCount("--stop-at", &RunConfig::stopAt,
                  "save and stop after this step; --resume continues");
}

/// Refuses what `mode` would ignore.
void checkOnly(const CLI::App &app, const std::string &mode,
               std::initializer_list<const char *> taken) {
  for (const CLI::Option *option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->count() > 0 && name != mode &&
        std::find(taken.begin(), taken.end(), name) == taken.end())
      fail("{} has no meaning with {}", name, mode);
  }
}

/// One thing at a time.
void checkModes(const CLI::App &app, const Options &options) {
  const bool replay = !options.replay.empty();
  const bool compare = !options.compare.empty();
  const bool start = !options.start.empty();
  if (int(replay) + int(compare) + int(options.resume) + int(start) > 1)
    fail("--replay, --compare, --resume and --start exclude each other");
  if (!options.config.spec.empty() && !options.config.artefact.empty())
    fail("--spec and --artefact exclude each other: an artefact is a compiled "
         "spec");
  if (replay)
    checkOnly(app, "--replay",
              {"--spec", "--artefact", "--target", "--threads", "--tolerance"});
  if (compare)
    checkOnly(app, "--compare", {"--out"});
  if (options.tolerance && !replay)
    fail("--tolerance needs --replay");
  if (options.tolerance && !(*options.tolerance >= 0))
    fail("--tolerance {}: expected a number >= 0", *options.tolerance);
}

/// Takes the saved configuration, and on top of it what was given.
void resume(Options &options, const Fields &fields) {
  const RunConfig given = options.config;
  if (given.out.empty())
    fail("--resume needs --out DIR, the folder of the run");
  if (!options.dryRun && fs::is_directory(given.out))
    options.folder = std::make_unique<RunFolder>(given.out);
  const std::vector<std::string> checkpoints = listCheckpoints(given.out);
  if (checkpoints.empty())
    fail("--resume: there is no complete checkpoint in {}{}", given.out,
         fs::exists(fs::path(given.out) / "config.json")
             ? "; the same command without --resume starts the run over"
             : "");
  options.checkpoint = checkpoints.back();
  const RunConfig saved = readCheckpointConfig(options.checkpoint);
  options.config = saved;
  fields.copyGiven(given, options.config);
  // Either takes the place of the other; that it is the same spec is checked
  // with the checkpoint.
  if (!given.spec.empty())
    options.config.artefact.clear();
  if (!given.artefact.empty())
    options.config.spec.clear();
  for (const auto &[group, rate] : given.lr)
    options.config.lr[group] = rate;
  checkSameRun(saved, options.config);
}

} // namespace

std::optional<int> steep::parseOptions(int argc, char **argv,
                                       Options &options) {
  refuseEmptyValues(argc, argv);
  CLI::App app{"Trains the paper's transformer with a compiled optimizer.",
               "steep-train"};
  app.footer("\nsteep-train --model tiny --data shards --out runs/rownorm\n"
             "steep-train --resume --out runs/rownorm\n"
             "steep-train --replay recorded.safetensors --tolerance 1e-4\n"
             "steep-train --compare runs/rownorm runs/adamw --out comparison");
  app.set_version_flag("--version", "steep-train 0.1.0");
  Fields fields(app, options.config);
  CLI::Option *model =
      fields.add("--model", &RunConfig::model,
                 "tiny, 190m, 380m or 640m; or the five sizes:");
  std::vector<CLI::Option *> sizes = {
      fields.addSize("--dim", &ModelConfig::dim, "width"),
      fields.addSize("--layers", &ModelConfig::layers, "blocks"),
      fields.addSize("--heads", &ModelConfig::heads,
                     "attention heads (default: of dimension 64)"),
      fields.addSize("--vocab", &ModelConfig::vocab, "token ids"),
      fields.addSize("--context", &ModelConfig::context, "longest sequence")};
  addRunFields(fields);
  std::vector<std::string> rates;
  app.add_option("--lr", rates, "GROUP=X: peak learning rate of a group")
      ->allow_extra_args(false);
  app.add_flag("--resume", options.resume,
               "continue the run in --out from its last checkpoint");
  app.add_option("--start", options.start,
                 "begin at the weights and states of a folder with "
                 "model.safetensors and optimizer.safetensors, after as many "
                 "batches as they have seen updates");
  app.add_flag("--dry-run", options.dryRun,
               "print sizes, routing and memory, train nothing");
  app.add_option("--progress", options.progress, "auto, plain or none");
  app.add_option("--replay", options.replay,
                 "take a recorded run's steps again and print the relative "
                 "differences as JSON");
  app.add_option("--tolerance", options.tolerance,
                 "with --replay: exit with 1 where a difference exceeds it");
  app.add_option("--compare", options.compare,
                 "compare finished runs: a table, and plots in --out");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    std::string message = error.what();
    for (char &c : message)
      if (c == '\n')
        c = ' ';
    fail("{}; --help lists the options", message);
  }
  fields.checkGiven();
  for (const std::string &rate : rates) {
    const auto parsed = parseRate(rate);
    if (!options.config.lr.insert(parsed).second)
      fail("--lr {}: the group was given twice", rate);
  }
  for (const CLI::Option *size : sizes)
    if (size->count() > 0 && model->count() > 0)
      fail("{} and --model exclude each other", size->get_name());
  checkModes(app, options);
  if (options.resume)
    resume(options, fields);
  return std::nullopt;
}
