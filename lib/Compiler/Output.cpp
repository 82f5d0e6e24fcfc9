//===- Output.cpp - files that are whole or absent ------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Compiler/Output.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using llvm::Error;
using llvm::StringRef;

namespace steepc {

static Error systemError(const char *what, StringRef path) {
  return llvm::createStringError(llvm::Twine("cannot ") + what + " " + path +
                                 ": " + strerror(errno));
}

static bool writeAll(int file, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t done = ::write(file, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return false;
    bytes = bytes.drop_front(size_t(done));
  }
  return true;
}

/// Makes what was written to a file, or entered into a folder, last.
static bool syncPath(StringRef path) {
  int file = open(path.str().c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  bool good = fsync(file) == 0;
  close(file);
  return good;
}

static Error writeSynced(StringRef path, StringRef bytes) {
  int file =
      open(path.str().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0)
    return systemError("create", path);
  bool good = writeAll(file, bytes) && fsync(file) == 0;
  int saved = errno;
  good = close(file) == 0 && good;
  if (good)
    return Error::success();
  errno = saved;
  return systemError("write", path);
}

static std::string parentOf(StringRef path) {
  StringRef parent = llvm::sys::path::parent_path(path);
  return parent.empty() ? "." : parent.str();
}

Error writeFile(StringRef path, StringRef bytes) {
  struct stat status;
  // A device or a pipe is written, not replaced.
  if (stat(path.str().c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode))
      return llvm::createStringError("cannot write " + path +
                                     ": it is a folder");
    int file = open(path.str().c_str(), O_WRONLY | O_CLOEXEC);
    bool good = file >= 0 && writeAll(file, bytes);
    Error error = good ? Error::success() : systemError("write", path);
    if (file >= 0)
      close(file);
    return error;
  }
  std::string temporary = (path + ".tmp" + llvm::Twine(getpid())).str();
  llvm::sys::RemoveFileOnSignal(temporary);
  Error error = writeSynced(temporary, bytes);
  if (!error && rename(temporary.c_str(), path.str().c_str()) != 0)
    error = systemError("create", path);
  if (error)
    unlink(temporary.c_str());
  llvm::sys::DontRemoveFileOnSignal(temporary);
  return error;
}

/// The temporary folder, for the one thing that a signal handler may do with
/// it.
static char folderOnSignal[PATH_MAX];

/// LLVM has removed the files by then.
static void removeFolderOnSignal() {
  rmdir(folderOnSignal);
  _exit(130);
}

static StringRef withoutSlash(StringRef path) {
  while (path.size() > 1 && path.ends_with("/"))
    path = path.drop_back();
  return path;
}

Error OutputFolder::check(StringRef path) {
  path = withoutSlash(path);
  struct stat status;
  std::string folder = path.str();
  if (stat(folder.c_str(), &status) != 0)
    folder = parentOf(path);
  else if (!S_ISDIR(status.st_mode))
    return llvm::createStringError("cannot write to " + path +
                                   ": it is not a folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return systemError("create a folder in", folder);
  return Error::success();
}

llvm::Expected<std::unique_ptr<OutputFolder>>
OutputFolder::create(StringRef path) {
  path = withoutSlash(path);
  std::unique_ptr<OutputFolder> folder(new OutputFolder);
  folder->path = path.str();
  struct stat status;
  folder->isNew = stat(folder->path.c_str(), &status) != 0;
  // On the same file system, so that rename() works.
  std::string pattern = folder->isNew ? folder->path + ".tmpXXXXXX"
                                      : folder->path + "/.steepcXXXXXX";
  if (!mkdtemp(&pattern[0]))
    return systemError("create a folder in",
                       folder->isNew ? parentOf(path) : path);
  folder->temporary = pattern;
  if (pattern.size() < sizeof folderOnSignal) {
    std::strcpy(folderOnSignal, pattern.c_str());
    llvm::sys::SetInterruptFunction(removeFolderOnSignal);
  }
  return folder;
}

OutputFolder::~OutputFolder() {
  llvm::sys::SetInterruptFunction(nullptr);
  if (temporary.empty())
    return;
  for (const std::string &name : files) {
    unlink(temporaryPath(name).c_str());
    llvm::sys::DontRemoveFileOnSignal(temporaryPath(name));
  }
  rmdir(temporary.c_str());
}

std::string OutputFolder::temporaryPath(StringRef name) const {
  return temporary + "/" + name.str();
}

std::string OutputFolder::announce(StringRef name) {
  files.push_back(name.str());
  llvm::sys::RemoveFileOnSignal(temporaryPath(name));
  return temporaryPath(name);
}

Error OutputFolder::write(StringRef name, StringRef bytes) {
  return writeSynced(announce(name), bytes);
}

Error OutputFolder::sync(StringRef name) {
  if (!syncPath(temporaryPath(name)))
    return systemError("sync", temporaryPath(name));
  return Error::success();
}

void OutputFolder::retire(StringRef name) { retired.push_back(name.str()); }

Error OutputFolder::commit() {
  for (const std::string &name : files)
    llvm::sys::DontRemoveFileOnSignal(temporaryPath(name));
  if (isNew) {
    // mkdtemp() makes a private folder; an output folder is like any other.
    mode_t mask = umask(0);
    umask(mask);
    if (chmod(temporary.c_str(), 0777 & ~mask) != 0 || !syncPath(temporary) ||
        rename(temporary.c_str(), path.c_str()) != 0)
      return systemError("create", path);
    temporary.clear();
    syncPath(parentOf(path));
    return Error::success();
  }
  for (const std::string &name : retired)
    if (!llvm::is_contained(files, name))
      unlink((path + "/" + name).c_str());
  for (const std::string &name : files)
    if (rename(temporaryPath(name).c_str(), (path + "/" + name).c_str()) != 0)
      return systemError("create", path + "/" + name);
  syncPath(path);
  return Error::success();
}

} // namespace steepc
