//===- GeoAllocation.cpp - spectral allocation ----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Singular pairs come one after the other: power iteration on M^T M, then M
// without the pair that was found. Where two singular values are near, what is
// found turns within their plane, which the weights, being near too, hardly
// see. Vectors are f64, so that M^T M of entries near 1e-30 or 1e30 is in range
// and no rescaling is needed. A pair that rounding errors of M make up is left
// out: the increment does not hold it, so there is nothing to take from.
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Geo/GeoDetail.h"
#include "lib/Schedules/Schedules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::geo;
using namespace mlir::geo::detail;
using namespace steep::schedules;

//===----------------------------------------------------------------------===//
// Verifier, fold
//===----------------------------------------------------------------------===//

/// Singular values, as a share of the Frobenius norm, that a polynomial must
/// take near 1 so that the head keeps its sign: the paper's range.
static constexpr double leastHead = 0.02;
static constexpr int64_t mostRank = 256, mostRounds = 100;
/// What f is wrong by where its products round: to f32, or operands to BF16.
static constexpr double errorF32 = 0x1p-20, errorBF16 = marginBF16;
/// The square of the least singular value, over the leading one, that is no
/// rounding error. Those of an f32 matrix and its deflations stay below 2^-23,
/// as measured up to 512 x 512 and 200 pairs.
static constexpr double leastSquare = 0x1p-36;

/// The matrix without positive factors, which no singular vector sees.
static Value stripFactors(Value value) {
  while (true) {
    if (auto scale = value.getDefiningOp<ScaleOp>())
      value = scale.getInput();
    else if (auto correct = value.getDefiningOp<CorrectBiasOp>())
      value = correct.getInput();
    else
      return value;
  }
}

static LogicalResult verifyRange(Operation *op, StringRef name, int64_t value,
                                 int64_t low, int64_t high) {
  if (value >= low && value <= high)
    return success();
  return op->emitOpError("expected ")
         << name << " in " << low << ".." << high << ", but got " << value;
}

/// Refuses a polynomial with which the head of some matrix would turn.
static LogicalResult verifySign(AllocateOp op, SpectralOp spectral,
                                double gain) {
  std::optional<Schedule> schedule = spectral.getTriples();
  if (!schedule)
    return success(); // geo.spectral says what is wrong
  bool isBF16 = spectral.getDot() == Dot::bf16;
  double margin = isBF16 ? marginBF16 : marginF32;
  double error = isBF16 ? errorBF16 : errorF32;
  Band band = getBand(*schedule, leastHead, 1 + margin);
  double head = gain * (band.low - 1) + 1;
  if (head > gain * error)
    return success();
  if (head > 0)
    return op.emitOpError("expected gain below ")
           << str(1 / (1 - band.low + error))
           << ", with which rounding errors of the products, here "
           << str(error) << ", leave the sign of the head alone, but got "
           << str(gain);
  return op.emitOpError("expected a schedule that is fine enough for gain ")
         << str(gain) << ": with " << spectral.getSchedule() << " of "
         << spectral.getSteps() << " steps a singular value in ["
         << str(leastHead) << ", " << str(1 + margin)
         << "] may become f = " << str(band.low)
         << ", and the head gain (f - 1) + 1 = " << str(head)
         << ", which turns its sign; f must stay above " << str(1 - 1 / gain);
}

LogicalResult AllocateOp::verify() {
  if (failed(verifyRadius(*this, getRadius())))
    return failure();
  double gain = getGain().convertToDouble();
  if (!(std::isfinite(gain) && gain >= 1))
    return emitOpError("expected gain to be finite and at least 1, but got ")
           << str(gain);
  if (failed(verifyRange(*this, "rank", getRank(), 1, mostRank)) ||
      failed(verifyRange(*this, "rounds", getRounds(), 1, mostRounds)))
    return failure();
  if (static_cast<int64_t>(getWarmupSteps()) < 0)
    return emitOpError("expected warmup_steps to be at least 0, but got ")
           << static_cast<int64_t>(getWarmupSteps());
  auto spectral = getIncrement().getDefiningOp<SpectralOp>();
  if (!spectral || spectral.getRadius() != getRadius() ||
      stripFactors(spectral.getGradient()) != stripFactors(getGradient()))
    return emitOpError("expected the increment of a geo.spectral of the same "
                       "matrix and radius");
  return verifySign(*this, spectral, gain);
}

