//! `toft_bumpalo::collections::Vec`, compared with the standard library's.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::cell::RefCell;
use std::io::Write;
use std::iter::repeat;
use std::panic::{catch_unwind, AssertUnwindSafe};

use toft_bumpalo::boxed::Box;
use toft_bumpalo::collections::{CollectIn, CollectionAllocErr, Vec};
use toft_bumpalo::{self as bumpalo, Bump};

fn panics(f: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
}

// ---- each call ----

#[test]
fn making() {
    let bump = Bump::new();
    let empty: Vec<u64> = Vec::new_in(&bump);
    assert_eq!((empty.len(), empty.capacity(), bump.allocated_bytes()), (0, 0, 0));
    assert!(Vec::<u8>::with_capacity_in(11, &bump).capacity() >= 11);
    assert_eq!(bumpalo::vec![in &bump; 1, 2, 3,], [1, 2, 3]);
    assert_eq!(bumpalo::vec![in &bump; "x".to_string(); 2], ["x", "x"]);
    assert_eq!(bumpalo::vec![in &bump; (); 0].len(), 0);
    let none: Vec<u8> = bumpalo::vec![in &bump;];
    assert!(none.is_empty());
    assert_eq!((0..4).collect_in::<Vec<_>>(&bump), [0, 1, 2, 3]);
    assert_eq!(&*(0..4).collect_in::<Box<[_]>>(&bump), [0, 1, 2, 3]);
    assert_eq!([Some(1), None, Some(3)].into_iter().collect_in::<Option<Vec<_>>>(&bump), None);
    assert_eq!([Some(1)].into_iter().collect_in::<Option<Vec<_>>>(&bump).unwrap(), [1]);
    assert_eq!([Ok(1), Err('e')].into_iter().collect_in::<Result<Vec<_>, _>>(&bump), Err('e'));
    const N: i32 = 5; // the macro is hygienic
    let n = 6;
    assert_eq!(bumpalo::vec![in &bump; N, n], [5, 6]);
    let mixed: Vec<&dyn std::fmt::Debug> = bumpalo::vec![in &bump; &1, &"a"];
    assert_eq!(format!("{mixed:?}"), r#"[1, "a"]"#);
}

#[test]
fn parts() {
    let bump = Bump::new();
    let mut v = std::mem::ManuallyDrop::new(bumpalo::vec![in &bump; 1, 2]);
    // SAFETY: the parts of a forgotten Vec.
    let mut v = unsafe { Vec::from_raw_parts_in(v.as_mut_ptr(), v.len(), v.capacity(), v.bump()) };
    v.push(3);
    assert_eq!(v, [1, 2, 3]);
}

#[test]
fn growing_at_the_tip() {
    let bump = Bump::new();
    let mut v = bumpalo::vec![in &bump; 0u32];
    let at = v.as_ptr();
    v.extend(1..500);
    assert_eq!(v.as_ptr(), at);
    v.shrink_to_fit();
    assert_eq!(bump.allocated_bytes(), 2000);
    let other = bump.alloc(1);
    v.push(500);
    assert_ne!(v.as_ptr(), at);
    assert!(v.iter().copied().eq(0..=500));
    assert_eq!(*other, 1);
    drop(v);
    assert_eq!(bump.allocated_bytes(), 2008); // the unused end was freed
}

#[test]
fn slices_of_the_arena_have_no_unused_capacity() {
    let bump = Bump::new();
    let mut v = Vec::with_capacity_in(100, &bump);
    v.extend_from_slice(&[1u64, 2]);
    let slice = v.into_bump_slice_mut();
    slice[0] = 7;
    let boxed = Vec::from_iter_in((0..9u64).filter(|n| n % 3 == 0), &bump).into_boxed_slice();
    assert_eq!((&*slice, &*boxed, bump.allocated_bytes()), (&[7, 2][..], &[0, 3, 6][..], 40));
    assert!(Vec::<u8>::with_capacity_in(50, &bump).into_bump_slice().is_empty());
    assert_eq!(bump.allocated_bytes(), 40);
}

#[test]
fn dropping_a_large_vec_frees_its_block() {
    let bump = Bump::new();
    let before = bump.allocated_bytes();
    drop(Vec::<u64>::with_capacity_in(1 << 20, &bump));
    assert_eq!(bump.allocated_bytes(), before);
}

#[test]
fn capacity_of_growing_vecs() {
    let bump = Bump::new();
    let mut v: Vec<u16> = Vec::new_in(&bump);
    assert_eq!(v.try_reserve(usize::MAX), Err(CollectionAllocErr::CapacityOverflow));
    assert_eq!(v.try_reserve_exact(isize::MAX as usize / 2), Err(CollectionAllocErr::AllocErr));
    v.reserve_exact(3);
    assert!(v.capacity() >= 3);
    v.push(1);
    bump.set_allocation_limit(Some(bump.allocated_bytes() + 8));
    assert_eq!(v.try_reserve(1000), Err(CollectionAllocErr::AllocErr));
    v.extend([2, 3, 4, 5, 6, 7, 8]); // the limit leaves less than twice the capacity: the rest is used to its end
    panics(|| v.push(9));
    assert_eq!(v, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(v.write_all_of(&bump), std::io::ErrorKind::OutOfMemory);
}

trait WriteAll {
    fn write_all_of(&self, bump: &Bump) -> std::io::ErrorKind;
}

impl WriteAll for Vec<'_, u16> {
    fn write_all_of(&self, bump: &Bump) -> std::io::ErrorKind {
        Vec::new_in(bump).write_all(&[1; 100]).unwrap_err().kind()
    }
}

#[test]
fn bytes_are_written() {
    let bump = Bump::new();
    let mut v = Vec::new_in(&bump);
    assert_eq!((v.write(&[]).unwrap(), v.write(&[1]).unwrap()), (0, 1));
    write!(v, "{}", 23).unwrap();
    v.flush().unwrap();
    assert_eq!(v, *b"\x0123");
}

#[test]
fn indices() {
    let bump = Bump::new();
    let mut v = bumpalo::vec![in &bump; 1, 2, 3];
    panics(|| v.insert(4, 0));
    panics(|| assert_eq!(v.remove(3), 0));
    panics(|| assert_eq!(v.swap_remove(3), 0));
    panics(|| drop(v.drain(2..4)));
    panics(|| drop(v.drain((std::ops::Bound::Excluded(usize::MAX), std::ops::Bound::Unbounded))));
    panics(|| drop(v.split_off(4)));
    assert_eq!((v[0], &v[1..], v.get(3)), (1, &[2, 3][..], None));
    v[0] = 9;
    assert_eq!(v, [9, 2, 3]);
}

#[test]
fn comparing() {
    let (bump, other) = (Bump::new(), Bump::new());
    let v = bumpalo::vec![in &bump; 1, 2];
    let w = bumpalo::vec![in &other; 1, 2];
    let mut array = [1, 2];
    assert!(v == w && v == array && v == &array[..]);
    assert!(matches!((&array, &[1, 2][..]), (a, b) if v == a && v == b));
    assert!(matches!(&mut array, a if v == a));
    assert!(matches!(&mut array[..], a if v == a));
    assert!(v < bumpalo::vec![in &bump; 1, 3] && v.cmp(&w).is_eq());
    let mut set = std::collections::HashSet::new();
    set.insert(v.clone());
    assert!(set.contains(&[1, 2][..]));
    let mut x = bumpalo::vec![in &bump; 5, 6, 7];
    x.clone_from(&v);
    assert_eq!(x, v);
}

#[test]
fn iterators_send_and_show() {
    fn send_sync<T: Send + Sync>(_: &T) {}
    let bump = Bump::new();
    let mut v = bumpalo::vec![in &bump; 1, 2, 3];
    let drain = v.drain(1..);
    send_sync(&drain);
    assert_eq!(format!("{drain:?}"), "Drain([2, 3])");
    drop(drain);
    let mut iter = bumpalo::vec![in &bump; 1, 2, 3, 4].into_iter();
    send_sync(&iter);
    assert_eq!((iter.next_back(), iter.nth(1), iter.len()), (Some(4), Some(2), 1));
    iter.as_mut_slice()[0] = 7;
    assert_eq!(format!("{iter:?}"), "IntoIter([7])");
    assert_eq!((iter.nth(3), iter.next()), (None, None));
    for n in &mut v {
        *n += 1;
    }
    assert_eq!((&v).into_iter().collect::<std::vec::Vec<_>>(), [&2]);
}

#[test]
fn zero_sized_types() {
    let bump = Bump::new();
    let mut v = bumpalo::vec![in &bump; (); 3];
    v.push(());
    v.insert(1, ());
    v.remove(0);
    assert_eq!((v.len(), v.drain(1..3).count(), v.len(), v.capacity()), (4, 2, 2, usize::MAX));
    v.extend([(), ()]);
    v.retain(|()| true);
    assert_eq!(v.drain_filter(|()| true).count(), 4);
    assert_eq!(v.try_reserve(usize::MAX), Ok(()));
    v.push(());
    assert_eq!(v.try_reserve(usize::MAX), Err(CollectionAllocErr::CapacityOverflow));
    assert_eq!(v.into_iter().count(), 1);
    assert_eq!(bump.allocated_bytes(), 0);
}

#[test]
fn large_alignments() {
    #[derive(Clone, Copy)]
    #[repr(align(128))]
    struct Wide(u8);
    let bump = Bump::new();
    let mut v = Vec::new_in(&bump);
    for i in 0..100 {
        bump.alloc(i);
        v.push(Wide(i));
        assert_eq!(v.as_ptr() as usize % 128, 0);
    }
    assert!(v.iter().map(|w| w.0).eq(0..100));
}

#[test]
fn vecs_may_refer_to_each_other() {
    struct Node<'a>(RefCell<Vec<'a, &'a Node<'a>>>);
    let bump = Bump::new();
    let (a, b): (&Node, &Node) =
        (bump.alloc(Node(RefCell::new(Vec::new_in(&bump)))), bump.alloc(Node(RefCell::new(Vec::new_in(&bump)))));
    a.0.borrow_mut().extend([a, b]);
    b.0.borrow_mut().push(a);
    assert_eq!(a.0.borrow()[1].0.borrow().len(), 1);
}

