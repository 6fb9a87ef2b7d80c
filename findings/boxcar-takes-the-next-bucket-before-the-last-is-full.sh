#!/usr/bin/env bash
# Question: boxcar::Vec<u64>, an array that grows in buckets and never moves. How many bytes does it hold after 28, 29 and 33 pushes,
#   if its first bucket has 32 slots, and how many with_capacity(1000)?
# Guess: one bucket for 28 and 29 pushes, two for 33; 16 KiB for a capacity of 1000.
# What happens: the push into the last eighth of a bucket takes the next one too, twice as large: 29 pushes hold what 33 do,
#   three times the memory of 28. with_capacity(1000) takes each bucket to the one of element 1000 whole: 2016 slots, twice
#   the number that it is given. A slot of a u64 has 16 bytes.
#   Of use to: limits on the memory of shared arenas and of what grows in buckets.
# Versions: boxcar 0.2.14, rustc 1.95; x86-64 Linux.
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
boxcar = "=0.2.14"
END
mkdir "$dir/src"
cat >"$dir/src/main.rs" <<'END'
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Count;
static LIVE: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Count {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Relaxed);
        System.alloc(layout)
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        System.dealloc(p, layout)
    }
}

#[global_allocator]
static GLOBAL: Count = Count;

fn main() {
    for pushes in [1u64, 28, 29, 33] {
        let before = LIVE.load(Relaxed);
        let numbers = boxcar::Vec::new();
        for i in 0..pushes {
            numbers.push(i);
        }
        println!("{pushes} pushes: {} bytes", LIVE.load(Relaxed) - before);
    }
    let before = LIVE.load(Relaxed);
    let _numbers = boxcar::Vec::<u64>::with_capacity(1000);
    println!("with_capacity(1000): {} bytes", LIVE.load(Relaxed) - before);
}
END
seen=$(cd "$dir" && cargo run -q)

expected='1 pushes: 512 bytes
28 pushes: 512 bytes
29 pushes: 1536 bytes
33 pushes: 1536 bytes
with_capacity(1000): 32256 bytes'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
