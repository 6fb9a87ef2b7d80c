//! Recyclers of a checked process: each misuse is found, and correct programs give no findings.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![allow(clippy::undocumented_unsafe_blocks)] // it commits faults on purpose

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Mutex;

use toft::Heap;
use toft::{on_finding, Limited, Recycler, Source, SyncRecycler};
use toft_pools::Pool;

static FOUND: Mutex<Vec<String>> = Mutex::new(Vec::new());
static ONE: Mutex<()> = Mutex::new(());

/// Runs `f` in a checked process of its own: `name` is the name of the calling test.
fn checked(name: &str, f: impl FnOnce()) {
    if std::env::var("TOFT_CHECKED").as_deref() == Ok("1") {
        let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        on_finding(Some(|finding| FOUND.lock().unwrap().push(finding.to_string())));
        f();
        assert_eq!(found(), [""; 0]);
        return;
    }
    if cfg!(miri) {
        return; // the target cannot start programs, but may itself run with the variable set
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let done = child.args(["--exact", name]).env("TOFT_CHECKED", "1").output().unwrap();
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(String::from_utf8_lossy(&done.stdout).contains("1 passed"));
}

fn found() -> Vec<String> {
    std::mem::take(&mut *FOUND.lock().unwrap())
}

/// Returns the only finding, which must begin with `begin`.
fn expect(begin: &str) -> String {
    let found = found();
    assert!(matches!(&found[..], [one] if one.starts_with(begin)), "{begin}: {found:?}");
    found[0].clone()
}

/// Operations of both kinds of recycler.
trait Recycles {
    fn take(&self, layout: Layout) -> NonNull<u8>;
    unsafe fn put(&self, p: NonNull<u8>, layout: Layout);
    unsafe fn size(&self, p: NonNull<u8>, old: Layout, new: Layout) -> NonNull<u8>;
    fn look(&self);
    fn clear(&mut self);
    fn numbers(&self) -> toft::RecyclerStats;
}

macro_rules! recycles {
    ($of:ty) => {
        impl<S: Source> Recycles for $of {
            #[track_caller]
            fn take(&self, layout: Layout) -> NonNull<u8> {
                self.alloc_layout(layout)
            }
            unsafe fn put(&self, p: NonNull<u8>, layout: Layout) {
                unsafe { self.deallocate(p, layout) }
            }
            unsafe fn size(&self, p: NonNull<u8>, old: Layout, new: Layout) -> NonNull<u8> {
                unsafe { self.reallocate(p, old, new) }.unwrap()
            }
            fn look(&self) {
                self.trim(0);
            }
            fn clear(&mut self) {
                self.release();
            }
            fn numbers(&self) -> toft::RecyclerStats {
                self.stats()
            }
        }
    };
}

recycles!(Recycler<S>);
recycles!(SyncRecycler<S>);

fn both(f: impl Fn(&mut dyn Recycles, &dyn Recycles)) {
    f(&mut Recycler::new(), &Recycler::new());
    f(&mut SyncRecycler::new(), &SyncRecycler::new());
}

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

fn write(p: NonNull<u8>, at: isize, bytes: &[u8]) {
    for (i, byte) in bytes.iter().enumerate() {
        unsafe { p.as_ptr().wrapping_offset(at + i as isize).write_volatile(*byte) };
    }
}

/// Sizes in shared blocks, large ones, and in between: with red zones the latter are large.
const SIZES: &[(usize, usize)] = &[(1, 1), (13, 1), (16, 8), (100, 64), (28 << 10, 8), (100_000, 8), (64, 32 << 10)];

#[test]
fn overruns_and_underruns() {
    checked("overruns_and_underruns", || {
        both(|r, _| {
            for &(size, align) in SIZES {
                let p = r.take(layout(size, align));
                assert_eq!(p.addr().get() % align, 0);
                write(p, size as isize, b"abc");
                unsafe { r.put(p, layout(size, align)) };
                let bytes = if size == 1 { "byte" } else { "bytes" };
                let report =
                    expect(&format!("overrun: byte {size} of {size} {bytes} at {p:p} was written: 3 bytes \"abc\"; "));
                assert!(report.contains(&format!("; allocated at {}:", file!())), "{report}");
                let p = r.take(layout(size, align));
                write(p, -1, b"x");
                unsafe { r.put(p, layout(size, align)) };
                expect(&format!("underrun: byte -1 of {size} {bytes} at {p:p} was written: 1 byte"));
                // Also of objects that are never freed.
                let p = r.take(layout(size, align));
                write(p, size as isize + 2, b"x");
                r.clear();
                expect(&format!("overrun: byte {} of {size} {bytes} at {p:p} was written: 1 byte \"x\"", size + 2));
            }
        });
    });
}

#[test]
fn late_writes() {
    checked("late_writes", || {
        both(|r, _| {
            for &(size, align) in SIZES {
                let p = r.take(layout(size, align));
                unsafe { r.put(p, layout(size, align)) };
                write(p, size as isize / 2, b"x");
                r.look();
                expect(&format!("late write: byte {} of {size} byte", size / 2));
                let p = r.take(layout(size, align));
                unsafe { r.put(p, layout(size, align)) };
                write(p, 0, b"x");
                r.clear();
                expect("late write: byte 0 of ");
            }
            // Freed memory waits in quarantine while other objects are allocated and freed, and is checked before its
            // reuse.
            let p = r.take(layout(64, 8));
            unsafe { r.put(p, layout(64, 8)) };
            write(p, 3, b"late");
            if cfg!(miri) {
                r.look();
                expect("late write: byte 3 of 64 bytes");
                return;
            }
            let mut rounds = 0;
            while FOUND.lock().unwrap().is_empty() {
                let q = r.take(layout(64, 8));
                assert_ne!(p, q);
                unsafe { r.put(q, layout(64, 8)) };
                rounds += 1;
            }
            assert!(rounds > 1000, "{rounds}");
            expect(&format!(
                "late write: byte 3 of 64 bytes at {p:p} was written after they were given back: 4 bytes \"late\""
            ));
        });
    });
}

#[test]
fn mismatched_frees() {
    checked("mismatched_frees", || {
        both(|r, other| {
            for &(size, align) in SIZES {
                let (one, two) = (layout(size, align), layout(size + 8, align));
                let p = r.take(one);
                write(p, 0, b"x");
                let bytes = |size: usize| format!("bad free: {} bytes ", size.next_multiple_of(8));
                unsafe { r.put(p, two) };
                expect(&bytes(size + 8)); // the wrong size
                assert_eq!(unsafe { p.read() }, b'x'); // the free had no effect
                unsafe { r.put(p, one) };
                assert_eq!(found(), [""; 0]);
                unsafe { r.put(p, one) };
                expect(&bytes(size)); // a double free
                r.look();
                unsafe { r.put(p, one) };
                expect(&bytes(size)); // also after its memory was reused
                let foreign = other.take(one);
                unsafe { r.put(foreign, one) };
                expect(&bytes(size));
                unsafe { other.put(foreign, one) };
                assert_eq!(found(), [""; 0]);
                let q = r.take(layout(4096, 64));
                unsafe { r.put(q.add(64), one) }; // within an object
                expect(&bytes(size));
                unsafe { r.put(q, layout(4096, 64)) };
                let mut local = [0u64; 8];
                unsafe { r.put(NonNull::from(&mut local).cast(), one) };
                expect(&bytes(size));
                assert_eq!(local, [0; 8]);
            }
        });
    });
}

#[test]
fn mismatched_resizes() {
    checked("mismatched_resizes", || {
        both(|r, _| {
            let p = r.take(layout(100, 8));
            unsafe { p.write_bytes(7, 100) };
            let q = unsafe { r.size(p, layout(100, 8), layout(97, 8)) };
            let q = unsafe { r.size(q, layout(97, 8), layout(99, 8)) };
            let q = unsafe { r.size(q, layout(99, 8), layout(40_000, 64)) };
            assert!((0..97).all(|i| unsafe { q.add(i).read() } == 7));
            let q = unsafe { r.size(q, layout(40_000, 64), layout(13, 1)) };
            write(q, 13, b"x"); // freed by the shrink
            unsafe { r.put(q, layout(13, 1)) };
            expect("overrun: byte 13 of 13 bytes");
            write(p, 5, b"x");
            r.look();
            expect("late write: byte 5 of 9"); // in the memory from before the move
            let p = r.take(layout(16, 8));
            let q = unsafe { r.size(p, layout(24, 8), layout(32, 8)) }; // with a wrong old size
            expect("bad free: 24 bytes");
            unsafe { r.put(q, layout(32, 8)) };
            unsafe { r.put(p, layout(16, 8)) };
        });
    });
}

#[test]
fn correct_programs_give_no_findings() {
    checked("correct_programs_give_no_findings", || {
        both(|r, _| {
            let mut random = 1u64;
            let mut next = |n: usize| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                (random >> 20) as usize % n
            };
            let mut live: Vec<(NonNull<u8>, Layout, u8)> = Vec::new();
            for round in 0..if cfg!(miri) { 300 } else { 4000 } {
                match next(5) {
                    0 | 1 => {
                        let size = [next(40), next(600), next(50_000)][next(3)];
                        let of = layout(size, 1 << next(8));
                        let p = r.take(of);
                        assert_eq!(p.addr().get() % of.align(), 0);
                        unsafe { p.write_bytes(round as u8, size) };
                        live.push((p, of, round as u8));
                    }
                    2 if !live.is_empty() => {
                        let i = next(live.len());
                        let (p, old, byte) = live[i];
                        let new = layout(next(2 * old.size() + 20), old.align());
                        let q = unsafe { r.size(p, old, new) };
                        assert!((0..old.size().min(new.size())).all(|i| unsafe { q.add(i).read() } == byte));
                        unsafe { q.write_bytes(byte, new.size()) };
                        live[i] = (q, new, byte);
                    }
                    _ if !live.is_empty() => {
                        let (p, of, byte) = live.swap_remove(next(live.len()));
                        assert!((0..of.size()).all(|i| unsafe { p.add(i).read() } == byte));
                        unsafe { r.put(p, of) };
                    }
                    _ => r.look(),
                }
            }
            assert!(r.numbers().live as usize >= live.iter().map(|(_, of, _)| of.size()).sum());
            live.drain(..).for_each(|(p, of, _)| unsafe { r.put(p, of) });
            r.look();
            let numbers = r.numbers();
            assert_eq!((numbers.live, numbers.kept, numbers.pinned), (0, 0, 0), "{numbers:?}");
            r.clear();
            assert_eq!(r.numbers().reserved, 0);
        });
    });
}

