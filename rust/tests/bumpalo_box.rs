//! `toft::bumpalo::boxed::Box`: what programs that were written for bumpalo count on.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::any::Any;
use std::cell::Cell;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::pin::Pin;

use toft::bumpalo::boxed::Box;
use toft::bumpalo::Bump;

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
    // SAFETY: of a box that is not there any more.
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
