//! Conversions of vectors, text and boxes to each other and to their parts, elements extracted by a filter, and the
//! traits of the standard library that a box has as its value.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, Cursor, Read, Seek, SeekFrom, Write};
use std::mem::{forget, MaybeUninit};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;

use toft::collections::{String, Vec};
use toft::{Arena, Box, Options};

// ---- vectors ----

/// Removes the elements at the numbers of `accepted`, with a panic of the filter at the number `panics`.
fn extract(accepted: &[usize], panics: usize, take: usize) {
    let (arena, count) = (Arena::new(), Rc::new(()));
    let mut v = arena.vec_from_iter((0..8).map(|i| (i, count.clone())));
    let mut taken = std::vec::Vec::new();
    let whole = catch_unwind(AssertUnwindSafe(|| {
        let filter = |element: &mut (usize, Rc<()>)| {
            assert_ne!(element.0, panics, "the filter");
            accepted.contains(&element.0)
        };
        taken.extend(v.extract_if(1..7, filter).take(take));
    }));
    assert_eq!(whole.is_ok(), !(1..7).contains(&panics) || taken.len() == take);
    let mut numbers: std::vec::Vec<usize> = v.iter().chain(&taken).map(|element| element.0).collect();
    assert!(v.is_sorted_by_key(|element| element.0) && taken.iter().all(|element| accepted.contains(&element.0)));
    numbers.sort_unstable();
    // The values that `extend` had collected when it was interrupted are dropped with it.
    assert!(whole.is_err() || numbers.iter().copied().eq(0..8));
    assert_eq!(Rc::strong_count(&count), 1 + numbers.len());
}

#[test]
fn extract_if_keeps_each_element_once() {
    for accepted in [&[][..], &[0, 7], &[1], &[6], &[1, 2, 3, 4, 5, 6], &[2, 3, 5]] {
        for panics in [1, 2, 4, 6, 9] {
            for take in if cfg!(miri) { &[1, 9][..] } else { &[0, 1, 2, 9] } {
                extract(accepted, panics, *take);
            }
        }
    }
}

#[test]
fn a_panicking_filter_is_called_again_for_its_element() {
    let arena = Arena::new();
    let mut v = arena.vec_from_iter(0..6);
    let calls = Cell::new(0);
    let mut extracted = v.extract_if(.., |n| {
        calls.set(calls.get() + 1);
        assert_ne!(calls.get(), 4);
        *n % 2 == 1
    });
    assert_eq!((extracted.next(), extracted.size_hint()), (Some(1), (0, Some(4))));
    assert!(catch_unwind(AssertUnwindSafe(|| extracted.next())).is_err());
    assert_eq!(format!("{extracted:?}"), "ExtractIf { kept: [0, 2], ahead: [3, 4, 5], .. }");
    assert!(extracted.eq([3, 5]));
    assert_eq!((&v[..], calls.get()), (&[0, 2, 4][..], 7));
}

/// Drops the two references that were leaked, for programs that search for leaks.
fn drop_leaked(count: &Rc<()>) {
    // SAFETY: the two are not used again.
    (0..2).for_each(|_| unsafe { Rc::decrement_strong_count(Rc::as_ptr(count)) });
    assert_eq!(Rc::strong_count(count), 1);
}

#[test]
fn a_leaked_extract_if_leaks_the_elements() {
    let (arena, count) = (Arena::new(), Rc::new(()));
    let mut v = arena.vec_from_iter([count.clone(), count.clone(), count.clone()]);
    let mut extracted = v.extract_if(.., |_| true);
    drop(extracted.next());
    forget(extracted);
    assert_eq!((v.len(), Rc::strong_count(&count)), (0, 3));
    v.push(count.clone());
    drop(v);
    assert_eq!(Rc::strong_count(&count), 3);
    drop_leaked(&count);
}

#[test]
fn extract_if_of_elements_without_a_size() {
    let arena = Arena::new();
    let mut v = arena.vec_from_iter([(); 5]);
    let mut turn = 0;
    assert_eq!(v.extract_if(1..4, |()| (turn += 1, turn != 2).1).count(), 2);
    assert_eq!(v.len(), 3);
    #[allow(clippy::reversed_empty_ranges)]
    for range in [2..4, 3..2] {
        assert!(catch_unwind(AssertUnwindSafe(|| v.extract_if(range, |()| true).count())).is_err());
    }
}

#[test]
fn iterators_of_filters_are_sent_with_their_elements() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let arena = Arena::new();
    let mut v = arena.vec_from_iter(0..4);
    assert_eq!(is_send(v.extract_if(.., |n| *n > 1)).next(), Some(2));
}

