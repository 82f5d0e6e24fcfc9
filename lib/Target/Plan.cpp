//===- Plan.cpp - the optimizer as the host code sees it ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Plan.h"

#include "dialects/Block/Block.h"
#include "dialects/Geo/Geo.h"
#include "dialects/Optim/Roles.h"
#include "lib/Target/Costs.h"
#include "lib/Target/Host/Tables.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>
#include <tuple>

using namespace mlir;

namespace steepc {

double StepFunction::bytes() const {
  return std::accumulate(
      kernels.begin(), kernels.end(), 0.0,
      [](double sum, const Kernel &k) { return sum + k.bytes; });
}

double StepFunction::flops() const {
  return std::accumulate(
      kernels.begin(), kernels.end(), 0.0,
      [](double sum, const Kernel &k) { return sum + k.flops; });
}

bool StepFunction::reads(SlotKind kind) const {
  return llvm::any_of(kernels, [&](const Kernel &kernel) {
    return llvm::any_of(kernel.slots,
                        [&](const Slot &slot) { return slot.kind == kind; });
  });
}

static int64_t countElements(ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

int64_t State::elements() const { return countElements(shape); }
int64_t Parameter::elements() const { return countElements(shape); }

int64_t Plan::stateCount() const {
  return std::accumulate(
      parameters.begin(), parameters.end(), int64_t(0),
      [](int64_t sum, const Parameter &p) { return sum + p.states.size(); });
}

std::string Plan::fullName(const Measure &measure) const {
  std::string name = parameters[measure.parameter].name;
  if (measure.column != 0)
    name += "[" + std::to_string(measure.row) + "," +
            std::to_string(measure.column) + "]";
  else if (measure.row != 0)
    name += "[" + std::to_string(measure.row) + "]";
  return name + "." + measure.name;
}

std::optional<double> Plan::guaranteeOf(int64_t parameter) const {
  std::optional<double> least;
  for (const Batch &batch : batches)
    if (auto ratio = functions[batch.plain].guarantee)
      if (llvm::is_contained(batch.parameters, parameter))
        least = std::min(least.value_or(*ratio), *ratio);
  return least;
}

bool Plan::hasHostKernels() const {
  return llvm::any_of(functions, [](const StepFunction &function) {
    return llvm::any_of(function.kernels,
                        [](const Kernel &kernel) { return kernel.isHost; });
  });
}

void Plan::dropKernels() {
  for (StepFunction &function : functions)
    function.kernels.clear();
}

namespace {

/// Reads one step function.
class StepReader {
public:
  StepReader(func::FuncOp function, SymbolTable &symbols)
      : function(function), symbols(symbols) {}

  FailureOr<StepFunction> read() {
    step.symbol = function.getSymName().str();
    if (auto ratio = function->getAttrOfType<FloatAttr>(
            geo::GeoDialect::guaranteeAttrName))
      step.guarantee = ratio.getValueAsDouble();
    if (failed(readArguments()))
      return failure();
    WalkResult result = function.walk([&](func::CallOp call) {
      return failed(readCall(call)) ? WalkResult::interrupt()
                                    : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    if (step.kernels.empty())
      return function.emitOpError("calls no kernel");
    return std::move(step);
  }

private:
  LogicalResult readArguments();
  LogicalResult readCall(func::CallOp call);
  FailureOr<Slot> slotOf(Value value, func::CallOp call);
  FailureOr<Slot> workspaceSlot(memref::ViewOp view);

  func::FuncOp function;
  SymbolTable &symbols;
  StepFunction step;
  SmallVector<std::optional<Slot>> arguments;
};

} // namespace

LogicalResult StepReader::readArguments() {
  int64_t states = 0, measures = 0;
  for (BlockArgument argument : function.getArguments()) {
    StringRef role = optim::getArgRole(function, argument.getArgNumber());
    auto kind = llvm::StringSwitch<std::optional<SlotKind>>(role)
                    .Case("weight", SlotKind::Weight)
                    .Case("gradient", SlotKind::Gradient)
                    .Case("state", SlotKind::State)
                    .Case("update", SlotKind::Update)
                    .Case("squares", SlotKind::Squares)
                    .Case("gradient_mean", SlotKind::GradientMean)
                    .Case("measure", SlotKind::Measure)
                    .Case("workspace", SlotKind::Workspace)
                    .Case("lr", SlotKind::LR)
                    .Case("wd", SlotKind::WD)
                    .Case("clip", SlotKind::Clip)
                    .Case("step", SlotKind::Step)
                    .Default(std::nullopt);
    if (!kind)
      return function.emitOpError("argument ")
             << argument.getArgNumber() << " has the unknown role '" << role
             << "'";
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (type && !type.hasStaticShape())
      return function.emitOpError("argument ")
             << argument.getArgNumber() << " has no static shape";
    if (*kind == SlotKind::Workspace)
      step.workspaceBytes =
          llvm::alignTo(uint64_t(type.getNumElements()), workspaceAlignment);
    if (*kind == SlotKind::Squares)
      step.squaresCount = type.getNumElements();
    arguments.push_back(Slot{*kind, *kind == SlotKind::State     ? states++
                                    : *kind == SlotKind::Measure ? measures++
                                                                 : 0});
  }
  return success();
}

FailureOr<Slot> StepReader::workspaceSlot(memref::ViewOp view) {
  auto source = dyn_cast<BlockArgument>(view.getSource());
  if (!source ||
      optim::getArgRole(function, source.getArgNumber()) != "workspace")
    return view.emitOpError("expected a view of the workspace");
  APInt offset;
  if (!matchPattern(view.getByteShift(), m_ConstantInt(&offset)) ||
      offset.isNegative() || offset.getSExtValue() % workspaceAlignment != 0)
    return view.emitOpError("expected a constant offset, a multiple of ")
           << workspaceAlignment;
  auto type = cast<MemRefType>(view.getType());
  double bytes = type.hasStaticShape() ? double(type.getNumElements()) *
                                             type.getElementTypeBitWidth() / 8
                                       : HUGE_VAL;
  if (double(offset.getSExtValue()) + bytes > double(step.workspaceBytes))
    return view.emitOpError("reaches past the workspace of ")
           << step.workspaceBytes << " bytes";
  return Slot{SlotKind::Workspace, offset.getSExtValue()};
}

FailureOr<Slot> StepReader::slotOf(Value value, func::CallOp call) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return *arguments[argument.getArgNumber()];
  if (auto view = value.getDefiningOp<memref::ViewOp>())
    return workspaceSlot(view);
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) {
    if (auto number = dyn_cast<IntegerAttr>(constant))
      return Slot{SlotKind::Constant, number.getValue().getSExtValue()};
    if (auto number = dyn_cast<FloatAttr>(constant))
      return Slot{SlotKind::Constant,
                  int64_t(number.getValue().bitcastToAPInt().getZExtValue())};
  }
  return call.emitOpError("passes a value that is no argument, no view of the "
                          "workspace and no constant");
}

static void remarkOnKernel(func::FuncOp kernel, const Kernel &entry) {
  remark::analysis(kernel.getLoc(),
                   remark::RemarkOpts::name("Kernel").category("plan").function(
                       kernel.getName()))
      << remark::metric("Bytes", int64_t(entry.bytes))
      << remark::metric("LeastBytes", int64_t(entry.leastBytes))
      << remark::metric("Flops", int64_t(entry.flops))
      << remark::metric("Blocks", entry.grid)
      << remark::metric("Config", StringRef(entry.config));
}

LogicalResult StepReader::readCall(func::CallOp call) {
  auto kernel = symbols.lookup<func::FuncOp>(call.getCallee());
  StringAttr host;
  if (kernel)
    host = kernel->getAttrOfType<StringAttr>(block::BlockDialect::hostAttrName);
  if (!host &&
      (!kernel || !kernel->hasAttr(block::BlockDialect::kernelAttrName)))
    return call.emitOpError("expected a call of a kernel");
  auto grid =
      kernel->getAttrOfType<IntegerAttr>(block::BlockDialect::gridAttrName);
  if (!grid || grid.getInt() < 1)
    return kernel.emitOpError("expected the attribute '")
           << block::BlockDialect::gridAttrName << "', at least 1";
  if (call.getNumOperands() > STEEP_MAX_SLOTS)
    return call.emitOpError("passes ")
           << call.getNumOperands() << " arguments, more than "
           << int(STEEP_MAX_SLOTS);
  Kernel entry;
  entry.symbol = (host ? host.getValue() : kernel.getSymName()).str();
  entry.isHost = bool(host);
  entry.grid = grid.getInt();
  if (Attribute config = kernel->getAttr(block::BlockDialect::configAttrName))
    llvm::raw_string_ostream(entry.config) << config;
  for (Value operand : call.getOperands()) {
    FailureOr<Slot> slot = slotOf(operand, call);
    if (failed(slot))
      return failure();
    if (auto type = dyn_cast<MemRefType>(operand.getType()))
      slot->bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    entry.slots.push_back(*slot);
  }
  // What a solver does is not known before it runs.
  Cost cost = host ? Cost() : estimateCost(kernel);
  entry.bytes = cost.bytes();
  entry.flops = cost.flops;
  // What goes through the workspace would stay in registers or caches if more
  // were one kernel.
  for (auto [slot, bytes] : llvm::zip(entry.slots, cost.argumentBytes))
    if (slot.kind != SlotKind::Workspace)
      entry.leastBytes += bytes;
  remarkOnKernel(kernel, entry);
  step.kernels.push_back(std::move(entry));
  return success();
}

namespace {

/// Reads the spec and all that it names.
class PlanReader {
public:
  explicit PlanReader(ModuleOp module) : module(module), symbols(module) {}

  FailureOr<Plan> read();

private:
  LogicalResult readSpec(optim::SpecOp spec);
  LogicalResult readParameter(optim::ParameterOp parameter);
  LogicalResult readBatch(optim::BatchOp batch);
  LogicalResult readMeasured(optim::BatchOp op, Batch &batch);
  FailureOr<int64_t> readFunction(StringRef symbol, optim::BatchOp batch);
  LogicalResult readStates(func::FuncOp function, std::vector<State> &states);
  LogicalResult addMatrix(optim::BatchOp op, size_t index,
                          ArrayRef<State> states, Batch &batch);
  void listMeasures();
  void readWholeStates();

  ModuleOp module;
  SymbolTable symbols;
  Plan plan;
  llvm::StringMap<int64_t> groups, parameters, functions;
};

} // namespace

FailureOr<Plan> PlanReader::read() {
  optim::SpecOp spec;
  for (auto op : module.getOps<optim::SpecOp>()) {
    if (spec)
      return op.emitOpError("expected one spec in a module");
    spec = op;
  }
  if (!spec)
    return module.emitError("expected an optim.spec");
  if (failed(readSpec(spec)) || failed(sizeWorkspace(plan, spec)))
    return failure();
  listMeasures();
  return std::move(plan);
}

LogicalResult PlanReader::readSpec(optim::SpecOp spec) {
  plan.name = spec.getSymName().str();
  if (auto schedule = spec.getScheduleAttr())
    plan.schedule = Schedule{schedule.getWarmup().convertToDouble(),
                             schedule.getFloor().convertToDouble()};
  if (auto clip = spec.getClipAttr())
    plan.clipNorm = clip.getMax().convertToDouble();
  plan.nonfiniteIsError = spec.getNonfinite() == optim::NonFinite::Error;
  for (auto group : spec.getOps<optim::BoundGroupOp>()) {
    groups[group.getGroupName()] = plan.groups.size();
    plan.groups.push_back({group.getGroupName().str(), group.getRule().str(),
                           group.getLr().convertToDouble(),
                           group.getWd().convertToDouble()});
  }
  for (auto parameter : spec.getOps<optim::ParameterOp>())
    if (failed(readParameter(parameter)))
      return failure();
  for (auto batch : spec.getOps<optim::BatchOp>())
    if (failed(readBatch(batch)))
      return failure();
  findBlocks(plan);
  if (failed(checkCover(plan, spec)))
    return failure();
  readWholeStates();
  return success();
}

/// Numbers the measures of all matrices, in the order of their parameters.
void PlanReader::listMeasures() {
  struct Matrix {
    int64_t parameter, row, column;
    Batch *batch;
    size_t index;
  };
  std::vector<Matrix> matrices;
  for (Batch &batch : plan.batches) {
    batch.measures.assign(batch.rows.size(), 0);
    for (size_t i = 0; i < batch.rows.size(); ++i)
      matrices.push_back(
          {batch.parameters[i], batch.rows[i], batch.columns[i], &batch, i});
  }
  llvm::sort(matrices, [](const Matrix &a, const Matrix &b) {
    return std::tie(a.parameter, a.row, a.column) <
           std::tie(b.parameter, b.row, b.column);
  });
  for (const Matrix &matrix : matrices) {
    matrix.batch->measures[matrix.index] = plan.measures.size();
    for (const std::string &name : matrix.batch->measureNames)
      plan.measures.push_back(
          {name, matrix.parameter, matrix.row, matrix.column});
  }
}

LogicalResult PlanReader::readParameter(optim::ParameterOp op) {
  // An alias is updated through its owner: a step does not see it.
  if (op.getAliases())
    return success();
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type || type.getRank() < 2 || !type.hasStaticShape() ||
      !type.getElementType().isF32())
    return op.emitOpError("expected matrices of f32, but got ") << op.getType();
  auto group = op.getGroupAttr() ? groups.find(op.getGroupAttr().getValue())
                                 : groups.end();
  if (group == groups.end())
    return op.emitOpError("is bound to no group");
  Parameter parameter;
  parameter.name = op.getParamName().str();
  parameter.shape = type.getShape().vec();
  parameter.group = group->second;
  parameters[parameter.name] = plan.parameters.size();
  plan.parameters.push_back(std::move(parameter));
  return success();
}

LogicalResult PlanReader::readStates(func::FuncOp function,
                                     std::vector<State> &states) {
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (optim::getArgRole(function, i) != "state")
      continue;
    auto name = function.getArgAttrOfType<StringAttr>(i, "optim.state");
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!name || !type || type.getRank() != 2)
      return function.emitOpError("argument ")
             << i << " is a state without a name or not a matrix";
    State state;
    state.name = name.str();
    if (auto convention =
            function.getArgAttrOfType<StringAttr>(i, "optim.convention"))
      state.convention = convention.str();
    if (auto beta = function.getArgAttrOfType<FloatAttr>(i, "optim.beta"))
      state.beta = beta.getValueAsDouble();
    state.shape = type.getShape().vec();
    state.columns = type.getDimSize(1);
    states.push_back(std::move(state));
  }
  return success();
}

