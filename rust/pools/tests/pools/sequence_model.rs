//! Stacks, queues and lists against a deque: the steps that all have, those of two ends, those of adjacent values, and
//! those of each type. After each step all values are compared.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use crate::ledger::Ledger;
use crate::look::{out, twin, within, Look, Step, Twin};
use std::collections::{HashMap, HashSet, VecDeque};
use toft::Memory;
use toft_pools::{CapacityError, Handle, List, Queue, Stack};

type Pushed = Result<(), CapacityError<Twin>>;

/// A sequence, the numbers that it should hold, and what its type notes about earlier steps.
pub struct World<S: Sequence> {
    values: S,
    model: VecDeque<i64>,
    notes: S::Notes,
    ledger: Ledger,
    limit: usize,
    next: i64,
    /// The step moved values to another collection and back.
    moved: bool,
}

/// The interface of the three types; values are numbers.
pub trait Sequence: Sized + Clone {
    type L: Look;
    type Notes: Default;
    /// The number of kinds of steps that `own` has.
    const OWN: u8;
    fn own(world: &mut World<Self>, step: Step);
    fn check_own(_: &mut World<Self>) {}
    /// Whether values are added and removed at the front too.
    const TWO_ENDS: bool = true;
    /// One of the positions where `add_at` adds to `len` values.
    fn place(n: usize, len: usize) -> usize;
    fn add_at(&mut self, i: usize, value: Twin) -> Pushed;
    fn pop(&mut self) -> Option<Twin>;
    fn set(&mut self, i: usize, ledger: &Ledger, number: i64);
    fn retain_numbers(&mut self, keeps: impl FnMut(i64) -> bool);
    fn is_reserved(&mut self, more: usize) -> bool;
    fn clear(&mut self);
    /// Drops the values from a position on.
    fn cut(&mut self, i: usize);
    /// The length, the capacity, and whether it is fixed.
    fn size(&self) -> (usize, usize, bool);
    /// By the iterator's `fold` and `rfold`, where it has them.
    fn numbers(&self) -> impl DoubleEndedIterator<Item = i64> + ExactSizeIterator;
    /// From the front, and from the back.
    fn nth(&self, n: usize) -> [Option<i64>; 2];
    fn each_mut<'a>(
        &'a mut self,
    ) -> impl DoubleEndedIterator<Item = <Self::L as toft_pools::FieldLayout<Twin>>::Mut<'a>>
    where
        Self::L: 'a;
    fn add_all(&mut self, values: impl Iterator<Item = Twin>);
    fn owned(self) -> impl DoubleEndedIterator<Item = Twin> + ExactSizeIterator;
}

/// The methods that differ in their names or not at all.
macro_rules! sequence {
    ($Name:ident, $pop:ident) => {
        type L = L;
        fn pop(&mut self) -> Option<Twin> {
            self.$pop()
        }
        fn is_reserved(&mut self, more: usize) -> bool {
            self.try_reserve(more).is_ok()
        }
        fn clear(&mut self) {
            $Name::clear(self);
        }
        fn size(&self) -> (usize, usize, bool) {
            assert_eq!(self.is_empty(), self.len() == 0);
            (self.len(), self.capacity(), self.is_fixed())
        }
        fn numbers(&self) -> impl DoubleEndedIterator<Item = i64> + ExactSizeIterator {
            self.iter().map(L::number)
        }
        fn nth(&self, n: usize) -> [Option<i64>; 2] {
            [self.iter().nth(n), self.iter().nth_back(n)].map(|value| value.map(L::number))
        }
        fn each_mut<'a>(&'a mut self) -> impl DoubleEndedIterator<Item = L::Mut<'a>>
        where
            L: 'a,
        {
            self.iter_mut()
        }
        fn add_all(&mut self, values: impl Iterator<Item = Twin>) {
            self.extend(values);
        }
        fn owned(self) -> impl DoubleEndedIterator<Item = Twin> + ExactSizeIterator {
            self.into_iter()
        }
    };
}

/// Steps that all sequences have.
const ALL: u8 = 13;

/// The number of kinds of steps.
pub const fn kinds<S: Sequence>() -> u8 {
    ALL + S::OWN
}

