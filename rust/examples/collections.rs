//! Collections in an arena, with a stable compiler: Vec and Box of allocator-api2, hashbrown's maps, Toft's String.
//!
//!     cargo run --example collections --features allocator-api2
// SPDX-License-Identifier: MIT OR Apache-2.0

use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;
use hashbrown::{DefaultHashBuilder, HashMap};
use toft::Arena;

const TEXT: &str = "a toft is the plot of land that a homestead stands on \
                    and a region is the plot of memory that data stands on";

fn main() {
    let mut arena = Arena::new();
    for _ in 0..3 {
        // Vec: it grows at the arena's tip, in place.
        let mut words = Vec::new_in(&arena);
        words.extend(TEXT.split(' '));
        let at = words.as_ptr();
        words.reserve_exact(100);
        assert_eq!(words.as_ptr(), at);

        // HashMap: its table is in the arena.
        let mut counts = HashMap::with_hasher_in(DefaultHashBuilder::default(), &arena);
        for word in &words {
            *counts.entry(*word).or_insert(0) += 1;
        }
        assert_eq!((counts["plot"], counts["toft"], counts.len()), (2, 1, 15));

        // Box: a closure behind a pointer.
        let often: Box<dyn Fn(&str) -> bool, &Arena> = {
            let boxed = Box::new_in(|word: &str| counts[word] > 1, &arena);
            let (raw, allocator) = Box::into_raw_with_allocator(boxed);
            // SAFETY: the same box, by a wider pointer.
            unsafe { Box::from_raw_in(raw as *mut dyn Fn(&str) -> bool, allocator) }
        };

        // A scope: a collection inside it, and one outside that grows at the same time.
        let mut repeated = Vec::new_in(&arena);
        arena.scope(|inner| {
            let mut sorted = Vec::new_in(inner);
            sorted.extend(counts.keys().copied().filter(|word| often(word)));
            sorted.sort_unstable();
            repeated.extend(sorted.iter().copied());
        });
        assert_eq!(repeated.as_slice(), ["a", "is", "of", "on", "plot", "stands", "that", "the"]);
        drop((words, often, repeated));
        drop(counts);
        arena.reset();
    }

    let mut line = arena.string();
    for word in TEXT.split(' ').take(4) {
        line.push_str(word);
        line.push(' ');
    }
    assert_eq!(line.trim_end(), "a toft is the");
    println!("{line}... in {:?}", arena.stats());
}
