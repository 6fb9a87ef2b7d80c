//! Each form of a value is read back through the checked door, and altered files are refused or have valid values.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::fmt::Debug;
use std::hint::black_box;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::num::{NonZeroI128, NonZeroI32, NonZeroU8, Saturating, Wrapping};
use std::ops::{Range, RangeFrom, RangeFull, RangeTo, RangeToInclusive};
use std::time::Duration;

use toft_frozen::{
    freeze_to_vec, Freeze, Frozen, FrozenError, FrozenHashMap, FrozenKey, FrozenSlice, FrozenSortedMap, FrozenStatic,
    MapBuilder, OpenOptions,
};

#[derive(Freeze, Debug, PartialEq, Clone, Copy)]
struct Pair<'a, T: Copy, const N: usize>
where
    T: PartialEq,
{
    first: T,
    others: &'a [Option<T>],
    bytes: [u8; N],
    of: PhantomData<T>,
}

#[derive(Freeze, Debug, PartialEq, Clone, Copy)]
#[repr(C, u16)]
enum Event<'a, T> {
    None = 300,
    At(Duration, T),
    Named { name: Option<&'a str>, next: Option<&'a Event<'a, T>> } = 7,
}

#[derive(Freeze, Debug, PartialEq, Clone, Copy)]
enum Level {
    Low = -3,
    Middle,
    High = 200,
}

#[derive(Freeze, Debug, PartialEq, Clone, Copy)]
enum Only {
    One,
}

#[derive(Freeze, Debug, PartialEq, Clone, Copy)]
#[repr(u8)]
enum Far {
    First = 1,
    Last = 255,
}

#[derive(Freeze, Debug, PartialEq, Clone, Copy)]
#[repr(align(64))]
struct Wide(u8);

#[derive(Freeze, Debug, PartialEq, Clone, Copy)]
#[repr(align(16))]
struct Sixteen(u8);

#[derive(Freeze, Debug, PartialEq, Clone, Copy)]
#[repr(align(8192))]
struct Empty;

const VALUE: i64 = i64::MIN;
#[derive(Freeze, Debug, PartialEq, Clone, Copy)]
#[repr(i64, align(32))]
enum Extreme {
    Least(u128) = VALUE,
    Last = i64::MAX,
}

macro_rules! each_is_read_back {
    ($($t:ty, $($value:expr),+;)*) => {$($(
        let value: $t = $value;
        let bytes = freeze_to_vec(&value, "form").unwrap();
        let checked = Frozen::<$t>::from_bytes_checked(&bytes, "form").unwrap_or_else(|error| panic!("{value:?}: {error}"));
        assert_eq!(*checked.get(), value);
        assert_eq!(freeze_to_vec(checked.get(), "form").unwrap(), bytes, "{value:?} of a file is another file");
        // SAFETY: written with this type.
        assert_eq!(*unsafe { Frozen::<$t>::from_bytes(&bytes, "form") }.unwrap().get(), value);
    )+)*};
}

