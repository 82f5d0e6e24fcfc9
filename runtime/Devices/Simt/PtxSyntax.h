//===- PtxSyntax.h - PTX text, parsed ---------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parser hands to the emitter. All strings are slices of the text,
// which must outlive them.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_PTXSYNTAX_H
#define STEEP_RUNTIME_DEVICES_SIMT_PTXSYNTAX_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace steep::simt::ptx {

struct Operand {
  enum Kind {
    Name,    ///< a register, a variable, a label, a function
    Integer, ///< bits
    Float,   ///< bits of a literal; size says 32 or 64
    Vector,  ///< {a, b, ...}
    Address, ///< [name + offset] or [bits]
    Pair,    ///< d|p
    Not,     ///< !p
    List     ///< (a, b, ...) of a call
  };
  Kind kind = Name;
  llvm::StringRef name;
  uint64_t bits = 0; ///< also the offset of an address
  unsigned size = 0;
  std::vector<Operand> parts;
};

/// A declaration: registers, a parameter or a variable in memory.
struct Variable {
  unsigned line = 0;
  llvm::StringRef space; ///< "reg", "param", "shared", "global", "const", ...
  llvm::StringRef type;  ///< "b32"; of registers and elements
  llvm::StringRef name;
  unsigned registers = 0; ///< N of %r<N>; 0 for a single name
  uint64_t elements = 1;  ///< product of the sizes; 0 for []
  unsigned vector = 1;    ///< 2 or 4 for .v2, .v4
  bool array = false, external = false;
  uint64_t align = 0;           ///< 0: that of the type
  bool pointer = false;         ///< .ptr of a parameter
  llvm::StringRef pointerSpace; ///< "global" of .ptr .global
  std::vector<Operand> initializer;
};

struct Instruction {
  unsigned line = 0;
  llvm::StringRef text; ///< for messages
  llvm::StringRef guard;
  bool guardNegated = false;
  llvm::SmallVector<llvm::StringRef, 8> words; ///< "ld", "global", "b32"
  std::vector<Operand> operands;
};

struct Statement {
  enum Kind { Instr, Label, Declare, Open, Close, Targets };
  Kind kind = Instr;
  unsigned line = 0;
  llvm::StringRef label; ///< of Label and Targets
  Instruction instruction;
  Variable variable;
  std::vector<llvm::StringRef> targets; ///< of .branchtargets
};

struct Routine {
  unsigned line = 0;
  llvm::StringRef name;
  bool entry = false, hasBody = false;
  std::vector<Variable> results, parameters;
  /// "nvvm.reqntid" and the like, with "128,1,1".
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<Statement> body;
};

struct File {
  std::vector<Variable> variables;
  std::vector<Routine> routines;
};

/// Bits of an element type such as "b32" or "f16x2" (pred is 1), or 0.
unsigned typeBits(llvm::StringRef type);

/// Parses a whole text. Throws Error, "NAME:LINE: ...".
File parse(llvm::StringRef text, llvm::StringRef name);

} // namespace steep::simt::ptx

#endif // STEEP_RUNTIME_DEVICES_SIMT_PTXSYNTAX_H
