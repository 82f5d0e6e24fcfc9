//===- PtxEmitter.h - one PTX routine as LLVM instructions ------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers become stack slots, which are promoted to values at the end. An
// instruction is emitted by the handler of its first word; a handler takes the
// modifiers that it knows one by one, and whatever is left over makes the
// instruction unknown. So nothing is passed over in silence.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_PTXEMITTER_H
#define STEEP_RUNTIME_DEVICES_SIMT_PTXEMITTER_H

#include "runtime/Devices/Simt/PtxSyntax.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <fmt/format.h>
#include <initializer_list>
#include <map>
#include <string>

namespace steep::simt::ptx {

/// A type of an instruction: its name says the width and how to read the bits.
struct PtxType {
  llvm::StringRef name;

  unsigned bits() const { return typeBits(name); }
  bool isSigned() const { return name[0] == 's'; }
  bool isFloat() const {
    return name == "f16" || name == "bf16" || name == "f32" || name == "f64";
  }
  bool isPacked() const { return name.ends_with("x2"); }
};

/// What the routines of a module share.
struct ModuleState {
  llvm::Module &module;
  llvm::StringRef fileName;
  llvm::DIBuilder debug;
  llvm::DIFile *debugFile = nullptr;
  llvm::DISubroutineType *debugType = nullptr;
  llvm::StringMap<llvm::GlobalVariable *> variables;
  llvm::StringMap<llvm::Function *> functions;
  llvm::StringMap<const Routine *> routines;
};

/// Declares a variable of a module or of a routine (in shared memory).
llvm::GlobalVariable *declareVariable(ModuleState &state,
                                      const Variable &variable,
                                      const std::string &name);

/// Makes addresses pointers to the object that they derive from. Returns the
/// function, which is another one where a parameter became a pointer.
llvm::Function *recoverPointers(llvm::Function &function);

class Emitter {
public:
  Emitter(ModuleState &state, const Routine &routine, llvm::Function *function);
  void run();

private:
  using Value = llvm::Value;
  using StringRef = llvm::StringRef;
  template <typename T> using ArrayRef = llvm::ArrayRef<T>;

  /// What a name of a scope means; one of the three.
  struct Symbol {
    llvm::AllocaInst *slot = nullptr; ///< a register
    Value *memory = nullptr;          ///< a variable or parameter in memory
    Value *value = nullptr;           ///< a parameter of a kernel
  };
  struct Scope {
    unsigned number;
    llvm::StringMap<Symbol> names;
  };

  ModuleState &state;
  const Routine &routine;
  llvm::Function *function;
  llvm::LLVMContext &context;
  llvm::IRBuilder<> b;
  llvm::DISubprogram *subprogram = nullptr;
  std::vector<Scope> scopes;
  unsigned scopeCount = 0;
  /// Labels belong to the block in braces around them.
  std::map<std::pair<unsigned, std::string>, llvm::BasicBlock *> labels;
  std::map<unsigned, unsigned> parentScope;
  llvm::StringMap<const Statement *> targets;
  Value *carry = nullptr; ///< the condition code of add.cc and the like

  const Instruction *inst = nullptr;
  llvm::SmallVector<StringRef, 8> mods; ///< modifiers not taken yet

  // PtxEmitter.cpp: control.
  void collectLabels();
  void statement(const Statement &statement);
  void declare(const Variable &variable);
  void bindParameters();
  void instruction(const Instruction &instruction);
  bool ignored() const;
  llvm::BasicBlock *label(StringRef name);
  llvm::BasicBlock *newBlock();
  void branch();
  void branchIndexed();
  void call();
  void leave();
  void finishRoutine();

  // PtxOperands.cpp: modifiers, operands.
  [[noreturn]] void unknown() const;
  [[noreturn]] void malformed(const std::string &expected) const;
  bool take(StringRef modifier);
  StringRef takeOneOf(std::initializer_list<const char *> names,
                      StringRef otherwise = "");
  bool takePrefix(StringRef prefix);
  /// The last modifier, which must be a type.
  PtxType takeType();
  /// Vector length of .v2, .v4, .v8 or 1.
  unsigned takeVector();
  const Operand &operand(unsigned index) const;
  unsigned operands() const { return inst->operands.size(); }
  void expectOperands(unsigned least, unsigned most) const;

