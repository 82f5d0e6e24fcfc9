//===- GPUTables.cpp - GPU kernels as LLVM constants ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mirrors the GPU part of Host/Tables.h, field by field; see Tables.cpp.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/TableConstants.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace steepc {

namespace {
class GPUTableBuilder {
public:
  GPUTableBuilder(TableConstants &make, const GPUCode &code,
                  std::string &missing)
      : make(make), code(code), missing(missing) {}

  Constant *target();

private:
  Constant *image(const std::string &bytes);
  Constant *function(const GPUFunction &function);
  Constant *kernel(const Kernel &kernel);
  Constant *step(const StepFunction &step);
  Constant *batches();

  TableConstants &make;
  const GPUCode &code;
  std::string &missing;
};
} // namespace

/// An image ends in a zero byte, which is where the driver sees PTX end.
Constant *GPUTableBuilder::image(const std::string &bytes) {
  Constant *data = bytes.empty() ? make.array({}) : make.image(bytes);
  return make.record({data, make.number(bytes.size())});
}

/// The driver's interface takes an image without its size: LLVM's wrapper
/// around the bitcode says it.
static std::string wrapped(const std::string &bitcode) {
  std::string bytes(20, 0);
  uint32_t size = alignTo(bitcode.size(), 16);
  support::endian::write32le(&bytes[0], 0x0B17C0DE);
  support::endian::write32le(&bytes[8], bytes.size());
  support::endian::write32le(&bytes[12], bitcode.size());
  support::endian::write32le(&bytes[16], ~0u);
  bytes += bitcode;
  bytes.resize(20 + size, 0);
  return bytes;
}

Constant *GPUTableBuilder::function(const GPUFunction &function) {
  return make.record(
      {make.text(function.name), make.number(function.block[0]),
       make.number(function.block[1]), make.number(function.block[2]),
       make.number(function.dynamicShared), make.number(function.tables)});
}

Constant *GPUTableBuilder::kernel(const Kernel &kernel) {
  int64_t index = code.indexOf(kernel.symbol);
  if (index < 0)
    missing = kernel.symbol;
  SmallVector<Constant *> slots;
  for (const Slot &slot : kernel.slots)
    slots.push_back(
        make.record({make.number(int64_t(slot.kind)), make.number(slot.value),
                     make.number(slot.bytes)}));
  return make.record({make.number(index), make.number(kernel.grid),
                      make.number(slots.size()), make.array(slots)});
}

Constant *GPUTableBuilder::step(const StepFunction &step) {
  SmallVector<Constant *> kernels;
  for (const Kernel &entry : step.kernels)
    kernels.push_back(kernel(entry));
  return make.array({make.record(
      {make.number(kernels.size()), make.array(kernels),
       make.number(step.workspaceBytes), make.number(step.squaresCount)})});
}

Constant *GPUTableBuilder::batches() {
  SmallVector<Constant *> steps, records;
  for (const StepFunction &entry : code.plan.functions)
    steps.push_back(step(entry));
  for (const Batch &batch : code.plan.batches)
    records.push_back(make.record(
        {steps[batch.plain], steps[batch.withUpdate], steps[batch.measured],
         steps[batch.measuredWithUpdate], steps[batch.squares],
         make.number(batch.wave), make.number(batch.squaresWave)}));
  return make.array(records);
}

Constant *GPUTableBuilder::target() {
  SmallVector<Constant *> functions;
  for (const GPUFunction &entry : code.functions)
    functions.push_back(function(entry));
  return make.record(
      {make.text(code.gpu.name), make.number(code.gpu.capability),
       make.number(code.gpu.exact), image(code.cubin), image(code.ptx),
       image(wrapped(code.bitcode)), make.number(functions.size()),
       make.array(functions), batches(), make.number(code.plan.waveBytes)});
}

Constant *makeGPUTargets(TableConstants &make, ArrayRef<GPUCode> codes,
                         std::string &missing) {
  SmallVector<Constant *> targets;
  for (const GPUCode &code : codes)
    targets.push_back(GPUTableBuilder(make, code, missing).target());
  return make.array(targets);
}

} // namespace steepc
