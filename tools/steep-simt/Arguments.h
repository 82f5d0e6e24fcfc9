//===- Arguments.h - what a kernel is called with ---------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TOOLS_STEEP_SIMT_ARGUMENTS_H
#define STEEP_TOOLS_STEEP_SIMT_ARGUMENTS_H

#include "runtime/Core/Tensor.h"

#include <string>
#include <vector>

namespace steep {

/// One --arg:
///   in:FILE:TENSOR                  a buffer with that tensor
///   inout:FILE:TENSOR:OUT           the same, written to OUT afterwards
///   out:OUT:TENSOR:DTYPE:SHAPE      a buffer of that shape, not initialized
///   zeros:OUT:TENSOR:DTYPE:SHAPE    the same, of zeros
///   scratch:BYTES                   a buffer that is not written anywhere
///   null                            a pointer to nothing
///   i8:, i16:, i32:, i64:, u8:, ... f32:, f64:NUMBER   a scalar
/// SHAPE is 37x129; a scalar buffer is 1.
struct KernelArgument {
  enum Kind { Buffer, Scalar };
  Kind kind = Scalar;
  std::string text;   ///< as given, for messages
  std::string tensor; ///< name in the file
  Tensor input;       ///< contents of a buffer, if it has any
  Tensor output;      ///< shape and type of what is written afterwards
  std::string outputFile;
  std::size_t bytes = 0;        ///< of a buffer
  std::vector<std::byte> value; ///< of a scalar
  bool isFloat = false;         ///< f32 or f64
  bool isPointer() const { return kind == Buffer; }
};

/// Parses one --arg and reads its tensor. Throws Error.
KernelArgument parseArgument(const std::string &text);

/// "X,Y,Z", "X,Y" or "X": sizes from 1 on; those that are missing are 1.
/// `option` stands in messages.
void parseSizes(const std::string &option, const std::string &text,
                std::uint32_t (&sizes)[3]);

} // namespace steep

#endif // STEEP_TOOLS_STEEP_SIMT_ARGUMENTS_H
