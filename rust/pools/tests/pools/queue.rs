//! Queues against the model, and each guarantee of the documentation.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::ledger::panics;
use crate::look::{Look, Twin};
use crate::pair::Pair;
use crate::refusing::{Refuses, Refusing};
use crate::sequence_model::kinds;
use crate::sequences::{sequence_tests, Page};
use proptest::prelude::*;
use toft::{Arena, Blocks, Heap, Memory, Pages};
use toft_pools::{Columns, Queue, Rows};

sequence_tests!(Queue, push_back);

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Growth by any power of two, from any offset in the memory.
    #[test]
    fn growth_keeps_the_order(skip in 0_u32..40, len in 0_u32..=16, more in 0_usize..300) {
        let mut queue = Queue::<Pair<u32, u32>, Columns>::columns();
        queue.reserve(16);
        for _ in 0..skip {
            queue.push_back(Pair(0, 0));
            queue.pop_front();
        }
        queue.extend((0..len).map(|n| Pair(n, n)));
        queue.reserve(more);
        assert!(queue.capacity() >= queue.len() + more);
        assert!(queue.iter().map(|(a, _)| *a).eq(0..len));
        queue.shrink_to_fit();
        assert!(queue.iter().map(|(a, _)| *a).eq(0..len));
        assert!((0..len).all(|n| queue.get(n as usize) == Some((&n, &n))));
    }
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn fixed_queues_refuse_more_values() {
    let mut queue = Queue::fixed(3);
    queue.extend([1, 2, 3]);
    assert!(panics(|| queue.push_back(4)).is_err());
    assert!(panics(|| queue.push_front(4)).is_err());
    assert!(panics(|| queue.append(&mut queue.clone())).is_err());
    assert!(panics(|| queue.reserve(1)).is_err());
    assert!(panics(|| queue[3]).is_err());
    assert!(panics(|| Queue::<u64>::fixed(usize::MAX)).is_err());
    assert_eq!(queue, [1, 2, 3]);
}

#[test]
fn values_of_no_size_need_no_memory() {
    let memory = Refusing::new(Refuses::From(1));
    let mut queue = Queue::<(), Rows, _>::fixed_in(1000, &memory);
    queue.extend([(); 1000]);
    queue.truncate(304);
    queue.push_front(());
    assert_eq!((queue.len(), queue.iter().count(), queue.pop_back()), (305, 305, Some(())));
}

#[test]
fn a_queue_is_send_if_its_values_are() {
    fn sends<T: Send>() {}
    sends::<Queue<String>>();
    sends::<toft_pools::queue::Iter<'_, u8, Rows>>();
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn bytes_are_read_and_written() {
    use std::io::{BufRead, Read, Write};
    let mut queue: Queue<u8> = Queue::fixed(8);
    queue.extend(b"xxxxx");
    queue.consume(5);
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
    assert!(panics(|| fixed.consume(4)).is_err());
    assert_eq!(fixed, *b"lon");
    let mut two = [0; 2];
    assert_eq!((fixed.read(&mut two).unwrap(), two), (2, *b"lo"));
}

#[test]
fn queues_compare_by_their_values_wherever_they_begin() {
    let mut queue = Queue::fixed(4);
    queue.extend([0, 0, 1, 2]);
    assert_eq!((queue.pop_front(), queue.pop_front()), (Some(0), Some(0)));
    queue.extend([3, 4]);
    assert!(!queue.as_slices().1.is_empty());
    let mut straight = Queue::fixed(8);
    straight.extend([1, 2, 3, 4]);
    assert_eq!(queue, straight);
    assert_eq!((queue.cmp(&straight), format!("{queue:?}")), (std::cmp::Ordering::Equal, "[1, 2, 3, 4]".to_string()));
    assert_ne!(queue, [1, 2, 3]);
    queue[3] += queue[0];
    assert!(queue > straight && queue == [1, 2, 3, 5]);
    assert!((&queue).into_iter().rev().eq(&[5, 3, 2, 1]));
}
