//! Scopes of closures and of guards.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft::{Arena, Scope};

fn escapes_a_scope() {
    let arena = Arena::new();
    let escaped = arena.scope(|inner| inner.alloc(1)); //~ lifetime may not live long enough
    *escaped += 1;
}

fn escapes_a_scope_into_a_variable() {
    let arena = Arena::new();
    let mut escaped: Option<&mut i32> = None;
    arena.scope(|inner| escaped = Some(inner.alloc(1))); //~ E0521
    println!("{escaped:?}");
}

fn escapes_a_guard() {
    let arena = Arena::new();
    let scope = arena.scope_guard();
    let x = scope.alloc(1);
    drop(scope); //~ E0505
    *x += 1;
}

fn guard_outlives_its_arena() {
    let arena = Arena::new();
    let scope = arena.scope_guard();
    drop(arena); //~ E0505
    scope.alloc(1);
}

fn reset_under_an_open_guard() {
    let mut arena = Arena::new();
    let scope = arena.scope_guard();
    arena.reset(); //~ E0502
    scope.alloc(1);
}

fn scope_mut_escapes() {
    let mut arena = Arena::new();
    let escaped = arena.scope_mut(|inner| inner.alloc(1)); //~ lifetime may not live long enough
    *escaped += 1;
}

fn scope_mut_while_borrowed() {
    let mut arena = Arena::new();
    let x = arena.alloc(1);
    arena.scope_mut(|inner| drop(inner.boxed(2))); //~ E0502
    *x += 1;
}

fn scope_sent_to_a_thread() {
    let scope: Scope<'static> = Scope::new();
    std::thread::spawn(move || drop(scope)); //~ E0277 | E0277
}

fn shorter_lived_value_in_a_scope() {
    struct Prints<'a>(&'a str);
    impl Drop for Prints<'_> {
        fn drop(&mut self) {
            println!("{}", self.0);
        }
    }
    fn keep<'a>(scope: &Scope<'a>, text: &'a str) {
        scope.alloc_drop(Prints(text));
    }
    let arena = Arena::new();
    let scope = arena.scope_guard();
    let text = String::from("text");
    keep(&scope, &text); //~ E0597
}

fn main() {}
