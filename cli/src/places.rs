//! Calls in modules of a program: functions, files and lines from debug information, and the text of source lines.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::frame::Frame;
use addr2line::Loader;
use object::{Object, ObjectSegment, ObjectSymbol};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Characters of a source line that are shown.
const WIDTH: usize = 110;
/// A longer name of a function loses the arguments of its templates.
const LONG: usize = 80;

#[derive(Default)]
pub struct Places {
    /// Of the program, its links followed; empty: not known.
    pub executable: PathBuf,
    /// Separate files with debug information are not read: that of the C library would make its calls those of the program.
    is_program_alone: bool,
    modules: HashMap<PathBuf, Option<Module>>,
    /// Calls that were looked up, by module and offset.
    known: HashMap<PathBuf, HashMap<u64, Vec<Frame>>>,
    sources: HashMap<PathBuf, Option<Vec<String>>>,
}

struct Module {
    debug: Option<Loader>,
    /// The address of its first byte, which offsets are relative to.
    base: u64,
    /// Of each segment: offset in the file, size, address.
    segments: Vec<(u64, u64, u64)>,
    /// Address, size, name; sorted.
    symbols: Vec<(u64, u64, String)>,
    language: Language,
    build_id: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    C,
    Cpp,
    Rust,
}

/// Why the file of a module has no calls.
#[derive(Debug, PartialEq, Eq)]
pub enum Unknown {
    Missing,
    /// It has another build id: the program was built anew.
    Changed,
}

impl Places {
    pub fn new(executable: &Path) -> Places {
        let executable = executable.canonicalize().unwrap_or_else(|_| executable.to_owned());
        Places { executable, is_program_alone: true, ..Places::default() }
    }

    /// The calls at an offset from the beginning of a module, the innermost inlined one first: functions, files and lines. None
    /// if the file has no name for it.
    pub fn calls(&mut self, module: &Path, offset: u64) -> Vec<Frame> {
        if let Some(known) = self.known.get(module).and_then(|calls| calls.get(&offset)) {
            return known.clone();
        }
        let path = self.path_of(module);
        let calls = self.module(path).map_or(Vec::new(), |module| module.calls(module.base.wrapping_add(offset)));
        self.known.entry(module.to_owned()).or_default().insert(offset, calls.clone());
        calls
    }

    /// The same at an offset in a file.
    pub fn calls_at(&mut self, file: &Path, offset: u64) -> Vec<Frame> {
        let Some(module) = self.module(file.to_owned()) else { return Vec::new() };
        let segment = module.segments.iter().find(|(begin, size, _)| offset.wrapping_sub(*begin) < *size);
        segment.map_or(Vec::new(), |(begin, _, address)| module.calls(offset - begin + address))
    }

    pub fn language(&mut self, file: &Path) -> Language {
        self.module(file.to_owned()).map_or(Language::C, |module| module.language)
    }

    /// Whether the file of a module is there, and has this build id.
    pub fn check(&mut self, module: &Path, build_id: Option<&str>) -> Result<(), Unknown> {
        let found = self.module(module.to_owned()).ok_or(Unknown::Missing)?;
        match build_id {
            Some(expected) if found.build_id.as_deref() != Some(expected) => Err(Unknown::Changed),
            _ => Ok(()),
        }
    }

    pub fn build_id(&mut self, file: &Path) -> Option<String> {
        self.module(file.to_owned()).and_then(|module| module.build_id.clone())
    }

    fn module(&mut self, path: PathBuf) -> Option<&Module> {
        let with_separate = !self.is_program_alone;
        self.modules.entry(path).or_insert_with_key(|path| Module::open(path, with_separate)).as_ref()
    }

    /// The program may have been run in another folder than this command.
    fn path_of(&self, module: &Path) -> PathBuf {
        let is_program = module.file_name().is_some() && module.file_name() == self.executable.file_name();
        match is_program && !module.is_absolute() {
            true => self.executable.clone(),
            false => module.to_owned(),
        }
    }

    /// The file of a library with a known name, where the dynamic linker looks.
    pub fn module_named(&self, name: &str) -> Option<PathBuf> {
        let listed = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let own = self.executable.parent().map(Path::to_owned);
        let system = ["/usr/local/lib", "/usr/lib", "/lib", "/usr/lib64", "/lib64"].map(PathBuf::from);
        let processor = format!("{}-linux-gnu", std::env::consts::ARCH);
        let by_processor = ["/usr/lib", "/lib"].map(|folder| Path::new(folder).join(&processor));
        let folders = std::env::split_paths(&listed).chain(own).chain(system).chain(by_processor);
        folders.map(|folder| folder.join(name)).find(|path| path.is_file())
    }

    /// A line of a source file, with its number.
    pub fn line(&mut self, file: &str, number: u64) -> Option<String> {
        let path = self.source(Path::new(file))?;
        let lines = self.sources.entry(path.clone()).or_insert_with(|| {
            let bytes = std::fs::read(&path).ok()?;
            Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
        });
        let text = lines.as_ref()?.get(number.checked_sub(1)? as usize)?.trim_end();
        let shown: String = text.chars().filter(|c| !c.is_control() || *c == '\t').take(WIDTH).collect();
        Some(format!("{number:>7} | {shown}"))
    }

