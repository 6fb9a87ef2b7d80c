#!/usr/bin/env bash
# Question: a checkpoint finds the pages that changed by PAGEMAP_SCAN and asynchronous write protection. One page is a buffer that was
#   registered with io_uring. Does the scan find what READ writes into a page, and what READ_FIXED writes into that one?
# Guess: both, as it finds what read(2) writes.
# What happens: READ_FIXED is not found: the registered page was pinned before it was protected, and the system writes it by its own
#   mapping, without a fault. The content is new, and the page is reported as unwritten.
#   Of use to: checkpoints of memory that a server reads into; compare the pages, or keep such buffers elsewhere.
# Versions: Linux 6.18 (from 6.7 on; io_uring and userfaultfd for user mode must be permitted); io-uring 0.7.16, linux-raw-sys
#   0.12.1, libc 0.2.191; rustc 1.95; x86-64.
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
io-uring = "=0.7.16"
libc = "=0.2.191"
linux-raw-sys = { version = "=0.12.1", features = ["general", "ioctl"] }
END
mkdir "$dir/src"
cat >"$dir/src/main.rs" <<'END'
use io_uring::{opcode, types::Fd, IoUring};
use linux_raw_sys::{general::*, ioctl};
use std::os::fd::AsRawFd;

const PAGE: usize = 4096;
const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610; // _IOWR('f', 16, struct pm_scan_arg)

unsafe fn protect(p: *mut u8) {
    let fd = libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | UFFD_USER_MODE_ONLY as i32) as i32;
    let features = UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_UNPOPULATED;
    let mut api = uffdio_api { api: UFFD_API.into(), features: features.into(), ioctls: 0 };
    assert_eq!(libc::ioctl(fd, ioctl::UFFDIO_API.into(), &mut api), 0);
    let range = || uffdio_range { start: p as u64, len: 4 * PAGE as u64 };
    let mut register = uffdio_register { range: range(), mode: UFFDIO_REGISTER_MODE_WP.into(), ioctls: 0 };
    assert_eq!(libc::ioctl(fd, ioctl::UFFDIO_REGISTER.into(), &mut register), 0);
    let mut protect = uffdio_writeprotect { range: range(), mode: 1 };
    assert_eq!(libc::ioctl(fd, ioctl::UFFDIO_WRITEPROTECT.into(), &mut protect), 0);
}

unsafe fn written(p: *mut u8) -> bool {
    let pages = std::fs::File::open("/proc/self/pagemap").unwrap();
    let (mut found, mut scan): (page_region, pm_scan_arg) = (std::mem::zeroed(), std::mem::zeroed());
    (scan.size, scan.vec, scan.vec_len) = (size_of::<pm_scan_arg>() as u64, &raw mut found as u64, 1);
    (scan.start, scan.end) = (p as u64, p.add(PAGE) as u64);
    (scan.category_mask, scan.return_mask) = (PAGE_IS_WRITTEN.into(), PAGE_IS_WRITTEN.into());
    libc::ioctl(pages.as_raw_fd(), PAGEMAP_SCAN, &mut scan) == 1
}

unsafe fn pipe_with(byte: u8) -> i32 {
    let mut pipe = [0; 2];
    assert!(libc::pipe(pipe.as_mut_ptr()) == 0 && libc::write(pipe[1], [byte].as_ptr().cast(), 1) == 1);
    pipe[0]
}

fn main() {
    unsafe {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let p = libc::mmap(std::ptr::null_mut(), 4 * PAGE, access, kind, -1, 0).cast::<u8>();
        std::ptr::write_bytes(p, 1, 4 * PAGE);
        let mut ring = IoUring::new(4).unwrap();
        ring.submitter().register_buffers(&[libc::iovec { iov_base: p.add(PAGE).cast(), iov_len: PAGE }]).unwrap();
        protect(p);
        println!("protected: {} {}", written(p), written(p.add(PAGE)));
        let one = opcode::Read::new(Fd(pipe_with(2)), p, 1).build();
        ring.submission().push(&one).unwrap();
        ring.submit_and_wait(1).unwrap();
        println!("READ: content {}, found {}", *p, written(p));
        let fixed = opcode::ReadFixed::new(Fd(pipe_with(3)), p.add(PAGE), 1, 0).build();
        assert_eq!(ring.completion().next().unwrap().result(), 1);
        ring.submission().push(&fixed).unwrap();
        ring.submit_and_wait(1).unwrap();
        println!("READ_FIXED: content {}, found {}", *p.add(PAGE), written(p.add(PAGE)));
    }
}
END
seen=$(cd "$dir" && cargo run -q)

expected='protected: false false
READ: content 2, found true
READ_FIXED: content 3, found false'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