/// Plays steps on an empty sequence.
pub fn play<S: Sequence>(values: S, steps: &[Step]) {
    let (_, capacity, fixed) = values.size();
    let limit = if fixed { capacity } else { usize::MAX };
    let (model, notes, ledger) = (VecDeque::new(), S::Notes::default(), Ledger::new());
    let mut world = World { values, model, notes, ledger, limit, next: 0, moved: false };
    for &step in steps {
        world.step(step);
        world.check();
    }
    let World { values, mut model, ledger, .. } = world;
    let mut rest = values.owned();
    assert_eq!(rest.len(), model.len());
    assert_eq!(rest.next_back().map(out), model.pop_back());
    assert_eq!(rest.next().map(out), model.pop_front());
    assert_eq!(rest.nth(1).map(out), model.get(1).copied());
    drop(rest);
    ledger.assert_empty();
}

impl<S: Sequence> World<S> {
    fn value(&mut self) -> (i64, Twin) {
        self.next += 1;
        (self.next, twin(&self.ledger, self.next))
    }

    fn add(&mut self, at: usize) {
        let (n, value) = self.value();
        match self.values.add_at(at, value) {
            Ok(()) => self.model.insert(at, n),
            Err(CapacityError(value)) => assert_eq!((out(value), self.model.len()), (n, self.limit)),
        }
    }

    fn step(&mut self, (kind, a, b): Step) {
        let (len, at) = (self.model.len(), usize::from(a));
        match kind {
            0..=4 => self.add(len),
            5 => assert_eq!(self.values.pop().map(out), self.model.pop_back()),
            6 => {
                let keeps = |n: i64| n % i64::from(a % 4 + 1) != 0;
                self.values.retain_numbers(keeps);
                self.model.retain(|n| keeps(*n));
            }
            7 if at < len => {
                self.next += 1;
                self.values.set(at, &self.ledger, self.next);
                self.model[at] = self.next;
            }
            8 => {
                let clone = self.values.clone();
                assert_eq!(clone.size().2, self.values.size().2);
                assert!(self.limit == usize::MAX || clone.size().1 == self.limit);
                self.values = clone;
            }
            9 => assert_eq!(self.values.is_reserved(at), at <= self.limit - len),
            10 => {
                let more: Vec<_> = (0..usize::from(a % 8).min(self.limit - len)).map(|_| self.value()).collect();
                self.model.extend(more.iter().map(|(n, _)| n));
                self.values.add_all(more.into_iter().map(|(_, value)| value));
            }
            11 if a > 200 => {
                self.values.clear();
                self.model.clear();
            }
            12 => {
                for value in self.values.each_mut().rev() {
                    let n = S::L::number_mut(&value);
                    if n % 7 == 0 {
                        S::L::set(value, &self.ledger, -n);
                    }
                }
                self.model.iter_mut().filter(|n| **n % 7 == 0).for_each(|n| *n = -*n);
            }
            ALL.. => S::own(self, (kind - ALL, a, b)),
            _ => {}
        }
    }

    fn check(&mut self) {
        let (values, model, len) = (&self.values, &self.model, self.model.len());
        let (count, capacity, fixed) = values.size();
        assert_eq!((count, fixed, self.ledger.live()), (len, self.limit != usize::MAX, len));
        assert!(len <= capacity);
        assert!(values.numbers().eq(model.iter().copied()));
        assert!(values.numbers().rev().eq(model.iter().rev().copied()));
        assert_eq!(values.nth(3), [model.get(3).copied(), model.iter().nth_back(3).copied()]);
        let sum = |a: i64, n: i64| (a * 31 + n) % 1009;
        assert_eq!(values.numbers().fold(7, sum), model.iter().copied().fold(7, sum));
        assert_eq!(values.numbers().rfold(7, sum), model.iter().copied().rfold(7, sum));
        let mut ends = values.numbers();
        for i in 0..=len {
            let value = if i % 2 == 0 { ends.next() } else { ends.next_back() };
            assert_eq!((value.is_some(), ends.len()), (i < len, len.saturating_sub(i + 1)));
        }
        drop(ends);
        S::check_own(self);
        self.moved = false;
    }
}

// ---- stacks ----

impl<L: Look, M: Memory + Clone> Sequence for Stack<Twin, L, M> {
    sequence!(Stack, pop);
    type Notes = ();
    const TWO_ENDS: bool = false;
    const OWN: u8 = 7;

