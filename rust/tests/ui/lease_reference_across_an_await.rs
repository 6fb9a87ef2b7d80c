// SPDX-License-Identifier: MIT OR Apache-2.0
async fn handle(leases: &toft::Leases) {
    let lease = leases.get();
    let arena: &toft::Arena = &lease;
    std::future::ready(()).await;
    arena.alloc(1);
}
fn main() {
    fn may_move(_: impl Send) {}
    let leases = toft::Leases::new();
    may_move(handle(&leases));
}
