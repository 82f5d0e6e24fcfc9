//===- Compiler.cpp - from a spec to an artefact --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Compiler/Compiler.h"

#include "dialects/Block/Block.h"
#include "dialects/Geo/Geo.h"
#include "dialects/Optim/Optim.h"
#include "lib/Compiler/Diagnostics.h"
#include "lib/Compiler/Explain.h"
#include "lib/Compiler/OnlyRule.h"
#include "lib/Compiler/Output.h"
#include "lib/Compiler/Parameters.h"
#include "lib/Compiler/Pipelines.h"
#include "lib/Compiler/Remarks.h"
#include "lib/Target/CHeader.h"
#include "lib/Target/CodeGen.h"
#include "lib/Target/Linker.h"
#include "lib/Target/Manifest.h"
#include "lib/Target/NVPTX.h"
#include "lib/Target/Package.h"

#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using llvm::Error;

namespace steepc {

char Reported::ID;

static DialectRegistry createRegistry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registry.insert<optim::OptimDialect, geo::GeoDialect, block::BlockDialect>();
  return registry;
}

namespace {

class Compilation {
public:
  Compilation(const CompileOptions &options, raw_ostream &out)
      : options(options), out(out),
        context(createRegistry(), MLIRContext::Threading::DISABLED),
        diagnostics(sources, context) {}

  Error run();

private:
  Error listen();
  Error readTargets();
  Error readSpec();
  Error checkSpec();
  Error addParameters();
  Error lower();
  /// The kernels of `bound` (a module at the bound level) for one GPU.
  Error lowerForGPU(const GPU &gpu, ModuleOp bound);
  Error emitForGPU();
  Error takeGPUPlan();
  void explainPlan();
  Error writeArtefact();
  Error writeGPUFiles(OutputFolder &files);

  /// Runs a pipeline and dumps what comes out; `emitted` is set when that is
  /// all that was asked for.
  Error runStage(StringRef name, std::optional<Stage> stage,
                 llvm::function_ref<void(OpPassManager &)> build);
  Error emitText(StringRef text);
  Error dump(StringRef file, StringRef text);
  Error dumpModule(StringRef file);
  /// Is anything below the block level asked for?
  bool wantsCode() const {
    return options.emit || !options.output.empty() ||
           !options.dumpStages.empty();
  }
  bool emitsForGPU() const {
    return options.emit == Stage::PTX || options.emit == Stage::Cubin;
  }
  Error generate(CodeKind kind, std::string &code);
  Error reported(StringRef stage);

  const CompileOptions &options;
  raw_ostream &out;
  RemarkList remarks; // outlives the context, whose engine writes to it
  MLIRContext context;
  llvm::SourceMgr sources;
  Diagnostics diagnostics;
  OwningOpRef<ModuleOp> module;
  optim::SpecOp spec;
  CPU cpu;
  std::vector<GPU> gpus;
  std::optional<Ptxas> ptxas;
  Plan plan;
  std::string explanation; // of --explain
  std::vector<GPUCode> gpuCodes;
  std::string sha256, manifest;
  std::optional<Linker> linker;
  llvm::LLVMContext llvmContext;
  bool emitted = false;
};

} // namespace

/// An MLIR error was printed; or, where a pass failed in silence, is made up
/// for.
Error Compilation::reported(StringRef stage) {
  if (diagnostics.errorCount() > 0)
    return llvm::make_error<Reported>();
  return llvm::createStringError(options.spec + ": the stage '" + stage +
                                 "' failed without a message");
}

//===----------------------------------------------------------------------===//
// The spec and its parameters
//===----------------------------------------------------------------------===//

Error Compilation::readSpec() {
  auto buffer = llvm::MemoryBuffer::getFile(options.spec, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/true);
  if (!buffer)
    return llvm::createStringError(
        options.spec + ": cannot be read: " + buffer.getError().message());
  llvm::SHA256 hash;
  hash.update((*buffer)->getBuffer());
  sha256 = llvm::toHex(hash.final(), /*LowerCase=*/true);
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return reported("parse");
  return checkSpec();
}

