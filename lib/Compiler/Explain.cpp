//===- Explain.cpp - the routing table ------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Compiler/Explain.h"

#include "lib/Target/Manifest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InterleavedRange.h"

using namespace llvm;

namespace steepc {

namespace {

/// Rows of text in aligned columns; the first `leftColumns` are words.
class Table {
public:
  explicit Table(size_t leftColumns) : leftColumns(leftColumns) {}
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  void print(raw_ostream &out) const;

private:
  size_t leftColumns;
  std::vector<std::vector<std::string>> rows;
};

} // namespace

void Table::print(raw_ostream &out) const {
  std::vector<size_t> widths;
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), row.size()));
      widths[i] = std::max(widths[i], row[i].size());
    }
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string space(widths[i] - row[i].size(), ' ');
      line += i < leftColumns ? row[i] + space : space + row[i];
      line += "  ";
    }
    out << StringRef(line).rtrim() << "\n";
  }
}

/// Three digits and a prefix: 12.3 k, 1.67 G.
static std::string quantity(double value) {
  const char *const prefixes[] = {"", " k", " M", " G", " T", " P"};
  size_t i = 0;
  while (value >= 999.5 && i + 1 < std::size(prefixes)) {
    value /= 1000;
    ++i;
  }
  int digits = i == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::string text;
  raw_string_ostream(text) << format("%.*f", digits, value) << prefixes[i];
  return text;
}

/// A name from a model's file, on one line.
static std::string shown(StringRef name) {
  std::string text;
  for (unsigned char c : name)
    if (c < 0x20 || c == 0x7f)
      text +=
          std::string("\\x") + hexdigit(c >> 4, true) + hexdigit(c & 15, true);
    else
      text += char(c);
  return text;
}

static double stateBytes(const Parameter &parameter) {
  double bytes = 0;
  for (const State &state : parameter.states)
    bytes += 4.0 * state.elements();
  return bytes;
}

static bool callsHost(const StepFunction &function) {
  return any_of(function.kernels,
                [](const Kernel &kernel) { return kernel.isHost; });
}

/// The same where a function of the host adds what is not known beforehand.
static std::string atLeast(double value, bool callsHost) {
  return quantity(value) + (callsHost ? "+" : "");
}

/// What the matrices of one parameter take a step.
struct Share {
  double moved = 0, least = 0, flops = 0, kernels = 0;
  bool callsHost = false;
};

static std::vector<Share> shareOut(const Plan &plan) {
  std::vector<Share> shares(plan.parameters.size());
  for (const Batch &batch : plan.batches) {
    double count = batch.parameters.size();
    double launches = plan.functions[batch.squares].kernels.size() +
                      plan.functions[batch.plain].kernels.size();
    for (int64_t index : batch.parameters) {
      Share &share = shares[index];
      share.moved += movedBytes(plan, batch) / count;
      share.least += leastBytes(plan, batch) / count;
      share.flops += operations(plan, batch) / count;
      share.kernels += launches / count;
      share.callsHost |= callsHost(plan.functions[batch.plain]);
    }
  }
  return shares;
}

static void explainParameters(const Plan &plan, raw_ostream &out) {
  Table table(5);
  table.add({"parameter", "shape", "group", "rule", "function", "kernels",
             "state bytes", "bytes moved", "least", "flops"});
  Share all;
  double state = 0;
  for (auto [parameter, share] :
       llvm::zip_equal(plan.parameters, shareOut(plan))) {
    // Of a parameter of several matrices, the function of the first.
    const Batch &batch = plan.batches[parameter.batch];
    size_t launches = plan.functions[batch.squares].kernels.size() +
                      plan.functions[batch.plain].kernels.size();
    std::string shape;
    raw_string_ostream(shape) << interleaved(parameter.shape, "x");
    table.add({shown(parameter.name), shape, plan.groups[parameter.group].name,
               batch.rule, batch.name, formatv("{0}", launches),
               quantity(stateBytes(parameter)),
               atLeast(share.moved, share.callsHost), quantity(share.least),
               atLeast(share.flops, share.callsHost)});
    state += stateBytes(parameter);
    all.moved += share.moved;
    all.least += share.least;
    all.flops += share.flops;
    all.kernels += share.kernels;
    all.callsHost |= share.callsHost;
  }
  table.add({"all, one step", "", "", "", "",
             formatv("{0}", int64_t(all.kernels + 0.5)), quantity(state),
             atLeast(all.moved, all.callsHost), quantity(all.least),
             atLeast(all.flops, all.callsHost)});
  table.print(out);
  if (all.callsHost)
    out << "+: and what a function of the host takes, which depends on the "
           "gradient; see the remarks Host below\n";
}