  const Symbol *find(StringRef name) const;
  llvm::Type *llvmType(PtxType type);
  llvm::IntegerType *intType(unsigned bits) { return b.getIntNTy(bits); }
  Value *special(StringRef name);
  Value *readName(const Operand &operand);
  Value *fit(Value *value, unsigned bits, bool isSigned);
  Value *read(const Operand &operand, PtxType type);
  Value *read(const Operand &operand, const char *type) {
    return read(operand, PtxType{type});
  }
  Value *readInt(const Operand &operand, unsigned bits, bool isSigned = false);
  Value *readPredicate(const Operand &operand);
  void write(const Operand &operand, Value *value, bool isSigned = false);
  uint64_t constant(const Operand &operand) const;
  ArrayRef<Operand> elements(const Operand &operand) const;
  Value *asInt(Value *value);
  Value *address(const Operand &operand, unsigned space);
  Value *intrinsic(StringRef name, ArrayRef<Value *> arguments = {},
                   ArrayRef<llvm::Type *> overloads = {});
  void writeResults(ArrayRef<Operand> to, Value *results);

  // PtxInteger.cpp
  void integerBinary();
  void multiply();
  void countBits();
  void dotProduct();
  void select();
  void compare();
  Value *compareValues(StringRef op, const Operand &x, const Operand &y,
                       PtxType type, bool flush);
  void carryChain(bool subtract);

  // PtxBits.cpp
  void logic();
  void shift();
  void funnelShift();
  void bitField();
  void bitFieldInsert();
  void permute();
  void lookup();

  // PtxFloat.cpp
  void floatBinary(StringRef op, PtxType type);
  Value *combine(StringRef op, bool nan, Value *x, Value *y);
  void fusedMultiplyAdd(PtxType type);
  void floatUnary();
  void approximate();
  void divide(PtxType type);
  void testProperty();
  Value *flush(Value *value);
  Value *saturate(Value *value);
  Value *toF32(Value *value, StringRef half);
  Value *fromF32(Value *value, StringRef half);
  Value *fromF64(Value *value, StringRef half);
  Value *halfFma(ArrayRef<Value *> lanes, StringRef half);
  Value *forSmall(PtxType type, unsigned count,
                  llvm::function_ref<Value *(ArrayRef<Value *>)> body);

  // PtxConvert.cpp
  void convert();
  Value *floatToInt(Value *value, PtxType to, StringRef rounding);
  Value *intToFloat(Value *value, PtxType from, PtxType to, StringRef rounding);
  Value *floatToFloat(Value *value, PtxType to, StringRef rounding);
  Value *towardsZero(Value *value, StringRef half);
  void move();
  void convertAddress();

  // PtxMemory.cpp
  /// How an access is ordered against those of other threads.
  struct Order {
    llvm::AtomicOrdering ordering = llvm::AtomicOrdering::NotAtomic;
    llvm::SyncScope::ID scope = llvm::SyncScope::System;
  };
  Order takeOrder();
  unsigned takeSpace();
  unsigned dropCacheHints();
  void load();
  void finishLoad(Value *pointer, PtxType type, unsigned count, bool isVolatile,
                  Order order);
  void loadParameter();
  void store();
  void atomic();
  void asyncCopy();
  void spaceTest();
  void fence();
  void createPolicy();

  // PtxWarp.cpp
  void barrier();
  void shuffle();
  void vote();
  void match();
  void redux();
  void mbarrier();
  // PtxMatrix.cpp
  void matrixMove();
  void matrixMultiply();
  void warpgroup();
  void warpgroupMultiply();

  using Handler = void (Emitter::*)();
  static const llvm::StringMap<Handler> &handlers();
  static void addArithmetic(llvm::StringMap<Handler> &table);
  static void addMemory(llvm::StringMap<Handler> &table);
  static void addWarp(llvm::StringMap<Handler> &table);
};

} // namespace steep::simt::ptx

#endif // STEEP_RUNTIME_DEVICES_SIMT_PTXEMITTER_H
