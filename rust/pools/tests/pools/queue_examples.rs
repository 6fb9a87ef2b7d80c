//! Uses of queues that the model has no step for: searches, ranges, comparisons and conversions.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use toft_pools::Queue;

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
