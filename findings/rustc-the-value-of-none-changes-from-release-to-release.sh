#!/usr/bin/env bash
# Question: which integers are None in Option<char>, Option<Option<bool>>, Option<Ordering> and in the outer Option of
#   Option<Option<u32>>, with rustc 1.96, 1.97 and 1.98?
# Guess: the first value above those that occur, 0x110000, 3, 2 and 2, in each release: "niches" have not moved for years.
# What happens: 1.97 takes the value nearest to zero as a signed number, so that None is -1 or -2. For the tag of two variants
#   1.98 takes 2 again, where 1.97 takes -1; with one more Option around it that is -1 in 1.98.
#   Of use to: files, shared memory and foreign code that contain options other than of references and NonZero.
# Versions: rustc 1.96.0, 1.97.0, 1.98.0 (1.99.0 as 1.98.0; 1.95.0 as 1.96.0); x86-64 Linux. Output seen: "expected" below.
# SPDX-License-Identifier: MIT OR Apache-2.0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export RUSTUP_HOME=$dir
cat >"$dir/none.rs" <<'END'
use std::{cmp::Ordering, mem::transmute_copy};
macro_rules! none { ($($t:ty => $n:ty),*) => {$(print!(" {:#x}", unsafe { transmute_copy::<Option<$t>, $n>(&None) });)*} }
fn main() { none!(char => u32, Option<bool> => u8, Ordering => u8, Option<u32> => u32, Option<Option<u32>> => u32); }
END
seen=$(for version in 1.96.0 1.97.0 1.98.0; do
  rustup -q toolchain install "$version" --profile minimal --no-self-update >/dev/null 2>&1
  rustup run "$version" rustc -O "$dir/none.rs" -o "$dir/none"
  echo "$version:$("$dir/none")"
done)

expected='1.96.0: 0x110000 0x3 0x2 0x2 0x3
1.97.0: 0xffffffff 0xff 0xfe 0xffffffff 0xfffffffe
1.98.0: 0xffffffff 0xff 0xfe 0x2 0xffffffff'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
