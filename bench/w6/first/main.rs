//! A process that allocates megabytes of nodes, reads them, and frees nothing: `first heap|toft MEGABYTES`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft::Arena;

struct Node<'a> {
    next: Option<&'a Node<'a>>,
    values: [u64; 7],
}

fn sum<'a>(nodes: u64, allocate: impl Fn(Node<'a>) -> &'a Node<'a>) -> u64 {
    let mut last = None;
    for i in 0..nodes {
        last = Some(allocate(Node { next: last, values: [i; 7] }));
    }
    std::iter::successors(last, |node| node.next).map(|node| node.values[6]).sum()
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let nodes = arguments[1].parse::<u64>().expect("a number of megabytes") * 1_000_000 / 64;
    if arguments[0] == "toft" {
        let arena = Arena::new();
        println!("{}", sum(nodes, |node| arena.alloc(node)));
    } else {
        println!("{}", sum(nodes, |node| Box::leak(Box::new(node))));
    }
}
