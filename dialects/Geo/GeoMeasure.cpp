//===- GeoMeasure.cpp - what a step says about itself ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Geo/GeoDetail.h"
#include "lib/Schedules/RowDiameter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

#include <limits>

using namespace mlir;
using namespace mlir::geo;
using namespace mlir::geo::detail;
using namespace steep::schedules;

using Values = FailureOr<SmallVector<Value>>;

/// Whose column sums are no more than this part of the sum of row norms is
/// centred to rounding in f32; as in runtime/Geometry/Certificate.h.
static constexpr double mostColumnDefect = 1e-3;

//===----------------------------------------------------------------------===//
// Numbers from numbers
//===----------------------------------------------------------------------===//

namespace {
/// Short forms for arithmetic on f64.
struct Arithmetic {
  OpBuilder &b;
  Location loc;

  Value constant(double value) { return createF64(b, loc, value); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value sqrt(Value x) { return math::SqrtOp::create(b, loc, x); }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  /// NaN where `known` is.
  Value unlessNaN(Value known, Value x) {
    return select(compare(arith::CmpFPredicate::ORD, known, known), x, known);
  }
  Value wide(Value x) {
    return arith::ExtFOp::create(b, loc, b.getF64Type(), x);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value quotientOrZero(Value x, Value y) {
    Value zero = constant(0);
    Value isZero = compare(arith::CmpFPredicate::OEQ, y, zero);
    return select(isZero, zero, div(x, y));
  }
};
} // namespace

using Term = function_ref<Value(Arithmetic, Value)>;

/// sum_i term(v_i) of a vector of f64, in order.
static Value sumTerms(OpBuilder &b, Location loc, Value vector, Term term) {
  Value zeros = createZeros(b, loc, {}, b.getF64Type());
  return createGeneric(
      b, loc, {{vector, {0}}}, {{zeros, {}}}, "r",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Arithmetic a{b, loc};
        return {a.add(v[1], term(a, v[0]))};
      })[0];
}

static Value sumOf(OpBuilder &b, Location loc, Value vector) {
  return sumTerms(b, loc, vector, [](Arithmetic, Value x) { return x; });
}

static Value sumOfRoots(OpBuilder &b, Location loc, Value squares) {
  return sumTerms(b, loc, squares,
                  [](Arithmetic a, Value x) { return a.sqrt(x); });
}

static Value sumOfSquares(OpBuilder &b, Location loc, Value vector) {
  return sumTerms(b, loc, vector,
                  [](Arithmetic a, Value x) { return a.mul(x, x); });
}

/// A number from numbers.
static Value combine(OpBuilder &b, Location loc, ArrayRef<Value> numbers,
                     function_ref<Value(Arithmetic, ValueRange)> body) {
  SmallVector<Operand> inputs;
  for (Value number : numbers)
    inputs.push_back({number, {}});
  Value empty =
      tensor::EmptyOp::create(b, loc, ArrayRef<OpFoldResult>{}, b.getF64Type());
  return createGeneric(
      b, loc, inputs, {{empty, {}}}, "",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {body(Arithmetic{b, loc}, v.drop_back())};
      })[0];
}

/// sum_j of f64 terms of every row of matrices of one shape, a value a row.
static Value sumRows(OpBuilder &b, Location loc, ArrayRef<Value> matrices,
                     function_ref<Value(Arithmetic, ValueRange)> term) {
  SmallVector<Operand> inputs;
  for (Value matrix : matrices)
    inputs.push_back({matrix, {0, 1}});
  Value zeros = createZeros(
      b, loc, tensor::getMixedSizes(b, loc, matrices[0])[0], b.getF64Type());
  return createGeneric(
      b, loc, inputs, {{zeros, {0}}}, "pr",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Arithmetic a{b, loc};
        SmallVector<Value> wide;
        for (Value x : v.drop_back())
          wide.push_back(a.wide(x));
        return {a.add(v.back(), term(a, wide))};
      })[0];
}

