//===- Tables.cpp - a plan as LLVM constants ------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mirrors Host/Tables.h, field by field. Every field is eight bytes wide, so
// that a record here has the layout of the struct there.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Tables.h"

#include "lib/Target/Host/Tables.h"
#include "lib/Target/TableConstants.h"

using namespace llvm;

namespace steepc {

// The numbers stand in two languages; the compiler compares them.
static_assert(int64_t(SlotKind::Weight) == STEEP_SLOT_WEIGHT);
static_assert(int64_t(SlotKind::Gradient) == STEEP_SLOT_GRADIENT);
static_assert(int64_t(SlotKind::State) == STEEP_SLOT_STATE);
static_assert(int64_t(SlotKind::Update) == STEEP_SLOT_UPDATE);
static_assert(int64_t(SlotKind::Squares) == STEEP_SLOT_SQUARES);
static_assert(int64_t(SlotKind::Workspace) == STEEP_SLOT_WORKSPACE);
static_assert(int64_t(SlotKind::LR) == STEEP_SLOT_LR);
static_assert(int64_t(SlotKind::WD) == STEEP_SLOT_WD);
static_assert(int64_t(SlotKind::Clip) == STEEP_SLOT_CLIP);
static_assert(int64_t(SlotKind::Step) == STEEP_SLOT_STEP);
static_assert(int64_t(SlotKind::Constant) == STEEP_SLOT_CONSTANT);
static_assert(int64_t(SlotKind::Measure) == STEEP_SLOT_MEASURE);
static_assert(int64_t(SlotKind::GradientMean) == STEEP_SLOT_GRADIENT_MEAN);

namespace {

/// Builds the records of Host/Tables.h.
class TableBuilder {
public:
  TableBuilder(Module &module, const Plan &plan, ArrayRef<GPUCode> gpus)
      : module(module), plan(plan), gpus(gpus), make(module) {}

  Error build(const CPU &cpu, StringRef manifest);

private:
  Constant *kernel(const Kernel &kernel);
  Constant *function(const StepFunction &function);
  Constant *batches();
  Constant *parameters();
  Constant *states();
  Constant *measureNames();
  Constant *groups();
  Constant *features(const CPU &cpu);
  Constant *gpuEntries();

