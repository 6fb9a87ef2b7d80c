//! The findings and reports of what the instruments detect and count.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::borrow::Cow;
use alloc::string::ToString;

use super::caller::Caller;
use super::damage::Damage;
use super::instrument_types::{Fault, Shared};
use crate::abi_types::Stats;
use crate::finding::{Finding, Site, Written};
use crate::report::{PhaseReport, Report, SiteReport, TagReport};

impl Written {
    fn of(damage: &Damage) -> Written {
        Written { count: damage.count, or_more: damage.or_more, bytes: damage.shown().to_vec() }
    }
}

impl Site {
    pub(crate) fn of(caller: Caller) -> Site {
        match caller.location {
            Some(at) => Site { file: Cow::Borrowed(at.file()), line: at.line(), column: at.column(), number: 0 },
            None => Site { number: caller.site as u64, ..Site::default() },
        }
    }
}

impl Finding {
    pub(crate) fn of(fault: Fault) -> Finding {
        match fault {
            Fault::Corrupt { caller, size, damage } => {
                let (site, Damage { address, offset, .. }, written) = (Site::of(caller), damage, Written::of(&damage));
                Finding::Corrupt { site, size, address, offset, written }
            }
            Fault::LateWrite { caller, size, damage } => {
                let (site, Damage { address, offset, .. }, written) = (Site::of(caller), damage, Written::of(&damage));
                Finding::LateWrite { site, size, address, offset, written }
            }
            Fault::BadFree { caller, size } => Finding::BadFree { site: Site::of(caller), size },
            Fault::Leak { caller, size } => Finding::Leak { site: Site::of(caller), size },
            Fault::OverBudget { caller, live, budget } => Finding::OverBudget { site: Site::of(caller), live, budget },
        }
    }
}

impl Report {
    /// The report of an arena of this crate whose instruments exist. `live`: bytes by tag; empty if it is not metered.
    pub(crate) fn of(shared: &mut Shared, stats: Stats, live: &[u64], clear: bool) -> Report {
        let name_of = |tag: usize| shared.tags.get(tag).map_or("", |tag| &tag.name).to_string();
        let round = |x: f64| (x + 0.5) as u64;
        let sites = shared.counts.iter().map(|count| SiteReport {
            site: Site::of(count.caller),
            tag: name_of(count.tag),
            count: round(count.count),
            bytes: round(count.bytes),
        });
        let tags = shared.tags.iter().zip(live).map(|(tag, live)| TagReport {
            name: tag.name.clone(),
            number: tag.number,
            live: *live,
            allocated: tag.allocated,
            budget: tag.budget,
        });
        let phases = shared.phases.iter().map(|phase| PhaseReport {
            name: Cow::Borrowed(phase.name),
            entries: phase.entries,
            allocated: phase.allocated,
            kept: phase.kept,
        });
        let report = Report { stats, tags: tags.collect(), phases: phases.collect(), sites: sites.collect() };
        if clear {
            shared.counts.clear();
            shared.phases.clear();
            shared.tags.iter_mut().for_each(|tag| tag.allocated = 0);
        }
        report
    }
}
