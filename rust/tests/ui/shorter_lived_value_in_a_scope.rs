// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::{Arena, Scope};
struct Prints<'a>(&'a str);
impl Drop for Prints<'_> {
    fn drop(&mut self) {
        println!("{}", self.0);
    }
}
fn keep<'a>(scope: &Scope<'a>, text: &'a str) {
    scope.alloc_drop(Prints(text));
}
fn main() {
    let arena = Arena::new();
    let scope = arena.scope_guard();
    let text = String::from("text");
    keep(&scope, &text);
}
