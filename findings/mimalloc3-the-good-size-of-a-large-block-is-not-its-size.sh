#!/usr/bin/env bash
# Question: mi_good_size(n) is the usable size that mi_malloc(n) will give. Up to which n is that so?
# Guess: for all n; the two were compared to 8 MiB.
# What happens: up to 512 KiB. Above, the good size is rounded to 4096 bytes, and the block to 64 KiB or, from 4 MiB on, to a
#   sixteenth of it: a vector that grows to the good size of 1 MiB and a byte leaves 60 KiB of its block unused.
#   Of use to: arenas that request blocks in the sizes that the allocator serves without waste.
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
use libmimalloc_sys::{mi_free, mi_good_size, mi_malloc, mi_usable_size, mi_version};

fn sizes(n: usize) -> (usize, usize) {
    unsafe {
        let p = mi_malloc(n);
        let sizes = (mi_good_size(n), mi_usable_size(p));
        mi_free(p);
        sizes
    }
}

fn main() {
    println!("mimalloc {}", unsafe { mi_version() });
    let equal = (1..=512 << 10).step_by(7).all(|n| sizes(n).0 == sizes(n).1);
    println!("to 512 KiB: {}", if equal { "equal" } else { "different" });
    for n in [(512 << 10) + 1, 600 << 10, (1 << 20) + 1, (4 << 20) + 1, (16 << 20) + 1] {
        let (good, usable) = sizes(n);
        println!("{n}: good {good}, usable {usable}");
    }
}
END
seen=$(cd "$dir" && cargo run -q)

expected='mimalloc 30302
to 512 KiB: equal
524289: good 528384, usable 589824
614400: good 614400, usable 655360
1048577: good 1052672, usable 1114112
4194305: good 4198400, usable 4456448
16777217: good 16781312, usable 17825792'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
