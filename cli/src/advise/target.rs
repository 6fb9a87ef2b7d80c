//! Whether a program can be recorded: the recorder is preloaded, so the program must be linked dynamically to glibc.
// SPDX-License-Identifier: MIT OR Apache-2.0

use anyhow::{bail, Context, Result};
use object::{Object, ObjectSection, ObjectSymbol};
use std::{
    ffi::OsStr,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// The executable that a shell would run.
pub fn find(program: &OsStr) -> Result<PathBuf> {
    let name = Path::new(program);
    let runs = |path: &Path| path.is_file() && path.metadata().is_ok_and(|m| m.permissions().mode() & 0o111 != 0);
    if name.components().count() > 1 {
        if !name.exists() {
            bail!("{} does not exist", name.display());
        }
        if !runs(name) {
            bail!("{} is not an executable file; chmod +x makes it one", name.display());
        }
        return Ok(name.to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|p| runs(p));
    found.with_context(|| format!("{} is not in PATH; write ./{0} for a program of this folder", name.display()))
}

/// A note for programs that are recorded in part; an error for those that are not.
pub fn check(path: &Path) -> Result<Option<String>> {
    let shown = path.display();
    let meta = path.metadata().with_context(|| format!("cannot read {shown}"))?;
    // SAFETY: it has no arguments and cannot fail.
    let user = unsafe { libc::geteuid() };
    let set_id = meta.mode() & 0o4000 != 0 && meta.uid() != user || meta.mode() & 0o2000 != 0;
    if set_id {
        bail!("{shown} is set-uid or set-gid, and the system ignores preloaded libraries for such programs; record a copy without these bits");
    }
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
    if bytes.starts_with(b"#!") {
        return Ok(None); // its interpreter is recorded
    }
    let Ok(object) = object::File::parse(&*bytes) else {
        return Ok(None);
    };
    if object.format() != object::BinaryFormat::Elf {
        bail!("{shown} is not a program of this system");
    }
    if object.is_64() != cfg!(target_pointer_width = "64") || !same_processor(object.architecture()) {
        bail!("{shown} is a program for another processor ({:?})", object.architecture());
    }
    let checks = ["__asan_init", "__tsan_init", "__msan_init"];
    if object.dynamic_symbols().any(|s| s.name().is_ok_and(|name| checks.contains(&name))) {
        bail!("{shown} is built with a sanitizer, which has a malloc of its own; build it without -fsanitize");
    }
    let go = object.section_by_name(".go.buildinfo").is_some() || object.section_by_name(".note.go.buildid").is_some();
    let interpreter =
        object.section_by_name(".interp").and_then(|s| s.data().ok().map(|d| String::from_utf8_lossy(d).into_owned()));
    match interpreter {
        None if go => bail!("{shown} is a program in Go, which has an allocator of its own; use go tool pprof"),
        None => bail!("{shown} is linked statically, so that the recorder cannot be preloaded; link it dynamically"),
        Some(name) if name.contains("musl") => {
            bail!("{shown} is linked to musl; the recorder needs glibc: build the program for a glibc target")
        }
        Some(_) if go => {
            Ok(Some("The program is written in Go: only the allocations of C code are recorded.".to_owned()))
        }
        Some(_) => Ok(None),
    }
}

fn same_processor(found: object::Architecture) -> bool {
    let ours = [("x86_64", object::Architecture::X86_64), ("aarch64", object::Architecture::Aarch64)];
    ours.iter().find(|(name, _)| *name == std::env::consts::ARCH).is_none_or(|(_, ours)| *ours == found)
}
