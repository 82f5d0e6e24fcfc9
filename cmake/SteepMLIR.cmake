# MLIR of Debian's LLVM 22 packages, and functions for dialects and passes.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
# add_mlir_doc writes below MLIR_BINARY_DIR, which Debian leaves empty.
set(MLIR_BINARY_DIR ${PROJECT_BINARY_DIR})
find_program(MLIR_TABLEGEN_EXE mlir-tblgen HINTS ${LLVM_TOOLS_BINARY_DIR} NO_CACHE)
include(TableGen)
include(AddLLVM)
include(AddMLIR)
# mlir_tablegen reads the directories' include path, not the targets'.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR})
# The host code of an artefact is compiled to bitcode by this clang.
find_program(STEEP_CLANG clang-22 clang HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)

add_library(steep_mlir INTERFACE)
target_include_directories(steep_mlir SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
# Only the shared library: mixing it with static archives gives two copies of
# every type id. libLLVM.so is what libMLIR.so itself uses.
target_link_libraries(steep_mlir INTERFACE steep_flags MLIR LLVM)
target_compile_options(steep_mlir INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-unused-parameter>)

# Parsing MLIR's headers once saves two thirds of the build.
file(WRITE ${PROJECT_BINARY_DIR}/MLIRHeaders.cpp "")
add_library(steep_mlir_headers STATIC ${PROJECT_BINARY_DIR}/MLIRHeaders.cpp)
target_link_libraries(steep_mlir_headers PRIVATE steep_mlir)
target_precompile_headers(steep_mlir_headers PRIVATE
  $<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/MLIRHeaders.h>)

# steep_mlir_library(NAME source... [DEPENDS tablegen-target...] [LINK library...])
function(steep_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  steep_library(${name} ${ARG_UNPARSED_ARGUMENTS}
    DEPENDS ${ARG_DEPENDS} LINK steep_mlir ${ARG_LINK})
  target_precompile_headers(${name} REUSE_FROM steep_mlir_headers)
endfunction()
