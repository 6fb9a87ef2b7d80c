//! Types with derived columns in every pool: each kind of field keeps its value and alignment, and is dropped once.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::marker::PhantomData;
use std::rc::Rc;

use crate::ledger::{panics, Counted, Ledger};
use toft::Arena;
use toft_pools::Columnar;
use toft_pools::{ColumnarViews, Columns, Handle, List, Pool, Queue, Stack};

/// The address of a field modulo an alignment.
fn misaligned<F>(column: &[F], align: usize) -> usize {
    column.as_ptr() as usize % align
}

/// An attribute macro may reorder the fields.
#[derive(Columnar, Clone, Debug, PartialEq)]
#[toft_becomes::becomes(struct Inner { text: String, wide: u8 })]
struct Inner {
    /// Aligned to its own cache line.
    #[columns(align = 128)]
    wide: u8,
    text: String,
}

#[derive(Columnar, Clone, Debug, PartialEq)]
struct Middle<T> {
    #[columns(nested)]
    inner: Inner,
    of: T,
    nothing: (),
}

#[derive(Columnar, Clone, Debug, PartialEq)]
struct Everything<T, const N: usize> {
    text: String,
    boxed: Box<u64>,
    nothing: (),
    vector: [f32; 4],
    byte: u8,
    #[columns(align = 4096)]
    page: [T; N],
    #[columns(nested)]
    middle: Middle<T>,
    of: PhantomData<T>,
    #[columns(group = "hot")]
    x: f32,
    #[columns(group = "cold", align = 256)]
    seldom: Option<T>,
    #[columns(group = "hot")]
    y: f64,
}

fn everything(n: u16) -> Everything<u16, 3> {
    Everything {
        text: format!("text {n}"),
        boxed: Box::new(n.into()),
        nothing: (),
        vector: [n.into(); 4],
        byte: n as u8,
        page: [n; 3],
        middle: Middle { inner: Inner { wide: n as u8, text: format!("inner {n}") }, of: n + 1, nothing: () },
        of: PhantomData,
        x: n.into(),
        seldom: (n % 2 == 0).then_some(n),
        y: f64::from(n) + 0.5,
    }
}

type Rows<T> = Stack<T, Columns>;

/// Fewer under Miri, which is slow.
fn fewer(n: u16) -> u16 {
    if cfg!(miri) {
        n.min(20)
    } else {
        n
    }
}

#[test]
fn each_kind_of_field_keeps_its_value() {
    let mut stack: Rows<Everything<u16, 3>> = Stack::default();
    let mut pool: Pool<Everything<u16, 3>, Columns> = Pool::default();
    let handles: Vec<Handle<_>> = (0..fewer(1000)).map(|n| pool.insert(everything(n))).collect();
    for n in 0..fewer(1000) {
        stack.push(everything(n)); // moves as it grows
    }
    for (n, handle) in handles.iter().enumerate() {
        let (row, value) = (pool.get(*handle).unwrap(), everything(n as u16));
        assert_eq!(row, value);
        assert_eq!(row.to_value(), value);
        assert_eq!(stack.get(n).unwrap(), row);
        assert_eq!((row.middle.inner.wide, row.y, row.page), (&value.middle.inner.wide, &value.y, &value.page));
    }
    for n in (0..fewer(1000)).rev() {
        assert_eq!(stack.pop(), Some(everything(n)));
        assert_eq!(pool.remove(handles[usize::from(n)]), Some(everything(n)));
    }
}

#[test]
fn a_row_differs_in_any_field() {
    let mut stack: Rows<Everything<u16, 3>> = Stack::default();
    stack.push(everything(2));
    let changes: [fn(&mut Everything<u16, 3>); 9] = [
        |v| v.text.push('!'),
        |v| *v.boxed += 1,
        |v| v.vector[3] += 1.0,
        |v| v.byte += 1,
        |v| v.page[2] += 1,
        |v| v.middle.inner.text.clear(),
        |v| v.middle.of += 1,
        |v| v.x += 1.0,
        |v| v.seldom = None,
    ];
    for change in changes {
        let (mut other, row) = (everything(2), stack.last().unwrap());
        assert_eq!(row, other);
        change(&mut other);
        assert_ne!(row, other);
        let mut others: Rows<_> = Stack::default();
        others.push(other);
        assert_ne!(row, others.last().unwrap());
        assert_ne!(stack.as_slice(), others.as_slice());
    }
    assert_eq!(stack.as_slice(), stack.as_slice());
}