OpFoldResult AllocateOp::fold(FoldAdaptor) {
  // gain 1: S + r sum_i 0 u_i v_i^T -> S
  if (getGain().isExactlyValue(1.0))
    return getIncrement();
  return {};
}

//===----------------------------------------------------------------------===//
// Expansion
//===----------------------------------------------------------------------===//

namespace {

/// Builds the expansion of one op.
class Allocation {
public:
  Allocation(OpBuilder &b, AllocateOp op)
      : b(b), op(op), loc(op.getLoc()), f64(b.getF64Type()) {
    auto shape = cast<RankedTensorType>(op.getType()).getShape();
    m = shape[0];
    n = shape[1];
  }

  Value build();

private:
  struct Pair {
    Value left, right; // vectors of m and n entries; the right one has length 1
    Value weight;      // what it counts over the length of the left one, or 0
  };

  Value createVector(int64_t size) {
    return tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>{size}, f64);
  }
  Value createStart();
  Value createShifted(Value vector, int64_t by);
  Value createProduct(Value matrix, Value vector);
  Value createTransposedProduct(Value matrix, Value vector);
  Value createSquare(Value vector);
  Value createInverseNorm(Value square, double numerator, Value leading = {});
  Value createScaled(Value vector, Value factor);
  Pair createPair(Value matrix, Value start, double weight, Value &leading);
  Value createRemainder(Value matrix, const Pair &pair);
  Value createWarmup();
  Value createSum(Value increment, const Pair &pair, Value factor, Value gain);

  OpBuilder &b;
  AllocateOp op;
  Location loc;
  Type f64;
  int64_t m, n;
};

} // namespace

//===----------------------------------------------------------------------===//
// The start: frac(0.3 + j phi), j = 0 .. n - 1
//===----------------------------------------------------------------------===//

/// The golden section's part after the point: its multiples are spread evenly.
static constexpr long double goldenSection = 0.618033988749894848204586834L;

/// frac(x + by phi) of every x in [0, 1).
Value Allocation::createShifted(Value vector, int64_t by) {
  long double shift = by * goldenSection;
  Value step = createF64(b, loc, static_cast<double>(shift - floorl(shift)));
  Value one = createF64(b, loc, 1);
  return createGeneric(
      b, loc, {{vector, {0}}}, {{createEmpty(b, loc, vector), {0}}}, "p",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value sum = arith::AddFOp::create(b, loc, v[0], step);
        Value less = arith::SubFOp::create(b, loc, sum, one);
        Value isPast =
            arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, sum, one);
        return {arith::SelectOp::create(b, loc, isPast, less, sum)};
      })[0];
}

/// Doubled until it is long enough: no entry needs to know its index. All
/// entries are positive, as many a leading direction is; no other direction is
/// favoured.
Value Allocation::createStart() {
  SmallVector<OpFoldResult> one = {b.getIndexAttr(1)}, size = one;
  Value first = createF64(b, loc, 0.3);
  Value vector =
      linalg::FillOp::create(b, loc, first, createVector(1)).getResult(0);
  for (int64_t length = 1; length < n;) {
    int64_t more = std::min(length, n - length);
    Value source = vector;
    if (more < length)
      source = tensor::ExtractSliceOp::create(
          b, loc, vector, ArrayRef<OpFoldResult>{b.getIndexAttr(0)},
          ArrayRef<OpFoldResult>{b.getIndexAttr(more)}, one);
    Value shifted = createShifted(source, length);
    Value longer = tensor::InsertSliceOp::create(
        b, loc, vector, createVector(length + more),
        ArrayRef<OpFoldResult>{b.getIndexAttr(0)},
        ArrayRef<OpFoldResult>{b.getIndexAttr(length)}, one);
    vector = tensor::InsertSliceOp::create(
        b, loc, shifted, longer, ArrayRef<OpFoldResult>{b.getIndexAttr(length)},
        ArrayRef<OpFoldResult>{b.getIndexAttr(more)}, one);
    length += more;
  }
  return vector;
}

