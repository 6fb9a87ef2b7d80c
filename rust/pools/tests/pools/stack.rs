//! Stacks against `Vec`, and each guarantee of their documentation.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::failing::{Failing, Shared};
use crate::ledger::{panics, Ledger};
use crate::look::{out, twin, Action, Look, Step, Twin, FEWER};
use crate::pair::Pair;
use crate::stack_model::{play, KINDS};
use proptest::prelude::*;
use toft::{Arena, Pages};
use toft::{Blocks, Heap, Memory};
use toft_pools::{CapacityError, Columns, Rows, Stack};

fn play_all<L: Look>(steps: &[Step]) {
    play(Stack::<Twin, L, _>::new_in(Heap), steps);
    play(Stack::<Twin, L, _>::with_capacity_in(9, Heap), steps);
    play(Stack::<Twin, L, _>::fixed_in(13, Heap), steps);
    play(Stack::<Twin, L, _>::fixed_in(0, Heap), steps);
    let arena = Arena::new();
    play(Stack::<Twin, L, _>::new_in(&arena), steps);
    play(Stack::<Twin, L, _>::new_in(Blocks(Pages::new())), steps);
    let memory = Failing::new();
    play(Stack::<Twin, L, _>::new_in(Shared(&memory)), steps);
    assert_eq!(memory.bytes_out(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_match_a_vec(steps in crate::steps::steps(KINDS, 120)) {
        play_all::<Rows>(&steps);
    }

    #[test]
    fn columns_match_a_vec(steps in crate::steps::steps(KINDS, 120)) {
        play_all::<Columns>(&steps);
    }
}

/// A destructor, a clone or a closure panics at the k-th call, for each k until none does: the call leaves the stack
/// consistent, and every value is dropped once.
fn shake<L: Look>() {
    let actions: [Action<Stack<Twin, L>>; 10] = [
        ("clear", |stack| stack.clear()),
        ("truncate", |stack| stack.truncate(2)),
        ("drain", |stack| drop(stack.drain(1..5))),
        ("drain some", |stack| drop(stack.drain(..).nth(2))),
        ("retain", |stack| L::retain_stack(stack, |n| n % 2 == 0)),
        ("retain with a panic", |stack| {
            L::retain_stack(stack, |n| if n == 5 { panic!("of the closure") } else { n % 2 == 0 })
        }),
        ("into_iter", |stack| drop(core::mem::take(stack).into_iter().nth(3))),
        ("drop", |stack| drop(core::mem::take(stack))),
        ("clone", |stack| drop(stack.clone())),
        ("clone and drop", |stack| *stack = stack.clone()),
    ];
    for (name, action) in actions {
        for k in (0..20).step_by(FEWER) {
            for clones in [false, true] {
                let ledger = Ledger::new();
                let mut stack: Stack<Twin, L> = (0..9).map(|n| twin(&ledger, n)).collect();
                if clones {
                    ledger.panic_at_clone(k);
                } else {
                    ledger.panic_at_drop(k);
                }
                let _ = panics(|| action(&mut stack));
                ledger.calm();
                let left: Vec<i64> = stack.iter().map(L::number).collect();
                assert!(left.is_sorted() && left.len() <= 9, "{name} {k}: {left:?}");
                assert_eq!(ledger.live(), left.len(), "{name} {k}");
                stack.push(twin(&ledger, 99));
                drop(stack);
                ledger.assert_empty();
            }
        }
    }
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn panics_of_values_leave_the_stack_consistent() {
    shake::<Rows>();
    shake::<Columns>();
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn extend_from_slice_keeps_the_clones_made_before_a_panic() {
    let ledger = Ledger::new();
    let values: Vec<_> = (0..5).map(|n| ledger.value(n)).collect();
    let mut stack = Stack::new();
    ledger.panic_at_clone(4);
    assert!(panics(|| stack.extend_from_slice(&values)).is_err());
    assert_eq!(stack, values[..3]);
    drop((stack, values));
    ledger.assert_empty();
}

fn starve<L: Look>() {
    for k in 0.. {
        let (ledger, memory) = (Ledger::new(), Failing::after(k));
        let mut stack = Stack::<Twin, L, _>::new_in(Shared(&memory));
        let mut model = Vec::new();
        for n in 0..100 / FEWER as i64 {
            match stack.try_push(twin(&ledger, n)) {
                Ok(()) => model.push(n),
                Err(CapacityError(value)) => assert_eq!(out(value), n),
            }
            assert!(stack.iter().map(L::number).eq(model.iter().copied()));
        }
        let before = stack.capacity();
        if stack.try_reserve(1000).is_err() {
            assert_eq!(stack.capacity(), before);
        }
        stack.shrink_to_fit();
        assert!(stack.iter().map(L::number).eq(model.iter().copied()));
        drop(stack);
        ledger.assert_empty();
        assert_eq!(memory.bytes_out(), 0);
        if memory.failed.get() == 0 {
            assert!(k > 3, "memory was requested");
            return;
        }
    }
}

#[test]
fn out_of_memory_changes_nothing() {
    starve::<Rows>();
    starve::<Columns>();
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn the_panic_names_the_reason() {
    let mut stack = Stack::fixed(1);
    stack.push(1);
    let message = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stack.push(2))).unwrap_err();
    assert!(message.downcast_ref::<&str>().unwrap().contains("fixed and full"));
    assert_eq!(stack, [1]);
    assert!(panics(|| stack.extend([2])).is_err());
    assert!(panics(|| stack.append(&mut Stack::from([2]))).is_err());
    assert!(panics(|| stack.reserve(1)).is_err());
    assert!(panics(|| Stack::<u64>::with_capacity(usize::MAX)).is_err());
    assert!(panics(|| Stack::<u64>::fixed(usize::MAX / 8)).is_err());
}

#[test]
fn values_of_no_size_need_no_memory() {
    let memory = Failing::after(0);
    let mut stack = Stack::<(), Rows, _>::new_in(Shared(&memory));
    for _ in 0..1000 {
        stack.push(());
    }
    assert_eq!(stack.len(), 1000);
    assert_eq!(stack.iter().count(), 1000);
    assert_eq!(stack.drain(10..20).count(), 10);
    stack.retain(|()| false);
    assert!(stack.pop().is_none());

    use std::cell::Cell;
    thread_local!(static DROPS: Cell<u32> = const { Cell::new(0) });
    struct Empty;
    impl Drop for Empty {
        fn drop(&mut self) {
            DROPS.set(DROPS.get() + 1);
        }
    }
    let mut stack = Stack::<Empty, Rows, _>::new_in(Shared(&memory));
    stack.extend((0..10).map(|_| Empty));
    stack.truncate(4);
    drop(stack);
    assert_eq!(DROPS.get(), 10);

    let mut columns = Stack::<Pair<(), ()>, Columns, _>::new_in(Shared(&memory));
    columns.extend((0..100).map(|_| Pair((), ())));
    assert_eq!(columns.as_slice().0.len(), 100);
}

#[repr(align(4096))]
#[derive(Clone, Debug, PartialEq)]
struct Page(u64);

#[test]
fn alignments_are_kept() {
    fn aligned<M: Memory>(memory: M) {
        let mut stack = Stack::<Page, Rows, M>::new_in(memory);
        for n in 0..9 {
            stack.push(Page(n));
            assert!(stack.iter().all(|page| (page as *const Page as usize) % 4096 == 0));
        }
        assert!(stack.iter().map(|page| page.0).eq(0..9));
    }
    aligned(Heap);
    aligned(Arena::new());
    aligned(Blocks(Pages::new()));
    let mut columns: Stack<Pair<u8, Page>, Columns> = Stack::default();
    columns.extend((0..9).map(|n| Pair(n, Page(n.into()))));
    let (bytes, pages) = columns.as_slice();
    assert!(bytes.as_ptr() as usize % 64 == 0 && pages.as_ptr() as usize % 4096 == 0);
    assert!(pages.iter().zip(bytes).all(|(page, byte)| page.0 == u64::from(*byte)));
}

#[test]
fn a_stack_grows_while_a_scope_of_its_arena_is_open() {
    let mut arena = Arena::new();
    {
        let mut stack = Stack::<u64, Rows, _>::new_in(&arena);
        stack.extend(0..5);
        arena.scope(|scope| {
            let inner = scope.alloc(7_u64);
            stack.extend(5..500);
            let mut other = Stack::<u64, Rows, _>::new_in(scope);
            other.extend(0..100);
            stack.extend(500..600);
            assert!(*inner == 7 && other.iter().copied().eq(0..100));
        });
        assert!(stack.iter().copied().eq(0..600));
    }
    arena.reset();
}

#[test]
fn a_leaked_drain_leaks_only() {
    use std::cell::RefCell;
    thread_local!(static SEEN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
    struct Noted(u8); // not on the heap: only its destructor detects a leak
    impl Drop for Noted {
        fn drop(&mut self) {
            SEEN.with_borrow_mut(|seen| seen.push(self.0));
        }
    }
    let mut stack: Stack<Noted> = (0..5).map(Noted).collect();
    core::mem::forget(stack.drain(1..3));
    assert_eq!(stack.len(), 1);
    stack.push(Noted(9));
    drop(stack);
    assert_eq!(SEEN.take(), [0, 9]);
}

#[test]
fn a_stack_derefs_to_a_slice_and_converts_to_a_vec() {
    let mut stack = Stack::from(vec![3, 1, 2]);
    stack.sort();
    stack[1..].reverse();
    assert_eq!(stack, vec![1, 3, 2]);
    assert_eq!(&stack[..2], [1, 3]);
    assert_eq!(stack.binary_search(&1), Ok(0));
    assert_eq!(format!("{stack:?}"), "[1, 3, 2]");
    let (later, same) = (Stack::from([1, 4]), Stack::from(&[1, 3, 2][..]));
    assert!(stack < later && stack == same);
    assert_eq!(Vec::from(stack), [1, 3, 2]);
    let columns: Stack<Pair<u8, char>, Columns> = [Pair(1, 'a'), Pair(2, 'b')].into_iter().collect();
    assert_eq!(columns, columns.clone());
    assert_ne!(columns, Stack::default());
    assert_eq!(format!("{columns:?}"), "[(1, 'a'), (2, 'b')]");
}

#[test]
fn values_may_borrow() {
    let text = String::from("a bc def");
    let mut words: Stack<&str> = text.split(' ').collect();
    words.retain(|word| word.len() > 1);
    words.retain_mut(|word| word.len() > 2);
    assert_eq!(words.pop_if(|word| word.len() == 3), Some("def"));
}

#[test]
fn a_stack_is_send_and_sync_if_its_values_are() {
    fn sends<T: Send>() {}
    fn shares<T: Sync>() {}
    sends::<Stack<u8>>();
    shares::<Stack<Pair<u8, String>, Columns>>();
    sends::<toft_pools::stack::Iter<'_, u8>>();
    sends::<toft_pools::stack::IterMut<'_, u8>>();
    sends::<toft_pools::stack::Drain<'_, std::cell::Cell<u8>>>();
    sends::<toft_pools::stack::IntoIter<std::cell::Cell<u8>>>();
}
