# Installs the headers, the libraries, and the files for find_package(toft) and pkg-config. An installation can be moved
# to another prefix. The component runtime is the shared library that programs load; dev is everything else.
# SPDX-License-Identifier: MIT OR Apache-2.0
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)

set(toft_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/toft)
if(TARGET toft)
  set_target_properties(toft PROPERTIES EXPORT_NAME toft_static)
endif()
set_target_properties(toft_header_only PROPERTIES EXPORT_NAME header_only)
install(TARGETS ${toft_targets} toft_header_only EXPORT toftTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
install(FILES ${PROJECT_SOURCE_DIR}/c/include/toft.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/c/include/toft ${PROJECT_SOURCE_DIR}/cpp/include/toft
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} PATTERN impl EXCLUDE)
# Included by TOFT_IMPLEMENTATION.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/c/src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/toft/impl
        FILES_MATCHING PATTERN "*.[ch]")
install(EXPORT toftTargets NAMESPACE toft:: DESTINATION ${toft_config_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/toftConfig.cmake.in ${PROJECT_BINARY_DIR}/toftConfig.cmake
                              INSTALL_DESTINATION ${toft_config_dir})
# Before 1.0 a minor version may break.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/toftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/toftConfig.cmake ${PROJECT_BINARY_DIR}/toftConfigVersion.cmake
        DESTINATION ${toft_config_dir})

set(toft_pc_prefix ${CMAKE_INSTALL_PREFIX})
set(toft_pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
set(toft_pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} AND NOT IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  file(RELATIVE_PATH toft_pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" toft_pc_up "${toft_pc_up}")
  set(toft_pc_prefix "\${pcfiledir}/${toft_pc_up}")
  set(toft_pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(toft_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/toft.pc.in ${PROJECT_BINARY_DIR}/toft.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/toft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
