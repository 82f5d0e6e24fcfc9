# Functions every room uses, so that flags are set once.

# Warnings and include paths that every target of the project has. Headers are
# named from the root of the tree: "runtime/Core/Tensor.h".
add_library(steep_flags INTERFACE)
target_compile_options(steep_flags INTERFACE -Wall -Wextra)
target_include_directories(steep_flags INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
# Generated headers are not ours to fix: no warnings from them.
target_include_directories(steep_flags SYSTEM INTERFACE ${PROJECT_BINARY_DIR})
if(STEEP_SANITIZE)
  target_compile_options(steep_flags INTERFACE
    -fsanitize=${STEEP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(steep_flags INTERFACE -fsanitize=${STEEP_SANITIZE})
endif()

# steep_library(NAME source... [DEPENDS target...] [LINK library...])
function(steep_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC steep_flags ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# steep_tool(NAME source... [LINK library...]): a program in build/bin.
function(steep_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE steep_flags ${ARG_LINK})
  # A tool reads its arguments and calls libraries; optimising CLI11's
  # templates any further costs minutes of a build.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_property(GLOBAL APPEND PROPERTY STEEP_TOOLS ${name})
endfunction()

# steep_unit_test(NAME source... [LINK library...]): a GoogleTest program that
# ctest runs. STEEP_TEST_DATA is the folder test/Unit/<room>/Inputs.
function(steep_unit_test name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE steep_flags ${ARG_LINK} GTest::gtest_main)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_compile_definitions(${name} PRIVATE
    STEEP_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/Inputs")
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unit)
  add_test(NAME ${name} COMMAND ${name})
  # A skip inside of a program that passes would be seen by nobody.
  set_tests_properties(${name} PROPERTIES
    TIMEOUT 1500 FAIL_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
  set_property(GLOBAL APPEND PROPERTY STEEP_UNIT_TESTS ${name})
endfunction()
