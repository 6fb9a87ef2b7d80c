//! An arena for each thread, and threads that end.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

// ---- an arena for each thread ----

#[test]
fn frames_may_be_sent_and_shared() {
    fn both<T: Send + Sync>() {}
    both::<Frames>();
    both::<RwLock<Frames>>();
}

#[test]
fn two_frames_on_one_thread_share_nothing() {
    let (mut a, mut b) = (Frames::new(), Frames::default());
    for frame in 1..=3u64 {
        let mine = a.here().alloc(frame);
        let other = b.here().alloc_slice_fill(100, frame);
        assert_ne!(address(&a), address(&b));
        assert_eq!((address(&a), address(&b)), (address(&a), address(&b))); // alternately
        assert_eq!((*mine, other[99]), (frame, frame));
        a.advance();
        assert_eq!((live(&mut a), live(&mut b), a.number(), b.number()), (0, 800, frame, frame - 1));
        b.advance();
    }
}

#[test]
fn many_frames_come_and_go_on_one_thread() {
    let each = || {
        let outer = Frames::new();
        outer.here().alloc(1);
        for i in 0..10 {
            let inner = Frames::new();
            inner.here().alloc(i);
            assert_eq!((inner.here().stats().live, outer.here().stats().live), (8, 8));
        }
    };
    each();
    each();
    strict::balanced(|| (0..rounds(100, 2)).for_each(|_| each()));
}

