//! Leases of arenas from a cache.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft::{Arena, Leases};

fn lease_outlives_its_cache() {
    let leases = Leases::new();
    let lease = leases.get();
    drop(leases); //~ E0505
    lease.alloc(1);
}

fn lease_reference_across_an_await() {
    async fn handle(leases: &Leases) {
        let lease = leases.get();
        let arena: &Arena = &lease;
        std::future::ready(()).await;
        arena.alloc(1);
    }
    fn may_move(_: impl Send) {}
    let leases = Leases::new();
    may_move(handle(&leases)); //~ future cannot be sent between threads safely
}

fn lease_shared_between_threads() {
    let leases = Leases::new();
    let lease = leases.get();
    std::thread::scope(|s| {
        s.spawn(|| lease.alloc(1)); //~ E0277
    });
}

fn lease_swapped_for_an_arena() {
    let leases = Leases::new();
    let (mut lease, mut arena) = (leases.get(), Arena::new());
    std::mem::swap(&mut *lease, &mut arena); //~ E0596
}

fn lease_value_sent_beyond_it() {
    static LEASES: Leases = Leases::new();
    let lease = LEASES.get();
    let x = lease.alloc(1); //~ E0597
    std::thread::spawn(move || *x += 1);
}

fn lease_value_used_after_its_return() {
    let leases = Leases::new();
    let lease = leases.get();
    let x = lease.alloc(1);
    drop(lease); //~ E0505
    *x += 1;
}

fn main() {}
