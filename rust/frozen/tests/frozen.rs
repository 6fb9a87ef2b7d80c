//! Values are read back, at their address and elsewhere; other files and types are refused.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::collections::HashSet;
use std::fs;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::ptr::from_ref;
use std::sync::Arc;
use std::thread;

use toft::Arena;
use toft_frozen::{freeze, freeze_to_vec, Freeze, Frozen, FrozenError, OpenOptions};

/// A file that is removed with its value.
struct TestFile(PathBuf);

impl TestFile {
    fn new(name: &str) -> TestFile {
        TestFile(std::env::temp_dir().join(format!("toft-frozen-{}-{name}", std::process::id())))
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

#[derive(Freeze, Debug, PartialEq, Clone, Copy)]
#[repr(u16)]
enum Shape<'a> {
    Empty = 7,
    Circle(f32),
    Named { name: &'a str, sides: u8, next: Option<&'a Shape<'a>> },
}

#[derive(Freeze, Debug, PartialEq)]
struct Mixed<'a> {
    small: u8,
    flag: bool,
    letter: char,
    wide: u128,
    signed: (i16, i64),
    number: Option<NonZeroU32>,
    grid: [[u16; 3]; 2],
    shapes: &'a [Shape<'a>],
    names: [&'a str; 3],
    one: &'a Shape<'a>,
    again: &'a Shape<'a>,
    unit: (),
    none: &'a [u64],
}

/// An attribute macro may reorder the fields.
#[derive(Freeze)]
#[toft_becomes::becomes(struct Node<'a> { next: Option<&'a Node<'a>>, value: u64 })]
struct Node<'a> {
    value: u64,
    next: Option<&'a Node<'a>>,
}