#[test]
fn each_thread_has_an_arena_of_its_own() {
    let mut frames = Frames::new();
    let (all, main) = (Barrier::new(8), address(&frames));
    let addresses = thread::scope(|threads| {
        let (frames, all) = (&frames, &all);
        let threads: Vec<_> = (0..8u32)
            .map(|i| {
                threads.spawn(move || {
                    let arena = frames.here();
                    all.wait();
                    let slice = arena.alloc_slice_fill(1000, i);
                    all.wait();
                    assert!(slice.iter().all(|x| *x == i) && std::ptr::eq(arena, frames.here()));
                    std::ptr::from_ref(arena).addr()
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect::<HashSet<_>>()
    });
    assert!(addresses.len() == 8 && !addresses.contains(&main));
    assert_eq!(frames.arenas().count(), 9);
    assert_eq!(live(&mut frames), 8 * 4000);
    frames.advance();
    assert_eq!(live(&mut frames), 0);
}

#[test]
fn frames_move_and_advance_anywhere() {
    let mut frames = Frames::new();
    let drops = Drops::default();
    for _ in 0..3 {
        frames.here().alloc_drop(drops.value());
        let theirs = drops.clone();
        frames = elsewhere(move || {
            frames.here().alloc_drop(theirs.value());
            frames.advance();
            frames
        });
    }
    assert_eq!((drops.count(), drops.alive(), live(&mut frames)), (6, 0, 0));
    frames.here().alloc_drop(drops.value());
    elsewhere(move || drop(frames));
    assert_eq!(drops.count(), 7);
}

// ---- several threads ----

#[test]
fn eight_threads_use_frames_that_the_main_thread_ends() {
    const THREADS: usize = 8;
    let frames = RwLock::new(Frames::new());
    let (begin, end) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    let many = rounds(2000, 3);
    thread::scope(|threads| {
        for i in 0..THREADS {
            let (frames, begin, end) = (&frames, &begin, &end);
            threads.spawn(move || {
                let mut random = Random(i as u64 + 1);
                for frame in 0..many {
                    begin.wait();
                    {
                        let frames = frames.read().unwrap();
                        let arena = frames.here();
                        assert_eq!((arena.stats().live, frames.number()), (0, frame as u64));
                        let mark = (frame * THREADS + i) as u64;
                        let slices = arena
                            .alloc_slice_from_iter((0..10).map(|_| arena.alloc_slice_fill(random.below(50), mark)));
                        let mut list = arena.vec();
                        for x in 0..random.below(50) as u64 {
                            list.push(x + mark);
                        }
                        assert!(slices.iter().all(|slice| slice.iter().all(|x| *x == mark)));
                        assert!(list.iter().enumerate().all(|(x, y)| x as u64 + mark == *y));
                    }
                    end.wait();
                }
            });
        }
        for _ in 0..many {
            begin.wait();
            end.wait();
            frames.write().unwrap().advance();
        }
    });
    let mut frames = frames.into_inner().unwrap();
    assert_eq!((frames.arenas().count(), live(&mut frames), frames.number()), (THREADS, 0, many as u64));
}

#[test]
fn threads_share_values_within_a_frame() {
    let mut frames = Frames::new();
    for round in 0..rounds(20, 2) as u64 {
        let shared = &frames;
        let made = elsewhere(move || shared.here().alloc_slice_fill_with(100, |i| i as u64 + round));
        let (left, right) = made.split_at_mut(50);
        thread::scope(|threads| {
            for half in [&mut *left, &mut *right] {
                threads.spawn(move || {
                    let copy = shared.here().alloc_slice_copy(half);
                    half.iter_mut().zip(copy).for_each(|(x, y)| *x += *y);
                });
            }
        });
        assert!(made.iter().enumerate().all(|(i, x)| *x == 2 * (i as u64 + round)));
        let boxed = elsewhere(|| shared.here().boxed(String::from("a box of another thread")));
        assert_eq!(boxed.len(), 23);
        drop(boxed);
        frames.advance();
    }
}

#[test]
fn a_frame_in_a_frame_is_a_scope() {
    let mut frames = Frames::new();
    let drops = Drops::default();
    for _ in 0..rounds(50, 3) {
        let arena = frames.here();
        let mut longest = arena.vec();
        for depth in 1..5usize {
            arena.scope(|inner| {
                let mut words = inner.vec_from_iter((0..depth).map(|i| inner.string_from(&"ab".repeat(i))));
                inner.alloc_drop(drops.value());
                inner.scope(|innermost| {
                    innermost.alloc_drop(drops.value());
                    longest.extend(innermost.alloc_slice_fill(100, depth).iter().copied()); // in neither inner frame
                    words.push(inner.string());
                });
                assert_eq!((words.len(), drops.alive()), (depth + 1, 1));
            });
            assert_eq!(drops.alive(), 0);
        }
        assert!(longest.chunks(100).enumerate().all(|(i, chunk)| chunk.iter().all(|x| *x == i + 1)));
        drop(longest);
        frames.advance();
        assert_eq!(live(&mut frames), 0);
    }
}

// ---- threads that end ----

#[test]
fn the_arena_of_an_ended_thread_is_reused_in_the_next_frame() {
    let mut frames = Frames::new();
    let mut places = HashSet::new();
    for i in 0..rounds(200, 5) as u64 {
        let first = elsewhere(|| frames.here().alloc_slice_fill(100, i));
        let (second, place) = elsewhere(|| (frames.here().alloc_slice_fill(100, i + 1), address(&frames)));
        places.insert(place);
        assert!(first.iter().all(|x| *x == i) && second.iter().all(|x| *x == i + 1)); // the two do not overlap
        frames.advance();
        assert!(frames.arenas().count() <= 2);
    }
    assert!(places.len() <= 2);
    frames.trim(0);
    assert_eq!((frames.arenas().count(), reserved(&mut frames)), (0, 0));
    assert_eq!(elsewhere(|| *frames.here().alloc(7)), 7);
}

#[test]
fn a_living_threads_arena_survives_trims() {
    let mut frames = Frames::new();
    let place = address(&frames);
    frames.here().alloc_slice_fill(100_000, 0u8);
    frames.advance();
    frames.trim(0);
    assert_eq!((address(&frames), reserved(&mut frames)), (place, 4096));
    frames.here().alloc(1);
}

#[test]
fn frames_may_end_before_the_threads_that_used_them() {
    let (ready, frames_dropped) = (Barrier::new(2), Barrier::new(2));
    let frames = Arc::new(Frames::new());
    let theirs = frames.clone();
    thread::scope(|threads| {
        threads.spawn(|| {
            theirs.here().alloc([1u8; 100]);
            drop(theirs);
            ready.wait();
            frames_dropped.wait();
            let others = Frames::new(); // the thread's slot in the old frames is neither used nor harmful
            others.here().alloc(1);
        });
        ready.wait();
        drop(Arc::into_inner(frames).expect("the last one"));
        frames_dropped.wait();
    });
}

/// Runs a closure when its thread's locals are destroyed.
struct AtTheEnd(RefCell<Option<Box<dyn FnOnce()>>>);

impl AtTheEnd {
    fn set(&self, f: impl FnOnce() + 'static) {
        *self.0.borrow_mut() = Some(Box::new(f));
    }
}

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }
}

thread_local! {
    static FIRST: AtTheEnd = const { AtTheEnd(RefCell::new(None)) };
    static LATER: AtTheEnd = const { AtTheEnd(RefCell::new(None)) };
}

#[test]
fn destructors_of_a_threads_locals_use_its_frames() {
    let frames = Arc::new(RwLock::new(Frames::new()));
    let used = Arc::new(AtomicUsize::new(0));
    for round in 1..=rounds(20, 3) {
        let uses = || {
            let (frames, used) = (frames.clone(), used.clone());
            move || {
                let frames = frames.read().unwrap();
                let slice = frames.here().alloc_slice_fill(100, 7u8);
                used.fetch_add(frames.here().alloc_slice_copy(slice).len(), SeqCst);
            }
        };
        let (first, now, later) = (uses(), uses(), uses());
        // One local is destroyed after the frames' own local and one before it, whichever order this system uses.
        thread::spawn(move || {
            FIRST.with(|end| end.set(first));
            now();
            LATER.with(|end| end.set(later));
        })
        .join()
        .unwrap();
        assert_eq!(used.load(SeqCst), round * 300);
        let mut frames = frames.write().unwrap();
        assert_eq!(frames.arenas().map(|arena| arena.stats().live).sum::<u64>(), 3 * 208);
        frames.advance();
        assert!(frames.arenas().count() <= 3); // for the thread, and two made after its locals ended
        assert_eq!(live(&mut frames), 0);
    }
}

/// A thread whose locals are destroyed cannot signal its end to frames that it uses afterwards.
#[test]
fn an_arena_taken_during_thread_exit_is_reused() {
    // In one of the two cases the frames' thread-local ends before the destructor runs, whichever order this system
    // uses.
    for first in [true, false] {
        let frames = Arc::new(RwLock::new(Frames::new()));
        for _ in 0..3 {
            let uses = {
                let frames = frames.clone();
                move || {
                    frames.read().unwrap().here().alloc(1);
                }
            };
            thread::spawn(move || {
                let others = Frames::new();
                if first {
                    FIRST.with(|end| end.set(uses));
                    others.here();
                } else {
                    others.here();
                    LATER.with(|end| end.set(uses));
                }
            })
            .join()
            .unwrap();
            let mut frames = frames.write().unwrap();
            assert_eq!(live(&mut frames), 8);
            frames.advance();
            assert_eq!((frames.arenas().count(), live(&mut frames)), (1, 0));
        }
    }
}

/// Frames that never end never release such arenas: the thread's last destructor may still use its own.
#[test]
fn the_arena_of_a_thread_that_is_still_ending_is_not_reused() {
    static FRAMES: OnceLock<Frames> = OnceLock::new();
    static ENDING: Barrier = Barrier::new(2);
    static ENDED: AtomicBool = AtomicBool::new(false);
    let frames = FRAMES.get_or_init(Frames::new);
    let ending = thread::spawn(|| {
        let kept = std::rc::Rc::new(Cell::new(None::<&'static Arena>));
        let theirs = kept.clone();
        FIRST.with(|end| {
            end.set(move || {
                ENDING.wait(); // the frames' own local has ended, on systems that destroy locals in reverse order
                ENDING.wait(); // another thread has an arena now
                let arena = theirs.get().unwrap();
                arena.alloc_slice_fill(100, 1u8);
                ENDED.store(true, SeqCst);
            })
        });
        kept.set(Some(frames.here()));
        address(frames)
    });
    ENDING.wait();
    let next = thread::spawn(|| address(frames)).join().unwrap();
    ENDING.wait();
    assert_ne!(ending.join().unwrap(), next);
    assert!(ENDED.load(SeqCst));
    strict::forgive(2); // these arenas are never released
}
