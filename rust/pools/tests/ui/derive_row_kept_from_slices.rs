// SPDX-License-Identifier: MIT OR Apache-2.0
use toft_pools::{Columnar, Columns, Stack};

#[derive(Columnar)]
struct Row {
    x: u8,
}

fn main() {
    let mut stack: Stack<Row, Columns> = Stack::default();
    stack.push(Row { x: 1 });
    let mut slices = stack.as_mut_slice();
    let row = slices.iter_mut().next().unwrap();
    slices.x[0] = 2;
    *row.x = 3;
}
