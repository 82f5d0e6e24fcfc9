//===- PtxLexer.h - words of PTX text ---------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_PTXLEXER_H
#define STEEP_RUNTIME_DEVICES_SIMT_PTXLEXER_H

#include "runtime/Core/Error.h"

#include "llvm/ADT/StringRef.h"

namespace steep::simt::ptx {

struct Token {
  enum Kind { Word, Number, String, Mark, End };
  Kind kind = End;
  llvm::StringRef text;
  unsigned line = 0;

  bool is(llvm::StringRef other) const {
    return kind != String && text == other;
  }
};

/// One token of look-ahead over the text. A word that starts with a dot is one
/// component (".reg.b32" is two words); any other keeps its dots and double
/// colons ("ld.shared::cta.b32", "%tid.x").
class Lexer {
public:
  Lexer(llvm::StringRef text, llvm::StringRef name);

  const Token &peek() const { return ahead; }
  Token next();
  /// Takes the token if it is that one.
  bool take(llvm::StringRef text);
  /// The same, and an error where it is not.
  void expect(llvm::StringRef text);
  /// Takes a word; `what` stands in the message where there is none.
  Token word(const char *what);
  /// Drops the rest of the line that `token` is on, for directives that end
  /// with it.
  void skipLine(const Token &token);
  /// Drops everything up to the brace that closes the one ahead.
  void skipBraces();

  /// Throws Error "NAME:LINE: MESSAGE".
  [[noreturn]] void failAt(unsigned line, const std::string &message) const;
  /// ... for the token ahead: "expected WHAT, but got 'TOKEN'".
  [[noreturn]] void failExpected(const std::string &what) const;

  /// The text from the token ahead to the next semicolon, for messages.
  llvm::StringRef statementAhead() const;

private:
  llvm::StringRef rest, file;
  unsigned line = 1;
  Token ahead;

  void skipBlanks();
  void drop(size_t count);
  Token scan();
};

} // namespace steep::simt::ptx

#endif // STEEP_RUNTIME_DEVICES_SIMT_PTXLEXER_H
