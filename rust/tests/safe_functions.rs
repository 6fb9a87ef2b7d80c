//! Every safe function with raw pointers, and every macro with unsafe code, is listed here with the reason why it is
//! sound for callers without unsafe code. A new one must be judged, and tested with hostile types, before it is added.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![cfg(not(miri))] // it reads files

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules that programs cannot name: `pub` in them means the crate. `each_module_is_private` verifies their
/// declarations.
const PRIVATE: &[&str] = &[
    "memory/construct.rs",
    "system/heap.rs",
    "threads/lease/slots.rs",
    "provider/",
    "base/os.rs",
    "system/first_touch.rs",
    "system/page_cache.rs",
    "recycler/checked.rs",
    "recycler/checked_omitted.rs",
    "recycler/class.rs",
    "recycler/large.rs",
    "recycler/retention.rs",
    "recycler/segment.rs",
    "recycler/slab.rs",
    "recycler/state.rs",
    "recycler/supply.rs",
    "threads/shared/blocks.rs",
];

const NEW_MEMORY: &str = "new memory by its address, which only unsafe code reads or writes";
const ADDRESS: &str = "an address that the caller's own reference or box gives, which only unsafe code reads";
const UNSAFE_TRAIT: &str = "the trait is unsafe: its implementer guarantees the address";

/// By file: safe functions that take or return a raw pointer or a function pointer.
const FUNCTIONS: &[(&str, &str, &str)] = &[
    ("memory/allocate.rs", "alloc_layout", NEW_MEMORY),
    ("memory/allocate.rs", "try_alloc_layout", NEW_MEMORY),
    ("memory/arena.rs", "as_raw", "the head's address; its calls are unsafe"),
    ("memory/arena.rs", "contains", "compares the address, and does not read there"),
    ("memory/arena.rs", "into_raw", "the head's address; the arena is leaked unless unsafe code takes it back"),
    ("memory/boxed.rs", "as_mut_ptr", ADDRESS),
    ("memory/boxed.rs", "as_ptr", ADDRESS),
    ("memory/boxed.rs", "into_non_null", ADDRESS),
    ("memory/boxed.rs", "into_raw", ADDRESS),
    ("memory/buffer.rs", "base", NEW_MEMORY),
    ("memory/buffer.rs", "replace", NEW_MEMORY),
    ("bumpalo/allocate.rs", "alloc_layout", NEW_MEMORY),
    ("bumpalo/boxed.rs", "into_raw", ADDRESS),
    ("memory/collections/string/mod.rs", "into_raw_parts", ADDRESS),
    ("memory/collections/vec/mod.rs", "as_mut_ptr", ADDRESS),
    ("memory/collections/vec/mod.rs", "as_ptr", ADDRESS),
    ("memory/collections/vec/mod.rs", "into_raw_parts", ADDRESS),
    ("system/hook.rs", "on_finding", "a safe function, called with a reference; tests/hook.rs tests its actions"),
    ("memory/by_layout.rs", "__allocate", UNSAFE_TRAIT),
    ("memory/by_layout.rs", "__allocate_typed", UNSAFE_TRAIT),
    ("memory/by_layout.rs", "allocate", UNSAFE_TRAIT),
    ("memory/by_layout.rs", "dangling", "an address without memory: only the alignment as a number"),
    ("pools/planner.rs", "column", "dangling, or within memory that the pool has; programs cannot make a planner"),
    ("arenas/promote.rs", "__at", "computes an address from two, reads neither; the trait is sealed"),
    ("recycler/mod.rs", "alloc_layout", NEW_MEMORY),
    ("recycler/mod.rs", "try_alloc_layout", NEW_MEMORY),
    ("base/source.rs", "take", UNSAFE_TRAIT),
];

/// Exported macros that contain unsafe code.
const MACROS: &[(&str, &str, &str)] = &[
    ("interface/allocator.rs", "__allocator", "implements an unsafe trait by `Memory`, which is unsafe too"),
    ("memory/boxed.rs", "unsize", "a coercion site: tests/ui/unsize.rs has its misuses"),
    (
        "pools/key.rs",
        "new_key_type",
        "names the only field in a constructor: an attribute that changes it does not compile",
    ),
    ("arenas/region.rs", "restorable", "implements an unsafe trait for its struct, whose fields must have it"),
];

