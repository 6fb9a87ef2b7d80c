//! A loop on four threads whose phases are zones of Tracy, and whose frames are Tracy's frames.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use toft::{ProfileEvent, SharedFrames};
use tracy_client::{plot, Client, Span};

thread_local! {
    /// The zones that have begun on this thread and not ended.
    static ZONES: RefCell<Vec<Span>> = const { RefCell::new(Vec::new()) };
}
static ZONES_ENDED: AtomicUsize = AtomicUsize::new(0);
static FRAMES_ENDED: AtomicUsize = AtomicUsize::new(0);

fn begin(name: &str) {
    let zone = Client::running().expect("started by main").span_alloc(Some(name), "frame", file!(), line!(), 0);
    ZONES.with_borrow_mut(|zones| zones.push(zone));
}

fn end(bytes: u64) {
    let zone = ZONES.with_borrow_mut(Vec::pop).expect("each end has a begin on its thread");
    zone.emit_value(bytes);
    ZONES_ENDED.fetch_add(1, Ordering::Relaxed);
}

/// The whole adapter: a program passes it to `toft::on_profile`.
fn to_tracy(event: &ProfileEvent) {
    match *event {
        ProfileEvent::PhaseBegin { name } => begin(name),
        ProfileEvent::PhaseEnd { allocated, .. } => end(allocated.unwrap_or(0)),
        ProfileEvent::AdvanceBegin { live, .. } => {
            plot!("bytes of a frame", live as f64);
            begin("advance");
        }
        ProfileEvent::AdvanceEnd { freed, .. } => end(freed),
        ProfileEvent::FrameEnd { .. } => {
            tracy_client::frame_mark();
            FRAMES_ENDED.fetch_add(1, Ordering::Relaxed);
        }
        _ => {}
    }
}

fn main() {
    const THREADS: usize = 4;
    const FRAMES: usize = 100;
    Client::start();
    toft::on_profile(Some(to_tracy));

    let mut frames = toft::Frames::new();
    frames.set_metered(true).expect("the arenas are of this crate"); // so that phases have numbers of bytes
    let frames = SharedFrames::from(frames);
    let parties: Vec<_> = (0..THREADS).map(|_| frames.join()).collect();
    let threads = parties.into_iter().map(|mut party| {
        std::thread::spawn(move || {
            for frame in 0..FRAMES as u64 {
                {
                    let arena = party.here();
                    let _update = arena.phase("update");
                    let near = arena.alloc_slice_fill_with(10_000, |i| i as u64 * frame);
                    let _draw = arena.phase("draw");
                    arena.alloc_slice_from_iter(near.iter().filter(|n| **n % 3 == 0));
                }
                party.arrive_and_wait();
            }
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());

    let (zones, ended) = (ZONES_ENDED.load(Ordering::Relaxed), FRAMES_ENDED.load(Ordering::Relaxed));
    assert_eq!((zones, ended), (FRAMES * (2 * THREADS + 1), FRAMES));
    let client = if cfg!(feature = "tracy") { "Tracy's client" } else { "no profiler: --features tracy has one" };
    println!("{ended} frames and {zones} zones for {client}");
}