static bool isIdentifier(StringRef name) {
  return !name.empty() && name.size() <= 100 && !llvm::isDigit(name[0]) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

Error Compilation::checkSpec() {
  for (Operation &op : *module->getBody()) {
    if (auto found = dyn_cast<optim::SpecOp>(op)) {
      if (spec) {
        found.emitOpError("is the second one; a file holds one spec");
        return reported("spec");
      }
      spec = found;
    } else if (!isa<optim::RuleOp>(op)) {
      op.emitOpError("does not belong at the top of a spec's file; expected "
                     "optim.spec and optim.rule");
      return reported("spec");
    }
  }
  if (!spec)
    return llvm::createStringError(options.spec + ": expected an optim.spec");
  if (!options.name.empty())
    spec.setSymName(options.name);
  if (!isIdentifier(spec.getSymName()))
    return llvm::createStringError(
        (options.name.empty() ? options.spec : "--name") +
        ": expected the optimizer's name to be a C identifier "
        "of at most 100 characters, got '" +
        spec.getSymName() + "'");
  if (!options.onlyRule.empty())
    if (Error error = keepOnlyRule(spec, options.onlyRule, options.onlyGroup))
      return llvm::createStringError(
          options.spec + ": --only-rule: " + llvm::toString(std::move(error)));
  return Error::success();
}

Error Compilation::addParameters() {
  bool hasOwn = !spec.getOps<optim::ParameterOp>().empty();
  if (options.parameters.empty()) {
    if (hasOwn)
      return Error::success();
    return llvm::createStringError(
        "expected --params FILE, since " + options.spec +
        " names no parameters (a .safetensors or .json file)");
  }
  if (hasOwn)
    return llvm::createStringError(options.spec +
                                   " names parameters of its own, so --params "
                                   "cannot be given");
  auto tensors = readParameters(options.parameters);
  if (!tensors)
    return tensors.takeError();
  OpBuilder builder = OpBuilder::atBlockEnd(&spec.getBody().front());
  for (const TensorSpec &tensor : *tensors) {
    Location place = NameLoc::get(
        builder.getStringAttr(options.parameters + ": " + tensor.name));
    auto type = RankedTensorType::get(tensor.shape, builder.getF32Type());
    optim::ParameterOp::create(
        builder, place, builder.getStringAttr(tensor.name), TypeAttr::get(type),
        StringAttr(),
        tensor.aliases.empty() ? StringAttr()
                               : builder.getStringAttr(tensor.aliases));
  }
  // Passes take a verified spec for granted, aliases of other tensors included.
  if (failed(mlir::verify(spec)))
    return reported("params");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

Error Compilation::emitText(StringRef text) {
  emitted = true;
  if (!options.output.empty() && options.output != "-")
    return writeFile(options.output, text);
  out << text;
  out.flush();
  return Error::success();
}

Error Compilation::dump(StringRef file, StringRef text) {
  if (options.dumpStages.empty())
    return Error::success();
  if (std::error_code code =
          llvm::sys::fs::create_directories(options.dumpStages))
    return llvm::createStringError("--dump-stages " + options.dumpStages +
                                   ": " + code.message());
  return writeFile(options.dumpStages + "/" + file.str(), text);
}

static std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << "\n";
  return text;
}

Error Compilation::dumpModule(StringRef file) {
  if (options.dumpStages.empty())
    return Error::success();
  return dump(file, textOf(*module));
}

Error Compilation::runStage(StringRef name, std::optional<Stage> stage,
                            llvm::function_ref<void(OpPassManager &)> build) {
  PassManager manager(&context);
  build(manager);
  if (failed(manager.run(*module))) {
    // What a broken stage leaves behind helps whoever looks for the reason.
    llvm::consumeError(dumpModule((name + ".failed.mlir").str()));
    return reported(name);
  }
  if (Error error = dumpModule((name + ".mlir").str()))
    return error;
  if (stage && options.emit == stage)
    return emitText(textOf(*module));
  return Error::success();
}

/// Whether the config of some kernel says so.
static bool usesAMX(ModuleOp module) {
  return llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp func) {
    auto config = func->getAttrOfType<block::ConfigAttr>(
        block::BlockDialect::configAttrName);
    return config && !config.getAmx().empty();
  });
}

