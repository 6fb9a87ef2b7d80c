//! Reports of an instrumented arena.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use crate::base::abi_types::Stats;
use crate::base::finding::Site;

/// The report of an arena: [`Arena::report`](crate::Arena::report). With the feature `serde` it can be serialised, for
/// example to JSON: `docs/snapshot.md` has the schema, which is the same for arenas in C.
///
/// ```
/// let arena = toft::Arena::new();
/// arena.set_checked(true)?;
/// for i in 0..3 {
///     arena.alloc(i);
/// }
/// let report = arena.report();
/// assert_eq!((report.count(), report.bytes()), (3, 12));
/// assert_eq!(report.sites[0].site.file, file!());
/// # Ok::<(), toft::SwitchError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The statistics. Of several arenas: the sum, where the peaks may be of different moments.
    pub stats: Stats,
    /// If metered: bytes by tag, exact. The first entry is for allocations without a tag.
    pub tags: Vec<TagReport>,
    /// If metered: the phases that ended, in the order of their first end.
    pub phases: Vec<PhaseReport>,
    /// Allocations by call site: exact if checked, an estimate if sampled.
    pub sites: Vec<SiteReport>,
}

/// Bytes of a tag: [`Arena::tag`](crate::Arena::tag). Padding is included, as in [`Stats`].
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TagReport {
    /// Its path. Empty: without a tag.
    pub name: String,
    /// Its number in other languages.
    pub number: Option<u64>,
    /// Allocated bytes now.
    pub live: u64,
    /// Bytes allocated in all.
    pub allocated: u64,
    /// [`u64::MAX`]: none.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::base::abi_types::no_budget_is_null"))]
    pub budget: u64,
}

/// A phase: [`Arena::phase`](crate::Arena::phase). Nested phases count for the outer one too.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PhaseReport {
    /// The name.
    pub name: Cow<'static, str>,
    /// The number of times it ended.
    pub entries: u64,
    /// Bytes allocated in it.
    pub allocated: u64,
    /// The change of live bytes in it.
    pub kept: i64,
}

/// Allocations of one call site, under one tag. A resize that moved counts as one.
///
/// ```
/// let arena = toft::Arena::new();
/// arena.set_sampling(4096)?;
/// for _ in 0..100_000 {
///     arena.alloc([0u8; 32]);
/// }
/// let report = arena.report();
/// assert!((80_000..120_000).contains(&report.sites[0].count)); // about
/// # Ok::<(), toft::SwitchError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SiteReport {
    /// The call site.
    pub site: Site,
    /// The tag; empty: none.
    pub tag: String,
    /// The number of allocations.
    pub count: u64,
    /// Requested bytes, without padding.
    pub bytes: u64,
}

impl Report {
    /// Returns the allocations of all call sites: exact if checked, an estimate if sampled, else 0.
    pub fn count(&self) -> u64 {
        self.sites.iter().map(|site| site.count).sum()
    }

    /// Returns the requested bytes of all call sites: exact if checked, an estimate if sampled, else 0.
    pub fn bytes(&self) -> u64 {
        self.sites.iter().map(|site| site.bytes).sum()
    }

    /// Adds the report of another arena, by the names of tags, phases and call sites.
    ///
    /// ```
    /// let (a, b) = (toft::Arena::new(), toft::Arena::new());
    /// (a.alloc(1u64), b.alloc(2u64));
    /// let mut both = a.report();
    /// both.add(&b.report());
    /// assert_eq!(both.stats.live, 16);
    /// ```
    pub fn add(&mut self, other: &Report) {
        let (s, o) = (&mut self.stats, &other.stats);
        s.live += o.live;
        s.allocated += o.allocated;
        s.peak += o.peak;
        s.budget = match (s.blocks, o.blocks) {
            (0, _) => o.budget, // the report of no arena
            (_, 0) => s.budget,
            _ => s.budget.saturating_add(o.budget),
        };
        s.reserved += o.reserved;
        s.wasted += o.wasted;
        s.blocks += o.blocks;
        s.source_calls += o.source_calls;
        merge(&mut self.tags, &other.tags, TagReport::is, |mine, tag| {
            mine.live += tag.live;
            mine.allocated += tag.allocated;
            mine.budget = mine.budget.saturating_add(tag.budget);
        });
        merge(
            &mut self.phases,
            &other.phases,
            |mine, phase| mine.name == phase.name,
            |mine, phase| {
                mine.entries += phase.entries;
                mine.allocated += phase.allocated;
                mine.kept += phase.kept;
            },
        );
        merge(
            &mut self.sites,
            &other.sites,
            |mine, site| mine.site == site.site && mine.tag == site.tag,
            |mine, site| {
                mine.count += site.count;
                mine.bytes += site.bytes;
            },
        );
    }
}

/// Adds each of `theirs` to the one that is the same, or appends it.
fn merge<T: Clone>(mine: &mut Vec<T>, theirs: &[T], is: impl Fn(&T, &T) -> bool, add: impl Fn(&mut T, &T)) {
    for other in theirs {
        match mine.iter_mut().find(|one| is(one, other)) {
            Some(one) => add(one, other),
            None => mine.push(other.clone()),
        }
    }
}

/// The same JSON as libtoft writes, by docs/snapshot.md.
#[cfg(feature = "serde")]
impl serde::Serialize for Report {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut report = serializer.serialize_struct("Report", 5)?;
        report.serialize_field("version", &1u32)?;
        report.serialize_field("stats", &self.stats)?;
        report.serialize_field("tags", &self.tags)?;
        report.serialize_field("phases", &self.phases)?;
        report.serialize_field("sites", &self.sites)?;
        report.end()
    }
}

/// The report of no arena, without a budget.
impl Default for Report {
    fn default() -> Report {
        let stats = Stats { budget: u64::MAX, ..Stats::default() };
        Report { stats, tags: Vec::new(), phases: Vec::new(), sites: Vec::new() }
    }
}

impl TagReport {
    fn is(&self, other: &TagReport) -> bool {
        self.name == other.name && (!self.name.is_empty() || self.number == other.number)
    }
}
