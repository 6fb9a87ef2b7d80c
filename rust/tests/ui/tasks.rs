//! Arenas of tasks.
// SPDX-License-Identifier: MIT OR Apache-2.0

fn task_drops_what_is_not_send() {
    toft::TaskArena::new().alloc_drop(std::rc::Rc::new(1)); //~ E0277
}

fn task_reset_under_a_value() {
    let mut arena = toft::TaskArena::new();
    let x = arena.alloc(1);
    arena.reset(); //~ E0502
    *x += 1;
}

fn task_value_outlives_its_arena() {
    let x;
    {
        let arena = toft::TaskArena::new();
        x = arena.alloc(1); //~ E0597
    }
    *x += 1;
}

fn main() {}
