//===- PtxLexer.cpp - words of PTX text -------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/PtxLexer.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace steep::simt::ptx;

static bool isWordStart(char c) {
  return isAlpha(c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static bool isWordPart(char c) { return isAlnum(c) || c == '_' || c == '$'; }

/// The length of the word at the start of `text`.
static size_t wordLength(StringRef text) {
  bool directive = text[0] == '.';
  size_t end = 1;
  while (end < text.size()) {
    char c = text[end];
    bool colons = text.substr(end).starts_with("::") && end + 2 < text.size() &&
                  isWordPart(text[end + 2]);
    if (colons)
      end += 2;
    else if (isWordPart(c) || (c == '%' && !directive) ||
             (c == '.' && !directive))
      ++end;
    else
      break;
  }
  return end;
}

Lexer::Lexer(StringRef text, StringRef name) : rest(text), file(name) {
  ahead = scan();
}

void Lexer::drop(size_t count) {
  line += rest.take_front(count).count('\n');
  rest = rest.drop_front(count);
}

void Lexer::skipBlanks() {
  while (!rest.empty()) {
    if (isSpace(rest[0])) {
      drop(1);
    } else if (rest.starts_with("//")) {
      drop(std::min(rest.find('\n'), rest.size()));
    } else if (rest.starts_with("/*")) {
      size_t end = rest.find("*/", 2);
      if (end == StringRef::npos)
        failAt(line, "expected '*/' at the end of a comment");
      drop(end + 2);
    } else {
      return;
    }
  }
}

Token Lexer::scan() {
  skipBlanks();
  Token token;
  token.line = line;
  if (rest.empty())
    return token;
  size_t length = 1;
  token.kind = Token::Mark;
  if (isWordStart(rest[0])) {
    token.kind = Token::Word;
    length = wordLength(rest);
  } else if (isDigit(rest[0])) {
    token.kind = Token::Number;
    while (length < rest.size() &&
           (isAlnum(rest[length]) || rest[length] == '.'))
      ++length;
  } else if (rest[0] == '"') {
    token.kind = Token::String;
    size_t end = rest.find('"', 1);
    if (end == StringRef::npos)
      failAt(line, "expected '\"' at the end of a string");
    length = end + 1;
  } else if (!isPrint(rest[0])) {
    failAt(line, fmt::format("expected text, but got byte {:#04x}",
                             static_cast<unsigned char>(rest[0])));
  }
  token.text = rest.take_front(length);
  drop(length);
  return token;
}

Token Lexer::next() {
  Token token = ahead;
  ahead = scan();
  return token;
}

bool Lexer::take(StringRef text) {
  if (!ahead.is(text))
    return false;
  next();
  return true;
}

void Lexer::expect(StringRef text) {
  if (!take(text))
    failExpected(quote(text.str()));
}

Token Lexer::word(const char *what) {
  if (ahead.kind != Token::Word)
    failExpected(what);
  return next();
}

void Lexer::skipLine(const Token &token) {
  while (ahead.kind != Token::End && ahead.line == token.line)
    next();
}

void Lexer::skipBraces() {
  unsigned depth = 0;
  expect("{");
  for (depth = 1; depth != 0;) {
    if (ahead.kind == Token::End)
      failExpected("'}'");
    Token token = next();
    if (token.is("{"))
      ++depth;
    else if (token.is("}"))
      --depth;
  }
}

void Lexer::failAt(unsigned line, const std::string &message) const {
  fail("{}:{}: {}", file.str(), line, message);
}

void Lexer::failExpected(const std::string &what) const {
  std::string got = ahead.kind == Token::End ? "the end of the text"
                                             : quote(ahead.text.str());
  failAt(ahead.line, "expected " + what + ", but got " + got);
}

StringRef Lexer::statementAhead() const {
  const char *begin = ahead.text.begin();
  StringRef text(begin, rest.end() - begin);
  return text.take_front(text.find(';')).rtrim();
}
