//! `unsize!` converts what the compiler coerces, in crates without unsafe code. `ui/unsize_*` must not compile.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![forbid(unsafe_code)]

use std::any::Any;
use std::cell::Cell;
use std::fmt::{Debug, Display};
use std::rc::Rc;

use toft::{unsize, Arena, Box};

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn to_trait_objects() {
    let arena = Arena::new();
    let shown: [Box<dyn Display>; 2] =
        [unsize!(arena.boxed(1) => dyn Display), unsize!(arena.boxed(String::from("two")) => dyn Display)];
    assert_eq!(format!("{} {}", shown[0], shown[1]), "1 two");

    let any = unsize!(arena.boxed(7u32) => dyn Any + Send);
    let any = std::thread::scope(|s| s.spawn(move || *any.downcast_ref::<u32>().unwrap()).join().unwrap());
    assert_eq!(any, 7);

    let base = Cell::new(1);
    let add = unsize!(arena.boxed(|n: u32| base.replace(n) + n) => dyn Fn(u32) -> u32 + '_);
    assert_eq!((add(2), add(3), base.get()), (3, 5, 3));
}

#[test]
fn to_slices_and_to_fewer_auto_traits() {
    let arena = Arena::new();
    let numbers = unsize!(arena.boxed([1, 2, 3]) => [i32]);
    assert_eq!(numbers[..], [1, 2, 3]);
    let sent = unsize!(arena.boxed("text") => dyn Debug + Send + Sync);
    let here = unsize!(sent => dyn Debug);
    assert_eq!(format!("{here:?}"), "\"text\"");
    assert_eq!(*unsize!(arena.boxed(5) => i32), 5); // the same type
}

/// The value is dropped once, by its last box.
#[test]
fn drops_once() {
    let arena = Arena::new();
    let shared = Rc::new(1);
    let any = unsize!(arena.boxed(shared.clone()) => dyn Any);
    assert_eq!(Rc::strong_count(&shared), 2);
    drop(any);
    assert_eq!(Rc::strong_count(&shared), 1);
    let all = unsize!(arena.boxed([shared.clone(), shared.clone()]) => [Rc<i32>]);
    assert_eq!(Rc::strong_count(&shared), 3);
    drop(all);
    assert_eq!(Rc::strong_count(&shared), 1);
}
