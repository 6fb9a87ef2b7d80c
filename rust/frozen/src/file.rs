//! Writing files.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::fs::{self, File, Metadata, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::format::{layout_name, FrozenError};
use crate::{Freeze, Image, Layout};

/// Writes a value, and all that it refers to, to a file, which replaces `path` when it is complete and on the disk: after
/// a kill the old file is there or the new one, perhaps with a temporary one beside it. The same value gives the same
/// file. `layout` names the types and their version, in at most 31 bytes.
///
/// Symbolic links are followed. On Unix the new file has the owner, group and mode of the old one, as far as the process
/// may set them; a group that it may not set gets the rights of all others only.
///
/// # Errors
/// `path` leads to a directory, a device or another thing that is no regular file: [`FrozenError::Io`].
/// [`FrozenError::Io`], [`FrozenError::Memory`], or [`FrozenError::Argument`] for the name; `path` is then unchanged.
pub fn freeze<R: Freeze>(root: &R, path: impl AsRef<Path>, layout: &str) -> Result<(), FrozenError> {
    let bytes = freeze_to_vec(root, layout)?;
    let (path, old) = replaced_file(path.as_ref())?;
    let name = path.with_file_name(format!(".toft-{:016x}", RandomState::new().hash_one(std::process::id())));
    let written = write_new(&name, &bytes, old.as_ref()).and_then(|()| fs::rename(&name, &path));
    if written.is_err() {
        _ = fs::remove_file(&name);
    }
    written?;
    sync_folder(&path);
    Ok(())
}

/// The bytes of such a file, for [`Frozen::from_bytes`](crate::Frozen::from_bytes) or a way of its own to the disk.
///
/// # Errors
/// [`FrozenError::Memory`], or [`FrozenError::Argument`] for the name.
pub fn freeze_to_vec<R: Freeze>(root: &R, layout: &str) -> Result<Vec<u8>, FrozenError> {
    Image::file_of(root, layout_name(layout)?, Layout::of::<R>()?.hash())
}

const LINKS_MAX: usize = 40; // as for Linux

/// `None`: there is no file. One that is not regular is an error.
fn regular(found: io::Result<Metadata>) -> io::Result<Option<Metadata>> {
    match found {
        Ok(found) if found.is_file() => Ok(Some(found)),
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(_) => Err(ErrorKind::InvalidInput.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The regular file that a path leads to through symbolic links, as for open, where there may be none yet.
fn replaced_file(path: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
    let exists = regular(fs::metadata(path))?.is_some(); // the system may not allow to follow the link
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(link) = fs::read_link(&path) else { break };
        path.pop();
        path.push(link);
    }
    let old = regular(fs::symlink_metadata(&path))?;
    if exists && old.is_none() {
        return Err(ErrorKind::NotFound.into()); // a name such as /dev/fd/3 leads to a file that has none
    }
    Ok((path, old))
}

fn write_new(name: &Path, bytes: &[u8], old: Option<&Metadata>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut file = open_like(options, name, old)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Opens a new file with the owner, group and mode of the one that it replaces, as far as the process may set them.
#[cfg(all(unix, not(miri)))]
fn open_like(mut options: OpenOptions, name: &Path, old: Option<&Metadata>) -> io::Result<File> {
    use std::os::unix::fs::{fchown, MetadataExt, OpenOptionsExt, PermissionsExt};
    let Some(old) = old else { return options.open(name) };
    let file = options.mode(0o600).open(name)?;
    let mut mode = old.mode() & 0o7777;
    if fchown(&file, Some(old.uid()), Some(old.gid())).is_err() {
        mode &= 0o777;
        if fchown(&file, None, Some(old.gid())).is_err() {
            mode = (mode & 0o707) | (mode & 0o7) << 3;
        }
    }
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    Ok(file)
}

#[cfg(not(all(unix, not(miri))))]
fn open_like(options: OpenOptions, name: &Path, _: Option<&Metadata>) -> io::Result<File> {
    options.open(name)
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
