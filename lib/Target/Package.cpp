//===- Package.cpp - how build systems find an artefact -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Package.h"

#include "llvm/ADT/StringRef.h"

#include <utility>

using namespace llvm;

namespace steepc {

/// `text` with @NAME@ and @VERSION@ filled in. NAME is an identifier of C.
static std::string fill(StringRef text, StringRef name) {
  std::string result;
  while (!text.empty()) {
    auto [before, rest] = text.split('@');
    result += before;
    auto [key, after] = rest.split('@');
    if (key == "NAME")
      result += name;
    else if (key == "VERSION")
      result += STEEP_VERSION;
    text = after;
  }
  return result;
}

std::string writePkgConfig(const Plan &plan, bool hasLibrary) {
  StringRef libs = hasLibrary ? "Libs: -L${pcfiledir} -l@NAME@\n"
                                "Libs.private: -lm -lpthread\n"
                              : "Libs: ${pcfiledir}/@NAME@.o -lm -lpthread\n";
  return fill("# Written by steepc; the folder may be moved.\n"
              "Name: @NAME@\n"
              "Description: the optimizer '@NAME@'\n"
              "Version: @VERSION@\n"
              "Cflags: -I${pcfiledir}\n" +
                  libs.str(),
              plan.name);
}

std::string writeCMakePackage(const Plan &plan, bool hasLibrary) {
  std::string text = R"(# Written by steepc; the folder may be moved. Targets:
#   @NAME@::@NAME@          the optimizer, as a shared library where there is one
#   @NAME@::@NAME@_static   the same, linked statically
if(NOT TARGET @NAME@::@NAME@_static)
  add_library(@NAME@::@NAME@_static INTERFACE IMPORTED)
  set_target_properties(@NAME@::@NAME@_static PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}"
    INTERFACE_LINK_LIBRARIES "${CMAKE_CURRENT_LIST_DIR}/@NAME@.o;m;pthread")
)";
  if (hasLibrary)
    text += R"(  add_library(@NAME@::@NAME@ SHARED IMPORTED)
  set_target_properties(@NAME@::@NAME@ PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}"
    IMPORTED_LOCATION "${CMAKE_CURRENT_LIST_DIR}/lib@NAME@.so"
    IMPORTED_SONAME lib@NAME@.so)
endif()
)";
  else
    text += R"(  add_library(@NAME@::@NAME@ ALIAS @NAME@::@NAME@_static)
endif()
)";
  return fill(text, plan.name);
}

} // namespace steepc