#[test]
fn parts_make_the_same_vector() {
    let arena = Arena::new();
    let mut v = Vec::with_capacity_in(10, &arena);
    v.extend(["a".to_string(), "b".to_string()]);
    let (at, length, capacity) = v.into_raw_parts();
    assert_eq!((length, capacity), (2, 10));
    // SAFETY: the parts of a vector in this arena.
    let v = unsafe { Vec::from_raw_parts_in(at, length, capacity, &arena) };
    assert_eq!((v.capacity(), &v[..]), (10, &["a".to_string(), "b".to_string()][..]));
    let (at, length, capacity) = arena.string_from("text").into_raw_parts();
    // SAFETY: the parts of a string in this arena.
    assert_eq!(unsafe { String::from_raw_parts_in(at, length, capacity, &arena) }, "text");
    let (_, length, capacity) = arena.vec::<u64>().into_raw_parts();
    assert_eq!((length, capacity), (0, 0));
}

#[test]
fn the_spare_capacity_is_all_that_is_unused() {
    let arena = Arena::new();
    let mut v = Vec::with_capacity_in(5, &arena);
    v.push(1);
    assert_eq!(v.spare_capacity_mut().len(), 4);
    v.spare_capacity_mut()[..2].copy_from_slice(&[MaybeUninit::new(2), MaybeUninit::new(3)]);
    // SAFETY: initialised.
    unsafe { v.set_len(3) };
    assert_eq!(v.spare_capacity_mut().len(), 2);
    assert_eq!(v, [1, 2, 3]);
    v.shrink_to_fit();
    assert!(v.spare_capacity_mut().is_empty() && arena.vec::<u8>().spare_capacity_mut().is_empty());
    assert_eq!(arena.vec_from_iter([()]).spare_capacity_mut().len(), usize::MAX - 1);
}

#[test]
fn arrays_are_flattened_in_place() {
    let arena = Arena::new();
    let mut v = Vec::with_capacity_in(4, &arena);
    v.extend([["a".to_string(), "b".to_string()], ["c".to_string(), "d".to_string()]]);
    let at = v.as_ptr().addr();
    let mut flat = v.into_flattened();
    assert_eq!((flat.as_ptr().addr(), flat.capacity(), flat.concat()), (at, 8, "abcd".to_string()));
    (0..10).for_each(|i| flat.push(i.to_string()));
    assert_eq!(flat.concat(), "abcd0123456789");

    let mut none = arena.vec_from_iter([[0u64; 0]; 3]).into_flattened();
    assert_eq!((none.len(), none.capacity()), (0, 0));
    none.push(7);
    assert_eq!(none, [7]);
    assert_eq!(arena.vec_from_iter([[(); 3]; 5]).into_flattened().len(), 15);
    let mut many = arena.vec::<[(); 3]>();
    // SAFETY: elements without a size need no memory.
    unsafe { many.set_len(usize::MAX / 2) };
    assert!(catch_unwind(AssertUnwindSafe(|| many.into_flattened().len())).is_err());
}

#[test]
fn a_vector_becomes_an_array_of_its_length() {
    let (arena, count) = (Arena::new(), Rc::new(()));
    let v = arena.vec_from_iter([count.clone(), count.clone()]);
    let v = <[Rc<()>; 3]>::try_from(v).unwrap_err();
    assert_eq!((v.len(), Rc::strong_count(&count)), (2, 3));
    let array: [Rc<()>; 2] = v.try_into().unwrap();
    assert_eq!((array.len(), Rc::strong_count(&count)), (2, 3));
    drop(array);
    assert_eq!(Rc::strong_count(&count), 1);
}

#[test]
fn leaked_elements_are_not_dropped() {
    let (arena, count) = (Arena::new(), Rc::new(()));
    let slice: &mut [Rc<()>] = arena.vec_from_iter([count.clone(), count.clone()]).leak();
    let text: &mut str = arena.string_from("text").leak();
    text.make_ascii_uppercase();
    assert_eq!((slice.len(), Rc::strong_count(&count), &*text), (2, 3, "TEXT"));
    drop_leaked(&count);
}

#[test]
fn a_refused_insertion_leaves_the_vector_unchanged() {
    let (tight, count) = (Options::new().budget(64).create().unwrap(), Rc::new(()));
    let mut v = tight.vec();
    while v.try_insert(0, count.clone()).is_ok() {}
    assert!((1..=8).contains(&v.len()) && Rc::strong_count(&count) == v.len() + 1);
    let len = v.len();
    for index in [len + 1, usize::MAX] {
        assert!(catch_unwind(AssertUnwindSafe(|| v.try_insert(index, count.clone()))).is_err());
        assert_eq!(v.try_remove(index).map(drop), None);
    }
    assert_eq!((v.len(), Rc::strong_count(&count)), (len, len + 1));
}

// ---- text ----

#[test]
fn text_of_other_encodings() {
    let arena = Arena::new();
    for text in ["", "plot", "Åland \u{10000}"] {
        let wide: std::vec::Vec<u16> = text.encode_utf16().collect();
        assert_eq!(String::from_utf16_in(&wide, &arena).unwrap(), text);
        assert_eq!(String::from_utf16_lossy_in(&wide, &arena), text);
    }
    for wide in [&[0x61, 0xD800, 0x62][..], &[0xDC00], &[0x61, 0xD800]] {
        assert!(String::from_utf16_in(wide, &arena).is_err());
        assert_eq!(String::from_utf16_lossy_in(wide, &arena), &*std::string::String::from_utf16_lossy(wide));
    }
    let bytes = arena.vec_from_iter(*b"plain");
    let at = bytes.as_ptr();
    assert_eq!(String::from_utf8_lossy_owned(bytes).as_ptr(), at);
    assert_eq!(String::from_utf8_lossy_owned(arena.vec_from_iter(*b"to\xFFft")), "to\u{FFFD}ft");
}

