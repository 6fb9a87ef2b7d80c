//! Functions, files and lines of addresses of a recorded process.
//!
//! A name is used only if a symbol contains the address: the nearest symbol of a stripped file is a wrong name.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::recording::Mapping;
use crate::advice::Frame;
use addr2line::Loader;
use object::{Object, ObjectSegment, ObjectSymbol};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    rc::Rc,
};

struct Module {
    /// Of each segment: offset in the file, size, address.
    segments: Vec<(u64, u64, u64)>,
    /// Address, size, name; sorted.
    symbols: Vec<(u64, u64, String)>,
    debug: Option<Loader>,
    language: Language,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    C,
    Cpp,
    Rust,
}

pub struct Symbols {
    mappings: Vec<Mapping>,
    modules: HashMap<String, Option<Module>>,
    frames: HashMap<u64, Rc<[Frame]>>,
}

impl Symbols {
    pub fn new(mappings: &[Mapping]) -> Symbols {
        Symbols { mappings: mappings.to_vec(), modules: HashMap::new(), frames: HashMap::new() }
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
        self.module(address).map_or(Language::C, |(m, ..)| m.language)
    }

    /// The path of the module that contains an address.
    pub fn path(&self, address: u64) -> Option<&str> {
        self.mappings.iter().find(|m| (m.start..m.end).contains(&address)).map(|m| &*m.path)
    }

    /// The module of an address, its path, the offset in its file and the address in it.
    fn module(&mut self, address: u64) -> Option<(&Module, String, u64, u64)> {
        let mapping = self.mappings.iter().find(|m| (m.start..m.end).contains(&address))?;
        let offset = address - mapping.start + mapping.offset;
        let path = mapping.path.clone();
        let module = self.modules.entry(path.clone()).or_insert_with(|| Module::open(Path::new(&path))).as_ref()?;
        let segment = module.segments.iter().find(|s| (s.0..s.0 + s.1).contains(&offset));
        let within = segment.map_or(offset, |s| offset - s.0 + s.2);
        Some((module, path, offset, within))
    }

    fn resolve(&mut self, address: u64) -> Vec<Frame> {
        let Some((module, path, offset, within)) = self.module(address) else {
            let module = self.path(address).unwrap_or("?").to_owned();
            return vec![Frame { module, offset: address, ..Frame::default() }];
        };
        let mut found = Vec::new();
        if let Some(debug) = &module.debug
            && let Ok(mut frames) = debug.find_frames(within)
        {
            while let Ok(Some(frame)) = frames.next() {
                let function = frame.function.as_ref().and_then(|f| f.demangle().ok()).map(|n| short(&n));
                if function.is_none() && frame.location.is_none() {
                    continue;
                }
                let (file, line) = frame.location.map_or((None, None), |l| (l.file.map(str::to_owned), l.line));
                found.push(Frame { function, file, line, module: path.clone(), offset, inlined: true });
            }
        }
        let symbol = module.symbol(within);
        match found.last_mut() {
            Some(last) => {
                last.inlined = false;
                if last.function.is_none() {
                    last.function = symbol;
                }
            }
            None => found.push(Frame { function: symbol, module: path, offset, ..Frame::default() }),
        }
        found
    }
}

/// A demangled name without the arguments of its templates, where it is long.
fn short(name: &str) -> String {
    if name.len() <= 120 {
        return name.to_owned();
    }
    let (mut depth, mut found) = (0u32, String::new());
    for c in name.chars() {
        match c {
            '<' => {
                depth += 1;
                if depth == 1 {
                    found.push_str("<...");
                }
            }
            '>' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            _ => found.push(c),
        }
        if c == '>' && depth == 0 {
            found.push('>');
        }
    }
    found
}

impl Module {
    fn open(path: &Path) -> Option<Module> {
        let file = std::fs::File::open(path).ok()?;
        // SAFETY: a file that changes at the same time makes wrong names at worst, or ends this command.
        let map = unsafe { memmap2::Mmap::map(&file).ok()? };
        let object = object::File::parse(&*map).ok()?;
        let segments = object.segments().map(|s| (s.file_range().0, s.file_range().1, s.address())).collect();
        let debug_file = debug_file(&object, path);
        let mut symbols = Vec::new();
        let mut language = Language::C;
        let mut add = |object: &object::File<'_>| {
            for s in object.symbols().chain(object.dynamic_symbols()) {
                if s.kind() == object::SymbolKind::Text && s.size() != 0 && s.is_definition() {
                    let Ok(name) = s.name() else { continue };
                    if name.starts_with("_R") || name.starts_with("_ZN") && name.contains("17h") {
                        language = Language::Rust;
                    } else if name.starts_with("_Z") && language == Language::C {
                        language = Language::Cpp;
                    }
                    symbols.push((s.address(), s.size(), name.to_owned()));
                }
            }
        };
        add(&object);
        if let Some(separate) = &debug_file
            && let Ok(bytes) = std::fs::read(separate)
            && let Ok(object) = object::File::parse(&*bytes)
        {
            add(&object);
        }
        symbols.sort_unstable();
        let debug = Loader::new(debug_file.as_deref().unwrap_or(path)).ok();
        Some(Module { segments, symbols, debug, language })
    }

    fn symbol(&self, address: u64) -> Option<String> {
        let after = self.symbols.partition_point(|s| s.0 <= address);
        let found = self.symbols[..after].iter().rev().take(16).find(|s| address < s.0 + s.1)?;
        Some(short(&addr2line::demangle_auto(found.2.as_str().into(), None)))
    }
}

/// The separate file with the debug information of a module, by build id or by name.
fn debug_file(object: &object::File<'_>, path: &Path) -> Option<PathBuf> {
    let root = Path::new("/usr/lib/debug");
    if let Ok(Some(id)) = object.build_id()
        && id.len() > 1
    {
        let hex: String = id.iter().map(|b| format!("{b:02x}")).collect();
        let found = root.join(".build-id").join(&hex[..2]).join(format!("{}.debug", &hex[2..]));
        if found.exists() {
            return Some(found);
        }
    }
    let (name, _) = object.gnu_debuglink().ok()??;
    let name = std::str::from_utf8(name).ok()?;
    let folder = path.parent()?;
    let candidates =
        [folder.join(name), folder.join(".debug").join(name), root.join(folder.strip_prefix("/").ok()?).join(name)];
    candidates.into_iter().find(|f| f.exists() && f != path)
}
