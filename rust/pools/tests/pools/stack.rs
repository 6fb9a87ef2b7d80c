//! Stacks against the model, and each guarantee of their documentation.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::failing::{Failing, Shared};
use crate::ledger::{panics, Ledger};
use crate::look::{Look, Twin};
use crate::pair::Pair;
use crate::sequence_model::kinds;
use crate::sequences::{sequence_tests, Noted, Page};
use toft::{Arena, Blocks, Heap, Memory, Pages};
use toft_pools::{Columns, Rows, Stack};

sequence_tests!(
    Stack,
    push,
    ("truncate", |stack| stack.truncate(2)),
    ("drain", |stack| drop(stack.drain(1..5))),
    ("drain some", |stack| drop(stack.drain(..).nth(2))),
);

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

#[test]
fn columns_are_aligned() {
    let mut columns: Stack<Pair<u8, Page>, Columns> = Stack::default();
    columns.extend((0..9).map(|n| Pair(n, Page(n.into()))));
    let (bytes, pages) = columns.as_slice();
    assert!(bytes.as_ptr() as usize % 64 == 0 && pages.as_ptr() as usize % 4096 == 0);
    assert!(pages.iter().zip(bytes).all(|(page, byte)| page.0 == u64::from(*byte)));
}

#[test]
fn a_leaked_drain_leaks_only() {
    let mut stack: Stack<Noted> = (0..5).map(Noted).collect();
    core::mem::forget(stack.drain(1..3));
    assert_eq!(stack.len(), 1);
    stack.push(Noted(9));
    drop(stack);
    assert_eq!(Noted::dropped(), [0, 9]);
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
