//===- CPUTest.cpp - which processor the kernels are compiled for ---------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU.h"

#include "llvm/ADT/STLExtras.h"

#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

using namespace steepc;

static CPU parse(llvm::StringRef text) {
  auto cpu = parseCPU(text);
  EXPECT_TRUE(bool(cpu)) << llvm::toString(cpu.takeError());
  return std::move(*cpu);
}

static bool needs(const CPU &cpu, llvm::StringRef name) {
  return llvm::any_of(cpu.required, [&](const CPUFeature *feature) {
    return name == feature->cpuinfoName;
  });
}

TEST(CPU, LevelsHaveTheirVectors) {
  EXPECT_EQ(parse("x86-64").lanes, 4);
  EXPECT_EQ(parse("x86-64-v2").lanes, 4);
  EXPECT_EQ(parse("x86-64-v3").lanes, 8);
  EXPECT_EQ(parse("x86-64-v4").lanes, 16);
  EXPECT_EQ(parse("haswell").lanes, 8);
  EXPECT_EQ(parse("znver4").lanes, 16);
}

TEST(CPU, LevelsRequireWhatTheirDefinitionSays) {
  EXPECT_TRUE(parse("x86-64").required.empty());
  EXPECT_FALSE(needs(parse("x86-64-v2"), "avx"));
  for (const char *name :
       {"avx", "avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe"})
    EXPECT_TRUE(needs(parse("x86-64-v3"), name)) << name;
  EXPECT_FALSE(needs(parse("x86-64-v3"), "avx512f"));
  for (const char *name :
       {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})
    EXPECT_TRUE(needs(parse("x86-64-v4"), name)) << name;
  EXPECT_FALSE(needs(parse("x86-64-v4"), "avx512_bf16"));
  EXPECT_TRUE(needs(parse("x86-64-v4+avx512bf16"), "avx512_bf16"));
}

TEST(CPU, AFeatureBringsWhatItNeeds) {
  CPU cpu = parse("x86-64+avx512vnni+fma");
  EXPECT_EQ(cpu.lanes, 16);
  for (const char *name : {"avx512_vnni", "avx512f", "avx2", "fma", "sse4_2"})
    EXPECT_TRUE(needs(cpu, name)) << name;
}

/// Tiles, and pairs of BF16 for the borders of products; dropped where no
/// kernel multiplies tiles.
TEST(CPU, SomeHaveAMX) {
  for (const char *name : {"x86-64-v4", "x86-64-v4+avx512bf16", "znver4",
                           "x86-64-v4+amx-bf16+amx-tile"})
    EXPECT_FALSE(parse(name).hasAMX()) << name;
  for (const char *name :
       {"sapphirerapids", "x86-64-v4+avx512bf16+amx-bf16+amx-tile"}) {
    CPU cpu = parse(name);
    EXPECT_TRUE(cpu.hasAMX()) << name;
    EXPECT_TRUE(needs(cpu, "amx_tile")) << name;
    EXPECT_TRUE(needs(cpu, "amx_bf16")) << name;
    cpu.dropAMX();
    EXPECT_FALSE(needs(cpu, "amx_tile")) << name;
    EXPECT_FALSE(needs(cpu, "amx_bf16")) << name;
    EXPECT_TRUE(needs(cpu, "avx512_bf16")) << name;
  }
}

TEST(CPU, NativeRequiresWhatTheHostHas) {
  std::ifstream file("/proc/cpuinfo");
  std::string line, word;
  std::set<std::string> flags;
  while (std::getline(file, line) && flags.empty())
    if (line.rfind("flags", 0) == 0)
      for (std::istringstream words(line); words >> word;)
        flags.insert(word);
  ASSERT_FALSE(flags.empty()) << "/proc/cpuinfo lists no flags";
  for (const CPUFeature *feature : parse("native").required)
    EXPECT_TRUE(flags.count(feature->cpuinfoName)) << feature->cpuinfoName;
}

TEST(CPU, RefusesWhatLLVMWouldAbortOn) {
  for (const char *text :
       {"", "i386", "pentium3", "geode", "bogus", "x86-64-v5", "sm_90",
        "native,native", "x86-64+", "x86-64+64bit", "native+mmx"}) {
    auto cpu = parseCPU(text);
    ASSERT_FALSE(bool(cpu)) << text;
    std::string message = llvm::toString(cpu.takeError());
    EXPECT_NE(message.find("--target: "), std::string::npos) << message;
    EXPECT_NE(message.find("expected"), std::string::npos) << message;
  }
}
