// SPDX-License-Identifier: MIT OR Apache-2.0
fn main() {
    let leases = toft::Leases::new();
    let lease = leases.get();
    std::thread::scope(|s| {
        s.spawn(|| lease.alloc(1));
    });
}
