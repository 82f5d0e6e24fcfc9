//===- GeoSchedules.cpp - what geo.spectral is asked to do ----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Geo/GeoDetail.h"

using namespace mlir;
using namespace mlir::geo;
using namespace mlir::geo::detail;
using namespace steep::schedules;

static std::optional<double> getValue(std::optional<APFloat> number) {
  if (!number)
    return std::nullopt;
  return number->convertToDouble();
}

//===----------------------------------------------------------------------===//
// Coefficients
//===----------------------------------------------------------------------===//

/// The spec's own triples.
static std::optional<Schedule> readTable(ArrayAttr table, std::string &error) {
  Schedule schedule;
  for (Attribute row : table) {
    auto numbers = dyn_cast<ArrayAttr>(row);
    if (!numbers || numbers.size() != 3 ||
        !llvm::all_of(numbers, llvm::IsaPred<FloatAttr>)) {
      error = "expected each triple of schedule to be [a, b, c], three "
              "numbers, but got " +
              strNumbers(row);
      return std::nullopt;
    }
    auto get = [&](unsigned i) {
      return cast<FloatAttr>(numbers[i]).getValueAsDouble();
    };
    schedule.push_back({get(0), get(1), get(2)});
  }
  return schedule;
}

static std::optional<Schedule> makeTriples(SpectralOp op, std::string &error) {
  StringRef then = op.getThen().value_or("");
  if (auto name = dyn_cast<StringAttr>(op.getSchedule())) {
    if (then.empty())
      return makeSchedule(name.getValue(), op.getSteps(),
                          getValue(op.getSafety()), error);
    error = "expected then only with a schedule of triples: what follows the "
            "last one of " +
            name.getValue().str() + " is fixed";
    return std::nullopt;
  }
  if (op.getSafety()) {
    error = "expected safety only with schedule polar_express, but got it with "
            "a schedule of triples";
    return std::nullopt;
  }
  std::optional<Schedule> table =
      readTable(cast<ArrayAttr>(op.getSchedule()), error);
  if (!table)
    return std::nullopt;
  return makeCustomSchedule(
      *table, op.getSteps(), then,
      op.getDot() == Dot::bf16 ? maxCoefficientBF16 : maxCoefficientF32, error);
}

std::optional<Schedule> SpectralOp::getTriples() {
  std::string error;
  return makeTriples(*this, error);
}

//===----------------------------------------------------------------------===//
// The form
//===----------------------------------------------------------------------===//

Restarts SpectralOp::getAllRestarts() {
  if (ArrayAttr restarts = getRestartsAttr()) {
    Restarts steps;
    for (auto step : restarts.getAsRange<IntegerAttr>())
      steps.push_back(step.getInt());
    return steps;
  }
  auto name = dyn_cast<StringAttr>(getSchedule());
  return getDefaultRestarts(name ? name.getValue() : "",
                            getTriples().value_or(Schedule{}));
}

/// Unit roundoff of the operands of the products.
static double getRoundoff(Dot dot) {
  return dot == Dot::bf16 ? 0x1p-8 : 0x1p-24;
}

static bool isGramAccurate(SpectralOp op, const Schedule &schedule) {
  return getRoundoff(op.getDot()) * getGrowth(schedule, op.getAllRestarts()) <=
         maxGramError;
}

Form SpectralOp::getChosenForm() {
  if (getForm() != "auto")
    return getForm() == "gram" ? Form::gram : Form::standard;
  auto shape = cast<RankedTensorType>(getGradient().getType()).getShape();
  std::optional<Schedule> schedule = getTriples();
  if (!schedule || !isGramAccurate(*this, *schedule))
    return Form::standard;
  return chooseForm(shape[0], shape[1], getSteps(), getAllRestarts());
}

static LogicalResult verifyRestarts(SpectralOp op) {
  ArrayAttr restarts = op.getRestartsAttr();
  if (!restarts)
    return success();
  if (op.getForm() == "standard")
    return op.emitOpError("expected restarts only with form \"gram\" or "
                          "\"auto\"");
  const int64_t steps = op.getSteps();
  int64_t previous = 0;
  for (auto step : restarts.getAsRange<IntegerAttr>()) {
    if (step.getInt() <= previous || step.getInt() >= steps)
      return op.emitOpError("expected restarts to ascend within 1..")
             << steps - 1 << ", but got " << step.getInt()
             << (previous > 0 ? " after " + std::to_string(previous) : "");
    previous = step.getInt();
  }
  return success();
}

static LogicalResult verifyForm(SpectralOp op, const Schedule &schedule) {
  StringRef form = op.getForm();
  if (form != "standard" && form != "gram" && form != "auto")
    return op.emitOpError("expected form to be \"standard\", \"gram\" or "
                          "\"auto\", but got \"")
           << form << '"';
  if (failed(verifyRestarts(op)))
    return failure();
  if (form == "gram" && !isGramAccurate(op, schedule))
    return op.emitOpError("expected a Gram form whose rounding errors are "
                          "bounded by ")
           << str(maxGramError) << ", but with dot("
           << stringifyDot(op.getDot())
           << ") and this schedule and these restarts they reach "
           << str(getRoundoff(op.getDot()) *
                  getGrowth(schedule, op.getAllRestarts()))
           << "; form \"standard\" has no such growth";
  return success();
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

StringRef SpectralOp::getDualNorm() { return "||G||_nuclear"; }

bool SpectralOp::isHomogeneous() {
  return getEps().isZero() || getNormalization() == "scale_free";
}

static LogicalResult verifyNormalization(SpectralOp op) {
  StringRef kind = op.getNormalization();
  if (kind != "frobenius" && kind != "safety" && kind != "scale_free")
    return op.emitOpError("expected normalization to be \"frobenius\", "
                          "\"safety\" or \"scale_free\", but got \"")
           << kind << '"';
  if (kind == "safety" && !op.getSafety())
    return op.emitOpError("expected a safety factor for normalization "
                          "\"safety\" to multiply the norm with");
  return success();
}

/// Says where the schedule takes a singular value that it should not.
static LogicalResult refuse(SpectralOp op, const Violation &found,
                            double margin) {
  bool vanishes = found.image > 0 && found.image < minImage;
  InFlightDiagnostic diag = op.emitOpError("expected a schedule that maps "
                                           "singular values ");
  if (vanishes && found.s >= leastValue)
    diag << "from " << str(leastValue) << " on to at least " << str(minImage)
         << ", which rounding errors of FP32 leave alone";
  else
    diag << "in (0, " << str(1 + margin) << "] into (0, " << str(maxImage)
         << ']';
  return diag << ", but " << strNumbers(op.getScheduleAttr()) << " with "
              << op.getSteps() << " steps maps " << str(found.s) << " to "
              << str(found.image);
}

LogicalResult SpectralOp::verify() {
  if (failed(verifyBall(*this)) || failed(verifyNormalization(*this)))
    return failure();
  std::string error;
  std::optional<Schedule> schedule = makeTriples(*this, error);
  if (!schedule)
    return emitOpError(error);
  double margin = getDot() == Dot::bf16 ? marginBF16 : marginF32;
  if (auto violation = findViolation(*schedule, margin))
    return refuse(*this, *violation, margin);
  return verifyForm(*this, *schedule);
}
