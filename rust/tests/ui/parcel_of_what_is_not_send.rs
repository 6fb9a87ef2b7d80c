// SPDX-License-Identifier: MIT OR Apache-2.0
toft::root!(struct Counted => std::rc::Rc<&'a str>);
static LEASES: toft::Leases = toft::Leases::new();
fn main() {
    let parcel = LEASES.parcel::<Counted>(|arena| std::rc::Rc::new(arena.alloc_str("x")));
    std::thread::spawn(move || drop(parcel));
}
