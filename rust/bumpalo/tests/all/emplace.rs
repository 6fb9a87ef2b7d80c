//! The calls that bumpalo 3.20 lacks.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::rc::Rc;

use toft_bumpalo::Bump;

#[test]
fn an_unused_reservation_is_freed() {
    let bump = Bump::new();
    drop(bump.emplace::<[u64; 4]>());
    drop(bump.emplace_slice_with_capacity::<u64>(100));
    drop(bump.emplace_str_with_capacity(100));
    assert_eq!(bump.allocated_bytes(), 0);
    assert_eq!(*bump.emplace().write(7u64), 7);
    let mut slot = bump.try_emplace::<u64>().unwrap();
    slot.as_uninit_mut().write(8);
    // SAFETY: just written.
    assert_eq!(unsafe { *slot.assume_init() }, 8);
    assert_eq!(bump.allocated_bytes(), 16);
}

#[test]
fn slices_grow_and_free_their_unused_capacity() {
    let bump = Bump::<16>::with_min_align();
    let mut slice = bump.emplace_slice_with_capacity(100);
    slice.extend(0..10u64);
    slice.extend_from_slice_copy(&[10, 11]);
    slice.shrink(50);
    assert_eq!((slice.capacity(), slice.len(), slice.as_uninit().len()), (50, 12, 50));
    let slice = slice.into_mut_slice();
    assert_eq!((slice.len(), slice.as_ptr() as usize % 16, bump.allocated_bytes()), (12, 0, 96));
    assert_eq!(bump.emplace_slice().write_iter("a b".split(' ')), ["a", "b"]);
    assert_eq!(bump.emplace_slice().copy_slice(&[1, 2, 3]), [1, 2, 3]);
    assert_eq!(bump.emplace_slice_with_capacity(7).clone_slice(&[Some(1), None]), [Some(1), None]);
    assert_eq!(bump.emplace_slice::<()>().write_iter([(); 5]).len(), 5);
    for empty in [bump.emplace_slice_with_capacity(0).copy_slice(&[0u32; 0]), bump.emplace_slice().into_mut_slice()] {
        assert_eq!(empty.as_ptr() as usize % 16, 0); // also without an element
    }
}

#[test]
fn a_dropped_slice_drops_its_elements() {
    let (bump, value) = (Bump::new(), Rc::new(1));
    let mut slice = bump.emplace_slice();
    slice.extend([value.clone(), value.clone()]);
    assert_eq!(Rc::strong_count(&value), 3);
    drop(slice);
    assert_eq!((Rc::strong_count(&value), bump.allocated_bytes()), (1, 0));
}

#[test]
fn refusals_keep_the_element() {
    let bump = Bump::new();
    bump.set_allocation_limit(Some(16));
    let mut slice = bump.try_emplace_slice_with_capacity::<u64>(2).unwrap();
    slice.extend([1, 2]);
    assert_eq!(slice.try_push(3), Err(3));
    assert!(slice.try_reserve(1).is_err() && slice.try_extend_from_slice_copy(&[3]).is_err());
    assert_eq!(slice.as_slice(), [1, 2]);
    assert!(bump.try_emplace::<u64>().is_err() && bump.try_emplace_str().is_err());
}

#[test]
fn text_is_written_in_place() {
    let bump = Bump::new();
    let mut text = bump.emplace_str();
    text.push_str("plöt");
    text.try_push('s').unwrap();
    assert_eq!((text.len(), text.as_str()), (6, "plöts"));
    assert_eq!(text.into_str(), "plöts");
    assert_eq!(bump.emplace_str().try_write_str("word").unwrap(), "word");
}

#[test]
fn checkpoints_nest() {
    let bump = Bump::new();
    let outer = bump.raw_checkpoint();
    let a = bump.alloc('a');
    let inner = bump.raw_checkpoint();
    bump.alloc_slice_fill_copy(10_000, 0u8);
    // SAFETY: the checkpoints are of this arena, and later allocations are not used any more.
    unsafe { bump.reset_to_raw_checkpoint(inner) };
    assert_eq!((*a, bump.allocated_bytes()), ('a', 8));
    // SAFETY: as above.
    unsafe { bump.reset_to_raw_checkpoint(outer) };
    assert_eq!(bump.allocated_bytes(), 0);
}