FailureOr<int64_t> PlanReader::readFunction(StringRef symbol,
                                            optim::BatchOp batch) {
  auto known = functions.find(symbol);
  if (known != functions.end())
    return known->second;
  auto function = symbols.lookup<func::FuncOp>(symbol);
  if (!function || !function->hasAttr(block::BlockDialect::stepAttrName))
    return batch.emitOpError("expected '")
           << symbol << "' to be a step function";
  FailureOr<StepFunction> step = StepReader(function, symbols).read();
  if (failed(step))
    return failure();
  int64_t index = plan.functions.size();
  plan.functions.push_back(std::move(*step));
  functions[symbol] = index;
  return index;
}

/// The states of the parameters as they are without blocks; so far they have
/// the shapes that a matrix of theirs has.
void PlanReader::readWholeStates() {
  for (Parameter &parameter : plan.parameters) {
    const Batch &batch = plan.batches[parameter.batch];
    for (State &state : parameter.states) {
      if (state.isMean()) {
        state.columns = parameter.columns;
        state.shape = {int64_t(parameter.rowBlocks.size()), state.columns};
        continue;
      }
      if (state.columns == batch.matrixColumns) {
        state.shape = parameter.shape;
        state.columns = parameter.columns;
        continue;
      }
      // One number a row and block of columns; a convolution's row is all but
      // its first dimension.
      state.columns = parameter.columnBlocks.size();
      if (parameter.columns != parameter.shape.back()) {
        state.shape = {parameter.shape.front(), state.columns};
        continue;
      }
      state.shape = parameter.shape;
      state.shape.back() = state.columns;
    }
  }
}

