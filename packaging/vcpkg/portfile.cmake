# The port of vcpkg. packaging/dist writes it with the version, the address and the checksum of a release.
# SPDX-License-Identifier: MIT OR Apache-2.0
vcpkg_download_distfile(archive URLS "@URL@/toft-@VERSION@.tar.gz" FILENAME "toft-@VERSION@.tar.gz" SHA512 @SHA512@)
vcpkg_extract_source_archive(source ARCHIVE "${archive}")

string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "static" static)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" shared)
vcpkg_cmake_configure(SOURCE_PATH "${source}" OPTIONS -DTOFT_LIB_STATIC=${static} -DTOFT_LIB_SHARED=${shared})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/toft)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE-MIT" "${source}/LICENSE-APACHE")
