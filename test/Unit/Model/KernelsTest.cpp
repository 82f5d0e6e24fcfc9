//===- KernelsTest.cpp - every instruction set against double loops -------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/Kernels/Kernels.h"

#include "runtime/Model/Random.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace steep;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

namespace {

class KernelsTest : public testing::TestWithParam<const Kernels *> {
protected:
  const Kernels &kernels = *GetParam();
};

/// |a - b| / |b|.
double difference(const Floats &a, const Doubles &b) {
  EXPECT_EQ(a.size(), b.size());
  double squares = 0, reference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    squares += (a[i] - b[i]) * (a[i] - b[i]);
    reference += b[i] * b[i];
  }
  return std::sqrt(squares / std::max(reference, 1e-300));
}

Floats draw(int64_t count, uint64_t seed, double deviation = 1) {
  Floats x(count);
  initialiseNormal(x.data(), 0, count, normalKey(seed, "test"), deviation);
  return x;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(
    Available, KernelsTest, testing::ValuesIn(availableKernels()),
    [](const testing::TestParamInfo<const Kernels *> &info) {
      return std::string(info.param->name);
    });

TEST_P(KernelsTest, ExponentialIsGoodToTheLastPlaces) {
  Floats x, y;
  for (double at = -87.3; at < 88.3; at += 0.00131)
    x.push_back(float(at));
  y.resize(x.size());
  kernels.exponential(x.data(), y.data(), x.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(double(x[i]));
    worst = std::max(worst, std::abs(y[i] - exact) / exact);
  }
  EXPECT_LT(worst, 1.3e-7); // one unit in the last place is 1.2e-7 at most
}

TEST_P(KernelsTest, ExponentialOfTheExtremes) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Floats x = {0.0f, -0.0f, -100.0f, -1e30f, -infinity, 1000.0f, NAN};
  Floats y(x.size());
  kernels.exponential(x.data(), y.data(), x.size());
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_EQ(y[1], 1.0f);
  EXPECT_EQ(y[2], 0.0f);
  EXPECT_EQ(y[3], 0.0f);
  EXPECT_EQ(y[4], 0.0f);
  EXPECT_GT(y[5], 2e38f);
  EXPECT_TRUE(std::isnan(y[6]));
}

TEST_P(KernelsTest, Norm) {
  for (int64_t width : {1, 3, 16, 64, 130}) {
    const int64_t rows = 5;
    Floats x = draw(rows * width, 1);
    // A zero row stays zero, and its gradient is dy / sqrt(eps).
    std::fill_n(&x[2 * width], width, 0.0f);
    const Floats dy = draw(rows * width, 2), start = draw(rows * width, 3);
    Floats y(x.size()), scales(rows), dx(x.size()), added = start;
    kernels.norm(x.data(), y.data(), scales.data(), rows, width);
    kernels.normBackward(x.data(), scales.data(), dy.data(), dx.data(), rows,
                         width, false);
    kernels.normBackward(x.data(), scales.data(), dy.data(), added.data(), rows,
                         width, true);
    Doubles expected(x.size()), gradient(x.size()), sum(x.size());
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = row * width;
      double squares = 0, along = 0;
      for (int64_t i = at; i < at + width; ++i) {
        squares += double(x[i]) * x[i];
        along += double(x[i]) * dy[i];
      }
      const double scale = 1 / std::sqrt(squares / width + 1e-6);
      for (int64_t i = at; i < at + width; ++i) {
        expected[i] = x[i] * scale;
        gradient[i] =
            scale * (dy[i] - x[i] * scale * scale * along / double(width));
        sum[i] = gradient[i] + start[i];
      }
    }
    EXPECT_LT(difference(y, expected), 2e-7) << width;
    EXPECT_LT(difference(dx, gradient), 2e-6) << width;
    EXPECT_LT(difference(added, sum), 2e-6) << width;
  }
}

TEST_P(KernelsTest, Swiglu) {
  for (int64_t count : {1, 7, 64, 1003}) {
    const Floats gate = draw(count, 1, 4), up = draw(count, 2),
                 d = draw(count, 3);
    Floats out(count), dGate = gate, dUp = up;
    kernels.swiglu(gate.data(), up.data(), out.data(), count);
    kernels.swigluBackward(dGate.data(), dUp.data(), d.data(), count);
    Doubles expected(count), expectedGate(count), expectedUp(count);
    for (int64_t i = 0; i < count; ++i) {
      const double g = gate[i], s = 1 / (1 + std::exp(-g));
      expected[i] = g * s * up[i];
      expectedGate[i] = d[i] * up[i] * (s + g * s * (1 - s));
      expectedUp[i] = d[i] * g * s;
    }
    EXPECT_LT(difference(out, expected), 3e-7);
    EXPECT_LT(difference(dGate, expectedGate), 3e-7);
    EXPECT_LT(difference(dUp, expectedUp), 3e-7);
  }
}

