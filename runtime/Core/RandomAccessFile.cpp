//===- RandomAccessFile.cpp - a file read at any place --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/RandomAccessFile.h"

#include "runtime/Core/Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace steep {

RandomAccessFile::RandomAccessFile(const std::string &path) : path(path) {
  // O_NONBLOCK: opening a pipe that nobody writes must not wait.
  descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    fail("cannot read {}: {}", quote(path), std::strerror(errno));
  struct stat status;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    fail("cannot read {}: it is not a regular file", quote(path));
  }
  bytes = static_cast<uint64_t>(status.st_size);
}

RandomAccessFile::~RandomAccessFile() { ::close(descriptor); }

void RandomAccessFile::read(void *to, uint64_t count, uint64_t offset) const {
  char *next = static_cast<char *>(to);
  while (count) {
    ssize_t n = ::pread(descriptor, next, count, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      fail("cannot read {}: {}", quote(path), std::strerror(errno));
    if (n == 0)
      fail("cannot read {}: it became shorter while it was read", quote(path));
    next += n;
    offset += static_cast<uint64_t>(n);
    count -= static_cast<uint64_t>(n);
  }
}

} // namespace steep