/// How often each kernel of a function runs; in the order of the first time.
static std::vector<std::pair<const Kernel *, int64_t>>
countKernels(const StepFunction &function) {
  std::vector<std::pair<const Kernel *, int64_t>> counts;
  for (const Kernel &kernel : function.kernels) {
    auto known = find_if(counts, [&](auto &entry) {
      return entry.first->symbol == kernel.symbol;
    });
    if (known == counts.end())
      counts.push_back({&kernel, 1});
    else
      ++known->second;
  }
  return counts;
}

static void explainKernels(const Plan &plan, raw_ostream &out) {
  Table table(3);
  table.add({"function", "kernel", "config", "runs", "blocks", "bytes moved",
             "least", "flops"});
  std::vector<bool> done(plan.functions.size());
  for (const Batch &batch : plan.batches)
    for (int64_t index : {batch.squares, batch.plain}) {
      if (done[index])
        continue;
      done[index] = true;
      const StepFunction &function = plan.functions[index];
      for (auto [kernel, runs] : countKernels(function))
        table.add({function.symbol, kernel->symbol,
                   kernel->isHost ? "a function of the host" : kernel->config,
                   formatv("{0}", runs), formatv("{0}", kernel->grid),
                   kernel->isHost ? "?" : quantity(kernel->bytes),
                   kernel->isHost ? "?" : quantity(kernel->leastBytes),
                   kernel->isHost ? "?" : quantity(kernel->flops)});
    }
  table.print(out);
}

/// What was asked for, where something else is done by permission of the spec.
static void explainGuarantees(const Plan &plan, raw_ostream &out) {
  for (const Batch &batch : plan.batches)
    if (auto ratio = plan.functions[batch.plain].guarantee)
      out << formatv(
          "\n{0}: the row diameter is relaxed to the common ball, at "
          "least {1:F6} of the exact decrease for every gradient\n",
          batch.name, *ratio);
}

/// What rules measure, and what that adds to a step that asks for it.
static void explainMeasures(const Plan &plan, raw_ostream &out) {
  for (const Batch &batch : plan.batches) {
    if (batch.measureNames.empty())
      continue;
    const StepFunction &plain = plan.functions[batch.plain],
                       &measured = plan.functions[batch.measured];
    auto countHost = [](const StepFunction &function) {
      return count_if(function.kernels,
                      [](const Kernel &kernel) { return kernel.isHost; });
    };
    const char *more = countHost(measured) > countHost(plain) ? "+" : "";
    out << formatv("\n{0}: measures {1}: {2} kernels, {3}B{5} moved and {4}{5} "
                   "flops more a matrix, in steps that ask for them\n",
                   batch.name, interleaved(batch.measureNames, ", "),
                   measured.kernels.size() - plain.kernels.size(),
                   quantity(measured.bytes() - plain.bytes()),
                   quantity(measured.flops() - plain.flops()), more);
  }
}

/// Remarks on the functions of a step: fusions, projections left out, results
/// that are copied home.
static void explainRemarks(const Plan &plan, const RemarkList &remarks,
                           raw_ostream &out) {
  llvm::StringSet<> functions;
  llvm::StringSet<> measured;
  for (const Batch &batch : plan.batches) {
    measured.insert(plan.functions[batch.measured].symbol);
    for (int64_t index : {batch.squares, batch.plain}) {
      functions.insert(plan.functions[index].symbol);
      for (const Kernel &kernel : plan.functions[index].kernels)
        functions.insert(kernel.symbol);
    }
  }
  Table table(3);
  table.add({"function", "remark", ""});
  for (const auto &[entry, count] : remarks)
    if (!entry.text.empty() &&
        (functions.contains(entry.function) ||
         (entry.kind == "Host" && measured.contains(entry.function))))
      table.add({entry.function, entry.kind, entry.text});
  out << "\nwhat was fused, and what was not:\n";
  table.print(out);
}

/// Parts of the workspace, which is all that a step needs beside weights,
/// gradients and states.
static void explainMemory(const Plan &plan, raw_ostream &out) {
  double parameters = 0, states = 0;
  for (const Parameter &parameter : plan.parameters) {
    parameters += 4.0 * parameter.elements();
    states += stateBytes(parameter);
  }
  out << formatv("\n{0} parameters in {1} batches; workspace {2}B\n",
                 plan.parameters.size(), plan.batches.size(),
                 quantity(plan.workspaceBytes));
  out << formatv("memory of a step: weights {0}B, gradients {0}B, states {1}B, "
                 "workspace {2}B (largest wave {3}B); nothing is allocated\n",
                 quantity(parameters), quantity(states),
                 quantity(plan.workspaceBytes), quantity(plan.waveBytes));
}

void explain(const Plan &plan, const RemarkList &remarks, raw_ostream &out) {
  explainParameters(plan, out);
  out << "\none run, on one matrix (least: what is not in the workspace):\n";
  explainKernels(plan, out);
  explainGuarantees(plan, out);
  explainMeasures(plan, out);
  explainRemarks(plan, remarks, out);
  explainMemory(plan, out);
}

} // namespace steepc