//===----------------------------------------------------------------------===//
// Singular pairs
//===----------------------------------------------------------------------===//

/// M x.
Value Allocation::createProduct(Value matrix, Value vector) {
  Value zeros = createZeros(b, loc, {b.getIndexAttr(m)}, f64);
  return createGeneric(
      b, loc, {{matrix, {0, 1}}, {vector, {1}}}, {{zeros, {0}}}, "pr",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value x = arith::ExtFOp::create(b, loc, b.getF64Type(), v[0]);
        return {math::FmaOp::create(b, loc, x, v[1], v[2])};
      })[0];
}

/// M^T x.
Value Allocation::createTransposedProduct(Value matrix, Value vector) {
  return createColumnSums(
      b, loc, matrix, vector,
      [](OpBuilder &b, Location loc, Value x, Value u, Value sum) -> Value {
        return math::FmaOp::create(b, loc, x, u, sum);
      });
}

/// ||x||^2 as a tensor<f64>.
Value Allocation::createSquare(Value vector) {
  return createGeneric(
      b, loc, {{vector, {0}}}, {{createZeros(b, loc, {}, f64), {}}}, "r",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value square = arith::MulFOp::create(b, loc, v[0], v[0]);
        return {arith::AddFOp::create(b, loc, v[1], square)};
      })[0];
}

/// numerator / ||x|| as a tensor<f64>, from ||x||^2; 0 where x is zero or, next
/// to a leading one, a rounding error.
Value Allocation::createInverseNorm(Value square, double numerator,
                                    Value leading) {
  Value zero = createF64(b, loc, 0), one = createF64(b, loc, 1),
        above = createF64(b, loc, numerator),
        share = createF64(b, loc, leastSquare);
  SmallVector<Operand> inputs = {{square, {}}};
  if (leading)
    inputs.push_back({leading, {}});
  Value empty = tensor::EmptyOp::create(b, loc, ArrayRef<OpFoldResult>{}, f64);
  return createGeneric(
      b, loc, inputs, {{empty, {}}}, "",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value least =
            leading ? arith::MulFOp::create(b, loc, v[1], share).getResult()
                    : zero;
        Value isNone = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE,
                                             v[0], least);
        Value divisor = arith::SelectOp::create(
            b, loc, isNone, one, math::SqrtOp::create(b, loc, v[0]));
        Value inverse = arith::DivFOp::create(b, loc, above, divisor);
        return {arith::SelectOp::create(b, loc, isNone, zero, inverse)};
      })[0];
}

Value Allocation::createScaled(Value vector, Value factor) {
  return createGeneric(
      b, loc, {{vector, {0}}, {factor, {}}},
      {{createEmpty(b, loc, vector), {0}}}, "p",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {arith::MulFOp::create(b, loc, v[0], v[1])};
      })[0];
}

/// `leading` is the square of the first pair's singular value, which is set by
/// the first pair.
Allocation::Pair Allocation::createPair(Value matrix, Value start,
                                        double weight, Value &leading) {
  Value right = start;
  for (uint64_t round = 0; round < op.getRounds(); ++round) {
    Value left = createProduct(matrix, right);
    Value next = createTransposedProduct(matrix, left);
    right = createScaled(next, createInverseNorm(createSquare(next), 1));
  }
  Value left = createProduct(matrix, right);
  Value square = createSquare(left);
  Value inverse = createInverseNorm(square, weight, leading);
  if (!leading)
    leading = square;
  return {left, right, inverse};
}

