//===- ArtefactCacheTest.cpp - tests of compileArtefact -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler is a shell script that notes each of its runs in a file.
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Artefact.h"

#include "runtime/Core/Files.h"
#include "runtime/Core/Sha256.h"
#include "test/Unit/Core/TestSupport.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>

using namespace steep;
using steep::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {
class Cache : public ::testing::Test {
protected:
  Cache() {
    script("echo run >> " + (folder / "log") +
           "\n"
           "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n"
           "mkdir $out && echo library > $out/libx.so && "
           "echo manifest > $out/x.json\n");
    test::writeQuickly(folder / "spec.mlir", "spec");
    request.spec = folder / "spec.mlir";
    request.parameters = "{}";
    request.target = "x86-64";
    request.cache = folder / "cache";
    request.compiler = folder / "steepc";
  }

  void script(const std::string &body) {
    test::writeQuickly(folder / "steepc", "#!/bin/sh\n" + body);
    ::chmod((folder / "steepc").c_str(), 0700);
  }
  std::size_t runs() {
    if (!fs::exists(folder / "log"))
      return 0;
    std::string log = readFile(folder / "log");
    return static_cast<std::size_t>(std::count(log.begin(), log.end(), '\n'));
  }

  TemporaryFolder folder;
  CompileRequest request;
};
} // namespace

/// A GPU's artefact holds what ptxas made, where there is one.
TEST_F(Cache, AnotherAssemblerIsAnotherArtefact) {
  const char *old = std::getenv("STEEP_CUDA");
  const std::string before = old ? old : "";
  ::setenv("STEEP_CUDA", folder.folder().c_str(), 1);
  const std::string cpu = compileArtefact(request);
  request.target = "x86-64,sm_80";
  const std::string without = compileArtefact(request);
  fs::create_directory(folder.folder() / "bin");
  test::writeQuickly(folder / "bin/ptxas", "one");
  const std::string with = compileArtefact(request);
  EXPECT_NE(with, without);
  EXPECT_EQ(compileArtefact(request), with);
  test::writeQuickly(folder / "bin/ptxas", "another");
  EXPECT_NE(compileArtefact(request), with);
  EXPECT_EQ(runs(), 4u);
  request.target = "x86-64";
  EXPECT_EQ(compileArtefact(request), cpu);
  if (old)
    ::setenv("STEEP_CUDA", before.c_str(), 1);
  else
    ::unsetenv("STEEP_CUDA");
}

TEST_F(Cache, CompilesOnceForOneRequest) {
  std::string first = compileArtefact(request);
  EXPECT_EQ(readFile(first + "/libx.so"), "library\n");
  EXPECT_EQ(readFile(first + "/../params.json"), "{}");
  EXPECT_EQ(compileArtefact(request), first);
  EXPECT_EQ(runs(), 1u);
}

