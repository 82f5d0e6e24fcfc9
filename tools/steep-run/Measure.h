//===- Measure.h - what an increment does to a head -------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TOOLS_STEEP_RUN_MEASURE_H
#define STEEP_TOOLS_STEEP_RUN_MEASURE_H

#include <string>
#include <vector>

namespace steep {

/// What --measure knows: diameter, separation, rho, hilbert, covering of an
/// increment; oracle, certificate, flow, columns, dual of a gradient.
const std::vector<std::string> &measurementNames();

/// Prints the measurements of the tensors of a file, `s` (and `h` for hilbert)
/// or `g`, as one JSON object; what is infinite or undefined is null.
/// `nonfinite` is there, and lists them, where tensors have entries that are
/// not finite.
void runMeasure(const std::vector<std::string> &names, const std::string &in,
                int threads);

} // namespace steep

#endif // STEEP_TOOLS_STEEP_RUN_MEASURE_H