#[test]
fn each_form_is_read_back() {
    const V4: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(1, 2, 3, 4), 80);
    const V6: SocketAddrV6 = SocketAddrV6::new(Ipv6Addr::new(1, 2, 3, 4, 5, 6, 7, 8), 443, 9, 10);
    let last = Event::Named { name: None, next: None };
    each_is_read_back! {
        Option<&str>, None, Some(""), Some("gloss");
        Option<&[u16]>, None, Some(&[]), Some(&[1, 2]);
        Option<u32>, None, Some(0), Some(u32::MAX);
        Option<u128>, None, Some(u128::MAX);  Option<Wide>, None, Some(Wide(7));
        [Option<Sixteen>; 2], [None, Some(Sixteen(7))]; Option<[u64; 2]>, None, Some([1, u64::MAX]);
        Option<bool>, None, Some(false), Some(true);
        Option<Option<Option<bool>>>, None, Some(None), Some(Some(None)), Some(Some(Some(false)));
        Option<Option<Option<u8>>>, None, Some(None), Some(Some(None)), Some(Some(Some(0)));
        Option<(char, bool)>, None, Some(('ß', true));
        Option<NonZeroI32>, None, Some(NonZeroI32::MIN);
        Option<NonZeroI128>, None, Some(NonZeroI128::MAX);
        Option<()>, None, Some(());
        Option<[&str; 2]>, None, Some(["a", "b"]);
        [Option<char>; 3], [None, Some('\0'), Some(char::MAX)];
        Result<u32, &str>, Ok(0), Err("an error");
        Result<&str, u32>, Ok("text"), Err(0), Err(u32::MAX);
        Result<Option<&str>, bool>, Ok(None), Ok(Some("x")), Err(true);
        Result<bool, bool>, Ok(true), Err(false);
        Result<(), Only>, Ok(()), Err(Only::One);
        Result<u64, [u8; 15]>, Ok(1), Err([3; 15]);
        (u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, bool, char),
            (1, 2, 3, 4, -5, -6, -7, -8, 9.5, -10.5, true, 'l');
        (u8, (&str, Option<NonZeroU8>), [bool; 2], u8, u8), (1, ("two", None), [true, false], 4, 5);
        Duration, Duration::ZERO, Duration::MAX, Duration::new(7, 999_999_999);
        Option<Duration>, None, Some(Duration::new(u64::MAX, 1));
        IpAddr, IpAddr::V4(*V4.ip()), IpAddr::V6(*V6.ip());
        Option<SocketAddr>, None, Some(SocketAddr::V4(V4)), Some(SocketAddr::V6(V6));
        (SocketAddrV4, SocketAddrV6, Ipv4Addr, Ipv6Addr), (V4, V6, *V4.ip(), *V6.ip());
        [Ordering; 3], [Ordering::Less, Ordering::Equal, Ordering::Greater];
        Option<Option<Ordering>>, None, Some(None), Some(Some(Ordering::Less));
        (Wrapping<u8>, Saturating<i16>, Reverse<&str>), (Wrapping(250), Saturating(-3), Reverse("order"));
        (Range<u8>, RangeFrom<&str>, RangeTo<char>, RangeToInclusive<i64>, RangeFull), (1..3, "a".., ..'z', ..=-4, ..);
        &CStr, c"", c"a text of C";
        Option<&CStr>, None, Some(c"text");
        Level, Level::Low, Level::Middle, Level::High;
        Option<Option<Level>>, None, Some(None), Some(Some(Level::Low));
        Option<Only>, None, Some(Only::One);
        Empty, Empty;
        Option<Extreme>, None, Some(Extreme::Least(7)), Some(Extreme::Last);
        [Option<Far>; 3], [None, Some(Far::First), Some(Far::Last)];
        Pair<&str, 3>, Pair { first: "x", others: &[None, Some("y")], bytes: [1, 2, 3], of: PhantomData };
        Pair<u64, 0>, Pair { first: 1, others: &[], bytes: [], of: PhantomData };
        Option<Pair<Only, 1>>, None, Some(Pair { first: Only::One, others: &[None, None], bytes: [9], of: PhantomData });
        Event<u8>, Event::None, Event::At(Duration::MAX, 3), Event::Named { name: Some("n"), next: Some(&Event::None) };
        Option<Event<(bool, u64)>>, None, Some(Event::At(Duration::ZERO, (true, 1))), Some(last);
    }
}

/// As two versions of a crate have them.
#[test]
fn types_of_one_name_and_size_differ() {
    macro_rules! value {
        ($t:ty) => {{
            #[derive(Freeze)]
            struct Value($t);
            Value(Default::default())
        }};
    }
    fn hash_of<R: Freeze>(value: R) -> [u8; 8] {
        freeze_to_vec(&value, "").unwrap()[48..56].try_into().unwrap()
    }
    let (first, second, third) = (value!(u32), value!(u32), value!(f32));
    assert_eq!(std::any::type_name_of_val(&first), std::any::type_name_of_val(&third));
    assert_ne!(hash_of((&first, second)), hash_of((&first, third)));
}

// ---- maps ----