    fn own(world: &mut World<Self>, (kind, a, b): Step) {
        let (len, (n, value)) = (world.model.len(), world.value());
        let (stack, model, i) = (&mut world.values, &mut world.model, within(a, len));
        match kind {
            0 if a > 128 => {
                stack.truncate(within(b, len));
                model.truncate(within(b, len));
            }
            1 => stack.shrink_to(usize::from(b)),
            2 => {
                let range = i.min(within(b, len))..i.max(within(b, len));
                let (mut drain, mut expected) = (stack.drain(range.clone()), model.drain(range));
                for front in [true, false, true] {
                    let (x, y) =
                        if front { (drain.next(), expected.next()) } else { (drain.next_back(), expected.next_back()) };
                    assert_eq!(x.map(out), y);
                    assert_eq!(drain.len(), expected.len());
                }
            }
            3 => world.append(a),
            4 => match stack.try_insert(i, value) {
                Ok(()) => model.insert(i, n),
                Err(CapacityError(value)) => assert_eq!((out(value), len), (n, world.limit)),
            },
            5 => assert_eq!(stack.try_remove(i).map(out), model.remove(i)),
            6 if i < len => assert_eq!(Some(out(stack.swap_remove(i))), model.swap_remove_back(i)),
            _ => {}
        }
    }

    fn place(_: usize, len: usize) -> usize {
        len
    }

    fn retain_numbers(&mut self, keeps: impl FnMut(i64) -> bool) {
        L::retain_stack(self, keeps);
    }

    fn cut(&mut self, i: usize) {
        self.truncate(i);
    }

    fn add_at(&mut self, _: usize, value: Twin) -> Pushed {
        self.try_push(value)
    }

    fn set(&mut self, i: usize, ledger: &Ledger, number: i64) {
        L::set(self.get_mut(i).unwrap(), ledger, number);
    }

    fn check_own(World { values, model, .. }: &mut World<Self>) {
        assert!((0..model.len() + 2).all(|i| values.get(i).map(L::number) == model.get(i).copied()));
        assert_eq!(*model, L::numbers(values.as_slice()));
        assert_eq!(values.last().map(L::number), model.back().copied());
    }
}

/// Appends the values of another sequence, some of which were added at its front where it has one.
macro_rules! append {
    ($Name:ident) => {
        impl<L: Look, M: Memory + Clone> World<$Name<Twin, L, M>> {
            fn append(&mut self, a: u8) {
                let mut other = $Name::<Twin, L, toft::Heap>::any_fixed_in(8, toft::Heap);
                let len = self.model.len();
                for i in 0..usize::from(a % 8).min(self.limit - len) {
                    let (n, value) = self.value();
                    let at = <$Name<Twin, L, M> as Sequence>::place(i, i);
                    assert!(other.add_at(at, value).is_ok());
                    self.model.insert(len + at, n);
                }
                self.values.append(&mut other);
                assert!(other.is_empty());
            }
        }
    };
}
append!(Stack);
append!(Queue);

// ---- two ends ----

/// Sequences to which values are added at both ends.
pub trait TwoEnds: Sequence {
    fn pop_front(&mut self) -> Option<Twin>;
    /// From the front, and from the back; and the same by exclusive references.
    fn ends(&mut self) -> [Option<i64>; 4];
}
const TWO_ENDS: u8 = 6;

/// The methods with the same names.
macro_rules! two_ends {
    () => {
        fn pop_front(&mut self) -> Option<Twin> {
            self.pop_front()
        }
        fn ends(&mut self) -> [Option<i64>; 4] {
            let [front, back] = [self.front(), self.back()].map(|value| value.map(L::number));
            [
                front,
                back,
                self.front_mut().map(|value| L::number_mut(&value)),
                self.back_mut().map(|value| L::number_mut(&value)),
            ]
        }
    };
}

impl<S: TwoEnds> World<S> {
    fn step_of_two_ends(&mut self, kind: u8) {
        match kind {
            0..=3 => self.add(0),
            _ => assert_eq!(self.values.pop_front().map(out), self.model.pop_front()),
        }
    }