#[test]
fn columns_are_aligned() {
    for n in [1, 2, 63, 64, 65, 1000, 4096, 5000].map(fewer) {
        let mut stack: Rows<Everything<u16, 3>> = Stack::default();
        (0..n).for_each(|i| stack.push(everything(i)));
        let slices = stack.as_slice();
        assert_eq!(slices.len(), usize::from(n));
        assert_eq!(misaligned(slices.text, 64), 0);
        assert_eq!(misaligned(slices.boxed, 64), 0);
        assert_eq!(misaligned(slices.vector, 64), 0);
        assert_eq!(misaligned(slices.byte, 64), 0);
        assert_eq!(misaligned(slices.page, 4096), 0);
        assert_eq!(misaligned(slices.middle.inner.wide, 128), 0);
        assert_eq!(misaligned(slices.middle.inner.text, 64), 0);
        assert_eq!(misaligned(slices.middle.of, 64), 0);
        assert_eq!(misaligned(slices.hot, 64), 0);
        assert_eq!(misaligned(slices.cold, 256), 0);
        assert_eq!(slices.nothing.len(), usize::from(n));
    }
    // A group is one column: its fields are adjacent.
    let mut stack: Rows<Everything<u16, 3>> = Stack::default();
    stack.push(everything(1));
    let (row, slices) = (stack.last().unwrap(), stack.as_slice());
    let hot = slices.hot.as_ptr_range();
    let at = |address: *const u8| (hot.start.cast()..hot.end.cast()).contains(&address);
    assert!(at((&raw const *row.x).cast()) && at((&raw const *row.y).cast()) && !at(row.byte));
    assert_eq!((slices.hot[0].x, slices.hot[0].y), (1.0, 1.5));
}

#[test]
#[cfg_attr(miri, ignore = "of large columns")]
fn columns_of_a_power_of_two_do_not_share_cache_sets() {
    #[derive(Columnar)]
    struct Four {
        a: u64,
        b: u64,
        c: u64,
        d: u64,
    }
    let mut stack: Rows<Four> = Stack::default();
    (0..4096).for_each(|i| stack.push(Four { a: i, b: i, c: i, d: i }));
    let slices = stack.as_slice();
    let mut starts = [slices.a, slices.b, slices.c, slices.d].map(|column| misaligned(column, 4096));
    starts.sort_unstable();
    assert!(starts.windows(2).all(|pair| pair[0] + 64 <= pair[1]), "{starts:?}");
}

#[test]
fn slices_of_columns_are_plain_slices() {
    #[derive(Columnar)]
    struct Particle {
        x: f32,
        speed: f32,
        name: &'static str,
    }
    let mut stack: Rows<Particle> = Stack::default();
    (0..fewer(1001)).for_each(|i| stack.push(Particle { x: i.into(), speed: 0.5, name: "p" }));
    let columns = stack.as_mut_slice();
    for (x, speed) in columns.x.iter_mut().zip(&*columns.speed) {
        *x += *speed;
    }
    columns.name[7] = "seven";
    assert!(stack.as_slice().x.iter().enumerate().all(|(i, x)| *x == i as f32 + 0.5));
    assert_eq!(stack.get(7).map(|row| (*row.name, *row.x, *row.speed)), Some(("seven", 7.5, 0.5)));
}