/// ||1^T G||^2
static Value columnSquares(OpBuilder &b, Location loc, Value matrix) {
  return sumOfSquares(b, loc,
                      createColumnSums(b, loc, matrix, /*ofSquares=*/false));
}

/// P G where the op centres and no fact made that redundant.
template <typename OpTy>
static Value centreUnlessAssumed(OpTy op, OpBuilder &b) {
  Value gradient = op.getGradient();
  if (!op.getCenteredInput() || op.getAssumesCentered())
    return gradient;
  return CenterOp::create(b, op.getLoc(), gradient.getType(), gradient);
}

//===----------------------------------------------------------------------===//
// geo.measure_certificate
//===----------------------------------------------------------------------===//

LogicalResult MeasureCertificateOp::verify() { return success(); }
Value MeasureCertificateOp::getCenteredInput() { return getGradient(); }
void MeasureCertificateOp::assumeCentered() { setAssumesCentered(true); }

/// More than the relative error of V_eff, and of the ratio.
static double getSlack(RankedTensorType type) {
  double terms = type.hasStaticShape()
                     ? double(type.getDimSize(0) + type.getDimSize(1))
                     : 0x1p31;
  return (2 * terms + 64) * 0x1p-52;
}

namespace {
/// What certificates are made of: V_eff, and the sum of the rows' norms.
struct EffectiveRows {
  Value rows, norms;
};
} // namespace

/// V_eff of the rows of P G, rounded up; NaN where a fact that licensed leaving
/// P out is contradicted by the columns' sums.
template <typename OpTy>
static EffectiveRows createEffectiveRows(OpTy op, OpBuilder &b) {
  Location loc = op.getLoc();
  Value gradient = centreUnlessAssumed(op, b);
  // The columns right behind the rows, so that a block sums those of its rows
  // while they are in the cache.
  Value squares = RowSquaresOp::create(b, loc, gradient);
  SmallVector<Value> columns;
  if (op.getAssumesCentered())
    columns.push_back(columnSquares(b, loc, gradient));
  Value norms = sumOfRoots(b, loc, squares), total = sumOf(b, loc, squares);
  SmallVector<Value> numbers = {norms, total};
  numbers.append(columns);
  double slack = getSlack(cast<RankedTensorType>(op.getGradient().getType()));

  Value rows = combine(b, loc, numbers, [&](Arithmetic a, ValueRange v) {
    using Predicate = arith::CmpFPredicate;
    Value zero = a.constant(0), two = a.constant(2);
    Value effective =
        a.mul(a.div(a.mul(v[0], v[0]), v[1]), a.constant(1 + slack));
    // At least 2 in exact arithmetic; NaN stays.
    Value tooFew = a.compare(Predicate::OLT, effective, two);
    Value isZero = a.compare(Predicate::OEQ, v[1], zero);
    effective = a.select(isZero, zero, a.select(tooFew, two, effective));
    if (v.size() < 3)
      return effective;
    // ||1^T G|| <= most sum n, by squares: false also for NaN.
    Value limit = a.mul(a.constant(mostColumnDefect), v[0]);
    Value holds = a.compare(Predicate::OLE, a.sqrt(v[2]), limit);
    Value nan = a.constant(std::numeric_limits<double>::quiet_NaN());
    return a.select(holds, effective, nan);
  });
  return {rows, norms};
}

/// 1/sqrt(2 (1 - 1/V_eff)), rounded down.
static Value createRatio(OpBuilder &b, Location loc, Value rows) {
  return combine(b, loc, rows, [&](Arithmetic a, ValueRange v) {
    Value one = a.constant(1), zero = a.constant(0);
    Value part = a.sub(one, a.div(one, v[0]));
    Value root = a.sqrt(a.mul(a.constant(2), part));
    Value bound = a.mul(a.div(one, root), a.constant(1 - 0x1p-48));
    Value isZero = a.compare(arith::CmpFPredicate::OEQ, v[0], zero);
    return a.select(isZero, one, bound);
  });
}