  Module &module;
  const Plan &plan;
  ArrayRef<GPUCode> gpus;
  TableConstants make;
  std::string missing; ///< a kernel that the module lacks
};

} // namespace

Constant *TableBuilder::kernel(const Kernel &kernel) {
  Constant *run = module.getFunction(kernel.symbol);
  if (!run) {
    missing = kernel.symbol;
    run = make.array({});
  }
  SmallVector<Constant *> slots;
  for (const Slot &slot : kernel.slots)
    slots.push_back(
        make.record({make.number(int64_t(slot.kind)), make.number(slot.value),
                     make.number(slot.bytes)}));
  return make.record({run, make.number(kernel.grid), make.number(slots.size()),
                      make.array(slots)});
}

Constant *TableBuilder::function(const StepFunction &function) {
  SmallVector<Constant *> kernels;
  for (const Kernel &entry : function.kernels)
    kernels.push_back(kernel(entry));
  Constant *record =
      make.record({make.number(kernels.size()), make.array(kernels),
                   make.number(function.workspaceBytes),
                   make.number(function.squaresCount)});
  return make.array({record});
}

Constant *TableBuilder::batches() {
  SmallVector<Constant *> functions, records;
  for (const StepFunction &entry : plan.functions)
    functions.push_back(function(entry));
  for (const Batch &batch : plan.batches)
    records.push_back(make.record(
        {functions[batch.plain], functions[batch.withUpdate],
         functions[batch.measured], functions[batch.measuredWithUpdate],
         functions[batch.squares], make.number(batch.parameters.size()),
         make.numbers(batch.parameters), make.numbers(batch.rows),
         make.numbers(batch.columns), make.numbers(batch.columnBlocks),
         make.numbers(batch.measures), make.number(batch.wave),
         make.number(batch.squaresWave), make.number(batch.matrixRows),
         make.number(batch.matrixColumns), make.number(batch.meansOffset),
         batch.refresh ? functions[*batch.refresh] : make.array({}),
         make.numbers(batch.rowBlocks)}));
  return make.array(records);
}

Constant *TableBuilder::parameters() {
  SmallVector<Constant *> records;
  int64_t stateBegin = 0;
  for (const Parameter &parameter : plan.parameters) {
    const Group &group = plan.groups[parameter.group];
    SmallVector<Constant *> names;
    for (const State &state : parameter.states)
      names.push_back(make.text(state.name));
    records.push_back(make.record(
        {make.text(parameter.name), make.text(group.name),
         make.text(group.rule), make.number(parameter.group),
         make.number(parameter.shape.size()), make.numbers(parameter.shape),
         make.number(parameter.columns), make.number(stateBegin),
         make.number(names.size()), make.array(names)}));
    stateBegin += names.size();
  }
  return make.array(records);
}

Constant *TableBuilder::states() {
  SmallVector<Constant *> records;
  for (auto [owner, parameter] : llvm::enumerate(plan.parameters))
    for (const State &state : parameter.states)
      records.push_back(
          make.record({make.text(state.name), make.number(state.shape.size()),
                       make.numbers(state.shape), make.number(state.columns),
                       make.text(state.convention), make.number(owner),
                       make.number(state.isMean())}));
  return make.array(records);
}

Constant *TableBuilder::measureNames() {
  SmallVector<Constant *> names;
  for (const Measure &measure : plan.measures)
    names.push_back(make.text(plan.fullName(measure)));
  return make.array(names);
}

Constant *TableBuilder::groups() {
  SmallVector<Constant *> records;
  for (const Group &group : plan.groups)
    records.push_back(make.record({make.text(group.name), make.text(group.rule),
                                   make.real(group.lr), make.real(group.wd),
                                   make.number(group.decays)}));
  return make.array(records);
}

Constant *TableBuilder::features(const CPU &cpu) {
  SmallVector<Constant *> records;
  for (const CPUFeature *feature : cpu.required)
    records.push_back(make.record(
        {make.number(feature->leaf), make.number(feature->subleaf),
         make.number(feature->reg), make.number(feature->bit),
         make.number(feature->xcr0), make.text(feature->cpuinfoName)}));
  return make.array(records);
}

/// The launcher's functions, defined where it is linked in.
Constant *TableBuilder::gpuEntries() {
  if (gpus.empty())
    return make.array({});
  return new GlobalVariable(module, Type::getInt8Ty(module.getContext()), true,
                            GlobalValue::ExternalLinkage, nullptr,
                            "steep_gpu_functions");
}

Error TableBuilder::build(const CPU &cpu, StringRef manifest) {
  Constant *tables = make.record({make.text(plan.name),
                                  make.text(manifest),
                                  make.number(plan.parameters.size()),
                                  parameters(),
                                  make.number(plan.stateCount()),
                                  states(),
                                  make.number(plan.measures.size()),
                                  measureNames(),
                                  make.number(plan.groups.size()),
                                  groups(),
                                  make.number(plan.batches.size()),
                                  batches(),
                                  make.number(cpu.required.size()),
                                  features(cpu),
                                  make.real(plan.clipNorm.value_or(0)),
                                  make.number(plan.nonfiniteIsError),
                                  make.number(plan.sumsBytes),
                                  make.number(plan.workspaceBytes),
                                  make.number(plan.wavesOffset()),
                                  make.number(plan.copiesOffset()),
                                  make.number(gpus.size()),
                                  makeGPUTargets(make, gpus, missing),
                                  gpuEntries(),
                                  make.number(cpu.hasKernels)});
  if (!missing.empty())
    return createStringError("the kernel '" + missing +
                             "' did not reach code generation");
  new GlobalVariable(module, tables->getType(), true,
                     GlobalValue::ExternalLinkage, tables, "steep_host_tables");
  return Error::success();
}

Error addTables(Module &module, const Plan &plan, const CPU &cpu,
                StringRef manifest, ArrayRef<GPUCode> gpus) {
  return TableBuilder(module, plan, gpus).build(cpu, manifest);
}

} // namespace steepc
