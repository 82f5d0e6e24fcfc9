//===- Linker.cpp - from an object to a shared library --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Linker.h"

#include "lib/Target/Program.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace llvm;

namespace steepc {

std::optional<Linker> findLinker() {
  if (auto cc = sys::findProgramByName("cc"))
    return Linker{*cc, true};
  if (auto lld = sys::findProgramByName("ld.lld-22"))
    return Linker{*lld, false};
  return std::nullopt;
}

/// libc and libm, for a linker that does not know where they are. Without them
/// the library loads all the same, into a program that has both.
static void addSystemLibraries(std::vector<std::string> &arguments) {
  static const char *const folders[] = {"/lib/x86_64-linux-gnu",
                                        "/usr/lib/x86_64-linux-gnu", "/lib64",
                                        "/usr/lib64"};
  for (const char *file : {"libm.so.6", "libc.so.6"})
    for (const char *folder : folders) {
      std::string path = std::string(folder) + "/" + file;
      if (!sys::fs::exists(path))
        continue;
      arguments.push_back(path);
      break;
    }
}

Error linkLibrary(const Linker &linker, StringRef object, StringRef library) {
  std::string soname = sys::path::filename(library).str();
  std::vector<std::string> arguments = {linker.program, "-shared", "-o",
                                        library.str()};
  if (linker.isCompiler) {
    for (std::string option :
         {std::string("-Wl,-soname,") + soname, std::string("-Wl,-z,defs"),
          std::string("-Wl,-z,noexecstack"), std::string("-Wl,--as-needed"),
          std::string("-Wl,--build-id=none")})
      arguments.push_back(option);
    arguments.push_back(object.str());
    arguments.push_back("-lm");
  } else {
    for (const char *option : {"-soname", soname.c_str(), "-z", "noexecstack",
                               "--as-needed", "--build-id=none"})
      arguments.push_back(option);
    arguments.push_back(object.str());
    addSystemLibraries(arguments);
  }
  ProgramResult result = runProgram(arguments, /*seconds=*/0);
  if (result.status == 0)
    return Error::success();
  std::string problem = result.reason;
  if (problem.empty())
    problem = StringRef(result.output).trim().split('\n').first.str();
  return createStringError("the linker " + linker.program +
                           " failed with status " + Twine(result.status) +
                           ": " + problem);
}

} // namespace steepc
