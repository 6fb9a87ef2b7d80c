//! Regions: content that a restore would break, and references that are alive during one.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::rc::Rc;
use toft::collections::Vec as List;
use toft::{Arena, Region, RegionMemory};

toft::root!(struct Numbers => List<'a, u32, RegionMemory<'a>>);
toft::root!(struct Heap => std::vec::Vec<u32>);
toft::root!(struct Counted => Option<Rc<u32>>);
toft::root!(struct Text => &'a str);
toft::root!(struct Exclusive => &'a mut u32);
toft::root!(struct Leaked => &'static mut u32);
toft::root!(struct Boxed => toft::Box<'a, u32>);
toft::root!(struct OfAnArena => List<'a, u32>);

struct OfOuter<'o>(std::marker::PhantomData<&'o ()>);
impl<'o> toft::Root for OfOuter<'o> {
    type In<'a> = List<'o, u32, RegionMemory<'o>>;
}

fn memory_of_the_heap() {
    let _ = Region::<Heap>::new(1 << 16, |_| vec![1]); //~ E0599
}

fn a_count() {
    let _ = Region::<Counted>::new(1 << 16, |_| None); //~ E0599
}

fn a_reference_into_the_region() {
    let _ = Region::<Text>::new(1 << 16, |_| "text"); //~ E0599
}

fn an_exclusive_reference_into_the_region() {
    let _ = Region::<Exclusive>::new(1 << 16, |_| Box::leak(Box::new(1))); //~ E0599
}

fn an_exclusive_reference_out() {
    let _ = Region::<Leaked>::new(1 << 16, |_| Box::leak(Box::new(1))); //~ E0599
}

fn a_box() {
    let _ = Region::<Boxed>::new(1 << 16, |_| panic!()); //~ E0599
}

fn a_list_in_an_arena() {
    let _ = Region::<OfAnArena>::new(1 << 16, |_| List::new_in(Box::leak(Box::new(Arena::new())))); //~ E0599
}

fn a_list_in_another_region() {
    let mut outer = Region::<Numbers>::new(1 << 16, |memory| List::new_in(memory)).unwrap();
    fn inner<'o>(memory: &'o RegionMemory<'o>) {
        let _ = Region::<OfOuter<'o>>::new(1 << 16, |_| List::new_in(memory)); //~ E0599
    }
    outer.with_mut(|_, memory| inner(memory));
}

fn the_memory_of_another_region() {
    let mut outer = Region::<Numbers>::new(1 << 16, |memory| List::new_in(memory)).unwrap();
    outer.with_mut(|_, memory| {
        let _ = Region::<Numbers>::new(1 << 16, |_| List::new_in(memory)); //~ lifetime may not | lifetime may not
    });
}

fn escapes_with(saved: toft::Checkpoint) {
    let mut region = Region::<Numbers>::new(1 << 16, |memory| List::new_in(memory)).unwrap();
    let first: Option<&u32> = region.with(|numbers| numbers.first()); //~ lifetime may not liv | lifetime may not liv
    region.restore(saved).unwrap();
    println!("{first:?}");
}

fn the_content_is_taken_out(saved: toft::Checkpoint) {
    let mut region = Region::<Numbers>::new(1 << 16, |memory| List::new_in(memory)).unwrap();
    let mut out = None;
    region.with_mut(|numbers, memory| out = Some(std::mem::replace(numbers, List::new_in(memory)))); //~ E0521
    region.restore(saved).unwrap();
}

fn a_restore_during_a_change(saved: toft::Checkpoint) {
    let mut region = Region::<Numbers>::new(1 << 16, |memory| List::new_in(memory)).unwrap();
    let other = &mut region;
    region.with_mut(|_, _| other.restore(saved)); //~ E0499
}

fn a_struct_with_memory_of_the_heap() {
    toft::restorable! {
        struct Owner {
            numbers: std::vec::Vec<u32>, //~ E0277
        }
    }
}

fn main() {}
