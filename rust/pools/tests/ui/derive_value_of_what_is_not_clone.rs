// SPDX-License-Identifier: MIT OR Apache-2.0
use toft_pools::{Columnar, Columns, Stack};

struct Unique(u8);

#[derive(Columnar)]
struct Row {
    x: u8,
    unique: Unique,
}

fn main() {
    let mut stack: Stack<Row, Columns> = Stack::default();
    stack.push(Row { x: 1, unique: Unique(2) });
    let _ = stack.last().unwrap().to_value();
}
