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
#include "runtime/Geometry/Certificate.h"
#include "runtime/Geometry/Measure.h"
#include "runtime/Geometry/Oracle.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace steep {

const std::vector<std::string> &measurementNames() {
  static const std::vector<std::string> names = {
      "diameter", "separation",  "rho",  "hilbert", "covering",
      "oracle",   "certificate", "flow", "columns", "dual"};
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

template <typename T> static bool areFinite(const T *values, int64_t count) {
  return std::all_of(values, values + count,
                     [](T x) { return std::isfinite(x); });
}

static bool isFinite(const Tensor &tensor) {
  return tensor.dtype() == DType::F32 ? areFinite(tensor.f32(), tensor.count())
                                      : areFinite(tensor.f64(), tensor.count());
}

static nlohmann::json finiteOrNull(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

namespace {

/// The measurements of one file, each put into the JSON object that is printed.
class Measurement {
public:
  Measurement(const std::vector<std::string> &names, const std::string &in,
              int threads)
      : names(names), file(SafetensorsFile::open(in)), pool(threads) {}

  nlohmann::ordered_json run() {
    if (wants({"diameter", "separation", "rho", "hilbert", "covering"}))
      measureIncrement(load("s"));
    if (wants({"oracle", "certificate", "flow", "columns", "dual"}))
      measureGradient(load("g"));
    if (!nonfinite.empty())
      result["nonfinite"] = nonfinite;
    return result;
  }

private:
  bool wants(std::initializer_list<const char *> any) const {
    return std::any_of(any.begin(), any.end(), [&](const char *name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    });
  }
  /// The tensor to measure; one with an entry that is not finite is named in
  /// the result, which tells its nulls from those of what is undefined.
  Tensor load(const std::string &name) {
    Tensor tensor = loadCloud(file, name);
    if (!isFinite(tensor))
      nonfinite.push_back(name);
    return tensor;
  }
  void put(const char *key, double value) { result[key] = finiteOrNull(value); }

  void measureIncrement(const Tensor &s);
  void measureHilbert(const Tensor &s);
  void measureGradient(const Tensor &g);
  void measureOracle(const Tensor &g);

  const std::vector<std::string> &names;
  SafetensorsFile file;
  ThreadPool pool;
  std::vector<std::string> nonfinite;
  nlohmann::ordered_json result = nlohmann::ordered_json::object();
};

} // namespace

void Measurement::measureIncrement(const Tensor &s) {
  double diameter = 0, separation = 0;
  if (wants({"diameter", "rho"}))
    diameter = rowDiameter(s, &pool);
  if (wants({"separation", "rho"}))
    separation = rowSeparation(s, &pool);
  if (wants({"diameter"}))
    put("diameter", diameter);
  if (wants({"separation"}))
    put("separation", separation);
  if (wants({"rho"}))
    put("rho", separationRatio(separation, diameter));
  if (wants({"covering"})) {
    const CoveringRadius radius = coveringRadius(s, 1e-3, 2000, &pool);
    put("covering_radius_lower", radius.lower);
    put("covering_radius_upper", radius.upper);
  }
  if (wants({"hilbert"}))
    measureHilbert(s);
}

void Measurement::measureHilbert(const Tensor &s) {
  const Tensor h = load("h");
  if (h.dim(1) != s.dim(1))
    fail("{}: tensor 'h' has shape {}, but {} columns are expected, as 's' "
         "has",
         quote(file.path()), shapeString(h.shape()), s.dim(1));
  put("hilbert_rms", hilbertRms(s, h, &pool));
}

void Measurement::measureOracle(const Tensor &g) {
  const oracle::Report report = solveRowDiameter(g).report;
  put("tension", report.upper);
  put("dual", report.lower);
  put("gap", report.gap);
  // Of a zero gradient every step is as good as any other.
  put("rownorm_ratio", report.upper > 0 ? report.rowNorm / report.upper : 1);
}

void Measurement::measureGradient(const Tensor &g) {
  // The solver takes no other matrix; nor is there an answer.
  if (wants({"oracle"}) && isFinite(g))
    measureOracle(g);
  else if (wants({"oracle"}))
    for (const char *key : {"tension", "dual", "gap", "rownorm_ratio"})
      put(key, NAN);
  if (wants({"oracle", "certificate"})) {
    const Certificate certificate = rowNormCertificate(g);
    put("certificate", certificate.ratio);
    if (wants({"certificate"}))
      put("effective_rows", certificate.effectiveRows);
  }
  if (wants({"flow"})) {
    const FlowBound flow = rowNormFlowBound(g, &pool);
    put("flow_bound", flow.upper);
    put("flow_certificate", flow.ratio);
  }
  if (wants({"columns"})) {
    const ColumnSums sums = columnSums(g);
    put("column_sum", sums.norm);
    put("column_defect", sums.defect);
  }
  if (wants({"dual"})) {
    const DualNorms norms = dualNorms(g);
    put("dual_spectral", norms.nuclear);
    put("dual_common_ball", norms.commonBall);
    put("dual_max_row", norms.maxRow);
    put("dual_max_column", norms.maxColumn);
    put("dual_sign", norms.sign);
    put("dual_frobenius", norms.frobenius);
  }
}

void runMeasure(const std::vector<std::string> &names, const std::string &in,
                int threads) {
  fmt::print("{}\n", Measurement(names, in, threads).run().dump());
}

} // namespace steep
