//! Every interleaving of threads that contend for one lock.
// SPDX-License-Identifier: MIT OR Apache-2.0

use loom::cell::UnsafeCell;
use loom::sync::{atomic, Arc};
use loom::thread::{self, yield_now};

/// Iterations before the lock yields: none here.
const SPINS: usize = 0;

#[path = "../../src/base/lock.rs"]
#[allow(dead_code)]
mod lock;
use lock::Lock;

/// The holder of the lock has exclusive access, and sees the writes of earlier holders.
#[test]
fn the_lock_excludes_other_threads() {
    struct Shard {
        lock: Lock,
        uses: UnsafeCell<usize>,
    }
    // SAFETY: loom's cells report concurrent access.
    unsafe impl Sync for Shard {}
    // No thread of three waits: with two waiting threads loom would schedule one of them before the holder releases the
    // lock.
    for waits in [&[false, false, false][..], &[true, true]] {
        loom::model(move || {
            let shard = Arc::new(Shard { lock: Lock::of(atomic::AtomicBool::new(false)), uses: UnsafeCell::new(0) });
            let use_it = |shard: &Shard, waits: bool| {
                let guard = if waits { Some(shard.lock.take()) } else { shard.lock.try_take() };
                // SAFETY: the lock is held.
                guard.map(|_guard| shard.uses.with_mut(|uses| unsafe { *uses += 1 })).is_some() as usize
            };
            let start = |waits: &bool| {
                let (shard, waits) = (shard.clone(), *waits);
                thread::spawn(move || use_it(&shard, waits))
            };
            let threads: Vec<_> = waits[1..].iter().map(start).collect();
            let mut used = use_it(&shard, waits[0]);
            used += threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>();
            let _guard = shard.lock.try_take().expect("the lock is free");
            // SAFETY: as above.
            shard.uses.with(|uses| assert_eq!(unsafe { *uses }, used));
            assert!(used >= 1 && (!waits[0] || used == 2));
        });
    }
}
