//===- Remarks.cpp - what passes say of a compilation ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Compiler/Remarks.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace steepc {

namespace {
class Collector : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Collector(RemarkList &list) : list(list) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::string text;
    llvm::raw_string_ostream out(text);
    for (const auto &arg : remark.getArgs())
      if (arg.key == "Remark")
        out << arg.val;
    for (const auto &arg : remark.getArgs())
      if (arg.key == "Reason")
        out << (text.empty() ? "" : ": ") << arg.val;
    ++list[{remark.getFunction().str(), remark.getRemarkName().str(), text}];
  }

private:
  RemarkList &list;
};
} // namespace

LogicalResult collectRemarks(MLIRContext &context, const std::string &filter,
                             bool print, RemarkList &list) {
  if (!llvm::Regex(filter).isValid())
    return failure();
  remark::RemarkCategories categories;
  // One for each kind: `all` by itself enables none of them.
  categories.passed = categories.missed = categories.analysis =
      categories.failed = filter;
  return remark::enableOptimizationRemarks(
      context, std::make_unique<Collector>(list),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories, print);
}

} // namespace steepc
