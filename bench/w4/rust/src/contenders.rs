//! The contenders of each workload.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::{hashes, ordered, pools, sequences, sets};

pub struct All;

impl sequences::Contenders for All {
    fn sequences<const P: usize>(rows: &mut sequences::Rows<P>) {
        crate::standard::sequences(rows);
        #[cfg(feature = "slab")]
        crate::slab::sequences(rows);
        #[cfg(feature = "slotmap")]
        crate::slotmap::sequences(rows);
        #[cfg(feature = "toft")]
        crate::toft::sequences(rows);
    }
}

impl sets::Contenders for All {
    fn sets(rows: &mut sets::Sets) {
        crate::standard::sets(rows);
        #[cfg(feature = "hashbrown")]
        crate::hashbrown::sets(rows);
        #[cfg(feature = "indexset")]
        crate::indexset::sets(rows);
        #[cfg(feature = "toft")]
        crate::toft::sets(rows);
    }

    fn dicts<const P: usize>(rows: &mut sets::Dicts<P>) {
        crate::standard::dicts(rows);
        #[cfg(feature = "hashbrown")]
        crate::hashbrown::dicts(rows);
        #[cfg(feature = "indexset")]
        crate::indexset::dicts(rows);
        #[cfg(feature = "toft")]
        crate::toft::dicts(rows);
    }

    fn scans(rows: &mut sets::Scans) {
        crate::standard::scans(rows);
        #[cfg(feature = "indexset")]
        crate::indexset::scans(rows);
        #[cfg(feature = "toft")]
        crate::toft::scans(rows);
    }
}

impl pools::Contenders for All {
    fn pools<const REST: usize>(rows: &mut pools::Pools<REST>) {
        #[cfg(feature = "slab")]
        crate::slab::pools(rows);
        #[cfg(feature = "slotmap")]
        crate::slotmap::pools(rows);
        #[cfg(feature = "thunderdome")]
        crate::thunderdome::pools(rows);
        #[cfg(feature = "generational-arena")]
        crate::generational_arena::pools(rows);
        #[cfg(feature = "toft")]
        crate::toft::pools(rows);
    }
}

impl ordered::Contenders for All {
    fn maps(rows: &mut ordered::Ordered) {
        crate::standard::maps(rows);
        #[cfg(feature = "hashbrown")]
        crate::hashbrown::maps(rows);
        #[cfg(feature = "indexset")]
        crate::indexset::maps(rows);
        #[cfg(feature = "toft")]
        crate::toft::maps(rows);
    }

    fn ordered_sets(rows: &mut ordered::Ordered) {
        crate::standard::ordered_sets(rows);
        #[cfg(feature = "hashbrown")]
        crate::hashbrown::ordered_sets(rows);
        #[cfg(feature = "indexset")]
        crate::indexset::ordered_sets(rows);
        #[cfg(feature = "toft")]
        crate::toft::ordered_sets(rows);
    }
}

impl hashes::Contenders for All {
    fn hits(rows: &mut hashes::Hashes) {
        crate::standard::hash_hits(rows);
        #[cfg(feature = "hashbrown")]
        crate::hashbrown::hash_hits(rows);
        #[cfg(feature = "toft")]
        crate::toft::hash_hits(rows);
    }

    fn rounds(rows: &mut hashes::Hashes) {
        crate::standard::hash_rounds(rows);
        #[cfg(feature = "hashbrown")]
        crate::hashbrown::hash_rounds(rows);
        #[cfg(feature = "toft")]
        crate::toft::hash_rounds(rows);
    }
}
