//! Each allocation is refused in turn: an error, and the same call succeeds afterwards.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use toft_frozen::{freeze_to_vec, Freeze, Frozen, FrozenError, FrozenHashMap, MapBuilder};

thread_local! {
    /// How many allocations succeed. Negative: all.
    static LEFT: Cell<isize> = const { Cell::new(-1) };
}

struct Refusing;

fn is_refused() -> bool {
    LEFT.with(|left| {
        let count = left.get();
        left.set(if count > 0 { count - 1 } else { count });
        count == 0
    })
}

// SAFETY: the system's, or null.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static REFUSING: Refusing = Refusing;

/// How many allocations are refused before the call succeeds.
fn refusals<T>(mut call: impl FnMut() -> Result<T, FrozenError>) -> isize {
    for count in 0.. {
        LEFT.set(count);
        let result = call();
        LEFT.set(-1);
        match result {
            Ok(_) => return count,
            Err(FrozenError::Memory) => {}
            Err(error) => panic!("{error} after {count} allocations"),
        }
    }
    unreachable!()
}

#[derive(Freeze)]
struct Node<'a> {
    next: Option<&'a Node<'a>>,
    names: &'a [&'a str],
    map: FrozenHashMap<'a, &'a str, u32>,
}

#[test]
fn each_refused_allocation_is_an_error() {
    let long = "a name of more than 512 bytes".repeat(20);
    let names: Vec<&str> = vec![&long; 40];
    let mut builder = MapBuilder::new();
    assert!(refusals(|| builder.insert(&long[..], 1)) >= 1);
    ["one", "two", "three"].into_iter().for_each(|name| builder.insert(name, 2).unwrap());
    let mut again = builder.clone();
    assert!(refusals(|| again.hash_map().map(drop)) >= 5);
    let map = builder.hash_map().unwrap();
    let arena = toft::Arena::new();
    let list = (0..40).fold(None, |next, _| Some(&*arena.alloc(Node { next, names: &names, map })));
    let root = list.unwrap();
    assert!(refusals(|| freeze_to_vec(root, "nodes")) >= 4);
    let bytes = freeze_to_vec(root, "nodes").unwrap();
    assert!(refusals(|| Frozen::<Node>::from_bytes_checked(&bytes, "nodes")) >= 4);
    // SAFETY: written with this type.
    assert!(refusals(|| unsafe { Frozen::<Node>::from_bytes(&bytes, "nodes") }) >= 2);
    let map = again.hash_map().unwrap();
    assert_eq!((map.get("two"), map.get(&long[..]), map.len()), (Some(&2), Some(&1), 4));
}
