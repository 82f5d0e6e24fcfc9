//===- PtxDeclarations.cpp - operands and declarations ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/PtxParser.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace llvm;
using namespace steep;
using namespace steep::simt::ptx;

unsigned steep::simt::ptx::typeBits(StringRef type) {
  return StringSwitch<unsigned>(type)
      .Case("pred", 1)
      .Cases({"b8", "u8", "s8"}, 8)
      .Cases({"b16", "u16", "s16", "f16", "bf16"}, 16)
      .Cases({"b32", "u32", "s32", "f32", "f16x2", "bf16x2", "tf32"}, 32)
      .Cases({"b64", "u64", "s64", "f64", "f32x2"}, 64)
      .Case("b128", 128)
      .Default(0);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Operand Parser::number(bool negative) {
  if (lex.peek().kind != Token::Number)
    lex.failExpected("a number");
  Token token = lex.next();
  StringRef text = token.text;
  Operand result;
  bool bits32 = text.size() == 10 && text.starts_with_insensitive("0f");
  bool bits64 = text.size() == 18 && text.starts_with_insensitive("0d");
  if (bits32 || bits64) {
    result.kind = Operand::Float;
    result.size = bits32 ? 32 : 64;
    if (negative || text.drop_front(2).getAsInteger(16, result.bits))
      lex.failAt(token.line, "expected a number, but got " + quote(text.str()));
    return result;
  }
  double real = 0;
  if (text.contains('.')) {
    if (text.getAsDouble(real))
      lex.failAt(token.line, "expected a number, but got " + quote(text.str()));
    real = negative ? -real : real;
    result.kind = Operand::Float;
    result.size = 64;
    std::memcpy(&result.bits, &real, sizeof real);
    return result;
  }
  result.kind = Operand::Integer;
  if (text.rtrim("U").getAsInteger(0, result.bits))
    lex.failAt(token.line,
               "expected an integer of 64 bits, but got " + quote(text.str()));
  if (negative)
    result.bits = -result.bits;
  return result;
}

uint64_t Parser::unsignedNumber() { return number(false).bits; }

std::vector<Operand> Parser::list(StringRef close) {
  std::vector<Operand> parts;
  while (!lex.take(close)) {
    if (!parts.empty())
      lex.expect(",");
    parts.push_back(operand());
  }
  return parts;
}

Operand Parser::address() {
  Operand result;
  if (lex.peek().kind == Token::Word)
    result.name = lex.next().text;
  else
    result.bits = number(lex.take("-")).bits;
  result.kind = Operand::Address;
  while (lex.peek().is("+") || lex.peek().is("-")) {
    bool negative = lex.next().is("-");
    if (lex.take("-"))
      negative = !negative;
    result.bits += number(negative).bits;
  }
  // Coordinates of a tensor copy; no instruction that the emitter knows.
  if (lex.take(","))
    result.parts.push_back(operand());
  lex.expect("]");
  return result;
}

Operand Parser::primary() {
  Operand result;
  if (depth > 8)
    lex.failExpected("fewer brackets");
  ++depth;
  scope_exit leave([&] { --depth; });
  if (lex.take("{")) {
    result.kind = Operand::Vector;
    result.parts = list("}");
  } else if (lex.take("(")) {
    result.kind = Operand::List;
    result.parts = list(")");
  } else if (lex.take("[")) {
    result = address();
  } else if (lex.take("!")) {
    result.kind = Operand::Not;
    result.parts.push_back(primary());
  } else if (lex.take("-")) {
    result = number(true);
  } else if (lex.peek().kind == Token::Number) {
    result = number(false);
  } else {
    result.name = lex.word("an operand").text;
    if (result.name == "generic" && lex.take("(")) {
      result = primary();
      lex.expect(")");
    }
    // A variable's address with a displacement, as in `mov`.
    if (lex.peek().is("+") || lex.peek().is("-"))
      result.bits = number(lex.next().is("-")).bits;
  }
  return result;
}

Operand Parser::operand() {
  Operand first = primary();
  if (!lex.take("|"))
    return first;
  Operand pair;
  pair.kind = Operand::Pair;
  pair.parts = {first, primary()};
  return pair;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void Parser::typeOf(Variable &variable) {
  for (;;) {
    Token token = lex.word("a type");
    StringRef text = token.text;
    if (text == ".align") {
      variable.align = unsignedNumber();
      if (!isPowerOf2_64(variable.align) || variable.align > 1u << 20)
        lex.failAt(token.line,
                   fmt::format("expected a power of two up to 1048576 after "
                               "'.align', but got {}",
                               variable.align));
    } else if (text == ".ptr") {
      variable.pointer = true;
      while (lex.peek().text == ".global" || lex.peek().text == ".shared" ||
             lex.peek().text == ".const" || lex.peek().text == ".local")
        variable.pointerSpace = lex.next().text.drop_front();
    } else if (text == ".v2" || text == ".v4") {
      variable.vector = text == ".v2" ? 2 : 4;
    } else if (text.starts_with(".") && typeBits(text.drop_front())) {
      variable.type = text.drop_front();
    } else if (text == ".attribute") {
      lex.expect("(");
      list(")");
    } else if (!variable.type.empty() && !text.starts_with(".")) {
      variable.name = text;
      return;
    } else {
      lex.failAt(token.line, "expected a type, but got " + quote(text.str()));
    }
  }
}

void Parser::sizes(Variable &variable) {
  while (lex.take("[")) {
    variable.array = true;
    if (lex.take("]")) {
      variable.elements = 0;
      continue;
    }
    uint64_t size = unsignedNumber();
    variable.elements *= std::min<uint64_t>(size, 1ull << 24);
    if (size >> 24 || variable.elements >> 34)
      lex.failAt(variable.line,
                 "expected a size below 16777216, and 16 Gi elements in "
                 "all, but " +
                     quote(variable.name.str()) + " has more");
    lex.expect("]");
  }
}

void Parser::initializer(Variable &variable) {
  if (!lex.take("="))
    return;
  Operand value = operand();
  // Nested braces are rows.
  auto flatten = [&](auto &self, const Operand &part) -> void {
    if (part.kind != Operand::Vector)
      return variable.initializer.push_back(part);
    for (const Operand &inner : part.parts)
      self(self, inner);
  };
  flatten(flatten, value);
  if (variable.array && variable.elements == 0)
    variable.elements = variable.initializer.size();
  if (variable.initializer.size() > variable.elements)
    lex.failAt(variable.line,
               fmt::format("expected at most {} values for {}, but got {}",
                           variable.elements, quote(variable.name.str()),
                           variable.initializer.size()));
}

void Parser::variable(StringRef space, bool external,
                      std::vector<Variable> &into) {
  Variable first;
  first.line = lex.peek().line;
  first.space = space;
  first.external = external;
  typeOf(first);
  Variable current = first;
  for (;;) {
    if (lex.take("<")) {
      current.registers = unsignedNumber();
      lex.expect(">");
      if (space != "reg" || current.registers > 1u << 20)
        lex.failAt(current.line, "expected at most 1048576 registers of one "
                                 "name, but got more");
    }
    sizes(current);
    initializer(current);
    into.push_back(current);
    if (!lex.take(","))
      break;
    current = first;
    current.name = lex.word("a name").text;
  }
  lex.expect(";");
}

Variable Parser::parameter() {
  Variable result;
  result.line = lex.peek().line;
  Token space = lex.word("'.param'");
  if (space.text != ".param")
    lex.failAt(space.line,
               "expected '.param', but got " + quote(space.text.str()));
  result.space = space.text.drop_front();
  typeOf(result);
  sizes(result);
  return result;
}

void Parser::parameters(std::vector<Variable> &into) {
  if (!lex.take("("))
    return;
  while (!lex.take(")")) {
    if (!into.empty())
      lex.expect(",");
    into.push_back(parameter());
  }
}