/// Adds matrix `index` of a batch, with the states of one.
LogicalResult PlanReader::addMatrix(optim::BatchOp op, size_t index,
                                    ArrayRef<State> states, Batch &batch) {
  auto name = cast<StringAttr>(op.getParameters()[index]);
  auto found = parameters.find(name.getValue());
  if (found == parameters.end())
    return op.emitOpError("names the unknown parameter ") << name;
  Parameter &parameter = plan.parameters[found->second];
  if (parameter.batch < 0) {
    parameter.batch = plan.batches.size();
    parameter.states.assign(states.begin(), states.end());
  }
  batch.parameters.push_back(found->second);
  batch.rows.push_back(op.getFirstRow(index));
  batch.columns.push_back(op.getFirstColumn(index));
  Group &group = plan.groups[parameter.group];
  const StepFunction &function = plan.functions[batch.plain];
  group.decays |= function.reads(SlotKind::WD);
  group.counts |= function.reads(SlotKind::Step);
  batch.rule = group.rule;
  return success();
}

/// The functions that measure, where there are any.
LogicalResult PlanReader::readMeasured(optim::BatchOp op, Batch &batch) {
  batch.measured = batch.plain;
  batch.measuredWithUpdate = batch.withUpdate;
  if (!op.getMeasured())
    return success();
  auto measured = readFunction(*op.getMeasured(), op);
  auto measuredWithUpdate = readFunction(*op.getMeasuredUpdate(), op);
  if (failed(measured) || failed(measuredWithUpdate))
    return failure();
  batch.measured = *measured;
  batch.measuredWithUpdate = *measuredWithUpdate;
  for (StringRef name : op.getMeasures()->getAsValueRange<StringAttr>())
    batch.measureNames.push_back(name.str());
  return success();
}

