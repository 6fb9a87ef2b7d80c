//! `toft_bumpalo::boxed::Box` as programs that were written for bumpalo use it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::any::Any;
use std::cell::Cell;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::pin::Pin;

use toft_bumpalo::boxed::Box;
use toft_bumpalo::Bump;

struct Counts<'a>(&'a Cell<u32>);

impl Drop for Counts<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn values_are_dropped_once() {
    let (bump, drops) = (Bump::new(), Cell::new(0));
    drop(Box::new_in(Counts(&drops), &bump));
    assert_eq!(drops.get(), 1);
    let value = Box::into_inner(Box::new_in(Counts(&drops), &bump));
    assert_eq!(drops.get(), 1);
    drop(value);
    assert_eq!(drops.get(), 2);
    Box::leak(Box::new_in(Counts(&drops), &bump));
    let raw = Box::into_raw(Box::new_in(Counts(&drops), &bump));
    assert_eq!(drops.get(), 2);
    // SAFETY: the pointer of a box that was consumed.
    drop(unsafe { Box::from_raw(raw) });
    assert_eq!(drops.get(), 3);
    drop(Box::from_iter_in((0..5).map(|_| Counts(&drops)), &bump));
    assert_eq!(drops.get(), 8);
}

#[test]
fn trait_objects() {
    let bump = Bump::new();
    let calls = Cell::new(0);
    let closure = Box::into_raw(Box::new_in(|n: u32| calls.set(calls.get() + n), &bump));
    // SAFETY: the same value.
    let closure: Box<dyn Fn(u32)> = unsafe { Box::from_raw(closure) };
    closure(3);
    closure(4);
    assert_eq!(calls.get(), 7);

    let any = Box::into_raw(Box::new_in(5u8, &bump));
    // SAFETY: the same value.
    let any: Box<dyn Any + Send> = unsafe { Box::from_raw(any) };
    let any = any.downcast::<u16>().unwrap_err();
    assert_eq!(*any.downcast::<u8>().unwrap(), 5);
}

#[test]
fn arrays_and_slices() {
    let bump = Bump::new();
    let slice: Box<[i32]> = Box::new_in([1, 2, 3], &bump).into();
    let slice = Box::<[i32; 2]>::try_from(slice).unwrap_err();
    assert_eq!(*Box::<[i32; 3]>::try_from(slice).unwrap(), [1, 2, 3]);
    assert_eq!(Box::<[i32]>::default().len(), 0);
    assert_eq!(&*Box::<str>::default(), "");
}

#[test]
fn traits() {
    let bump = Bump::new();
    let hash = |b: &dyn Fn(&mut DefaultHasher)| {
        let mut state = DefaultHasher::new();
        b(&mut state);
        state.finish()
    };
    let seven = Box::new_in(7, &bump);
    assert_eq!(hash(&|s| seven.hash(s)), hash(&|s| 7.hash(s)));
    let mut hasher = Box::new_in(DefaultHasher::new(), &bump);
    7.hash(&mut hasher);
    assert_eq!(hasher.finish(), hash(&|s| 7.hash(s)));
    assert!(seven < Box::new_in(8, &bump));
    let mut numbers = Box::new_in(0..3, &bump);
    assert_eq!((numbers.next(), numbers.next_back(), numbers.len()), (Some(0), Some(2), 1));
    let pinned: Pin<Box<i32>> = Box::pin_in(1, &bump);
    let also: Pin<Box<i32>> = Box::new_in(1, &bump).into();
    assert_eq!(pinned, also);
    let other = Bump::new();
    assert_eq!(Box::new_in(1, &bump), Box::new_in(1, &other));
}

/// A box's raw pointer may be written through, and a leaked box lives as long as the arena.
#[test]
fn raw_pointers_and_leaked_boxes() {
    let bump = Bump::new();
    let raw = Box::into_raw(Box::new_in([1, 2], &bump));
    // SAFETY: the box was consumed, and its value has no other reference.
    let value = unsafe { &mut *raw };
    value[0] += 6;
    // SAFETY: the pointer of a box that was consumed; the reference is not used again.
    let boxed: Box<[i32; 2]> = unsafe { Box::from_raw(raw) };
    assert_eq!(*boxed, [7, 2]);
    let leaked: &mut [i32] = Box::leak(boxed.into());
    leaked.reverse();
    assert_eq!(leaked, [2, 7]);
    let mut text = Box::new_in("plot".to_string(), &bump);
    text.push('s');
    *text = text.to_uppercase();
    assert_eq!((&**text, format!("{text} {text:?}")), ("PLOTS", "PLOTS \"PLOTS\"".to_string()));
}

/// A box is `Send` and `Sync` if its value is, and covariant in its lifetime.
#[test]
fn boxes_are_sent_shared_and_shortened() {
    fn send_sync<T: Send + Sync + ?Sized>(_: &T) {}
    fn both<'short>(a: Box<'short, &'short str>, b: Box<'short, &'short str>) -> usize {
        a.len() + b.len()
    }
    let bump = Bump::new();
    let word = String::from("three");
    let (short, long): (Box<&str>, Box<&'static str>) = (Box::new_in(&word[..], &bump), Box::new_in("four", &bump));
    send_sync(&short);
    send_sync::<Box<str>>(&Box::default());
    send_sync::<Box<[u8]>>(&Box::default());
    assert_eq!(both(short, long), 9);
    let boxed = Box::new_in(5, &bump);
    assert_eq!(std::thread::scope(|s| s.spawn(|| *boxed + 1).join().unwrap()), 6);
}

