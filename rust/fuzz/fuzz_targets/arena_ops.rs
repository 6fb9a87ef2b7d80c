//! The first byte says what kind of arena, the rest are steps of four bytes each: `tests/common/shadow.rs`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_main]

#[path = "../../tests/common/disguise.rs"]
mod disguise;
#[path = "../../tests/common/fixed.rs"]
mod fixed;
#[path = "../../tests/common/pages.rs"]
mod pages;
#[path = "../../tests/common/pattern.rs"]
mod pattern;
#[path = "../../tests/common/shadow.rs"]
mod shadow;

use std::mem::MaybeUninit;

use libfuzzer_sys::fuzz_target;
use pages::Pages;
use shadow::{Rules, Step, TestArena, World};
use toft::{Arena, Limited, Options, Reserve, Scope};

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let steps = Step::all(&bytes[..bytes.len().min(4000)]);
    let on = |ground: &mut dyn TestArena, may_refuse: bool, is_foreign: bool| {
        World::new(ground, Rules { may_refuse, is_foreign, is_checked: false }).play(&steps);
    };
    let pages = Pages::new();
    let mut buffer = [MaybeUninit::uninit(); 20_000];
    match kind % 15 {
        0 | 1 => on(&mut Arena::new(), false, false),
        2 => on(&mut Arena::with_capacity(50_000), false, false),
        3 => on(&mut Scope::from_source(&pages).unwrap(), false, false),
        4 => on(&mut Options::new().source(Reserve::new(2 << 20).unwrap()).create().unwrap(), true, false),
        5 => on(&mut Arena::in_buffer(&mut buffer).unwrap(), true, false),
        6 => on(&mut Arena::in_buffer_or_heap(&mut buffer[..5000]).unwrap(), false, false),
        7 => on(&mut Scope::from_source(&Limited::new(&pages, 100_000)).unwrap(), true, false),
        8 => {
            pages.fail_at.borrow_mut().extend((2..500).filter(|n| n % 3 == 0));
            on(&mut Scope::from_source(&pages).unwrap(), true, false)
        }
        9 => on(&mut Arena::new().scope_guard(), false, false),
        10 => {
            let mut memory = fixed::Memory::new(60_000);
            // SAFETY: a live head that no other code uses.
            let mut arena = unsafe { Arena::from_raw(memory.make()) }.unwrap();
            on(&mut arena, true, true)
        }
        11 => {
            let mut arena = Arena::new();
            arena.set_checked(true).unwrap();
            World::new(&mut arena, Rules { may_refuse: false, is_foreign: false, is_checked: true }).play(&steps);
        }
        12 | 13 => {
            let mut arena = Arena::new();
            arena.set_metered(true).unwrap();
            arena.set_sampling(if kind % 2 == 0 { 0 } else { 300 }).unwrap();
            on(&mut arena, false, false)
        }
        _ => on(disguise::Disguised::new(Arena::new()).arena(), true, true),
    }
});
