//===- PtxParser.cpp - PTX text, parsed -------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/PtxParser.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace steep;
using namespace steep::simt::ptx;

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

Instruction Parser::instruction() {
  Instruction result;
  result.line = lex.peek().line;
  result.text = lex.statementAhead();
  if (lex.take("@")) {
    result.guardNegated = lex.take("!");
    result.guard = lex.word("a predicate").text;
  }
  lex.word("an instruction").text.split(result.words, '.');
  while (!lex.take(";")) {
    if (!result.operands.empty())
      lex.expect(",");
    result.operands.push_back(operand());
  }
  return result;
}

/// Takes a directive; returns false where an instruction is ahead.
bool Parser::directiveInBody(Routine &routine) {
  Token token = lex.peek();
  if (!token.text.starts_with("."))
    return false;
  lex.next();
  StringRef name = token.text.drop_front();
  if (name == "loc" || name == "file") {
    lex.skipLine(token);
  } else if (name == "pragma") {
    while (!lex.take(";"))
      lex.next();
  } else if (name == "reg" || name == "shared" || name == "local" ||
             name == "param" || name == "global" || name == "const") {
    std::vector<Variable> found;
    variable(name, false, found);
    for (Variable &each : found) {
      Statement declare;
      declare.kind = Statement::Declare;
      declare.line = each.line;
      declare.variable = each;
      routine.body.push_back(declare);
    }
  } else {
    lex.failAt(token.line, "unknown directive " + quote(token.text.str()));
  }
  return true;
}

void Parser::statement(Routine &routine) {
  Statement result;
  result.line = lex.peek().line;
  if (lex.peek().kind != Token::Word) {
    result.instruction = instruction();
  } else if (directiveInBody(routine)) {
    return;
  } else {
    // A label is a word before a colon; the lexer cannot look further ahead
    // than one token, so the text itself is asked.
    StringRef name = lex.peek().text;
    StringRef after(name.end(), lex.statementAhead().end() - name.end());
    if (!after.ltrim().starts_with(":")) {
      result.instruction = instruction();
    } else {
      lex.next();
      lex.expect(":");
      result.kind = Statement::Label;
      result.label = name;
      if (lex.peek().is(".branchtargets")) {
        result.kind = Statement::Targets;
        do {
          lex.next();
          result.targets.push_back(lex.word("a label").text);
        } while (lex.peek().is(","));
        lex.expect(";");
      }
    }
  }
  routine.body.push_back(std::move(result));
}

void Parser::body(Routine &routine) {
  routine.hasBody = true;
  unsigned depth = 1;
  while (depth != 0) {
    if (lex.peek().kind == Token::End)
      lex.failExpected("'}' at the end of " + quote(routine.name.str()));
    bool open = lex.peek().is("{"), close = lex.peek().is("}");
    if (open || close) {
      depth += open ? 1 : -1;
      Statement brace;
      brace.kind = open ? Statement::Open : Statement::Close;
      brace.line = lex.next().line;
      if (depth != 0)
        routine.body.push_back(brace);
    } else if (!lex.take(";")) {
      statement(routine);
    }
  }
}

//===----------------------------------------------------------------------===//
// Directives of a module
//===----------------------------------------------------------------------===//

void Parser::routineAttributes(Routine &routine) {
  while (lex.peek().kind == Token::Word) {
    Token token = lex.next();
    StringRef attribute =
        StringSwitch<StringRef>(token.text)
            .Case(".reqntid", "nvvm.reqntid")
            .Case(".maxntid", "nvvm.maxntid")
            .Cases({".minnctapersm", ".maxnreg", ".maxnctapersm", ".noreturn",
                    ".unified", ".pragma", ".maxclusterrank"},
                   "ignored")
            .Default("");
    if (attribute.empty())
      lex.failAt(token.line, "unknown directive " + quote(token.text.str()));
    std::string values;
    if (lex.peek().kind == Token::Number)
      do {
        lex.take(",");
        values +=
            (values.empty() ? "" : ",") + std::to_string(unsignedNumber());
      } while (lex.peek().is(","));
    if (lex.peek().kind == Token::String) {
      lex.next();
      lex.take(";");
    }
    if (attribute == "cluster" && StringRef(values).trim("1,") != "")
      lex.failAt(token.line,
                 "expected clusters of one block, but got " + values);
    if (attribute.starts_with("nvvm"))
      routine.attributes.emplace_back(attribute.str(), values);
  }
}

void Parser::routine(bool entry) {
  Routine result;
  result.line = lex.peek().line;
  result.entry = entry;
  if (!entry)
    parameters(result.results);
  result.name = lex.word("a name").text;
  parameters(result.parameters);
  routineAttributes(result);
  if (!lex.take(";")) {
    lex.expect("{");
    body(result);
  }
  file.routines.push_back(std::move(result));
}

void Parser::directive() {
  Token token = lex.word("a directive");
  StringRef name = token.text;
  bool external = false;
  while (name == ".visible" || name == ".extern" || name == ".weak" ||
         name == ".common") {
    external |= name == ".extern";
    token = lex.word("a directive");
    name = token.text;
  }
  if (name == ".entry" || name == ".func")
    return routine(name == ".entry");
  if (name == ".global" || name == ".const" || name == ".shared")
    return variable(name.drop_front(), external, file.variables);
  if (name == ".version" || name == ".target" || name == ".file" ||
      name == ".loc")
    return lex.skipLine(token);
  if (name == ".address_size") {
    if (uint64_t size = unsignedNumber(); size != 64)
      lex.failAt(token.line,
                 fmt::format("expected '.address_size 64', but got {}", size));
    return;
  }
  if (name == ".section") {
    // Debug information.
    while (lex.peek().kind == Token::Word)
      lex.next();
    return lex.skipBraces();
  }
  if (name == ".pragma") {
    lex.next();
    return lex.expect(";");
  }
  lex.failAt(token.line, "unknown directive " + quote(name.str()));
}

File Parser::run() {
  while (lex.peek().kind != Token::End)
    directive();
  return std::move(file);
}

File steep::simt::ptx::parse(StringRef text, StringRef name) {
  return Parser(text, name).run();
}