    /// A relative name is relative to the folder where the program was compiled: here, or one above this folder or the
    /// executable.
    pub fn source(&self, file: &Path) -> Option<PathBuf> {
        if file.is_file() || file.is_absolute() {
            return Some(file.to_owned());
        }
        let here = std::env::current_dir().unwrap_or_default();
        let folders = here.ancestors().chain(self.executable.ancestors()).skip(1);
        folders.map(|folder| folder.join(file)).find(|path| path.is_file())
    }
}

/// What a function finds in an object file. `None`: it is no such file, or cannot be read.
pub fn in_object<T>(path: &Path, find: impl FnOnce(&object::File) -> T) -> Option<T> {
    let file = std::fs::File::open(path).ok()?;
    // SAFETY: it is only read; a file that changes at the same time makes wrong names at worst, or ends this command.
    let map = unsafe { memmap2::Mmap::map(&file).ok()? };
    Some(find(&object::File::parse(&*map).ok()?))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Module {
    fn open(path: &Path, with_separate: bool) -> Option<Module> {
        let (mut module, separate) = in_object(path, |object| {
            let base = object.segments().map(|segment| segment.address() & !0xfff).min().unwrap_or(0);
            let segments = object.segments().map(|s| (s.file_range().0, s.file_range().1, s.address())).collect();
            let build_id = object.build_id().ok().flatten().map(hex);
            let separate = debug_file(object, build_id.as_deref(), path).filter(|_| with_separate);
            let debug = Loader::new(separate.as_deref().unwrap_or(path)).ok();
            let mut module = Module { debug, base, segments, symbols: Vec::new(), language: Language::C, build_id };
            module.add_symbols(object);
            (module, separate)
        })?;
        separate.and_then(|path| in_object(&path, |object| module.add_symbols(object)));
        module.symbols.sort_unstable();
        Some(module)
    }

    fn add_symbols(&mut self, object: &object::File) {
        for symbol in object.symbols().chain(object.dynamic_symbols()) {
            if symbol.kind() != object::SymbolKind::Text || symbol.size() == 0 || !symbol.is_definition() {
                continue;
            }
            let Ok(name) = symbol.name() else { continue };
            if name.starts_with("_R") || name.starts_with("_ZN") && name.contains("17h") {
                self.language = Language::Rust;
            } else if name.starts_with("_Z") && self.language == Language::C {
                self.language = Language::Cpp;
            }
            self.symbols.push((symbol.address(), symbol.size(), name.to_owned()));
        }
    }

    /// A symbol that contains the address: the nearest one of a stripped file is a wrong name.
    fn symbol(&self, address: u64) -> Option<String> {
        let after = self.symbols.partition_point(|symbol| symbol.0 <= address);
        let mut near = self.symbols[..after].iter().rev().take(16);
        near.find(|(begin, size, _)| address < begin + size).map(|(_, _, name)| demangled(name))
    }

    fn calls(&self, address: u64) -> Vec<Frame> {
        let mut calls = Vec::new();
        if let Some(debug) = &self.debug
            && let Ok(mut frames) = debug.find_frames(address)
        {
            while let Ok(Some(frame)) = frames.next() {
                let function = frame.function.and_then(|name| name.demangle().ok().map(|name| short(&name)));
                if function.is_none() && frame.location.is_none() {
                    continue;
                }
                let (file, line) =
                    frame.location.map_or((None, None), |at| (at.file, at.line.filter(|line| *line != 0)));
                let (file, line) = (file.map(str::to_owned), line.map(u64::from));
                calls.push(Frame { function, file, line, inlined: true, ..Frame::default() });
            }
        }
        let symbol = self.symbol(address);
        if calls.is_empty() && symbol.is_some() {
            calls.push(Frame::default());
        }
        if let Some(last) = calls.last_mut() {
            last.inlined = false;
            last.function = last.function.take().or(symbol);
        }
        calls
    }
}

/// The separate file with the debug information of a module, by build id or by name.
fn debug_file(object: &object::File, build_id: Option<&str>, path: &Path) -> Option<PathBuf> {
    let root = Path::new("/usr/lib/debug");
    if let Some((folder, name)) = build_id.and_then(|id| id.split_at_checked(2)) {
        let found = root.join(format!(".build-id/{folder}/{name}.debug"));
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

pub fn demangled(name: &str) -> String {
    short(&addr2line::demangle_auto(name.into(), None))
}

/// A name without the arguments of its templates, where it is long.
fn short(name: &str) -> String {
    if name.len() <= LONG || name.starts_with('<') {
        return name.to_owned();
    }
    let (mut depth, mut found) = (0u32, String::new());
    for c in name.replace("operator<", "operator\0").replace("::<", "<").replace("->", "-\x01").chars() {
        match c {
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ if depth == 0 => found.push(c),
            _ => {}
        }
    }
    found.replace('\0', "<").replace('\x01', ">")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_template_arguments() {
        let name = "std::map<int, std::basic_string<char, std::char_traits<char>, std::allocator<char>>, std::less<int>>::operator[](int const&)";
        assert_eq!(short(name), "std::map::operator[](int const&)");
        let name = "test::__rust_begin_short_backtrace::<core::result::Result<(), String>, fn() -> core::result::Result<(), String>>";
        assert_eq!(short(name), "test::__rust_begin_short_backtrace");
        assert_eq!(short("f<int>(int)"), "f<int>(int)");
    }
}