    fn check_ends(&mut self) {
        let [front, back] = [self.model.front(), self.model.back()].map(Option::<&i64>::copied);
        assert_eq!(self.values.ends(), [front, back, front, back]);
    }
}

// ---- queues ----

impl<L: Look, M: Memory + Clone> Sequence for Queue<Twin, L, M> {
    sequence!(Queue, pop_back);
    type Notes = ();
    const OWN: u8 = TWO_ENDS + 8;

    fn own(world: &mut World<Self>, (kind, a, b): Step) {
        let (len, i) = (world.model.len(), usize::from(a) % world.model.len().max(1));
        let at = within(b, len);
        match kind {
            0..TWO_ENDS => world.step_of_two_ends(kind),
            TWO_ENDS if a > 128 => {
                world.values.truncate(at);
                world.model.truncate(at);
            }
            TWO_ENDS => world.values.shrink_to(usize::from(b % 16)),
            7 => world.append(a),
            8 if at < len => {
                world.values.swap(i, at);
                world.model.swap(i, at);
            }
            9 => {
                world.values.rotate_left(at);
                world.model.rotate_left(at);
            }
            10 => {
                world.values.rotate_right(at);
                world.model.rotate_right(at);
            }
            11 => assert_eq!(world.values.remove(at).map(out), world.model.remove(at)),
            12 => {
                let (n, value) = world.value();
                match world.values.try_insert(at, value) {
                    Ok(()) => world.model.insert(at, n),
                    Err(CapacityError(value)) => assert_eq!((out(value), len), (n, world.limit)),
                }
            }
            _ => {
                if a % 2 == 0 {
                    L::make_contiguous(&mut world.values);
                }
                let (front, back) = world.values.as_slices();
                assert_eq!(world.model, [L::numbers(front), L::numbers(back)].concat());
            }
        }
    }

    fn place(n: usize, len: usize) -> usize {
        len * (n % 2)
    }

    fn retain_numbers(&mut self, keeps: impl FnMut(i64) -> bool) {
        L::retain_queue(self, keeps);
    }

    fn cut(&mut self, i: usize) {
        self.truncate(i);
    }

    fn add_at(&mut self, i: usize, value: Twin) -> Pushed {
        match i {
            0 => self.try_push_front(value),
            _ => self.try_push_back(value),
        }
    }

    fn set(&mut self, i: usize, ledger: &Ledger, number: i64) {
        L::set(self.get_mut(i).unwrap(), ledger, number);
    }

    fn check_own(world: &mut World<Self>) {
        let World { values, model, .. } = world;
        assert!((0..model.len() + 2).all(|i| values.get(i).map(L::number) == model.get(i).copied()));
        world.check_ends();
    }
}

impl<L: Look, M: Memory + Clone> TwoEnds for Queue<Twin, L, M> {
    two_ends!();
}

// ---- lists ----

/// The handle that each number has, and those that are stale.
#[derive(Default)]
pub struct Handles {
    of: HashMap<i64, Handle<Twin>>,
    stale: Vec<Handle<Twin>>,
}

impl<L: Look, M: Memory + Clone> Sequence for List<Twin, L, M> {
    sequence!(List, pop_back);
    type Notes = Handles;
    const OWN: u8 = TWO_ENDS + 9;

    fn own(world: &mut World<Self>, (kind, a, b): Step) {
        if kind < TWO_ENDS {
            return world.step_of_two_ends(kind);
        }
        let i = within(a, world.model.len());
        let (Some(handle), Some(&number)) = (world.values.handles().nth(i), world.model.get(i)) else { return };
        match kind - TWO_ENDS {
            0 => {
                assert!(world.values.move_to_front(handle));
                world.model.remove(i);
                world.model.push_front(number);
            }
            1 => {
                assert!(world.values.move_to_back(handle));
                world.model.remove(i);
                world.model.push_back(number);
            }
            2..=4 => world.add(i),
            5 => assert_eq!(world.values.remove(handle).map(out), world.model.remove(i)),
            6 => world.split(i, b % 2 == 0),
            _ => around(world, i, handle, b % 2 == 0),
        }
    }

    fn place(n: usize, len: usize) -> usize {
        n * 7 % (len + 1)
    }

    fn retain_numbers(&mut self, keeps: impl FnMut(i64) -> bool) {
        L::retain_list(self, keeps);
    }

