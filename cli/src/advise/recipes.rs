//! The calls of Toft for a scope, in the program's language.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::advice::Recipe;
use crate::places::Language;

/// The trial does not have this cost of the rewrite.
const PMR: &str =
    "std::pmr costs time of its own, which the saving does not contain: virtual calls, and a pmr::string has 40 bytes \
                   instead of 32. A std::pmr::map of strings on new and delete took 6 % more than a std::map";

pub fn calls(recipe: Recipe, language: Language, block: u64) -> Vec<String> {
    let lines: &[&str] = match (recipe, language) {
        (Recipe::Scratch, Language::C) => &[
            "toft_arena *a = toft_create();         once, kept by the caller",
            "TOFT_SCOPE(a);                         first in the function",
            "toft_new(a, T), toft_alloc(a, size)    for malloc; free goes away",
        ],
        (Recipe::Scratch, Language::Cpp) => &[
            "toft::arena a;                         once, kept by the caller",
            "toft::scope s(a);                      first in the function",
            "toft::arena_resource r(a);             for std::pmr containers",
        ],
        (Recipe::Scratch, Language::Rust) => &[
            "let mut arena = toft::Arena::new();    once, kept by the caller",
            "arena.scope(|scope| ...);              around the function's body",
            "scope.alloc(x), scope.vec()            for Box::new, Vec::new",
        ],
        (Recipe::Document | Recipe::Generations, Language::C) => &[
            "toft_arena *a = toft_create();         at the beginning",
            "toft_new(a, T), toft_alloc(a, size)    for malloc; free goes away",
            "toft_release(a);                       at the end, or toft_reset(a)",
        ],
        (Recipe::Document | Recipe::Generations, Language::Cpp) => &[
            "toft::arena a;                         first in the function",
            "a.make<T>(...)                         for new; delete goes away",
            "toft::arena_resource r(a);             for std::pmr containers",
        ],
        (Recipe::Document | Recipe::Generations, Language::Rust) => &[
            "let arena = toft::Arena::new();        first in the function",
            "arena.alloc(x), arena.vec()            for Box::new, Vec::new",
        ],
        (Recipe::Process, Language::C) => &[
            "static toft_arena *a;                  toft_create() at the beginning of main",
            "toft_new(a, T), toft_alloc(a, size)    for malloc; no free, no release",
        ],
        (Recipe::Process, Language::Cpp) => &[
            "static toft::arena &a = *new toft::arena;   never released",
            "a.make<T>(...), arena_resource         for new and containers; no delete",
        ],
        (Recipe::Process, Language::Rust) => &[
            "let arena: &'static Arena = Box::leak(Box::new(Arena::new()));",
            "arena.alloc(x), arena.vec()            for Box::new, Vec::new",
        ],
    };
    let mut calls: Vec<String> = lines.iter().map(|&s| s.to_owned()).collect();
    let reset = match language {
        Language::C => "toft_reset(a);                         after the last free of a generation",
        Language::Cpp => "a.reset();                             after the last delete of a generation",
        Language::Rust => "arena.reset();                         where a generation is dropped; let mut arena",
    };
    calls.extend((recipe == Recipe::Generations).then(|| reset.to_owned()));
    let first_block = format!("first block: {} KiB holds 95 of 100 calls", block >> 10);
    calls.extend((recipe != Recipe::Process).then_some(first_block));
    calls.extend((language == Language::Cpp).then(|| PMR.to_owned()));
    calls
}
