//===- Ptxas.cpp - from PTX to machine code -------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Ptxas.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SHA256.h"

#include <cstdlib>

using namespace llvm;

namespace steepc {

static std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

//===----------------------------------------------------------------------===//
// The toolkit
//===----------------------------------------------------------------------===//

/// Folders to look in; STEEP_CUDA, where it is set, is the only one.
static SmallVector<std::string> toolkits() {
  if (std::getenv("STEEP_CUDA"))
    return {environment("STEEP_CUDA")};
  std::string program = sys::fs::getMainExecutable(nullptr, nullptr);
  SmallString<128> beside(sys::path::parent_path(program));
  sys::path::append(beside, "..", "cuda");
  return {beside.str().str(), environment("CUDA_HOME"),
          environment("CUDA_PATH")};
}

std::string findInToolkit(StringRef file) {
  for (const std::string &folder : toolkits()) {
    if (folder.empty())
      continue;
    SmallString<128> path(folder);
    sys::path::append(path, file);
    if (sys::fs::exists(path))
      return path.str().str();
  }
  return "";
}

/// Runs a program; what it prints is left in `output`.
static int runProgram(ArrayRef<std::string> arguments, std::string &output) {
  SmallString<128> log;
  int file;
  if (sys::fs::createTemporaryFile("steep-ptxas", "log", file, log))
    return -1;
  sys::fs::closeFile(file);
  FileRemover remove(log);
  SmallVector<StringRef> list(arguments.begin(), arguments.end());
  StringRef path = log;
  std::string problem;
  int status = sys::ExecuteAndWait(arguments[0], list, std::nullopt,
                                   {StringRef(""), path, path}, 0, 0, &problem);
  if (auto text = MemoryBuffer::getFile(log))
    output = (*text)->getBuffer().str();
  if (status && output.empty())
    output = problem;
  return status;
}

std::optional<Ptxas> findPtxas() {
  Ptxas ptxas{findInToolkit("bin/ptxas"), ""};
  if (ptxas.program.empty() && !std::getenv("STEEP_CUDA"))
    if (auto found = sys::findProgramByName("ptxas"))
      ptxas.program = *found;
  if (ptxas.program.empty())
    return std::nullopt;
  std::string text;
  if (runProgram({ptxas.program, "--version"}, text) != 0)
    return std::nullopt;
  // "Cuda compilation tools, release 13.0, V13.0.88"
  StringRef version = StringRef(text).rsplit(", V").second;
  ptxas.version = version.split('\n').first.trim().str();
  return ptxas;
}

//===----------------------------------------------------------------------===//
// The log
//===----------------------------------------------------------------------===//

/// The number before `words` in a line of comma-separated facts.
static int64_t numberBefore(StringRef line, StringRef words) {
  SmallVector<StringRef> facts;
  line.split(facts, ',');
  for (StringRef fact : facts) {
    fact = fact.trim();
    fact.consume_front("Used ");
    int64_t number;
    if (!fact.consumeInteger(10, number) && fact.trim() == words)
      return number;
  }
  return 0;
}

std::vector<KernelResources> parsePtxasLog(StringRef log) {
  std::vector<KernelResources> kernels;
  SmallVector<StringRef> lines;
  log.split(lines, '\n');
  for (StringRef line : lines) {
    if (line.contains("Compiling entry function '")) {
      kernels.emplace_back();
      kernels.back().name = line.split('\'').second.split('\'').first.str();
    }
    if (kernels.empty())
      continue;
    KernelResources &kernel = kernels.back();
    if (line.contains("bytes spill stores")) {
      kernel.stackBytes = numberBefore(line, "bytes stack frame");
      kernel.spillStores = numberBefore(line, "bytes spill stores");
      kernel.spillLoads = numberBefore(line, "bytes spill loads");
    }
    StringRef facts = line.split(" : ").second.trim();
    if (facts.starts_with("Used ")) {
      kernel.registers = numberBefore(facts, "registers");
      kernel.sharedBytes = numberBefore(facts, "bytes smem");
    }
  }
  return kernels;
}

//===----------------------------------------------------------------------===//
// The cache
//===----------------------------------------------------------------------===//

static std::string digest(ArrayRef<StringRef> parts) {
  SHA256 hash;
  for (StringRef part : parts) {
    hash.update(std::to_string(part.size()) + ":");
    hash.update(part);
  }
  return toHex(hash.final(), /*LowerCase=*/true);
}

/// The path of an entry without its ending; empty where there is no place.
static std::string cacheEntry(const Ptxas &ptxas, const GPU &gpu,
                              StringRef ptx) {
  std::string folder = environment("XDG_CACHE_HOME");
  if (folder.empty() && !environment("HOME").empty())
    folder = environment("HOME") + "/.cache";
  if (folder.empty())
    return "";
  folder += "/steep/cubin";
  if (sys::fs::create_directories(folder))
    return "";
  return folder + "/" + digest({"1", ptxas.version, gpu.name, ptx});
}

static std::string readFile(const Twine &path) {
  auto buffer = MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// Reads an entry; a log without the cubin's digest is not whole.
static bool readEntry(const std::string &entry, Cubin &cubin,
                      std::string &log) {
  cubin.bytes = readFile(entry + ".cubin");
  log = readFile(entry + ".log");
  return !cubin.bytes.empty() &&
         StringRef(log).contains("sha256 " + digest({cubin.bytes}));
}

/// The log comes last: with it an entry is whole. A cache that cannot be
/// written is as good as none.
static void writeEntry(const std::string &entry, const Cubin &cubin,
                       StringRef log) {
  auto write = [](const std::string &path, StringRef bytes) {
    return writeToOutput(path, [&](raw_ostream &out) {
      out << bytes;
      return Error::success();
    });
  };
  if (Error error = write(entry + ".cubin", cubin.bytes)) {
    consumeError(std::move(error));
    return;
  }
  consumeError(write(entry + ".log",
                     (log + "sha256 " + digest({cubin.bytes}) + "\n").str()));
}

//===----------------------------------------------------------------------===//
// Assembling
//===----------------------------------------------------------------------===//

/// The first line of a log that says what went wrong.
static std::string reasonIn(StringRef log) {
  SmallVector<StringRef> lines;
  log.split(lines, '\n', -1, false);
  for (StringRef line : lines)
    if (line.contains("error") || line.contains("fatal"))
      return line.str();
  return lines.empty() ? "it gave no reason" : lines.front().str();
}

static Expected<Cubin> runPtxas(const Ptxas &ptxas, const GPU &gpu,
                                StringRef ptx, StringRef name,
                                std::string &log) {
  SmallString<128> folder;
  if (std::error_code code =
          sys::fs::createUniqueDirectory("steep-ptxas", folder))
    return createStringError("cannot create a temporary folder: " +
                             code.message());
  std::string input = (folder + "/" + name + ".ptx").str();
  std::string output = (folder + "/" + name + ".cubin").str();
  auto cleanUp = scope_exit([&] { sys::fs::remove_directories(folder); });
  if (Error error = writeToOutput(input, [&](raw_ostream &out) {
        out << ptx;
        return Error::success();
      }))
    return error;
  std::string architecture = "-arch=" + gpu.name;
  int status = runProgram(
      {ptxas.program, "-v", "-O3", architecture, "-o", output, input}, log);
  Cubin cubin;
  cubin.bytes = status ? "" : readFile(output);
  if (!cubin.bytes.empty())
    return cubin;
  cleanUp.release();
  return createStringError("ptxas failed for " + gpu.name + ": " +
                           reasonIn(log) +
                           "; to see it again: " + ptxas.program + " -v -O3 " +
                           architecture + " -o /dev/null " + input);
}

Expected<Cubin> assemble(const Ptxas &ptxas, const GPU &gpu, StringRef ptx,
                         StringRef name) {
  std::string entry = cacheEntry(ptxas, gpu, ptx), log;
  Cubin cubin;
  if (entry.empty() || !readEntry(entry, cubin, log)) {
    Expected<Cubin> made = runPtxas(ptxas, gpu, ptx, name, log);
    if (!made)
      return made.takeError();
    cubin = std::move(*made);
    if (!entry.empty())
      writeEntry(entry, cubin, log);
  }
  cubin.kernels = parsePtxasLog(log);
  return cubin;
}

} // namespace steepc