TEST_F(Cache, CompilesAnewWhereAnInputDiffers) {
  std::set<std::string> folders = {compileArtefact(request)};
  auto differs = [&](const CompileRequest &other) {
    EXPECT_TRUE(folders.insert(compileArtefact(other)).second);
  };
  CompileRequest other = request;
  other.parameters = "{ }";
  differs(other);
  other = request;
  other.target = "x86-64-v2";
  differs(other);
  other = request;
  other.target = "native";
  differs(other);
  other = request;
  other.options = {"--only-rule=muon"};
  differs(other);
  test::writeQuickly(request.spec, "spec ");
  differs(request);
  // A new compiler: the same text, another time.
  fs::last_write_time(request.compiler,
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  differs(request);
  EXPECT_EQ(runs(), folders.size());
}

TEST_F(Cache, MakesDamagedEntriesAnew) {
  std::string entry = compileArtefact(request);
  test::writeQuickly(entry + "/libx.so", "damaged");
  EXPECT_EQ(compileArtefact(request), entry);
  EXPECT_EQ(readFile(entry + "/libx.so"), "library\n");
  fs::remove(entry + "/x.json");
  EXPECT_EQ(compileArtefact(request), entry);
  EXPECT_TRUE(fs::exists(entry + "/x.json"));
  fs::remove_all(entry);
  compileArtefact(request);
  fs::remove(entry + "/../SHA256SUMS");
  compileArtefact(request);
  EXPECT_EQ(runs(), 5u);
}

TEST_F(Cache, ServesConcurrentRuns) {
  std::vector<std::thread> threads;
  std::vector<std::string> results(6);
  for (std::string &result : results)
    threads.emplace_back([&] { result = compileArtefact(request); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &result : results)
    EXPECT_EQ(result, results[0]);
  EXPECT_EQ(runs(), 1u);
}

TEST_F(Cache, PassesTheCompilersMessageOnAndKeepsNothing) {
  script("echo 'note: first' >&2; echo 'spec.mlir:3:1: error: no group' >&2\n"
         "echo 'more' >&2; exit 1\n");
  EXPECT_ERROR(compileArtefact(request),
               "spec.mlir': spec.mlir:3:1: error: no group");
  script("echo 'last words' >&2; exit 3\n");
  EXPECT_ERROR(compileArtefact(request), ": last words");
  script("exit 3\n");
  EXPECT_ERROR(compileArtefact(request), "it gave no reason");
  script("kill -9 $$\n");
  EXPECT_ERROR(compileArtefact(request), "steepc was ended by signal 9");
  script("exit 0\n");
  EXPECT_ERROR(compileArtefact(request), "steepc wrote no artefact");
  EXPECT_TRUE(fs::is_empty(request.cache));
}

TEST_F(Cache, SpeaksOfWhatTheUserKnows) {
  request.flagNames = {{"--only-rule", "--rule"}};
  script("while [ $# -gt 0 ]; do [ \"$1\" = --params ] && p=$2; shift; done\n"
         "echo \"steepc: error: $p: head: --only-rule: $p\" >&2; exit 1\n");
  EXPECT_ERROR(compileArtefact(request),
               "spec.mlir': steepc: error: the model's parameters: head: "
               "--rule: the model's parameters");
  request.parametersName = "'in'";
  EXPECT_ERROR(compileArtefact(request), "error: 'in': head: --rule: 'in'");
}

namespace {
/// The limit while it lives.
struct Limit {
  explicit Limit(const std::string &bytes) {
    ::setenv("STEEP_CACHE_BYTES", bytes.c_str(), 1);
  }
  ~Limit() { ::unsetenv("STEEP_CACHE_BYTES"); }
};
} // namespace

class CacheLimit : public Cache {
protected:
  /// An entry of its own for each name; used so many hours ago.
  std::string make(const std::string &name, int hours) {
    request.options = {name};
    const fs::path entry = fs::path(compileArtefact(request)).parent_path();
    fs::last_write_time(entry, fs::file_time_type::clock::now() -
                                   std::chrono::hours(hours));
    return entry.string();
  }
  static bool isThere(const std::string &entry) {
    EXPECT_EQ(fs::exists(entry), fs::exists(entry + ".lock")) << entry;
    return fs::exists(entry);
  }
};

TEST_F(CacheLimit, RemovesWhatWasNotUsedForLongest) {
  const std::string a = make("a", 3), b = make("b", 2), c = make("c", 1);
  uint64_t bytes = 0;
  for (const auto &file : fs::recursive_directory_iterator(a))
    bytes += file.is_regular_file() ? file.file_size() : 0;
  const Limit limit(std::to_string(3 * bytes));
  compileArtefact(request); // of three, c is used: nothing is added
  request.options = {"a"};
  compileArtefact(request); // and now a
  EXPECT_TRUE(isThere(a) && isThere(b) && isThere(c));
  const std::string d = make("d", 0);
  EXPECT_FALSE(isThere(b));
  EXPECT_TRUE(isThere(a) && isThere(c) && isThere(d));
  // What was used just now stays beyond the limit.
  const std::string e = make("e", 0);
  EXPECT_TRUE(isThere(a) && isThere(c) && isThere(d) && isThere(e));
  // So does what somebody is at.
  fs::last_write_time(a,
                      fs::file_time_type::clock::now() - std::chrono::hours(9));
  const int held = ::open((a + ".lock").c_str(), O_RDWR);
  ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0);
  make("f", 0);
  EXPECT_TRUE(isThere(a));
  ::close(held);
  make("g", 0);
  EXPECT_FALSE(isThere(a));
}

TEST_F(CacheLimit, RemovesWhatKilledRunsLeft) {
  const std::string a = make("a", 0), key = fs::path(a).filename();
  const std::string own = "-" + std::to_string(::getpid()) + "-9";
  const std::string left = request.cache + "/." + key + ".tmp" + own;
  const std::string other = request.cache + "/.mine.tmp" + own;
  fs::create_directories(left + "/artefact");
  fs::create_directories(other);
  make("b", 0);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_TRUE(isThere(a));
}

TEST_F(CacheLimit, HoldsWithConcurrentRuns) {
  std::vector<std::string> old;
  for (const char *name : {"w", "x", "y", "z"})
    old.push_back(make(name, 5));
  const Limit limit("1");
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&, i] {
      CompileRequest mine = request;
      for (int turn = 0; turn < 8; ++turn) {
        mine.options = {std::to_string((turn + i) % 4)};
        const fs::path made = compileArtefact(mine);
        // Others may take an entry away only once it has not been used.
        EXPECT_EQ(readFile((made / "libx.so").string()), "library\n");
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(runs(), 4u + old.size());
  for (const std::string &entry : old)
    EXPECT_FALSE(isThere(entry));
}

TEST_F(CacheLimit, MustBeANumber) {
  for (const char *text : {"x", "-1", "1G", "1.5", "9999999999999999999"}) {
    const Limit limit(text);
    EXPECT_ERROR(compileArtefact(request),
                 "STEEP_CACHE_BYTES is '" + std::string(text) +
                     "', but a number of bytes is expected");
  }
  EXPECT_EQ(runs(), 0u);
}

TEST_F(Cache, SaysWhatIsMissing) {
  CompileRequest other = request;
  other.spec = folder / "none.mlir";
  EXPECT_ERROR(compileArtefact(other), "none.mlir': No such file");
  other = request;
  other.compiler = folder / "none";
  EXPECT_ERROR(compileArtefact(other), "there is no steepc at");
  other = request;
  other.cache = request.spec + "/cache";
  EXPECT_ERROR(compileArtefact(other), "cannot make the cache folder");
  ::chmod(request.compiler.c_str(), 0600);
  EXPECT_ERROR(compileArtefact(request), "cannot start");
}

TEST(Sha256, EqualsPublishedDigests) {
  EXPECT_EQ(sha256(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  // Piece by piece, around the ends of blocks, and from a file.
  for (std::size_t size : {0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1000})
    for (std::size_t cut : {1, 7, 63, 64, 65}) {
      const std::string text(size, 'x');
      Sha256 sum;
      for (std::size_t at = 0; at < size; at += cut)
        sum.add(std::string_view(text).substr(at, cut));
      EXPECT_EQ(sum.digest(), sha256(text)) << size << " " << cut;
    }
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
