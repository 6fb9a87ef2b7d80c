#!/usr/bin/env bash
# Question: a checkpoint finds the pages that changed by PAGEMAP_SCAN and asynchronous write protection. Which of these does it find: a
#   write, a read(2) into a page, MADV_DONTNEED of private memory, a hole punched into a memfd, a write by another mapping,
#   and READ_FIXED of io_uring into a buffer that was registered before?
# Guess: all but the write by another mapping; a hole changes the content to zero, as MADV_DONTNEED does. It was written down for
#   MADV_DONTNEED before the first run, for the hole after MADV_REMOVE had been missed, and for READ_FIXED before its first run.
# What happens: neither the hole nor READ_FIXED is found: the page stays protected and its content is another. A file's pages that
#   MADV_REMOVE or fallocate frees have to be added to the checkpoint by the code that frees them. A registered page was
#   pinned before it was protected, and the system writes it by its own mapping, without a fault.
#   Of use to: checkpoints, also of memory that a server reads into, and snapshots of shared arenas.
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

unsafe fn map(fd: i32, sharing: i32) -> *mut u8 {
    let p = libc::mmap(std::ptr::null_mut(), 8 * PAGE, libc::PROT_READ | libc::PROT_WRITE, sharing, fd, 0);
    assert_ne!(p, libc::MAP_FAILED);
    std::ptr::write_bytes(p.cast::<u8>(), 1, 8 * PAGE);
    p.cast()
}

unsafe fn protect(p: *mut u8) {
    let fd = libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | UFFD_USER_MODE_ONLY as i32) as i32;
    let features = UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_UNPOPULATED | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
    let mut api = uffdio_api { api: UFFD_API.into(), features: features.into(), ioctls: 0 };
    assert_eq!(libc::ioctl(fd, ioctl::UFFDIO_API.into(), &mut api), 0);
    let range = || uffdio_range { start: p as u64, len: 8 * PAGE as u64 };
    let mut register = uffdio_register { range: range(), mode: UFFDIO_REGISTER_MODE_WP.into(), ioctls: 0 };
    assert_eq!(libc::ioctl(fd, ioctl::UFFDIO_REGISTER.into(), &mut register), 0);
    let mut protect = uffdio_writeprotect { range: range(), mode: 1 };
    assert_eq!(libc::ioctl(fd, ioctl::UFFDIO_WRITEPROTECT.into(), &mut protect), 0);
}

unsafe fn written(p: *mut u8, page: usize) -> bool {
    let pages = std::fs::File::open("/proc/self/pagemap").unwrap();
    let (mut found, mut scan): (page_region, pm_scan_arg) = (std::mem::zeroed(), std::mem::zeroed());
    (scan.size, scan.vec, scan.vec_len) = (size_of::<pm_scan_arg>() as u64, &raw mut found as u64, 1);
    (scan.start, scan.end) = (p.add(page * PAGE) as u64, p.add((page + 1) * PAGE) as u64);
    (scan.category_mask, scan.return_mask) = (PAGE_IS_WRITTEN.into(), PAGE_IS_WRITTEN.into());
    libc::ioctl(pages.as_raw_fd(), PAGEMAP_SCAN, &mut scan) == 1
}

fn main() {
    unsafe {
        let file = libc::memfd_create(c"file".as_ptr(), 0);
        assert_eq!(libc::ftruncate(file, 8 * PAGE as i64), 0);
        let (private, shared) = (map(-1, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS), map(file, libc::MAP_SHARED));
        let other = map(file, libc::MAP_SHARED);
        let mut ring = IoUring::new(4).unwrap();
        let buffer = libc::iovec { iov_base: private.add(6 * PAGE).cast(), iov_len: PAGE };
        ring.submitter().register_buffers(&[buffer]).unwrap();
        [private, shared].into_iter().for_each(|p| protect(p));
        println!("before: {} {}", written(private, 0), written(shared, 0));
        [private, shared].into_iter().for_each(|p| p.write(2));
        println!("a write: {} {}", written(private, 0), written(shared, 0));
        let mut pipe = [0; 2];
        assert!(libc::pipe(pipe.as_mut_ptr()) == 0 && libc::write(pipe[1], c"2".as_ptr().cast(), 1) == 1);
        assert_eq!(libc::read(pipe[0], private.add(PAGE).cast(), 1), 1);
        println!("read(2): {}", written(private, 1));
        libc::madvise(private.add(2 * PAGE).cast(), PAGE, libc::MADV_DONTNEED);
        println!("MADV_DONTNEED: {}, content {}", written(private, 2), *private.add(2 * PAGE));
        libc::madvise(shared.add(3 * PAGE).cast(), PAGE, libc::MADV_REMOVE);
        println!("MADV_REMOVE: {}, content {}", written(shared, 3), *shared.add(3 * PAGE));
        let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        assert_eq!(libc::fallocate(file, hole, 4 * PAGE as i64, PAGE as i64), 0);
        println!("fallocate: {}, content {}", written(shared, 4), *shared.add(4 * PAGE));
        other.add(5 * PAGE).write(2);
        println!("another mapping: {}, content {}", written(shared, 5), *shared.add(5 * PAGE));
        assert_eq!(libc::write(pipe[1], c"2".as_ptr().cast(), 1), 1);
        ring.submission().push(&opcode::ReadFixed::new(Fd(pipe[0]), private.add(6 * PAGE), 1, 0).build()).unwrap();
        ring.submit_and_wait(1).unwrap();
        println!("READ_FIXED: {}, content {}", written(private, 6), *private.add(6 * PAGE));
    }
}
END
seen=$(cd "$dir" && cargo run -q)

expected='before: false false
a write: true true
read(2): true
MADV_DONTNEED: true, content 0
MADV_REMOVE: false, content 0
fallocate: false, content 0
another mapping: false, content 2
READ_FIXED: false, content 50'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
