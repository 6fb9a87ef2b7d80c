//! The findings and reports of what the instruments detect and count.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::borrow::Cow;
use alloc::string::String;

use super::caller::Caller;
use super::damage::Damage;
use super::instrument_types::{Fault, Shared, Tag};
use crate::base::abi_types::Stats;
use crate::base::finding::{Finding, Site, Written};
use crate::base::report::{PhaseReport, Report, SiteReport, TagReport};

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
        let round = |x: f64| (x + 0.5) as u64;
        let mut report = Report { stats, ..Report::default() };
        for count in &shared.counts {
            let tag = shared.tags.get(count.tag).map_or_else(String::new, |tag| tag.name.clone());
            let (site, bytes, count) = (Site::of(count.caller), round(count.bytes), round(count.count));
            report.sites.push(SiteReport { site, tag, count, bytes });
        }
        for (tag, live) in shared.tags.iter().zip(live) {
            let Tag { name, number, budget, allocated } = tag;
            let (name, live) = (name.clone(), *live);
            report.tags.push(TagReport { name, number: *number, live, allocated: *allocated, budget: *budget });
        }
        for phase in &shared.phases {
            let (name, entries, allocated, kept) =
                (Cow::Borrowed(phase.name), phase.entries, phase.allocated, phase.kept);
            report.phases.push(PhaseReport { name, entries, allocated, kept });
        }
        if clear {
            shared.counts.clear();
            shared.phases.clear();
            for tag in &mut shared.tags {
                tag.allocated = 0;
            }
        }
        report
    }
}
