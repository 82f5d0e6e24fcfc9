//===- Manifest.cpp - what an artefact says of itself ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Manifest.h"

#include "steep/steep.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <cstdlib>

using namespace llvm;

namespace steepc {

double leastBytes(const Plan &plan, const Batch &batch) {
  double bytes = 0;
  for (int64_t index : batch.parameters) {
    const Parameter &parameter = plan.parameters[index];
    double row = 16.0 * batch.matrixColumns;
    for (const State &state : parameter.states)
      if (!state.isMean())
        row += 8.0 * batch.columnsOf(parameter, state);
    bytes += row * batch.matrixRows;
  }
  return bytes;
}

double movedBytes(const Plan &plan, const Batch &batch) {
  return (plan.functions[batch.squares].bytes() +
          plan.functions[batch.plain].bytes()) *
         batch.parameters.size();
}

double operations(const Plan &plan, const Batch &batch) {
  return (plan.functions[batch.squares].flops() +
          plan.functions[batch.plain].flops()) *
         batch.parameters.size();
}

std::string shortestNumber(double value) {
  char text[40];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value)
      break;
  }
  return text;
}

namespace {

/// llvm::json::OStream, with numbers as people write them.
class Writer {
public:
  explicit Writer(raw_ostream &out) : json(out, 2) {}

  void number(StringRef key, double value) {
    json.attributeBegin(key);
    json.rawValue(shortestNumber(value));
    json.attributeEnd();
  }
  void list(StringRef key, const std::vector<int64_t> &values) {
    std::string text = "[";
    for (int64_t value : values)
      text += (text.size() > 1 ? ", " : "") + std::to_string(value);
    json.attributeBegin(key);
    json.rawValue(text + "]");
    json.attributeEnd();
  }

  json::OStream json;
};

class ManifestWriter {
public:
  ManifestWriter(raw_ostream &out, const Plan &plan)
      : writer(out), json(writer.json), plan(plan) {}

  void write(const CPU &cpu, ArrayRef<GPUCode> gpus, StringRef specSha256,
             bool hasLibrary);

private:
  void writeHead(const CPU &cpu, StringRef specSha256);
  void writeRecipe();
  void writeParameters();
  void writeMeasures();
  void writeKernels(const StepFunction &function);
  void writeBatches();
  void writeGPUKernels(const GPUCode &code, const StepFunction &function);
  void writeGPU(const GPUCode &code);
  void writeGPUs(ArrayRef<GPUCode> gpus);

  Writer writer;
  json::OStream &json;
  const Plan &plan;
};

} // namespace

void ManifestWriter::writeHead(const CPU &cpu, StringRef specSha256) {
  json.attributeObject("steep", [&] {
    json.attributeBegin("abi");
    json.rawValue("[" + std::to_string(STEEP_ABI_MAJOR) + ", " +
                  std::to_string(STEEP_ABI_MINOR) + "]");
    json.attributeEnd();
    json.attribute("version", STEEP_VERSION);
    json.attribute("llvm", LLVM_VERSION_STRING);
  });
  json.attribute("name", plan.name);
  json.attribute("spec_sha256", specSha256);
  json.attributeObject("target", [&] {
    json.attribute("triple", cpu.triple);
    json.attribute("cpu", cpu.hasKernels ? cpu.cpu : "none");
    json.attributeArray("features", [&] {
      for (const CPUFeature *feature : cpu.required)
        json.value(feature->cpuinfoName);
    });
  });
}

void ManifestWriter::writeRecipe() {
  if (plan.schedule)
    json.attributeObject("schedule", [&] {
      json.attribute("kind", "warmup_cosine");
      writer.number("warmup", plan.schedule->warmup);
      writer.number("floor", plan.schedule->floor);
    });
  else
    json.attribute("schedule", nullptr);
  if (plan.clipNorm)
    json.attributeObject("clip", [&] {
      json.attribute("kind", "global_norm");
      writer.number("max", *plan.clipNorm);
    });
  else
    json.attribute("clip", nullptr);
  json.attribute("nonfinite", plan.nonfiniteIsError ? "error" : "skip");
  json.attributeObject("workspace", [&] {
    json.attribute("bytes", plan.workspaceBytes);
    json.attribute("alignment", 64);
  });
  json.attributeArray("groups", [&] {
    for (const Group &group : plan.groups)
      json.object([&] {
        json.attribute("name", group.name);
        json.attribute("rule", group.rule);
        writer.number("lr", group.lr);
        writer.number("wd", group.wd);
        json.attribute("decays", group.decays);
        json.attribute("counts", group.counts);
      });
  });
}

