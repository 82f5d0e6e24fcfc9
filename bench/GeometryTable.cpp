//===- GeometryTable.cpp - every geometry on one gradient -----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles each rule of a spec for the shape of one gradient, takes a step, and
// prints a row of a Markdown table: milliseconds a step (the processor's, one
// thread, least of some), row diameter over 2 lr, rho = separation/diameter,
// cosine with the centred gradient, and decrease over the exact optimum at that
// very diameter (a certified upper bound of it).
//
// What adds
// a common row to the step changes neither diameter nor probabilities, so steps
// are centred before they are compared.
//
//===----------------------------------------------------------------------===//
#include "bench/Arguments.h"
#include "runtime/Core/Artefact.h"
#include "runtime/Core/Error.h"
#include "runtime/Core/Safetensors.h"
#include "runtime/Geometry/Certificate.h"
#include "runtime/Geometry/Measure.h"
#include "runtime/Geometry/Oracle.h"
#include "runtime/Geometry/Panels.h"

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

using namespace steep;
using geometry::MatrixView;

namespace {

constexpr double rate = 1e-3;
constexpr int rounds = 5;

double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * now.tv_nsec;
}

/// <P A, P B>
double centredInner(const Tensor &a, const Tensor &b) {
  const MatrixView x(a, "a"), y(b, "b");
  const std::vector<double> meanX = x.meanRow(), meanY = y.meanRow();
  double sum = 0;
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t k = 0; k < x.columns; ++k)
      sum += (x(i, k) - meanX[k]) * (y(i, k) - meanY[k]);
  return sum;
}

std::shared_ptr<Artefact> compile(const std::string &spec,
                                  const std::string &compiler,
                                  const std::string &rule,
                                  const Tensor &gradient) {
  nlohmann::json tensor = {
      {"name", "weight"}, {"shape", gradient.shape()}, {"dtype", "F32"}};
  CompileRequest request;
  request.spec = spec;
  request.parameters = nlohmann::json{{"tensors", {tensor}}}.dump();
  request.options = {"--only-rule=" + rule};
  request.compiler = compiler;
  return Artefact::load(compileArtefact(request));
}

/// The increment of the first update of a weight; the least time of some.
Tensor takeStep(Artefact &artefact, const Tensor &gradient, double &best) {
  best = HUGE_VAL;
  Tensor update(DType::F32, gradient.shape());
  // A second is long enough to be measured once.
  for (int round = 0; round < rounds && !(best < HUGE_VAL && best > 1);
       ++round) {
    StepArguments arguments;
    arguments.parameters = {Tensor(DType::F32, gradient.shape())};
    arguments.gradients = {gradient};
    arguments.states = artefact.makeStates();
    arguments.updates = {update};
    arguments.lr = {rate};
    arguments.wd = {0};
    const double start = seconds();
    artefact.step(arguments);
    best = std::min(best, seconds() - start);
  }
  return update;
}

void printRow(const std::string &rule, const Tensor &gradient, const Tensor &s,
              double time, double tension) {
  const double diameter = rowDiameter(s);
  const double rho = separationRatio(rowSeparation(s), diameter);
  const double decrease = -centredInner(gradient, s);
  const double cosine = decrease / std::sqrt(centredInner(gradient, gradient) *
                                             centredInner(s, s));
  fmt::print("| `{}` | {:.2f} | {:.4f} | {:.4f} | {:.4f} | {:.4f} |\n", rule,
             time * 1e3, diameter / (2 * rate), rho, cosine,
             decrease / (diameter * tension));
}

struct Options {
  std::string spec, compiler, file, tensor;
  std::vector<std::string> rules;
};

void run(const Options &options) {
  const Tensor gradient =
      SafetensorsFile::open(options.file).load(options.tensor);
  const oracle::Report exact = solveRowDiameter(gradient).report;
  fmt::print("{} x {}: V_eff = {:.1f}, certificate of RowNorm {:.4f}, sharp "
             "certificate {:.4f}, exact optimum certified to a gap of "
             "{:.1e}.\n\n",
             gradient.dim(0), gradient.dim(1),
             rowNormCertificate(gradient).effectiveRows,
             rowNormCertificate(gradient).ratio,
             rowNormFlowBound(gradient).ratio, exact.gap);
  fmt::print("| geometry | ms a step | D / (2 lr) | rho | cosine | decrease / "
             "optimum |\n| --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (const std::string &rule : options.rules) {
    auto artefact = compile(options.spec, options.compiler, rule, gradient);
    double time = 0;
    const Tensor s = takeStep(*artefact, gradient, time);
    printRow(rule, gradient, s, time, exact.upper);
  }
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  bench::Arguments arguments("GeometryTable",
                             "Each rule of a spec on one gradient, as rows of "
                             "a Markdown table.");
  arguments.required("SPEC", options.spec, "file with the rules");
  arguments.required("STEEPC", options.compiler, "the compiler");
  arguments.required("FILE", options.file, "safetensors file");
  arguments.required("TENSOR", options.tensor,
                     "name of the F32 matrix that is the gradient");
  arguments.rest("RULE", options.rules, "names of rules");
  return arguments.run(argc, argv, [&] {
    run(options);
    return 0;
  });
}
