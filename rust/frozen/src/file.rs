//! Writing files.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::format::{layout_name, FrozenError};
use crate::{Freeze, Image, Layout};

/// Writes a value, and all that it refers to, to a file, which replaces `path` when it is complete and on the disk: after
/// a kill the old file is there or the new one, perhaps with a temporary one beside it. The same value gives the same
/// file. `layout` names the types and their version, in at most 31 bytes.
///
/// # Errors
/// [`FrozenError::Io`], [`FrozenError::Memory`], or [`FrozenError::Argument`] for the name; `path` is then unchanged.
pub fn freeze<R: Freeze>(root: &R, path: impl AsRef<Path>, layout: &str) -> Result<(), FrozenError> {
    let (path, bytes) = (path.as_ref(), freeze_to_vec(root, layout)?);
    let name = temporary_name(path)?;
    let written = write_new(&name, &bytes).and_then(|()| fs::rename(&name, path));
    if written.is_err() {
        _ = fs::remove_file(&name);
    }
    written?;
    sync_folder(path);
    Ok(())
}

/// The bytes of such a file, for [`Frozen::from_bytes`](crate::Frozen::from_bytes) or a way of its own to the disk.
///
/// # Errors
/// [`FrozenError::Memory`], or [`FrozenError::Argument`] for the name.
pub fn freeze_to_vec<R: Freeze>(root: &R, layout: &str) -> Result<Vec<u8>, FrozenError> {
    let mut types = Layout::new();
    R::describe(&mut types);
    Image::file_of(root, layout_name(layout)?, types.hash())
}

fn temporary_name(path: &Path) -> io::Result<PathBuf> {
    let Some(name) = path.file_name() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut name = name.to_owned();
    name.push(format!(".{:016x}", RandomState::new().hash_one(std::process::id())));
    Ok(path.with_file_name(name))
}

fn write_new(name: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(name)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Not every system has that for folders, nor has Miri: its failure is ignored.
fn sync_folder(path: &Path) {
    if cfg!(miri) {
        return;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(folder) = File::open(folder) {
        _ = folder.sync_all();
    }
}
