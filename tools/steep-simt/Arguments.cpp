//===- Arguments.cpp - what a kernel is called with -----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/steep-simt/Arguments.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Safetensors.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

using namespace steep;

static std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

template <typename T>
static bool parseWhole(const std::string &text, T &value) {
  const char *end = text.data() + text.size();
  auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

/// The bytes of a number, or nothing where `type` is not T's name.
template <typename T>
static bool parseScalar(const char *name, const std::string &type,
                        const std::string &text, KernelArgument &argument) {
  if (type != name)
    return false;
  T number;
  if (!parseWhole(text, number))
    fail("--arg={} is not possible: a number of type {} is expected after the "
         "colon",
         argument.text, name);
  argument.value.resize(sizeof number);
  std::memcpy(argument.value.data(), &number, sizeof number);
  argument.isFloat = std::is_floating_point_v<T>;
  return true;
}

static bool parseNumber(const std::string &type, const std::string &text,
                        KernelArgument &argument) {
  return parseScalar<int8_t>("i8", type, text, argument) ||
         parseScalar<uint8_t>("u8", type, text, argument) ||
         parseScalar<int16_t>("i16", type, text, argument) ||
         parseScalar<uint16_t>("u16", type, text, argument) ||
         parseScalar<int32_t>("i32", type, text, argument) ||
         parseScalar<uint32_t>("u32", type, text, argument) ||
         parseScalar<int64_t>("i64", type, text, argument) ||
         parseScalar<uint64_t>("u64", type, text, argument) ||
         parseScalar<float>("f32", type, text, argument) ||
         parseScalar<double>("f64", type, text, argument);
}

static Tensor parseOutput(const KernelArgument &argument,
                          const std::string &type, const std::string &shape) {
  std::optional<DType> dtype = dtypeNamed(type);
  if (!dtype)
    fail("--arg={} is not possible: {} is no element type, one such as F32 or "
         "BF16 is expected",
         argument.text, quote(type));
  std::vector<int64_t> sizes;
  for (const std::string &part : split(shape, 'x')) {
    int64_t size = 0;
    if (!parseWhole(part, size) || size < 1)
      fail("--arg={} is not possible: {} is no shape, one such as 37x129 is "
           "expected",
           argument.text, quote(shape));
    sizes.push_back(size);
  }
  return Tensor(*dtype, sizes);
}

KernelArgument steep::parseArgument(const std::string &text) {
  KernelArgument argument;
  argument.text = text;
  std::vector<std::string> parts = split(text, ':');
  const std::string &kind = parts[0];
  if (parts.size() == 2 && parseNumber(kind, parts[1], argument))
    return argument;
  if (kind == "null" && parts.size() == 1) {
    argument.value.resize(8);
    return argument;
  }
  argument.kind = KernelArgument::Buffer;
  bool in = kind == "in" && parts.size() == 3;
  bool inout = kind == "inout" && parts.size() == 4;
  bool out = (kind == "out" || kind == "zeros") && parts.size() == 5;
  if (in || inout) {
    argument.tensor = parts[2];
    argument.input = SafetensorsFile::open(parts[1]).load(parts[2]);
    argument.bytes = argument.input.bytes();
    if (inout) {
      argument.outputFile = parts[3];
      argument.output = argument.input;
    }
  } else if (out) {
    argument.outputFile = parts[1];
    argument.tensor = parts[2];
    argument.output = parseOutput(argument, parts[3], parts[4]);
    argument.bytes = argument.output.bytes();
    if (kind == "zeros")
      argument.input = argument.output;
  } else if (kind != "scratch" || parts.size() != 2 ||
             !parseWhole(parts[1], argument.bytes) || argument.bytes == 0) {
    fail("--arg={} is not possible: in:FILE:TENSOR, inout:FILE:TENSOR:OUT, "
         "out:OUT:TENSOR:DTYPE:SHAPE, zeros:OUT:TENSOR:DTYPE:SHAPE, "
         "scratch:BYTES, null or TYPE:NUMBER (i32, i64, f32, ...) is expected",
         text);
  }
  return argument;
}

void steep::parseSizes(const std::string &option, const std::string &text,
                       std::uint32_t (&sizes)[3]) {
  std::vector<std::string> parts = split(text, ',');
  bool right = parts.size() <= 3;
  for (std::size_t i = 0; right && i < parts.size(); ++i)
    right = parseWhole(parts[i], sizes[i]) && sizes[i] != 0;
  if (!right)
    fail("{}={} is not possible: one to three numbers from 1 on, with commas "
         "between, are expected",
         option, text);
}
