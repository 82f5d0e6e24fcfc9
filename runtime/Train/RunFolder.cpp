//===- RunFolder.cpp - the folder of a run, held by one -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/RunFolder.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Train/Checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace steep;

namespace fs = std::filesystem;

static void removeRemnants(const std::string &out) {
  std::vector<fs::path> remnants;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(out, error))
    if (entry.path().filename().string().rfind(".removed-checkpoint-", 0) == 0)
      remnants.push_back(entry.path());
  // The folder is locked: nobody is at work on these.
  for (const Remnant &remnant : findRemnants(out))
    remnants.push_back(remnant.path);
  for (const fs::path &remnant : remnants)
    fs::remove_all(remnant, error);
}

RunFolder::RunFolder(const std::string &out)
    : out(out), lockPath((fs::path(out) / ".lock").string()) {
  if (fs::exists(out) && !fs::is_directory(out))
    fail("--out {}: is not a folder", out);
  for (fs::path path = fs::absolute(out); !fs::exists(path);
       path = path.parent_path())
    made.push_back(path.string());
  std::reverse(made.begin(), made.end());
  std::error_code error;
  fs::create_directories(out, error);
  if (error)
    fail("--out {}: cannot be made: {}", out, error.message());
  lock();
  removeRemnants(out);
}

/// The file of a lock that was let go of is removed, so the one that was
/// locked may be gone already: then again.
void RunFolder::lock() {
  struct stat held, there;
  while (true) {
    file = ::open(lockPath.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
      fail("--out {}: cannot be written: {}", out, std::strerror(errno));
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
      const int reason = errno;
      ::close(file);
      file = -1;
      if (reason == EWOULDBLOCK)
        fail("--out {}: another steep-train is running there", out);
      fail("--out {}: cannot be locked: {}", out, std::strerror(reason));
    }
    if (::fstat(file, &held) == 0 && ::stat(lockPath.c_str(), &there) == 0 &&
        held.st_ino == there.st_ino && held.st_dev == there.st_dev)
      return;
    ::close(file);
    file = -1;
  }
}

RunFolder::~RunFolder() {
  if (file < 0)
    return;
  ::unlink(lockPath.c_str());
  ::close(file);
  // Only empty folders go.
  for (auto path = made.rbegin(); path != made.rend(); ++path)
    if (::rmdir(path->c_str()) != 0)
      return;
}

bool RunFolder::checkFresh() const {
  const fs::path folder(out);
  const bool configured = fs::exists(folder / "config.json");
  const bool measured = fs::exists(folder / "metrics.jsonl");
  if (!listCheckpoints(out).empty() || (measured && !configured))
    fail("--out {}: a run is there already; continue it with --resume, or take "
         "another folder",
         out);
  return configured;
}
