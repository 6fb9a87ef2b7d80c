// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Scope;
fn main() {
    let scope: Scope<'static> = Scope::new();
    std::thread::spawn(move || drop(scope));
}
