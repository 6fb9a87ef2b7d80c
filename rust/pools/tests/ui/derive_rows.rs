//! Rows: their types, and borrows of them.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft_pools::{Columnar, Columns, Pool, Stack};

fn nested_is_not_columnar() {
    struct Plain(u8);

    #[derive(Columnar)] //~ E0277 * 13
    struct Outer {
        #[columns(nested)]
        plain: Plain, //~ E0277 | E0277
        x: f32,
    }
}

fn value_of_what_is_not_clone() {
    struct Unique(u8);

    #[derive(Columnar)]
    struct Owner {
        x: u8,
        unique: Unique,
    }
    let mut stack: Stack<Owner, Columns> = Stack::default();
    stack.push(Owner { x: 1, unique: Unique(2) });
    let _ = stack.last().unwrap().to_value(); //~ E0599
}

#[derive(Columnar)]
struct Row {
    x: u8,
    y: u8,
}

fn row_borrowed_again() {
    let mut pool: Pool<Row, Columns> = Pool::default();
    let handle = pool.insert(Row { x: 1, y: 2 });
    let mut row = pool.get_mut(handle).unwrap();
    let shorter = row.reborrow();
    row.set(Row { x: 3, y: 4 }); //~ E0499
    *shorter.x = 5;
}

fn row_kept_from_slices() {
    let mut stack: Stack<Row, Columns> = Stack::default();
    stack.push(Row { x: 1, y: 2 });
    let mut slices = stack.as_mut_slice();
    let row = slices.iter_mut().next().unwrap();
    slices.x[0] = 2; //~ E0503 | E0506
    *row.x = 3;
}

fn row_outlives_its_pool() {
    let row = {
        let mut pool: Pool<Row, Columns> = Pool::default();
        let handle = pool.insert(Row { x: 1, y: 2 });
        pool.get(handle).unwrap() //~ E0597
    };
    assert_eq!(*row.x, 1);
}

fn two_muts_of_a_row() {
    let mut pool: Pool<Row, Columns> = Pool::default();
    let handle = pool.insert(Row { x: 1, y: 2 });
    let first = pool.get_mut(handle).unwrap();
    let second = pool.get_mut(handle).unwrap(); //~ E0499
    *first.x = *second.x;
}

fn main() {}