Values MeasureCertificateOp::decomposeOperation(OpBuilder &b) {
  Value rows = createEffectiveRows(*this, b).rows;
  return SmallVector<Value>{createRatio(b, getLoc(), rows), rows};
}

//===----------------------------------------------------------------------===//
// geo.measure_tension
//===----------------------------------------------------------------------===//

LogicalResult MeasureTensionOp::verify() { return success(); }
Value MeasureTensionOp::getCenteredInput() { return getGradient(); }
void MeasureTensionOp::assumeCentered() { setAssumesCentered(true); }

Values MeasureTensionOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  auto [rows, norms] = createEffectiveRows(*this, b);
  auto type = cast<RankedTensorType>(getGradient().getType());
  Value ratio = createRatio(b, loc, rows);
  // What holds for every gradient is sharper where V_eff is large.
  if (type.hasStaticShape()) {
    double jung = jungRatio(type.getDimSize(0), type.getDimSize(1));
    ratio = combine(b, loc, ratio, [&](Arithmetic a, ValueRange v) {
      Value guarantee = a.constant(jung * (1 - 0x1p-48));
      Value isLess =
          a.compare(arith::CmpFPredicate::OLT, v[0], guarantee); // NaN stays
      return a.select(isLess, guarantee, v[0]);
    });
  }
  double slack = getSlack(type);
  auto scaled = [&](double factor, bool divides) {
    return combine(b, loc, {norms, ratio}, [&](Arithmetic a, ValueRange v) {
      Value bound = a.mul(a.constant(factor), v[0]);
      return divides ? a.div(bound, v[1]) : a.unlessNaN(v[1], bound);
    });
  };
  return SmallVector<Value>{scaled(0.5 * (1 - slack), /*divides=*/false),
                            scaled(0.5 * (1 + slack), /*divides=*/true)};
}

//===----------------------------------------------------------------------===//
// geo.measure_columns, geo.measure_decrease
//===----------------------------------------------------------------------===//

LogicalResult MeasureColumnsOp::verify() { return success(); }

Values MeasureColumnsOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  Value squares = RowSquaresOp::create(b, loc, getGradient());
  Value norms = sumOfRoots(b, loc, squares);
  Value norm = combine(b, loc, columnSquares(b, loc, getGradient()),
                       [](Arithmetic a, ValueRange v) { return a.sqrt(v[0]); });
  Value defect = combine(b, loc, {norm, norms}, [](Arithmetic a, ValueRange v) {
    return a.quotientOrZero(v[0], v[1]);
  });
  return SmallVector<Value>{norm, defect};
}

LogicalResult MeasureDecreaseOp::verify() { return success(); }

Values MeasureDecreaseOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  Value rows =
      sumRows(b, loc, {getGradient(), getIncrement()},
              [](Arithmetic a, ValueRange v) { return a.mul(v[0], v[1]); });
  Value sum = sumOf(b, loc, rows);
  return SmallVector<Value>{
      combine(b, loc, sum, [](Arithmetic a, ValueRange v) {
        return a.sub(a.constant(0), v[0]);
      })};
}

//===----------------------------------------------------------------------===//
// geo.dual_norm
//===----------------------------------------------------------------------===//

LogicalResult DualNormOp::verify() {
  StringRef ball = getBall();
  if (ball == "spectral")
    return emitOpError("expected a ball whose dual norm is a sum over rows or "
                       "columns; that of \"spectral\" is geo.measure_nuclear");
  if (llvm::is_contained(
          {"max_row", "common_ball", "max_column", "sign", "frobenius"}, ball))
    return success();
  return emitOpError("expected ball to be \"max_row\", \"common_ball\", "
                     "\"max_column\", \"sign\" or \"frobenius\", but got \"")
         << ball << '"';
}

Value DualNormOp::getCenteredInput() {
  return getBall() == "common_ball" ? Value(getGradient()) : Value();
}
void DualNormOp::assumeCentered() { setAssumesCentered(true); }