/// Memory in quarantine does not count against a limit.
#[test]
fn a_limit_holds_and_all_memory_is_returned() {
    checked("a_limit_holds_and_all_memory_is_returned", || {
        let source = Limited::new(Heap, 64 << 10);
        let recycler = Recycler::from_source(&source);
        for _ in 0..if cfg!(miri) { 10 } else { 1000 } {
            let p = recycler.alloc_layout(layout(10_000, 8));
            unsafe { recycler.deallocate(p, layout(10_000, 8)) };
        }
        assert!(recycler.try_alloc_layout(layout(100_000, 8)).is_err());
        drop(recycler);
        assert_eq!(source.used(), 0);
    });
}

#[test]
fn many_threads() {
    checked("many_threads", || {
        let recycler = SyncRecycler::new();
        let (give, take) = std::sync::mpsc::channel::<usize>();
        std::thread::scope(|s| {
            for thread in 0..4u8 {
                let (recycler, give) = (&recycler, give.clone());
                s.spawn(move || {
                    for i in 0..if cfg!(miri) { 20 } else { 2000 } {
                        let p = recycler.alloc_layout(layout(40, 8));
                        unsafe { p.write_bytes(thread, 40) };
                        if i % 2 == 0 {
                            give.send(p.as_ptr().expose_provenance()).unwrap();
                        } else {
                            unsafe { recycler.deallocate(p, layout(40, 8)) };
                        }
                    }
                });
            }
            drop(give);
            for p in take {
                let p = NonNull::new(std::ptr::with_exposed_provenance_mut(p)).unwrap();
                unsafe { recycler.deallocate(p, layout(40, 8)) };
            }
        });
        recycler.trim(0);
        assert_eq!((found(), recycler.stats().live), (Vec::new(), 0));
    });
}

