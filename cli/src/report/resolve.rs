//! Adds functions and lines to the calls of a snapshot that have an address alone, from the files of its modules.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::snapshot::Site;
use crate::frame::{Frame, Module};
use crate::places::{Places, Unknown};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Addresses that have no name, by module, and why.
pub type Unresolved = BTreeMap<String, &'static str>;

/// A call that is in none of the modules keeps what the snapshot has, demangled, and so does one in a file that is another
/// than that of the process. Names that the process found itself are found anew: it does not see inlined functions.
pub fn resolve(sites: &mut [Site], modules: &[Module], places: &mut Places) -> Unresolved {
    let mut unresolved = Unresolved::new();
    let mut known: HashMap<String, Vec<Frame>> = HashMap::new();
    for site in sites {
        let stack = std::mem::take(&mut site.stack);
        let mut is_inlined = false; // the call before, so that the next one is named already
        for frame in stack {
            if frame.inlined || is_inlined {
                is_inlined = frame.inlined;
                site.stack.push(frame);
                continue;
            }
            let calls = known.entry(frame.address.clone());
            let calls = calls.or_insert_with(|| calls_of(&frame, modules, places, &mut unresolved));
            site.stack.extend(calls.iter().cloned());
        }
        if let (Some(Frame { file: Some(file), line, .. }), "") = (site.stack.first(), &*site.site.file) {
            site.site.file.clone_from(file);
            site.site.line = line.unwrap_or(0);
        }
    }
    unresolved
}

/// The call, and those that are inlined there before it.
fn calls_of(frame: &Frame, modules: &[Module], places: &mut Places, unresolved: &mut Unresolved) -> Vec<Frame> {
    let unchanged = || {
        let function = frame.function.as_ref().map(|name| crate::places::demangled(name));
        vec![Frame { function, ..frame.clone() }]
    };
    let address = frame.number();
    let Some(module) = address.and_then(|address| Module::of(modules, address)) else { return unchanged() };
    let path = Path::new(&module.module);
    if let Err(reason) = places.check(path, module.build_id.as_deref()) {
        let reason = match reason {
            Unknown::Missing => "is not there, or is no program",
            Unknown::Changed => "is not the file that the process ran: its build id differs",
        };
        unresolved.insert(module.module.clone(), reason);
        return unchanged();
    }
    // The address is that behind the call.
    let found = places.calls_at(path, module.offset_of(address.unwrap_or(0)));
    if found.is_empty() {
        return unchanged();
    }
    let named = found.into_iter().map(|call| Frame {
        offset: if call.file.is_none() { frame.offset.or(Some(0)) } else { Some(0) },
        function: call.function.or_else(|| frame.function.clone()),
        line: call.file.as_ref().map(|_| call.line.unwrap_or(0)),
        file: call.file,
        inlined: call.inlined,
        module: Some(module.module.clone()),
        ..frame.clone()
    });
    named.collect()
}

/// A sentence for each module.
pub fn notes(unresolved: &Unresolved) -> String {
    let shown = unresolved.iter().map(|(module, reason)| format!("{} {reason}", super::visible(module)));
    shown.map(|text| format!("toft: {text}, so the snapshot's calls in it have no lines\n")).collect()
}
