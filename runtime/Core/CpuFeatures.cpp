//===- CpuFeatures.cpp - what this CPU offers -----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/CpuFeatures.h"

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace steep {

/// The value of the first line "key : value" of /proc/cpuinfo.
static std::string cpuInfo(const std::string &key) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    std::size_t colon = line.find(':');
    if (colon == std::string::npos)
      continue;
    std::size_t end = line.find_last_not_of(" \t", colon - 1);
    if (line.substr(0, end + 1) != key)
      continue;
    std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::string cpuModel() {
  std::string name = cpuInfo("model name");
  return name.empty() ? "this CPU" : name;
}

std::vector<std::string>
missingCpuFeatures(const std::vector<std::string> &features) {
  std::istringstream words(cpuInfo("flags"));
  std::set<std::string> present{std::istream_iterator<std::string>(words), {}};
  std::vector<std::string> missing;
  if (!present.empty())
    for (const std::string &feature : features)
      if (!present.count(feature))
        missing.push_back(feature);
  return missing;
}

std::string cpuSignature() {
  return cpuInfo("model name") + "\n" + cpuInfo("cpu family") + " " +
         cpuInfo("model") + "\n" + cpuInfo("flags");
}

} // namespace steep
