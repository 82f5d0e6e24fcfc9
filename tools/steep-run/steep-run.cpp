//===- steep-run.cpp - one update, or measurements, from files ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Error.h"
#include "tools/ToolMain.h"
#include "tools/steep-run/Measure.h"
#include "tools/steep-run/Update.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>

using namespace steep;

static void addOptions(CLI::App &app, UpdateOptions &update,
                       std::vector<std::string> &measure) {
  app.add_option("SPEC", update.spec,
                 "the spec with the rule, an .mlir file; compiled by the "
                 "steepc beside this program, once");
  app.add_option("--rule", update.rule, "the rule that updates the parameter");
  app.add_option("--in", update.in,
                 "safetensors with param, grad and states (F32 matrices; a "
                 "state that is missing is zero), or s, h and g to measure")
      ->required();
  app.add_option("--out", update.out,
                 "safetensors to write: param, the states, and update, the "
                 "signed increment without decay");
  app.add_option("--lr", update.lr,
                 "learning rate, instead of that of the group which uses the "
                 "rule; required where none does");
  app.add_option("--wd", update.wd, "weight decay, instead of the group's");
  app.add_option("--step", update.step, "number of this update, from 1")
      ->capture_default_str();
  app.add_option("--grad-scale", update.gradScale, "multiplies the gradient")
      ->capture_default_str();
  app.add_option("--device", update.device, "where to run")
      ->capture_default_str();
  app.add_option("--target", update.target, "what to compile for")
      ->capture_default_str();
  app.add_option("--artefact", update.artefact,
                 "a folder that steepc wrote, instead of SPEC");
  app.add_option("--threads", update.threads, "threads to use")
      ->capture_default_str();
  app.add_option("--measure", measure,
                 "print measurements as JSON instead, with commas between: "
                 "diameter, separation, rho, covering, hilbert (wants h) of an "
                 "increment s; oracle (small heads), certificate, flow, "
                 "columns, dual of a gradient g")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->check(CLI::IsMember(measurementNames()));
}

/// What must, and what must not, be given together.
static void checkOptions(const UpdateOptions &update,
                         const std::vector<std::string> &measure) {
  if (!measure.empty()) {
    if (!update.spec.empty() || !update.artefact.empty() || !update.out.empty())
      fail("--measure takes --in alone: no SPEC, --artefact or --out");
    return;
  }
  if (update.out.empty())
    fail("--out is required for an update");
  if (update.spec.empty() == update.artefact.empty())
    fail("one of SPEC and --artefact is required for an update, and not both");
  if (!update.spec.empty() && update.rule.empty())
    fail("--rule is required for an update: which rule of {} to take",
         quote(update.spec));
}

int main(int argc, char **argv) {
  CLI::App app("One update of one parameter by a rule of a spec, or "
               "measurements of an increment",
               "steep-run");
  UpdateOptions update;
  unsigned available = std::thread::hardware_concurrency();
  update.threads = static_cast<int>(std::clamp(available, 1u, 64u));
  std::vector<std::string> measure;
  addOptions(app, update, measure);
  return toolMain(app, argc, argv, [&] {
    checkOptions(update, measure);
    if (measure.empty())
      runUpdate(update);
    else
      runMeasure(measure, update.in, update.threads);
    return 0;
  });
}
