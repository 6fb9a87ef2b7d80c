//! Reports of an instrumented arena.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::abi_types::Stats;
use crate::finding::Site;
use crate::provider::{RawArena, Shared};

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
///
/// ```
/// let arena = toft::Arena::new();
/// arena.set_metered(true)?;
/// {
///     let _tag = arena.tag("physics");
///     arena.alloc_slice_fill(100, 0u8);
/// }
/// let report = arena.report();
/// let physics = report.tags.iter().find(|tag| tag.name == "physics").unwrap();
/// assert_eq!((physics.live, physics.allocated), (104, 104));
/// # Ok::<(), toft::SwitchError>(())
/// ```
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
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::abi_types::no_budget_is_null"))]
    pub budget: u64,
}

/// A phase: [`Arena::phase`](crate::Arena::phase). Nested phases count for the outer one too.
///
/// ```
/// let arena = toft::Arena::new();
/// arena.set_metered(true)?;
/// for _ in 0..2 {
///     let _phase = arena.phase("update");
///     arena.scope(|inner| inner.alloc(1u64) as *mut u64);
///     arena.alloc(1u64);
/// }
/// let update = &arena.report().phases[0];
/// assert_eq!((update.name.as_ref(), update.entries, update.allocated, update.kept), ("update", 2, 32, 16));
/// # Ok::<(), toft::SwitchError>(())
/// ```
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
        for tag in &other.tags {
            match self.tags.iter_mut().find(|mine| mine.is(tag)) {
                Some(mine) => {
                    mine.live += tag.live;
                    mine.allocated += tag.allocated;
                    mine.budget = mine.budget.saturating_add(tag.budget);
                }
                None => self.tags.push(tag.clone()),
            }
        }
        for phase in &other.phases {
            match self.phases.iter_mut().find(|mine| mine.name == phase.name) {
                Some(mine) => {
                    mine.entries += phase.entries;
                    mine.allocated += phase.allocated;
                    mine.kept += phase.kept;
                }
                None => self.phases.push(phase.clone()),
            }
        }
        for site in &other.sites {
            match self.sites.iter_mut().find(|mine| mine.site == site.site && mine.tag == site.tag) {
                Some(mine) => {
                    mine.count += site.count;
                    mine.bytes += site.bytes;
                }
                None => self.sites.push(site.clone()),
            }
        }
    }

    /// The report of an arena of this crate whose instruments exist.
    pub(crate) fn of(a: RawArena, shared: &mut Shared, stats: Stats, live: &[u64], clear: bool) -> Report {
        let name_of = |tag: usize| shared.tags.get(tag).map_or("", |tag| &tag.name).to_string();
        let round = |x: f64| (x + 0.5) as u64;
        let sites = shared.counts.iter().map(|count| SiteReport {
            site: Site::of(count.caller),
            tag: name_of(count.tag),
            count: round(count.count),
            bytes: round(count.bytes),
        });
        let sites = sites.collect();
        let tags = shared.tags.iter().zip(live).map(|(tag, live)| TagReport {
            name: tag.name.clone(),
            number: tag.number,
            live: *live,
            allocated: tag.allocated,
            budget: tag.budget,
        });
        let tags = if a.is_metered() { tags.collect() } else { Vec::new() };
        let phases = shared.phases.iter().map(|phase| PhaseReport {
            name: Cow::Borrowed(phase.name),
            entries: phase.entries,
            allocated: phase.allocated,
            kept: phase.kept,
        });
        let phases = phases.collect();
        if clear {
            shared.counts.clear();
            shared.phases.clear();
            shared.tags.iter_mut().for_each(|tag| tag.allocated = 0);
        }
        Report { stats, tags, phases, sites }
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
