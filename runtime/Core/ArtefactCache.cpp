//===- ArtefactCache.cpp - compiled specs, kept ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry is a folder named by the digest of all that steepc reads:
//   KEY/params.json   what --params was given
//   KEY/artefact/     what steepc wrote
//   KEY/SHA256SUMS    digests of the files of artefact/, checked on every use
// It appears whole, by a rename. KEY.lock makes runs that want the same entry
// wait for each other, so that one of them compiles and none removes what
// another has just made.
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Artefact.h"

#include "runtime/Core/ChildProcess.h"
#include "runtime/Core/CpuFeatures.h"
#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Core/Sha256.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace steep {

static std::string cacheFolder(const CompileRequest &request) {
  std::string folder = request.cache;
  const char *xdg = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (folder.empty() && xdg && *xdg)
    folder = std::string(xdg) + "/steep";
  else if (folder.empty() && home && *home)
    folder = std::string(home) + "/.cache/steep";
  if (folder.empty())
    fail("there is no place for compiled specs: set XDG_CACHE_HOME or HOME");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    fail("cannot make the cache folder {}: {}", quote(folder), error.message());
  return folder;
}

/// Each part with its length, so that no two requests give one text.
static std::string cacheKey(const CompileRequest &request,
                            const std::string &spec,
                            const std::string &compiler) {
  struct stat status;
  if (::stat(compiler.c_str(), &status) != 0)
    fail("cannot compile {}: there is no steepc at {}", quote(request.spec),
         quote(compiler));
  std::vector<std::string> parts = {
      "cache format 1", spec, request.parameters, request.target,
      fmt::format("{} {}.{}", status.st_size, status.st_mtim.tv_sec,
                  status.st_mtim.tv_nsec)};
  if (request.target.rfind("native", 0) == 0)
    parts.push_back(cpuSignature());
  parts.insert(parts.end(), request.options.begin(), request.options.end());
  std::string text;
  for (const std::string &part : parts)
    text += fmt::format("{}:{}\n", part.size(), part);
  return sha256(text);
}

/// "DIGEST  NAME" a line, as sha256sum writes and checks it.
static std::string digests(const fs::path &folder) {
  std::map<std::string, std::string> lines;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    lines[entry.path().filename().string()] =
        sha256(readFile(entry.path().string()));
  std::string text;
  for (const auto &[name, digest] : lines)
    text += digest + "  " + name + "\n";
  return text;
}

static bool isWhole(const fs::path &entry) {
  try {
    std::string expected = readFile((entry / "SHA256SUMS").string());
    return !expected.empty() && expected == digests(entry / "artefact");
  } catch (const std::exception &) {
    return false;
  }
}

/// The message of a compiler that failed: its first line with an error, else
/// its last line.
static std::string messageIn(const std::string &errors) {
  std::istringstream lines(errors);
  std::string line, last;
  while (std::getline(lines, line)) {
    if (line.find("error:") != std::string::npos)
      return line;
    if (!line.empty())
      last = line;
  }
  return last.empty() ? "it gave no reason" : last;
}

static void compile(const CompileRequest &request, const std::string &compiler,
                    const std::string &folder) {
  writeFile(folder + "/params.json", request.parameters);
  std::vector<std::string> arguments = {
      request.spec,   "--params", folder + "/params.json", "--target",
      request.target, "-o",       folder + "/artefact"};
  arguments.insert(arguments.end(), request.options.begin(),
                   request.options.end());
  ChildResult result = runChild(compiler, arguments);
  if (result.signal)
    fail("cannot compile {}: steepc was ended by signal {}",
         quote(request.spec), result.signal);
  if (result.exitStatus)
    fail("cannot compile {}: {}", quote(request.spec),
         messageIn(result.errors));
  std::error_code error;
  if (!fs::is_directory(folder + "/artefact", error))
    fail("cannot compile {}: steepc wrote no artefact", quote(request.spec));
  writeFile(folder + "/SHA256SUMS", digests(folder + "/artefact"));
}

namespace {
/// Holds the lock of an entry; without one (some network file systems) runs
/// merely do work twice.
class EntryLock {
public:
  explicit EntryLock(const std::string &path)
      : fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    while (fd >= 0 && ::flock(fd, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  EntryLock(const EntryLock &) = delete;
  ~EntryLock() {
    if (fd >= 0)
      ::close(fd);
  }

private:
  int fd;
};
} // namespace

std::string compileArtefact(const CompileRequest &request) {
  std::string compiler =
      request.compiler.empty() ? programBeside("steepc") : request.compiler;
  std::string spec = readFile(request.spec);
  std::string key = cacheKey(request, spec, compiler);
  std::string entry = cacheFolder(request) + "/" + key;
  EntryLock lock(entry + ".lock");
  if (isWhole(entry))
    return entry + "/artefact";
  std::error_code error;
  fs::remove_all(entry, error);
  if (error)
    fail("cannot remove the damaged cache entry {}: {}", quote(entry),
         error.message());
  writeFolder(entry, [&](const std::string &folder) {
    compile(request, compiler, folder);
    if (readFile(request.spec) != spec)
      fail("cannot compile {}: it changed meanwhile", quote(request.spec));
  });
  return entry + "/artefact";
}

} // namespace steep
