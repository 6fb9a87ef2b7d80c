//! Contracts of size classes (`src/recycler/class.rs`), and the geometry of segments (`src/recycler/segment.rs`).
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::super::class;
use super::*;

contracts! {
    fn classes_hold_their_sizes(size: usize, larger: usize) {
        assume!(size <= larger);
        match (class::of(size, 8), class::of(larger, 8)) {
            (Some((k, bytes)), Some((l, more))) => {
                assert!(size > 0 && bytes >= size && bytes % 8 == 0 && k <= l && bytes <= more);
                assert!(if size <= 128 { bytes - size < 8 } else { bytes - size <= size / 8 });
                assert!(class::of(bytes, 8) == Some((k, bytes)) && class::bytes_of(k) == bytes);
            }
            (Some((_, bytes)), None) => assert!(bytes <= 4096 && larger > 4096),
            (None, _) => assert!(size == 0 || size > 4096),
        }
    }

    // Objects follow each other from a multiple of what their size is a multiple of, up to a page.
    fn classes_are_multiples_of_the_alignment(size: usize, shift: usize) {
        assume!(size <= isize::MAX as usize / 2);
        let align = 1 << (shift % 16);
        match class::any_of(size, align) {
            Some((k, bytes)) => {
                assert!(class::is_small(size, align) && class::bytes_of(k) == bytes && bytes >= size);
                assert!(bytes % align == 0 && align <= PAGE && bytes <= class::DIRECT);
            }
            None => assert!(size > class::DIRECT || align > PAGE || (size + align > 4096 && align > 16)),
        }
        assert!(!class::is_inline(size, align, class::CLASS_MAX) || class::is_small(size, align));
    }
}

#[test]
fn each_segment_has_a_whole_unit() {
    for size in [2 * UNIT, 4 * UNIT, SEGMENT_MAX] {
        for line in 0..UNIT / LINE {
            let address = 7 * UNIT + line * LINE;
            let s = Segment::at(address, size).expect("a whole unit");
            let end = s.first + s.count as usize * UNIT;
            assert!(s.count <= 64 && s.start == address + size_of::<Segment>() && end <= address + size);
            assert!(end + UNIT > address + size || s.count == 64);
            let mut bytes = 0;
            for i in 0..s.count as usize {
                let zone = s.first + (i + 1) * UNIT - ZONE;
                for page in (0..PAGES).filter(|page| s.pages(i) >> page & 1 == 1) {
                    let room = s.end(i, page + 1) - s.page(i, page);
                    assert!(s.page(i, page) >= s.start && (PAGE_MIN..=PAGE).contains(&room));
                    assert!(s.end(i, page + 1) <= zone);
                    bytes += room;
                }
            }
            assert_eq!(s.bytes(), bytes, "{line} {size}");
            assert_eq!(s.all().count_ones(), (0..s.count as usize).filter(|i| s.pages(*i) != 0).count() as u32);
        }
    }
    assert_eq!(Segment::at(8 * UNIT, UNIT).map(|s| s.all()), Some(1)); // aligned, one unit suffices
    assert!(Segment::at(8 * UNIT + UNIT / 2, UNIT).is_none());
}

#[test]
fn the_longest_aligned_run_is_found() {
    for pages in 0..=u8::MAX {
        let is_run = |n: usize| (0..PAGES).step_by(n).any(|at| (at..at + n).all(|page| pages >> page & 1 == 1));
        let longest =
            [8, 4, 2, 1].into_iter().find(|n| is_run(*n)).map_or(RUN_NONE, |n| RUN_1 + n.trailing_zeros() as usize);
        assert_eq!(longest_run(pages), longest, "{pages:b}");
    }
}

#[test]
fn each_page_of_a_unit_has_a_line_of_its_zone() {
    for unit in 0..2 * PAGES {
        let lines: [usize; PAGES] = core::array::from_fn(|page| line(unit * UNIT, line_of(unit * UNIT, page)).addr());
        assert!(lines.iter().all(|at| at % LINE == 0 && at / UNIT == unit && at % UNIT >= UNIT - ZONE));
        assert!((1..PAGES).all(|i| !lines[..i].contains(&lines[i])));
        assert_eq!(Slab::unit_of(unit * UNIT + 12345).addr(), lines[0]);
        assert!(unit == 0 || Slab::unit_of((unit - 1) * UNIT).addr() % UNIT != lines[0] % UNIT);
    }
}
