//! Queues against the model, and each guarantee of their documentation. What the model has no step for is in
//! queue_examples.rs.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::failing::{Failing, Shared};
use crate::ledger::panics;
use crate::look::{Look, Twin};
use crate::pair::Pair;
use crate::sequence_model::kinds;
use crate::sequences::{sequence_tests, Noted, Page};
use proptest::prelude::*;
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
