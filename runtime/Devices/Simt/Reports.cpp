//===- Reports.cpp - defects found while a kernel ran ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Reports.h"

#include "runtime/Devices/Simt/Program.h"

#include <cstdio>
#include <functional>
#include <utility>

namespace steep::simt {

std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

std::string placeOf(const Site &site) {
  return "at " + (site.location.empty() ? "" : site.location + " ") + "'" +
         site.text + "'";
}

void Reports::add(std::string text) {
  std::lock_guard<std::mutex> lock(mutex);
  if (list.size() < most)
    list.push_back(std::move(text));
  else
    ++dropped;
}

bool Reports::isNew(const char *kind, const Site *a, const Site *b) {
  if (std::less<const Site *>()(b, a))
    std::swap(a, b);
  std::lock_guard<std::mutex> lock(mutex);
  return seen.emplace(kind, a, b).second;
}

bool Reports::empty() const {
  std::lock_guard<std::mutex> lock(mutex);
  return list.empty();
}

std::vector<std::string> Reports::texts() const {
  std::lock_guard<std::mutex> lock(mutex);
  return list;
}

std::string Reports::all() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::string text;
  for (const std::string &report : list)
    text += report + "\n";
  if (dropped)
    text += "and " + std::to_string(dropped) + " more\n";
  return text;
}

} // namespace steep::simt
