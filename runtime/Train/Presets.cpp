//===- Presets.cpp - the paper's models and learning rates ----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/Presets.h"

#include "runtime/Core/Error.h"

#include <cmath>

using namespace steep;

static ModelConfig makeSizes(int64_t dim, int64_t layers, int64_t context) {
  ModelConfig sizes;
  sizes.dim = dim;
  sizes.layers = layers;
  sizes.headDim = 64;
  sizes.heads = dim / sizes.headDim;
  sizes.vocab = 50257;
  sizes.context = context;
  return sizes;
}

const std::vector<Preset> &steep::presets() {
  static const std::vector<Preset> list = {
      {"tiny", makeSizes(128, 4, 256), 200, 8},
      {"190m", makeSizes(512, 32, 2048), 7083, 256},
      {"380m", makeSizes(768, 32, 2048), 14464, 256},
      {"640m", makeSizes(1024, 32, 2048), 24406, 256},
  };
  return list;
}

const Preset &steep::findPreset(const std::string &name) {
  std::string names;
  for (const Preset &preset : presets()) {
    if (preset.name == name)
      return preset;
    names += (names.empty() ? "" : ", ") + preset.name;
  }
  fail("--model {}: no such model; expected one of {}", name, names);
}

std::optional<double> steep::paperRate(const Manifest &manifest,
                                       const Manifest::Group &group,
                                       int64_t dim) {
  bool blocks = true, embedding = true, head = true, any = false;
  for (const Manifest::Parameter &parameter : manifest.parameters) {
    if (parameter.group != group.name)
      continue;
    any = true;
    blocks &= parameter.name.rfind("blocks.", 0) == 0;
    embedding &= parameter.name == "embed.weight";
    head &= parameter.name == "lm_head.weight";
  }
  const double byWidth = 512.0 / static_cast<double>(dim);
  if (any && blocks && group.rule == "muon")
    return 8e-3;
  if (any && embedding && group.rule == "adamw")
    return 4e-3;
  if (any && head && group.rule == "adamw")
    return 4e-3 * byWidth;
  if (any && head && group.rule == "rownorm")
    return 3.2e-3 * byWidth;
  return std::nullopt;
}

std::vector<double>
steep::peakRates(const Manifest &manifest, int64_t dim, bool paper,
                 const std::map<std::string, double> &overrides) {
  std::string names;
  for (const Manifest::Group &group : manifest.groups)
    names += (names.empty() ? "" : ", ") + group.name;
  for (const auto &[name, rate] : overrides) {
    if (manifest.groupIndex(name) < 0)
      fail("--lr {}={}: the spec has no group '{}'; its groups are {}", name,
           rate, name, names);
    if (!std::isfinite(rate) || rate < 0)
      fail("--lr {}={}: expected a finite number >= 0", name, rate);
  }
  std::vector<double> rates;
  for (const Manifest::Group &group : manifest.groups) {
    auto given = overrides.find(group.name);
    if (given != overrides.end())
      rates.push_back(given->second);
    else if (paper)
      rates.push_back(paperRate(manifest, group, dim).value_or(group.lr));
    else
      rates.push_back(group.lr);
  }
  return rates;
}
