//! Uses of queues: for each call that `VecDeque` has as well, the example of its documentation as a test.
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
fn new() {
    let trains: Queue<&str> = Queue::new();
    assert!(trains.is_empty());
    assert_eq!(trains.capacity(), 0);
}

#[test]
fn with_capacity() {
    let trains: Queue<&str> = Queue::with_capacity(30);
    assert!(trains.is_empty() && trains.capacity() >= 30);
}

#[test]
fn get() {
    let mut trains = Queue::new();
    trains.push_back("slow");
    trains.push_back("fast");
    trains.push_front("night");
    assert_eq!(trains.get(0), Some(&"night"));
    assert_eq!(trains.get(2), Some(&"fast"));
    assert_eq!(trains.get(3), None);
}

#[test]
fn get_mut() {
    let mut queue = platforms();
    if let Some(third) = queue.get_mut(2) {
        *third = 33;
    }
    assert_eq!(queue[2], 33);
    assert!(queue.get_mut(5).is_none());
}

#[test]
fn swap() {
    let mut queue = platforms();
    queue.swap(0, 4);
    queue.swap(2, 2);
    assert_eq!(queue, [5, 2, 3, 4, 1]);
}

#[test]
fn capacity() {
    assert!(Queue::<i32>::with_capacity(10).capacity() >= 10);
}

#[test]
fn reserve() {
    let mut queue: Queue<u8> = [9].into();
    queue.reserve(12);
    assert!(queue.capacity() >= 13);
}

#[test]
fn try_reserve() {
    fn copy_of(data: &[u32]) -> Result<Queue<u32>, toft::AllocError> {
        let mut queue = Queue::new();
        queue.try_reserve(data.len())?;
        queue.extend(data.iter().map(|n| n * 2 + 5));
        Ok(queue)
    }
    assert_eq!(copy_of(&[1, 2, 3]).unwrap(), [7, 9, 11]);
    assert!(Queue::<u64>::new().try_reserve(usize::MAX).is_err());
}

#[test]
fn shrink_to_fit() {
    let mut queue = Queue::with_capacity(15);
    queue.extend(0..4);
    assert!(queue.capacity() >= 15);
    queue.shrink_to_fit();
    assert_eq!((queue.capacity(), queue), (4, [0, 1, 2, 3].into()));
}

#[test]
fn shrink_to() {
    let mut queue = Queue::with_capacity(15);
    queue.extend(0..4);
    queue.shrink_to(6);
    assert_eq!(queue.capacity(), 8);
    queue.shrink_to(0);
    assert_eq!(queue.capacity(), 4);
}

#[test]
fn truncate() {
    let mut queue = platforms();
    queue.truncate(2);
    assert_eq!(queue, [1, 2]);
    queue.truncate(9);
    assert_eq!(queue, [1, 2]);
}

#[test]
fn iter() {
    let queue = platforms();
    let collected: Vec<&u32> = queue.iter().collect();
    assert_eq!(collected, [&1, &2, &3, &4, &5]);
    assert_eq!(queue.iter().len(), 5);
}

#[test]
fn iter_mut() {
    let mut queue = platforms();
    for n in queue.iter_mut() {
        *n -= 1;
    }
    assert_eq!(queue.iter_mut().collect::<Vec<_>>(), [&mut 0, &mut 1, &mut 2, &mut 3, &mut 4]);
}

#[test]
fn as_slices() {
    let mut queue = Queue::with_capacity(8);
    queue.extend(["c", "d"]);
    assert_eq!(queue.as_slices(), (&["c", "d"][..], &[][..]));
    queue.push_front("b");
    queue.push_front("a");
    assert_eq!(queue.as_slices(), (&["a", "b"][..], &["c", "d"][..]));
}

