//===- Core.cpp - the row-diameter oracle without a runtime ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The core as one translation unit, so that a code generator sees all of it;
// compiled for each instruction set by the runtime, and to bitcode for steps.
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Oracle/Dense.cpp"
#include "runtime/Geometry/Oracle/Newton.cpp"
#include "runtime/Geometry/Oracle/NewtonStep.cpp"
#include "runtime/Geometry/Oracle/Presolve.cpp"
#include "runtime/Geometry/Oracle/Repair.cpp"
#include "runtime/Geometry/Oracle/Solve.cpp"
#include "runtime/Geometry/Oracle/Stars.cpp"
