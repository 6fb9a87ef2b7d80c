// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
struct Document<'a> {
    arena: Arena,
    words: Vec<&'a str>,
}
fn main() {
    let mut document = Document { arena: Arena::new(), words: vec![] };
    document.words.push(document.arena.alloc_str("word"));
    let moved = document;
    println!("{}", moved.words.len());
}
