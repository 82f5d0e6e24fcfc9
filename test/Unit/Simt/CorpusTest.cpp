//===- CorpusTest.cpp - broken kernels are reported, their twins are not --===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See test/Execution/SIMT/Corpus/README.md.
//
//===----------------------------------------------------------------------===//
#include "SimtTest.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

using namespace steep::simt;
using namespace steep::simt::test;

namespace {

constexpr std::uint64_t kSeeds = 8;

/// A file of the corpus.
struct Entry {
  std::string source;
  std::vector<std::string> reports; ///< One of them must be in the report.
  Sizes sizes;
  std::vector<std::pair<std::size_t, bool>> buffers; ///< Bytes; cleared?
  std::vector<std::uint64_t> numbers;
  struct Part {
    std::string name;
    std::size_t argument = 0, bytes = 0, stride = 0, count = 1;
  };
  std::vector<Part> parts;
  unsigned timeoutMs = 60000;
};

void readLaunch(std::istringstream &words, Entry &entry) {
  for (std::string word; words >> word;) {
    std::string key = word.substr(0, word.find('='));
    std::string value = word.substr(word.find('=') + 1);
    unsigned number = std::stoul(value);
    if (key == "grid")
      entry.sizes.grid[0] = number;
    else if (key == "block")
      entry.sizes.block[0] = number;
    else if (key == "shared")
      entry.sizes.shared = number;
    else if (key == "buffer")
      entry.buffers.push_back({number, value.find(":zero") != value.npos});
    else
      ADD_FAILURE() << "unknown word " << word;
  }
}

void readPart(std::istringstream &words, Entry &entry) {
  Entry::Part part;
  words >> part.name;
  for (std::string word; words >> word;) {
    std::string key = word.substr(0, word.find('='));
    std::size_t value = std::stoul(word.substr(word.find('=') + 1));
    (key == "argument" ? part.argument
     : key == "bytes"  ? part.bytes
     : key == "stride" ? part.stride
                       : part.count) = value;
  }
  entry.parts.push_back(part);
}

Entry readEntry(const std::string &path) {
  Entry entry;
  entry.source = readInput(path);
  std::istringstream lines(entry.source);
  for (std::string line; std::getline(lines, line) && line[0] == ';';) {
    std::istringstream words(line.substr(1));
    std::string key, rest;
    words >> key;
    if (key == "report:") {
      std::getline(words >> std::ws, rest);
      std::istringstream parts(rest);
      for (std::string part; std::getline(parts, part, '|');)
        entry.reports.push_back(part);
    } else if (key == "launch:") {
      readLaunch(words, entry);
    } else if (key == "declare:") {
      readPart(words, entry);
    } else if (key == "argument:") {
      std::uint64_t number;
      words >> rest >> number;
      entry.numbers.push_back(number);
    } else if (key == "timeout:") {
      words >> entry.timeoutMs;
    }
  }
  return entry;
}

/// The lines of one of the two kernels.
std::string variant(const std::string &source, const std::string &marker) {
  std::istringstream lines(source);
  std::string text;
  for (std::string line; std::getline(lines, line);)
    text +=
        (line.rfind(marker, 0) == 0 ? line.substr(marker.size()) : line) + "\n";
  return text;
}

std::unique_ptr<Program> loadVariant(const Entry &entry,
                                     const std::string &marker) {
  Options options;
  options.check = true;
  options.timeoutMs = entry.timeoutMs;
  return load(variant(entry.source, marker), options);
}

/// A new order of lanes and warps needs no new code.
Outcome runProgram(const Entry &entry, Program &program, std::uint64_t seed) {
  program.options.seed = seed;
  std::vector<std::unique_ptr<Buffer<unsigned char>>> buffers;
  std::vector<void *> pointers;
  for (auto [bytes, zero] : entry.buffers) {
    buffers.push_back(std::make_unique<Buffer<unsigned char>>(
        std::vector<unsigned char>(bytes, zero ? 0 : 1)));
    pointers.push_back(buffers.back()->data());
  }
  for (const Entry::Part &part : entry.parts)
    EXPECT_TRUE(
        GlobalMemory::instance().declare(part.name, pointers[part.argument],
                                         part.bytes, part.stride, part.count));
  std::vector<void *> parameters;
  for (void *&pointer : pointers)
    parameters.push_back(&pointer);
  std::vector<std::uint64_t> numbers = entry.numbers;
  for (std::uint64_t &number : numbers)
    parameters.push_back(&number);
  return launchPointers(program, "k", entry.sizes, parameters);
}

class Corpus : public testing::TestWithParam<std::string> {};

TEST_P(Corpus, ReportsTheBugAndNotItsTwin) {
  Entry entry =
      readEntry(std::string(STEEP_SIMT_CORPUS) + "/" + GetParam() + ".ll");
  ASSERT_FALSE(entry.reports.empty());
  auto broken = loadVariant(entry, ";bug");
  auto twin = loadVariant(entry, ";good");
  ASSERT_TRUE(broken && twin);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Outcome bug = runProgram(entry, *broken, seed);
    EXPECT_FALSE(bug.ok) << "seed " << seed;
    EXPECT_TRUE(std::any_of(entry.reports.begin(), entry.reports.end(),
                            [&](const std::string &text) {
                              return bug.text.find(text) != bug.text.npos;
                            }))
        << "seed " << seed << ": " << bug.text;
    EXPECT_NE(bug.text.find("kernel 'k'"), std::string::npos) << bug.text;
    Outcome good = runProgram(entry, *twin, seed);
    EXPECT_TRUE(good.ok) << "seed " << seed << ": " << good.text;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto &file :
       std::filesystem::directory_iterator(STEEP_SIMT_CORPUS))
    if (file.path().extension() == ".ll")
      found.push_back(file.path().stem().string());
  std::sort(found.begin(), found.end());
  return found;
}

std::string testName(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, testing::ValuesIn(names()), testName);

TEST(CorpusFolder, HoldsEnough) { EXPECT_GE(names().size(), 16u); }

} // namespace
