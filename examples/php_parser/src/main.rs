//! Parses PHP files. `trees FILE...` prints a hash of their syntax trees, and the type of the arena that they are in.
//! `new ROUNDS FILE...` and `reset ROUNDS FILE...` measure rounds, with a new arena for each file or one that is reset before
//! each, and print them in the format of ../measure.h.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};
use std::hint::black_box;

use php_rs_parser::bumpalo::Bump;
use php_rs_parser::{ArenaParseResult, ParserContext, parse_arena};

mod measure;

fn correct<'a, 'b>(parsed: ArenaParseResult<'a, 'b>) -> ArenaParseResult<'a, 'b> {
    assert!(parsed.errors.is_empty(), "{:?}", parsed.errors);
    parsed
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
        let arena = Bump::new();
        write!(hash, "{:?}", correct(parse_arena(&arena, text)).program).unwrap();
    }
    hash.0.finish()
}

fn with_new_arenas(texts: &[String]) {
    for text in texts {
        let arena = Bump::new();
        black_box(correct(parse_arena(&arena, text)));
    }
}

fn with_reset(texts: &[String], context: &mut ParserContext) {
    for text in texts {
        black_box(correct(context.reparse(text)));
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mode, arguments) = arguments.split_first().expect("trees, new or reset");
    let read = |files: &[String]| -> Vec<String> {
        files.iter().map(|file| std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{file}: {e}"))).collect()
    };
    if mode == "trees" {
        println!("{:016x} {}", trees(&read(arguments)), std::any::type_name::<Bump>());
        return;
    }
    let (rounds, files) = arguments.split_first().expect("a number of rounds");
    let (rounds, texts) = (rounds.parse().expect("a number of rounds"), read(files));
    let mut context = ParserContext::new();
    println!("parts");
    for _ in 0..rounds {
        match mode.as_str() {
            "new" => measure::round(|| with_new_arenas(&texts)),
            "reset" => measure::round(|| with_reset(&texts, &mut context)),
            _ => panic!("trees, new or reset"),
        }
    }
    let peak = measure::peak_kib(); // before the trees are written as text
    println!("total {:016x} {peak}", trees(&texts));
}
