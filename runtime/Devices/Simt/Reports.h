//===- Reports.h - defects found while a kernel ran -------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_REPORTS_H
#define STEEP_RUNTIME_DEVICES_SIMT_REPORTS_H

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace steep::simt {

struct Site;

/// "0x1f".
std::string hex(std::uint64_t value);

/// "at FILE:LINE 'INSTRUCTION'", for a report that names a second place.
std::string placeOf(const Site &site);

/// The reports of one launch; blocks on several threads add to it.
class Reports {
public:
  explicit Reports(unsigned most = 8) : most(most) {}

  void add(std::string text);
  /// True the first time that this kind of defect is seen between these two
  /// places, in either order.
  bool isNew(const char *kind, const Site *a, const Site *b);

  bool empty() const;
  std::vector<std::string> texts() const;
  /// All of them, one after the other, each with a line end.
  std::string all() const;

private:
  mutable std::mutex mutex;
  std::vector<std::string> list;
  std::set<std::tuple<std::string, const Site *, const Site *>> seen;
  unsigned most, dropped = 0;
};

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_REPORTS_H
