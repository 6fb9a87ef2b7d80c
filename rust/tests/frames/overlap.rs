//! Frames that overlap.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

/// The root that a frame publishes: text in the frame's memory, a box in it, and a value with its own destructor.
struct Report<'a> {
    text: &'a str,
    boxed: toft::Box<'a, Counted>,
    #[allow(dead_code)] // only its drop matters
    value: Counted,
}

toft::root!(struct Reports => Report<'a>);

#[test]
fn a_root_lives_for_n_frames_and_is_dropped_once() {
    for n in 1..=4usize {
        let drops = Drops::default();
        let mut frames = Buffered::<Reports>::new(n);
        let many = rounds(200, 6);
        for k in 0..many {
            frames.frame(|now, past| {
                // Frame k - n has ended, with its root and its arenas' memory.
                assert_eq!(drops.count(), 3 * (k + 1).saturating_sub(n));
                assert!(past.with(0, |_| ()).is_none() && past.with(n, |_| ()).is_none());
                for age in 1..n {
                    assert_eq!(past.with(age, |old| old.text.parse::<usize>().unwrap()), k.checked_sub(age));
                }
                let text = elsewhere(|| {
                    now.here().alloc_drop(drops.value());
                    toft::format_in!(now.here(), "{k}")
                });
                now.here().alloc_slice_fill(500, 0xFFu8);
                Report { text, boxed: now.here().boxed(drops.value()), value: drops.value() }
            });
            for age in 0..=n {
                let expected = k.checked_sub(age).filter(|_| age < n).map(|k| k.to_string());
                assert_eq!(frames.with(age, |report| report.text.to_string()), expected);
            }
            assert_eq!(drops.alive(), 3 * n.min(k + 1));
        }
        assert_eq!(frames.number(), many as u64);
        drop(frames);
        assert_eq!((drops.count(), drops.alive()), (3 * many, 0));
    }
}

#[test]
fn a_frame_copies_the_previous_root_and_changes_the_copy() {
    let mut frames = Buffered::<Numbers>::new(2);
    for k in 0..rounds(100, 5) as u64 {
        frames.frame(|now, past| {
            let before = past.with(1, |before| before.iter().map(|x| x + 1).collect::<Vec<_>>());
            now.here().alloc_slice_copy(&before.unwrap_or_else(|| vec![0; 10]))
        });
        assert_eq!(frames.with(0, |numbers| numbers.to_vec()), Some(vec![k; 10]));
    }
    // The frames are `Send` and `Sync` if their root is.
    let frames = elsewhere(move || frames);
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| assert_eq!(frames.with(0, |numbers| numbers.len()), Some(10)));
        }
    });
}

#[test]
fn a_frame_that_panics_publishes_nothing() {
    let drops = Drops::default();
    let mut frames = Buffered::<Reports>::new(3);
    let publish = |frames: &mut Buffered<Reports>, bomb: bool| {
        frames.frame(|now, _| Report {
            text: now.here().alloc_str("published"),
            boxed: now.here().boxed(if bomb { drops.bomb() } else { drops.value() }),
            value: drops.value(),
        });
    };
    publish(&mut frames, false);
    assert!(panics(|| frames.frame(|now, past| {
        now.here().alloc_drop(drops.value());
        assert!(past.with(1, |report| report.text == "published").unwrap());
        panic!("in the frame")
    })));
    assert_eq!([0, 1, 2].map(|age| frames.with(age, |_| ()).is_some()), [false, true, false]);
    frames.trim(0); // frames without a root may be emptied; published roots stay
    assert_eq!(frames.with(1, |report| report.text.len()), Some(9));

    // A root's destructor panics at the end of the frame: everything else is dropped, and the frames remain usable.
    publish(&mut frames, true);
    for _ in 0..2 {
        publish(&mut frames, false);
    }
    assert_eq!(drops.alive(), 6);
    assert!(panics(|| publish(&mut frames, false)));
    assert_eq!((drops.alive(), frames.with(0, |_| ()).is_some()), (4, false));
    for _ in 0..4 {
        publish(&mut frames, false);
        assert_eq!(frames.with(0, |report| (report.text.len(), report.boxed.1)), Some((9, false)));
    }
    publish(&mut frames, true);
    assert!(panics(|| drop(frames)));
    assert_eq!(drops.alive(), 0);
}

#[test]
fn overlapping_frames_have_a_flat_footprint() {
    let mut frames = Buffered::<Numbers>::new(3);
    let mut random = Random(5);
    let mut most = 0;
    for k in 0..rounds(10_000, 20) {
        let mut held = 0;
        frames.frame(|now, _| {
            let numbers = now.here().alloc_slice_fill(500 + random.below(300), k as u64);
            held = now.here().stats().reserved;
            numbers
        });
        if k > 10 {
            assert!(held <= most, "{held} bytes in frame {k}");
        } else {
            most = most.max(held);
        }
        assert!(frames.with(0, |numbers| numbers.iter().all(|x| *x == k as u64)).unwrap());
    }
}
