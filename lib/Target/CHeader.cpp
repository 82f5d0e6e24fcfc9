//===- CHeader.cpp - the C header of an artefact --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CHeader.h"

#include "steepHeader.inc"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InterleavedRange.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace steepc {

/// `name` inside a C comment: names come from a model's file and may hold
/// anything, an end of comment or a line splice too.
static std::string inComment(StringRef name) {
  std::string text;
  for (unsigned char c : name) {
    if (isAlnum(c) || StringRef("._-/:+ ").contains(char(c))) {
      text += char(c);
      continue;
    }
    text += "\\x";
    text += hexdigit(c >> 4, true);
    text += hexdigit(c & 15, true);
  }
  return text;
}

static void writeParameters(raw_ostream &out, const Plan &plan) {
  out << "/* Parameters, in the order of steep_step_args:\n";
  for (auto [index, parameter] : llvm::enumerate(plan.parameters))
    out << " *   " << format("%4d", int(index)) << "  "
        << inComment(parameter.name) << "  "
        << llvm::interleaved(parameter.shape, "x") << "\n";
  out << " * States, by parameter:\n";
  int64_t index = 0;
  for (const Parameter &parameter : plan.parameters)
    for (const State &state : parameter.states)
      out << " *   " << format("%4d", int(index++)) << "  "
          << inComment(parameter.name) << "  " << inComment(state.name) << "\n";
  out << " * Groups, the order of lr and wd:\n";
  for (auto [number, group] : llvm::enumerate(plan.groups))
    out << " *   " << format("%4d", int(number)) << "  "
        << inComment(group.name) << "  (rule " << inComment(group.rule)
        << ")\n";
  out << " */\n";
}

std::string writeHeader(const Plan &plan, bool withGPU) {
  std::string text;
  raw_string_ostream out(text);
  // Unlike the guard of steep.h for every name, and for "a" unlike for "A".
  std::string guard = "STEEP_OPTIMIZER_" + plan.name + "_H";
  std::string prefix = "steep_" + plan.name + "_";
  std::string constant = "STEEP_" + plan.name + "_";
  out << "/* " << plan.name << ".h - written by steepc; the optimizer '"
      << plan.name
      << "' for C99 and C++.\n"
         " * Link with lib"
      << plan.name << ".so, or with " << plan.name
      << ".o and -lm -lpthread. */\n"
      << "#ifndef " << guard << "\n#define " << guard << "\n\n"
      << StringRef(reinterpret_cast<const char *>(steepHeader),
                   sizeof steepHeader)
      << "\n";
  writeParameters(out, plan);
  out << "enum {\n  " << constant
      << "parameter_count = " << plan.parameters.size() << ",\n  " << constant
      << "state_count = " << plan.stateCount() << ",\n  " << constant
      << "group_count = " << plan.groups.size() << "\n};\n\n"
      << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
      << "uint32_t " << prefix << "abi_version(void);\n"
      << "const char *" << prefix << "build_info(void);\n"
      << "int32_t " << prefix << "plan(steep_plan *plan);\n"
      << "int32_t " << prefix
      << "parameter(int64_t index, steep_parameter *parameter);\n"
      << "int32_t " << prefix << "state(int64_t index, steep_state *state);\n"
      << "int32_t " << prefix << "group(int64_t index, steep_group *group);\n"
      << "int32_t " << prefix << "prepare(steep_step_args *args);\n"
      << "int32_t " << prefix << "apply(steep_step_args *args);\n"
      << "int32_t " << prefix << "step(steep_step_args *args);\n"
      << "steep_pool *" << prefix << "pool_create(int32_t threads);\n"
      << "void " << prefix << "pool_destroy(steep_pool *pool);\n"
      << "const char *" << prefix << "last_error(void);\n";
  if (withGPU)
    out << "int32_t " << prefix << "device_open(steep_device_args *args);\n"
        << "int32_t " << prefix << "device_close(steep_device *device);\n";
  out << "\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* " << guard << " */\n";
  return text;
}

} // namespace steepc
