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
    /// Whether values are added and removed at other positions than the end.
    const TWO_ENDS: bool = true;
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
    ($Name:ident, $pop:ident, $retain:ident) => {
        type L = L;
        fn pop(&mut self) -> Option<Twin> {
            self.$pop()
        }
        fn retain_numbers(&mut self, keeps: impl FnMut(i64) -> bool) {
            L::$retain(self, keeps);
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

/// Steps of sequences whose values are adjacent.
macro_rules! adjacent {
    ($world:expr, $kind:expr, $a:expr, $b:expr) => {
        match $kind {
            0 if $a > 128 => {
                $world.values.truncate(within($b, $world.model.len()));
                $world.model.truncate(within($b, $world.model.len()));
            }
            1 => $world.values.shrink_to_fit(),
            2 => {
                let len = $world.model.len();
                let (start, end) = (within($a, len).min(within($b, len)), within($a, len).max(within($b, len)));
                let (mut drain, mut expected) = ($world.values.drain(start..end), $world.model.drain(start..end));
                for front in [true, false, true] {
                    let (x, y) =
                        if front { (drain.next(), expected.next()) } else { (drain.next_back(), expected.next_back()) };
                    assert_eq!(x.map(out), y);
                    assert_eq!(drain.len(), expected.len());
                }
            }
            _ => {}
        }
    };
}
const ADJACENT: u8 = 3;

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
    sequence!(Stack, pop, retain_stack);
    type Notes = ();
    const TWO_ENDS: bool = false;
    const OWN: u8 = ADJACENT + 6;

    fn own(world: &mut World<Self>, (kind, a, b): Step) {
        if kind < ADJACENT {
            return adjacent!(world, kind, a, b);
        }
        if kind > ADJACENT {
            return world.step_of_positions((kind - ADJACENT, a, b));
        }
        let mut other = Stack::<Twin, L, toft::Heap>::new_in(toft::Heap);
        for _ in 0..usize::from(a % 8).min(world.limit - world.model.len()) {
            let (n, value) = world.value();
            other.push(value);
            world.model.push_back(n);
        }
        world.values.append(&mut other);
        assert!(other.is_empty());
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

impl<L: Look, M: Memory + Clone> World<Stack<Twin, L, M>> {
    fn step_of_positions(&mut self, (kind, a, b): Step) {
        let (len, (n, value)) = (self.model.len(), self.value());
        let (stack, model, i) = (&mut self.values, &mut self.model, within(a, len));
        match kind {
            1 => match stack.try_insert(i, value) {
                Ok(()) => model.insert(i, n),
                Err(CapacityError(value)) => assert_eq!((out(value), len), (n, self.limit)),
            },
            2 => assert_eq!(stack.try_remove(i).map(out), model.remove(i)),
            3 if i < len => assert_eq!(Some(out(stack.swap_remove(i))), model.swap_remove_back(i)),
            4 => {
                let (mut rest, expected) = (stack.split_off(i), model.split_off(i));
                assert_eq!((rest.size().2, L::numbers(rest.as_slice())), (stack.size().2, expected.into()));
                if b % 2 == 0 {
                    model.extend(rest.iter().map(L::number));
                    stack.append(&mut rest);
                }
            }
            5 if len < self.limit => {
                stack.shrink_to(usize::from(b));
                assert_eq!(L::number_mut(&stack.push_mut(value)), n);
                model.push_back(n);
                stack.resize_with(i, || unreachable!());
                model.truncate(i);
            }
            _ => {}
        }
    }
}

// ---- two ends ----

/// Sequences to which values are added at both ends and at each position.
pub trait TwoEnds: Sequence {
    fn pop_front(&mut self) -> Option<Twin>;
    fn remove(&mut self, i: usize) -> Option<Twin>;
    fn split_off(&mut self, i: usize) -> Self;
    fn append(&mut self, other: &mut Self);
    /// From the front, and from the back; and the same by exclusive references.
    fn ends(&mut self) -> [Option<i64>; 4];
}
const TWO_ENDS: u8 = 10;

/// The methods with the same names.
macro_rules! two_ends {
    () => {
        fn pop_front(&mut self) -> Option<Twin> {
            self.pop_front()
        }
        fn split_off(&mut self, i: usize) -> Self {
            self.split_off(i)
        }
        fn append(&mut self, other: &mut Self) {
            self.append(other);
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
    fn step_of_two_ends(&mut self, (kind, a, b): Step) {
        let len = self.model.len();
        let at = within(a, len);
        match kind {
            0..=3 => self.add(0),
            4 | 5 => assert_eq!(self.values.pop_front().map(out), self.model.pop_front()),
            6 | 7 => self.add(at),
            8 => assert_eq!(self.values.remove(at).map(out), self.model.remove(at)),
            _ => {
                let (mut rest, mut expected) = (self.values.split_off(at), self.model.split_off(at));
                assert_eq!(rest.size().2, self.values.size().2);
                assert!(rest.numbers().eq(expected.iter().copied()));
                self.moved = true;
                if b % 2 == 0 {
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
    }

    fn check_ends(&mut self) {
        let [front, back] = [self.model.front(), self.model.back()].map(Option::<&i64>::copied);
        assert_eq!(self.values.ends(), [front, back, front, back]);
    }
}

// ---- queues ----

impl<L: Look, M: Memory + Clone> Sequence for Queue<Twin, L, M> {
    sequence!(Queue, pop_back, retain_queue);
    type Notes = ();
    const OWN: u8 = TWO_ENDS + ADJACENT + 11;

    fn own(world: &mut World<Self>, (kind, a, b): Step) {
        if kind < TWO_ENDS {
            return world.step_of_two_ends((kind, a, b));
        }
        let kind = kind - TWO_ENDS;
        if kind < ADJACENT {
            return adjacent!(world, kind, a, b);
        }
        let len = world.model.len();
        let (queue, model) = (&mut world.values, &mut world.model);
        let (i, j) = (within(a, len), within(b, len));
        match kind - ADJACENT {
            0 => assert_eq!(queue.swap_remove_back(i).map(out), model.swap_remove_back(i)),
            1 => assert_eq!(queue.swap_remove_front(i).map(out), model.swap_remove_front(i)),
            2 if i < len && j < len => {
                queue.swap(i, j);
                model.swap(i, j);
            }
            3 => {
                let range = i.min(j)..i.max(j);
                assert!(queue.range(range.clone()).map(L::number).eq(model.range(range.clone()).copied()));
                let found = queue.range_mut(range.clone()).rev().map(|value| L::number_mut(&value));
                assert!(found.eq(model.range(range).rev().copied()));
            }
            4 => {
                queue.rotate_left(i);
                model.rotate_left(i);
            }
            5 => {
                queue.rotate_right(i);
                model.rotate_right(i);
            }
            6 => {
                assert_eq!(L::numbers(queue.as_slices().0).len() + L::numbers(queue.as_slices().1).len(), len);
                queue.make_contiguous();
                assert!(L::numbers(queue.as_slices().1).is_empty());
            }
            7 => queue.shrink_to(usize::from(b % 16)),
            8 => {
                queue.retain_back(i);
                drop(model.drain(..len.saturating_sub(i)));
            }
            9 if len < world.limit => {
                let (n, value) = world.value();
                let (queue, model) = (&mut world.values, &mut world.model);
                let (at, added) = match b % 3 {
                    0 => (0, queue.push_front_mut(value)),
                    1 => (len, queue.push_back_mut(value)),
                    _ => (i, queue.insert_mut(i, value)),
                };
                assert_eq!(L::number_mut(&added), n);
                model.insert(at, n);
            }
            9 => {}
            _ => {
                let (to, ledger, first) = (usize::from(a % 24).min(world.limit), &world.ledger, world.next);
                let mut number = (first..).skip(1);
                queue.resize_with(to, || twin(ledger, number.next().unwrap()));
                let mut number = (first..).skip(1);
                model.resize_with(to, || number.next().unwrap());
                world.next += 24;
            }
        }
    }

    fn cut(&mut self, i: usize) {
        drop(self.split_off(i));
    }

    fn add_at(&mut self, i: usize, value: Twin) -> Pushed {
        match i {
            0 if value.1 % 2 == 0 => self.try_push_front(value),
            i if value.1 % 2 == 0 && i == self.len() => self.try_push_back(value),
            i => self.try_insert(i, value),
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
    fn remove(&mut self, i: usize) -> Option<Twin> {
        self.remove(i)
    }
}

// ---- lists ----

/// The handle that each number has, and those that are stale.
#[derive(Default)]
pub struct Handles {
    of: HashMap<i64, Handle<Twin>>,
    stale: Vec<Handle<Twin>>,
}

impl<L: Look, M: Memory + Clone> Sequence for List<Twin, L, M> {
    sequence!(List, pop_back, retain_list);
    type Notes = Handles;
    const OWN: u8 = TWO_ENDS + 5;

    fn own(world: &mut World<Self>, (kind, a, b): Step) {
        if kind < TWO_ENDS {
            return world.step_of_two_ends((kind, a, b));
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
            2 => {
                let (model, n) = (&mut world.model, i64::from(b % 4 + 1));
                let taken: Vec<_> = model.iter().copied().filter(|number| number % n == 0).take(i).collect();
                assert_eq!(L::extract(&mut world.values, i, |number| number % n == 0), taken);
                model.retain(|number| !taken.contains(number));
            }
            _ => at_cursor(world, i, handle, b % 2 == 0),
        }
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
            assert!(!list.move_to_front(handle) && !list.move_to_back(handle) && list.cursor_at(handle).is_none());
            assert!(list.next_handle(handle).is_none() && list.prev_handle(handle).is_none());
        }
    }
}

impl<L: Look, M: Memory + Clone> TwoEnds for List<Twin, L, M> {
    two_ends!();
    fn remove(&mut self, i: usize) -> Option<Twin> {
        let handle = self.handles().nth(i)?;
        self.remove(handle)
    }
}

/// Reads around a cursor, and removes its value or adds some.
fn at_cursor<L: Look, M: Memory + Clone>(
    world: &mut World<List<Twin, L, M>>,
    i: usize,
    handle: Handle<Twin>,
    removes: bool,
) {
    let (len, [(n, first), (m, second)]) = (world.model.len(), [world.value(), world.value()]);
    let model = &mut world.model;
    let mut cursor = world.values.cursor_at_mut(handle).unwrap();
    assert_eq!(cursor.current().map(|value| L::number_mut(&value)), Some(model[i]));
    assert_eq!(cursor.peek_next().map(|value| L::number_mut(&value)), model.get(i + 1).copied());
    cursor.move_prev();
    assert_eq!(cursor.current().map(|value| L::number_mut(&value)), i.checked_sub(1).map(|i| model[i]));
    cursor.move_next();
    if removes {
        assert_eq!(cursor.remove_current().map(out), model.remove(i));
        assert_eq!(cursor.current().map(|value| L::number_mut(&value)), model.get(i).copied());
    } else if len + 1 < world.limit {
        cursor.insert_after(first);
        cursor.insert_before(second);
        model.insert(i + 1, n);
        model.insert(i, m);
    }
}
