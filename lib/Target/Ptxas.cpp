//===- Ptxas.cpp - from PTX to machine code -------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Ptxas.h"

#include "lib/Target/Program.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
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

/// The first line that says what went wrong.
static std::string reasonOf(const ProgramResult &run) {
  if (!run.reason.empty())
    return run.reason;
  SmallVector<StringRef> lines;
  StringRef(run.output).split(lines, '\n', -1, false);
  for (StringRef line : lines)
    if (line.contains("error") || line.contains("fatal"))
      return line.str();
  return lines.empty() ? "it gave no reason" : lines.front().str();
}

//===----------------------------------------------------------------------===//
// The toolkit
//===----------------------------------------------------------------------===//

/// The toolkit that STEEP_CUDA asks for; empty where it does not.
static std::string chosenToolkit() { return environment("STEEP_CUDA"); }

/// Folders to look in; STEEP_CUDA, where it is set, is the only one.
static SmallVector<std::string> toolkits() {
  if (std::string chosen = chosenToolkit(); chosen == noToolkit)
    return {};
  else if (!chosen.empty())
    return {chosen};
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

/// The path of ptxas; empty where there is none and none was asked for.
static Expected<std::string> locatePtxas() {
  constexpr StringLiteral place = "bin/ptxas";
  std::string chosen = chosenToolkit(), found = findInToolkit(place);
  if (chosen == noToolkit)
    return "";
  if (!chosen.empty()) {
    StringRef problem = !sys::fs::is_directory(chosen) ? "is no folder"
                        : found.empty()                ? "has no bin/ptxas"
                        : !sys::fs::can_execute(found)
                            ? "has a bin/ptxas that is not executable"
                            : "";
    if (problem.empty())
      return found;
    return createStringError("STEEP_CUDA: expected a folder with an executable "
                             "bin/ptxas, or 'none' to do without; '" +
                             chosen + "' " + problem);
  }
  if (sys::fs::can_execute(found))
    return found;
  if (auto inPath = sys::findProgramByName("ptxas"))
    return *inPath;
  return "";
}

/// STEEP_PTXAS_SECONDS; a large kernel takes some seconds.
static Expected<unsigned> readTimeLimit() {
  std::string text = environment("STEEP_PTXAS_SECONDS");
  unsigned seconds = 600;
  if (!text.empty() &&
      (StringRef(text).getAsInteger(10, seconds) || seconds == 0))
    return createStringError(
        "STEEP_PTXAS_SECONDS: expected a number of seconds from 1, got '" +
        text + "'");
  return seconds;
}

Expected<std::optional<Ptxas>> findPtxas() {
  Expected<std::string> program = locatePtxas();
  if (!program)
    return program.takeError();
  if (program->empty())
    return std::nullopt;
  Expected<unsigned> seconds = readTimeLimit();
  if (!seconds)
    return seconds.takeError();
  ProgramResult run = runProgram({*program, "--version"}, *seconds);
  if (run.status != 0)
    return createStringError(*program + " --version failed: " + reasonOf(run) +
                             "; STEEP_CUDA names another toolkit, or 'none' to "
                             "do without");
  // "Cuda compilation tools, release 13.0, V13.0.88"
  StringRef version = StringRef(run.output).rsplit(", V").second;
  return Ptxas{*program, version.split('\n').first.trim().str(), *seconds};
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

static bool isCubin(StringRef bytes) { return bytes.starts_with("\177ELF"); }

/// Reads an entry; a log without the cubin's digest is not whole.
static bool readEntry(const std::string &entry, Cubin &cubin,
                      std::string &log) {
  cubin.bytes = readFile(entry + ".cubin");
  log = readFile(entry + ".log");
  return isCubin(cubin.bytes) &&
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

static Expected<Cubin> runPtxas(const Ptxas &ptxas, const GPU &gpu,
                                StringRef ptx, StringRef name,
                                std::string &log) {
  TemporaryFile input("steep-" + name, "ptx"), output("steep-" + name, "cubin");
  if (std::error_code code = input.code ? input.code : output.code)
    return createStringError("cannot create a temporary file: " +
                             code.message());
  if (Error error = writeToOutput(input.path, [&](raw_ostream &out) {
        out << ptx;
        return Error::success();
      }))
    return error;
  std::string architecture = "-arch=" + gpu.name;
  ProgramResult run =
      runProgram({ptxas.program, "-v", "-O3", architecture, "-o",
                  output.path.str().str(), input.path.str().str()},
                 ptxas.seconds);
  log = run.output;
  Cubin cubin;
  cubin.bytes = readFile(output.path);
  if (run.status == 0 && isCubin(cubin.bytes))
    return cubin;
  input.keep();
  std::string reason = reasonOf(run);
  if (run.status == 0)
    reason = cubin.bytes.empty()
                 ? "it wrote nothing"
                 : "it wrote " + std::to_string(cubin.bytes.size()) +
                       " bytes that are no ELF file";
  return createStringError("ptxas failed for " + gpu.name + ": " + reason +
                           "; to see it again: " + ptxas.program + " -v -O3 " +
                           architecture + " -o /dev/null " + input.path.str());
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
