//===- ShippedRules.cpp - the rules of the shipped specs ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Tools/ShippedRules.h"

#include "lib/Reference/Balls.h"
#include "lib/Reference/Neighbours.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

using namespace steep;
using namespace steep::test;
using reference::Coefficients;
using reference::Matrix;
using reference::Scalars;
using reference::ShapeScale;
using reference::Step;
using Matrices = std::vector<Matrix>;

namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

std::vector<std::string> test::listSpecs() {
  std::vector<std::string> names;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(STEEP_TEST_SPECS))
    if (entry.path().extension() == ".mlir")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Whether a group that uses the rule states the fact.
static bool hasZeroColumnSum(const std::string &text, const std::string &rule) {
  const std::size_t use = text.find("uses @" + rule + " ");
  if (use == std::string::npos)
    return false;
  const std::size_t end =
      std::min(text.find("optim.group", use), text.find("\n}", use));
  return text.substr(use, end - use).find("#geo.zero_column_sum") !=
         std::string::npos;
}

std::vector<ShippedRule> test::listRules(const std::string &spec) {
  std::ifstream file(STEEP_TEST_SPECS "/" + spec + ".mlir");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  static const std::regex head("\noptim\\.rule @(\\w+)");
  std::vector<ShippedRule> rules;
  for (std::sregex_iterator at(text.begin(), text.end(), head), end; at != end;
       ++at) {
    const auto begin = static_cast<std::size_t>(at->position()) + 1;
    // A rule ends with a brace in the first column.
    rules.push_back({spec, (*at)[1],
                     text.substr(begin, text.find("\n}", begin) - begin),
                     hasZeroColumnSum(text, (*at)[1])});
  }
  return rules;
}

std::vector<ShippedRule> test::listRules() {
  std::vector<ShippedRule> all;
  for (const std::string &spec : listSpecs())
    for (ShippedRule &rule : listRules(spec))
      all.push_back(std::move(rule));
  return all;
}

//===----------------------------------------------------------------------===//
// The rules, in float64
//===----------------------------------------------------------------------===//

static double scaled(double r, const Matrix &w, ShapeScale kind) {
  return reference::shapeScale(r, w.rows, w.cols, kind);
}

static Updated endRule(const Matrix &w, Matrix increment,
                       const Scalars &scalars, Matrices states) {
  Step step = reference::finish(w, std::move(increment), scalars, Matrix());
  return {std::move(step.weight), std::move(step.increment), std::move(states)};
}

static Updated toUpdated(Step step) {
  Matrices states = {std::move(step.state)};
  if (!step.second.data.empty())
    states.push_back(std::move(step.second));
  return {std::move(step.weight), std::move(step.increment), std::move(states)};
}

/// The rules of the paper's specs: eps = 1e-5 inside of Newton-Schulz.
static Updated muon(const Matrix &w, const Matrix &g, const Matrices &b,
                    const Scalars &h) {
  return toUpdated(reference::muonStep(w, g, b[0], h));
}

static Updated rownorm(const Matrix &w, const Matrix &g, const Matrices &b,
                       const Scalars &h) {
  return toUpdated(reference::rownormStep(w, g, b[0], h));
}

static Rule adamw(double beta1, double beta2, double eps) {
  return [=](const Matrix &w, const Matrix &g, const Matrices &s,
             const Scalars &h) {
    return toUpdated(
        reference::adamwStep(w, g, s[0], s[1], h, beta1, beta2, eps));
  };
}

/// Muon with momentum and coefficients of choice; `average` says which form of
/// the momentum, both with Nesterov's step.
static Rule freeMuon(bool average, ShapeScale kind, Coefficients coefficients,
                     bool normalizeRows = false) {
  return [=](const Matrix &w, const Matrix &g, const Matrices &b,
             const Scalars &h) {
    Matrix gc = reference::scale(g, h.clip);
    reference::Momentum sum = reference::momentum(b[0], gc, 0.95);
    Matrix state = average ? reference::ema(b[0], gc, 0.95) : sum.buffer;
    Matrix n = average ? reference::ema(state, gc, 0.95) : sum.nesterov;
    if (normalizeRows)
      n = reference::normalizeRows(n, 1e-8);
    Matrix s = reference::spectral(n, scaled(h.lr, w, kind), coefficients, 0.0);
    return endRule(w, std::move(s), h, {std::move(state)});
  };
}

/// An average of rate `beta`, then the ball's oracle; no decay.
static Rule oracle(double beta,
                   std::function<Matrix(const Matrix &, double)> ball) {
  return [=](const Matrix &w, const Matrix &g, const Matrices &b,
             const Scalars &h) {
    Matrix state = reference::ema(b[0], reference::scale(g, h.clip), beta);
    Scalars still = h;
    still.wd = 0;
    return endRule(w, ball(state, h.lr), still, {state});
  };
}

/// Averages before any switch, mixed; then Muon's oracle.
static Rule mixedMuon(std::vector<double> weights) {
  return [=](const Matrix &w, const Matrix &g, const Matrices &averages,
             const Scalars &h) {
    Matrix gc = reference::scale(g, h.clip);
    Matrices states;
    for (const Matrix &average : averages)
      states.push_back(reference::ema(average, gc, 0.95));
    Matrix r = reference::ema(reference::mix(states, weights), gc, 0.95);
    Matrix s = reference::spectral(r, scaled(h.lr, w, ShapeScale::Original),
                                   reference::polarExpress(5, 1.01), 1e-7);
    return endRule(w, std::move(s), h, std::move(states));
  };
}