TEST_P(KernelsTest, SwigluFarOut) {
  const Floats gate = {-1e4f, -100.0f, 100.0f, 1e4f}, up = {1, 1, 1, 1};
  Floats out(4);
  kernels.swiglu(gate.data(), up.data(), out.data(), 4);
  EXPECT_NEAR(out[0], 0, 1e-30);
  EXPECT_NEAR(out[1], 0, 1e-30);
  EXPECT_EQ(out[2], 100.0f);
  EXPECT_EQ(out[3], 1e4f);
}

TEST_P(KernelsTest, SoftmaxInPieces) {
  const int64_t rows = 3, columns = 1009, first = 300;
  Floats logits = draw(rows * columns, 4, 3);
  for (int64_t i = 0; i < columns; ++i)
    logits[columns + i] += 1000; // only differences matter
  const float infinity = std::numeric_limits<float>::infinity();
  Floats most(rows, -infinity), scale(rows);
  Doubles sum(rows, 0.0);
  kernels.softmaxUpdate(logits.data(), rows, first, columns, most.data(),
                        sum.data());
  kernels.softmaxUpdate(logits.data() + first, rows, columns - first, columns,
                        most.data(), sum.data());
  Doubles expected(rows * columns);
  for (int64_t row = 0; row < rows; ++row) {
    double total = 0;
    for (int64_t i = 0; i < columns; ++i)
      total += std::exp(double(logits[row * columns + i]) - most[row]);
    EXPECT_NEAR(sum[row], total, 3e-7 * total);
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i)
      expected[i] = std::exp(double(logits[i]) - most[row]) / total;
    scale[row] = float(1 / sum[row]);
  }
  kernels.softmaxScale(logits.data(), rows, columns, columns, most.data(),
                       scale.data());
  EXPECT_LT(difference(logits, expected), 3e-7);
}

TEST_P(KernelsTest, SoftmaxOfANanIsNan) {
  Floats logits = {1.0f, NAN, 2.0f};
  float most = -std::numeric_limits<float>::infinity();
  double sum = 0;
  kernels.softmaxUpdate(logits.data(), 1, 3, 3, &most, &sum);
  EXPECT_TRUE(std::isnan(sum));
}

namespace {

/// One head in double, probabilities written out.
struct PlainAttention {
  Doubles out, dq, dk, dv;

  PlainAttention(const Floats &q, const Floats &k, const Floats &v,
                 const Floats &dOut, int64_t length, int64_t d, int64_t stride)
      : out(q.size()), dq(q.size()), dk(q.size()), dv(q.size()) {
    const double scale = 1 / std::sqrt(double(d));
    for (int64_t i = 0; i < length; ++i) {
      Doubles p(i + 1), dp(i + 1);
      double sum = 0, delta = 0;
      for (int64_t j = 0; j <= i; ++j) {
        double score = 0;
        for (int64_t c = 0; c < d; ++c)
          score += double(q[i * stride + c]) * k[j * stride + c];
        sum += p[j] = std::exp(score * scale);
      }
      for (int64_t j = 0; j <= i; ++j) {
        p[j] /= sum;
        for (int64_t c = 0; c < d; ++c) {
          out[i * stride + c] += p[j] * v[j * stride + c];
          dv[j * stride + c] += p[j] * dOut[i * stride + c];
          dp[j] += double(v[j * stride + c]) * dOut[i * stride + c];
        }
        delta += p[j] * dp[j];
      }
      for (int64_t j = 0; j <= i; ++j)
        for (int64_t c = 0; c < d; ++c) {
          const double ds = p[j] * (dp[j] - delta) * scale;
          dq[i * stride + c] += ds * k[j * stride + c];
          dk[j * stride + c] += ds * q[i * stride + c];
        }
    }
  }
};

} // namespace

