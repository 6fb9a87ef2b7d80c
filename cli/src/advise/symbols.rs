//! Functions, files and lines of addresses of a recorded process.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::recording::Mapping;
use crate::advice::Site;
use crate::frame::{Frame, Module};
use crate::places::{Language, Places};
use rustc_hash::FxHashSet;
use std::{collections::HashMap, path::Path, rc::Rc};

pub struct Symbols {
    mappings: Vec<Mapping>,
    places: Places,
    frames: HashMap<u64, Rc<[Frame]>>,
}

impl Symbols {
    pub fn new(mappings: &[Mapping]) -> Symbols {
        Symbols { mappings: mappings.to_vec(), places: Places::default(), frames: HashMap::new() }
    }

    /// The calls at a return address, the innermost inlined one first. There is at least one.
    pub fn calls(&mut self, ip: u64) -> Rc<[Frame]> {
        if let Some(known) = self.frames.get(&ip) {
            return known.clone();
        }
        let frames: Rc<[Frame]> = self.resolve(ip.wrapping_sub(1)).into();
        self.frames.insert(ip, frames.clone());
        frames
    }

    /// The function that begins at an address.
    pub fn function(&mut self, address: u64) -> Frame {
        self.resolve(address).pop().unwrap_or_default()
    }

    pub fn language(&mut self, address: u64) -> Language {
        let mapping = self.mappings.iter().find(|m| (m.start..m.end).contains(&address));
        mapping.map_or(Language::C, |m| self.places.language(Path::new(&m.path)))
    }

    /// The mappings of the files that the calls of sites are in.
    pub fn modules(&mut self, sites: &[Site]) -> Vec<Module> {
        let files: FxHashSet<_> = sites.iter().flat_map(|s| &s.stack).map(|call| call.module.as_deref()).collect();
        let module = |m: &Mapping| Module {
            module: m.path.clone(),
            address: format!("{:#x}", m.start),
            size: m.end - m.start,
            offset: m.offset,
            build_id: self.places.build_id(Path::new(&m.path)),
        };
        self.mappings.iter().filter(|m| files.contains(&Some(&*m.path))).map(module).collect()
    }

    fn resolve(&mut self, address: u64) -> Vec<Frame> {
        let Some(mapping) = self.mappings.iter().find(|m| (m.start..m.end).contains(&address)) else {
            let module = Some("?".to_owned());
            return vec![Frame { module, offset: Some(address), ..Frame::default() }];
        };
        let offset = address - mapping.start + mapping.offset;
        let mut calls = self.places.calls_at(Path::new(&mapping.path), offset);
        if calls.is_empty() {
            calls.push(Frame::default());
        }
        for call in &mut calls {
            (call.module, call.offset) = (Some(mapping.path.clone()), Some(offset));
        }
        calls
    }
}
