//===- GeoOracles.cpp - oracles without a closed form ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Geo/GeoDetail.h"
#include "lib/Schedules/RowDiameter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::geo;
using namespace steep::schedules;

ParseResult geo::detail::parseRadius(OpAsmParser &parser,
                                     OpAsmParser::UnresolvedOperand &radius,
                                     Type &type) {
  type = parser.getBuilder().getF32Type();
  return failure(
      parser.parseOperand(radius) ||
      (succeeded(parser.parseOptionalColon()) && parser.parseType(type)));
}

void geo::detail::printRadius(OpAsmPrinter &printer, Operation *, Value radius,
                              Type type) {
  printer << radius;
  if (!type.isF32())
    printer << " : " << type;
}

static RowDiameterForm getSolverForm(RowDiameterOp op) {
  return op.getForm() == "repair" ? RowDiameterForm::Repair
                                  : RowDiameterForm::Exact;
}

/// The forms with a solver refuse what they cannot serve, once shapes are
/// known.
static LogicalResult verifySize(RowDiameterOp op) {
  auto type = cast<RankedTensorType>(op.getGradient().getType());
  if (op.isRelaxed() || !type.hasStaticShape())
    return success();
  RowDiameterForm form = getSolverForm(op);
  RowDiameterLimits limits = rowDiameterLimits(form);
  if (type.getDimSize(0) <= limits.rows && type.getDimSize(1) <= limits.columns)
    return success();
  InFlightDiagnostic diagnostic =
      op.emitOpError("with form = \"")
      << op.getForm() << "\" serves at most " << limits.rows << " rows and "
      << limits.columns << " columns, but got " << type.getDimSize(0) << "x"
      << type.getDimSize(1);
  if (form == RowDiameterForm::Exact)
    diagnostic << "; alternatives are form = \"repair\", feasible in a few "
                  "sweeps over all pairs, and form = \"relax\", the common "
                  "ball with its guarantee";
  else
    diagnostic << "; an alternative is form = \"relax\", the common ball with "
                  "its guarantee";
  return diagnostic;
}

/// Whether a radius is a learning rate, or another number of at least 0, times
/// constants whose product is negative.
static bool isFlipped(Value radius) {
  bool isNegative = false;
  APFloat factor(0.0f);
  while (Operation *op = radius.getDefiningOp()) {
    if (auto scale = dyn_cast<ShapeScaleOp>(op)) {
      radius = scale.getRadius();
    } else if (auto negated = dyn_cast<arith::NegFOp>(op)) {
      isNegative = !isNegative;
      radius = negated.getOperand();
    } else if (auto product = dyn_cast<arith::MulFOp>(op)) {
      bool isRight = matchPattern(product.getRhs(), m_ConstantFloat(&factor));
      if (!isRight && !matchPattern(product.getLhs(), m_ConstantFloat(&factor)))
        break;
      isNegative ^= factor.isNegative() && !factor.isZero();
      radius = isRight ? product.getLhs() : product.getRhs();
    } else {
      break;
    }
  }
  if (matchPattern(radius, m_ConstantFloat(&factor)))
    isNegative ^= factor.isNegative() && !factor.isZero();
  return isNegative;
}

/// A radius that the spec writes down is checked where it stands.
static LogicalResult verifyRadius(RowDiameterOp op) {
  if (op.isRelaxed() && !op.getRadius().getType().isF32())
    return op.emitOpError("with form = \"relax\" expected a radius of type "
                          "f32, but got ")
           << op.getRadius().getType();
  APFloat radius(0.0f);
  if (matchPattern(op.getRadius(), m_ConstantFloat(&radius))) {
    if (radius.isFinite() && (!radius.isNegative() || radius.isZero()))
      return success();
    return op.emitOpError("expected a finite radius of at least 0, but got ")
           << geo::detail::str(radius.convertToFloat());
  }
  if (isFlipped(op.getRadius()))
    return op.emitOpError("expected a radius of at least 0, but got a number "
                          "times a negative one");
  return success();
}