#[test]
fn others_may_allocate_while_it_is_filled() {
    let bump = Bump::new();
    let v = Vec::from_iter_in((0..300).map(|i| bump.alloc(i)), &bump);
    let v = Vec::from_iter_in(v.into_iter().filter(|i| **i % 2 == 0).map(|i| (bump.alloc(*i), i)), &bump);
    assert!(v.iter().map(|(a, b)| (**a, **b)).eq((0..300).step_by(2).map(|i| (i, i))));
    let mut grown = Vec::new_in(&bump);
    bump.as_ref().scope(|scope| {
        for i in 0..1000 {
            grown.push(i);
            scope.alloc(u64::MAX);
        }
    });
    assert!(grown.iter().copied().eq(0..1000));
}

#[test]
fn copies_are_added_at_the_end() {
    let bump = Bump::new();
    let mut dice = 11u64;
    let mut below = |n: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % n
    };
    for round in 0..if cfg!(miri) { 3 } else { 60 } {
        let slices: std::vec::Vec<std::vec::Vec<u32>> =
            (0..below(8)).map(|_| (0..below(if round % 7 == 0 { 2000 } else { 9 }) as u32).collect()).collect();
        let slices: std::vec::Vec<&[u32]> = slices.iter().map(|s| &s[..]).collect();
        let (mut by_one, mut at_once, mut cloned) = (Vec::new_in(&bump), Vec::new_in(&bump), Vec::new_in(&bump));
        slices.iter().for_each(|s| by_one.extend_from_slice_copy(s));
        at_once.extend_from_slices_copy(&slices);
        slices.iter().for_each(|s| cloned.extend_from_slice(s));
        let all = slices.concat();
        assert!(by_one == &all[..] && at_once == &all[..] && cloned == &all[..]);
        assert!(at_once.capacity() == all.len() || all.len() < 4, "capacity was reserved once");
        at_once.extend_from_slices_copy(&[]);
        at_once.extend_from_slices_copy(&[&[], &[]]);
        assert_eq!(at_once, by_one);
    }
    // There may be more zero-sized elements than `usize` can count.
    let mut nothing: Vec<()> = Vec::new_in(&bump);
    let most = &[(); usize::MAX][..];
    panics(|| nothing.extend_from_slices_copy(&[most, &[(); 2]]));
    assert_eq!(nothing.len(), 0);
    nothing.extend_from_slice_copy(&[(); 3]);
    panics(|| nothing.extend_from_slices_copy(&[most, most]));
    panics(|| nothing.extend_from_slice_copy(most));
    assert_eq!(nothing.len(), 3);
    nothing.extend_from_slices_copy(&[&most[3..]]);
    assert_eq!(nothing.len(), usize::MAX);
    panics(|| nothing.push(()));
    panics(|| nothing.insert(0, ()));
    assert_eq!((nothing.pop(), nothing.len()), (Some(()), usize::MAX - 1));
}

