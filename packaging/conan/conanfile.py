# The recipe of Conan 2. packaging/dist writes it with the version, the address and the checksum of a release.
# SPDX-License-Identifier: MIT OR Apache-2.0
import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, rmdir

required_conan_version = ">=2.0"


class Toft(ConanFile):
    name = "toft"
    version = "@VERSION@"
    license = "MIT OR Apache-2.0"
    description = "Arena allocator: allocate by moving a pointer, give everything back at once"
    topics = ("arena", "allocator", "memory", "pmr")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]
    languages = "C"

    def layout(self):
        cmake_layout(self, src_folder="src")

    def source(self):
        get(self, "@URL@/toft-@VERSION@.tar.gz", sha256="@SHA256@", strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["TOFT_LIB_STATIC"] = not self.options.shared
        toolchain.cache_variables["TOFT_LIB_SHARED"] = bool(self.options.shared)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE-*", self.source_folder, os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))  # Conan writes these for its users
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "toft")
        self.cpp_info.set_property("pkg_config_name", "toft")
        headers = self.cpp_info.components["header_only"]
        headers.set_property("cmake_target_name", "toft::header_only")
        headers.libdirs = []
        library = self.cpp_info.components["toft"]
        library.set_property("cmake_target_name", "toft::toft")
        library.set_property("cmake_target_aliases", ["toft::toft_shared" if self.options.shared else "toft::toft_static"])
        static_msvc = self.settings.os == "Windows" and self.settings.compiler == "msvc" and not self.options.shared
        library.libs = ["toft_static" if static_msvc else "toft"]
        if self.options.shared:
            library.defines = ["TOFT_SHARED"]
        if self.settings.os in ("Linux", "FreeBSD"):
            library.system_libs = headers.system_libs = ["pthread"]
        pmr = self.cpp_info.components["pmr"]
        pmr.set_property("cmake_target_name", "toft::pmr")
        pmr.libdirs = []
        pmr.requires = ["header_only", "toft"]
