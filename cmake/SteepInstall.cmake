# What `cmake --install` puts where. Components: `compiler` (steepc and what a
# trainer needs to compile specs) and `tools` (all other programs).
include(CMakePackageConfigHelpers)
set(steep_package ${PROJECT_BINARY_DIR}/SteepConfigVersion.cmake)
write_basic_package_version_file(${steep_package} COMPATIBILITY SameMajorVersion)

if(STEEP_BUILD_COMPILER)
  # LLVM's libraries stay where they were found.
  set_target_properties(steepc steep-opt PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS steepc RUNTIME DESTINATION bin COMPONENT compiler)
  install(TARGETS steep-opt RUNTIME DESTINATION bin COMPONENT tools)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/SteepConfig.cmake ${steep_package}
    DESTINATION lib/cmake/Steep COMPONENT compiler)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/specs/ DESTINATION share/steep/specs
    COMPONENT compiler FILES_MATCHING PATTERN "*.mlir")
endif()
install(FILES ${PROJECT_SOURCE_DIR}/include/steep/steep.h
  DESTINATION include/steep COMPONENT compiler)
install(TARGETS steep-run steep-train steep-data
  RUNTIME DESTINATION bin COMPONENT tools)
