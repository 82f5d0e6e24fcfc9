//===- Child.cpp - work that may abort, in a process of its own -----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Child.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;

namespace steepc {

/// Everything of an anonymous file.
static std::string readAll(int file) {
  std::string bytes;
  off_t size = lseek(file, 0, SEEK_END);
  if (size <= 0)
    return bytes;
  bytes.resize(size_t(size));
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = pread(file, &bytes[done], bytes.size() - done, off_t(done));
    if (got <= 0)
      return std::string();
    done += size_t(got);
  }
  return bytes;
}

/// The line of the child's output that says what went wrong.
static std::string reasonIn(StringRef log, int status) {
  SmallVector<StringRef> lines;
  log.split(lines, '\n', -1, false);
  for (StringRef line : lines)
    if (line.consume_front("LLVM ERROR: ") || line.consume_front("error: "))
      return line.str();
  if (!lines.empty())
    return lines.front().str();
  if (WIFSIGNALED(status))
    return std::string("it ended with ") + strsignal(WTERMSIG(status));
  return "it failed without a message";
}

[[noreturn]] static void runChild(function_ref<bool(raw_pwrite_stream &)> work,
                                  int result, int log) {
  // The parent reports; a handler of the parent must not run here.
  for (int signal : {SIGABRT, SIGSEGV, SIGILL, SIGBUS, SIGFPE})
    std::signal(signal, SIG_DFL);
  dup2(log, STDERR_FILENO);
  dup2(log, STDOUT_FILENO);
  bool good;
  {
    raw_fd_ostream out(result, /*shouldClose=*/false);
    good = work(out);
    out.flush();
    good = good && !out.has_error();
    out.clear_error();
  }
  _exit(good ? 0 : 1);
}

Expected<std::string> runInChild(StringRef cpu,
                                 function_ref<bool(raw_pwrite_stream &)> work) {
  int result = memfd_create("steep-code", MFD_CLOEXEC);
  int log = memfd_create("steep-log", MFD_CLOEXEC);
  scope_exit close([&] {
    ::close(result);
    ::close(log);
  });
  if (result < 0 || log < 0)
    return createStringError("cannot create a temporary file: " +
                             Twine(strerror(errno)));
  outs().flush();
  errs().flush();
  pid_t child = fork();
  if (child < 0)
    return createStringError("cannot start a child process: " +
                             Twine(strerror(errno)));
  if (child == 0)
    runChild(work, result, log);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return createStringError("lost the code generator's process");
  if (status != 0)
    return createStringError("LLVM cannot generate code for " + cpu + ": " +
                             reasonIn(readAll(log), status));
  std::string code = readAll(result);
  if (code.empty())
    return createStringError("LLVM generated no code for " + cpu);
  return code;
}

} // namespace steepc
