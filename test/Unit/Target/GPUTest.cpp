//===- GPUTest.cpp - tests of GPU names and of ptxas ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Ptxas.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace steepc;

namespace {

Targets parse(llvm::StringRef text) {
  auto targets = parseTargets(text);
  EXPECT_TRUE(bool(targets)) << text.str();
  if (targets)
    return std::move(*targets);
  llvm::consumeError(targets.takeError());
  return {};
}

std::string refusal(llvm::StringRef text) {
  auto targets = parseTargets(text);
  return targets ? "accepted" : llvm::toString(targets.takeError());
}

TEST(GPU, ReadsLists) {
  Targets targets = parse("x86-64-v3,sm_80,sm_90a");
  EXPECT_EQ(targets.cpu.cpu, "x86-64-v3");
  ASSERT_EQ(targets.gpus.size(), 2u);
  EXPECT_EQ(targets.gpus[1].name, "sm_90a");
  EXPECT_EQ(targets.gpus[1].capability, 90);
  EXPECT_TRUE(targets.gpus[1].exact);
  EXPECT_FALSE(targets.gpus[0].exact);
  EXPECT_EQ(parse("sm_100a").gpus[0].features, "+ptx86");
  EXPECT_EQ(parse("sm_120a").gpus[0].features, "+ptx87");
  // Without a CPU it is this one, wherever in the list the GPUs stand.
  EXPECT_EQ(parse("sm_80").cpu.cpu, parse("native").cpu.cpu);
  EXPECT_EQ(parse("sm_80,znver4").cpu.cpu, "znver4");
  EXPECT_TRUE(parse("sm_80").cpu.hasKernels);
  EXPECT_FALSE(parse("none,sm_80").cpu.hasKernels);
  EXPECT_TRUE(parse("none,sm_80").cpu.required.empty());
}

TEST(GPU, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(refusal("sm_70"),
            "--target: unknown GPU 'sm_70'; expected one of sm_80, sm_86, "
            "sm_87, sm_89, sm_90, sm_90a, sm_100, sm_100a, sm_103, sm_103a, "
            "sm_120, sm_120a, sm_121, sm_121a");
  EXPECT_NE(refusal("native,sm_90b").find("'sm_90b'"), std::string::npos);
  EXPECT_EQ(refusal("none"),
            "--target: expected a GPU beside 'none', got 'none'");
  EXPECT_EQ(refusal("sm_80,sm_80"), "--target: names 'sm_80' twice");
  EXPECT_EQ(refusal("native,znver4"),
            "--target: expected at most one CPU, got 'native' and 'znver4'");
  EXPECT_EQ(refusal("sm_80,"), "--target: expected names with commas and no "
                               "spaces between, got 'sm_80,'");
  EXPECT_EQ(refusal("none, sm_80"), "--target: expected names with commas and "
                                    "no spaces between, got 'none, sm_80'");
}

// As NVIDIA's occupancy calculator has them.
TEST(GPU, Occupancy) {
  GPU ampere = parse("sm_80").gpus[0], ada = parse("sm_89").gpus[0];
  EXPECT_DOUBLE_EQ(occupancy(ampere, 256, 32, 0), 1.0);
  EXPECT_DOUBLE_EQ(occupancy(ampere, 256, 128, 0), 0.25);
  EXPECT_DOUBLE_EQ(occupancy(ampere, 1024, 64, 0), 0.5);
  EXPECT_DOUBLE_EQ(occupancy(ampere, 32, 16, 0), 0.5);        // 32 blocks
  EXPECT_DOUBLE_EQ(occupancy(ampere, 128, 32, 81920), 0.125); // 2 blocks
  EXPECT_DOUBLE_EQ(occupancy(ampere, 256, 255, 0), 0.125);
  EXPECT_DOUBLE_EQ(occupancy(ada, 256, 40, 0), 1.0);
  EXPECT_DOUBLE_EQ(occupancy(ampere, 1024, 128, 0), 0.0); // cannot be launched
}

TEST(Ptxas, ReadsItsLog) {
  auto kernels = parsePtxasLog(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'one' for 'sm_80'\n"
      "ptxas info    : Function properties for one\n"
      "    24 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 21 registers, used 1 barriers, 24 bytes cumulative "
      "stack size, 2048 bytes smem, 384 bytes cmem[0]\n"
      "ptxas info    : Compile time = 26.582 ms\n"
      "ptxas info    : Compiling entry function 'two' for 'sm_80'\n"
      "ptxas info    : Function properties for two\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 0 barriers\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "one");
  EXPECT_EQ(kernels[0].registers, 21);
  EXPECT_EQ(kernels[0].stackBytes, 24);
  EXPECT_EQ(kernels[0].spillStores, 8);
  EXPECT_EQ(kernels[0].spillLoads, 12);
  EXPECT_EQ(kernels[0].sharedBytes, 2048);
  EXPECT_EQ(kernels[1].name, "two");
  EXPECT_EQ(kernels[1].registers, 255);
  EXPECT_EQ(kernels[1].sharedBytes, 0);
}

/// A toolkit whose ptxas is a shell script, and a cache of its own.
class FakeToolkit {
public:
  explicit FakeToolkit(const std::string &script) {
    llvm::sys::fs::createUniqueDirectory("steep-toolkit", folder);
    std::string bin = (folder + "/bin").str();
    llvm::sys::fs::create_directory(bin);
    std::ofstream(bin + "/ptxas")
        << "#!/bin/sh\n[ \"$1\" = --version ] && "
           "echo 'Cuda compilation tools, release 9.9, V9.9.9' && exit\n"
        << script;
    ::chmod((bin + "/ptxas").c_str(), 0755);
    ::setenv("STEEP_CUDA", folder.c_str(), 1);
    ::setenv("XDG_CACHE_HOME", (folder + "/cache").str().c_str(), 1);
  }
  ~FakeToolkit() {
    llvm::sys::fs::remove_directories(folder);
    ::unsetenv("STEEP_CUDA");
    ::unsetenv("XDG_CACHE_HOME");
  }
  int countRuns() const {
    std::ifstream file((folder + "/runs").str());
    std::string line;
    int count = 0;
    while (std::getline(file, line))
      ++count;
    return count;
  }

  llvm::SmallString<128> folder;
};

TEST(Ptxas, KeepsCubins) {
  FakeToolkit toolkit("echo run >> $(dirname $0)/../runs\n"
                      "echo \"ptxas info    : Compiling entry function 'k' for "
                      "'sm_80'\"\n"
                      "echo 'ptxas info    : Used 7 registers'\n"
                      "printf '\\177ELF of %s\\n' \"$(cat $6)\" > $5\n");
  std::optional<Ptxas> ptxas = llvm::cantFail(findPtxas());
  ASSERT_TRUE(ptxas);
  EXPECT_EQ(ptxas->version, "9.9.9");
  GPU gpu = parse("sm_80").gpus[0];
  for (int i = 0; i < 3; ++i) {
    auto cubin = assemble(*ptxas, gpu, "text", "name");
    ASSERT_TRUE(bool(cubin)) << llvm::toString(cubin.takeError());
    EXPECT_EQ(cubin->bytes, "\177ELF of text\n");
    ASSERT_EQ(cubin->kernels.size(), 1u);
    EXPECT_EQ(cubin->kernels[0].registers, 7);
  }
  EXPECT_EQ(toolkit.countRuns(), 1);
  // Other text, another GPU: other entries.
  EXPECT_TRUE(bool(assemble(*ptxas, gpu, "other", "name")));
  EXPECT_TRUE(bool(assemble(*ptxas, parse("sm_86").gpus[0], "text", "name")));
  EXPECT_EQ(toolkit.countRuns(), 3);
  // A damaged entry is made anew.
  std::error_code code;
  for (llvm::sys::fs::directory_iterator
           file((toolkit.folder + "/cache/steep/cubin").str(), code),
       end;
       file != end && !code; file.increment(code))
    if (llvm::StringRef(file->path()).ends_with(".cubin"))
      std::ofstream(file->path()) << "damage";
  auto cubin = assemble(*ptxas, gpu, "text", "name");
  ASSERT_TRUE(bool(cubin));
  EXPECT_EQ(cubin->bytes, "\177ELF of text\n");
  EXPECT_EQ(toolkit.countRuns(), 4);
}

/// What assembling says that goes wrong; the PTX, which must have stayed, is
/// removed.
std::string messageOf(const Ptxas &ptxas) {
  auto cubin = assemble(ptxas, parse("sm_80").gpus[0], "the text", "name");
  if (cubin)
    return "no error";
  std::string message = llvm::toString(cubin.takeError());
  std::string again = "; to see it again: " + ptxas.program +
                      " -v -O3 -arch=sm_80 -o /dev/null ";
  auto [reason, kept] = llvm::StringRef(message).split(again);
  std::ifstream file(kept.str());
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "the text") << message;
  llvm::sys::fs::remove(kept);
  return reason.str();
}

TEST(Ptxas, ShowsHowToSeeAFailureAgain) {
  FakeToolkit toolkit("echo 'note' >&2\n"
                      "echo 'name.ptx, line 7; error   : bad' >&2\nexit 255\n");
  std::optional<Ptxas> ptxas = llvm::cantFail(findPtxas());
  ASSERT_TRUE(ptxas);
  EXPECT_EQ(messageOf(*ptxas),
            "ptxas failed for sm_80: name.ptx, line 7; error   : bad");
}

TEST(Ptxas, TakesNothingButELF) {
  FakeToolkit garbage("echo garbage > $5\n");
  EXPECT_EQ(messageOf(*llvm::cantFail(findPtxas())),
            "ptxas failed for sm_80: it wrote 8 bytes that are no ELF file");
  FakeToolkit nothing("exit 0\n");
  EXPECT_EQ(messageOf(*llvm::cantFail(findPtxas())),
            "ptxas failed for sm_80: it wrote nothing");
}

TEST(Ptxas, IsNotWaitedForWithoutEnd) {
  FakeToolkit toolkit("exec sleep 60\n");
  ::setenv("STEEP_PTXAS_SECONDS", "1", 1);
  EXPECT_EQ(messageOf(*llvm::cantFail(findPtxas())),
            "ptxas failed for sm_80: it did not end within 1 second");
  ::setenv("STEEP_PTXAS_SECONDS", "0", 1);
  EXPECT_EQ(llvm::toString(findPtxas().takeError()),
            "STEEP_PTXAS_SECONDS: expected a number of seconds from 1, got "
            "'0'");
  ::unsetenv("STEEP_PTXAS_SECONDS");
}

TEST(Ptxas, IsAbsentWhereToldSo) {
  ::setenv("STEEP_CUDA", "none", 1);
  EXPECT_FALSE(llvm::cantFail(findPtxas()));
  EXPECT_EQ(findInToolkit("bin/ptxas"), "");
  ::unsetenv("STEEP_CUDA");
}

TEST(Ptxas, IsAnErrorWhereItIsAskedForInVain) {
  auto complaint = [] { return llvm::toString(findPtxas().takeError()); };
  FakeToolkit toolkit("");
  std::string head = "STEEP_CUDA: expected a folder with an executable "
                     "bin/ptxas, or 'none' to do without; '",
              folder = toolkit.folder.str().str();
  ::setenv("STEEP_CUDA", "/nowhere", 1);
  EXPECT_EQ(complaint(), head + "/nowhere' is no folder");
  ::setenv("STEEP_CUDA", (folder + "/bin").c_str(), 1);
  EXPECT_EQ(complaint(), head + folder + "/bin' has no bin/ptxas");
  ::setenv("STEEP_CUDA", folder.c_str(), 1);
  ::chmod((folder + "/bin/ptxas").c_str(), 0644);
  EXPECT_EQ(complaint(),
            head + folder + "' has a bin/ptxas that is not executable");
  std::ofstream(folder + "/bin/ptxas") << "#!/bin/sh\necho no luck\nexit 1\n";
  ::chmod((folder + "/bin/ptxas").c_str(), 0755);
  EXPECT_EQ(complaint(), folder + "/bin/ptxas --version failed: no luck; "
                                  "STEEP_CUDA names another toolkit, or "
                                  "'none' to do without");
}

} // namespace
