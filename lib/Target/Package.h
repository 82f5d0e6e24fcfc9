//===- Package.h - how build systems find an artefact -----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_PACKAGE_H
#define STEEP_LIB_TARGET_PACKAGE_H

#include "lib/Target/Plan.h"

#include <string>

namespace steepc {

/// NAME.pc for pkg-config, and NAMEConfig.cmake for CMake's find_package. Both
/// find the artefact beside themselves, so that its folder may be moved.
/// Without a library they give the object.
std::string writePkgConfig(const Plan &plan, bool hasLibrary);
std::string writeCMakePackage(const Plan &plan, bool hasLibrary);

} // namespace steepc

#endif // STEEP_LIB_TARGET_PACKAGE_H
