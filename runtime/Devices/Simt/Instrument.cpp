//===- Instrument.cpp - calls before accesses -----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Retarget.h"

namespace steep::simt {

void instrument(KernelCode &, SiteList &) {}

} // namespace steep::simt
