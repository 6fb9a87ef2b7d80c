//! Places in a program: the source line of one that names a file, and file and line of one that is an offset in a module,
//! from the module's debug information.
// SPDX-License-Identifier: MIT OR Apache-2.0

use addr2line::Loader;
use object::{Object, ObjectSegment};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Characters of a source line that are shown.
const WIDTH: usize = 110;

pub struct Places {
    /// Of the program, its links followed.
    executable: PathBuf,
    modules: HashMap<PathBuf, Option<Module>>,
    sources: HashMap<PathBuf, Option<Vec<String>>>,
}

struct Module {
    debug: Loader,
    /// The address of its first byte, which offsets are relative to.
    base: u64,
}

/// A function and its place, as far as known.
#[derive(Default)]
pub struct Call {
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: u32,
}

impl Places {
    pub fn new(executable: &Path) -> Places {
        let executable = executable.canonicalize().unwrap_or_else(|_| executable.to_owned());
        Places { executable, modules: HashMap::new(), sources: HashMap::new() }
    }

    /// The place with file and line, if they are known, and the text of that line.
    pub fn resolve(&mut self, place: &str) -> (String, Option<String>) {
        let within = place.strip_suffix(')').and_then(|text| text.rsplit_once('(')).map_or(place, |(_, inner)| inner);
        if let Some((name, offset)) = offset_of(within) {
            let found = self.module_named(&unescaped(name)).and_then(|path| self.call(&path, offset));
            let Some(Call { function, file: Some(file), line }) = found else { return (place.to_owned(), None) };
            let place = function.map_or(format!("{file}:{line}"), |function| format!("{function} ({file}:{line})"));
            return (place, self.line(&file, line));
        }
        match file_and_line(within) {
            Some((file, line)) => (place.to_owned(), self.line(&unescaped(file), line)),
            None => (place.to_owned(), None),
        }
    }

    /// The call at an offset in a module; of functions that were inlined there, the first one in the program's own code.
    pub fn call(&mut self, module: &Path, offset: u64) -> Option<Call> {
        let module = self.modules.entry(module.to_owned()).or_insert_with(|| Module::open(module)).as_ref()?;
        let mut frames = module.debug.find_frames(module.base + offset).ok()?;
        let mut found: Option<Call> = None;
        while let Ok(Some(frame)) = frames.next() {
            let (file, line) =
                frame.location.map_or((None, 0), |at| (at.file.map(str::to_owned), at.line.unwrap_or(0)));
            let function = frame.function.and_then(|name| name.demangle().ok().map(|name| name.into_owned()));
            let own = file.as_deref().is_some_and(|file| !is_library(file));
            if own || found.is_none() {
                found = Some(Call { function, file, line });
            }
            if own {
                break;
            }
        }
        found.filter(|call| call.file.is_some() && call.line != 0)
    }

    /// The file of a module with a known name: the program, or a library where the dynamic linker looks.
    pub fn module_named(&self, name: &str) -> Option<PathBuf> {
        if self.executable.file_name().is_some_and(|file| file.to_string_lossy() == name) {
            return Some(self.executable.clone());
        }
        let listed = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let own = self.executable.parent().map(Path::to_owned);
        let system = ["/usr/local/lib", "/usr/lib", "/lib", "/usr/lib64", "/lib64"].map(PathBuf::from);
        let processor = format!("{}-linux-gnu", std::env::consts::ARCH);
        let by_processor = ["/usr/lib", "/lib"].map(|folder| Path::new(folder).join(&processor));
        let folders = std::env::split_paths(&listed).chain(own).chain(system).chain(by_processor);
        folders.map(|folder| folder.join(name)).find(|path| path.is_file())
    }

    /// A line of a source file, with its number.
    fn line(&mut self, file: &str, number: u32) -> Option<String> {
        let path = self.source(Path::new(file))?;
        let lines = self.sources.entry(path.clone()).or_insert_with(|| {
            let bytes = std::fs::read(&path).ok()?;
            Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
        });
        let text = lines.as_ref()?.get(number.checked_sub(1)? as usize)?.trim_end();
        let shown: String = text.chars().filter(|c| !c.is_control() || *c == '\t').take(WIDTH).collect();
        Some(format!("{number:>7} | {shown}"))
    }

    /// A relative name is relative to the folder where the program was compiled: here, or one above the executable.
    fn source(&self, file: &Path) -> Option<PathBuf> {
        if file.is_file() || file.is_absolute() {
            return Some(file.to_owned());
        }
        self.executable.ancestors().skip(1).map(|folder| folder.join(file)).find(|path| path.is_file())
    }
}

impl Module {
    fn open(path: &Path) -> Option<Module> {
        let bytes = std::fs::read(path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let base = file.segments().map(|segment| segment.address() & !0xfff).min().unwrap_or(0);
        Some(Module { debug: Loader::new(path).ok()?, base })
    }
}

/// `module+0x12ac`.
fn offset_of(text: &str) -> Option<(&str, u64)> {
    let (name, hex) = text.rsplit_once("+0x")?;
    Some((name, u64::from_str_radix(hex, 16).ok()?))
}

/// `file.c:12`, and `file.rs:12:5` with a column.
fn file_and_line(text: &str) -> Option<(&str, u32)> {
    let (before, last) = text.rsplit_once(':')?;
    let last = last.parse().ok()?;
    match before.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?))) {
        Some((file, line)) => Some((file, line)),
        None => Some((before, last)),
    }
}

/// The library writes bytes outside of printable ASCII as `\xNN`.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\\x") {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        match rest.get(at + 2..at + 4).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(b"\\x"),
        }
        rest = rest.get(at + 4..).unwrap_or("");
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a file is Toft's or a language's library.
fn is_library(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let headers = file.contains("/toft/") && (name.ends_with(".h") || name.ends_with(".hpp"));
    let library = ["/usr/include/", "/rustc/"].iter().any(|folder| file.starts_with(folder));
    name == "toft.h" || name == "toft.c" || headers || library || file.contains("/include/c++/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_places() {
        assert_eq!(offset_of("server+0x12ac"), Some(("server", 0x12ac)));
        assert_eq!(offset_of("server"), None);
        assert_eq!(file_and_line("a b.c:12"), Some(("a b.c", 12)));
        assert_eq!(file_and_line("src/main.rs:12:5"), Some(("src/main.rs", 12)));
        assert_eq!(file_and_line("an unknown place"), None);
        assert_eq!(unescaped("a\\x41\\xc3\\xa9\\x"), "aAé\\x");
    }

    #[test]
    fn a_line_of_a_file() {
        let mut places = Places::new(Path::new("none"));
        let (place, line) = places.resolve(&format!("f ({}:1)", file!().rsplit('/').next().unwrap()));
        assert_eq!((place.as_str(), line), ("f (places.rs:1)", None)); // it is not in this folder
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/run/places.rs");
        let (_, line) = places.resolve(&format!("{}:1:1", path.display()));
        assert!(line.unwrap().starts_with("      1 | //! Places in a program"));
        assert_eq!(places.resolve(&format!("{}:100000", path.display())).1, None);
    }
}
