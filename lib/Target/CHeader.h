//===- CHeader.h - the C header of an artefact ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_CHEADER_H
#define STEEP_LIB_TARGET_CHEADER_H

#include "lib/Target/Plan.h"

namespace steepc {

/// NAME.h: C99 that needs no other header of Steep.
std::string writeHeader(const Plan &plan, bool withGPU);

} // namespace steepc

#endif // STEEP_LIB_TARGET_CHEADER_H
