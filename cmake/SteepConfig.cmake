# find_package(Steep): the compiler for optimizers, and what a trainer builds
# with it.
#
#   Steep::steepc       the compiler
#   Steep_SPEC_DIR      the specs that ship
#   steep_add_optimizer()
get_filename_component(_steep_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET Steep::steepc)
  add_executable(Steep::steepc IMPORTED)
  set_target_properties(Steep::steepc PROPERTIES
    IMPORTED_LOCATION "${_steep_prefix}/bin/steepc")
endif()
set(Steep_SPEC_DIR "${_steep_prefix}/share/steep/specs")

# A file that is neither there nor made by a rule of the project is said at once.
function(steep_check_input name option file)
  get_source_file_property(is_generated "${file}" GENERATED)
  if(NOT EXISTS "${file}" AND NOT is_generated)
    message(FATAL_ERROR
      "steep_add_optimizer(${name}): ${option}: there is no file '${file}'")
  endif()
endfunction()

# steep_add_optimizer(NAME SPEC FILE [PARAMS FILE] [CPU LIST] [SHARED])
#
# Compiles a spec when the project is built, again when the spec or the list of
# parameters changes, and makes the library target NAME: whoever links it
# includes "NAME.h" and calls steep_NAME_step(). NAME is an identifier of C.
#
#   SPEC    a .mlir file, of the project or one that ships (paper.mlir)
#   PARAMS  .json or .safetensors; not for a spec that names its parameters
#   CPU     what steepc's --target takes (default: native)
#   SHARED  link libNAME.so; else NAME.o becomes a part of the program
function(steep_add_optimizer name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "SHARED" "SPEC;PARAMS;CPU" "")
  if(NOT ARG_SPEC)
    message(FATAL_ERROR "steep_add_optimizer(${name}): expected SPEC FILE")
  endif()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "steep_add_optimizer(${name}): expected SPEC, PARAMS, "
      "CPU or SHARED, got '${ARG_UNPARSED_ARGUMENTS}'")
  endif()
  get_filename_component(spec "${ARG_SPEC}" ABSOLUTE)
  if(NOT EXISTS "${spec}" AND EXISTS "${Steep_SPEC_DIR}/${ARG_SPEC}")
    set(spec "${Steep_SPEC_DIR}/${ARG_SPEC}")
  endif()
  steep_check_input(${name} SPEC "${spec}")
  set(options --name ${name})
  set(inputs "${spec}")
  if(ARG_PARAMS)
    get_filename_component(params "${ARG_PARAMS}" ABSOLUTE)
    steep_check_input(${name} PARAMS "${params}")
    list(APPEND options --params "${params}")
    list(APPEND inputs "${params}")
  endif()
  if(ARG_CPU)
    list(APPEND options --target "${ARG_CPU}")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.steep")
  set(object "${folder}/${name}.o")
  set(library "${folder}/lib${name}.so")
  add_custom_command(
    OUTPUT "${object}" "${library}" "${folder}/${name}.h" "${folder}/${name}.json"
    COMMAND Steep::steepc "${spec}" ${options} -o "${folder}"
    DEPENDS ${inputs} Steep::steepc
    COMMENT "Compiling the optimizer ${name}" VERBATIM)
  add_custom_target(${name}_steep DEPENDS "${object}" "${library}" "${folder}/${name}.h")
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_steep)
  target_include_directories(${name} INTERFACE "${folder}")
  if(ARG_SHARED)
    target_link_libraries(${name} INTERFACE "${library}")
  else()
    target_link_libraries(${name} INTERFACE "${object}" m pthread ${CMAKE_DL_LIBS})
  endif()
endfunction()
