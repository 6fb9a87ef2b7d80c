// SPDX-License-Identifier: MIT OR Apache-2.0
fn main() {
    let leases = toft::Leases::new();
    let lease = leases.get();
    let x = lease.alloc(1);
    drop(lease);
    *x += 1;
}