/// What a form makes no use of is refused, not ignored.
static LogicalResult verifySettings(RowDiameterOp op) {
  double tolerance = op.getLargestGap();
  // What FP64 can tell from nothing.
  if (!(tolerance >= 1e-12 && tolerance < 1))
    return op.emitOpError("expected tolerance in [1e-12, 1), but got ")
           << geo::detail::str(tolerance);
  if (op.getTolerance() && op.getForm() != "exact")
    return op.emitOpError("with form = \"")
           << op.getForm() << "\" takes no tolerance, but got "
           << geo::detail::str(tolerance);
  if (op.isRelaxed() && op.getSteps())
    return op.emitOpError("with form = \"relax\" takes no steps, but got ")
           << op.getStepLimit();
  int64_t steps = op.getStepLimit(), least = op.getForm() == "exact" ? 1 : 0;
  if (steps < least || steps > 100000)
    return op.emitOpError("expected steps in [")
           << least << ", 100000], but got " << steps;
  return success();
}

LogicalResult RowDiameterOp::verify() {
  StringRef form = getForm();
  if (form != "exact" && form != "repair" && form != "relax")
    return emitOpError("expected form to be \"exact\", \"repair\" or "
                       "\"relax\", but got \"")
           << form << '"';
  if (failed(verifyRadius(*this)) || failed(verifySettings(*this)))
    return failure();
  return verifySize(*this);
}

double RowDiameterOp::getLargestGap() {
  return getTolerance() ? getTolerance()->convertToDouble() : 1e-6;
}

int64_t RowDiameterOp::getStepLimit() {
  return static_cast<int64_t>(
      getSteps().value_or(getForm() == "repair" ? 3 : 200));
}

FailureOr<SmallVector<Value>> RowDiameterOp::decomposeOperation(OpBuilder &) {
  emitOpError("with form = \"")
      << getForm() << "\" is no sequence of linalg ops; "
      << (isRelaxed() ? "geo-relax-row-diameter rewrites it"
                      : "block-form-kernels hands it to the host's solver");
  return failure();
}

//===----------------------------------------------------------------------===//
// What passes ask of it
//===----------------------------------------------------------------------===//

StringRef RowDiameterOp::getDualNorm() { return "2 T(G)"; }
APFloat RowDiameterOp::getEps() { return APFloat(0.0); }
void RowDiameterOp::setEps(APFloat) {}
bool RowDiameterOp::isBlindToRowShifts() { return true; }
bool RowDiameterOp::hasCenteredResult() { return true; }

StringRef RowDiameterOp::getHostSymbol() {
  return isRelaxed() ? "" : "steep_kernel_row_diameter";
}

int64_t RowDiameterOp::getWorkspaceBytes() {
  auto type = cast<RankedTensorType>(getGradient().getType());
  return rowDiameterBytes(getSolverForm(*this), type.getDimSize(0),
                          type.getDimSize(1));
}

SmallVector<TypedAttr> RowDiameterOp::getHostConstants() {
  auto type = cast<RankedTensorType>(getGradient().getType());
  Builder b(getContext());
  return {b.getI64IntegerAttr(type.getDimSize(0)),
          b.getI64IntegerAttr(type.getDimSize(1)),
          b.getI64IntegerAttr(static_cast<int64_t>(getSolverForm(*this))),
          b.getF64FloatAttr(getLargestGap()),
          b.getI64IntegerAttr(getStepLimit())};
}

std::string RowDiameterOp::getHostCost() {
  std::string steps = std::to_string(getStepLimit());
  if (getForm() == "repair")
    return "sweeps over all pairs of rows, V^2 d operations each, at most " +
           steps + " that repair and some that measure";
  return "at most " + steps + " Newton steps to a gap of " +
         geo::detail::str(getLargestGap()) +
         ", each of up to 250 products of pairs and a sweep over all pairs of "
         "rows, V^2 d operations; seconds, late in a training tens of seconds, "
         "for some hundred rows";
}
