//! Regions: content before and after restores, trees of checkpoints, refusals, panics, digests.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "region")]

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::panic::{catch_unwind, AssertUnwindSafe};

use toft::collections::{String, Vec};
use toft::{AllocError, Checkpoint, Memory, Region, RegionMemory, Restorable, StaleCheckpoint};

#[path = "common/random.rs"]
mod random;
#[path = "common/strict.rs"]
mod strict;

type Text<'r> = String<'r, RegionMemory<'r>>;
type List<'r, T> = Vec<'r, T, RegionMemory<'r>>;

toft::restorable! {
    /// Each kind of content.
    #[derive(Debug)]
    struct World<'r> {
        texts: List<'r, Text<'r>>,
        rows: List<'r, List<'r, u32>>,
        marks: List<'r, (Cell<u8>, Option<[u64; 2]>)>,
        wide: List<'r, Wide>,
        title: &'static str,
        last: RefCell<Text<'r>>,
        tree: Node<'r>,
    }
}
toft::root!(struct Worlds => World<'a>);
toft::root!(struct Bytes => List<'a, u8>);
toft::root!(struct Nothing => ());

toft::restorable! {
    /// An attribute macro may reorder the fields.
    #[toft_becomes::becomes(#[derive(Debug)] struct Node<'r> { children: List<'r, Node<'r>>, key: u32 })]
    struct Node<'r> {
        key: u32,
        children: List<'r, Node<'r>>,
    }
}

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
        tree: Node { key: 0, children: Vec::new_in(memory) },
    }
}

fn fill<'r>(world: &mut World<'r>, memory: &'r RegionMemory<'r>, range: std::ops::Range<usize>) {
    for i in range {
        world.texts.push(String::from_str_in(&format!("text {i}"), memory));
        if i % 10 == 0 || world.rows.is_empty() {
            world.rows.push(Vec::new_in(memory));
        }
        world.rows.last_mut().unwrap().push(i as u32);
        world.marks.push((Cell::new(i as u8), Some([i as u64; 2])));
        world.wide.push(Wide(i as u8));
        *world.last.borrow_mut() = String::from_str_in(&format!("last {i}"), memory);
        world.title = "a title";
        world.tree.children.push(Node { key: i as u32, children: Vec::new_in(memory) });
    }
}

fn change(region: &mut Region<Worlds>, kind: usize, value: usize) {
    region.with_mut(|world, memory| match kind {
        0 => *world = empty(memory),
        1 => {
            world
                .texts
                .iter_mut()
                .skip(value)
                .for_each(|text| text.push_str(" has another end, for which it must move"));
            world.marks.iter().for_each(|mark| mark.0.set(value as u8));
            world.wide.reverse();
        }
        2 => world.rows.truncate(value / 8),
        3..8 => world.tree.key = value as u32,
        _ => fill(world, memory, value..value + value % if cfg!(miri) { 8 } else { 50 }),
    });
}

fn region_with(n: usize) -> Region<Worlds> {
    let mut region = Region::<Worlds>::new(1 << 24, empty).unwrap();
    region.with_mut(|world, memory| fill(world, memory, 0..n));
    region
}

/// A copy of the content, and the bytes in use.
fn content(region: &mut Region<Worlds>) -> (std::string::String, usize) {
    region.with_mut(|world, memory| (format!("{world:?}"), memory.used()))
}

