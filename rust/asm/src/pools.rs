//! The fast paths of pools and collections, alone and in loops, each as a function: rust/asm/check-fast-path counts their
//! instructions.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft::collections::{String, Vec};
use toft_pools::{Handle, Pool, Queue, Rows, Stack};

macro_rules! path {
    ($name:ident, |$on:ident: $type:ty $(, $arg:ident: $arg_type:ty)*| -> $out:ty, $does:expr) => {
        #[no_mangle]
        pub extern "C" fn $name($on: $type $(, $arg: $arg_type)*) -> $out { $does }
    };
}

path!(pool_insert, |pool: &mut Pool<u64>, value: u64| -> u32, pool.insert(value).index());
path!(pool_remove, |pool: &mut Pool<u64>, handle: &Handle<u64>| -> u64, match pool.remove(*handle) {
    Some(value) => value,
    None => 0,
});
path!(pool_get, |pool: &Pool<u64>, handle: &Handle<u64>| -> u64, match pool.get(*handle) {
    Some(value) => *value,
    None => 0,
});
path!(pool_get_index, |pool: &Pool<u64, Rows, u32>, i: u32| -> u64, match pool.get(i) {
    Some(value) => *value,
    None => 0,
});
path!(stack_push, |stack: &mut Stack<u64>, value: u64| -> (), stack.push(value));
path!(stack_pop, |stack: &mut Stack<u64>| -> u64, match stack.pop() {
    Some(value) => value,
    None => 0,
});
path!(queue_push, |queue: &mut Queue<u64>, value: u64| -> (), queue.push_back(value));
path!(queue_pop, |queue: &mut Queue<u64>| -> u64, match queue.pop_front() {
    Some(value) => value,
    None => 0,
});
path!(vec_push, |vec: &mut Vec<u64>, value: u64| -> (), vec.push(value));
path!(string_push, |string: &mut String, letter: u8| -> (), string.push((letter & 0x7F) as char));
path!(string_push_str, |string: &mut String| -> (), string.push_str("8 bytes."));
path!(vec_loop, |vec: &mut Vec<u64>, n: u64| -> (), (0..n).for_each(|i| vec.push(i)));
path!(string_loop, |string: &mut String, n: u64| -> (), (0..n).for_each(|i| string.push((i as u8 & 0x7F) as char)));
path!(stack_loop, |stack: &mut Stack<u64>, n: u64| -> (), (0..n).for_each(|i| stack.push(i)));
path!(queue_loop, |queue: &mut Queue<u64>, n: u64| -> (), (0..n).for_each(|i| queue.push_back(i)));