void ManifestWriter::writeParameters() {
  json.attributeArray("parameters", [&] {
    for (auto [index, parameter] : llvm::enumerate(plan.parameters))
      json.object([&, index = index, &parameter = parameter] {
        const Group &group = plan.groups[parameter.group];
        json.attribute("name", parameter.name);
        writer.list("shape", parameter.shape);
        json.attribute("dtype", "F32");
        json.attribute("group", group.name);
        json.attribute("rule", group.rule);
        if (auto guarantee = plan.guaranteeOf(index))
          writer.number("guarantee", *guarantee);
        json.attributeArray("states", [&] {
          for (const State &state : parameter.states)
            json.object([&] {
              json.attribute("name", state.name);
              writer.list("shape", state.shape);
              json.attribute("dtype", "F32");
              json.attribute("convention", state.convention);
              if (state.beta)
                writer.number("beta", *state.beta);
            });
        });
      });
  });
}

/// In the order in which a step fills its caller's array.
void ManifestWriter::writeMeasures() {
  json.attributeArray("measures", [&] {
    for (const Measure &measure : plan.measures)
      json.object([&] {
        json.attribute("name", measure.name);
        json.attribute("parameter", plan.parameters[measure.parameter].name);
        json.attribute("row", measure.row);
        if (measure.column != 0)
          json.attribute("column", measure.column);
      });
  });
}

void ManifestWriter::writeKernels(const StepFunction &function) {
  for (const Kernel &kernel : function.kernels)
    json.object([&] {
      json.attribute("name", kernel.symbol);
      json.attribute("grid", kernel.grid);
      json.attribute("config", kernel.config);
      writer.number("bytes", kernel.bytes);
      writer.number("flops", kernel.flops);
    });
}

void ManifestWriter::writeBatches() {
  json.attributeArray("batches", [&] {
    for (const Batch &batch : plan.batches)
      json.object([&] {
        const StepFunction &function = plan.functions[batch.plain];
        json.attribute("function", batch.name);
        json.attribute("rule", batch.rule);
        json.attribute("count", int64_t(batch.parameters.size()));
        json.attributeArray("parameters", [&] {
          for (int64_t index : batch.parameters)
            json.value(plan.parameters[index].name);
        });
        // Where matrices are parts of parameters.
        if (llvm::any_of(batch.rows, [](int64_t row) { return row != 0; }))
          writer.list("rows", batch.rows);
        if (llvm::any_of(batch.columns, [](int64_t at) { return at != 0; }))
          writer.list("columns", batch.columns);
        json.attribute("workspace_bytes", function.workspaceBytes);
        json.attribute("wave", batch.wave);
        json.attributeArray("kernels", [&] {
          writeKernels(plan.functions[batch.squares]);
          writeKernels(function);
        });
        writer.number("bytes", movedBytes(plan, batch));
        writer.number("flops", operations(plan, batch));
        writer.number("least_bytes", leastBytes(plan, batch));
      });
  });
}

void ManifestWriter::writeGPUKernels(const GPUCode &code,
                                     const StepFunction &function) {
  for (const Kernel &kernel : function.kernels)
    json.object([&] {
      const GPUFunction &entry = code.functions[code.indexOf(kernel.symbol)];
      json.attribute("name", kernel.symbol);
      json.attribute("grid", kernel.grid);
      json.attributeBegin("block");
      json.rawValue("[" + std::to_string(entry.block[0]) + ", " +
                    std::to_string(entry.block[1]) + ", " +
                    std::to_string(entry.block[2]) + "]");
      json.attributeEnd();
      json.attribute("dynamic_shared_bytes", entry.dynamicShared);
      if (entry.resources) {
        const KernelResources &taken = *entry.resources;
        json.attribute("shared_bytes", entry.sharedBytes());
        json.attribute("registers", taken.registers);
        json.attribute("spill_bytes", taken.spillStores + taken.spillLoads);
        writer.number("occupancy",
                      occupancy(code.gpu, entry.threads(), taken.registers,
                                entry.sharedBytes()));
      }
      json.attribute("config", kernel.config);
      writer.number("bytes", kernel.bytes);
      writer.number("flops", kernel.flops);
    });
}

