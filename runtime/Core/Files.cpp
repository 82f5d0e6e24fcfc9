//===- Files.cpp - files that are whole or absent -------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Files.h"

#include "runtime/Core/Error.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace steep {

namespace {
/// A descriptor that closes itself.
struct Descriptor {
  int fd;
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
};
} // namespace

static std::string reason() { return std::strerror(errno); }

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

std::string readFile(const std::string &path, std::size_t limit) {
  // O_NONBLOCK: opening a pipe that nobody writes must not wait.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (file.fd < 0 || ::fstat(file.fd, &status) != 0)
    fail("cannot read {}: {}", quote(path), reason());
  if (!S_ISREG(status.st_mode))
    fail("cannot read {}: it is not a regular file", quote(path));
  if (static_cast<uint64_t>(status.st_size) > limit)
    fail("cannot read {}: it has {} bytes, and at most {} are expected",
         quote(path), status.st_size, limit);
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    ssize_t n = ::read(file.fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      fail("cannot read {}: {}", quote(path), reason());
    if (n == 0)
      break;
    done += static_cast<std::size_t>(n);
  }
  // Files of /proc say 0 bytes, and a file may shrink while it is read.
  bytes.resize(done);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// A name beside `path` that nobody else has: process and count make it so.
static std::string temporaryName(const fs::path &path) {
  static std::atomic<unsigned> counter{0};
  fs::path name = fmt::format(".{}.tmp-{}-{}", path.filename().string(),
                              ::getpid(), counter++);
  return (path.parent_path() / name).string();
}

static void syncPath(const std::string &path, int flags) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  // Some file systems cannot sync folders; that is no error of ours.
  if (file.fd < 0 || (::fsync(file.fd) != 0 && errno != EINVAL))
    fail("cannot sync {}: {}", quote(path), reason());
}

static void syncParent(const fs::path &path) {
  fs::path parent = path.parent_path();
  syncPath(parent.empty() ? "." : parent.string(), O_DIRECTORY);
}

/// Where writing to `path` must go: the file a link refers to. Renaming over a
/// device or a folder is refused.
static fs::path writableTarget(const std::string &path) {
  std::error_code ignored;
  fs::path target = path;
  if (target.filename().empty())
    fail("cannot write {}: it does not name a file", quote(path));
  if (fs::is_symlink(target, ignored)) {
    fs::path real = fs::weakly_canonical(target, ignored);
    if (!ignored)
      target = real;
  }
  fs::file_status status = fs::status(target, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status))
    fail("cannot write {}: it is there and is not a regular file", quote(path));
  return target;
}

static void writeAll(int fd, const void *data, std::size_t size,
                     const std::string &path) {
  const char *bytes = static_cast<const char *>(data);
  while (size) {
    ssize_t n = ::write(fd, bytes, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      fail("cannot write {}: {}", quote(path), reason());
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
}

void writeFile(
    const std::string &path,
    const std::function<void(
        const std::function<void(const void *, std::size_t)> &)> &produce) {
  fs::path target = writableTarget(path);
  std::string temporary = temporaryName(target);
  Descriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.fd < 0)
    fail("cannot write {}: {}", quote(path), reason());
  try {
    produce([&](const void *data, std::size_t size) {
      writeAll(file.fd, data, size, path);
    });
    if (::fsync(file.fd) != 0 ||
        ::rename(temporary.c_str(), target.c_str()) != 0)
      fail("cannot write {}: {}", quote(path), reason());
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  syncParent(target);
}

void writeFile(const std::string &path, const std::string &bytes) {
  writeFile(path,
            [&](const auto &append) { append(bytes.data(), bytes.size()); });
}

/// Renames and never replaces, where the file system can promise that.
static bool renameFresh(const std::string &from, const std::string &to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                  RENAME_NOREPLACE) == 0)
    return true;
  if (errno != EINVAL && errno != ENOSYS)
    return false;
  struct stat status;
  if (::lstat(to.c_str(), &status) == 0) {
    errno = EEXIST;
    return false;
  }
  return ::rename(from.c_str(), to.c_str()) == 0;
}

/// A message about what was to become `path`, under the name that it gets.
static std::string inWordsOf(std::string message, const std::string &temporary,
                             const std::string &path) {
  for (std::size_t at = message.find(temporary); at != std::string::npos;
       at = message.find(temporary, at + path.size()))
    message.replace(at, temporary.size(), path);
  return message;
}

void writeFolder(const std::string &path,
                 const std::function<void(const std::string &)> &fill) {
  fs::path target = fs::path(path);
  if (target.filename().empty())
    target = target.parent_path();
  std::string temporary = temporaryName(target);
  if (::mkdir(temporary.c_str(), 0777) != 0)
    fail("cannot make folder {}: {}", quote(path), reason());
  try {
    fill(temporary);
    for (const fs::directory_entry &entry :
         fs::recursive_directory_iterator(temporary))
      syncPath(entry.path().string(), 0);
    syncPath(temporary, O_DIRECTORY);
    if (!renameFresh(temporary, target.string()))
      fail("cannot make folder {}: {}", quote(path), reason());
  } catch (const Error &error) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    fail("{}", inWordsOf(error.what(), temporary, target.string()));
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
  syncParent(target);
}

//===----------------------------------------------------------------------===//
// Remnants
//===----------------------------------------------------------------------===//

/// Takes digits off the end of `text`; none: -1.
static long takeNumber(std::string &text) {
  const std::size_t begin = text.find_last_not_of("0123456789") + 1;
  const std::string digits = text.substr(begin);
  if (digits.empty() || digits.size() > 9)
    return -1;
  text.resize(begin);
  return std::stol(digits);
}

static bool takeSuffix(std::string &text, std::string_view suffix) {
  if (text.size() < suffix.size() ||
      text.compare(text.size() - suffix.size(), suffix.size(), suffix) != 0)
    return false;
  text.resize(text.size() - suffix.size());
  return true;
}

std::vector<Remnant> findRemnants(const std::string &folder) {
  std::vector<Remnant> remnants;
  std::error_code ignored;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(folder, ignored)) {
    // As temporaryName makes it: .NAME.tmp-PROCESS-COUNT
    std::string name = entry.path().filename().string();
    if (takeNumber(name) < 0 || !takeSuffix(name, "-"))
      continue;
    const long process = takeNumber(name);
    if (process <= 0 || !takeSuffix(name, ".tmp-") || name.size() < 2 ||
        name[0] != '.')
      continue;
    const bool lives =
        process != ::getpid() &&
        (::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH);
    if (!lives)
      remnants.push_back({entry.path().string(), name.substr(1)});
  }
  std::sort(remnants.begin(), remnants.end(),
            [](const Remnant &a, const Remnant &b) { return a.path < b.path; });
  return remnants;
}

} // namespace steep