#[test]
fn as_mut_slices() {
    let mut queue = Queue::with_capacity(4);
    queue.extend([1, 2]);
    queue.push_front(0);
    queue.as_mut_slices().0[0] = 40;
    queue.as_mut_slices().1[1] = 42;
    assert_eq!(queue.as_slices(), (&[40][..], &[1, 42][..]));
}

#[test]
fn len() {
    let mut queue = Queue::new();
    assert_eq!(queue.len(), 0);
    queue.push_back('x');
    assert_eq!(queue.len(), 1);
}

#[test]
fn is_empty() {
    let mut queue = Queue::new();
    assert!(queue.is_empty());
    queue.push_front('x');
    assert!(!queue.is_empty());
}

#[test]
fn range() {
    let queue = platforms();
    assert_eq!(queue.range(1..3).copied().collect::<Queue<_>>(), [2, 3]);
    assert_eq!(queue.range(..).count(), 5);
    assert_eq!(queue.range(3..).rev().copied().collect::<Vec<_>>(), [5, 4]);
}

#[test]
fn range_mut() {
    let mut queue = platforms();
    queue.range_mut(2..).for_each(|n| *n *= 2);
    queue.range_mut(..=1).for_each(|n| *n = 0);
    assert_eq!(queue, [0, 0, 6, 8, 10]);
}

#[test]
fn drain() {
    let mut queue = platforms();
    let taken: Queue<u32> = queue.drain(3..).collect();
    assert_eq!(taken, [4, 5]);
    assert_eq!(queue, [1, 2, 3]);
    queue.drain(..);
    assert!(queue.is_empty());
}

#[test]
fn clear() {
    let mut queue = platforms();
    queue.clear();
    assert!(queue.is_empty());
}

#[test]
fn contains() {
    let queue = platforms();
    assert!(queue.contains(&5) && !queue.contains(&6));
}

#[test]
fn front() {
    let mut queue = Queue::new();
    assert_eq!(queue.front(), None);
    queue.push_back("local");
    queue.push_back("express");
    assert_eq!(queue.front(), Some(&"local"));
}

#[test]
fn front_mut() {
    let mut queue: Queue<i32> = Queue::new();
    assert_eq!(queue.front_mut(), None);
    queue.extend([4, 5]);
    match queue.front_mut() {
        Some(n) => *n = 40,
        None => unreachable!(),
    }
    assert_eq!(queue.front(), Some(&40));
}

#[test]
fn back() {
    let mut queue = Queue::new();
    assert_eq!(queue.back(), None);
    queue.push_back("local");
    queue.push_back("express");
    assert_eq!(queue.back(), Some(&"express"));
}

#[test]
fn back_mut() {
    let mut queue: Queue<i32> = Queue::new();
    assert_eq!(queue.back_mut(), None);
    queue.extend([4, 5]);
    if let Some(n) = queue.back_mut() {
        *n = 50;
    }
    assert_eq!(queue.back(), Some(&50));
}

#[test]
fn pop_front() {
    let mut queue = Queue::from(['p', 'q']);
    assert_eq!((queue.pop_front(), queue.pop_front(), queue.pop_front()), (Some('p'), Some('q'), None));
}

#[test]
fn pop_back() {
    let mut queue = Queue::from(['p', 'q']);
    assert_eq!((queue.pop_back(), queue.pop_back(), queue.pop_back()), (Some('q'), Some('p'), None));
}

#[test]
fn push_front() {
    let mut queue = Queue::new();
    queue.push_front("rear");
    queue.push_front("lead");
    assert_eq!(queue.front(), Some(&"lead"));
}

#[test]
fn push_back() {
    let mut queue = Queue::new();
    queue.push_back("lead");
    queue.push_back("rear");
    assert_eq!(queue.back(), Some(&"rear"));
}

#[test]
fn swap_remove_front() {
    let mut queue = platforms();
    assert_eq!(queue.swap_remove_front(9), None);
    assert_eq!(queue.swap_remove_front(2), Some(3));
    assert_eq!(queue, [2, 1, 4, 5]);
}