Error Compilation::lower() {
  PipelineOptions pipeline;
  pipeline.lanes = cpu.lanes;
  pipeline.registers = cpu.lanes == 16 ? 32 : 16;
  pipeline.l2 = cpu.l2;
  pipeline.fma = cpu.has("fma");
  pipeline.dotBF16 = cpu.has("avx512bf16");
  pipeline.amx = cpu.hasAMX();
  pipeline.carryMeans = gpus.empty();
  if (Error error = dumpModule("0-spec.mlir"))
    return error;
  if (Error error = runStage("1-optim", Stage::Optim,
                             [](OpPassManager &pm) { buildBindPipeline(pm); });
      error || emitted)
    return error;
  for (const GPU &gpu : gpus)
    if (options.emit.value_or(Stage::PTX) >= Stage::PTX)
      if (Error error = lowerForGPU(gpu, *module))
        return error;
  if (emitsForGPU())
    return emitForGPU();
  if (!cpu.hasKernels)
    return takeGPUPlan();
  if (Error error = runStage(
          "2-geo", Stage::Geo,
          [&](OpPassManager &pm) { buildGeometryPipeline(pm, pipeline); });
      error || emitted)
    return error;
  if (Error error = runStage(
          "3-block", Stage::Block,
          [&](OpPassManager &pm) { buildBlockPipeline(pm, pipeline); });
      error || emitted)
    return error;
  FailureOr<Plan> extracted = extractPlan(*module);
  if (failed(extracted))
    return reported("plan");
  plan = std::move(*extracted);
  if (!usesAMX(*module))
    cpu.dropAMX();
  explainPlan();
  if (!wantsCode())
    return Error::success();
  // The plan holds what the spec said; below are kernels only.
  module->walk([](optim::SpecOp op) { op.erase(); });
  return runStage("4-llvm", std::nullopt,
                  [&](OpPassManager &pm) { buildCPUPipeline(pm, pipeline); });
}

//===----------------------------------------------------------------------===//
// GPUs
//===----------------------------------------------------------------------===//