/// Against a model: of each checkpoint the content, the parent and the name. Restores and drops allocate nothing.
#[test]
fn trees_bring_each_content_back() {
    type Model = BTreeMap<Checkpoint, ((std::string::String, usize), Option<Checkpoint>, Option<&'static str>)>;
    const STEPS: usize = if cfg!(miri) {
        100
    } else if cfg!(debug_assertions) {
        3000
    } else {
        10_000
    };
    let (mut region, mut other, mut random) = (region_with(0), region_with(0), random::Random(1));
    let (mut model, mut current, mut refused) = (Model::new(), None, 0);
    let mut stale = vec![other.checkpoint().unwrap()];
    for step in 0..STEPS {
        let most = [3, 20, 100][step * 6 / STEPS % 3];
        let any = model.keys().nth(random.below(model.len().max(1))).copied();
        match (random.below(10), any) {
            (0..5, _) => change(&mut region, random.below(14), random.below(200)),
            (5..7, _) | (_, None) if model.len() < most => {
                let saved = region.saved_bytes();
                let name = [None, Some("a name")][step % 2];
                let count = [random.below(20), usize::MAX][random.below(2)];
                let made = strict::serving(count, || match name {
                    None => region.checkpoint(),
                    Some(name) => region.checkpoint_named(name),
                });
                if let Ok(id) = made {
                    assert!(model.keys().chain(&stale).all(|older| *older < id));
                    model.insert(id, (content(&mut region), current, name));
                    current = Some(id);
                } else {
                    assert_eq!(region.saved_bytes(), saved);
                    refused += 1;
                }
            }
            (7..9, Some(id)) => {
                strict::serving(0, || region.restore(id).unwrap());
                assert!(content(&mut region) == model[&id].0, "step {step}");
                current = Some(id);
            }
            (_, Some(id)) => {
                strict::serving(0, || region.drop_checkpoint(id).unwrap());
                let (_, parent, _) = model.remove(&id).unwrap();
                let parents = model.values_mut().map(|kept| &mut kept.1).chain([&mut current]);
                parents.filter(|of| **of == Some(id)).for_each(|of| *of = parent);
                stale.push(id);
            }
            _ => {}
        }
        let id = stale[random.below(stale.len())];
        assert_eq!((region.restore(id), region.drop_checkpoint(id)), (Err(StaleCheckpoint), Err(StaleCheckpoint)));
        let listed = region.checkpoints().map(|info| (info.checkpoint, info.parent, info.name));
        assert!(listed.eq(model.iter().map(|(id, kept)| (*id, kept.1, kept.2))));
        assert_eq!(region.current(), current);
    }
    assert!(refused > STEPS / 50 || cfg!(any(miri, toft_plain_heap)), "{refused}");
    model.keys().for_each(|id| region.drop_checkpoint(*id).unwrap());
    assert_eq!((region.saved_bytes(), region.current(), region.checkpoints().len()), (0, None, 0));
}

#[test]
fn restores_take_no_memory() {
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 100_000 };
    let mut empty = Region::<Nothing>::new(1, |_| ()).unwrap();
    let other = empty.checkpoint_named("").unwrap();
    empty.restore(other).unwrap();
    assert!(empty.checkpoints().map(|info| (info.bytes, info.name)).eq([(0, Some(""))]));
    let mut region = Region::<Bytes>::new(1 << 20, |memory| Vec::new_in(memory)).unwrap();
    assert_eq!((region.current(), region.restore(other)), (None, Err(StaleCheckpoint)));
    let nodes = [0, 1, 5000].map(|len| {
        region.with_mut(|bytes, _| bytes.resize(len, len as u8));
        (region.checkpoint().unwrap(), len)
    });
    let mut region = *Box::new(region); // it may be moved
    strict::balanced(|| {
        for (id, len) in nodes.iter().cycle().take(ROUNDS) {
            region.with_mut(|bytes, memory| *bytes = Vec::from_iter_in([3; 10], memory));
            region.restore(*id).unwrap();
            region.with(|bytes| assert_eq!((bytes.len(), bytes.last().map_or(0, |last| *last)), (*len, *len as u8)));
        }
    });
}

