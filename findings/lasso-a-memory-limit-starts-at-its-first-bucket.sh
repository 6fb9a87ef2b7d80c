#!/usr/bin/env bash
# Question: how many strings of 100 bytes does a lasso::Rodeo take whose memory limit is 10,000, 4,096, 1,000 and 100 bytes?
# Guess: 99 or 100 of 10,000 bytes, and in proportion below: 40, 10, 1. (Only the first number was written down before the run.)
# What happens: 99, 40, 40 and 40. The first bucket of 4096 bytes is taken when the interner is made, before the limit is
#   compared with anything: current_memory_usage() is 4096 and exceeds max_memory_usage(). A limit below it is only
#   reached by a second bucket. With a first bucket of 500 bytes the limit of 1,000 is kept.
#   Of use to: comparisons of limits of interners with limits of arenas.
# Versions: lasso 0.7.3, rustc 1.95; x86-64 Linux.
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
lasso = "=0.7.3"
END
mkdir "$dir/src"
cat >"$dir/src/main.rs" <<'END'
use lasso::{Capacity, MemoryLimits, Rodeo};

fn fill(name: &str, mut strings: Rodeo) {
    let count = (0..1000).take_while(|i| strings.try_get_or_intern(format!("{i:0100}")).is_ok()).count();
    let (used, limit) = (strings.current_memory_usage(), strings.max_memory_usage());
    println!("{name} {limit}: {count} strings, {used} bytes");
}

fn main() {
    for limit in [10_000, 4096, 1000, 100] {
        fill("limit", Rodeo::with_memory_limits(MemoryLimits::for_memory_usage(limit)));
    }
    let first = Capacity::new(10, std::num::NonZeroUsize::new(500).unwrap());
    let limit = MemoryLimits::for_memory_usage(1000);
    fill("bucket of 500, limit", Rodeo::with_capacity_and_memory_limits(first, limit));
}
END
seen=$(cd "$dir" && cargo run -q)

expected='limit 10000: 99 strings, 10000 bytes
limit 4096: 40 strings, 4096 bytes
limit 1000: 40 strings, 4096 bytes
limit 100: 40 strings, 4096 bytes
bucket of 500, limit 1000: 10 strings, 1000 bytes'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
