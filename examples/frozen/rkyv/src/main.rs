//! Answers the same queries as read.c, with rkyv: rkyv_read unchecked|verified FILE NAME..., after rkyv_read write TABLE FILE.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod write;

use std::collections::HashMap;
use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use std::time::Instant;
use std::{env, error, fs, io};

use memmap2::Mmap;
use rkyv::rancor::Error;
use rkyv::{Archive, Serialize};

#[derive(Archive, Serialize)]
struct Package {
    version: String,
    description: String,
    depends: Vec<String>,
    kib: u64,
}

type Packages = HashMap<String, Package>;
type ArchivedPackages = rkyv::Archived<Packages>;

fn print(all: &ArchivedPackages, name: &str) {
    match all.get(name) {
        None => println!("{name} -"),
        Some(p) => println!("{name} {} {} {} {}", p.version, p.kib, p.depends.len(), p.description),
    }
}

fn needed_by(all: &ArchivedPackages, name: &str) -> usize {
    all.values().filter(|p| p.depends.iter().any(|d| d == name)).count()
}

fn read(path: &str, verify: bool, names: &[String]) -> Result<(), Box<dyn error::Error>> {
    let table = fs::read_to_string(Path::new(path).with_file_name("packages.tsv"))?;
    let some: Vec<&str> = table.lines().step_by(60).take(1000).filter_map(|line| line.split('\t').next()).collect();
    let start = Instant::now();
    // SAFETY: nothing changes or truncates the file.
    let bytes = unsafe { Mmap::map(&File::open(path)?)? };
    let all = if verify {
        rkyv::access::<ArchivedPackages, Error>(&bytes)?
    } else {
        // SAFETY: write.rs wrote the file, with the same types.
        unsafe { rkyv::access_unchecked::<ArchivedPackages>(&bytes) }
    };
    let opened = start.elapsed();
    print(all, &names[0]);
    let answered = start.elapsed();
    let start = Instant::now();
    some.iter().for_each(|name| _ = black_box(all.get(*name)));
    println!("times {} {} {}", opened.as_nanos(), answered.as_nanos(), start.elapsed().as_nanos());
    for name in names {
        print(all, name);
        println!("{name} is needed by {}", needed_by(all, name));
    }
    println!("done");
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn main() -> Result<(), Box<dyn error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments[..] {
        [way, table, path] if way == "write" => write::write(table, path),
        [way, path, names @ ..] if !names.is_empty() => read(path, way == "verified", names),
        _ => Err("rkyv_read write TABLE FILE, or rkyv_read unchecked|verified FILE NAME...".into()),
    }
}
