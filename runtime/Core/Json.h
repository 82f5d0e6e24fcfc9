//===- Json.h - JSON that nobody vouches for --------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_JSON_H
#define STEEP_RUNTIME_CORE_JSON_H

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace steep {

/// Parses a whole text. Throws Error, naming `origin`, where it is not JSON,
/// nests deeper than 64 levels, or has a key twice in one object.
nlohmann::json parseJson(const std::string &text, const std::string &origin);

/// A value together with where it stands, for errors such as
///   'paper.json': groups[0].lr is "x", but a number is expected
/// It refers to the json, which must outlive it.
class JsonValue {
public:
  JsonValue(const nlohmann::json &value, std::string origin)
      : value(&value), origin(std::move(origin)) {}

  /// The member, which must be there; throws Error where this is no object.
  JsonValue at(const std::string &key) const;
  /// The member, or nothing where it is missing or null.
  std::optional<JsonValue> find(const std::string &key) const;
  std::vector<JsonValue> elements() const;

  std::string string() const;
  /// An integer of that range.
  int64_t integer(int64_t least = INT64_MIN, int64_t most = INT64_MAX) const;
  double number() const;
  bool boolean() const;
  /// Sizes of a tensor: an array of integers that are not negative.
  std::vector<int64_t> shape() const;

  /// Throws Error: "ORIGIN: PLACE is VALUE, but EXPECTED is expected".
  [[noreturn]] void unexpected(const std::string &expected) const;

private:
  JsonValue(const nlohmann::json &value, std::string origin, std::string place)
      : value(&value), origin(std::move(origin)), place(std::move(place)) {}

  const nlohmann::json *value;
  std::string origin;
  std::string place;
};

} // namespace steep

#endif // STEEP_RUNTIME_CORE_JSON_H
