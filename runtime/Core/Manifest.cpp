//===- Manifest.cpp - what an artefact says of itself ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Manifest.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Core/Json.h"
#include "runtime/Core/Tensor.h"

#include <cmath>
#include <set>

namespace steep {

/// Runtime and artefacts know FP32 alone.
static void expectF32(const JsonValue &value) {
  if (value.string() != "F32")
    value.unexpected("\"F32\"");
}

static std::vector<int64_t> tensorShape(const JsonValue &value) {
  std::vector<int64_t> shape = value.shape();
  if (!elementCount(shape))
    value.unexpected("a shape whose size fits in 63 bits");
  return shape;
}

static double nonNegative(const JsonValue &value) {
  double number = value.number();
  if (!(number >= 0) || std::isinf(number))
    value.unexpected("a number of at least 0");
  return number;
}

static double fraction(const JsonValue &value) {
  double number = value.number();
  if (!(number >= 0 && number <= 1))
    value.unexpected("a number from 0 to 1");
  return number;
}

/// NAME is part of symbols and file names.
static std::string identifier(const JsonValue &value) {
  std::string name = value.string();
  bool good = !name.empty() && name.size() <= 200 && !std::isdigit(name[0]);
  for (unsigned char c : name)
    good &= c < 128 && (std::isalnum(c) || c == '_');
  if (!good)
    value.unexpected("a C identifier");
  return name;
}

static Manifest::Group parseGroup(const JsonValue &value) {
  Manifest::Group group;
  group.name = value.at("name").string();
  group.rule = value.at("rule").string();
  group.lr = nonNegative(value.at("lr"));
  group.wd = nonNegative(value.at("wd"));
  if (auto decays = value.find("decays"))
    group.decays = decays->boolean();
  return group;
}

static Manifest::State parseState(const JsonValue &value) {
  Manifest::State state;
  state.name = value.at("name").string();
  state.shape = tensorShape(value.at("shape"));
  expectF32(value.at("dtype"));
  if (auto convention = value.find("convention"))
    state.convention = convention->string();
  return state;
}

static Manifest::Parameter parseParameter(const JsonValue &value,
                                          const Manifest &manifest) {
  Manifest::Parameter parameter;
  parameter.name = value.at("name").string();
  parameter.shape = tensorShape(value.at("shape"));
  expectF32(value.at("dtype"));
  parameter.group = value.at("group").string();
  int64_t group = manifest.groupIndex(parameter.group);
  if (group < 0)
    value.at("group").unexpected("the name of one of its groups");
  parameter.rule = value.at("rule").string();
  if (parameter.rule != manifest.groups[static_cast<std::size_t>(group)].rule)
    value.at("rule").unexpected("the rule of its group");
  if (std::optional<JsonValue> guarantee = value.find("guarantee"))
    parameter.guarantee = fraction(*guarantee);
  std::set<std::string> names;
  for (const JsonValue &element : value.at("states").elements()) {
    parameter.states.push_back(parseState(element));
    if (!names.insert(parameter.states.back().name).second)
      element.at("name").unexpected("a name that no other state of the "
                                    "parameter has");
  }
  return parameter;
}

static void parseHead(const JsonValue &root, Manifest &manifest) {
  std::vector<JsonValue> abi = root.at("steep").at("abi").elements();
  if (abi.size() != 2)
    root.at("steep").at("abi").unexpected("[major, minor]");
  manifest.abiMajor = static_cast<int>(abi[0].integer(0, UINT16_MAX));
  manifest.abiMinor = static_cast<int>(abi[1].integer(0, UINT16_MAX));
  manifest.compiler = root.at("steep").at("version").string();
  manifest.name = identifier(root.at("name"));
  JsonValue target = root.at("target");
  manifest.targetCpu = target.at("cpu").string();
  for (const JsonValue &feature : target.at("features").elements())
    manifest.targetFeatures.push_back(feature.string());
  JsonValue workspace = root.at("workspace");
  manifest.workspaceBytes =
      static_cast<uint64_t>(workspace.at("bytes").integer(0));
  int64_t alignment = workspace.at("alignment").integer(1, 1 << 21);
  if (alignment & (alignment - 1))
    workspace.at("alignment").unexpected("a power of two");
  manifest.workspaceAlignment = static_cast<uint64_t>(alignment);
}

static void parsePolicies(const JsonValue &root, Manifest &manifest) {
  if (auto schedule = root.find("schedule")) {
    if (schedule->at("kind").string() != "warmup_cosine")
      schedule->at("kind").unexpected("\"warmup_cosine\"");
    manifest.schedule = Manifest::Schedule{fraction(schedule->at("warmup")),
                                           fraction(schedule->at("floor"))};
  }
  if (auto clip = root.find("clip")) {
    if (clip->at("kind").string() != "global_norm")
      clip->at("kind").unexpected("\"global_norm\"");
    manifest.clipNorm = clip->at("max").number();
    if (!(*manifest.clipNorm > 0))
      clip->at("max").unexpected("a number above 0");
  }
}

static int64_t integerOr(const JsonValue &value, const char *key,
                         int64_t missing) {
  const std::optional<JsonValue> found = value.find(key);
  return found ? found->integer(0) : missing;
}

/// Artefacts of older versions have none.
static void parseMeasures(const JsonValue &root, Manifest &manifest) {
  std::optional<JsonValue> list = root.find("measures");
  if (!list)
    return;
  for (const JsonValue &value : list->elements())
    manifest.measures.push_back(
        {value.at("name").string(), value.at("parameter").string(),
         value.at("row").integer(0), integerOr(value, "column", 0)});
}

std::string Manifest::Measure::matrix() const {
  if (column != 0)
    return fmt::format("{}[{},{}]", parameter, row, column);
  return row == 0 ? parameter : fmt::format("{}[{}]", parameter, row);
}

Manifest Manifest::parse(const std::string &json, const std::string &origin) {
  nlohmann::json parsed = parseJson(json, origin);
  JsonValue root(parsed, origin);
  Manifest manifest;
  manifest.text = json;
  parseHead(root, manifest);
  parsePolicies(root, manifest);
  for (const JsonValue &element : root.at("groups").elements()) {
    Group group = parseGroup(element);
    if (manifest.groupIndex(group.name) >= 0)
      element.at("name").unexpected("a name that no other group has");
    manifest.groups.push_back(std::move(group));
  }
  std::set<std::string> names;
  for (const JsonValue &element : root.at("parameters").elements()) {
    manifest.parameters.push_back(parseParameter(element, manifest));
    if (!names.insert(manifest.parameters.back().name).second)
      element.at("name").unexpected("a name that no other parameter has");
  }
  parseMeasures(root, manifest);
  return manifest;
}

Manifest Manifest::load(const std::string &path) {
  return parse(readFile(path, std::size_t(1) << 28), path);
}

int64_t Manifest::groupIndex(const std::string &name) const {
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i].name == name)
      return static_cast<int64_t>(i);
  return -1;
}

} // namespace steep
