//! Queues against the model, the calls that it has no step for, and each guarantee of the documentation.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::failing::{Failing, Shared};
use crate::ledger::panics;
use crate::look::{Look, Twin};
use crate::pair::Pair;
use crate::sequence_model::kinds;
use crate::sequences::{sequence_tests, Noted, Page};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use toft::{Arena, Blocks, Heap, Memory, Pages};
use toft_pools::{Columns, Queue, Rows};

sequence_tests!(
    Queue,
    push_back,
    ("truncate", |queue| queue.truncate(2)),
    ("drain front", |queue| drop(queue.drain(1..5))),
    ("drain back", |queue| drop(queue.drain(5..8))),
    ("drain some", |queue| drop(queue.drain(..).nth(2))),
    ("resize", |queue| {
        let value = queue.pop_front().unwrap();
        queue.resize(12, value);
        queue.rotate_right(1);
    }),
    ("resize down", |queue| {
        let value = queue.pop_back().unwrap();
        queue.resize(3, value);
    }),
    ("split off", |queue| drop(queue.split_off(4))),
);

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Growth by any power of two, from any offset in the memory.
    #[test]
    fn growth_keeps_the_order(skip in 0_u32..40, len in 0_u32..=16, more in 0_usize..300) {
        fn grows<L>(skip: u32, len: u32, more: usize, get: fn(L::Ref<'_>) -> u32)
        where
            L: toft_pools::FieldLayout<Pair<u32, u32>>,
        {
            let mut queue = Queue::<Pair<u32, u32>, L, Heap>::with_capacity_in(16, Heap);
            for _ in 0..skip {
                queue.push_back(Pair(0, 0));
                queue.pop_front();
            }
            queue.extend((0..len).map(|n| Pair(n, n)));
            queue.reserve(more);
            assert!(queue.capacity() >= queue.len() + more);
            assert!(queue.iter().map(get).eq(0..len));
            queue.shrink_to_fit();
            assert!(queue.iter().map(get).eq(0..len));
            assert!((0..len).all(|n| queue.get(n as usize).map(get) == Some(n)));
        }
        grows::<Rows>(skip, len, more, |pair| pair.0);
        grows::<Columns>(skip, len, more, |(a, _)| *a);
    }

    /// From any offset in the memory, full or not.
    #[test]
    fn a_queue_is_made_contiguous_in_place(skip in 0_u32..16, len in 0_u32..=16) {
        fn contiguous<L: toft_pools::FieldLayout<Pair<u32, u32>>>(skip: u32, len: u32, get: fn(L::Ref<'_>) -> u32) {
            let mut queue = Queue::<Pair<u32, u32>, L, Heap>::with_capacity_in(16, Heap);
            for _ in 0..skip {
                queue.push_back(Pair(0, 0));
                queue.pop_front();
            }
            queue.extend((0..len).map(|n| Pair(n, n)));
            queue.make_contiguous();
            assert!(queue.iter().map(get).eq(0..len));
            assert_eq!(queue.capacity(), 16);
        }
        contiguous::<Rows>(skip, len, |pair| pair.0);
        contiguous::<Columns>(skip, len, |(_, b)| *b);
        let mut queue = Queue::with_capacity(16);
        (0..skip).for_each(|n| { queue.push_back(n); queue.pop_front(); });
        queue.extend(0..len);
        let expected: Vec<u32> = (0..len).collect();
        assert_eq!(queue.make_contiguous(), expected);
        assert_eq!(queue.as_slices(), (&expected[..], &[][..]));
    }
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn fixed_queues_refuse_more_values() {
    let mut queue = Queue::fixed(3);
    queue.extend([1, 2, 3]);
    assert!(panics(|| queue.push_back(4)).is_err());
    assert!(panics(|| queue.push_front(4)).is_err());
    assert!(panics(|| queue.insert(1, 4)).is_err());
    assert!(panics(|| queue.resize(4, 4)).is_err());
    assert!(panics(|| queue.append(&mut Queue::from([4]))).is_err());
    assert_eq!(queue, [1, 2, 3]);
    assert!(panics(|| queue.insert(4, 0)).is_err());
    assert!(panics(|| queue.swap(0, 3)).is_err());
    assert!(panics(|| queue.rotate_left(4)).is_err());
    assert!(panics(|| queue.rotate_right(4)).is_err());
    assert!(panics(|| drop(queue.drain(2..5))).is_err());
    assert!(panics(|| queue.range(..=3).count()).is_err());
    assert!(panics(|| drop(queue.split_off(4))).is_err());
    assert!(panics(|| queue[3]).is_err());
    assert!(panics(|| Queue::<u64>::with_capacity(usize::MAX)).is_err());
    assert_eq!(queue, [1, 2, 3]);
}

#[test]
fn values_of_no_size_need_no_memory() {
    let memory = Failing::after(0);
    let mut queue = Queue::<(), Rows, _>::new_in(Shared(&memory));
    queue.resize(1000, ());
    queue.insert(500, ());
    queue.drain(3..700);
    queue.rotate_left(7);
    queue.make_contiguous();
    queue.retain(|()| true);
    assert_eq!((queue.len(), queue.iter().count(), queue.remove(9)), (304, 304, Some(())));
}

#[test]
fn a_leaked_drain_leaks_only() {
    let mut queue: Queue<Noted> = (0..5).map(Noted).collect();
    queue.rotate_left(2);
    core::mem::forget(queue.drain(1..3));
    assert_eq!(queue.len(), 1);
    queue.push_back(Noted(9));
    drop(queue);
    assert_eq!(Noted::dropped(), [2, 9]);
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn values_may_borrow_and_go_to_threads() {
    let text = String::from("a bc def");
    let mut words: Queue<&str> = text.split(' ').collect();
    words.retain(|word| word.len() > 1);
    assert_eq!(words.binary_search_by(|word| word.len().cmp(&3)), Ok(1));
    assert!(words.contains(&"bc"));
    let moved = std::thread::scope(|scope| scope.spawn(|| words.iter().count()).join().unwrap());
    assert_eq!(moved, 2);
    fn sends<T: Send>() {}
    sends::<Queue<String>>();
    sends::<toft_pools::queue::Drain<'_, String>>();
    sends::<toft_pools::queue::Iter<'_, u8, Rows>>();
}

#[test]
fn bytes_are_read_and_written() {
    use std::io::{BufRead, Read, Write};
    let mut queue: Queue<u8> = Queue::with_capacity(8);
    queue.extend(*b"xxxxx");
    queue.drain(..5);
    queue.write_all(b"one\ntwo").unwrap(); // wraps
    let mut line = String::new();
    queue.read_line(&mut line).unwrap();
    assert_eq!(line, "one\n");
    let mut rest = String::new();
    queue.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "two");
    let mut fixed: Queue<u8> = Queue::fixed(3);
    assert_eq!(fixed.write(b"long").unwrap(), 3);
    assert!(fixed.write_all(b"more").is_err());
    assert_eq!(fixed, *b"lon");
    let mut two = [0; 2];
    assert_eq!((fixed.read(&mut two).unwrap(), two), (2, *b"lo"));
}

// ---- what the model has no step for: searches, ranges, comparisons and conversions ----

/// Five platforms of a station, whose values wrap around the end of the memory.
fn platforms() -> Queue<u32> {
    let mut queue = Queue::with_capacity(8);
    queue.extend([0; 6]);
    while queue.pop_front().is_some() {}
    queue.extend(1..=5);
    assert!(!queue.as_slices().1.is_empty());
    queue
}

#[test]
fn range() {
    let queue = platforms();
    assert_eq!(queue.range(1..3).copied().collect::<Queue<_>>(), [2, 3]);
    assert_eq!(queue.range(..).count(), 5);
    assert_eq!(queue.range(3..).rev().copied().collect::<Vec<_>>(), [5, 4]);
}

#[test]
fn contains() {
    let queue = platforms();
    assert!(queue.contains(&5) && !queue.contains(&6));
}

#[test]
fn binary_search() {
    let queue: Queue<u32> = [2, 3, 3, 3, 7, 19].into();
    assert_eq!(queue.binary_search(&7), Ok(4));
    assert_eq!(queue.binary_search(&8), Err(5));
    assert_eq!(queue.binary_search(&1), Err(0));
    assert!(matches!(queue.binary_search(&3), Ok(1..=3)));
}

#[test]
fn binary_search_by() {
    let queue: Queue<u32> = [2, 3, 7, 19].into();
    assert_eq!(queue.binary_search_by(|n| n.cmp(&19)), Ok(3));
    assert_eq!(queue.binary_search_by(|_| Ordering::Less), Err(4));
}

#[test]
fn binary_search_by_key() {
    let queue: Queue<(&str, u32)> = [("a", 2), ("b", 3), ("c", 7)].into();
    assert_eq!(queue.binary_search_by_key(&7, |&(_, n)| n), Ok(2));
    assert_eq!(queue.binary_search_by_key(&4, |&(_, n)| n), Err(2));
}

#[test]
fn partition_point() {
    let queue: Queue<u32> = [2, 3, 3, 7, 19].into();
    let at = queue.partition_point(|&n| n < 7);
    assert_eq!(at, 3);
    assert!(queue.range(..at).all(|&n| n < 7) && queue.range(at..).all(|&n| n >= 7));
}

#[test]
fn resize() {
    let mut queue = platforms();
    queue.resize(2, 9);
    queue.resize(4, 9);
    assert_eq!(queue, [1, 2, 9, 9]);
}

#[test]
fn from_and_into() {
    let queue = Queue::from([1, 2, 3]);
    let same: Queue<_> = [1, 2, 3].into();
    assert_eq!(queue, same);
    let mut queue = Queue::from(vec![1, 2, 3]);
    queue.rotate_left(1);
    assert_eq!(Vec::from(queue), [2, 3, 1]);
}

#[test]
fn extend() {
    let mut queue = Queue::new();
    queue.extend(vec!["a", "b"]);
    queue.extend(["c"]);
    assert_eq!(queue, ["a", "b", "c"]);
    let mut numbers = Queue::from([1]);
    numbers.extend(&[2, 3]);
    assert_eq!(numbers, [1, 2, 3]);
}

#[test]
fn iterates_in_a_for_loop() {
    let mut queue = platforms();
    let mut sum = 0;
    for n in &queue {
        sum += n;
    }
    for n in &mut queue {
        *n += sum;
    }
    let mut seen = Vec::new();
    for n in queue {
        seen.push(n);
    }
    assert_eq!(seen, [16, 17, 18, 19, 20]);
}

#[test]
fn compares() {
    let queue = platforms();
    let straight: Queue<u32> = (1..=5).collect();
    assert_eq!(queue, straight);
    assert_eq!(queue, vec![1, 2, 3, 4, 5]);
    assert_eq!(queue, &[1, 2, 3, 4, 5][..]);
    assert_ne!(queue, [1, 2, 3, 4]);
    let later = Queue::from([1, 3]);
    assert!(queue < later);
    assert_eq!(queue.cmp(&straight), Ordering::Equal);
    let hash = |queue: &Queue<u32>| {
        let mut state = DefaultHasher::new();
        queue.hash(&mut state);
        state.finish()
    };
    assert_eq!(hash(&queue), hash(&straight));
    assert_eq!(format!("{queue:?}"), "[1, 2, 3, 4, 5]");
}

#[test]
fn index() {
    let mut queue = platforms();
    queue[4] += queue[0];
    assert_eq!(queue[4], 6);
}

#[test]
fn clone_from_another() {
    let queue = platforms();
    let mut other = Queue::from([9]);
    other.clone_from(&queue);
    assert_eq!(other, queue);
}

#[test]
fn into_iter_from_both_ends() {
    let mut iter = platforms().into_iter();
    assert_eq!((iter.next(), iter.next_back(), iter.len()), (Some(1), Some(5), 3));
    assert_eq!(iter.rev().collect::<Vec<_>>(), [4, 3, 2]);
}
