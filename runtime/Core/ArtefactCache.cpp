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
// The time of an entry is that of its last use. Whoever adds one removes the
// oldest beyond the limit, each under its lock and with it.
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Artefact.h"

#include "runtime/Core/ChildProcess.h"
#include "runtime/Core/CpuFeatures.h"
#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Core/Sha256.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace fs = std::filesystem;

namespace steep {

static std::string cacheFolder(const CompileRequest &request) {
  std::string folder = request.cache;
  const char *xdg = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (folder.empty() && xdg && *xdg == '/') // relative ones are to be ignored
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

static std::string signatureOf(const std::string &file) {
  struct stat status;
  if (::stat(file.c_str(), &status) != 0)
    return "";
  return fmt::format("{} {} {}.{}", file, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

/// The assembler for GPUs that steepc finds (lib/Target/Ptxas.h says where):
/// which one, or that there is none, decides what is in an artefact.
static std::string toolkitSignature(const std::string &compiler) {
  std::vector<std::string> folders;
  auto add = [&](const char *variable, const char *folder) {
    if (const char *value = std::getenv(variable))
      folders.push_back(std::string(value) + folder);
  };
  const char *chosen = std::getenv("STEEP_CUDA");
  if (chosen && *chosen) {
    if (std::string(chosen) != "none")
      add("STEEP_CUDA", "/bin");
  } else {
    folders.push_back(
        (fs::path(compiler).parent_path() / "../cuda/bin").string());
    add("CUDA_HOME", "/bin");
    add("CUDA_PATH", "/bin");
    std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
    for (std::string folder; std::getline(path, folder, ':');)
      folders.push_back(folder);
  }
  for (const std::string &folder : folders)
    if (std::string found = signatureOf(folder + "/ptxas"); !found.empty())
      return found;
  // A folder without it is refused by steepc, whatever was compiled before.
  return std::string("no ptxas ") + (chosen ? chosen : "");
}

/// Each part with its length, so that no two requests give one text.
static std::string cacheKey(const CompileRequest &request,
                            const std::string &spec,
                            const std::string &compiler) {
  const std::string program = signatureOf(compiler);
  if (program.empty())
    fail("cannot compile {}: there is no steepc at {}", quote(request.spec),
         quote(compiler));
  std::vector<std::string> parts = {"cache format 2", spec, request.parameters,
                                    request.target, program};
  if (request.target.rfind("native", 0) == 0)
    parts.push_back(cpuSignature());
  if (request.target.find("sm_") != std::string::npos)
    parts.push_back(toolkitSignature(compiler));
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

static void replaceAll(std::string &text, const std::string &from,
                       const std::string &to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// The message of a compiler that failed: its first line with an error, else
/// its last line; in the words of whoever asked, who knows no params.json.
static std::string messageIn(const std::string &errors,
                             const CompileRequest &request,
                             const std::string &parameters) {
  std::istringstream lines(errors);
  std::string line, last = "it gave no reason";
  while (std::getline(lines, line)) {
    if (!line.empty())
      last = line;
    if (line.find("error:") != std::string::npos)
      break;
  }
  replaceAll(last, parameters, request.parametersName);
  for (const auto &[flag, name] : request.flagNames)
    replaceAll(last, flag, name);
  return last;
}

static void compile(const CompileRequest &request, const std::string &compiler,
                    const std::string &folder) {
  const std::string parameters = folder + "/params.json";
  writeFile(parameters, request.parameters);
  std::vector<std::string> arguments = {
      request.spec,   "--params", parameters,          "--target",
      request.target, "-o",       folder + "/artefact"};
  arguments.insert(arguments.end(), request.options.begin(),
                   request.options.end());
  ChildResult result = runChild(compiler, arguments);
  if (result.signal)
    fail("cannot compile {}: steepc was ended by signal {}",
         quote(request.spec), result.signal);
  if (result.exitStatus)
    fail("cannot compile {}: {}", quote(request.spec),
         messageIn(result.errors, request, parameters));
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
  enum Mode { Wait, Try };

  explicit EntryLock(std::string lockPath, Mode mode = Wait)
      : path(std::move(lockPath)) {
    // Who removes an entry removes its lock: what was waited for may be gone.
    do {
      release();
      fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
      if (fd >= 0 && !acquire(mode)) {
        release();
        return;
      }
    } while (fd >= 0 && !isCurrent());
  }
  EntryLock(const EntryLock &) = delete;
  ~EntryLock() { release(); }

  bool isHeld() const { return fd >= 0; }
  void removeFile() { ::unlink(path.c_str()); }

private:
  bool acquire(Mode mode) {
    const int operation = LOCK_EX | (mode == Try ? LOCK_NB : 0);
    while (::flock(fd, operation) != 0)
      if (errno != EINTR)
        return mode == Wait; // no locks here
    return true;
  }
  bool isCurrent() const {
    struct stat held, there;
    return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &there) == 0 &&
           held.st_ino == there.st_ino && held.st_dev == there.st_dev;
  }
  void release() {
    if (fd >= 0)
      ::close(fd);
    fd = -1;
  }

  std::string path;
  int fd = -1;
};

struct Entry {
  fs::path path;
  fs::file_time_type used;
  uint64_t bytes = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// The limit
//===----------------------------------------------------------------------===//

static uint64_t cacheLimit() {
  const char *text = std::getenv("STEEP_CACHE_BYTES");
  if (!text || !*text)
    return defaultCacheBytes;
  const std::string_view digits = text;
  if (digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != std::string_view::npos)
    fail("STEEP_CACHE_BYTES is {}, but a number of bytes is expected",
         quote(digits));
  return std::stoull(text);
}

static bool isKey(const std::string &name) {
  return name.size() == 64 &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

static uint64_t bytesIn(const fs::path &folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; it != end;
       it.increment(error))
    if (it->is_regular_file(error))
      if (const uint64_t size = it->file_size(error); !error)
        bytes += size;
  return bytes;
}

/// The entries of a cache, those that were not used for longest first. Others
/// may come and go meanwhile.
static std::vector<Entry> listEntries(const fs::path &cache) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(cache, error), end; it != end;
       it.increment(error)) {
    if (!isKey(it->path().filename().string()))
      continue;
    std::error_code gone;
    Entry entry{it->path(), fs::last_write_time(it->path(), gone),
                bytesIn(it->path())};
    if (!gone)
      entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.used, a.path) < std::tie(b.used, b.path);
  });
  return entries;
}

/// Removes what was not used for longest until the rest fits. An entry that
/// was used just now stays in any case: whoever asked for it may not have
/// opened it yet.
static void trim(const fs::path &cache) {
  const uint64_t limit = cacheLimit();
  std::vector<Entry> entries = listEntries(cache);
  uint64_t total = 0;
  for (const Entry &entry : entries)
    total += entry.bytes;
  const auto recent = fs::file_time_type::clock::now() - cacheGrace;
  std::error_code ignored;
  for (const Entry &entry : entries) {
    if (total <= limit || entry.used > recent)
      break;
    EntryLock lock(entry.path.string() + ".lock", EntryLock::Try);
    if (!lock.isHeld() || fs::last_write_time(entry.path, ignored) > recent)
      continue;
    fs::remove_all(entry.path, ignored);
    lock.removeFile();
    total -= entry.bytes;
  }
  // What killed runs left. Only who holds the lock of an entry makes one.
  for (const Remnant &remnant : findRemnants(cache.string()))
    if (isKey(remnant.name)) {
      const fs::path entry = cache / remnant.name;
      EntryLock lock(entry.string() + ".lock", EntryLock::Try);
      if (!lock.isHeld())
        continue;
      fs::remove_all(remnant.path, ignored);
      if (!fs::exists(entry, ignored))
        lock.removeFile();
    }
}

//===----------------------------------------------------------------------===//
// Use
//===----------------------------------------------------------------------===//

std::string compileArtefact(const CompileRequest &request) {
  std::string compiler =
      request.compiler.empty() ? programBeside("steepc") : request.compiler;
  std::string spec = readFile(request.spec);
  std::string key = cacheKey(request, spec, compiler);
  const std::string cache = cacheFolder(request), entry = cache + "/" + key;
  cacheLimit(); // a wrong limit is said before work is done
  std::optional<EntryLock> lock(entry + ".lock");
  std::error_code error;
  if (isWhole(entry)) {
    fs::last_write_time(entry, fs::file_time_type::clock::now(), error);
    return entry + "/artefact";
  }
  fs::remove_all(entry, error);
  if (error)
    fail("cannot remove the damaged cache entry {}: {}", quote(entry),
         error.message());
  try {
    writeFolder(entry, [&](const std::string &folder) {
      compile(request, compiler, folder);
      if (readFile(request.spec) != spec)
        fail("cannot compile {}: it changed meanwhile", quote(request.spec));
    });
  } catch (...) {
    lock->removeFile();
    throw;
  }
  lock.reset();
  trim(cache);
  return entry + "/artefact";
}

} // namespace steep