    fn cut(&mut self, i: usize) {
        drop(self.split_off(i));
    }

    fn add_at(&mut self, i: usize, value: Twin) -> Pushed {
        let before = i.checked_sub(1).and_then(|i| self.handles().nth(i));
        let added = match (before, self.handles().nth(i)) {
            (Some(before), _) if value.1 % 2 == 0 => self.try_insert_after(before, value),
            (None, Some(_)) if value.1 % 2 == 0 => self.try_push_front(value),
            (_, Some(after)) => self.try_insert_before(after, value),
            (_, None) => self.try_push_back(value),
        };
        added.map(|_| ())
    }

    fn set(&mut self, i: usize, ledger: &Ledger, number: i64) {
        let handle = self.handles().nth(i).unwrap();
        L::set(self.get_mut(handle).unwrap(), ledger, number);
    }

    fn check_own(world: &mut World<Self>) {
        world.check_ends();
        let World { values: list, model, notes, .. } = world;
        let handles: Vec<_> = list.handles().collect();
        assert!(list.handles().rev().eq(handles.iter().rev().copied()));
        assert_eq!((list.front_handle(), list.back_handle()), (handles.first().copied(), handles.last().copied()));
        for (i, (handle, n)) in handles.iter().zip(&*model).enumerate() {
            assert_eq!(list.get(*handle).map(L::number), Some(*n));
            assert_eq!(list.next_handle(*handle), handles.get(i + 1).copied());
            assert_eq!(list.prev_handle(*handle), i.checked_sub(1).map(|i| handles[i]));
            assert!(world.moved || notes.of.get(n).is_none_or(|before| before == handle));
        }
        let live: HashSet<_> = handles.iter().copied().collect();
        assert!(live.len() == handles.len() && notes.stale.iter().all(|handle| !live.contains(handle)));
        notes.stale.extend(notes.of.drain().map(|(_, handle)| handle).filter(|handle| !live.contains(handle)));
        notes.of.extend(model.iter().copied().zip(handles));
        for &handle in notes.stale.iter().rev().take(40) {
            assert!(list.get(handle).is_none() && list.get_mut(handle).is_none() && list.remove(handle).is_none());
            assert!(!list.move_to_front(handle) && !list.move_to_back(handle));
            assert!(list.next_handle(handle).is_none() && list.prev_handle(handle).is_none());
        }
    }
}

impl<L: Look, M: Memory + Clone> TwoEnds for List<Twin, L, M> {
    two_ends!();
}

impl<L: Look, M: Memory + Clone> World<List<Twin, L, M>> {
    /// Splits the list, and appends the one part to the other.
    fn split(&mut self, at: usize, appends: bool) {
        let (mut rest, mut expected) = (self.values.split_off(at), self.model.split_off(at));
        assert_eq!(rest.size().2, self.values.size().2);
        assert!(rest.numbers().eq(expected.iter().copied()));
        self.moved = true;
        if appends {
            self.values.append(&mut rest);
            self.model.append(&mut expected);
            assert!(rest.size().0 == 0);
        } else {
            rest.append(&mut self.values);
            expected.append(&mut self.model);
            (self.values, self.model) = (rest, expected);
        }
    }
}

/// Reads the values around one, and removes it or adds some.
fn around<L: Look, M: Memory + Clone>(
    world: &mut World<List<Twin, L, M>>,
    i: usize,
    handle: Handle<Twin>,
    removes: bool,
) {
    let (len, [(n, first), (m, second)]) = (world.model.len(), [world.value(), world.value()]);
    let (list, model) = (&mut world.values, &mut world.model);
    let next = list.next_handle(handle).and_then(|next| list.get(next));
    assert_eq!(next.map(|value| L::number(value)), model.get(i + 1).copied());
    let prev = list.prev_handle(handle).and_then(|prev| list.get(prev));
    assert_eq!(prev.map(|value| L::number(value)), i.checked_sub(1).map(|i| model[i]));
    if removes {
        assert_eq!(list.remove(handle).map(out), model.remove(i));
    } else if len + 1 < world.limit {
        list.insert_after(handle, first);
        list.insert_before(handle, second);
        model.insert(i + 1, n);
        model.insert(i, m);
    }
}