#[test]
fn text_becomes_boxes_characters_and_bytes() {
    let arena = Arena::new();
    let boxed: Box<str> = arena.string_from("boxed").into();
    let bytes: Vec<u8> = arena.string_from("bytes").into();
    assert_eq!((&*boxed, &bytes[..]), ("boxed", &b"bytes"[..]));
    assert!(arena.string_from("añb").into_chars().rev().eq("bña".chars()));
    let mut s = String::with_capacity_in(100, &arena);
    s.extend([boxed, arena.boxed_str("!")]);
    s.extend([std::boxed::Box::<str>::from("?")]);
    s.shrink_to(20);
    assert_eq!((s.as_str(), s.capacity()), ("boxed!?", 20));
    s.shrink_to(3);
    assert_eq!(s.capacity(), 7);
}

#[test]
fn text_is_repeated_at_characters_only() {
    let arena = Arena::new();
    let mut s = arena.string_from("añb");
    s.extend_from_within(1..3);
    assert_eq!(s, "añbñ");
    for range in [2..3, 1..2, 0..9] {
        assert!(catch_unwind(AssertUnwindSafe(|| s.extend_from_within(range))).is_err());
    }
    assert_eq!(s, "añbñ");
}

// ---- boxes ----

#[test]
fn a_box_is_emptied_and_filled() {
    let (arena, count) = (Arena::new(), Rc::new(()));
    let boxed = arena.boxed(count.clone());
    let at = Box::as_ptr(&boxed);
    let (value, empty) = Box::take(boxed);
    assert_eq!(Rc::strong_count(&count), 2);
    let mut boxed = Box::write(empty, value);
    assert_eq!((Box::as_ptr(&boxed), Box::as_mut_ptr(&mut boxed).cast_const()), (at, at));
    drop(Box::take(boxed).1); // the value is dropped, the box has none
    assert_eq!(Rc::strong_count(&count), 1);

    let mut values = arena.boxed_slice([const { MaybeUninit::uninit() }, const { MaybeUninit::uninit() }]);
    values.iter_mut().for_each(|value| _ = value.write(count.clone()));
    // SAFETY: both are initialised.
    let values: Box<[Rc<()>]> = unsafe { values.assume_init() };
    assert_eq!((values.len(), Rc::strong_count(&count)), (2, 3));
    // SAFETY: just taken out of a box.
    drop(unsafe { Box::from_non_null(Box::into_non_null(values)) });
    assert_eq!((Rc::strong_count(&count), *Box::into_pin(arena.boxed(7))), (1, 7));
}

#[test]
fn a_boxed_hasher_hashes_as_its_value() {
    let arena = Arena::new();
    let mut boxed = toft::unsize!(arena.boxed(DefaultHasher::new()) => dyn Hasher);
    let mut plain = DefaultHasher::new();
    let value = (1u8, 2u16, 3u32, 4u64, 5u128, 6usize, (-1i8, -2i16, -3i32, -4i64, -5i128, -6isize), "text");
    value.hash(&mut boxed);
    value.hash(&mut plain);
    assert_eq!(boxed.finish(), plain.finish());
}

#[test]
fn boxed_readers_and_writers_are_readers_and_writers() {
    trait Both: BufRead + Seek {}
    impl Both for Cursor<&[u8]> {}
    let arena = Arena::new();
    let mut reader = toft::unsize!(arena.boxed(Cursor::new(&b"one\ntwo\nthree"[..])) => dyn Both);
    let (mut line, mut rest) = (std::string::String::new(), std::vec::Vec::new());
    assert_eq!((reader.read_line(&mut line).unwrap(), line.as_str()), (4, "one\n"));
    assert_eq!((reader.stream_position().unwrap(), reader.fill_buf().unwrap()), (4, &b"two\nthree"[..]));
    reader.consume(1);
    let mut two = [0; 2];
    reader.read_exact(&mut two).unwrap();
    assert_eq!((&two, reader.seek(SeekFrom::Current(-2)).unwrap()), (b"wo", 5));
    assert_eq!((reader.read_until(b'\n', &mut rest).unwrap(), &rest[..]), (3, &b"wo\n"[..]));
    assert_eq!((reader.read(&mut two).unwrap(), &two), (2, b"th"));
    line.clear();
    assert_eq!((reader.read_to_string(&mut line).unwrap(), line.as_str()), (3, "ree"));
    assert_eq!(reader.read_to_end(&mut rest).unwrap(), 0);

    let mut text = arena.vec();
    let mut writer = toft::unsize!(arena.boxed(&mut text) => dyn Write + '_);
    write!(writer, "{}-", 1).unwrap();
    writer.write_all(b"two").unwrap();
    writer.flush().unwrap();
    drop(writer);
    assert_eq!(text, b"1-two");
}
