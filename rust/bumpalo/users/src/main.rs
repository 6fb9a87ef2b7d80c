//! Prints the results of two crates that use bumpalo: formulas of LaTeX as MathML, and modules of WebAssembly's text as binaries.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::hash::{DefaultHasher, Hash, Hasher};

const FORMULAS: [&str; 9] = [
    "\\frac{a_{N}}{b^N}",
    "\\sqrt[N]{x + y}",
    "\\begin{pmatrix} a & N \\\\ c & d \\end{pmatrix}",
    "\\def\\f#1{#1^{N}} \\f{x}",
    "\\left( \\sum_{i=0}^{N} \\int_0^\\infty e^{-x} \\right)",
    "\\text{words N}",
    "\\mathbb{R}^N \\to \\color{red} z",
    "\\unknown N",
    "{ N",
];

fn formula(i: usize) -> String {
    let parts = (0..1 + i % 5).map(|k| FORMULAS[(i * 7 + k * 3) % FORMULAS.len()].replace('N', &i.to_string()));
    let (text, storage, mut out) =
        (parts.collect::<Vec<_>>().join(" + "), pulldown_latex::Storage::new(), String::new());
    let parser = pulldown_latex::Parser::new(&text, &storage);
    let result = pulldown_latex::push_mathml(&mut out, parser, Default::default());
    format!("{out} {}", result.is_ok())
}

/// Some modules call a function that does not exist, or are not closed: their errors are compared.
fn module(i: usize) -> String {
    let function = |f| {
        let (export, number, called) = (f % 256, f * 7919, if i % 7 == 3 { f + 1 } else { f / 2 });
        format!(
            "(func $f{f} (export \"e{f}\\{export:02x}\") (param i32 f64) (result i32) local.get 0 i32.const {number} \
             i32.add (block $b (br_if $b (i32.const {f}))) (call $f{called} (i32.const 1) (f64.const {f}.5)) drop)\n"
        )
    };
    let functions: String = (0..i).map(function).collect();
    let (data, end) = ("x\\n\\u{1f600}".repeat(i % 50), if i % 11 == 5 { "" } else { ")" });
    let text = format!("(module (memory 1)\n{functions}(data (i32.const {i}) \"{data}\") {end}");
    wat::parse_str(&text).map_or_else(|error| error.to_string(), |binary| format!("{binary:?}"))
}

fn main() {
    for (name, results) in
        [("formulas", (0..3000).map(formula).collect::<Vec<_>>()), ("modules", (0..300).map(module).collect())]
    {
        let mut hash = DefaultHasher::new();
        results.hash(&mut hash);
        let refused = results.iter().filter(|result| !result.ends_with("true") && !result.starts_with('[')).count();
        println!("{} {name}, {refused} refused: {:x}", results.len(), hash.finish());
    }
    println!("{}", std::any::type_name::<bumpalo::Bump>());
}
