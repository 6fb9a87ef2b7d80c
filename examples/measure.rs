//! The processor time, the page faults and the peak of the memory of this process, on Linux.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::time::Instant;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

fn processor_ns() -> i64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the pointer is to a structure of the C library's layout on 64-bit Linux.
    unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.seconds * 1_000_000_000 + time.nanoseconds
}

/// Those that needed no disk: the tenth field, and the eighth behind the program's name in parentheses.
fn faults() -> i64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split_whitespace().nth(7).unwrap().parse().unwrap()
}

/// Runs a round, and prints its times and page faults.
pub fn round(work: impl FnOnce()) {
    let (faults_before, wall, processor) = (faults(), Instant::now(), processor_ns());
    work();
    let (processor, wall) = (processor_ns() - processor, wall.elapsed().as_nanos());
    println!("round {processor} {wall} {}", faults() - faults_before);
}

pub fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
