//===- Json.cpp - JSON that nobody vouches for ----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Json.h"

#include "runtime/Core/Error.h"

#include <set>

using nlohmann::json;

namespace steep {

json parseJson(const std::string &text, const std::string &origin) {
  constexpr int deepest = 64;
  std::vector<std::set<std::string>> keys;
  auto check = [&](int depth, json::parse_event_t event, json &parsed) {
    if (depth >= deepest)
      fail("{}: it nests deeper than {} levels", quote(origin), deepest);
    if (event == json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == json::parse_event_t::key &&
             !keys.back().insert(parsed.get<std::string>()).second)
      fail("{}: key {} stands twice in one object", quote(origin),
           quote(parsed.get<std::string>()));
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::parse_error &error) {
    fail("{}: it is not valid JSON at byte {}", quote(origin), error.byte);
  } catch (const json::exception &) {
    // Numbers that no double can hold.
    fail("{}: it is not valid JSON", quote(origin));
  }
}

void JsonValue::unexpected(const std::string &expected) const {
  std::string text = value->dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 60)
    text = text.substr(0, 57) + "...";
  fail("{}: {} is {}, but {} is expected", quote(origin),
       place.empty() ? "its value" : place, text, expected);
}

JsonValue JsonValue::at(const std::string &key) const {
  if (!value->is_object())
    unexpected("an object");
  auto found = value->find(key);
  std::string where = place.empty() ? key : place + "." + key;
  if (found == value->end())
    fail("{}: it has no {}", quote(origin), where);
  return {*found, origin, where};
}

std::optional<JsonValue> JsonValue::find(const std::string &key) const {
  if (!value->is_object())
    unexpected("an object");
  auto found = value->find(key);
  if (found == value->end() || found->is_null())
    return std::nullopt;
  return at(key);
}

std::vector<JsonValue> JsonValue::elements() const {
  if (!value->is_array())
    unexpected("an array");
  std::vector<JsonValue> result;
  for (std::size_t i = 0; i < value->size(); ++i)
    result.push_back({(*value)[i], origin, fmt::format("{}[{}]", place, i)});
  return result;
}

std::string JsonValue::string() const {
  if (!value->is_string())
    unexpected("a string");
  return value->get<std::string>();
}

int64_t JsonValue::integer(int64_t least, int64_t most) const {
  bool fits = value->is_number_integer() &&
              !(value->is_number_unsigned() &&
                value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX));
  if (!fits || value->get<int64_t>() < least || value->get<int64_t>() > most) {
    if (least == INT64_MIN && most == INT64_MAX)
      unexpected("an integer");
    if (most == INT64_MAX)
      unexpected(fmt::format("an integer of at least {}", least));
    unexpected(fmt::format("an integer from {} to {}", least, most));
  }
  return value->get<int64_t>();
}

bool JsonValue::boolean() const {
  if (!value->is_boolean())
    unexpected("true or false");
  return value->get<bool>();
}

double JsonValue::number() const {
  if (!value->is_number())
    unexpected("a number");
  return value->get<double>();
}

std::vector<int64_t> JsonValue::shape() const {
  std::vector<int64_t> result;
  for (const JsonValue &size : elements())
    result.push_back(size.integer(0));
  return result;
}

} // namespace steep