#[test]
fn rows_are_changed_by_field_and_as_a_whole() {
    let mut pool: Pool<Everything<u16, 3>, Columns> = Pool::default();
    let (a, b) = (pool.insert(everything(1)), pool.insert(everything(2)));
    let mut row = pool.get_mut(a).unwrap();
    *row.x = 9.0;
    row.middle.inner.text.push_str(" changed");
    *row.reborrow().middle.reborrow().of = 77;
    row.page[0] = 5;
    assert_eq!(
        (*row.as_ref().x, *row.as_ref().middle.of, &**row.as_ref().middle.inner.text),
        (9.0, 77, "inner 1 changed")
    );
    let shown = format!("{row:?}");
    let old = row.replace(everything(3));
    assert_eq!(shown, format!("{old:?}"), "a row is shown as its value is");
    assert_eq!((old.x, old.middle.of, &old.page), (9.0, 77, &[5, 1, 1]));
    assert_eq!(pool.get(a).unwrap(), everything(3));
    pool.get_mut(b).unwrap().set(everything(4));
    assert_eq!((pool.get(a).unwrap(), pool.get(b).unwrap().to_value()), (pool.get(a).unwrap(), everything(4)));
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn slices_walk_row_by_row() {
    let mut stack: Rows<Everything<u16, 3>> = Stack::default();
    (0..10).for_each(|n| stack.push(everything(n)));

    let slices = stack.as_slice();
    assert!(slices.iter().map(|row| *row.byte).eq(0..10));
    assert!(slices.into_iter().rev().map(|row| *row.byte).eq((0..10).rev()));
    assert_eq!(slices.get(9).unwrap(), everything(9));
    assert!(slices.get(10).is_none() && !slices.is_empty());
    let (left, right) = slices.split_at(3);
    assert_eq!((left.len(), right.len(), *right.get(0).unwrap().byte), (3, 7, 3));
    assert!(panics(|| slices.split_at(11)).is_err());
    let mut walk = slices.iter();
    assert_eq!((walk.nth(2).map(|row| *row.byte), walk.nth_back(3).map(|row| *row.byte)), (Some(2), Some(6)));
    assert_eq!((walk.len(), walk.clone().count(), walk.clone().last().map(|row| *row.byte)), (3, 3, Some(5)));
    assert!(walk.nth(usize::MAX).is_none() && walk.next_back().is_none());

    let mut slices = stack.as_mut_slice();
    // References to rows stay valid while others are returned.
    let mut rows: Vec<_> = slices.iter_mut().collect();
    for row in rows.iter_mut().rev() {
        *row.x += 100.0;
        row.middle.inner.text.clear();
    }
    drop(rows);
    *slices.get_mut(4).unwrap().byte = 44;
    assert!(slices.get_mut(10).is_none());
    assert_eq!((slices.len(), slices.get(4).map(|row| (*row.byte, *row.x))), (10, Some((44, 104.0))));
    let part = slices.reborrow();
    part.vector[0] = [7.0; 4];
    let (left, right) = slices.split_at_mut(5);
    left.hot.iter_mut().zip(right.hot).for_each(|(a, b)| std::mem::swap(&mut a.y, &mut b.y));
    assert_eq!((*stack.get(0).unwrap().y, *stack.get(5).unwrap().y, stack.get(0).unwrap().vector[3]), (5.5, 0.5, 7.0));
    assert_eq!(stack.as_slice().middle.inner.text, [const { String::new() }; 10]);
    for row in stack.as_mut_slice() {
        row.middle.inner.text.push('t');
    }
    assert!(stack.as_slice().iter().all(|row| row.middle.inner.text == "t"));
    assert!(stack.as_mut_slice().as_slices().middle.iter().all(|row| row.inner.wide <= &9));
}

/// Safe code can replace the slices of the struct by others: the rows are then those that all slices have.
#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn replaced_slices() {
    let mut stack: Rows<Everything<u16, 3>> = Stack::default();
    (0..10).for_each(|n| stack.push(everything(n)));
    let mut slices = stack.as_mut_slice();
    let taken = std::mem::take(&mut slices.byte);
    assert!(slices.is_empty() && slices.iter_mut().next().is_none() && slices.get_mut(0).is_none());
    slices.byte = &mut taken[7..];
    assert_eq!(slices.len(), 3);
    let rows: Vec<_> = slices.iter().map(|row| (*row.byte, row.page[0])).collect();
    assert_eq!(rows, [(7, 0), (8, 1), (9, 2)]);
    assert!(panics(|| slices.split_at_mut(4).0.len()).is_err());

    let mut shared = stack.as_slice();
    shared.middle.inner.wide = &[1, 2];
    assert_eq!((shared.len(), shared.iter().map(|row| *row.middle.inner.wide).sum::<u8>()), (2, 3));
    assert!(shared.get(2).is_none());
}

