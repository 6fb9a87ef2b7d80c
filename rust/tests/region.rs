//! Regions: content before and after restores, stacks of checkpoints, refusals, panics.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "region")]

use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, AssertUnwindSafe};

use toft::collections::{String, Vec};
use toft::{AllocError, Memory, Region, RegionMemory, Restorable};

type Text<'r> = String<'r, RegionMemory<'r>>;
type List<'r, T> = Vec<'r, T, RegionMemory<'r>>;

toft::restorable! {
    /// Each kind of content.
    struct World<'r> {
        texts: List<'r, Text<'r>>,
        rows: List<'r, List<'r, u32>>,
        marks: List<'r, (Cell<u8>, Option<[u64; 2]>)>,
        wide: List<'r, Wide>,
        title: &'static str,
        last: RefCell<Text<'r>>,
    }
}
toft::root!(struct Worlds => World<'a>);

toft::restorable! {
    /// An attribute macro may reorder the fields.
    #[toft_becomes::becomes(struct Node<'r> { children: List<'r, Node<'r>>, key: u32 })]
    struct Node<'r> {
        key: u32,
        children: List<'r, Node<'r>>,
    }
}
toft::root!(struct Tree => Node<'a>);

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(64))]
struct Wide(u8);
// SAFETY: a number.
unsafe impl Restorable<'_> for Wide {}

fn empty<'r>(memory: &'r RegionMemory<'r>) -> World<'r> {
    World {
        texts: Vec::new_in(memory),
        rows: Vec::new_in(memory),
        marks: Vec::new_in(memory),
        wide: Vec::new_in(memory),
        title: "no title",
        last: RefCell::new(String::new_in(memory)),
    }
}

fn fill<'r>(world: &mut World<'r>, memory: &'r RegionMemory<'r>, range: std::ops::Range<usize>) {
    for i in range {
        world.texts.push(String::from_str_in(&format!("text {i}"), memory));
        if i % 10 == 0 {
            world.rows.push(Vec::new_in(memory));
        }
        world.rows.last_mut().unwrap().push(i as u32);
        world.marks.push((Cell::new(i as u8), Some([i as u64; 2])));
        world.wide.push(Wide(i as u8));
        *world.last.borrow_mut() = String::from_str_in(&format!("last {i}"), memory);
        world.title = "a title";
    }
}

fn is_filled(world: &World, n: usize) -> bool {
    let good = |i: usize| {
        *world.texts[i] == *format!("text {i}")
            && world.rows[i / 10][i % 10] == i as u32
            && world.marks[i] == (Cell::new(i as u8), Some([i as u64; 2]))
            && world.wide[i] == Wide(i as u8)
            && (&raw const world.wide[i]).addr() % 64 == 0
    };
    let last = if n == 0 { std::string::String::new() } else { format!("last {}", n - 1) };
    world.texts.len() == n
        && world.rows.len() == n.div_ceil(10)
        && world.marks.len() == n
        && world.wide.len() == n
        && (0..n).all(good)
        && **world.last.borrow() == *last
        && world.title == if n == 0 { "no title" } else { "a title" }
}

fn region_with(n: usize) -> Region<Worlds> {
    let mut region = Region::<Worlds>::new(1 << 30, empty).unwrap();
    region.with_mut(|world, memory| fill(world, memory, 0..n));
    region
}

#[test]
fn content_is_restored() {
    for n in [0, 1, 10, if cfg!(miri) { 30 } else { 100_000 }] {
        let mut region = region_with(n);
        region.checkpoint().unwrap();
        for round in 0..3 {
            region.with_mut(|world, memory| match round {
                0 => fill(world, memory, n..n + n / 2 + 50),
                1 => *world = empty(memory),
                _ => {
                    for text in world.texts.iter_mut() {
                        text.push_str(" has another end, for which it must move");
                    }
                    world.marks.iter().for_each(|mark| mark.0.set(0));
                    world.rows.clear();
                    world.rows.shrink_to_fit();
                    world.wide.reverse();
                }
            });
            region.restore();
            assert!(region.with(|world| is_filled(world, n)), "{n} elements, round {round}");
        }
        region.with_mut(|world, memory| fill(world, memory, n..n + 20));
        assert!(region.with(|world| is_filled(world, n + 20)));
    }
}

#[test]
fn a_tree_is_restored() {
    let mut region = Region::<Tree>::new(1 << 20, |memory| Node { key: 0, children: Vec::new_in(memory) }).unwrap();
    let grow = |region: &mut Region<Tree>, first: u32| {
        region.with_mut(|root, memory| {
            let mut node = root;
            for key in first..first + 10 {
                node.children.push(Node { key, children: Vec::new_in(memory) });
                node = node.children.last_mut().unwrap();
            }
        });
    };
    fn keys(node: &Node) -> u32 {
        node.key + node.children.iter().map(keys).sum::<u32>()
    }
    grow(&mut region, 1);
    region.checkpoint().unwrap();
    grow(&mut region, 100);
    assert_eq!(region.with(keys), 55 + 1045);
    region.restore();
    assert_eq!(region.with(keys), 55);
}

#[test]
fn checkpoints_form_a_stack() {
    let mut region = region_with(0);
    for level in 1..=4 {
        region.with_mut(|world, memory| fill(world, memory, 10 * (level - 1)..10 * level));
        region.checkpoint().unwrap();
        region = *Box::new(region); // it may be moved
    }
    for level in (1..=4).rev() {
        assert_eq!(region.checkpoints(), level);
        region.with_mut(|world, memory| *world = empty(memory));
        region.restore();
        assert!(region.with(|world| is_filled(world, 10 * level)));
        region.drop_checkpoint();
        assert!(region.with(|world| is_filled(world, 10 * level)));
    }
    let none = |call: fn(&mut Region<Worlds>), region: &mut Region<Worlds>| {
        catch_unwind(AssertUnwindSafe(|| call(region))).unwrap_err();
    };
    none(Region::restore, &mut region);
    none(Region::drop_checkpoint, &mut region);
    assert!(region.with(|world| is_filled(world, 10)));
}