/// A hook may use the recycler of the finding: no lock is held, and the recycler is consistent.
#[test]
fn a_hook_may_use_the_recycler() {
    checked("a_hook_may_use_the_recycler", || {
        static SYNC: SyncRecycler = SyncRecycler::new();
        thread_local!(static OWN: &'static Recycler = Box::leak(Box::new(Recycler::new())));
        let eight = layout(8, 8);
        on_finding(Some(|finding| {
            let (own, eight) = (OWN.with(|own| *own), Layout::new::<u64>());
            unsafe {
                SYNC.deallocate(SYNC.alloc_layout(eight), eight);
                own.deallocate(own.alloc_layout(eight), eight);
                own.trim(0);
                SYNC.trim(0);
            }
            FOUND.lock().unwrap().push(finding.to_string());
        }));
        let own = OWN.with(|own| *own);
        let (p, q) = (own.alloc_layout(eight), SYNC.alloc_layout(eight));
        write(p, 8, b"x");
        write(q, 8, b"x");
        unsafe {
            own.deallocate(p, eight);
            SYNC.deallocate(q, eight);
            own.deallocate(p, eight);
            SYNC.deallocate(q, eight);
        }
        assert_eq!(found().len(), 4);
        let p = own.alloc_layout(eight);
        unsafe { own.deallocate(p, eight) };
        write(p, 0, b"x");
        own.trim(0);
        assert_eq!(found().len(), 1);
        let q = SYNC.alloc_layout(eight);
        unsafe { SYNC.deallocate(q, eight) };
        write(q, 0, b"x");
        SYNC.trim(0);
        assert_eq!(found().len(), 1);
    });
}

/// Collections in recyclers.
#[test]
fn collections() {
    checked("collections", || {
        let recycler = Recycler::new();
        let mut pool = Pool::new_in(&recycler);
        let handles: Vec<_> = (0..1000).map(|i| pool.insert(i)).collect();
        handles.into_iter().for_each(|handle| _ = pool.remove(handle));
        drop(pool);
        #[cfg(feature = "allocator-api2")]
        {
            let mut words = allocator_api2::vec::Vec::new_in(&recycler);
            for i in 0..1000 {
                words.push(allocator_api2::boxed::Box::new_in(i, &recycler));
                words.swap_remove(i % words.len());
            }
            words.shrink_to_fit();
            let empty: allocator_api2::boxed::Box<[u64], _> =
                allocator_api2::vec::Vec::new_in(&recycler).into_boxed_slice();
            drop((words, empty));
        }
        recycler.trim(0); // memory in quarantine counts as live
        assert_eq!((found(), recycler.stats().live), (Vec::new(), 0));
    });
}
