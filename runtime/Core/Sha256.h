//===- Sha256.h - digests of files and cache keys ---------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_SHA256_H
#define STEEP_RUNTIME_CORE_SHA256_H

#include <string>
#include <string_view>

namespace steep {

/// The SHA-256 digest (FIPS 180-4) in 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

} // namespace steep

#endif // STEEP_RUNTIME_CORE_SHA256_H
