//===- PtxReader.cpp - PTX text as an LLVM module --------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/PtxReader.h"
#include "runtime/Core/Error.h"
#include "runtime/Devices/Simt/PtxEmitter.h"
#include "runtime/Devices/Simt/PtxLexer.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace steep;
using namespace steep::simt::ptx;

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// One value of an initializer.
static Constant *initialValue(ModuleState &state, const Variable &variable,
                              const Operand &value) {
  unsigned bits = typeBits(variable.type);
  auto *type = IntegerType::get(state.module.getContext(), bits);
  if (value.kind == Operand::Integer ||
      (value.kind == Operand::Float && value.size == bits))
    return ConstantInt::get(type, APInt(64, value.bits).zextOrTrunc(bits));
  auto found = state.variables.find(value.name);
  if (value.kind != Operand::Name || found == state.variables.end() ||
      bits != 64)
    fail("{}:{}: expected numbers of {} bits or variables to initialize {}",
         state.fileName.str(), variable.line, bits, quote(variable.name.str()));
  Constant *address = ConstantExpr::getPtrToInt(found->second, type);
  return ConstantExpr::getAdd(address, ConstantInt::get(type, value.bits));
}

static Constant *initializer(ModuleState &state, const Variable &variable,
                             llvm::Type *type, uint64_t count) {
  if (variable.initializer.empty())
    return Constant::getNullValue(type);
  LLVMContext &context = state.module.getContext();
  auto *element = IntegerType::get(context, typeBits(variable.type));
  SmallVector<Constant *> values;
  for (const Operand &value : variable.initializer)
    values.push_back(initialValue(state, variable, value));
  values.resize(count, ConstantInt::get(element, 0));
  return ConstantArray::get(ArrayType::get(element, count), values);
}

GlobalVariable *steep::simt::ptx::declareVariable(ModuleState &state,
                                                  const Variable &variable,
                                                  const std::string &name) {
  bool shared = variable.space == "shared";
  unsigned space = shared ? 3 : variable.space == "global" ? 1 : 4;
  unsigned bytes = divideCeil(typeBits(variable.type), 8);
  uint64_t count = variable.elements * variable.vector;
  LLVMContext &context = state.module.getContext();
  // Without its size a variable is the dynamic part of shared memory.
  bool declaration = variable.external || (shared && count == 0);
  llvm::Type *type =
      ArrayType::get(IntegerType::get(context, bytes * 8), count);
  Constant *value = nullptr;
  if (shared && !declaration)
    value = PoisonValue::get(type);
  else if (!declaration)
    value = initializer(state, variable, type, count);
  auto linkage = declaration || !shared ? GlobalValue::ExternalLinkage
                                        : GlobalValue::InternalLinkage;
  auto *result = new GlobalVariable(
      state.module, type, variable.space == "const", linkage, value, name,
      nullptr, GlobalVariable::NotThreadLocal, space);
  result->setAlignment(
      Align(std::max<uint64_t>(variable.align, bytes * variable.vector)));
  return result;
}

//===----------------------------------------------------------------------===//
// Routines
//===----------------------------------------------------------------------===//

static llvm::Type *parameterType(LLVMContext &context,
                                 const Variable &parameter) {
  StringRef type = parameter.type;
  if (parameter.pointer && typeBits(type) == 64) {
    StringRef space = parameter.pointerSpace;
    return PointerType::get(context, space == "global"   ? 1
                                     : space == "shared" ? 3
                                     : space == "const"  ? 4
                                                         : 0);
  }
  return type == "f32"   ? llvm::Type::getFloatTy(context)
         : type == "f64" ? llvm::Type::getDoubleTy(context)
                         : IntegerType::get(context, typeBits(type));
}