/// In pages. Without comparisons of pages each checkpoint has all.
#[test]
#[cfg(not(any(miri, toft_plain_heap)))]
fn a_checkpoint_holds_what_changed() {
    const PAGES: usize = 130;
    let mut region =
        Region::<Bytes>::new(1 << 20, |memory| Vec::from_iter_in(std::iter::repeat_n(0, PAGES << 12), memory)).unwrap();
    let write = |region: &mut Region<Bytes>, used: usize, value: u8, pages: std::ops::Range<usize>| {
        region.with_mut(|bytes, _| {
            bytes.resize(used << 12, 0);
            bytes.shrink_to_fit();
            pages.for_each(|page| bytes[page << 12 | 100] = value);
        });
        region.checkpoint().unwrap()
    };
    let assert_held = |region: &Region<Bytes>, sum: usize, each: &[usize]| {
        assert_eq!(region.saved_bytes(), sum << 12);
        assert!(region.checkpoints().map(|info| info.bytes).eq(each.iter().map(|pages| pages << 12)));
    };
    let zeros = region.checkpoint().unwrap();
    let all = write(&mut region, PAGES, 1, 0..PAGES);
    let left = write(&mut region, PAGES, 2, 1..2);
    region.restore(all).unwrap();
    let right = write(&mut region, PAGES, 3, 1..3);
    assert_held(&region, PAGES + 3, &[0, 1, 1, 2]);
    region.drop_checkpoint(all).unwrap();
    assert_held(&region, PAGES + 2, &[0, 2, 2]);
    region.drop_checkpoint(left).unwrap();
    assert_held(&region, PAGES, &[0, PAGES]);
    // Pages that are not in use are not held.
    let short = write(&mut region, 1, 5, 0..1);
    write(&mut region, PAGES, 6, 15..16);
    region.drop_checkpoint(right).unwrap();
    region.drop_checkpoint(zeros).unwrap();
    assert_held(&region, 2, &[0, 1]);
    region.restore(short).unwrap();
    assert!(region.with(|bytes| bytes.len() == 1 << 12 && bytes[100] == 5));
}

#[test]
fn a_full_region_refuses() {
    assert!(Region::<Worlds>::new(0, empty).is_err());
    assert!(Region::<Worlds>::new(usize::MAX, empty).is_err());
    const MAX: usize = if cfg!(miri) { 1 << 14 } else { 1 << 17 };
    let mut region = Region::<Worlds>::new(MAX, empty).unwrap();
    region.with_mut(|world, memory| fill(world, memory, 0..10));
    let (before, saved) = (content(&mut region), region.checkpoint().unwrap());
    for _ in 0..3 {
        region.with_mut(|world, memory| {
            while world.rows[0].try_push(7).is_ok() {}
            assert_eq!(memory.allocate(std::alloc::Layout::new::<[u8; MAX]>()), Err(AllocError));
            assert!(memory.allocate(std::alloc::Layout::from_size_align(usize::MAX / 2 - 63, 64).unwrap()).is_err());
            assert!(world.rows[0].len() > 100 && world.rows[0][10..].iter().all(|n| *n == 7));
        });
        catch_unwind(AssertUnwindSafe(|| region.with_mut(|world, memory| fill(world, memory, 10..10_000))))
            .unwrap_err();
        region.restore(saved).unwrap();
        assert!(content(&mut region) == before);
    }
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
    let saved = region.checkpoint().unwrap();
    region.with_mut(|all, _| all.push(Counted));
    region.restore(saved).unwrap();
    assert_eq!(DROPS.get(), 0);
    region.with_mut(|all, _| all.clear());
    assert_eq!(DROPS.get(), 2);
    region.restore(saved).unwrap();
    drop(region);
    assert_eq!(DROPS.get(), 4);
}

#[test]
fn panics_leave_the_region_usable() {
    catch_unwind(|| Region::<Bytes>::new(1 << 16, |_| panic!("in make"))).unwrap_err();
    let mut region = region_with(10);
    let (before, saved) = (content(&mut region), region.checkpoint().unwrap());
    let change = |region: &mut Region<Worlds>| {
        region.with_mut(|world, memory| {
            world.texts.retain(|text| text.ends_with('0'));
            fill(world, memory, 1..30);
            panic!("in with_mut")
        })
    };
    catch_unwind(AssertUnwindSafe(|| change(&mut region))).unwrap_err();
    region.restore(saved).unwrap();
    assert!(content(&mut region) == before);
}

#[test]
fn a_digest_depends_on_each_bit() {
    let digest = |bytes: &[u8]| {
        let region = Region::<Bytes>::new(1 << 16, |memory| Vec::from_iter_in(bytes.iter().copied(), memory)).unwrap();
        region.digest()
    };
    let mut all = HashSet::new();
    for len in [0, 9, if cfg!(miri) { 10 } else { 75 }] {
        assert!(all.insert(digest(&vec![0; len])));
        for bit in 0..8 * len {
            let mut bytes = vec![0; len];
            bytes[bit / 8] = 1 << (bit % 8);
            assert!(all.insert(digest(&bytes)), "{len} bytes, bit {bit}");
        }
    }
    assert_eq!(digest(b"sixteen bytes, 1"), 3791200803996825286, "the same on each run and host");
}
