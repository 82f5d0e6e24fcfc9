//===- Libraries.cpp - the libraries that products are compared with ------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bench/Libraries.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <iterator>
#include <sys/wait.h>
#include <unistd.h>

namespace steep::bench {

static const char *const variable = "OPENBLAS_CORETYPE";

/// What the last limitLibraries chose for OpenBLAS.
static std::string limitedTo;

std::string limitLibraries(const std::string &target) {
  struct Limit {
    const char *target, *oneDNN, *openBLAS, *name;
  };
  static const Limit limits[] = {
      {"x86-64-v4", "AVX512_CORE", "SkylakeX", "AVX-512"},
      {"x86-64-v3", "AVX2", "Haswell", "AVX2"},
      {"x86-64-v2", "SSE41", "Nehalem", "SSE4"},
      {"x86-64", "SSE41", "Nehalem", "SSE4"}};
  const std::string level = target.substr(0, target.find('+'));
  for (const Limit &limit : limits)
    if (level == limit.target) {
      setenv("ONEDNN_MAX_CPU_ISA", limit.oneDNN, 0);
      if (!std::getenv(variable)) {
        setenv(variable, limit.openBLAS, 1);
        limitedTo = limit.name;
      }
      return std::string("libraries limited to ") + limit.name;
    }
  return "libraries not limited";
}

/// Null where it is not installed.
static void *openLibrary() {
  return dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
}

static std::string coreOf(void *library) {
  auto name =
      reinterpret_cast<char *(*)()>(dlsym(library, "openblas_get_corename"));
  return name ? name() : "";
}

/// The core that OpenBLAS takes by itself. It chooses once, when it is opened,
/// so a child process opens it.
static std::string askForCore() {
  int ends[2];
  if (pipe(ends) != 0)
    return "";
  const pid_t child = fork();
  if (child == 0) {
    void *library = openLibrary();
    const std::string core = library ? coreOf(library) : "";
    _exit(write(ends[1], core.data(), core.size()) < 0);
  }
  close(ends[1]);
  std::string core(64, '\0');
  const ssize_t bytes = child < 0 ? 0 : read(ends[0], &core[0], core.size());
  core.resize(size_t(std::max<ssize_t>(bytes, 0)));
  close(ends[0]);
  if (child > 0)
    waitpid(child, nullptr, 0);
  return core;
}

/// OpenBLAS' names of processors without AVX2.
static bool isOld(const std::string &core) {
  static const char *const names[] = {
      "Katmai", "Coppermine", "Northwood",    "Prescott",    "Banias",
      "Atom",   "Core2",      "Penryn",       "Dunnington",  "Nehalem",
      "Athlon", "Opteron",    "Opteron_SSE3", "Barcelona",   "Nano",
      "Bobcat", "Bulldozer",  "Piledriver",   "Steamroller", "Sandybridge"};
  return std::find(std::begin(names), std::end(names), core) != std::end(names);
}

/// The core whose kernels fit this processor; null where it has no AVX2.
static const char *betterCore() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return "SkylakeX";
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
             ? "Haswell"
             : nullptr;
}

OpenBLAS openOpenBLAS() {
  OpenBLAS blas;
  std::string own;
  const char *better = nullptr;
  if (!limitedTo.empty()) {
    blas.reason = "limited to " + limitedTo;
  } else if (const char *told = std::getenv(variable)) {
    blas.reason = std::string(variable) + " is " + told;
  } else {
    own = askForCore();
    better = isOld(own) ? betterCore() : nullptr;
    if (better)
      setenv(variable, better, 1);
  }
  void *library = openLibrary();
  if (!library)
    return {};
  if (auto threads = reinterpret_cast<void (*)(int)>(
          dlsym(library, "openblas_set_num_threads")))
    threads(1);
  blas.core = coreOf(library);
  if (better)
    blas.reason = blas.core == own
                      ? "slow on this processor, and made for no other"
                      : "chosen here: by itself OpenBLAS takes " + own +
                            ", slow on this processor";
  blas.sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
  return blas;
}

std::string OpenBLAS::describe() const {
  if (!sgemm)
    return "absent";
  return core + (reason.empty() ? "" : " (" + reason + ")");
}

void useOneThread() {
  if (auto threads = reinterpret_cast<void (*)(int)>(
          dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
    threads(1);
}

} // namespace steep::bench
