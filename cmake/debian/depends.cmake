# Included by cpack: which libraries, in which versions, the package of the shared library depends on.
# SPDX-License-Identifier: MIT OR Apache-2.0
list(GET CPACK_BUILD_SOURCE_DIRS 1 toft_build)
file(WRITE ${toft_build}/debian/control "Source: toft\n\nPackage: libtoft\nArchitecture: any\n")
file(GLOB toft_library ${toft_build}/c/libtoft.so.*.*)
execute_process(COMMAND dpkg-shlibdeps -O -e${toft_library} WORKING_DIRECTORY ${toft_build}
                OUTPUT_VARIABLE toft_depends OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "^shlibs:Depends=" "" CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "${toft_depends}")
