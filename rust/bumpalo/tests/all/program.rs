//! One program, compiled twice: with bumpalo, and with this crate under bumpalo's name. Only the `use` differs.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod before {
    use ::bumpalo;
    include!("program/interpreter.rs");
}

mod after {
    use toft_bumpalo as bumpalo;
    include!("program/interpreter.rs");
}

const SOURCES: [&str; 9] = [
    "say 1 + 2 * 3",
    "x = 'plot y = x + 'of repeat 3 [ y = y + x say y ] say [x, [y]]",
    "a = [1] repeat 6 [ a = a + a ] say a + [2 * (3 + 4)]",
    "n = 1 repeat 62 [ n = n * 2 ] say n say n + n",
    "say unknown",
    "repeat 'x [ ]",
    "say (1 + ",
    "]",
    "x y",
];

#[test]
fn both_print_the_same() {
    let before = before::say(&SOURCES);
    assert_eq!(before, after::say(&SOURCES));
    assert_eq!(before[0].as_deref(), Ok("Number(7);"));
    assert_eq!(before.iter().filter(|result| result.is_err()).count(), 5);
}

#[test]
fn both_print_the_same_for_a_long_program() {
    let long =
        "a = a0 ".replace("a0", "[1, 'b, [2]]") + &"a = a + [3 * 4] say a ".repeat(if cfg!(miri) { 3 } else { 200 });
    assert_eq!(before::say(&[&long, &long]), after::say(&[&long, &long]));
}