/// The first capacity is the requested one, and so is one above twice the capacity; smaller requests double it.
#[test]
fn capacity_grows_by_doubling_or_as_requested() {
    let bump = Bump::new();
    let mut v: Vec<u32> = Vec::new_in(&bump);
    v.reserve(0);
    assert_eq!(v.capacity(), 0);
    v.reserve(9);
    assert_eq!(v.capacity(), 9);
    v.resize(9, 0);
    v.reserve(90);
    assert_eq!(v.capacity(), 99);
    v.reserve(90); // within the capacity
    assert_eq!(v.capacity(), 99);
    v.resize(99, 0);
    v.reserve(1);
    assert_eq!(v.capacity(), 198);
    v.reserve_exact(100);
    assert_eq!(v.capacity(), 199);
    assert_eq!((v.try_reserve_exact(100), v.capacity()), (Ok(()), 199));
    let mut rooms = std::vec::Vec::new();
    let mut v = Vec::new_in(&bump);
    for i in 0..if cfg!(miri) { 500 } else { 10_000 } {
        v.push(i);
        if rooms.last() != Some(&v.capacity()) {
            bump.alloc(0u8); // so that the next growth moves
            rooms.push(v.capacity());
        }
    }
    assert!(rooms.len() < 15 && rooms.windows(2).all(|w| w[1] >= 2 * w[0]), "{rooms:?}");
}

