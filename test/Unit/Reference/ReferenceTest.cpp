//===- ReferenceTest.cpp - the judge is judged by recorded cases ----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs/ holds updates recorded in float64 from PyTorch and NumPy, so the
// reference must reproduce them to rounding. adamw_17x24 and rownorm_19x32
// are the first rows of larger cases: both updates treat rows apart.
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Reference.h"
#include "runtime/Core/Safetensors.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>
#include <string>

using namespace steep;
using namespace steep::reference;

namespace {

/// A file of Inputs/ whose tensors are read as matrices of doubles.
class Case {
public:
  explicit Case(const std::string &name)
      : file(SafetensorsFile::open(std::string(STEEP_TEST_DATA) + "/" + name +
                                   ".safetensors")) {}

  Matrix operator()(const std::string &name) const {
    Tensor tensor = file.load(name).toF64();
    std::size_t rows = tensor.dim(0),
                cols = tensor.rank() > 1 ? tensor.dim(1) : 1;
    return Matrix(rows, cols, tensor.f64());
  }
  double scalar(const std::string &name) const { return (*this)(name).data[0]; }
  double meta(const std::string &key) const {
    return std::stod(file.metadataAt(key));
  }
  /// One of the numbers of "[0.1, 0.2]".
  double meta(const std::string &key, std::size_t index) const {
    const std::string &text = file.metadataAt(key);
    std::size_t at = 1;
    while (index-- > 0)
      at = text.find(',', at) + 1;
    return std::stod(text.substr(at));
  }

private:
  SafetensorsFile file;
};

constexpr double rounding = 1e-12;

void expectClose(const Matrix &actual, const Matrix &expected,
                 const std::string &what, double tolerance = rounding) {
  EXPECT_LE(relativeDifference(actual, expected), tolerance) << what;
}

//===----------------------------------------------------------------------===//
// Recorded updates
//===----------------------------------------------------------------------===//

class MuonCase : public testing::TestWithParam<const char *> {};
class RownormCase : public testing::TestWithParam<const char *> {};

TEST_P(MuonCase, ThreeStepsEqualTheRecordedOnes) {
  Case data(GetParam());
  Matrix w = data("w0"), b(w.rows, w.cols);
  for (int t = 1; t <= 3; ++t) {
    std::string n = std::to_string(t);
    Scalars scalars{data.meta("lr", t - 1), data.meta("weight_decay"), 1.0, t};
    Step step = muonStep(w, data("g" + n), b, scalars, data.meta("momentum"),
                         data.meta("eps"));
    expectClose(step.state, data("momentum" + n), "momentum" + n);
    expectClose(step.weight, data("w" + n), "w" + n);
    w = step.weight;
    b = step.state;
  }
}
INSTANTIATE_TEST_SUITE_P(Cases, MuonCase,
                         testing::Values("muon_odd_33x17", "muon_row_1x40"));

TEST_P(RownormCase, ThreeStepsEqualTheRecordedOnes) {
  Case data(GetParam());
  Matrix w = data("w0"), b(w.rows, w.cols);
  for (int t = 1; t <= 3; ++t) {
    std::string n = std::to_string(t);
    Scalars scalars{data.meta("lr", t - 1), data.meta("weight_decay"), 1.0, t};
    Step step = rownormStep(w, data("g" + n), b, scalars, data.meta("beta"),
                            data.meta("eps"));
    expectClose(step.state, data("momentum" + n), "momentum" + n);
    expectClose(step.increment, data("step" + n), "step" + n);
    expectClose(step.weight, data("w" + n), "w" + n);
    w = step.weight;
    b = step.state;
  }
}
INSTANTIATE_TEST_SUITE_P(Cases, RownormCase,
                         testing::Values("rownorm_19x32", "rownorm_decay_65x7",
                                         "rownorm_one_column_40x1"));

TEST(Adamw, ThreeStepsEqualTheRecordedOnes) {
  Case data("adamw_17x24");
  Matrix w = data("w0"), m(w.rows, w.cols), v(w.rows, w.cols);
  for (int t = 1; t <= 3; ++t) {
    std::string n = std::to_string(t);
    Scalars scalars{data.meta("lr", t - 1), data.meta("weight_decay"), 1.0, t};
    Step step =
        adamwStep(w, data("g" + n), m, v, scalars, data.meta("betas", 0),
                  data.meta("betas", 1), data.meta("eps"));
    expectClose(step.state, data("exp_avg" + n), "exp_avg" + n);
    expectClose(step.second, data("exp_avg_sq" + n), "exp_avg_sq" + n);
    expectClose(step.increment, data("step" + n), "step" + n);
    expectClose(step.weight, data("w" + n), "w" + n);
    w = step.weight;
    m = step.state;
    v = step.second;
  }
}

TEST(NewtonSchulz, EveryTableEqualsTheRecordedResult) {
  Case data("newton_schulz");
  double s = data.meta("polar_express_safety");
  Coefficients polar = {
      {8.28721201814563, -23.595886519098837, 17.300387312530933},
      {4.107059111542203, -2.9478499167379106, 0.5448431082926601},
      {3.9486908534822946, -2.908902115962949, 0.5518191394370137},
      {3.3184196573706015, -2.488488024314874, 0.51004894012372},
      {2.300652019954817, -1.6689039845747493, 0.4188073119525673}};
  for (auto &[a, b, c] : polar) {
    a /= s;
    b /= std::pow(s, 3);
    c /= std::pow(s, 5);
  }
  const Coefficients you = {{4.0848, -6.8946, 2.9270},
                            {3.9505, -6.3029, 2.6377},
                            {3.7418, -5.5913, 2.3037},
                            {2.8769, -3.1427, 1.2046},
                            {2.8366, -3.0525, 1.2012}};
  const Coefficients cubic(12, {15.0 / 8, -10.0 / 8, 3.0 / 8});
  const std::pair<std::string, Coefficients> tables[] = {
      {"jordan", jordan()},
      {"you", you},
      {"polar_express", polar},
      {"cubic", cubic}};
  for (const auto &[name, coefficients] : tables)
    for (std::string shape : {"_24x24", "_16x50", "_50x16"})
      expectClose(newtonSchulz(data(name + shape + "_g"), coefficients,
                               data.meta("eps")),
                  data(name + shape + "_o"), name + shape, 1e-10);
}

//===----------------------------------------------------------------------===//
// Recorded schedule and measurements
//===----------------------------------------------------------------------===//

TEST(Schedule, EqualsTheRecordedOne) {
  Case data("schedule_7083");
  Matrix scale = data("scale");
  auto total = static_cast<int64_t>(data.meta("total"));
  ASSERT_EQ(scale.rows, static_cast<std::size_t>(total));
  for (int64_t t = 0; t < total; ++t)
    ASSERT_NEAR(scheduleScale(t, total), scale.data[t], rounding) << t;
}

TEST(Schedule, EdgesAreDefined) {
  EXPECT_EQ(scheduleScale(0, 100), 0.0);  // the first update does nothing
  EXPECT_EQ(scheduleScale(10, 100), 1.0); // the peak
  EXPECT_DOUBLE_EQ(scheduleScale(99, 100), 0.1);
  EXPECT_EQ(scheduleScale(0, 5), 1.0);            // w = 0: no warm-up
  EXPECT_EQ(scheduleScale(0, 1), 0.1);            // T - w = 1: the floor
  EXPECT_DOUBLE_EQ(scheduleScale(500, 100), 0.1); // past the end
}

TEST(Measurements, EqualTheRecordedOnes) {
  Case data("measurements");
  for (std::string shape : {"1x4", "2x3", "97x5", "300x64"}) {
    Matrix s = data(shape + "_s");
    EXPECT_DOUBLE_EQ(diameter(s), data.scalar(shape + "_diameter")) << shape;
    EXPECT_DOUBLE_EQ(separation(s), data.scalar(shape + "_separation"))
        << shape;
    double expected = data.scalar(shape + "_hilbert_rms");
    EXPECT_NEAR(hilbertRms(s, data(shape + "_h")), expected,
                rounding * expected)
        << shape;
  }
  EXPECT_NEAR(diameter(data("offset_s")), data.scalar("offset_diameter"),
              1e-15);
}

//===----------------------------------------------------------------------===//
// By hand
//===----------------------------------------------------------------------===//

TEST(Center, SubtractsTheMeanRow) {
  Matrix g(2, 2, {1, 2, 5, 10});
  EXPECT_EQ(center(g).data, (std::vector<double>{-2, -4, 2, 4}));
}

TEST(NormalizeRows, ZeroRowsStayAndNoSizeIsLost) {
  Matrix g(4, 2, {3, 4, 0, 0, 3e-200, 4e-200, -3e200, 4e200});
  Matrix n = normalizeRows(g, 0.0);
  expectClose(n, Matrix(4, 2, {.6, .8, 0, 0, .6, .8, -.6, .8}), "rows");
}

TEST(Oracles, GoldenRows) {
  Matrix g(3, 2, {3, 4, 0, 0, -3, 2});
  expectClose(maxRow(g, 1.0, 1e-8),
              Matrix(3, 2, {-.6, -.8, 0, 0, .8320503, -.5547002}), "max row",
              1e-7);
  expectClose(
      commonBall(g, 1.0, 1e-8),
      Matrix(3, 2,
             {-.8880335, -.7031335, -.0559832, .8515667, .9440168, -.1484333}),
      "common ball", 1e-7);
}

TEST(Momentum, BothResults) {
  Matrix b(1, 1, {2.0}), g(1, 1, {3.0});
  Momentum m = momentum(b, g, 0.5);
  EXPECT_EQ(m.buffer.data[0], 4.0);
  EXPECT_EQ(m.nesterov.data[0], 5.0);
}

TEST(Ema, EightByFiveOnes) {
  Matrix ones(8, 5, std::vector<double>(40, 1.0)), b(8, 5);
  b = ema(b, ones, 0.9);
  expectClose(b, scale(ones, 0.1), "one step");
  expectClose(correctBias(b, 0.9, 1), ones, "corrected");
  b = ema(b, ones, 0.9);
  expectClose(b, scale(ones, 0.19), "two steps");
  expectClose(correctBias(b, 0.9, 1, 1), ones, "corrected one step ahead");
}

TEST(Decay, UsesTheLearningRateBeforeTheShapeFactor) {
  Matrix w(4, 1, {1, 1, 1, 1}), zero(4, 1);
  Scalars scalars{0.01, 10.0, 1.0, 1};
  Step first = muonStep(w, zero, zero, scalars);
  EXPECT_DOUBLE_EQ(first.weight.data[0], 0.9);
  Step second = muonStep(first.weight, zero, first.state, scalars);
  EXPECT_DOUBLE_EQ(second.weight.data[0], 0.81);
}

TEST(ShapeScale, OnlyTallMatricesGrow) {
  EXPECT_EQ(shapeScale(2.0, 64, 16), 4.0);
  EXPECT_EQ(shapeScale(2.0, 64, 288), 2.0);
}

TEST(Clip, FactorAndNorm) {
  EXPECT_EQ(clipFactor(0.5), 1.0);
  EXPECT_DOUBLE_EQ(clipFactor(4.0), 1.0 / (4.0 + 1e-6));
  EXPECT_DOUBLE_EQ(globalNorm({Matrix(1, 1, {3.0}), Matrix(1, 1, {-4.0})}),
                   5.0);
  EXPECT_EQ(rowSquares(Matrix(2, 2, {1, 2, 3, 4})),
            (std::vector<double>{5, 25}));
}

TEST(Comparison, NeverHidesNaN) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  Matrix zero(1, 2), bad(1, 2, {0.0, nan});
  EXPECT_TRUE(std::isnan(relativeDifference(bad, zero)));
  EXPECT_TRUE(std::isnan(relativeDifference(zero, bad)));
  EXPECT_EQ(relativeDifference(zero, zero), 0.0);
}

TEST(Sizes, ThatDoNotFitAreRefused) {
  Matrix a(2, 3), b(2, 2);
  EXPECT_THROW(combine(1, a, 1, b), std::invalid_argument);
  EXPECT_THROW(multiply(a, b), std::invalid_argument);
  EXPECT_THROW(Matrix(2, 2, std::vector<double>{1.0}), std::invalid_argument);
}

} // namespace
