//! Parses JavaScript files with oxc. `trees FILE...` prints a hash of their syntax trees. `new ROUNDS FILE...` and `reset ROUNDS
//! FILE...` measure rounds, with a new arena for each file or one that is reset after each, and print them in the format of
//! ../measure.h.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};
use std::hint::black_box;

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_parser::Parser;
use oxc_span::SourceType;

mod measure;

fn parse<'a>(arena: &'a Allocator, text: &'a str) -> Program<'a> {
    let parsed = Parser::new(arena, text, SourceType::cjs()).parse();
    assert!(parsed.errors.is_empty() && !parsed.panicked, "{:?}", parsed.errors);
    parsed.program
}

/// Hashes what is written.
struct Hash(DefaultHasher);

impl std::fmt::Write for Hash {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// A hash of every node, with its place in the text.
fn trees(texts: &[String]) -> u64 {
    let mut hash = Hash(DefaultHasher::new());
    for text in texts {
        let arena = Allocator::new();
        write!(hash, "{:?}", parse(&arena, text)).unwrap();
    }
    hash.0.finish()
}

fn with_new_arenas(texts: &[String]) {
    for text in texts {
        let arena = Allocator::new();
        black_box(parse(&arena, text));
    }
}

fn with_reset(texts: &[String], arena: &mut Allocator) {
    for text in texts {
        black_box(parse(arena, text));
        arena.reset();
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mode, arguments) = arguments.split_first().expect("trees, new or reset");
    let read = |files: &[String]| -> Vec<String> {
        files.iter().map(|file| std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{file}: {e}"))).collect()
    };
    if mode == "trees" {
        println!("{:016x}", trees(&read(arguments)));
        return;
    }
    let (rounds, files) = arguments.split_first().expect("a number of rounds");
    let (rounds, texts) = (rounds.parse().expect("a number of rounds"), read(files));
    let mut arena = Allocator::new();
    println!("parts");
    for _ in 0..rounds {
        match mode.as_str() {
            "new" => measure::round(|| with_new_arenas(&texts)),
            "reset" => measure::round(|| with_reset(&texts, &mut arena)),
            _ => panic!("trees, new or reset"),
        }
    }
    let peak = measure::peak_kib(); // before the trees are written as text
    println!("total {:016x} {peak}", trees(&texts));
}
