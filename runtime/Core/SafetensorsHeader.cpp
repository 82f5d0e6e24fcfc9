//===- SafetensorsHeader.cpp - the JSON of a safetensors file -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A SAX handler, because a DOM would keep the last of two equal names without
// a word, and would build whatever a hostile header nests or lists.
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/SafetensorsHeader.h"

#include "runtime/Core/Error.h"

#include <nlohmann/json.hpp>
#include <optional>

namespace steep::detail {

namespace {

using json = nlohmann::json;

/// What the next value belongs to.
enum class Place {
  Start,    ///< before the outermost object
  Top,      ///< in it: names of tensors and __metadata__
  Metadata, ///< in __metadata__
  Tensor,   ///< in the object of a tensor
  Shape,    ///< in its "shape"
  Offsets,  ///< in its "data_offsets"
  Done
};

class HeaderReader : public nlohmann::json_sax<json> {
public:
  HeaderReader(const std::string &path,
               std::map<std::string, SafetensorsEntry> &index,
               std::map<std::string, std::string> &metadata)
      : path(path), index(index), meta(metadata) {}

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_float(double, const std::string &text) override {
    return unexpected("the number " + text);
  }
  bool binary(binary_t &) override { return unexpected("binary data"); }
  bool number_integer(int64_t value) override {
    // The parser calls this for negative numbers only.
    return unexpected("the number " + std::to_string(value));
  }
  bool number_unsigned(uint64_t value) override;
  bool string(std::string &value) override;
  bool start_object(std::size_t) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool key(std::string &name) override;
  bool parse_error(std::size_t position, const std::string &,
                   const json::exception &) override {
    fail("{}: its header is not valid JSON at byte {}", quote(path), position);
  }

private:
  [[noreturn]] bool unexpected(const std::string &what) const;
  void finishTensor();
  std::string tensor() const { return quote(path) + ": tensor " + quote(name); }

  const std::string &path;
  std::map<std::string, SafetensorsEntry> &index;
  std::map<std::string, std::string> &meta;

