//===- PtxParser.h - from PTX text to its statements ------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_PTXPARSER_H
#define STEEP_RUNTIME_DEVICES_SIMT_PTXPARSER_H

#include "runtime/Devices/Simt/PtxLexer.h"
#include "runtime/Devices/Simt/PtxSyntax.h"

namespace steep::simt::ptx {

class Parser {
public:
  Parser(llvm::StringRef text, llvm::StringRef name) : lex(text, name) {}
  File run();

private:
  Lexer lex;
  File file;
  unsigned depth = 0; ///< of brackets within an operand

  // Directives of a module.
  void directive();
  void routine(bool entry);
  void routineAttributes(Routine &routine);
  void parameters(std::vector<Variable> &into);
  Variable parameter();

  // Statements of a body.
  void body(Routine &routine);
  void statement(Routine &routine);
  bool directiveInBody(Routine &routine);
  Instruction instruction();

  // Declarations.
  void variable(llvm::StringRef space, bool external,
                std::vector<Variable> &into);
  void typeOf(Variable &variable);
  void sizes(Variable &variable);
  void initializer(Variable &variable);

  // Operands.
  Operand operand();
  Operand primary();
  Operand address();
  Operand number(bool negative);
  std::vector<Operand> list(llvm::StringRef close);
  uint64_t unsignedNumber();
};

} // namespace steep::simt::ptx

#endif // STEEP_RUNTIME_DEVICES_SIMT_PTXPARSER_H
