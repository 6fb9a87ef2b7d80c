#!/usr/bin/env bash
# Question: on x86-64, where numbers of files have 64 bits anyway, does -D_FILE_OFFSET_BITS=64 change what MemorySanitizer says of a
#   program that reads st_mode after stat and fstat, and d_ino after readdir?
# Guess: no; the macro chooses other symbols with the same meaning, and the tool knows both.
# What happens: with the macro the headers of glibc 2.33 and later call stat64 and fstat64, which clang 14 does not know: what they
#   write counts as uninitialised. readdir64 is known.
#   Of use to: libraries that define the macro in their sources for 32-bit systems: define it there only.
# Versions: Debian's clang-14 1:14.0.6-12 with libc6 2.36, x86-64.
# SPDX-License-Identifier: MIT OR Apache-2.0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

version=1:14.0.6-12
packages=(clang-14 libclang-cpp14 libllvm14 libclang-common-14-dev libclang-rt-14-dev)
apt-get download -qq "${packages[@]/%/=$version}" 2>/dev/null || { echo "apt has no such packages" >&2 && exit 1; }
for package in *.deb; do dpkg-deb -x "$package" unpacked; done
export LD_LIBRARY_PATH=$dir/unpacked/usr/lib/x86_64-linux-gnu:$dir/unpacked/usr/lib/llvm-14/lib

cat >run.c <<'END'
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

int main(void) {
  struct stat s;
  if (CALL == 1 && (stat(".", &s) != 0 || s.st_mode == 0)) puts("no mode");
  if (CALL == 2 && (fstat(open(".", O_RDONLY), &s) != 0 || s.st_mode == 0)) puts("no mode");
  DIR *d = CALL == 3 ? opendir(".") : NULL;
  if (CALL == 3 && readdir(d)->d_ino == 0) puts("no number");
  return 0;
}
END

try() { # FLAG
  local call name=(- stat fstat readdir)
  for call in 1 2 3; do
    unpacked/usr/lib/llvm-14/bin/clang -w -O1 -fsanitize=memory "$1" -DCALL="$call" run.c -o run
    ./run 2>messages && echo "$1 ${name[call]}: nothing" || echo "$1 ${name[call]}: $(grep -o -m1 use-of-uninitialized-value messages)"
  done
}
seen=$(try -U_FILE_OFFSET_BITS && try -D_FILE_OFFSET_BITS=64)

expected='-U_FILE_OFFSET_BITS stat: nothing
-U_FILE_OFFSET_BITS fstat: nothing
-U_FILE_OFFSET_BITS readdir: nothing
-D_FILE_OFFSET_BITS=64 stat: use-of-uninitialized-value
-D_FILE_OFFSET_BITS=64 fstat: use-of-uninitialized-value
-D_FILE_OFFSET_BITS=64 readdir: nothing'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
