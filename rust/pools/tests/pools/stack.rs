//! Stacks against the model, and each guarantee of their documentation.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::ledger::panics;
use crate::look::{Look, Twin};
use crate::pair::Pair;
use crate::refusing::{Refuses, Refusing};
use crate::sequence_model::kinds;
use crate::sequences::{sequence_tests, Noted, Page};
use toft::{Arena, Blocks, Heap, Memory, Pages};
use toft_pools::{Columns, Rows, Stack};

sequence_tests!(Stack, push);

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn the_panic_names_the_reason() {
    let mut stack = Stack::fixed(1);
    stack.push(1);
    let message = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stack.push(2))).unwrap_err();
    assert!(message.downcast_ref::<&str>().unwrap().contains("fixed and full"));
    assert_eq!(stack, [1]);
    assert!(panics(|| stack.extend([2])).is_err());
    assert!(panics(|| stack.append(&mut stack.clone())).is_err());
    assert!(panics(|| stack.reserve(1)).is_err());
    assert!(panics(|| stack.insert(2, 7)).is_err());
    assert!(panics(|| drop(stack.drain(..2))).is_err());
    assert!(panics(|| Stack::<Pair<u64, u64>>::with_capacity(usize::MAX)).is_err());
    assert!(panics(|| Stack::<u64>::fixed(usize::MAX / 8)).is_err());
}

#[test]
fn values_of_no_size_need_no_memory() {
    let memory = Refusing::new(Refuses::From(1));
    let mut stack = Stack::<(), Rows, _>::fixed_in(1000, &memory);
    for _ in 0..1000 {
        stack.push(());
    }
    assert_eq!((stack.len(), stack.iter().count(), stack.drain(10..20).count()), (1000, 1000, 10));
    stack.retain(|()| false);
    assert!(stack.pop().is_none());

    let mut columns = Stack::<Pair<(), ()>, Columns, _>::any_in(&memory);
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
    let mut stack: Stack<Noted> = Stack::fixed(5);
    stack.extend((0..5).map(Noted));
    core::mem::forget(stack.drain(1..3));
    assert_eq!(stack.len(), 1);
    stack.push(Noted(9));
    drop(stack);
    assert_eq!(Noted::dropped(), [0, 9]);
}

#[test]
fn rows_are_a_slice_and_columns_compare_by_field() {
    let mut stack = Stack::fixed(3);
    stack.extend(&[3, 1, 2]);
    stack.sort();
    stack[1..].reverse();
    assert_eq!(stack, [1, 3, 2]);
    assert_eq!(format!("{stack:?}"), "[1, 3, 2]");
    let mut later = stack.clone();
    later[2] = 4;
    assert!(stack < later && stack != later);
    let columns: Stack<Pair<u8, char>, Columns> = [Pair(1, 'a'), Pair(2, 'b')].into_iter().collect();
    assert_eq!(columns, columns.clone());
    assert_ne!(columns, Stack::default());
    assert_eq!(format!("{columns:?}"), "[(1, 'a'), (2, 'b')]");
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