  Place place = Place::Start;
  bool sawMetadata = false;
  std::string name;  ///< of the tensor being read
  std::string field; ///< the key whose value comes next
  std::optional<DType> dtype;
  std::optional<std::vector<int64_t>> shape;
  std::optional<std::vector<uint64_t>> offsets;
};

} // namespace

/// Every value that is not just what its place wants ends here. Nesting thus
/// never gets deeper than the format's three levels.
bool HeaderReader::unexpected(const std::string &what) const {
  switch (place) {
  case Place::Start:
  case Place::Done:
    fail("{}: its header is {}, but an object is expected", quote(path), what);
  case Place::Top:
    fail("{}: entry {} is {}, but an object is expected", quote(path),
         quote(field), what);
  case Place::Metadata:
    fail("{}: metadata {} is {}, but a string is expected", quote(path),
         quote(field), what);
  case Place::Tensor:
    fail("{}: its {} is {}, but {} is expected", tensor(), quote(field), what,
         field == "dtype" ? "a string" : "an array");
  case Place::Shape:
    fail("{}: its shape holds {}, but sizes from 0 to 2^63 - 1 are expected",
         tensor(), what);
  case Place::Offsets:
    fail("{}: its data_offsets hold {}, but two byte positions are expected",
         tensor(), what);
  }
  fail("{}: its header is malformed", quote(path));
}

bool HeaderReader::number_unsigned(uint64_t value) {
  if (place == Place::Offsets) {
    if (offsets->size() == 2)
      fail("{}: its data_offsets hold more than two numbers", tensor());
    offsets->push_back(value);
    return true;
  }
  constexpr std::size_t largestRank = 64;
  if (place == Place::Shape && value <= uint64_t(INT64_MAX)) {
    if (shape->size() == largestRank)
      fail("{}: its shape has more than {} sizes", tensor(), largestRank);
    shape->push_back(static_cast<int64_t>(value));
    return true;
  }
  return unexpected("the number " + std::to_string(value));
}

bool HeaderReader::string(std::string &value) {
  if (place == Place::Metadata) {
    meta[field] = value;
    return true;
  }
  if (place == Place::Tensor && field == "dtype") {
    dtype = dtypeNamed(value);
    if (!dtype)
      fail("{}: its dtype {} is not known", tensor(), quote(value));
    return true;
  }
  return unexpected("the string " + quote(value));
}

bool HeaderReader::start_object(std::size_t) {
  if (place == Place::Start) {
    place = Place::Top;
    return true;
  }
  if (place != Place::Top)
    return unexpected("an object");
  if (field == "__metadata__") {
    place = Place::Metadata;
    return true;
  }
  place = Place::Tensor;
  name = field;
  dtype.reset();
  shape.reset();
  offsets.reset();
  return true;
}

bool HeaderReader::end_object() {
  if (place == Place::Tensor)
    finishTensor();
  place = place == Place::Top ? Place::Done : Place::Top;
  return true;
}

bool HeaderReader::start_array(std::size_t) {
  if (place == Place::Tensor && field == "shape") {
    place = Place::Shape;
    shape.emplace();
    return true;
  }
  if (place == Place::Tensor && field == "data_offsets") {
    place = Place::Offsets;
    offsets.emplace();
    return true;
  }
  return unexpected("an array");
}

bool HeaderReader::end_array() {
  place = Place::Tensor;
  return true;
}

bool HeaderReader::key(std::string &text) {
  field = text;
  switch (place) {
  case Place::Top:
    if (field == "__metadata__" ? sawMetadata : index.count(field) != 0)
      fail("{}: entry {} stands twice in its header", quote(path),
           quote(field));
    sawMetadata |= field == "__metadata__";
    return true;
  case Place::Metadata:
    if (meta.count(field))
      fail("{}: metadata {} stands twice in its header", quote(path),
           quote(field));
    return true;
  default:
    break;
  }
  bool twice = false;
  if (field == "dtype")
    twice = dtype.has_value();
  else if (field == "shape")
    twice = shape.has_value();
  else if (field == "data_offsets")
    twice = offsets.has_value();
  else
    fail("{}: it has an unknown key {}", tensor(), quote(field));
  if (twice)
    fail("{}: its {} stands twice", tensor(), quote(field));
  return true;
}

void HeaderReader::finishTensor() {
  if (!dtype || !shape || !offsets)
    fail("{}: it has no {}", tensor(),
         !dtype   ? "dtype"
         : !shape ? "shape"
                  : "data_offsets");
  if (offsets->size() != 2)
    fail("{}: its data_offsets hold {} numbers, but two are expected", tensor(),
         offsets->size());
  uint64_t begin = (*offsets)[0], end = (*offsets)[1];
  if (begin > end)
    fail("{}: its data begins at byte {}, after its end at byte {}", tensor(),
         begin, end);
  std::optional<int64_t> count = elementCount(*shape);
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(
                    *count, static_cast<int64_t>(sizeOf(*dtype)), &bytes))
    fail("{}: its shape {} is too large", tensor(), shapeString(*shape));
  if (end - begin != static_cast<uint64_t>(bytes))
    fail("{}: its data has {} bytes, but {} of shape {} need {}", tensor(),
         end - begin, nameOf(*dtype), shapeString(*shape), bytes);
  index.emplace(name, SafetensorsEntry{*dtype, *shape, begin, end});
}

void parseSafetensorsHeader(const std::string &path, const std::string &header,
                            std::map<std::string, SafetensorsEntry> &index,
                            std::map<std::string, std::string> &metadata) {
  // The format asks for this byte; it also keeps a byte order mark out.
  if (header.empty() || header.front() != '{')
    fail("{}: its header does not begin with '{{'", quote(path));
  HeaderReader reader(path, index, metadata);
  json::sax_parse(header, &reader);
}

} // namespace steep::detail
