//===- SafetensorsHeader.h - the JSON of a safetensors file -----*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_SAFETENSORSHEADER_H
#define STEEP_RUNTIME_CORE_SAFETENSORSHEADER_H

#include "runtime/Core/Safetensors.h"

namespace steep::detail {

/// Reads and checks a header on its own: the syntax, one entry a name, types,
/// shapes, and that each span has just the bytes of its shape. How the spans
/// fit together and into the file is the caller's to check.
void parseSafetensorsHeader(const std::string &path, const std::string &header,
                            std::map<std::string, SafetensorsEntry> &index,
                            std::map<std::string, std::string> &metadata);

} // namespace steep::detail

#endif // STEEP_RUNTIME_CORE_SAFETENSORSHEADER_H
