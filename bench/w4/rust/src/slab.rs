//! slab: values by plain indices, a free list in the vacant slots.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::payload::Item;
use crate::pools::{keyed_pool, Pools};
use crate::sequences::{Front, Rows};
use slab::Slab;

keyed_pool!(Slab, usize, try_remove);

/// A manually linked list of cells.
struct Cells<const P: usize>(Slab<(Item<P>, Option<usize>)>);

impl<const P: usize> Front<P> for Cells<P> {
    type Begin = Option<usize>;

    #[inline(always)]
    fn put(&mut self, begin: &mut Option<usize>, item: Item<P>) {
        *begin = Some(self.0.insert((item, *begin)));
    }
    #[inline(always)]
    fn walk(&mut self, mut begin: Option<usize>) -> u64 {
        let mut sum = 0;
        while let Some(cell) = begin {
            let (item, next) = self.0.remove(cell);
            sum += item.number;
            begin = next;
        }
        sum
    }
}

pub fn pools<const REST: usize>(rows: &mut Pools<REST>) {
    rows.add("slab", Slab::new);
}

pub fn sequences<const P: usize>(rows: &mut Rows<P>) {
    rows.list("slab by hand", || Cells::<P>(Slab::new()));
}
