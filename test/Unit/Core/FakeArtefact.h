//===- FakeArtefact.h - an artefact made by the C compiler ------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TEST_UNIT_CORE_FAKEARTEFACT_H
#define STEEP_TEST_UNIT_CORE_FAKEARTEFACT_H

#include <nlohmann/json.hpp>
#include <string>

namespace steep::test {

/// The manifest that fits Inputs/FakeArtefact.c.
inline nlohmann::json fakeManifest() {
  return nlohmann::json::parse(R"({
    "steep": {"abi": [1, 0], "version": "0.1.0", "llvm": "22.1.8"},
    "name": "fake", "spec_sha256": "",
    "target": {"triple": "x86_64-linux-gnu", "cpu": "x86-64",
               "features": ["fpu", "sse2"]},
    "schedule": {"kind": "warmup_cosine", "warmup": 0.25, "floor": 0.5},
    "clip": {"kind": "global_norm", "max": 2.0}, "nonfinite": "skip",
    "workspace": {"bytes": 100, "alignment": 64},
    "groups": [
      {"name": "first", "rule": "plain", "lr": 0.01, "wd": 0.1},
      {"name": "second", "rule": "plain", "lr": 0.001, "wd": 0}],
    "parameters": [
      {"name": "a", "shape": [2, 3], "dtype": "F32", "group": "first",
       "rule": "plain",
       "states": [{"name": "momentum_buffer", "shape": [2, 3],
                   "dtype": "F32", "convention": "sum"}]},
      {"name": "b", "shape": [1, 4], "dtype": "F32", "group": "second",
       "rule": "plain", "states": []}]})");
}

/// Compiles Inputs/FakeArtefact.c into `folder` (libfake.so, fake.json).
void makeFakeArtefact(const std::string &folder, const std::string &macros = "",
                      const nlohmann::json &manifest = fakeManifest());

} // namespace steep::test

#endif // STEEP_TEST_UNIT_CORE_FAKEARTEFACT_H
