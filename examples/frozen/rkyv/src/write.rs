//! Writes the table of packages that build.c has made with rkyv.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::{error, fs};

use rkyv::rancor::Error;

use crate::{Package, Packages};

/// A line: name, version, KiB, names that it depends on, description.
fn package(line: &str) -> Option<(String, Package)> {
    let mut fields = line.splitn(5, '\t');
    let mut next = || fields.next();
    let (name, version, kib, depends) = (next()?.to_owned(), next()?.to_owned(), next()?.parse().ok()?, next()?);
    let depends = depends.split_whitespace().map(str::to_owned).collect();
    Some((name, Package { version, description: next()?.to_owned(), depends, kib }))
}

pub(crate) fn write(table: &str, path: &str) -> Result<(), Box<dyn error::Error>> {
    let table = fs::read_to_string(table)?;
    let all = table.lines().map(package).collect::<Option<Packages>>().ok_or("not the table of build.c")?;
    fs::write(path, rkyv::to_bytes::<Error>(&all)?)?;
    Ok(())
}
