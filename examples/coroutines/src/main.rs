//! Futures of async blocks in malloc's memory, a recycler, and the arena of a request: `coroutines REQUESTS`.
//!
//! A request is a tree of futures that await each other, each in a box as recursion needs it. In the first workload a
//! request runs to its end before the next one begins; in the second, 100 requests wait at each leaf and are polled in
//! turn. Prints for both the nanoseconds of a future: of its box and of its run.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use allocator_api2::alloc::{Allocator, Global};
use allocator_api2::boxed::Box;
use allocator_api2::unsize_box;
use toft::{RcArena, Recycler};

type Boxed<A> = Pin<Box<dyn Future<Output = u64>, A>>;

/// Waits for the next turn once.
struct Turn(bool);

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::take(&mut self.0) {
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

fn visit<A: Allocator + Clone + 'static>(memory: A, depth: u32, waits: bool, number: u64) -> Boxed<A> {
    let own = memory.clone();
    let future = async move {
        if depth == 0 {
            Turn(waits).await;
            return number;
        }
        let left = visit(own.clone(), depth - 1, waits, 2 * number).await;
        left + visit(own, depth - 1, waits, 2 * number + 1).await
    };
    Box::into_pin(unsize_box!(Box::new_in(future, memory)))
}

const DEPTH: u32 = 6;
const FUTURES: u64 = (2 << DEPTH) - 1;

fn check(result: u64) {
    let expected = (1u64 << DEPTH..2 << DEPTH).sum::<u64>();
    assert_eq!(result, expected, "of a request");
}

fn run<A: Allocator + Clone + 'static>(requests: u64, at_once: u64, memory: &dyn Fn() -> A) -> f64 {
    let begin = Instant::now();
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..requests / at_once {
        let mut open: Vec<Boxed<A>> = (0..at_once).map(|_| visit(memory(), DEPTH, at_once > 1, 1)).collect();
        while !open.is_empty() {
            open.retain_mut(|future| match future.as_mut().poll(&mut context) {
                Poll::Pending => true,
                Poll::Ready(result) => {
                    check(result);
                    false
                }
            });
        }
    }
    begin.elapsed().as_nanos() as f64 / (requests * FUTURES) as f64
}

type Way<'a> = (&'a str, &'a dyn Fn(u64) -> f64);

fn main() {
    let requests = std::env::args().nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) / 100 * 100;
    if requests < 100 {
        eprintln!("usage: coroutines REQUESTS, at least 100");
        std::process::exit(2);
    }
    let recycler: &'static Recycler = std::boxed::Box::leak(std::boxed::Box::new(Recycler::new())); // of this thread
    let shared = || recycler;
    let ways: [Way; 3] = [
        ("malloc", &|at_once| run(requests, at_once, &|| Global)),
        ("a recycler", &|at_once| run(requests, at_once, &shared)),
        ("an arena for a request", &|at_once| run(requests, at_once, &RcArena::default)),
    ];
    let mut best = [[f64::INFINITY; 2]; 3];
    for _ in 0..7 {
        for ((_, way), best) in ways.iter().zip(&mut best) {
            *best = [best[0].min(way(1)), best[1].min(way(100))];
        }
    }
    println!("Rust futures in          ns, nested  ns, in turn");
    for ((name, _), best) in ways.iter().zip(&best) {
        println!("{name:24} {:10.1} {:12.1}", best[0], best[1]);
    }
}
