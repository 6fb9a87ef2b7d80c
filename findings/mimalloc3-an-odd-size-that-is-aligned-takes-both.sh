#!/usr/bin/env bash
# Question: how much memory do 100 bytes take that are aligned to 64, to 1024 and to 4096?
# Guess: 128 and 4096: the size rounded to the alignment. The case between them was added after the first run.
# What happens: 192, 1280 and 5120. A size that is no multiple of its alignment gets a block of size and alignment together, within
#   which the pointer lies. A multiple is served exactly, but up to 4096 only: 8192 aligned to 8192 take 16 KiB, 64 KiB
#   aligned to 64 KiB take 128 KiB.
#   Of use to: programs with aligned objects, which should round the size up to the alignment, and sources of blocks.
# Versions: libmimalloc-sys 0.1.49, which contains mimalloc 3.3.2; rustc 1.95; x86-64 Linux.
# SPDX-License-Identifier: MIT OR Apache-2.0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat >"$dir/Cargo.toml" <<'END'
[package]
name = "run"
version = "0.0.0"
edition = "2021"
[dependencies]
libmimalloc-sys = { version = "=0.1.49", features = ["extended"] }
END
mkdir "$dir/src"
cat >"$dir/src/main.rs" <<'END'
use libmimalloc_sys::{mi_malloc_aligned, mi_version};

fn main() {
    println!("mimalloc {}", unsafe { mi_version() });
    let odd = [(100, 64), (100, 1024), (100, 4096)];
    let multiples = [(128, 64), (1024, 1024), (4096, 4096), (8192, 8192), (65536, 65536)];
    for (size, align) in odd.into_iter().chain(multiples) {
        let blocks: Vec<usize> = (0..9).map(|_| unsafe { mi_malloc_aligned(size, align) } as usize).collect();
        let span = blocks.iter().max().unwrap() - blocks.iter().min().unwrap();
        println!("{size} aligned to {align}: {}", span / 8);
    }
}
END
seen=$(cd "$dir" && cargo run -q)

expected='mimalloc 30302
100 aligned to 64: 192
100 aligned to 1024: 1280
100 aligned to 4096: 5120
128 aligned to 64: 128
1024 aligned to 1024: 1024
4096 aligned to 4096: 4096
8192 aligned to 8192: 16384
65536 aligned to 65536: 131072'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
