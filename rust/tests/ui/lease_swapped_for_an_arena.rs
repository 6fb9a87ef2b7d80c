// SPDX-License-Identifier: MIT OR Apache-2.0
fn main() {
    let leases = toft::Leases::new();
    let (mut lease, mut arena) = (leases.get(), toft::Arena::new());
    std::mem::swap(&mut *lease, &mut arena);
}