#[test]
fn swap_remove_back() {
    let mut queue = platforms();
    assert_eq!(queue.swap_remove_back(9), None);
    assert_eq!(queue.swap_remove_back(0), Some(1));
    assert_eq!(queue, [5, 2, 3, 4]);
}

#[test]
fn insert() {
    let mut queue = platforms();
    queue.insert(1, 15);
    queue.insert(6, 60);
    queue.insert(0, 7);
    assert_eq!(queue, [7, 1, 15, 2, 3, 4, 5, 60]);
}

#[test]
fn remove() {
    let mut queue = platforms();
    assert_eq!(queue.remove(1), Some(2));
    assert_eq!(queue.remove(4), None);
    assert_eq!(queue, [1, 3, 4, 5]);
}

#[test]
fn split_off() {
    let mut queue = platforms();
    let second = queue.split_off(2);
    assert_eq!(queue, [1, 2]);
    assert_eq!(second, [3, 4, 5]);
}

#[test]
fn append() {
    let mut queue = platforms();
    let mut more = platforms();
    queue.append(&mut more);
    assert_eq!(queue, [1, 2, 3, 4, 5, 1, 2, 3, 4, 5]);
    assert!(more.is_empty());
}

#[test]
fn retain() {
    let mut queue = platforms();
    queue.retain(|&n| n % 2 == 1);
    assert_eq!(queue, [1, 3, 5]);
    // An external iterator may determine which values stay.
    let mut stays = [false, true, true].into_iter();
    queue.retain(|_| stays.next().unwrap());
    assert_eq!(queue, [3, 5]);
}

#[test]
fn retain_mut() {
    let mut queue = platforms();
    queue.retain_mut(|n| {
        *n += 10;
        *n <= 13
    });
    assert_eq!(queue, [11, 12, 13]);
}

#[test]
fn resize_with() {
    let mut queue = platforms();
    queue.resize_with(7, Default::default);
    assert_eq!(queue, [1, 2, 3, 4, 5, 0, 0]);
    queue.resize_with(2, || unreachable!());
    let mut squares = (3..).map(|n| n * n);
    queue.resize_with(4, || squares.next().unwrap());
    assert_eq!(queue, [1, 2, 9, 16]);
}

#[test]
fn make_contiguous() {
    let mut queue = platforms();
    queue.rotate_left(3);
    queue.make_contiguous().sort_unstable();
    assert_eq!(queue.as_slices(), (&[1, 2, 3, 4, 5][..], &[][..]));
    queue.make_contiguous().sort_by(|a, b| b.cmp(a));
    // A shared reference suffices if the queue is contiguous.
    if let (all, []) = queue.as_slices() {
        assert_eq!(all, [5, 4, 3, 2, 1]);
    }
}

#[test]
fn rotate_left() {
    let mut queue: Queue<u32> = (0..7).collect();
    queue.rotate_left(2);
    assert_eq!(queue, [2, 3, 4, 5, 6, 0, 1]);
    for turn in 1..7 {
        assert_eq!(queue.front(), Some(&((turn * 2) % 7)));
        queue.rotate_left(2);
    }
    assert_eq!(queue, [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn rotate_right() {
    let mut queue: Queue<u32> = (0..7).collect();
    queue.rotate_right(2);
    assert_eq!(queue, [5, 6, 0, 1, 2, 3, 4]);
    queue.rotate_right(5);
    assert_eq!(queue, [0, 1, 2, 3, 4, 5, 6]);
    queue.rotate_right(7);
    assert_eq!(queue, [0, 1, 2, 3, 4, 5, 6]);
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
fn binary_search_finds_the_insertion_point() {
    let mut queue: Queue<u32> = [2, 3, 7, 19].into();
    let at = queue.binary_search(&5).unwrap_or_else(|at| at);
    queue.insert(at, 5);
    assert_eq!(queue, [2, 3, 5, 7, 19]);
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