/// A GPU's kernels take their matrices from the caller's tensors, by whole
/// rows.
static LogicalResult refuseColumnBlocks(ModuleOp bound) {
  WalkResult result = bound.walk([](optim::BatchOp batch) -> WalkResult {
    if (!batch.getColumns())
      return WalkResult::advance();
    batch.emitOpError("updates columns of ")
        << batch.getParameters()[0]
        << " (split or per_head with axis 1), which GPUs do not serve; "
           "expected blocks of rows, or no GPU among the targets";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

Error Compilation::lowerForGPU(const GPU &gpu, ModuleOp bound) {
  if (failed(refuseColumnBlocks(bound)))
    return reported("3-block." + gpu.name);
  OwningOpRef<ModuleOp> kernels = bound.clone();
  auto stage = [&](StringRef name,
                   llvm::function_ref<void(OpPassManager &)> build) -> Error {
    PassManager manager(&context);
    build(manager);
    std::string file = (name + "." + gpu.name).str();
    if (failed(manager.run(*kernels))) {
      llvm::consumeError(dump(file + ".failed.mlir", textOf(*kernels)));
      return reported(file);
    }
    return dump(file + ".mlir", textOf(*kernels));
  };
  PipelineOptions pipeline;
  pipeline.wgmma = gpu.name == "sm_90a";
  pipeline.carryMeans = false;
  pipeline.gpu = gpu.name;
  if (Error error = stage("3-block", [&](OpPassManager &pm) {
        buildGeometryPipeline(pm, pipeline);
        buildGPUPipeline(pm, pipeline);
      }))
    return error;
  FailureOr<Plan> extracted = extractPlan(*kernels);
  if (failed(extracted))
    return reported("plan");
  GPUCode code{gpu, std::move(*extracted), {}, "", "", "", ""};
  kernels->walk([](optim::SpecOp op) { op.erase(); });
  if (Error error = stage("4-llvm", [&](OpPassManager &pm) {
        buildNVPTXPipeline(pm, pipeline);
      }))
    return error;
  auto functions = readGPUFunctions(*kernels);
  if (!functions)
    return functions.takeError();
  code.functions = std::move(*functions);
  auto device = translateKernels(*kernels, llvmContext);
  if (!device)
    return device.takeError();
  if (Error error = completeDeviceModule(**device, gpu))
    return error;
  if (Error error =
          generateDeviceCode(**device, code, ptxas, spec.getSymName()))
    return error;
  gpuCodes.push_back(std::move(code));
  return dump("6-" + gpuFileName(gpuCodes.back().plan, gpu, "ptx"),
              gpuCodes.back().ptx);
}

/// What --explain prints in the end, while the plan and its remarks are whole.
void Compilation::explainPlan() {
  if (!options.explain)
    return;
  llvm::raw_string_ostream stream(explanation);
  explain(plan, remarks, stream);
}

/// The plan of an artefact without kernels for CPUs: parameters, states and
/// batches are alike for all targets.
Error Compilation::takeGPUPlan() {
  plan = gpuCodes.front().plan;
  explainPlan();
  plan.dropKernels();
  module->getBody()->clear();
  return Error::success();
}

/// --emit=ptx and --emit=cubin, of one GPU.
Error Compilation::emitForGPU() {
  const GPUCode &code = gpuCodes.front();
  return emitText(options.emit == Stage::PTX ? code.ptx : code.cubin);
}

Error Compilation::writeGPUFiles(OutputFolder &files) {
  // Those of an earlier run for other GPUs, or with ptxas.
  if (auto old = llvm::MemoryBuffer::getFile(options.output + "/" + plan.name +
                                             ".json"))
    for (const std::string &name : listGPUFiles((*old)->getBuffer()))
      files.retire(name);
  for (const GPUCode &code : gpuCodes) {
    auto name = [&](StringRef ending) {
      return gpuFileName(plan, code.gpu, ending);
    };
    if (Error error = files.write(name("bc"), code.bitcode))
      return error;
    if (Error error = files.write(name("ptx"), code.ptx))
      return error;
    if (!code.cubin.empty())
      if (Error error = files.write(name("cubin"), code.cubin))
        return error;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The artefact
//===----------------------------------------------------------------------===//

Error Compilation::generate(CodeKind kind, std::string &code) {
  auto built = buildModule(*module, plan, cpu, gpuCodes, manifest, llvmContext);
  if (!built)
    return built.takeError();
  auto generated = generateCode(**built, cpu, kind);
  if (!generated)
    return generated.takeError();
  code = std::move(*generated);
  return Error::success();
}

Error Compilation::writeArtefact() {
  linker = findLinker();
  manifest = writeManifest(plan, cpu, gpuCodes, sha256, linker.has_value());
  std::string code;
  if (!options.dumpStages.empty()) {
    if (Error error = generate(CodeKind::IR, code))
      return error;
    if (Error error = dump("5-" + plan.name + ".ll", code))
      return error;
    if (Error error = generate(CodeKind::Assembly, code))
      return error;
    if (Error error = dump("6-" + plan.name + ".s", code))
      return error;
  }
  if (options.emit) {
    CodeKind kind = *options.emit == Stage::LLVM  ? CodeKind::IR
                    : *options.emit == Stage::Asm ? CodeKind::Assembly
                                                  : CodeKind::Object;
    if (Error error = generate(kind, code))
      return error;
    return emitText(code);
  }
  if (options.output.empty()) // only --dump-stages
    return Error::success();
  if (Error error = generate(CodeKind::Object, code))
    return error;
  auto folder = OutputFolder::create(options.output);
  if (!folder)
    return folder.takeError();
  OutputFolder &files = **folder;
  std::string object = plan.name + ".o", library = "lib" + plan.name + ".so";
  if (Error error = files.write(object, code))
    return error;
  if (linker) {
    if (Error error = linkLibrary(*linker, files.temporaryPath(object),
                                  files.announce(library)))
      return error;
    if (Error error = files.sync(library))
      return error;
  } else {
    files.retire(library);
  }
  if (Error error =
          files.write(plan.name + ".h", writeHeader(plan, !gpuCodes.empty())))
    return error;
  if (Error error = files.write(plan.name + ".pc",
                                writePkgConfig(plan, linker.has_value())))
    return error;
  if (Error error = files.write(plan.name + "Config.cmake",
                                writeCMakePackage(plan, linker.has_value())))
    return error;
  if (Error error = writeGPUFiles(files))
    return error;
  // Last: an artefact with a manifest is whole.
  if (Error error = files.write(plan.name + ".json", manifest))
    return error;
  if (Error error = files.commit())
    return error;
  if (!linker)
    return llvm::createStringError(
        "found neither cc nor ld.lld-22 in PATH: wrote " + options.output +
        " with the object, header and manifest, without a shared library");
  return Error::success();
}

Error Compilation::readTargets() {
  auto parsed = parseTargets(options.target);
  if (!parsed)
    return parsed.takeError();
  cpu = std::move(parsed->cpu);
  gpus = std::move(parsed->gpus);
  if (!gpus.empty()) {
    auto found = findPtxas();
    if (!found)
      return found.takeError();
    ptxas = std::move(*found);
  }
  if (!cpu.hasKernels && options.emit && !emitsForGPU() &&
      options.emit != Stage::Optim)
    return llvm::createStringError(
        "--emit: expected optim, ptx or cubin, as --target '" + options.target +
        "' leaves out the CPU's kernels");
  if (!emitsForGPU())
    return Error::success();
  bool isCubin = options.emit == Stage::Cubin;
  if (gpus.size() != 1)
    return llvm::createStringError(
        llvm::Twine("--emit=") + (isCubin ? "cubin" : "ptx") +
        ": expected one GPU in --target, got '" + options.target + "'");
  if (isCubin && !ptxas)
    return llvm::createStringError(
        "--emit=cubin: expected ptxas in the folder STEEP_CUDA (not 'none'), "
        "CUDA_HOME or CUDA_PATH, or in PATH, found none; tools/fetch-cuda.sh "
        "gets one");
  return Error::success();
}

/// Passes say what they fused where somebody listens.
Error Compilation::listen() {
  bool print = !options.remarksFilter.empty();
  if (!print && !options.explain)
    return Error::success();
  if (failed(collectRemarks(context, print ? options.remarksFilter : ".*",
                            print, remarks)))
    return llvm::createStringError(
        "--remarks-filter: expected a regular expression, got '" +
        options.remarksFilter + "'");
  return Error::success();
}

Error Compilation::run() {
  if (Error error = listen())
    return error;
  if (Error error = readTargets())
    return error;
  if (!options.emit && !options.output.empty())
    if (Error error = OutputFolder::check(options.output))
      return error;
  if (Error error = readSpec())
    return error;
  if (Error error = addParameters())
    return error;
  if (Error error = lower(); error || emitted)
    return error;
  if (wantsCode())
    if (Error error = writeArtefact())
      return error;
  // Last: whoever reads only its head (a pager, say) may close the pipe, which
  // ends this process; the artefact is then written.
  out << explanation;
  return Error::success();
}

Error compile(const CompileOptions &options, raw_ostream &out) {
  return Compilation(options, out).run();
}

} // namespace steepc
