// SPDX-License-Identifier: MIT OR Apache-2.0
use toft_pools::{Columnar, Columns, Pool};

#[derive(Columnar)]
struct Row {
    x: u8,
    y: u8,
}

fn main() {
    let mut pool: Pool<Row, Columns> = Pool::default();
    let handle = pool.insert(Row { x: 1, y: 2 });
    let mut row = pool.get_mut(handle).unwrap();
    let shorter = row.reborrow();
    row.set(Row { x: 3, y: 4 });
    *shorter.x = 5;
}