/// Kernels take their parameters by value (structures by a pointer to a copy),
/// functions pointers to their results and parameters.
static Function *declareRoutine(ModuleState &state, const Routine &routine) {
  LLVMContext &context = state.module.getContext();
  SmallVector<llvm::Type *> types;
  if (!routine.entry)
    types.assign(routine.results.size() + routine.parameters.size(),
                 PointerType::get(context, 0));
  else
    for (const Variable &parameter : routine.parameters)
      types.push_back(parameter.array || parameter.vector != 1
                          ? PointerType::get(context, 0)
                          : parameterType(context, parameter));
  auto *type = FunctionType::get(llvm::Type::getVoidTy(context), types, false);
  Function *function = Function::Create(
      type,
      routine.entry ? Function::ExternalLinkage : Function::InternalLinkage,
      routine.name, state.module);
  function->addFnAttr(Attribute::NoUnwind);
  if (!routine.entry) {
    function->addFnAttr(Attribute::AlwaysInline);
    return function;
  }
  function->setCallingConv(CallingConv::PTX_Kernel);
  for (auto &[name, value] : routine.attributes)
    function->addFnAttr(name, value);
  for (auto [parameter, argument] : zip(routine.parameters, function->args())) {
    argument.setName(parameter.name);
    if (parameter.type.starts_with("b"))
      argument.addAttr(Attribute::get(context, simt::untypedAttribute));
    if (!parameter.array && parameter.vector == 1)
      continue;
    uint64_t bytes = parameter.elements * parameter.vector *
                     divideCeil(typeBits(parameter.type), 8);
    auto *copy = ArrayType::get(llvm::Type::getInt8Ty(context), bytes);
    argument.addAttr(Attribute::getWithByValType(context, copy));
    argument.addAttr(Attribute::getWithAlignment(
        context, Align(std::max<uint64_t>(parameter.align, 1))));
  }
  return function;
}

static void readInto(ModuleState &state, const File &file) {
  for (const Variable &variable : file.variables) {
    if (state.variables.contains(variable.name))
      fail("{}:{}: {} is declared twice", state.fileName.str(), variable.line,
           quote(variable.name.str()));
    state.variables[variable.name] =
        declareVariable(state, variable, variable.name.str());
  }
  for (const Routine &routine : file.routines) {
    if (!routine.hasBody)
      continue;
    if (state.functions.contains(routine.name))
      fail("{}:{}: {} is defined twice", state.fileName.str(), routine.line,
           quote(routine.name.str()));
    state.functions[routine.name] = declareRoutine(state, routine);
    state.routines[routine.name] = &routine;
  }
  for (const Routine &routine : file.routines)
    if (routine.hasBody)
      Emitter(state, routine, state.functions[routine.name]).run();
}

//===----------------------------------------------------------------------===//
// The reader
//===----------------------------------------------------------------------===//

bool steep::simt::isPtx(StringRef bytes) {
  try {
    return Lexer(bytes.take_front(1 << 16), "").peek().is(".version");
  } catch (const Error &) {
    return false;
  }
}

Expected<std::unique_ptr<Module>>
steep::simt::readPtx(StringRef text, StringRef name, LLVMContext &context) {
  auto module = std::make_unique<Module>(name, context);
  Triple triple("nvptx64-nvidia-cuda");
  module->setTargetTriple(triple);
  module->setDataLayout(triple.computeDataLayout());
  module->addModuleFlag(Module::Warning, "Debug Info Version",
                        DEBUG_METADATA_VERSION);
  ModuleState state{*module, name, DIBuilder(*module), nullptr, nullptr, {},
                    {},      {}};
  state.debugFile = state.debug.createFile(name, ".");
  state.debug.createCompileUnit(dwarf::DW_LANG_C99, state.debugFile, "steep",
                                false, "", 0, "",
                                DICompileUnit::LineTablesOnly);
  state.debugType =
      state.debug.createSubroutineType(state.debug.getOrCreateTypeArray({}));
  try {
    readInto(state, parse(text, name));
  } catch (const Error &error) {
    return createStringError(inconvertibleErrorCode(), error.what());
  }
  state.debug.finalize();
  std::string message;
  raw_string_ostream stream(message);
  if (verifyModule(*module, &stream))
    return createStringError(
        inconvertibleErrorCode(),
        name + ": the module read does not verify: " + message);
  return module;
}
