// SPDX-License-Identifier: MIT OR Apache-2.0
use toft_pools::{Columnar, Columns, Pool};

#[derive(Columnar)]
struct Row {
    x: u8,
}

fn main() {
    let row = {
        let mut pool: Pool<Row, Columns> = Pool::default();
        let handle = pool.insert(Row { x: 1 });
        pool.get(handle).unwrap()
    };
    assert_eq!(*row.x, 1);
}
