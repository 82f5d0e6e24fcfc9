//===- ChildProcess.cpp - running another program -------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/ChildProcess.h"

#include "runtime/Core/Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace steep {

/// Reads to the end, also past what is kept: a full pipe would stop the child.
static std::string drain(int fd) {
  constexpr std::size_t longest = 1 << 20;
  std::string kept;
  char buffer[4096];
  for (;;) {
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return kept;
    kept.append(buffer, static_cast<std::size_t>(n));
    if (kept.size() > longest)
      kept.resize(longest);
  }
}

ChildResult runChild(const std::string &program,
                     const std::vector<std::string> &arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    fail("cannot start {}: {}", quote(program), std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
                                   O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<char *> argv = {const_cast<char *>(program.c_str())};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child;
  int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr,
                            argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error) {
    ::close(ends[0]);
    fail("cannot start {}: {}", quote(program), std::strerror(error));
  }
  ChildResult result;
  result.errors = drain(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      fail("cannot wait for {}: {}", quote(program), std::strerror(errno));
  if (WIFSIGNALED(status))
    result.signal = WTERMSIG(status);
  else
    result.exitStatus = WEXITSTATUS(status);
  return result;
}

std::string programBeside(const std::string &name) {
  std::error_code error;
  std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    fail("cannot find this program's folder: {}", error.message());
  return (self.parent_path() / name).string();
}

} // namespace steep