LogicalResult PlanReader::readBatch(optim::BatchOp op) {
  Batch batch;
  batch.name = op.getFunction().str();
  auto plain = readFunction(op.getFunction(), op);
  auto withUpdate = readFunction(op.getUpdate(), op);
  auto squares = readFunction(op.getSquares(), op);
  if (failed(plain) || failed(withUpdate) || failed(squares))
    return failure();
  batch.plain = *plain;
  batch.withUpdate = *withUpdate;
  batch.squares = *squares;
  if (failed(readMeasured(op, batch)))
    return failure();
  if (op.getRefresh()) {
    auto refresh = readFunction(*op.getRefresh(), op);
    if (failed(refresh))
      return failure();
    batch.refresh = *refresh;
  }
  auto function = symbols.lookup<func::FuncOp>(op.getFunction());
  std::vector<State> states;
  if (failed(readStates(function, states)))
    return failure();
  auto weight = function.getNumArguments() > 0
                    ? dyn_cast<MemRefType>(function.getArgumentTypes()[0])
                    : MemRefType();
  if (!weight || weight.getRank() != 2)
    return function.emitOpError("expected a matrix as its first argument");
  batch.matrixRows = weight.getDimSize(0);
  batch.matrixColumns = weight.getDimSize(1);
  for (size_t index = 0; index < op.getParameters().size(); ++index)
    if (failed(addMatrix(op, index, states, batch)))
      return failure();
  plan.batches.push_back(std::move(batch));
  return success();
}

FailureOr<Plan> extractPlan(ModuleOp module) {
  return PlanReader(module).read();
}

} // namespace steepc