void ManifestWriter::writeGPU(const GPUCode &code) {
  const GPU &gpu = code.gpu;
  json.attribute("name", gpu.name);
  json.attribute("capability", std::to_string(gpu.capability / 10) + "." +
                                   std::to_string(gpu.capability % 10));
  json.attribute("ptx_version", std::to_string(gpu.ptxVersion / 10) + "." +
                                    std::to_string(gpu.ptxVersion % 10));
  if (code.cubin.empty())
    json.attribute("ptxas", nullptr);
  else
    json.attribute("ptxas", code.ptxasVersion);
  json.attributeObject("files", [&] {
    json.attribute("ptx", gpuFileName(plan, gpu, "ptx"));
    json.attribute("bitcode", gpuFileName(plan, gpu, "bc"));
    if (!code.cubin.empty())
      json.attribute("cubin", gpuFileName(plan, gpu, "cubin"));
  });
  json.attributeArray("batches", [&] {
    for (const Batch &batch : code.plan.batches)
      json.object([&] {
        const StepFunction &function = code.plan.functions[batch.plain];
        json.attribute("function", batch.name);
        json.attribute("workspace_bytes", function.workspaceBytes);
        json.attribute("wave", batch.wave);
        json.attributeArray("kernels", [&] {
          writeGPUKernels(code, code.plan.functions[batch.squares]);
          writeGPUKernels(code, function);
        });
        writer.number("bytes", movedBytes(code.plan, batch));
        writer.number("flops", operations(code.plan, batch));
        writer.number("least_bytes", leastBytes(code.plan, batch));
      });
  });
}

void ManifestWriter::writeGPUs(ArrayRef<GPUCode> gpus) {
  if (gpus.empty())
    return;
  json.attributeObject("gpu", [&] {
    json.attribute("run_on_gpu", false);
    json.attribute(
        "note", "compiled without a GPU: registers, spills and shared memory "
                "are what ptxas says, occupancy is computed from them");
    json.attributeArray("targets", [&] {
      for (const GPUCode &code : gpus)
        json.object([&] { writeGPU(code); });
    });
  });
}

void ManifestWriter::write(const CPU &cpu, ArrayRef<GPUCode> gpus,
                           StringRef specSha256, bool hasLibrary) {
  json.object([&] {
    writeHead(cpu, specSha256);
    writeRecipe();
    writeParameters();
    writeMeasures();
    writeBatches();
    writeGPUs(gpus);
    json.attributeObject("files", [&] {
      if (hasLibrary)
        json.attribute("library", "lib" + plan.name + ".so");
      json.attribute("object", plan.name + ".o");
      json.attribute("header", plan.name + ".h");
      json.attribute("pkg_config", plan.name + ".pc");
      json.attribute("cmake", plan.name + "Config.cmake");
    });
  });
}

std::string gpuFileName(const Plan &plan, const GPU &gpu, StringRef ending) {
  return (plan.name + "." + gpu.name + "." + ending).str();
}

std::vector<std::string> listGPUFiles(StringRef manifest) {
  std::vector<std::string> names;
  Expected<json::Value> value = json::parse(manifest);
  if (!value) {
    consumeError(value.takeError());
    return names;
  }
  const json::Object *root = value->getAsObject();
  const json::Object *gpu = root ? root->getObject("gpu") : nullptr;
  const json::Array *targets = gpu ? gpu->getArray("targets") : nullptr;
  if (!targets)
    return names;
  for (const json::Value &target : *targets)
    if (const json::Object *object = target.getAsObject())
      if (const json::Object *files = object->getObject("files"))
        for (const auto &entry : *files)
          if (auto name = entry.second.getAsString();
              name && name->contains(".sm_") && !name->contains('/'))
            names.push_back(name->str());
  return names;
}

std::string writeManifest(const Plan &plan, const CPU &cpu,
                          ArrayRef<GPUCode> gpus, StringRef specSha256,
                          bool hasLibrary) {
  std::string text;
  raw_string_ostream out(text);
  ManifestWriter(out, plan).write(cpu, gpus, specSha256, hasLibrary);
  out << "\n";
  return text;
}

} // namespace steepc
