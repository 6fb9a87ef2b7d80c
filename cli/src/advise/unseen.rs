//! Allocation functions that the recorder does not define: those that only one malloc has.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::recording::Mapping;
use object::{Object, ObjectSymbol};
use rustc_hash::FxHashSet;
use std::path::Path;

/// Functions that allocate or free, and are not in the name's family only by its prefix.
const FUNCTIONS: &str = " mallocx smallocx rallocx xallocx dallocx sdallocx reallocf reallocarr vfree _aligned_malloc ";

fn allocates(name: &str) -> bool {
    let own = ["mi_", "tc_", "je_", "scalable_"].iter().find_map(|p| name.strip_prefix(p));
    let words = ["alloc", "free", "new", "delete", "expand", "dup", "realpath", "memalign"];
    let is_listed = |name: &str| FUNCTIONS.contains(&format!(" {name} "));
    is_listed(name)
        || own.is_some_and(|n| words.iter().any(|w| n.contains(w)) && !n.ends_with("new_mode") || is_listed(n))
}

/// A function that a module of the process calls and the library of its malloc defines, and that module. Objects of such
/// functions are in the heap of malloc, but not in the recording.
pub fn find(mappings: &[Mapping], malloc: &str) -> Option<(String, String)> {
    let defined: FxHashSet<String> = symbols(malloc, false).into_iter().collect();
    let mut seen = FxHashSet::default();
    mappings.iter().filter(|m| m.path != malloc && seen.insert(&*m.path)).find_map(|m| {
        let found = symbols(&m.path, true).into_iter().find(|name| defined.contains(name))?;
        Some((found, m.path.clone()))
    })
}

/// The allocation functions that a file imports, or that it defines.
fn symbols(path: &str, imported: bool) -> Vec<String> {
    let found = crate::places::in_object(Path::new(path), |object| {
        let names = object.dynamic_symbols().filter(|s| s.is_undefined() == imported).filter_map(|s| s.name().ok());
        names.filter(|n| allocates(n)).map(str::to_owned).collect()
    });
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::allocates;

    #[test]
    fn allocation_functions_are_known_by_their_names() {
        let all = "sdallocx mi_malloc mi_free_size mi_new_n mi_strdup tc_free_sized tc_deletearray";
        let none = "nallocx malloc malloc_usable_size mi_version mi_collect tc_set_new_mode tc_version";
        assert!(all.split(' ').all(allocates) && !none.split(' ').any(allocates));
    }
}