const SEALED: &str = "sealed: programs cannot implement it";
const NO_TRUST: &str = "unsafe code does not rely on what an implementation does";

/// Safe traits: an implementation needs no unsafe code, so unsafe code must not rely on it.
const TRAITS: &[(&str, &str, &str)] = &[
    ("memory/allocate.rs", "Allocate", "implemented for every `Memory`, an unsafe trait, and so for no other type"),
    ("memory/collections/collect.rs", "CollectIn", NO_TRUST),
    ("memory/collections/collect.rs", "FromIteratorIn", NO_TRUST),
    ("interface/counted.rs", "Counter", SEALED),
    ("arenas/owner.rs", "Root", "a type for each lifetime and no function; `Owner` hands it out for all only"),
    ("pools/columnar.rs", "ColumnarClone", NO_TRUST),
    ("pools/derive_support.rs", "CloneFields", NO_TRUST),
    ("pools/derive_support.rs", "ShowFields", NO_TRUST),
    ("pools/key.rs", "Generation", SEALED),
    ("pools/key.rs", "Key", SEALED),
    ("pools/secondary.rs", "Map", NO_TRUST),
    ("pools/secondary.rs", "Pair", NO_TRUST),
    ("pools/field_layout.rs", "CloneIn", "requires `FieldLayout`, which is sealed"),
    ("arenas/promote.rs", "Promote", SEALED),
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Each file by its path in `src`, for other crates with the crate's name as prefix, without comments and unit tests.
fn files() -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                walk(&entry, found);
            } else {
                found.push(entry);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in ["src", "bumpalo/src", "pools/src"] {
        walk(&root.join(folder), &mut paths);
    }
    let name =
        |path: &Path| path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/").replacen("src/", "", 1);
    let text = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
    };
    paths.iter().map(|path| (name(path), text(path))).collect()
}

