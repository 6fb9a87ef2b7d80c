//! Each row of the table "What was wrong there, and is caught here" of docs/from-framealloc.md.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

use std::sync::Mutex;

use toft::{Arena, Frames, Options};
use toft_pools::{Handle, Pool};

/// The compiler refuses each function of these programs: `ui.rs` compares its messages.
const REFUSED: [&str; 3] =
    [include_str!("ui/collections.rs"), include_str!("ui/frames.rs"), include_str!("ui/tasks.rs")];

fn refused(names: &[&str]) {
    assert!(names.iter().all(|name| REFUSED.concat().contains(&format!("\nfn {name}()"))), "{names:?}");
}

fn after_the_frame() {
    refused(&["frame_used_after_advance", "vec_of_a_frame_used_after_advance"]);
}

fn destructors() {
    let (mut frames, shared) = (Frames::new(), std::sync::Arc::new(1));
    drop(frames.here().boxed(shared.clone()));
    frames.here().alloc_drop(shared.clone());
    assert_eq!(std::sync::Arc::strong_count(&shared), 2);
    frames.advance();
    assert_eq!(std::sync::Arc::strong_count(&shared), 1);
    let arena = Arena::new();
    arena.set_checked(true).unwrap();
    arena.alloc(Vec::<u8>::new());
    arena.set_checked(false).unwrap();
    assert!(arena.findings().is_empty()); // the value is still alive
}

fn alignments() {
    #[repr(align(4096))]
    struct Page(#[allow(dead_code)] [u8; 4096]);
    let frames = Frames::new();
    frames.here().alloc(1u8);
    assert_eq!(std::ptr::from_ref(frames.here().alloc(Page([0; 4096]))).addr() % 4096, 0);
}

fn no_limit() {
    let frames = Frames::new();
    let size = if cfg!(miri) { 1 << 16 } else { 32 << 20 };
    assert_eq!(frames.here().alloc_slice_fill(size, 7u8)[size - 1], 7);
    let tight = Frames::with(|| Options::new().budget(100).create());
    assert!(tight.here().try_alloc([0u8; 200]).is_err());
}

fn two_allocators() {
    let (mut first, second) = (Frames::new(), Frames::new());
    let kept = second.here().alloc(7);
    first.here().alloc(8);
    first.advance();
    assert_eq!((first.here().stats().live, *kept), (0, 7));
}

fn frames_in_frames() {
    let frames = Frames::new();
    let outer = frames.here().alloc(7);
    frames.here().scope(|inner| _ = inner.alloc(8));
    assert_eq!((*outer, frames.here().stats().live), (7, 8));
}

fn retained() {
    let (mut frames, longer) = (Frames::new(), Arena::new());
    let kept = toft::Box::promote(frames.here().boxed(String::from("kept")), &longer);
    frames.advance();
    frames.here().alloc([0xFFu8; 1000]);
    assert_eq!(*kept, "kept");
}

fn checkpoints() {
    let frames = Frames::new();
    let guard = frames.here().scope_guard();
    guard.alloc([0u8; 1000]);
    drop(guard);
    assert_eq!(frames.here().stats().live, 0);
}

fn statistics() {
    let arena = Arena::new();
    arena.set_metered(true).unwrap();
    arena.set_tag_budget("tag", Some(64)).unwrap();
    let (phase, tag) = (arena.phase("phase"), arena.tag("tag"));
    arena.alloc([0u8; 64]);
    assert!(arena.try_alloc(1u8).is_err());
    drop((tag, phase));
    let report = arena.report();
    assert_eq!((report.stats.live, report.phases[0].allocated), (64, 64));
    assert_eq!(report.tags.iter().find(|tag| tag.name == "tag").map(|tag| tag.live), Some(64));
}

fn ended_threads() {
    let mut frames = Frames::new();
    std::thread::scope(|s| {
        s.spawn(|| _ = frames.here().alloc([0u8; 100_000]));
    });
    let held = |frames: &mut Frames| frames.snapshot().threads.iter().map(|t| t.report.stats.reserved).sum::<u64>();
    let before = held(&mut frames);
    frames.advance();
    frames.trim(0);
    assert!(held(&mut frames) <= before.min(100_000));
}

/// The arena has no lock; what threads share is protected by a lock of the program.
fn handles() {
    let pool: Mutex<Pool<u64>> = Mutex::new(Pool::new());
    std::thread::scope(|s| {
        for n in 0..4 {
            let pool = &pool;
            s.spawn(move || {
                let handles: Vec<Handle<u64>> = (0..100).map(|i| pool.lock().unwrap().insert(n * i)).collect();
                handles.into_iter().for_each(|handle| _ = pool.lock().unwrap().remove(handle));
            });
        }
    });
    assert_eq!(pool.lock().unwrap().len(), 0);
}

fn tasks() {
    refused(&["task_value_outlives_its_arena", "task_drops_what_is_not_send"]);
}

type Row = (&'static str, fn());

const ROWS: &[Row] = &[
    ("a `FrameBox`, `FrameVec` or slice can be used after `end_frame`", after_the_frame),
    ("values in frames and pools are never dropped", destructors),
    ("alignments above 16 are not kept", alignments),
    ("16 MiB for each thread, whatever the configuration says; then null", no_limit),
    ("two allocators of one thread end each other's frames", two_allocators),
    ("an inner `end_frame` ends the outer frame", frames_in_frames),
    ("`frame_retained` shows memory that was never written", retained),
    ("a checkpoint guard does not roll back", checkpoints),
    ("budgets, tags, phases and statistics do not see frame allocations", statistics),
    ("memory of threads that ended is lost", ended_threads),
    ("`handles()` used by four threads can deadlock", handles),
    ("`TaskBox` can outlive its allocator, and drop an `Rc` on another thread", tasks),
];

#[test]
fn each_row_is_true() {
    for (row, test) in ROWS {
        eprintln!("{row}");
        test();
    }
}

/// The page has exactly these rows.
#[test]
#[cfg_attr(miri, ignore = "reads a file")]
fn the_page_has_the_same_rows() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/from-framealloc.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page.split("## What was wrong there").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows: Vec<_> = table.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    let names: Vec<_> = rows.iter().map(|row| row[2..].split(" | ").next().unwrap()).collect();
    assert_eq!(names, ROWS.iter().map(|row| row.0).collect::<Vec<_>>());
}