fn with_mixed(run: impl FnOnce(&Mixed<'_>)) {
    let arena = Arena::new();
    let triangle = arena.alloc(Shape::Named { name: "triangle", sides: 3, next: Some(&Shape::Circle(2.5)) });
    let text = String::from("on the heap");
    run(&Mixed {
        small: 200,
        flag: true,
        letter: 'ß',
        wide: u128::MAX / 3,
        signed: (-5, i64::MIN),
        number: NonZeroU32::new(9),
        grid: [[1, 2, 3], [4, 5, 6]],
        shapes: &[Shape::Empty, *triangle, Shape::Circle(-1.0)],
        names: ["static", "", &text],
        one: triangle,
        again: triangle,
        unit: (),
        none: &[],
    });
}

/// # Safety
/// The file was written with R.
unsafe fn open_each_way<R: Freeze>(file: &TestFile, mut check: impl FnMut(&R::At<'_>)) {
    for (elsewhere, verify) in [(false, false), (false, true), (true, false), (true, true)] {
        // SAFETY: the caller's contract.
        let open =
            unsafe { OpenOptions::new().elsewhere(elsewhere).verify(verify).open::<R>(&file.0, "test 1") }.unwrap();
        assert_eq!(open.is_mapped(), cfg!(all(unix, not(miri))) && !elsewhere);
        check(open.get());
    }
}

#[test]
fn a_value_of_each_kind_is_read_back() {
    let file = TestFile::new("mixed");
    with_mixed(|mixed| {
        freeze(mixed, &file.0, "test 1").unwrap();
        // SAFETY: written with this type.
        unsafe {
            open_each_way::<Mixed>(&file, |read| {
                assert_eq!(read, mixed);
                assert!(std::ptr::eq(read.one, read.again), "an object was written twice");
            })
        };
    });
}

fn with_list(count: u64, run: impl FnOnce(&Node<'_>)) {
    let arena = Arena::new();
    let mut list = Node { value: 0, next: None };
    for value in 1..count {
        list = Node { value, next: Some(arena.alloc(list)) };
    }
    run(&list);
}

#[test]
fn lists_of_each_length_are_read_back() {
    for count in [1, 10, if cfg!(miri) { 300 } else { 1_000_000 }] {
        let file = TestFile::new("list");
        with_list(count, |list| freeze(list, &file.0, "test 1").unwrap());
        let check = |list: &Node<'_>| {
            let (mut at, mut value) = (Some(list), count);
            while let Some(node) = at {
                value -= 1;
                assert_eq!(node.value, value);
                at = node.next;
            }
            assert_eq!(value, 0);
        };
        // SAFETY: written with this type.
        unsafe { open_each_way::<Node>(&file, |list| check(list)) };
    }
}

#[test]
fn values_without_bytes_are_read_back() {
    let file = TestFile::new("nothing");
    freeze(&(), &file.0, "test 1").unwrap();
    // SAFETY: written with this type.
    unsafe { open_each_way::<()>(&file, |_| ()) };
    freeze(&([(); 3], &[(); 5][..]), &file.0, "test 1").unwrap();
    // SAFETY: written with this type.
    unsafe { open_each_way::<([(); 3], &[()])>(&file, |read| assert_eq!(read.1.len(), 5)) };
}

#[test]
fn the_same_value_gives_the_same_file() {
    let mut files = HashSet::new();
    for _ in 0..3 {
        with_mixed(|mixed| assert!(files.insert(freeze_to_vec(mixed, "test 1").unwrap()) || files.len() == 1));
    }
    assert_eq!(files.len(), 1);
    assert_ne!(freeze_to_vec(&1u8, "").unwrap(), freeze_to_vec(&2u8, "").unwrap());
}

/// The checksum of the format, by its description.
fn checksum(start: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(start, |sum, word| {
        (sum ^ u64::from_ne_bytes(word.try_into().unwrap())).rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

/// Rule F3.
#[test]
fn the_address_is_that_of_the_content() {
    const WIDTH: usize = size_of::<usize>();
    for count in [1, 10, 10_000] {
        let mut file = Vec::new();
        with_list(count, |list| file = freeze_to_vec(list, "test 1").unwrap());
        let number = |at: usize| u64::from_ne_bytes(file[at..at + 8].try_into().unwrap());
        let (base, size) = (number(16), number(24) as usize);
        for word in
            (0..size / WIDTH).filter(|word| number(size + word / 64 * 8) >> (word % 64) & 1 != 0).collect::<Vec<_>>()
        {
            let pointer = &mut file[word * WIDTH..][..WIDTH];
            let offset = usize::from_ne_bytes((&*pointer).try_into().unwrap()) - base as usize;
            pointer.copy_from_slice(&offset.to_ne_bytes());
        }
        let (align, start) =
            (file.len().next_power_of_two().max(65536) as u64, 1u64 << if WIDTH == 4 { 29 } else { 45 });
        assert_eq!(base, start + ((checksum(1, &file[104..]) >> 32) * align) % start);
    }
}

#[cfg(all(unix, not(miri)))]
#[test]
fn a_regular_file_is_replaced_where_links_lead() {
    use std::io::ErrorKind;
    use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};
    let folder = TestFile::new("folder");
    fs::create_dir(&folder.0).unwrap();
    let (file, link, long) = (folder.0.join("file"), folder.0.join("link"), folder.0.join("n".repeat(255)));
    symlink("file", &link).unwrap();
    freeze(&1u8, &link, "").unwrap(); // a new file
    fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).unwrap();
    let owner = if fs::metadata(&file).unwrap().uid() == 0 { 1001 } else { fs::metadata(&file).unwrap().uid() };
    std::os::unix::fs::chown(&file, Some(owner), None).unwrap();
    let before = fs::metadata(&file).unwrap();
    freeze(&2u8, &link, "").unwrap();
    let after = fs::metadata(&file).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && before.ino() != after.ino());
    assert_eq!((after.mode() & 0o7777, after.uid()), (0o604, owner));
    freeze(&3u8, &long, "").unwrap();
    let socket = folder.0.join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, kind) in [(&folder.0, ErrorKind::IsADirectory), (&socket, ErrorKind::InvalidInput)] {
        let Err(FrozenError::Io(error)) = freeze(&1u8, path, "") else { panic!("{path:?} was replaced") };
        assert_eq!(error.kind(), kind);
    }
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 4);
    fs::remove_dir_all(&folder.0).unwrap();
}

#[test]
fn threads_read_one_file_and_a_new_one_replaces_it() {
    let file = TestFile::new("threads");
    with_list(50, |list| freeze(list, &file.0, "test 1").unwrap());
    // SAFETY: written with this type.
    let open = Arc::new(unsafe { Frozen::<Node>::open(&file.0, "test 1") }.unwrap());
    // SAFETY: as above; its address is in use.
    let second = unsafe { Frozen::<Node>::open(&file.0, "test 1") }.unwrap();
    assert!(!second.is_mapped());
    if cfg!(unix) {
        with_list(3, |list| freeze(list, &file.0, "test 1").unwrap());
    }
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let open = open.clone();
            thread::spawn(move || open.get().value)
        })
        .collect();
    threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), 49));
    assert_ne!(from_ref(open.get()).addr(), from_ref(second.get()).addr());
}

