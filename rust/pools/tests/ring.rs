//! Rings against `VecDeque` and a table of indices, and each promise of their documentation.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[path = "common/failing.rs"]
mod failing;
#[path = "common/ledger.rs"]
mod ledger;
#[path = "common/look.rs"]
mod look;
#[path = "common/pair.rs"]
mod pair;
#[path = "common/ring_model.rs"]
mod ring_model;
#[path = "common/steps.rs"]
mod steps;

use std::collections::VecDeque;

use failing::{Failing, Shared};
use ledger::{panics, Ledger};
use look::{out, twin, Look, Step, Twin, FEWER};
use pair::Pair;
use proptest::prelude::*;
use ring_model::{play, KINDS};
use toft::Arena;
use toft::Heap;
use toft_pools::{Columns, Full, Ring, Rows};

fn play_all<L: Look>(steps: &[Step]) {
    play(Ring::<Twin, L, u16, _>::new_in(Heap), steps);
    play(Ring::<Twin, L, u32, _>::with_capacity_in(5, Heap), steps);
    play(Ring::<Twin, L, usize, _>::fixed_in(13, Heap), steps);
    play(Ring::<Twin, L, u32, _>::fixed_in(16, Heap), steps);
    play(Ring::<Twin, L, u32, _>::fixed_in(0, Heap), steps);
    play(Ring::<Twin, L, u32, _>::new_in(&Arena::new()), steps);
    let memory = Failing::new();
    play(Ring::<Twin, L, u32, _>::new_in(Shared(&memory)), steps);
    assert_eq!(memory.bytes_out(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_play_as_the_model(steps in steps::steps(KINDS, 160)) {
        play_all::<Rows>(&steps);
    }

    #[test]
    fn columns_play_as_the_model(steps in steps::steps(KINDS, 160)) {
        play_all::<Columns>(&steps);
    }

    /// Growth by any power of two, from any place within the memory.
    #[test]
    fn growth_keeps_each_value_under_its_index(skip in 0_u32..40, len in 0_u32..17, more in 0_usize..300) {
        fn grows<L: toft_pools::Layout<Pair<u32, u32>>>(skip: u32, len: u32, more: usize, get: fn(L::Ref<'_>) -> u32) {
            let mut ring = Ring::<Pair<u32, u32>, L, u32, Heap>::with_capacity_in(16, Heap);
            for n in 0..skip {
                ring.push_end(Pair(n, n));
                ring.pop_begin();
            }
            for n in skip..skip + len.min(16) {
                assert_eq!(ring.push_end(Pair(n, n)), n);
            }
            ring.reserve(more);
            assert!(ring.capacity() >= ring.len() + more);
            for n in skip..skip + len.min(16) {
                assert_eq!(ring.get(n).map(get), Some(n));
            }
            ring.shrink_to_fit();
            assert!(ring.iter().map(get).eq(skip..skip + len.min(16)));
            assert!(ring.indices().all(|i| ring.get(i).map(get) == Some(i)));
        }
        grows::<Rows>(skip, len, more, |pair| pair.0);
        grows::<Columns>(skip, len, more, |(a, _)| *a);
    }
}

#[test]
fn indices_of_16_bits_number_half_of_their_range() {
    let mut ring: Ring<u32, Rows, u16> = Ring::default();
    for n in 0..32_768 {
        assert_eq!(ring.push_end(n), n as u16);
    }
    assert_eq!(ring.try_push_end(7), Err(Full(7)));
    assert_eq!(ring.try_push_begin(7), Err(Full(7)));
    assert!(ring.try_reserve(1).is_err() && ring.len() == 32_768 && ring.capacity() == 32_768);
    assert!(panics(|| ring.push_end(7)).is_err());
    assert_eq!((ring.get(32_767), ring.get(32_768), ring.get(u16::MAX)), (Some(&32_767), None, None));
    assert_eq!(ring.pop_begin(), Some(0));
    assert_eq!(ring.push_end(32_768), 32_768);
    assert_eq!((ring.get(0), ring[32_768]), (None, 32_768));
    assert!(panics(|| ring[0]).is_err());
    assert!(Ring::<u8, Rows, u16>::try_with_capacity_in(32_769, Heap).is_err());
    assert!(Ring::<u8, Rows, u16>::try_fixed_in(32_769, Heap).is_err());
}

#[test]
fn indices_wrap_and_values_stay_under_them() {
    let mut ring: Ring<u64, Rows, u16> = Ring::fixed_in(5, Heap);
    let mut sent = 0_u64;
    for round in 0..200_000_u64 {
        while ring.len() < 5 {
            assert_eq!(ring.push_end(sent), sent as u16);
            sent += 1;
        }
        for n in sent - 5..sent {
            assert_eq!(ring.get(n as u16), Some(&n));
        }
        assert_eq!(ring.get(sent.wrapping_sub(6) as u16), None);
        for _ in 0..=round % 3 {
            ring.pop_begin();
        }
        if cfg!(miri) && round == 300 {
            break;
        }
    }
    // Downwards, through 0.
    let mut ring: Ring<i32, Rows, u64> = Ring::new_in(Heap);
    assert_eq!([ring.push_begin(-1), ring.push_begin(-2), ring.push_end(0)], [u64::MAX, u64::MAX - 1, 0]);
    assert_eq!((ring[u64::MAX], ring[0], ring.get(1)), (-1, 0, None));
}

#[test]
fn panics_of_values_leave_it_whole() {
    fn shake<L: Look>() {
        let actions: [fn(&mut Ring<Twin, L>); 6] = [
            |ring| ring.clear(),
            |ring| drop(ring.drain()),
            |ring| drop(ring.drain().nth(2)),
            |ring| drop(core::mem::take(ring).into_iter().nth(3)),
            |ring| drop(core::mem::take(ring)),
            |ring| *ring = ring.clone(),
        ];
        for action in actions {
            for k in (0..20).step_by(FEWER) {
                for clones in [false, true] {
                    let ledger = Ledger::new();
                    let mut ring: Ring<Twin, L> = (4..9).map(|n| twin(&ledger, n)).collect();
                    for n in (0..4).rev() {
                        ring.push_begin(twin(&ledger, n));
                    }
                    if clones {
                        ledger.panic_at_clone(k);
                    } else {
                        ledger.panic_at_drop(k);
                    }
                    let _ = panics(|| action(&mut ring));
                    ledger.calm();
                    assert_eq!(ledger.live(), ring.len());
                    assert!(ring.iter().map(L::number).eq((0..9).take(ring.len())));
                    ring.push_end(twin(&ledger, 99));
                    drop(ring);
                    ledger.assert_empty();
                }
            }
        }
    }
    shake::<Rows>();
    shake::<Columns>();
}

#[test]
fn out_of_memory_changes_nothing() {
    fn starve<L: Look>() {
        for k in 0.. {
            let (ledger, memory) = (Ledger::new(), Failing::after(k));
            let mut ring = Ring::<Twin, L, u32, _>::new_in(Shared(&memory));
            let mut model = VecDeque::new();
            for n in 0..100 / FEWER as i64 {
                let pushed = if n % 3 == 0 {
                    ring.try_push_begin(twin(&ledger, n)).map(|_| model.push_front(n))
                } else {
                    ring.try_push_end(twin(&ledger, n)).map(|_| model.push_back(n))
                };
                if let Err(Full(value)) = pushed {
                    assert_eq!(out(value), n);
                }
                assert!(ring.iter().map(L::number).eq(model.iter().copied()));
            }
            let _ = ring.try_reserve(1000);
            ring.shrink_to_fit();
            assert!(ring.iter().map(L::number).eq(model.iter().copied()));
            drop(ring);
            ledger.assert_empty();
            assert_eq!(memory.bytes_out(), 0);
            if memory.failed.get() == 0 {
                assert!(k > 3);
                return;
            }
        }
    }
    starve::<Rows>();
    starve::<Columns>();
}

#[test]
fn values_of_no_size_and_of_pages() {
    let memory = Failing::after(0);
    let mut ring = Ring::<(), Rows, u16, _>::new_in(Shared(&memory));
    for n in 0..1000 {
        ring.push_end(());
        if n % 2 == 0 {
            ring.pop_begin();
        }
    }
    assert_eq!((ring.len(), ring.iter().count()), (500, 500));

    #[repr(align(4096))]
    struct Page(u32);
    let mut ring = Ring::new();
    for n in 0..20 {
        ring.push_end(Page(n));
        ring.push_begin(Page(n));
    }
    assert!(ring.iter().all(|page| (page as *const Page as usize) % 4096 == 0));
    assert_eq!(ring.iter().map(|page| page.0).sum::<u32>(), 380);
}

#[test]
fn rings_compare_by_their_values() {
    let mut a: Ring<u8> = [1, 2, 3].into_iter().collect();
    let mut b = Ring::with_capacity(64);
    b.extend([0, 1, 2, 3]);
    assert_ne!(a, b);
    b.pop_begin();
    assert_eq!(a, b);
    assert_eq!(format!("{a:?}"), "[1, 2, 3]");
    a[0] = 9;
    assert!(a > b);
    let columns: Ring<Pair<u8, u8>, Columns> = [Pair(1, 2)].into_iter().collect();
    assert_eq!(columns, columns.clone());
}