/// Grows and shrinks over the ends of blocks, at the cursor and elsewhere, with all unused capacity freed each time.
#[test]
fn resizing_back_and_forth() {
    let bump = Bump::new();
    let mut v = bumpalo::vec![in &bump; 0u8; 0];
    let mut others: std::vec::Vec<&mut [u8]> = std::vec::Vec::new();
    let most = if cfg!(miri) { 3000 } else { 1 << 15 };
    for (i, n) in [128, 5000, 129, 4000, 4097, 1, 0, 300, most, 128, most].into_iter().enumerate() {
        let kept = n.min(v.len());
        let before = v[..kept].to_vec();
        v.resize(n, i as u8);
        v.shrink_to_fit();
        assert!(v[..kept] == before && v[kept..].iter().all(|b| *b == i as u8));
        assert!(v.capacity() >= n);
        if i % 3 == 1 {
            others.push(bump.alloc_slice_fill_copy(50, i as u8));
        }
        assert!(others.iter().all(|o| o.iter().all(|b| *b == o[0])));
    }
}

/// The macro evaluates its count once, and its element once unless the count is 0; the last element is the value
/// itself.
#[test]
fn the_macro_evaluates_its_arguments_once() {
    struct Clones<'a>(&'a std::cell::Cell<u32>);
    impl Clone for Clones<'_> {
        fn clone(&self) -> Self {
            self.0.set(self.0.get() + 1);
            Clones(self.0)
        }
    }
    let (bump, clones) = (Bump::new(), std::cell::Cell::new(0));
    let mut counted = 0;
    let mut count = |n: usize| {
        counted += 1;
        n
    };
    assert_eq!(bumpalo::vec![in &bump; Clones(&clones); count(4)].len(), 4);
    assert_eq!(clones.take(), 3);
    assert_eq!(bumpalo::vec![in &bump; Clones(&clones); count(1)].len(), 1);
    assert_eq!((clones.take(), counted), (0, 2));
}

#[test]
fn neighbours_with_equal_keys() {
    let bump = Bump::new();
    for numbers in [&[][..], &[1], &[10, 11, 12, 20, 21, 10], &[5, 5, 5], &[1, 20, 30]] {
        let (mut ours, mut theirs) = (Vec::from_iter_in(numbers.iter().copied(), &bump), numbers.to_vec());
        ours.dedup_by_key(|n| *n / 10);
        theirs.dedup_by_key(|n| *n / 10);
        assert_eq!(ours, &theirs[..]);
        // The later element is the first argument, and both may be changed.
        let mut pairs = std::vec::Vec::new();
        let (mut ours, mut theirs) = (Vec::from_iter_in(numbers.iter().copied(), &bump), numbers.to_vec());
        ours.dedup_by(|a, b| {
            pairs.push((*a, *b));
            *b += 1;
            *a % 2 == 1
        });
        let mut pairs = pairs.into_iter();
        theirs.dedup_by(|a, b| {
            assert_eq!(pairs.next(), Some((*a, *b)));
            *b += 1;
            *a % 2 == 1
        });
        assert_eq!((ours.as_slice(), pairs.next()), (&theirs[..], None));
    }
}