/// The map for a file, and whether it answers as the standard library's.
fn check_maps<K, V>(entries: &[(K, V)], absent: &[K])
where
    K: Freeze + FrozenKey + Ord + Copy + Debug + std::hash::Hash,
    V: Freeze + Copy + Debug + PartialEq,
    for<'x> K::At<'x>: FrozenKey + Ord + Copy + Debug + std::borrow::Borrow<K>,
    for<'x> V::At<'x>: Debug + PartialEq<V>,
{
    let (hashed, sorted): (HashMap<_, _>, BTreeMap<_, _>) =
        (entries.iter().copied().collect(), entries.iter().copied().collect());
    let (mut first, mut second) = (MapBuilder::default(), MapBuilder::new());
    first.extend(entries.iter().copied());
    entries.iter().for_each(|(key, value)| second.insert(*key, *value).unwrap());
    let maps = (first.hash_map().unwrap(), second.sorted_map().unwrap());
    let bytes = freeze_to_vec(&maps, "maps").unwrap();
    let file =
        Frozen::<(FrozenHashMap<'_, K, V>, FrozenSortedMap<'_, K, V>)>::from_bytes_checked(&bytes, "maps").unwrap();
    let (in_file, in_order) = file.get();
    assert_eq!((in_file.len(), in_order.len(), in_file.is_empty()), (hashed.len(), sorted.len(), hashed.is_empty()));
    for (key, value) in &hashed {
        assert!(in_file.get(key).is_some_and(|found| found == value), "{key:?} is not in the hash map");
        assert!(in_order.get(key).is_some_and(|found| found == value), "{key:?} is not in the sorted map");
        assert!(in_file.contains_key(key));
    }
    for key in absent {
        assert!(in_file.get(key).is_none() && in_order.get(key).is_none(), "{key:?} is in a map");
    }
    assert!(in_order.iter().map(|(key, _)| key).is_sorted());
    assert_eq!(in_file.iter().len(), hashed.len());
}

#[test]
fn maps_in_files_answer_as_those_of_the_standard_library() {
    for count in [0, 1, 2, 3, 10, if cfg!(miri) { 60 } else { 100_000 }] {
        let numbers: Vec<_> = (0..count).map(|i| (i * 7, i)).collect();
        check_maps::<u64, u64>(&numbers, &[1, 8, u64::MAX]);
        let small: Vec<_> = (0..count).map(|i| ((i % 200) as i16 - 100, i)).collect(); // keys that come again
        check_maps::<i16, u64>(&small, &[i16::MIN, 101]);
        let spread: Vec<_> = (0..count).map(|i| ([i as u32, 1], (i as u8, i % 3 == 0))).collect();
        check_maps::<[u32; 2], (u8, bool)>(&spread, &[[0, 0]]);
    }
    let texts: Vec<String> = (0..300).map(|i| "x".repeat(i % 40) + &i.to_string()).collect();
    let mut names: MapBuilder<&str, usize> = texts.iter().map(|text| (&text[..], text.len())).collect();
    let bytes = freeze_to_vec(&names.hash_map().unwrap(), "names").unwrap();
    let file = Frozen::<FrozenHashMap<'_, &str, usize>>::from_bytes_checked(&bytes, "names").unwrap();
    texts.iter().for_each(|text| assert_eq!(file.get().get(&text[..]), Some(&text.len())));
    assert_eq!((file.get().get(""), format!("{:?}", file.get()).is_empty()), (None, false));
}

/// By its description.
#[test]
fn the_hash_of_a_key_is_that_of_the_description() {
    let step = |state: u64, word: u64| (state ^ word).rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = step(step(step(1, u64::from_le_bytes(*b"eight by")), u64::from_le_bytes(*b"tes\0\0\0\0\0")), 11);
    let mut names: MapBuilder<&str, u8> = [("eight bytes", 1)].into_iter().collect();
    let bytes = freeze_to_vec(&names.hash_map().unwrap(), "").unwrap();
    let tag = (hash ^ hash >> 32) as u8;
    let word = |at: usize| usize::from_ne_bytes(bytes[at..at + size_of::<usize>()].try_into().unwrap());
    let base = u64::from_ne_bytes(bytes[16..24].try_into().unwrap()) as usize;
    assert_eq!(bytes[word(4096 + 2 * size_of::<usize>()) - base], tag);
}

// ---- files that were changed ----

#[derive(Freeze, Debug)]
struct Everything<'a> {
    flag: bool,
    letter: char,
    name: &'a str,
    path: &'a CStr,
    numbers: &'a [u16],
    letters: &'a [char],
    level: Option<Level>,
    event: Result<Event<'a, bool>, Option<&'a str>>,
    pairs: FrozenSlice<'a, Pair<'a, Option<NonZeroU8>, 3>>,
    address: SocketAddr,
    order: Option<Ordering>,
    time: Option<Duration>,
    next: Option<&'a Everything<'a>>,
    by_name: FrozenHashMap<'a, &'a str, u8>,
    by_number: FrozenSortedMap<'a, u8, &'a str>,
}