#[test]
fn a_restore_frees() {
    let mut region = region_with(1);
    let used = region.with_mut(|_, memory| memory.used());
    region.checkpoint().unwrap();
    for _ in 0..3 {
        region.with_mut(|world, memory| fill(world, memory, 1..20));
        assert!(region.with_mut(|_, memory| memory.used()) > used);
        region.restore();
        assert_eq!(region.with_mut(|_, memory| memory.used()), used);
    }
}

#[test]
fn a_full_region_refuses() {
    assert!(Region::<Worlds>::new(0, empty).is_err());
    assert!(Region::<Worlds>::new(usize::MAX, empty).is_err());
    const MAX: usize = if cfg!(miri) { 1 << 14 } else { 1 << 17 };
    let mut region = Region::<Worlds>::new(MAX, empty).unwrap();
    region.with_mut(|world, memory| fill(world, memory, 0..10));
    region.checkpoint().unwrap();
    for _ in 0..3 {
        region.with_mut(|world, memory| {
            while world.rows[0].try_push(7).is_ok() {}
            assert_eq!(memory.allocate(std::alloc::Layout::new::<[u8; MAX]>()), Err(AllocError));
            assert!(memory.allocate(std::alloc::Layout::from_size_align(usize::MAX / 2 - 63, 64).unwrap()).is_err());
            assert!(world.rows[0].len() > 100 && world.rows[0][10..].iter().all(|n| *n == 7));
        });
        let full = |region: &mut Region<Worlds>| region.with_mut(|world, memory| fill(world, memory, 10..10_000));
        catch_unwind(AssertUnwindSafe(|| full(&mut region))).unwrap_err();
        region.restore();
        assert!(region.with(|world| is_filled(world, 10)));
    }
}

/// Every call of `Memory`, at each alignment: the newest allocation grows and shrinks at its place.
#[test]
fn memory_is_aligned_and_distinct() {
    toft::root!(struct Nothing => ());
    let mut region = Region::<Nothing>::new(1 << 20, |_| ()).unwrap();
    region.with_mut(|(), memory| {
        let layout = |size, align| std::alloc::Layout::from_size_align(size, align).unwrap();
        for align in [1, 8, 64, 4096] {
            let first = memory.allocate(layout(3, align)).unwrap();
            let second = memory.allocate(layout(100, 1)).unwrap();
            assert_eq!(first.addr().get() % align, 0);
            // SAFETY: allocated above, and not used after their resizes but by the results.
            unsafe {
                first.write_bytes(1, 3);
                second.write_bytes(2, 100);
                assert_eq!(memory.grow(second, layout(100, 1), layout(200, 1)), Ok(second));
                let moved = memory.grow(first, layout(3, align), layout(8, align)).unwrap();
                assert_ne!(moved, first);
                assert_eq!(moved.addr().get() % align, 0);
                assert_eq!(moved.cast::<[u8; 3]>().read(), [1; 3]);
                assert_eq!(second.cast::<[u8; 100]>().read(), [2; 100]);
                assert_eq!(memory.shrink(moved, layout(8, align), layout(2, align)), Ok(moved));
                let used = memory.used();
                let wider = memory.shrink(second, layout(200, 1), layout(100, 128)).unwrap();
                assert_eq!(wider.addr().get() % 128, 0);
                assert_eq!(wider.cast::<[u8; 100]>().read(), [2; 100]);
                memory.deallocate(wider, layout(100, 128));
                memory.deallocate(second, layout(200, 1));
                assert!(memory.used() >= used);
            }
        }
    });
}

/// Values with a destructor are forgotten by a restore, and dropped once at the end.
#[test]
fn a_restore_drops_nothing() {
    thread_local!(static DROPS: Cell<usize> = const { Cell::new(0) });
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPS.set(DROPS.get() + 1);
        }
    }
    // SAFETY: the number may have any value.
    unsafe impl Restorable<'_> for Counted {}
    toft::root!(struct All => List<'a, Counted>);

    let mut region = Region::<All>::new(1 << 16, |memory| Vec::from_iter_in([Counted, Counted], memory)).unwrap();
    region.checkpoint().unwrap();
    region.with_mut(|all, _| all.push(Counted));
    region.restore();
    assert_eq!(DROPS.get(), 0);
    region.with_mut(|all, _| all.clear());
    assert_eq!(DROPS.get(), 2);
    region.restore();
    drop(region);
    assert_eq!(DROPS.get(), 4);
}

#[test]
fn panics_leave_the_region_usable() {
    toft::root!(struct Number => u32);
    let made = || Region::<Number>::new(1 << 16, |_| panic!("in make"));
    catch_unwind(made).unwrap_err();
    let mut region = region_with(10);
    region.checkpoint().unwrap();
    let change = |region: &mut Region<Worlds>| {
        region.with_mut(|world, memory| {
            world.texts.retain(|text| text.ends_with('0'));
            fill(world, memory, 1..30);
            panic!("in with_mut")
        })
    };
    catch_unwind(AssertUnwindSafe(|| change(&mut region))).unwrap_err();
    region.restore();
    assert!(region.with(|world| is_filled(world, 10)));
}
