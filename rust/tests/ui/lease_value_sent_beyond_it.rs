// SPDX-License-Identifier: MIT OR Apache-2.0
static LEASES: toft::Leases = toft::Leases::new();
fn main() {
    let lease = LEASES.get();
    let x = lease.alloc(1);
    std::thread::spawn(move || *x += 1);
}