// ---- refusals ----

mod other {
    #[derive(toft_frozen::Freeze)]
    pub struct Node<'a> {
        pub value: u32, // u64 before
        pub next: Option<&'a Node<'a>>,
    }
    #[derive(toft_frozen::Freeze)]
    pub struct List<'a> {
        pub first: &'a Node<'a>,
    }
}

#[derive(Freeze)]
struct List<'a> {
    first: &'a Node<'a>,
}

/// # Safety
/// As for `Frozen::open`.
unsafe fn error_of<R: Freeze>(bytes: &[u8], layout: &str) -> FrozenError {
    // SAFETY: the caller's contract.
    unsafe { Frozen::<R>::from_bytes(bytes, layout) }.expect_err("it is refused")
}

#[test]
fn other_types_and_layouts_are_refused() {
    with_list(2, |list| {
        let bytes = freeze_to_vec(&List { first: list }, "test 1").unwrap();
        // SAFETY: refused, or of this type.
        unsafe {
            assert!(Frozen::<List>::from_bytes(&bytes, "test 1").is_ok());
            assert!(matches!(error_of::<List>(&bytes, "test 2"), FrozenError::Layout));
            assert!(matches!(error_of::<other::List>(&bytes, "test 1"), FrozenError::Layout));
            assert!(matches!(error_of::<Node>(&bytes, "test 1"), FrozenError::Layout));
            assert!(matches!(error_of::<List>(&bytes, &"x".repeat(32)), FrozenError::Argument));
        }
    });
    let list = other::List { first: &other::Node { value: 1, next: None } };
    assert!(list.first.next.is_none() && list.first.value == 1);
    for name in ["x".repeat(32), "a\0b".into()] {
        assert!(matches!(freeze_to_vec(&1u8, &name), Err(FrozenError::Argument)));
    }
}

#[test]
fn files_that_cannot_be_written_or_read_are_errors() {
    let folder = TestFile::new("no-folder");
    let error = freeze(&1u8, folder.0.join("x"), "").unwrap_err();
    assert!(matches!(&error, FrozenError::Io(error) if error.kind() == std::io::ErrorKind::NotFound));
    assert!(!error.to_string().is_empty());
    assert!(matches!(freeze(&1u8, "..", ""), Err(FrozenError::Io(_))));
    // SAFETY: there is no such file.
    assert!(matches!(unsafe { Frozen::<u8>::open(&folder.0, "") }, Err(FrozenError::Io(_))));
    fs::create_dir(&folder.0).unwrap();
    // SAFETY: a folder is refused.
    assert!(unsafe { Frozen::<u8>::open(&folder.0, "") }.is_err());
    assert!(freeze(&1u8, &folder.0, "").is_err());
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
    fs::remove_dir(&folder.0).unwrap();
}

fn set_header_checksum(bytes: &mut [u8]) {
    let sum = checksum(0, &bytes[..96]);
    bytes[96..104].copy_from_slice(&sum.to_ne_bytes());
}

/// # Safety
/// As for `Frozen::open`.
unsafe fn verify(file: &TestFile, bytes: &[u8]) -> Result<(), FrozenError> {
    fs::write(&file.0, bytes).unwrap();
    // SAFETY: the caller's contract.
    unsafe { OpenOptions::new().verify(true).open::<Node>(&file.0, "") }.map(drop)
}

#[test]
fn damage_is_found() {
    let (file, mut bytes) = (TestFile::new("damage"), Vec::new());
    with_list(20, |list| bytes = freeze_to_vec(list, "").unwrap());
    let step = if cfg!(miri) { 997 } else { 13 };
    // SAFETY: refused, or as it was written.
    unsafe {
        verify(&file, &bytes).unwrap();
        assert!(verify(&file, &[&bytes[..], &[0; 8]].concat()).is_err(), "longer");
        for at in (0..bytes.len()).step_by(step) {
            assert!(verify(&file, &bytes[..at]).is_err());
            let mut copy = bytes.clone();
            copy[at] ^= 16;
            assert!(verify(&file, &copy).is_err(), "byte {at}");
        }
        for (place, change) in [(12, 1), (14, 12)] {
            let mut copy = bytes.clone();
            copy[place] ^= change;
            set_header_checksum(&mut copy);
            assert!(matches!(verify(&file, &copy), Err(FrozenError::Unsupported)));
        }
        bytes[8..12].reverse();
        assert!(matches!(verify(&file, &bytes), Err(FrozenError::Unsupported)));
    }
}