static Rule allocatedMuon(double gain, std::size_t rank) {
  return [=](const Matrix &w, const Matrix &g, const Matrices &m,
             const Scalars &h) {
    // arXiv:2608.25990, table 4.
    const Coefficients table = {{5.30697775, -9.73226547, 4.52926445},
                                {3.99123669, -4.20899105, 1.18235242},
                                {2.66316843, -2.16650701, 0.56325209},
                                {1.93040931, -1.31219244, 0.38289258}};
    Matrix state = reference::ema(m[0], reference::scale(g, h.clip), 0.9);
    const double r = scaled(h.lr, w, ShapeScale::Original);
    Matrix s = reference::spectral(state, r, table, 1e-7);
    s = reference::allocate(s, state, r, gain, rank,
                            reference::allocationWarmup(h.step, 2125));
    return endRule(w, std::move(s), h, {std::move(state)});
  };
}

/// The row diameter, relaxed: of a gradient whose columns sum to zero.
static Updated certified(const Matrix &w, const Matrix &g, const Matrices &b,
                         const Scalars &h) {
  Matrix state = reference::ema(b[0], reference::scale(g, h.clip), 0.95);
  return endRule(w, reference::maxRow(state, h.lr, 0), h, {state});
}

static Updated equidistant(const Matrix &w, const Matrix &g, const Matrices &b,
                           const Scalars &h) {
  Matrix state = reference::ema(b[0], reference::scale(g, h.clip), 0.95);
  return endRule(w,
                 reference::equidistant(reference::center(state), h.lr, 5, 6),
                 h, {state});
}

static const std::map<std::string, Rule> &rules() {
  const Coefficients jordan = reference::jordan();
  const Rule adam = adamw(0.9, 0.999, 1e-10), quick = adamw(0.9, 0.95, 1e-8),
             quicker = adamw(0.8, 0.95, 1e-10);
  static const std::map<std::string, Rule> table = {
      {"paper.muon", muon},
      {"paper.adamw", adam},
      {"paper.rownorm", rownorm},
      {"paper_adamw.muon", muon},
      {"paper_adamw.adamw", adam},
      {"row_diameter_exact.muon", muon},
      {"row_diameter_exact.adamw", adam},
      {"certified_head.muon", muon},
      {"certified_head.adamw", adam},
      {"certified_head.certified", certified},
      {"equidistant_head.muon", muon},
      {"equidistant_head.adamw", adam},
      {"equidistant_head.equidistant", equidistant},
      {"bi_maxwell.mixed_muon", mixedMuon({0.4385, 0.5615})},
      {"bi_maxwell.adamw", quicker},
      {"k_maxwell.mixed_muon", mixedMuon({.005094, .010188, .015282, .020376,
                                          .025470, .030564, .035658, .857369})},
      {"k_maxwell.adamw", quicker},
      {"samuon.allocated_muon", allocatedMuon(7.07, 32)},
      {"samuon.adamw", adam},
      {"samuon_lite.allocated_muon", allocatedMuon(10, 1)},
      {"samuon_lite.adamw", adam},
      {"muon.spectral", freeMuon(true, ShapeScale::Original, jordan)},
      {"muon_adamw.muon", freeMuon(false, ShapeScale::MatchRmsAdamW,
                                   reference::polarExpress(5, 1.01))},
      {"muon_adamw.adamw", quick},
      {"muon_eq.spectral", freeMuon(false, ShapeScale::MatchRmsAdamW,
                                    reference::you(5), /*normalizeRows=*/true)},
      {"muon_eq.adamw", quick},
      {"normuon.spectral",
       [=](const Matrix &w, const Matrix &g, const Matrices &s,
           const Scalars &h) {
         return toUpdated(reference::normuonStep(w, g, s[0], s[1], h, jordan));
       }},
      {"normuon.adamw", quick},
      {"lion.signs",
       [](const Matrix &w, const Matrix &g, const Matrices &s,
          const Scalars &h) {
         return toUpdated(reference::lionStep(w, g, s[0], h));
       }},
      {"scale.columns", oracle(0.9,
                               [](const Matrix &b, double lr) {
                                 return reference::maxColumn(b, lr, 1e-8);
                               })},
      {"scion.spectral", oracle(0.9,
                                [=](const Matrix &b, double lr) {
                                  return reference::spectral(
                                      b, scaled(50 * lr, b, ShapeScale::Ratio),
                                      jordan, 0);
                                })},
      {"scion.rows", oracle(0.9,
                            [](const Matrix &b, double lr) {
                              return reference::maxRow(
                                  b, scaled(50 * lr, b, ShapeScale::RowRms), 0);
                            })},
      {"scion.signs", oracle(0.9, [](const Matrix &b, double lr) {
         return reference::sign(b, scaled(3000 * lr, b, ShapeScale::Mean), 0);
       })}};
  return table;
}

Rule test::findRule(const std::string &spec, const std::string &name) {
  auto found = rules().find(spec + "." + name);
  return found == rules().end() ? Rule() : found->second;
}

bool test::needsSpectrum(const std::string &spec, const std::string &name) {
  return spec.rfind("samuon", 0) == 0 && name == "allocated_muon";
}