/// A future that is `Unpin` is polled in its box, and any other in a pinned box.
#[test]
fn futures() {
    use std::future::Future;
    use std::task::{Context, Poll, Waker};

    struct Twice(u8);
    impl Future for Twice {
        type Output = u8;
        fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u8> {
            self.0 += 1;
            if self.0 < 2 {
                Poll::Pending
            } else {
                Poll::Ready(self.0)
            }
        }
    }
    let bump = Bump::new();
    let cx = &mut Context::from_waker(Waker::noop());
    let mut plain = Box::new_in(Twice(0), &bump);
    assert_eq!((Pin::new(&mut plain).poll(cx), Pin::new(&mut plain).poll(cx)), (Poll::Pending, Poll::Ready(2)));
    let mut pinned = Box::pin_in(Twice(0), &bump);
    assert_eq!((pinned.as_mut().poll(cx), pinned.as_mut().poll(cx)), (Poll::Pending, Poll::Ready(2)));
    let mut object = Box::from(
        toft::unsize!(toft::Box::from(Box::new_in(std::future::ready(3), &bump)) => dyn Future<Output = i32> + Unpin),
    );
    assert_eq!(Pin::new(&mut object).poll(cx), Poll::Ready(3));
}

#[test]
fn errors_hashers_and_ranges() {
    let bump = Bump::new();
    let error = Box::new_in("x".parse::<u8>().unwrap_err(), &bump);
    let error: &dyn std::error::Error = &error;
    assert_eq!(error.to_string(), "x".parse::<u8>().unwrap_err().to_string());
    let (mut boxed, mut plain) = (Box::new_in(DefaultHasher::new(), &bump), DefaultHasher::new());
    fn write(h: &mut impl Hasher) {
        h.write(b"bytes");
        h.write_u8(1);
        h.write_u16(2);
        h.write_u32(3);
        h.write_u64(4);
        h.write_u128(5);
        h.write_usize(6);
        h.write_i8(-1);
        h.write_i16(-2);
        h.write_i32(-3);
        h.write_i64(-4);
        h.write_i128(-5);
        h.write_isize(-6);
    }
    write(&mut boxed);
    write(&mut plain);
    assert_eq!(boxed.finish(), plain.finish());
    assert_eq!(Box::new_in(0..4, &bump).rev().nth(1), Some(2));
    let any = Box::from(toft::unsize!(toft::Box::from(Box::new_in(5u8, &bump)) => dyn Any));
    assert_eq!(*any.downcast::<u8>().unwrap(), 5);
}

/// An iterator that panics: the values yielded before are dropped, and the memory is freed.
#[test]
fn a_slice_whose_iterator_panics() {
    let (bump, drops) = (Bump::new(), Cell::new(0));
    let make = || {
        Box::from_iter_in((0..5).map(|i| if i < 3 { Counts(&drops) } else { panic!("the fourth") }), &bump);
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(make)).is_err());
    assert_eq!((drops.get(), bump.allocated_bytes()), (3, 0));
}

/// Boxes in a vector, through every call that moves or drops them: each value is dropped once, at the right call.
#[test]
fn vectors_of_boxes() {
    struct Noted<'a>(u32, &'a std::cell::RefCell<Vec<u32>>);
    impl Drop for Noted<'_> {
        fn drop(&mut self) {
            self.1.borrow_mut().push(self.0);
        }
    }
    let (bump, log) = (Bump::new(), std::cell::RefCell::new(Vec::new()));
    let mut ours = toft_bumpalo::collections::Vec::new_in(&bump);
    let mut theirs: Vec<u32> = Vec::new();
    let mut dice = 7u32;
    let mut expected = Vec::new();
    for step in 0..if cfg!(miri) { 60 } else { 2000 } {
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let at = (dice >> 8) as usize % (theirs.len() + 1);
        match dice >> 29 {
            0..4 => {
                ours.push(Box::new_in(Noted(step, &log), &bump));
                theirs.push(step);
            }
            4 => {
                assert_eq!(ours.pop().map(|b| b.0), theirs.last().copied());
                expected.extend(theirs.pop());
            }
            5 if at < theirs.len() => {
                assert_eq!(Box::into_inner(ours.remove(at)).0, theirs[at]);
                expected.push(theirs.remove(at));
            }
            6 if at < theirs.len() => {
                ours.swap_remove(at);
                expected.push(theirs.swap_remove(at));
            }
            _ => {
                ours.truncate(at.max(theirs.len() / 2));
                expected.extend(theirs.drain(at.max(theirs.len() / 2)..));
            }
        }
        assert!(ours.iter().map(|b| b.0).eq(theirs.iter().copied()));
        assert_eq!(*log.borrow(), expected);
    }
    drop(ours);
    expected.extend(theirs);
    assert_eq!(*log.borrow(), expected);
}