Values DualNormOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  if (getBall() == "max_column")
    return SmallVector<Value>{sumOfRoots(
        b, loc, createColumnSums(b, loc, getGradient(), /*ofSquares=*/true))};
  if (getBall() == "sign") {
    Value rows = sumRows(b, loc, getGradient(), [](Arithmetic a, ValueRange v) {
      return a.abs(v[0]);
    });
    return SmallVector<Value>{sumOf(b, loc, rows)};
  }
  if (getAssumesCentered()) {
    // NaN where V_eff is: a fact was contradicted.
    auto [rows, norms] = createEffectiveRows(*this, b);
    return SmallVector<Value>{
        combine(b, loc, {norms, rows}, [](Arithmetic a, ValueRange v) {
          return a.unlessNaN(v[1], v[0]);
        })};
  }
  Value squares = RowSquaresOp::create(b, loc, centreUnlessAssumed(*this, b));
  if (getBall() != "frobenius")
    return SmallVector<Value>{sumOfRoots(b, loc, squares)};
  return SmallVector<Value>{
      combine(b, loc, sumOf(b, loc, squares),
              [](Arithmetic a, ValueRange v) { return a.sqrt(v[0]); })};
}

//===----------------------------------------------------------------------===//
// Measurements by the host
//===----------------------------------------------------------------------===//

static RankedTensorType getMatrixType(Operation *op, unsigned number = 0) {
  return cast<RankedTensorType>(op->getOperand(number).getType());
}

LogicalResult geo::detail::verifyMeasure(Operation *op) {
  RowDiameterLimits limits = rowDiameterLimits(RowDiameterForm::Repair);
  int64_t width = getMatrixType(op).getDimSize(1);
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    RankedTensorType type = getMatrixType(op, i);
    if (!type.hasStaticShape())
      continue;
    if (type.getDimSize(0) > limits.rows || type.getDimSize(1) > limits.columns)
      return op->emitOpError("serves at most ")
             << limits.rows << " rows and " << limits.columns
             << " columns, but got " << type.getDimSize(0) << "x"
             << type.getDimSize(1);
    if (!ShapedType::isDynamic(width) && type.getDimSize(1) != width)
      return op->emitOpError("expected states as wide as the increment, ")
             << width << ", but got " << type.getDimSize(1);
  }
  return success();
}

Values geo::detail::refuseDecomposition(Operation *op) {
  op->emitOpError("is no sequence of linalg ops; block-form-kernels hands it "
                  "to a function of the host");
  return failure();
}

int64_t geo::detail::getMeasureBytes(Operation *op) {
  RankedTensorType type = getMatrixType(op);
  return measureBytes(type.getDimSize(0), type.getDimSize(1));
}

SmallVector<TypedAttr> geo::detail::getMeasureConstants(Operation *op) {
  Builder b(op->getContext());
  RankedTensorType type = getMatrixType(op);
  SmallVector<TypedAttr> numbers = {b.getI64IntegerAttr(getMeasureBytes(op)),
                                    b.getI64IntegerAttr(type.getDimSize(0)),
                                    b.getI64IntegerAttr(type.getDimSize(1))};
  if (op->getNumOperands() > 1)
    numbers.push_back(b.getI64IntegerAttr(getMatrixType(op, 1).getDimSize(0)));
  return numbers;
}

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

namespace {
/// A certificate does not see a positive factor, so the average may be looked
/// at as it is stored: what a bias correction makes of it need not be kept.
struct LookThroughFactor : OpRewritePattern<MeasureCertificateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MeasureCertificateOp op,
                                PatternRewriter &rewriter) const override {
    auto factor = op.getGradient().getDefiningOp<CorrectBiasOp>();
    if (!factor)
      return failure();
    rewriter.modifyOpInPlace(
        op, [&] { op.getGradientMutable().assign(factor.getInput()); });
    return success();
  }
};
} // namespace

void MeasureCertificateOp::getCanonicalizationPatterns(
    RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<LookThroughFactor>(context);
}