/// Signatures of public functions, and of functions of public traits.
fn signatures(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_trait = false;
    let lines: Vec<&str> = code.lines().collect();
    for (i, line) in lines.iter().enumerate() {
        let words = line.trim_start();
        if line.starts_with("pub trait") || line.starts_with("pub unsafe trait") {
            in_trait = true;
        } else if *line == "}" {
            in_trait = false;
        }
        let is_fn = |words: &str| {
            let words = words.strip_prefix("const ").unwrap_or(words);
            let words = words.strip_prefix("extern \"C\" ").unwrap_or(words);
            words.starts_with("fn ")
        };
        // `$vis` is from a macro for methods.
        let after = words.strip_prefix("pub ").or(words.strip_prefix("$vis "));
        // `fn name | try_name` is a pair of functions.
        let pair = is_fn(words) && words.contains(" | try_");
        let public = after.is_some_and(is_fn) || (in_trait && is_fn(words)) || pair;
        if public {
            let rest = lines[i..].join(" ");
            let end = rest.find(['{', ';']).unwrap_or(rest.len());
            found.push(rest[..end].split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    found
}

fn has_pointer(signature: &str) -> bool {
    // The last two are type aliases that contain a pointer.
    ["*mut ", "*const ", "NonNull<", "fn(", "-> Start", "-> Allocated"].iter().any(|kind| signature.contains(kind))
}

fn name_of(signature: &str) -> String {
    let name = signature.split("fn ").nth(1).unwrap();
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().into()
}

fn listed(list: &[(&str, &str, &str)]) -> BTreeSet<(String, String)> {
    list.iter().map(|entry| (entry.0.into(), entry.1.into())).collect()
}

fn is_private(file: &str) -> bool {
    PRIVATE.iter().any(|private| file == *private || (private.ends_with('/') && file.starts_with(private)))
}

#[test]
fn each_safe_function_with_a_pointer_is_listed() {
    let mut found = BTreeSet::new();
    for (file, code) in files().iter().filter(|file| !is_private(&file.0)) {
        for signature in signatures(code).iter().filter(|signature| has_pointer(signature)) {
            found.insert((file.clone(), name_of(signature)));
        }
    }
    let listed = listed(FUNCTIONS);
    let new: Vec<_> = found.difference(&listed).collect();
    assert!(new.is_empty(), "judge these, and add them with the reason: {new:?}");
    let removed: Vec<_> = listed.difference(&found).collect();
    assert!(removed.is_empty(), "listed, but not in the sources: {removed:?}");
}

#[test]
fn each_macro_with_unsafe_code_is_listed() {
    let mut found = BTreeSet::new();
    for (file, code) in files() {
        for text in code.split("#[macro_export]").skip(1) {
            let text = text.split("\n}").next().unwrap();
            let name = text.split("macro_rules! ").nth(1).unwrap().split_whitespace().next().unwrap();
            if text.contains("unsafe") || text.contains(" as *") {
                found.insert((file.clone(), name.to_string()));
            }
        }
    }
    assert_eq!(found, listed(MACROS));
}

#[test]
fn each_safe_trait_is_listed() {
    let mut found = BTreeSet::new();
    for (file, code) in files().iter().filter(|file| !is_private(&file.0)) {
        for line in code.lines().filter(|line| line.starts_with("pub trait ")) {
            let name = line["pub trait ".len()..].split(|c: char| !c.is_alphanumeric()).next().unwrap();
            found.insert((file.clone(), name.to_string()));
            let reason = TRAITS.iter().find(|listed| listed.0 == file && listed.1 == name).map(|listed| listed.2);
            assert!(
                reason != Some(SEALED) || line.contains("Sealed") || line.contains("sealed::"),
                "{file}: {name} is not sealed"
            );
        }
    }
    assert_eq!(found, listed(TRAITS), "judge the new ones, and add them with the reason");
}

/// Hidden functions are callable like others.
#[test]
fn each_hidden_function_is_safe_from_pointers_or_unsafe() {
    for (file, code) in files().iter().filter(|file| !is_private(&file.0)) {
        for hidden in code.split("#[doc(hidden)]").skip(1) {
            let end = hidden.find(['{', ';']).unwrap();
            let item = hidden[..end].split_whitespace().collect::<Vec<_>>().join(" ");
            if item.contains("fn ") && !item.contains("unsafe fn ") && has_pointer(&item) {
                let name = name_of(&item);
                assert!(listed(FUNCTIONS).contains(&(file.clone(), name)), "{file}: {item}");
            }
        }
    }
}

#[test]
fn each_module_is_private() {
    for private in PRIVATE {
        let path = Path::new(private.trim_end_matches('/').trim_end_matches(".rs"));
        let name = path.file_name().unwrap().to_str().unwrap();
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let parents = match above {
            None => vec![source().join("lib.rs")],
            Some(above) => vec![source().join(above).join("mod.rs"), source().join(above).with_extension("rs")],
        };
        let parent = parents.iter().find_map(|path| fs::read_to_string(path).ok()).unwrap();
        // Of `name_omitted.rs` the module is `name`.
        let name = name.trim_end_matches("_omitted");
        assert!(
            parent.lines().any(|line| line.trim_start_matches("pub(crate) ") == format!("mod {name};")),
            "{private} is not declared private"
        );
    }
}

/// The scan detects examples of each kind.
#[test]
fn the_scan_detects_each_kind() {
    let code =
        "impl<T> Box<T> {\n    pub fn __unsize<U>(b: Box<T>, cast: fn(*mut T) -> *mut U) -> Box<U> {\n    }\n}\n";
    assert!(signatures(code).iter().any(|signature| has_pointer(signature) && name_of(signature) == "__unsize"));
    let code =
        "pub trait T {\n    fn at(\n        &self,\n        p: NonNull<u8>,\n    );\n}\nfn private(p: *mut u8) {\n}\n";
    assert_eq!(signatures(code).iter().filter(|signature| has_pointer(signature)).count(), 1);
    assert!(!has_pointer("pub unsafe fn f(n: usize)") && signatures("    pub unsafe fn f(p: *mut u8) {").is_empty());
}