#[derive(Columnar, Clone, Debug, PartialEq, Eq)]
struct Tuple(u8, String, #[columns(nested)] Empty, #[columns(align = 1024)] i64);

#[derive(Columnar, Clone, Copy, Debug, PartialEq, Eq)]
struct Empty;

#[test]
fn structs_without_names_and_without_fields() {
    let mut stack: Rows<Tuple> = Stack::default();
    (0..5).for_each(|n| stack.push(Tuple(n, n.to_string(), Empty, -1)));
    *stack.get_mut(3).unwrap().3 = 33;
    let slices = stack.as_slice();
    assert_eq!((slices.0, &*slices.1[4], slices.2.len(), slices.3[3]), (&[0, 1, 2, 3, 4][..], "4", 5, 33));
    assert_eq!(misaligned(slices.3, 1024), 0);
    assert_eq!(format!("{:?}", stack.get(3).unwrap()), r#"Tuple(3, "3", Empty, 33)"#);
    assert_eq!(stack.get(3).unwrap(), Tuple(3, "3".into(), Empty, 33));

    let mut empty: Rows<Empty> = Stack::default();
    (0..5).for_each(|_| empty.push(Empty));
    assert_eq!((empty.as_slice().len(), empty.as_mut_slice().len(), empty.as_slice().iter().count()), (5, 5, 5));
    let (left, right) = empty.as_mut_slice().split_at_mut(2);
    assert_eq!((left.len(), right.as_slices().len()), (2, 3));
    assert_eq!(empty.as_slice().get(4).map(|row| row.to_value()), Some(Empty));
    assert!(empty.as_slice().get(5).is_none());
    assert_eq!((empty.clone().len(), empty.pop(), empty.len()), (5, Some(Empty), 4));
    assert_eq!(format!("{:?}", empty.last().unwrap()), "Empty");
}

/// Generic over the type, through the trait.
fn sum<T: ColumnarViews>(stack: &mut Rows<T>, of: fn(T::Ref<'_>) -> u64, other: impl Fn() -> T) -> (u64, u64) {
    let before = toft_pools::ColumnsIter::<T>::new(stack.as_slice()).map(of).sum();
    let mut slices = stack.as_mut_slice();
    let mut row = T::row_mut(T::reborrow_slices(&mut slices), 0).unwrap();
    drop(T::replace(&mut T::reborrow(&mut row), other()));
    let first = of(T::as_ref(&row));
    drop(row);
    assert_eq!(first, of(T::row(T::as_slices(&slices), 0).unwrap()));
    (before, toft_pools::ColumnsIter::<T>::new(T::as_slices(&slices)).map(of).sum())
}

#[test]
fn columns_of_a_parameter() {
    #[derive(Columnar, Debug)]
    struct Two<A: Columnar, B> {
        #[columns(nested)]
        a: A,
        b: B,
    }
    let mut stack: Rows<Two<Inner, u64>> = Stack::default();
    let two = |b| Two { a: Inner { wide: b as u8, text: String::new() }, b };
    (0..4).for_each(|b| stack.push(two(b)));
    assert_eq!(stack.as_slice().a.wide, [0, 1, 2, 3]);
    assert_eq!(sum(&mut stack, |row| row.b + u64::from(*row.a.wide), || two(100)), (12, 212));
    assert_eq!(format!("{:?}", stack.get(2).unwrap()), r#"Two { a: Inner { wide: 2, text: "" }, b: 2 }"#);
}

#[test]
fn every_collection_has_the_traits_of_its_rows() {
    let values = || (0..fewer(100)).map(everything);
    macro_rules! shown_cloned_and_compared {
        ($($collection:ty, $push:ident;)*) => {$(
            let mut collection: $collection = Default::default();
            values().for_each(|value| _ = collection.$push(value));
            let copy = collection.clone();
            assert_eq!(format!("{copy:?}"), format!("{collection:?}"));
            assert!(format!("{copy:?}").contains(&format!("{:?}", everything(2))), "{copy:?}");
            assert!(copy == collection, stringify!($collection));
            collection.iter_mut().for_each(|row| *row.byte = 0);
            assert!(copy != collection && copy.iter().zip(values()).all(|(row, value)| row == value));
        )*};
    }
    shown_cloned_and_compared! {
        Stack<Everything<u16, 3>, Columns>, push;
        Queue<Everything<u16, 3>, Columns>, push_back;
        List<Everything<u16, 3>, Columns>, push_back;
    }
}

/// Neither Clone nor Debug nor comparable: the derive omits these traits without an error.
struct Opaque(u8);

#[derive(Columnar)]
struct Holds {
    opaque: Opaque,
    #[columns(group = "small")]
    one: Opaque,
    #[columns(group = "small")]
    two: u8,
}

#[test]
fn fields_without_traits() {
    let mut stack: Rows<Holds> = Stack::default();
    stack.push(Holds { opaque: Opaque(1), one: Opaque(2), two: 3 });
    let slices = stack.as_slice();
    assert_eq!((slices.opaque[0].0, slices.small[0].one.0, slices.small[0].two), (1, 2, 3));
}

#[test]
fn groups_are_copied_and_shown_where_their_fields_are() {
    #[derive(Columnar)]
    struct Grouped<T> {
        #[columns(group = "pair")]
        a: u8,
        #[columns(group = "pair")]
        b: i8,
        #[columns(group = "rest")]
        c: T,
    }
    let mut stack: Rows<Grouped<String>> = Stack::default();
    stack.push(Grouped { a: 1, b: -1, c: "c".into() });
    let slices = stack.as_slice();
    let pair: GroupedPair<String> = slices.pair[0];
    assert_eq!((pair, slices.rest[0].clone().c), (slices.pair[0], "c".into()));
    assert_eq!(format!("{:?}", slices.rest), r#"[GroupedRest { c: "c" }]"#);
}

#[derive(Columnar, Clone)]
struct Counts {
    first: Counted,
    #[columns(nested)]
    nested: CountsMore,
    #[columns(group = "some")]
    third: Counted,
    #[columns(group = "some")]
    last: Rc<Counted>,
}

#[derive(Columnar, Clone)]
struct CountsMore {
    second: Counted,
}

fn counts(ledger: &Ledger, n: i64) -> Counts {
    let value = |i| ledger.value(4 * n + i);
    Counts { first: value(0), nested: CountsMore { second: value(1) }, third: value(2), last: Rc::new(value(3)) }
}

#[test]
fn each_field_is_dropped_once() {
    let ledger = Ledger::new();
    let arena = Arena::new();
    let mut stack: Stack<Counts, Columns, &Arena> = Stack::any_in(&arena);
    let mut pool: Pool<Counts, Columns> = Pool::default();
    let handles: Vec<_> = (0..100).map(|n| pool.insert(counts(&ledger, n))).collect();
    (0..100).for_each(|n| stack.push(counts(&ledger, n)));
    for handle in handles.iter().step_by(3) {
        drop(pool.remove(*handle));
    }
    pool.get_mut(handles[1]).unwrap().set(counts(&ledger, -1));
    drop(pool.get_mut(handles[2]).unwrap().replace(counts(&ledger, -2)));
    *pool.get_mut(handles[4]).unwrap().third = ledger.value(-3);
    assert_eq!(ledger.live(), 400 + 66 * 4);
    let copy = pool.clone();
    assert_eq!(ledger.live(), 400 + 66 * 7, "an Rc is shared");
    let value = stack.last().unwrap().to_value();
    stack.truncate(10);
    drop((stack, pool, copy));
    assert_eq!(ledger.live(), 4, "the cloned values, and the shared one");
    drop(value);
    ledger.assert_empty();
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn a_panicking_destructor_does_not_stop_those_of_other_fields() {
    for at in 1..=4 {
        let ledger = Ledger::new();
        let mut stack: Rows<Counts> = Stack::default();
        (0..3).for_each(|n| stack.push(counts(&ledger, n)));
        ledger.panic_at_drop(at);
        // The old value is dropped after the new one is in place.
        assert!(panics(|| stack.get_mut(1).unwrap().set(counts(&ledger, 5))).is_err());
        assert_eq!((ledger.live(), stack.get(1).unwrap().nested.second.number), (12, 21));
        ledger.panic_at_drop(at);
        assert!(panics(|| stack.truncate(2)).is_err());
        assert_eq!((ledger.live(), stack.len()), (8, 2));
        drop(stack);
        ledger.assert_empty();
    }
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn a_clone_that_panics_loses_nothing() {
    for at in 1..=9 {
        let ledger = Ledger::new();
        let mut stack: Rows<Counts> = Stack::default();
        (0..3).for_each(|n| stack.push(counts(&ledger, n)));
        ledger.panic_at_clone(at);
        assert!(panics(|| stack.clone()).is_err());
        assert_eq!(ledger.live(), 12);
        drop(stack);
        ledger.assert_empty();
    }
}

/// A type with its own destructor is split into fields without running it; the destructor runs when the value is
/// reassembled and dropped.
#[test]
fn a_struct_with_a_destructor() {
    #[derive(Columnar)]
    struct Guard {
        ledger: Rc<std::cell::Cell<u32>>,
        text: String,
    }
    impl Drop for Guard {
        fn drop(&mut self) {
            self.ledger.set(self.ledger.get() + self.text.len() as u32);
        }
    }
    let dropped = Rc::new(std::cell::Cell::new(0));
    let guard = |text: &str| Guard { ledger: dropped.clone(), text: text.into() };
    let mut stack: Rows<Guard> = Stack::default();
    stack.push(guard("1"));
    stack.push(guard("22"));
    stack.push(guard("333"));
    assert_eq!(dropped.get(), 0);
    assert_eq!(stack.pop().map(|guard| guard.text.len()), Some(3));
    assert_eq!(dropped.get(), 3);
    stack.last_mut().unwrap().set(guard("4444"));
    assert_eq!(dropped.get(), 5);
    drop(stack);
    assert_eq!((dropped.get(), Rc::strong_count(&dropped)), (10, 1));
}

/// A collection is `Send` and `Sync` if each field is.
mod threads {
    use super::*;
    use std::cell::Cell;

    #[derive(Columnar)]
    #[allow(dead_code)]
    struct Of<T> {
        value: T,
        #[columns(group = "pair")]
        grouped: T,
    }

    /// A type with its own `Send` and `Sync` implementations does not make its fields `Send` or `Sync`; columns return
    /// references to the fields.
    #[derive(Columnar)]
    #[allow(dead_code)]
    struct Vouches {
        guarded: Cell<u8>,
    }
    // SAFETY: for the test only; no value is made.
    unsafe impl Sync for Vouches {}

    #[derive(Columnar)]
    #[allow(dead_code)]
    struct Around {
        #[columns(nested)]
        nested: Vouches,
    }

    trait No {
        const SEND: bool = false;
        const SYNC: bool = false;
    }
    impl<T> No for T {}
    struct Is<T>(PhantomData<T>);
    #[allow(dead_code)]
    impl<T: Send> Is<T> {
        const SEND: bool = true;
    }
    #[allow(dead_code)]
    impl<T: Sync> Is<T> {
        const SYNC: bool = true;
    }

    macro_rules! threads {
        ($($ty:ty: $send:literal $sync:literal,)*) => {$(
            assert_eq!((Is::<$ty>::SEND, Is::<$ty>::SYNC), ($send, $sync), stringify!($ty));
        )*};
    }

    #[test]
    fn views_are_send_and_sync_if_their_fields_are() {
        use toft_pools::{ColumnsIter, ColumnsIterMut};
        threads! {
            OfRef<'_, u8>: true true,
            OfMut<'_, u8>: true true,
            OfSlices<'_, u8>: true true,
            OfSlicesMut<'_, u8>: true true,
            ColumnsIter<'_, Of<u8>>: true true,
            ColumnsIterMut<'_, Of<u8>>: true true,
            Stack<Of<u8>, Columns>: true true,
            OfRef<'_, Cell<u8>>: false false,
            OfMut<'_, Cell<u8>>: true false,
            OfSlices<'_, Cell<u8>>: false false,
            OfSlicesMut<'_, Cell<u8>>: true false,
            ColumnsIter<'_, Of<Cell<u8>>>: false false,
            ColumnsIterMut<'_, Of<Cell<u8>>>: true false,
            Stack<Of<Cell<u8>>, Columns>: true false,
            OfMut<'_, Rc<u8>>: false false,
            ColumnsIterMut<'_, Of<Rc<u8>>>: false false,
            Stack<Of<Rc<u8>>, Columns>: false false,
            Vouches: true true,
            Stack<Vouches, Columns>: true false,
            Around: true true,
            Stack<Around, Columns>: true false,
        }
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore)]
    fn halves_of_slices_on_two_threads() {
        let mut stack: Rows<Of<u32>> = Stack::default();
        (0..100).for_each(|i| stack.push(Of { value: i, grouped: i }));
        let (left, right) = stack.as_mut_slice().split_at_mut(50);
        std::thread::scope(|scope| {
            for half in [left, right] {
                scope.spawn(move || half.into_iter().for_each(|row| *row.value += *row.grouped));
            }
        });
        assert!(stack.as_slice().value.iter().copied().eq((0..100).map(|i| 2 * i)));
    }
}
