//===- Measure.cpp - what an increment does to a head ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/steep-run/Measure.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Safetensors.h"
#include "runtime/Core/ThreadPool.h"
#include "runtime/Geometry/Measure.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace steep {

const std::vector<std::string> &measurementNames() {
  static const std::vector<std::string> names = {"diameter", "separation",
                                                 "rho", "hilbert"};
  return names;
}

static Tensor loadCloud(const SafetensorsFile &file, const std::string &name) {
  if (!file.contains(name))
    fail("{}: it has no tensor {}, which is what is measured",
         quote(file.path()), quote(name));
  const SafetensorsEntry &entry = file.entries().at(name);
  bool real = entry.dtype == DType::F32 || entry.dtype == DType::F64;
  if (!real || entry.shape.size() != 2 || entry.shape[0] < 1 ||
      entry.shape[1] < 1)
    fail("{}: tensor {} is {} of shape {}, but a matrix of F32 or F64 with "
         "rows and columns is expected",
         quote(file.path()), quote(name), nameOf(entry.dtype),
         shapeString(entry.shape));
  return file.load(name);
}

static nlohmann::json finiteOrNull(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

void runMeasure(const std::vector<std::string> &names, const std::string &in,
                int threads) {
  auto wanted = [&](const char *name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  ThreadPool pool(threads);
  SafetensorsFile file = SafetensorsFile::open(in);
  Tensor s = loadCloud(file, "s");
  nlohmann::ordered_json result = nlohmann::ordered_json::object();
  double diameter = 0, separation = 0;
  if (wanted("diameter") || wanted("rho"))
    diameter = rowDiameter(s, &pool);
  if (wanted("separation") || wanted("rho"))
    separation = rowSeparation(s, &pool);
  if (wanted("diameter"))
    result["diameter"] = finiteOrNull(diameter);
  if (wanted("separation"))
    result["separation"] = finiteOrNull(separation);
  if (wanted("rho"))
    result["rho"] = finiteOrNull(separationRatio(separation, diameter));
  if (wanted("hilbert")) {
    Tensor h = loadCloud(file, "h");
    if (h.dim(1) != s.dim(1))
      fail("{}: tensor 'h' has shape {}, but {} columns are expected, as 's' "
           "has",
           quote(in), shapeString(h.shape()), s.dim(1));
    result["hilbert_rms"] = finiteOrNull(hilbertRms(s, h, &pool));
  }
  fmt::print("{}\n", result.dump());
}

} // namespace steep