fn with_everything(run: impl FnOnce(&Everything<'_>)) {
    let mut names: MapBuilder<_, _> = [("one", 1), ("two", 2), ("three", 3)].into_iter().collect();
    let mut numbers: MapBuilder<_, _> = names.iter().map(|(name, number)| (*number, *name)).collect();
    let pairs = [Pair { first: NonZeroU8::new(3), others: &[None, Some(None)], bytes: [1, 2, 3], of: PhantomData }; 2];
    let first = Everything {
        flag: true,
        letter: 'x',
        name: "first, with a name that is long enough to be noted where it is checked: more than 64 bytes",
        path: c"/usr/share/words",
        numbers: &[1, 2, 3],
        letters: &['a', 'ß'],
        level: None,
        event: Err(None),
        pairs: pairs[..].into(),
        address: SocketAddr::from(([1, 2, 3, 4], 80)),
        order: None,
        time: None,
        next: None,
        by_name: names.hash_map().unwrap(),
        by_number: numbers.sorted_map().unwrap(),
    };
    let event = Event::Named { name: Some("event"), next: Some(&Event::At(Duration::new(1, 2), true)) };
    let address = SocketAddr::from(([1, 2, 3, 4, 5, 6, 7, 8], 80));
    let (level, order, time) = (Some(Level::High), Some(Ordering::Less), Some(Duration::new(3, 4)));
    run(&Everything {
        flag: false,
        name: "é",
        level,
        event: Ok(event),
        address,
        order,
        time,
        next: Some(&first),
        ..first
    });
}

/// The checksum of the format, by its description.
fn checksum(start: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(start, |sum, word| {
        (sum ^ u64::from_ne_bytes(word.try_into().unwrap())).rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

fn with_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = checksum(1, &bytes[104..]).max(1).to_ne_bytes();
    bytes[88..96].copy_from_slice(&sum);
    let sum = checksum(0, &bytes[..96]).to_ne_bytes();
    bytes[96..104].copy_from_slice(&sum);
    bytes
}

fn read(everything: &Everything<'_>) {
    black_box(format!("{everything:?}"));
    for one in std::iter::successors(Some(everything), |one| one.next) {
        black_box((
            one.by_name.get("two"),
            one.by_name.get("none"),
            one.by_number.get(&2),
            one.by_number.from(&1).count(),
        ));
    }
}

/// TOFT_ALTERED: how many files.
#[test]
fn altered_files_are_refused_or_have_valid_values() {
    let count = std::env::var("TOFT_ALTERED").map_or(if cfg!(miri) { 40 } else { 30_000 }, |n| n.parse().unwrap());
    let mut bytes = Vec::new();
    with_everything(|everything| bytes = freeze_to_vec(everything, "all").unwrap());
    read(Frozen::<Everything>::from_bytes_checked(&bytes, "all").unwrap().get());
    let (mut random, mut opened, mut invalid) = (11u64, 0, 0);
    let mut next = |n: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % n
    };
    let words = (4096..bytes.len() - 7).step_by(8);
    let addresses: Vec<[u8; 8]> = words.map(|at| bytes[at..at + 8].try_into().unwrap()).collect();
    for _ in 0..count {
        let mut copy = bytes.clone();
        for _ in 0..1 + next(4) {
            let at = 4096 + next(bytes.len() - 4096);
            match next(5) {
                0 => copy[at] ^= 1 << next(8),
                1 => copy[at] = [0, 1, 2, 0x7f, 0x80, 0xff, 0xd8][next(7)],
                2 => copy[at & !7..][..8].copy_from_slice(&addresses[next(addresses.len())]),
                3 => copy[at & !7] = copy[at & !7].wrapping_add(next(17) as u8).wrapping_sub(8),
                _ => copy[16 + next(40)] ^= 1 << next(8), // the header
            }
        }
        match Frozen::<Everything>::from_bytes_checked(&with_checksums(copy), "all") {
            Ok(file) => {
                opened += 1;
                read(file.get());
            }
            Err(FrozenError::Invalid(_)) => invalid += 1,
            Err(FrozenError::Corrupt | FrozenError::Layout) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(opened > 0 && invalid > 0);
}

/// The error for a value with other bytes at an offset of the file.
fn refused<R: Freeze>(value: &R, at: usize, bytes: &[u8]) -> FrozenError {
    let mut file = freeze_to_vec(value, "").unwrap();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    Frozen::<R>::from_bytes_checked(&with_checksums(file), "").map(drop).expect_err("it is refused")
}

#[test]
fn each_kind_of_invalid_value_is_refused_with_its_place() {
    const START: usize = 4096;
    fn word(n: usize) -> [u8; size_of::<usize>()] {
        n.to_ne_bytes()
    }
    let at = |error| match error {
        FrozenError::Invalid(at) => at,
        error => panic!("{error}"),
    };
    assert_eq!(at(refused(&[true; 3], START + 2, &[2])), START + 2);
    assert_eq!(at(refused(&'x', START, &0xd800u32.to_ne_bytes())), START);
    assert_eq!(at(refused(&NonZeroU8::MIN, START, &[0])), START);
    assert_eq!(at(refused(&Ordering::Less, START, &[2])), START);
    assert_eq!(at(refused(&Far::Last, START, &[2])), START);
    assert_eq!(at(refused(&Level::High, START, &201u16.to_ne_bytes())), START);
    assert_eq!(at(refused(&Some(7u32), START, &2u32.to_ne_bytes())), START);
    assert_eq!(at(refused(&Event::At(Duration::ZERO, 1u8), START, &2u16.to_ne_bytes())), START);
    // The word at the start is an address; behind it lies a length.
    assert_eq!(at(refused(&FrozenSlice::from(&[1u8][..]), START + word(0).len(), &word(usize::MAX))), START);
    assert_eq!(
        at(refused(&FrozenSlice::from(&[1u64][..]), START + word(0).len(), &word(1 << (usize::BITS - 3)))),
        START
    );
    let base = u64::from_ne_bytes(freeze_to_vec(&&true, "").unwrap()[16..24].try_into().unwrap()) as usize;
    assert_eq!(at(refused(&&true, START, &word(base + 8))), START); // a reference to the header
    let text = freeze_to_vec(&&b"abc"[..], "").unwrap();
    let place = text.windows(3).position(|bytes| bytes == b"abc").unwrap();
    assert!(matches!(refused(&"abc", place + 1, &[0xff]), FrozenError::Invalid(_)));
    assert!(matches!(refused(&c"ab", place + 2, b"c"), FrozenError::Invalid(_)));
    assert!(matches!(refused(&c"ab", place, &[0]), FrozenError::Invalid(_)));
    assert!(refused(&true, START, &[2]).to_string().contains("4096"));
}

#[derive(Freeze)]
struct Node<'a> {
    next: Option<&'a Node<'a>>,
    both: Option<&'a Self>,
}

#[test]
fn long_lists_and_shared_objects_are_checked_once() {
    let arena = toft::Arena::new();
    let count = if cfg!(miri) { 300 } else { 1_000_000 };
    let list = (0..count).fold(None, |next, _| Some(&*arena.alloc(Node { next, both: next })));
    let bytes = freeze_to_vec(&list, "").unwrap();
    let file = Frozen::<Option<&Node>>::from_bytes_checked(&bytes, "").unwrap();
    assert_eq!(std::iter::successors(*file.get(), |node| node.next).count(), count);
    // One long text, to which many refer.
    let text = "text".repeat(1000);
    let texts = vec![&text[..]; if cfg!(miri) { 100 } else { 1_000_000 }];
    let bytes = freeze_to_vec(&&texts[..], "").unwrap();
    assert_eq!(*Frozen::<&[&str]>::from_bytes_checked(&bytes, "").unwrap().get().last().unwrap(), text);
}

#[test]
fn a_value_that_refers_to_itself_is_refused() {
    let width = size_of::<usize>();
    let last = Node { next: None, both: None };
    let mut bytes = freeze_to_vec(&Node { next: Some(&last), both: Some(&last) }, "").unwrap();
    let first = bytes[4096..4096 + width].to_vec();
    bytes[4096 + 2 * width..][..width].copy_from_slice(&first); // the last node refers to itself
    let size = u64::from_ne_bytes(bytes[24..32].try_into().unwrap()) as usize;
    let bit = 4096 / width + 2;
    let set = u64::from_ne_bytes(bytes[size + bit / 64 * 8..][..8].try_into().unwrap()) | 1 << (bit % 64);
    bytes[size + bit / 64 * 8..][..8].copy_from_slice(&set.to_ne_bytes()); // and that word is a pointer
    bytes[40..48].copy_from_slice(&3u64.to_ne_bytes());
    let error = Frozen::<Node>::from_bytes_checked(&with_checksums(bytes), "").map(drop).unwrap_err();
    assert!(matches!(error, FrozenError::Invalid(_)), "{error}");
}

/// A file of as many slices; each is the slice before it without its first value.
fn overlapping(count: usize) -> Result<(), FrozenError> {
    type Slices<'a> = &'a [FrozenSlice<'a, bool>];
    let (flags, width) = (vec![true; 4000], size_of::<usize>());
    let mut bytes = freeze_to_vec(&&vec![FrozenSlice::from(&flags[..]); count][..], "").unwrap();
    let word = |bytes: &[u8], at: usize| usize::from_ne_bytes(bytes[at..at + width].try_into().unwrap());
    let base = u64::from_ne_bytes(bytes[16..24].try_into().unwrap()) as usize;
    let slices = word(&bytes, 4096 + if word(&bytes, 4096) > base { 0 } else { width }) - base;
    for (i, at) in (slices..).step_by(2 * width).take(count).enumerate() {
        let (address, length) = (word(&bytes, at) + i, word(&bytes, at + width) - i);
        bytes[at..at + width].copy_from_slice(&address.to_ne_bytes());
        bytes[at + width..][..width].copy_from_slice(&length.to_ne_bytes());
    }
    Frozen::<Slices<'_>>::from_bytes_checked(&with_checksums(bytes), "").map(drop)
}

#[test]
fn overlapping_objects_are_checked_up_to_a_multiple_of_the_file() {
    overlapping(10).unwrap();
    if cfg!(not(miri)) {
        assert!(matches!(overlapping(3900), Err(FrozenError::Invalid(_))));
    }
}

// ---- doors ----

#[test]
fn files_are_opened_through_the_checked_door() {
    let path = std::env::temp_dir().join(format!("toft-forms-{}", std::process::id()));
    with_everything(|everything| {
        toft_frozen::freeze(everything, &path, "all").unwrap();
        let open = || Frozen::<Everything>::open_checked(&path, "all").unwrap();
        let files: Vec<_> = (0..3).map(|_| open()).collect(); // also while it is open
        for file in &files {
            assert!(!file.is_mapped());
            assert_eq!(format!("{:?}", file.get()), format!("{everything:?}"));
        }
        let error = Frozen::<Everything>::open_checked(&path, "other").map(drop).unwrap_err();
        assert!(matches!(error, FrozenError::Layout));
        let error = Frozen::<u8>::open_checked(&path, "all").map(drop).unwrap_err();
        assert!(matches!(error, FrozenError::Layout));
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let verify = OpenOptions::new().verify(true).open_checked::<Everything>(&path, "all");
        assert!(matches!(verify, Err(FrozenError::Corrupt)), "another checksum");
        assert!(matches!(Frozen::<Everything>::open_checked(&path, "all").map(drop), Err(FrozenError::Corrupt)));
        std::fs::write(&path, &bytes[..bytes.len() - 8]).unwrap();
        assert!(matches!(Frozen::<Everything>::open_checked(&path, "all").map(drop), Err(FrozenError::Corrupt)));
    });
    std::fs::remove_file(&path).unwrap();
}

/// Runs with a file that lies in memory as long as the program. Afterwards nothing refers to it.
fn with_static<const N: usize>(bytes: &[u8], run: impl FnOnce(&'static FrozenStatic<N>)) {
    let file = Box::into_raw(Box::new(FrozenStatic::new(bytes)));
    // SAFETY: it lives until the last line, where no reference is left.
    unsafe {
        run(&*file);
        drop(Box::from_raw(file));
    }
}

#[test]
fn a_static_file_is_opened_where_it_lies() {
    const SIZE: usize = if size_of::<usize>() == 8 { 4096 + 40 + 72 } else { 4096 + 24 + 136 };
    let mut bytes = freeze_to_vec(&["one", "two"], "names").unwrap();
    assert_eq!(bytes.len(), SIZE);
    with_static::<SIZE>(&bytes, |file| {
        assert!(matches!(file.open::<[&str; 2]>("other"), Err(FrozenError::Layout)));
        let open = || *file.open::<[&str; 2]>("names").unwrap();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(open)).collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap() == ["one", "two"]));
        let (start, name) = (std::ptr::from_ref(file).addr(), open()[1].as_ptr().addr());
        assert!(name > start && name < start + SIZE, "the file was copied");
        assert!(format!("{file:?}").contains("FrozenStatic"));
    });
    bytes[4096..4096 + 2 * size_of::<usize>()].fill(0xff); // an address and a length
    with_static::<SIZE>(&with_checksums(bytes), |damaged| {
        assert!(matches!(damaged.open::<[&str; 2]>("names"), Err(FrozenError::Corrupt)));
    });
}
