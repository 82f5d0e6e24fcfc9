//===- steepc.cpp - the compiler for optimizers ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Compiler/Compiler.h"
#include "tools/ToolMain.h"

#include "llvm/Config/llvm-config.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <map>

static int fail(llvm::StringRef message) {
  llvm::errs() << "steepc: error: " << message << "\n";
  return 1;
}

/// An empty value is more likely a shell variable that is not set than a wish.
static std::string refuseEmpty(const std::string &value) {
  return value.empty() ? "expected a value, got ''" : "";
}

static void declareOptions(CLI::App &app, steepc::CompileOptions &options,
                           std::string &emit) {
  app.set_version_flag("--version", "steepc " STEEP_VERSION
                                    " (LLVM " LLVM_VERSION_STRING ")");
  app.add_option("SPEC", options.spec, "the optimizer's spec, an .mlir file")
      ->required()
      ->type_name("FILE");
  app.add_option("--params", options.parameters,
                 "the model: a .safetensors file, of which only the header is "
                 "read, or JSON {\"tensors\": [{\"name\", \"shape\", "
                 "\"dtype\"}]}")
      ->type_name("FILE");
  app.add_option("--target", options.target,
                 "native, x86-64[-v2|-v3|-v4] or one of LLVM's CPU names, each "
                 "with any number of +feature (default: native), or none, and "
                 "any number of GPUs (sm_80, sm_90a, ...), with commas between")
      ->type_name("LIST");
  app.add_option("-o", options.output,
                 "folder for libNAME.so, NAME.o, NAME.h, NAME.json and, for "
                 "each GPU, NAME.sm_X.ptx, .cubin (where ptxas is found) and "
                 ".bc; with --emit a file (default: standard output)")
      ->type_name("PATH");
  app.add_option("--name", options.name,
                 "NAME, instead of the name of optim.spec")
      ->type_name("NAME");
  app.add_option("--only-rule", options.onlyRule,
                 "update every parameter by this rule of the spec, without "
                 "schedule and clipping; a rule that no group uses has rates "
                 "of 0")
      ->type_name("RULE");
  app.add_option("--only-group", options.onlyGroup,
                 "with --only-rule, the group whose rates, facts and structure "
                 "to take, where several use the rule")
      ->type_name("GROUP");
  app.add_option("--emit", emit,
                 "stop at optim, geo, block, llvm, asm, obj, or for one GPU at "
                 "ptx or cubin, and print that")
      ->type_name("STAGE");
  app.add_option("--dump-stages", options.dumpStages,
                 "write the IR after every stage into this folder")
      ->type_name("DIR");
  for (CLI::Option *option : app.get_options([](CLI::Option *option) {
         return option->get_items_expected_max() > 0;
       }))
    option->check(refuseEmpty, "");
  app.add_flag("--explain", options.explain,
               "print which rule and kernels update each parameter, what a "
               "step costs, and what was fused");
  app.add_option(
         "--remarks-filter", options.remarksFilter,
         "print what passes whose whole category fits say of their decisions "
         "(block-form-kernels, geo-infer-centering, plan, ...)")
      ->type_name("REGEX");
}

/// What CLI11 cannot check. Empty where all is well.
static std::string checkOptions(steepc::CompileOptions &options,
                                const std::string &emit) {
  using steepc::Stage;
  static const std::map<std::string, Stage> stages = {
      {"optim", Stage::Optim}, {"geo", Stage::Geo},    {"block", Stage::Block},
      {"llvm", Stage::LLVM},   {"asm", Stage::Asm},    {"obj", Stage::Obj},
      {"ptx", Stage::PTX},     {"cubin", Stage::Cubin}};
  if (!emit.empty()) {
    auto found = stages.find(emit);
    if (found == stages.end())
      return "--emit: expected optim, geo, block, llvm, asm, obj, ptx or "
             "cubin, got '" +
             emit + "'";
    options.emit = found->second;
  }
  if (!options.onlyGroup.empty() && options.onlyRule.empty())
    return "--only-group: expected --only-rule with it, got none";
  bool isBinary = options.emit == Stage::Obj || options.emit == Stage::Cubin;
  if (isBinary && (options.output.empty() || options.output == "-"))
    return "--emit=" + emit + ": expected -o FILE";
  if (options.output.empty() && !options.emit && !options.explain &&
      options.dumpStages.empty())
    return "expected -o DIR, --emit=STAGE, --dump-stages=DIR or --explain";
  return "";
}

int main(int argc, char **argv) {
  CLI::App app("Compiles an optimizer's spec to a library with a C interface.",
               "steepc");
  steepc::CompileOptions options;
  std::string emit;
  declareOptions(app, options, emit);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) { // --help, --version
    return steep::outputStatus("steepc", app.exit(success));
  } catch (const CLI::ParseError &error) {
    return fail(error.what());
  }
  std::string problem = checkOptions(options, emit);
  if (!problem.empty())
    return fail(problem);
  llvm::Error error = steepc::compile(options, llvm::outs());
  int status = 0;
  llvm::handleAllErrors(
      std::move(error), [&](const steepc::Reported &) { status = 1; },
      [&](const llvm::ErrorInfoBase &info) { status = fail(info.message()); });
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    llvm::outs().clear_error();
    return fail("cannot write to standard output");
  }
  return status;
}
