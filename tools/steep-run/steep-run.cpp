//===- steep-run.cpp - one update, or measurements, from files ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Error.h"
#include "runtime/Devices/Supervisor.h"
#include "tools/ToolMain.h"
#include "tools/steep-run/Measure.h"
#include "tools/steep-run/Update.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <thread>

using namespace steep;

/// The names of a list with commas between, empty ones too.
static std::vector<std::string> splitNames(const std::string &list) {
  std::vector<std::string> names;
  std::istringstream stream(list + ",");
  for (std::string name; std::getline(stream, name, ',');)
    names.push_back(name);
  return names;
}

/// What is wrong with a list of measurements; nothing where it is right.
static std::string checkNames(const std::string &list) {
  for (std::string name : splitNames(list)) {
    if (name.empty())
      return "a name is missing in " + quote(list);
    if (std::string error = CLI::IsMember(measurementNames())(name);
        !error.empty())
      return error;
  }
  return "";
}

/// All names of all lists.
static std::vector<std::string>
joinLists(const std::vector<std::string> &lists) {
  std::vector<std::string> names;
  for (const std::string &list : lists)
    for (const std::string &name : splitNames(list)) {
      if (std::find(names.begin(), names.end(), name) != names.end())
        fail("--measure: {} is given twice", name);
      names.push_back(name);
    }
  return names;
}

static void addOptions(CLI::App &app, UpdateOptions &update,
                       std::string &simtRoute,
                       std::vector<std::string> &measure) {
  app.add_option("SPEC", update.spec,
                 "the spec with the rule, an .mlir file; compiled by the "
                 "steepc beside this program, once");
  app.add_option("--rule", update.rule, "the rule that updates the parameter");
  app.add_option("--group", update.group,
                 "the group whose structure and rates to take, where several "
                 "use the rule");
  app.add_option("--in", update.in,
                 "safetensors with param, grad and states (F32, finite, "
                 "matrices or what the group takes as stacked or a "
                 "convolution; a state that is missing is zero), or s, h and g "
                 "to measure")
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
  app.add_option("--device", update.device,
                 "where to run: host, cuda (or cuda:1), or simt, an emulated "
                 "GPU on this CPU")
      ->capture_default_str();
  app.add_option("--simt-route", simtRoute,
                 "what simt runs: ir, LLVM's IR as it went to the code "
                 "generator, or ptx, what came out of it")
      ->capture_default_str()
      ->check(CLI::IsMember({"ir", "ptx"}));
  app.add_flag("--check", update.simt.check,
               "on simt, look for races, accesses out of bounds, missing "
               "barriers and the like");
  app.add_option("--seed", update.simt.seed,
                 "on simt, a random order of threads that this number decides; "
                 "0: in order")
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
      ->check(checkNames);
}

/// Refuses what was given and would be ignored.
static void refuse(const CLI::App &app, std::initializer_list<const char *> of,
                   const std::string &why) {
  for (const char *name : of)
    if (app.get_option(name)->count() > 0)
      fail("{}: {} is not expected", why, name);
}

/// What must, and what must not, be given together.
static void checkOptions(const CLI::App &app, const UpdateOptions &update,
                         const std::string &simtRoute,
                         const std::vector<std::string> &measure) {
  if (!measure.empty())
    return refuse(app,
                  {"SPEC", "--rule", "--group", "--out", "--lr", "--wd",
                   "--step", "--grad-scale", "--device", "--simt-route",
                   "--check", "--seed", "--target", "--artefact"},
                  "--measure takes --in and --threads alone, and runs on the "
                  "host");
  if (update.out.empty())
    fail("--out is required for an update");
  if (update.spec.empty() == update.artefact.empty())
    fail("one of SPEC and --artefact is required for an update, and not both");
  if (!update.artefact.empty())
    refuse(app, {"--target", "--group"},
           "--artefact is compiled for one parameter and target already");
  if (!update.spec.empty() && update.rule.empty())
    fail("--rule is required for an update: which rule of {} to take",
         quote(update.spec));
  if (update.device != "simt" &&
      (update.simt.check || update.simt.seed || simtRoute != "ir"))
    fail("--simt-route, --check and --seed need --device=simt");
}

/// In a child, an error must not find its way out of the body.
static int tryUpdate(const UpdateOptions &update) {
  try {
    runUpdate(update);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "steep-run: error: %s\n", error.what());
    return 1;
  }
}

int main(int argc, char **argv) {
  CLI::App app("One update of one parameter by a rule of a spec, or "
               "measurements of an increment",
               "steep-run");
  UpdateOptions update;
  unsigned available = std::thread::hardware_concurrency();
  update.threads = static_cast<int>(std::clamp(available, 1u, 64u));
  std::vector<std::string> lists;
  std::string simtRoute = "ir";
  addOptions(app, update, simtRoute, lists);
  return toolMain(app, argc, argv, [&] {
    const std::vector<std::string> measure = joinLists(lists);
    checkOptions(app, update, simtRoute, measure);
    update.simt.ptx = simtRoute == "ptx";
    if (!measure.empty()) {
      runMeasure(measure, update.in, update.threads);
      return 0;
    }
    return runForDevice(update.device, [&] { return tryUpdate(update); });
  });
}
