// SPDX-License-Identifier: MIT OR Apache-2.0
toft::root!(struct Text => &'a str);
fn main() {
    let leases = toft::Leases::new();
    let parcel = leases.parcel::<Text>(|arena| arena.alloc_str("x"));
    let text: &str = parcel.with(|text| *text);
    drop(parcel);
    println!("{text}");
}