/// M - (M v) v^T.
Value Allocation::createRemainder(Value matrix, const Pair &pair) {
  return createGeneric(
      b, loc, {{matrix, {0, 1}}, {pair.left, {0}}, {pair.right, {1}}},
      {{createEmpty(b, loc, matrix), {0, 1}}}, "pp",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value x = arith::ExtFOp::create(b, loc, b.getF64Type(), v[0]);
        Value product = arith::MulFOp::create(b, loc, v[1], v[2]);
        Value rest = arith::SubFOp::create(b, loc, x, product);
        return {arith::TruncFOp::create(b, loc, b.getF32Type(), rest)};
      })[0];
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// sin(pi/2 x)^2 for x = min(1, t / warmup_steps), in f64: its series, whose
/// eleven terms are exact to rounding on [0, pi/2].
Value Allocation::createWarmup() {
  Value one = createF64(b, loc, 1);
  if (op.getWarmupSteps() == 0)
    return one;
  Value t = arith::SIToFPOp::create(b, loc, f64, op.getStep());
  Value steps = createF64(b, loc, static_cast<double>(op.getWarmupSteps()));
  Value share = arith::MinimumFOp::create(
      b, loc, arith::DivFOp::create(b, loc, t, steps), one);
  Value angle =
      arith::MulFOp::create(b, loc, share, createF64(b, loc, M_PI / 2));
  Value square = arith::MulFOp::create(b, loc, angle, angle);
  Value sum = one;
  for (int k = 21; k >= 3; k -= 2) {
    Value factor = createF64(b, loc, -1.0 / (k * (k - 1)));
    Value scaled = arith::MulFOp::create(b, loc, square, factor);
    sum = math::FmaOp::create(b, loc, scaled, sum, one);
  }
  Value sine = arith::MulFOp::create(b, loc, angle, sum);
  return arith::MulFOp::create(b, loc, sine, sine);
}

/// gain * increment + factor * weight * u v^T. What differs from pair to pair
/// is in memory, so that all of them share one kernel.
Value Allocation::createSum(Value increment, const Pair &pair, Value factor,
                            Value gain) {
  return createGeneric(
      b, loc,
      {{increment, {0, 1}},
       {pair.left, {0}},
       {pair.right, {1}},
       {pair.weight, {}}},
      {{createEmpty(b, loc, increment), {0, 1}}}, "pp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value size = arith::MulFOp::create(b, loc, factor, v[3]);
        Value left = arith::MulFOp::create(b, loc, v[1], size);
        Value added = arith::MulFOp::create(b, loc, left, v[2]);
        Value rounded = arith::TruncFOp::create(b, loc, b.getF32Type(), added);
        if (!gain)
          return {arith::AddFOp::create(b, loc, v[0], rounded)};
        return {math::FmaOp::create(b, loc, gain, v[0], rounded)};
      })[0];
}

Value Allocation::build() {
  double range = op.getGain().convertToDouble() - 1;
  int64_t rank = op.getRank();
  Value warmup = createWarmup();
  Value size = arith::MulFOp::create(
      b, loc, arith::ExtFOp::create(b, loc, f64, op.getRadius()), warmup);
  Value gain = arith::TruncFOp::create(
      b, loc, b.getF32Type(),
      math::FmaOp::create(b, loc, warmup, createF64(b, loc, range),
                          createF64(b, loc, 1)));

  Value start = createStart(), matrix = op.getGradient();
  Value sum = op.getIncrement(), leading;
  // The profile gives the pair of rank `rank` the whole gain, so that nothing
  // is taken from it.
  int64_t last = rank == 1 ? 1 : std::min({rank - 1, m, n});
  for (int64_t i = 1; i <= last; ++i) {
    double share = rank == 1 ? 1 : 1 - std::log(i) / std::log(rank);
    Pair pair = createPair(matrix, start, range * share, leading);
    sum = createSum(sum, pair, size, i == 1 ? gain : Value());
    if (i < last)
      matrix = createRemainder(matrix, pair);
  }
  return sum;
}

FailureOr<SmallVector<Value>> AllocateOp::expand(RewriterBase &rewriter,
                                                 int64_t) {
  if (!cast<RankedTensorType>(getType()).hasStaticShape())
    return failure();
  return SmallVector<Value>{Allocation(rewriter, *this).build()};
}

FailureOr<SmallVector<Value>> AllocateOp::decomposeOperation(OpBuilder &b) {
  IRRewriter rewriter(b);
  return expand(rewriter, /*padTo=*/1);
}