/// Wrong size hints, too small and too large. An iterator that would continue after its end is not called again.
#[test]
fn iterators_with_wrong_size_hints() {
    struct WrongHint(usize, std::vec::IntoIter<Option<u8>>);
    impl Iterator for WrongHint {
        type Item = u8;
        fn next(&mut self) -> Option<u8> {
            self.1.next().flatten()
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            (self.0, Some(self.0))
        }
    }
    let values = || std::vec![Some(1), Some(2), Some(3), None, Some(9)].into_iter();
    let bump = Bump::new();
    for promise in [0, 1, 3, 100] {
        let mut v = Vec::from_iter_in(WrongHint(promise, values()), &bump);
        assert_eq!(v, [1, 2, 3]);
        v.splice(1..2, WrongHint(promise, values()));
        assert_eq!(v, [1, 1, 2, 3, 3]);
        v.extend(WrongHint(promise, values()));
        assert_eq!(v, [1, 1, 2, 3, 3, 1, 2, 3]);
        v.splice(8.., WrongHint(promise, values()));
        assert_eq!((v.len(), v.last()), (11, Some(&3)));
    }
    let mut v = bumpalo::vec![in &bump; 1, 2, 3];
    panics(|| v.extend(WrongHint(usize::MAX, values())));
    assert_eq!(v, [1, 2, 3]);
    panics(|| drop(v.splice(0..1, WrongHint(usize::MAX, values()))));
    assert_eq!(v, [1, 2, 3]); // the first one filled the gap
    panics(|| drop(Vec::from_iter_in(WrongHint(usize::MAX, values()), &bump)));
}

// ---- destructors and panics ----

/// Logs its drop by number; panics if its number is the fatal one.
#[derive(Clone)]
struct Item<'l>(u32, &'l Log);

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.1.dropped.borrow_mut().push(self.0);
        assert_ne!(self.0, self.1.fatal, "fatal");
    }
}

impl PartialEq for Item<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 / 2 == other.0 / 2
    }
}

struct Log {
    dropped: RefCell<std::vec::Vec<u32>>,
    fatal: u32,
}

impl Log {
    fn new(fatal: u32) -> Log {
        Log { dropped: RefCell::default(), fatal }
    }

    fn items<'b>(&'b self, bump: &'b Bump, n: u32) -> Vec<'b, Item<'b>> {
        Vec::from_iter_in((0..n).map(|i| Item(i, self)), bump)
    }

    fn dropped(&self) -> std::vec::Vec<u32> {
        let mut log = self.dropped.take();
        log.sort();
        log
    }
}

const SAFE: u32 = u32::MAX;

fn numbers(v: &[Item]) -> std::vec::Vec<u32> {
    v.iter().map(|item| item.0).collect()
}

