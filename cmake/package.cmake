# cpack -G DEB: libtoft0, the shared library, and libtoft-dev, the headers, libtoft.a, and the files for CMake and pkg-config.
# DEBFULLNAME and DEBEMAIL in the environment name the maintainer, as for Debian's own tools; SOURCE_DATE_EPOCH gives the date.
# SPDX-License-Identifier: MIT OR Apache-2.0
find_program(TOFT_GZIP gzip REQUIRED)
set(toft_maintainer "The Toft authors <toft@authors.invalid>")
if(DEFINED ENV{DEBEMAIL})
  set(toft_maintainer "The Toft authors <$ENV{DEBEMAIL}>")
  if(DEFINED ENV{DEBFULLNAME})
    set(toft_maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
  endif()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME toft)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${toft_maintainer})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime dev)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 0toft1) # older than any revision of Debian's own
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libtoft${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
# cpack's own shlibs and shlibdeps would add scripts that call ldconfig, in addition to the trigger.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/debian/triggers ${PROJECT_BINARY_DIR}/shlibs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/debian/depends.cmake)
file(WRITE ${PROJECT_BINARY_DIR}/shlibs
     "libtoft ${PROJECT_VERSION_MAJOR} ${CPACK_DEBIAN_RUNTIME_PACKAGE_NAME} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})\n")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libtoft-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${CPACK_DEBIAN_RUNTIME_PACKAGE_NAME} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(toft_about
" Toft allocates by moving a pointer, and gives everything back at once. It has
 arenas, leases, frames, pools and recyclers, and diagnostics that cost nothing
 until they are switched on.
 .")
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "arena allocator, shared library\n${toft_about}\n This package has the shared library.")
set(CPACK_DEBIAN_DEV_DESCRIPTION "arena allocator, headers for C and C++\n${toft_about}
 This package has the headers, the static library, and the files for CMake and
 pkg-config.")
foreach(component runtime dev)
  string(TOUPPER ${component} name)
  set(name CPACK_DEBIAN_${name})
  string(REGEX REPLACE "\n " "\n" ${name}_DESCRIPTION "${${name}_DESCRIPTION}") # cpack indents it
  set(CPACK_COMPONENT_${component}_DESCRIPTION "${${name}_DESCRIPTION}")
endforeach()

string(TIMESTAMP toft_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE-MIT toft_mit)
string(REGEX REPLACE "\n+$" "" toft_mit "${toft_mit}")
string(REGEX REPLACE "\n\n" "\n.\n" toft_mit "${toft_mit}")
string(REGEX REPLACE "\n" "\n " toft_mit "${toft_mit}")
set(toft_changelog ${PROJECT_BINARY_DIR}/changelog.Debian)
configure_file(${CMAKE_CURRENT_LIST_DIR}/debian/copyright ${PROJECT_BINARY_DIR}/copyright @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/debian/changelog ${toft_changelog} @ONLY)
execute_process(COMMAND ${TOFT_GZIP} -9nf ${toft_changelog} COMMAND_ERROR_IS_FATAL ANY)
foreach(component runtime dev)
  string(TOUPPER ${component} name)
  install(FILES ${PROJECT_BINARY_DIR}/copyright ${toft_changelog}.gz COMPONENT ${component}
          DESTINATION share/doc/${CPACK_DEBIAN_${name}_PACKAGE_NAME})
endforeach()
include(CPack)