TEST_P(KernelsTest, AttentionForwardAndBackward) {
  for (int64_t d : {2, 6, 20, 64, 72})
    for (int64_t length : {1, 2, 63, 64, 65, 130, 192}) {
      // A second head's columns lie beside the first's and stay untouched.
      const int64_t stride = 2 * d, size = length * stride;
      Floats q = draw(size, 1), k = draw(size, 2), v = draw(size, 3);
      Floats dOut = draw(size, 4);
      Floats out(size), dq(size), dk(size), dv(size);
      Floats most(length), inverse(length);
      Floats scratch(attentionScratch(d), NAN); // its content does not matter
      const AttentionHead head = {
          length,    d,          stride,      q.data(),       k.data(),
          v.data(),  out.data(), most.data(), inverse.data(), dOut.data(),
          dq.data(), dk.data(),  dv.data()};
      kernels.attention(head, 0, std::min(length, attentionTile),
                        scratch.data());
      if (length > attentionTile)
        kernels.attention(head, attentionTile, length, scratch.data());
      kernels.attentionBackward(head, scratch.data());
      const PlainAttention plain(q, k, v, dOut, length, d, stride);
      EXPECT_LT(difference(out, plain.out), 5e-7) << d << " " << length;
      EXPECT_LT(difference(dv, plain.dv), 1e-6) << d << " " << length;
      if (length == 1) { // one key: dq and dk are zero, exactly
        EXPECT_EQ(dq, Floats(size));
        EXPECT_EQ(dk, Floats(size));
        continue;
      }
      // With two keys all of dq and dk is one difference dP - delta, which may
      // cancel.
      const double tolerance = length == 2 ? 1e-4 : 2e-6;
      EXPECT_LT(difference(dq, plain.dq), tolerance) << d << " " << length;
      EXPECT_LT(difference(dk, plain.dk), tolerance) << d << " " << length;
    }
}

TEST_P(KernelsTest, RotationKeepsNormsAndGradientFollows) {
  // <dy, J t> = <J^T dy, t> with J t from a difference in double.
  const int64_t rows = 6, length = 4, heads = 2, d = 10, half = d / 2;
  Floats cosines(length * half), sines(length * half);
  for (int64_t p = 0; p < length; ++p)
    for (int64_t i = 0; i < half; ++i) {
      const double angle = p * std::pow(10000.0, -2.0 * i / d);
      cosines[p * half + i] = float(std::cos(angle));
      sines[p * half + i] = float(std::sin(angle));
    }
  const int64_t size = rows * heads * d, firstRow = 3;
  const Floats x = draw(size, 1), t = draw(size, 2), dy = draw(size, 3);
  auto apply = [&](const Doubles &in) {
    Doubles out(size);
    for (int64_t at = 0; at < size; at += d) {
      const int64_t p = (firstRow + at / (heads * d)) % length;
      double squares = 0;
      for (int64_t i = 0; i < d; ++i)
        squares += in[at + i] * in[at + i];
      const double scale = 1 / std::sqrt(squares / d + 1e-6);
      for (int64_t i = 0; i < half; ++i) {
        const double angle = p * std::pow(10000.0, -2.0 * i / d);
        const double a = in[at + i] * scale, b = in[at + i + half] * scale;
        out[at + i] = a * std::cos(angle) - b * std::sin(angle);
        out[at + i + half] = b * std::cos(angle) + a * std::sin(angle);
      }
    }
    return out;
  };
  Floats y = x, scales(rows * heads), dx = dy;
  kernels.normRotate(y.data(), scales.data(), cosines.data(), sines.data(),
                     firstRow, rows, length, heads, d);
  EXPECT_LT(difference(y, apply(Doubles(x.begin(), x.end()))), 3e-7);
  kernels.normRotateBackward(y.data(), scales.data(), dx.data(), cosines.data(),
                             sines.data(), firstRow, rows, length, heads, d);
  Doubles plus(size), minus(size);
  for (int64_t i = 0; i < size; ++i) {
    plus[i] = x[i] + 1e-5 * t[i];
    minus[i] = x[i] - 1e-5 * t[i];
  }
  plus = apply(plus);
  minus = apply(minus);
  double forward = 0, backward = 0;
  for (int64_t i = 0; i < size; ++i) {
    forward += dy[i] * (plus[i] - minus[i]) / 2e-5;
    backward += double(dx[i]) * t[i];
  }
  EXPECT_NEAR(forward, backward, 1e-5 * std::sqrt(double(size)));
}