#[test]
fn elements_are_dropped_once() {
    type Job = for<'a, 'b> fn(&'a mut Vec<'b, Item<'b>>);
    let jobs: [Job; 14] = [
        |_| {},
        |v| v.truncate(3),
        |v| v.clear(),
        |v| drop(v.pop()),
        |v| drop(v.pop_if(|i| i.0 == 9)),
        |v| drop(v.remove(2)),
        |v| drop(v.swap_remove(2)),
        |v| v.retain(|i| i.0 % 3 == 0),
        |v| v.dedup(),
        |v| drop(v.drain(2..5)),
        |v| drop(v.drain(2..5).next_back()),
        |v| drop(v.drain_filter(|i| i.0 % 3 == 0)),
        |v| drop(v.split_off(4)),
        |v| drop(v.drain_filter(|i| i.0 > 2).next()),
    ];
    for job in jobs {
        let (bump, log) = &(Bump::new(), Log::new(SAFE));
        let mut v = log.items(bump, 10);
        job(&mut v);
        drop(v);
        assert_eq!(log.dropped(), (0..10).collect::<std::vec::Vec<_>>());
    }
    let (bump, log) = &(Bump::new(), Log::new(SAFE));
    let _ = log.items(bump, 3).into_bump_slice();
    assert!(log.dropped().is_empty());
    drop(log.items(bump, 3).into_boxed_slice());
    drop(log.items(bump, 5).into_iter().nth(1));
    assert_eq!(log.dropped(), [0, 0, 1, 1, 2, 2, 3, 4]);
    let mut v = log.items(bump, 2);
    v.append(&mut log.items(bump, 3));
    assert_eq!(numbers(&v), [0, 1, 0, 1, 2]);
    v.splice(1..2, log.items(bump, 4).into_iter().skip(2));
    assert_eq!(numbers(&v), [0, 2, 3, 0, 1, 2]);
    v.resize(2, Item(7, log));
    v.resize(4, Item(8, log));
    assert_eq!(numbers(&v), [0, 2, 8, 8]);
}

#[test]
fn closures_that_panic() {
    type Job = for<'a, 'b> fn(&'a mut Vec<'b, Item<'b>>);
    let jobs: [(Job, &[u32], &[u32]); 6] = [
        (|v| v.retain(|i| i.0 != 1 && (i.0 != 4 || panic!())), &[0, 2, 3, 4, 5], &[1]),
        (|v| v.retain_mut(|i| i.0 > 1 && (i.0 != 4 || panic!())), &[2, 3, 4, 5], &[0, 1]),
        (|v| v.dedup_by(|a, b| a.0 / 2 == b.0 / 2 && (a.0 != 3 || panic!())), &[0, 2, 3, 4, 5], &[1]),
        (|v| v.drain_filter(|i| i.0 == 1 || (i.0 == 4 && panic!())).for_each(drop), &[0, 2, 3, 4, 5], &[1]),
        (
            |v| v.extend((0..9).zip(repeat(v[0].1)).map(|(i, log)| if i == 2 { panic!() } else { Item(9 - i, log) })),
            &[0, 1, 2, 3, 4, 5, 9, 8],
            &[],
        ),
        (|v| drop(v.pop_if(|_| panic!())), &[0, 1, 2, 3, 4, 5], &[]),
    ];
    for (i, (job, left, dropped_numbers)) in jobs.into_iter().enumerate() {
        let (bump, log) = &(Bump::new(), Log::new(SAFE));
        let mut v = log.items(bump, 6);
        panics(|| job(&mut v));
        assert_eq!((numbers(&v), log.dropped()), (left.to_vec(), dropped_numbers.to_vec()), "job {i}");
    }
}

#[test]
fn destructors_that_panic() {
    type Job = for<'a, 'b> fn(&'a mut Vec<'b, Item<'b>>);
    let jobs: [(Job, &[u32]); 7] = [
        (|v| v.retain(|i| i.0 >= 5), &[4, 5]),
        (|v| v.truncate(1), &[0]),
        (|v| drop(v.drain(1..5)), &[0, 5]),
        (|v| drop(v.drain_filter(|i| i.0 != 0 && i.0 != 5)), &[0, 4, 5]),
        (|v| v.dedup_by(|_, _| true), &[0, 4, 5]),
        (|v| drop(v.splice(2..5, [])), &[0, 1, 5]),
        (|v| v.clear(), &[]),
    ];
    for (i, (job, left)) in jobs.into_iter().enumerate() {
        let (bump, log) = &(Bump::new(), Log::new(3));
        let mut v = log.items(bump, 6);
        panics(|| job(&mut v));
        assert_eq!(numbers(&v), left, "job {i}");
        let mut all = log.dropped();
        drop(v);
        all.extend(log.dropped());
        all.sort();
        let mut once = all.clone();
        once.dedup();
        assert_eq!(all, once, "job {i}");
    }
    let (bump, log) = &(Bump::new(), Log::new(1));
    let v = log.items(bump, 4);
    panics(|| drop(v));
    let boxed = log.items(bump, 4).into_iter();
    panics(|| drop(boxed));
    assert_eq!(log.dropped(), [0, 0, 1, 1, 2, 2, 3, 3]);
}

#[test]
fn iterators_that_are_leaked() {
    let (bump, log) = &(Bump::new(), Log::new(SAFE));
    let mut v = log.items(bump, 6);
    let mut drain = v.drain(2..4);
    drain.next();
    std::mem::forget(drain);
    assert_eq!(numbers(&v), [0, 1]);
    std::mem::forget(v.drain_filter(|_| true));
    assert!(v.is_empty());
    v.push(Item(7, log));
    drop(v);
    assert_eq!(log.dropped(), [2, 7]);
}
