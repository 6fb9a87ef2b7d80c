//! Answers the same queries from a file with Rust's types and a hash map: frozen_map trusted|checked FILE NAME..., after
//! frozen_map write TABLE FILE.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use std::time::Instant;
use std::{env, error, fs, io};

use toft_frozen::{freeze, Freeze, Frozen, FrozenHashMap, MapBuilder};

#[derive(Freeze)]
struct Package<'a> {
    version: &'a str,
    description: &'a str,
    depends: &'a [&'a str],
    kib: u64,
}

type Packages<'a> = FrozenHashMap<'a, &'a str, Package<'a>>;

/// A line: name, version, KiB, names that it depends on, description.
fn package<'a>(line: &'a str, depends: &'a [&'a str]) -> Option<(&'a str, Package<'a>)> {
    let mut fields = line.splitn(5, '\t');
    let (name, version, kib) = (fields.next()?, fields.next()?, fields.next()?.parse().ok()?);
    Some((name, Package { version, description: fields.nth(1)?, depends, kib }))
}

fn write(table: &str, path: &str) -> Result<(), Box<dyn error::Error>> {
    let table = fs::read_to_string(table)?;
    let depends: Vec<Vec<_>> =
        table.lines().map(|line| line.split('\t').nth(3).unwrap_or("").split_whitespace().collect()).collect();
    let packages = table.lines().zip(&depends).map(|(line, depends)| package(line, depends));
    let mut packages: MapBuilder<_, _> = packages.collect::<Option<_>>().ok_or("not the table of build.c")?;
    Ok(freeze(&packages.hash_map()?, path, "packages of Rust 1")?)
}

fn print(all: &Packages<'_>, name: &str) {
    match all.get(name) {
        None => println!("{name} -"),
        Some(p) => println!("{name} {} {} {} {}", p.version, p.kib, p.depends.len(), p.description),
    }
}

fn read(path: &str, way: &str, names: &[String]) -> Result<(), Box<dyn error::Error>> {
    let table = fs::read_to_string(Path::new(path).with_file_name("packages.tsv"))?;
    let some: Vec<&str> = table.lines().step_by(60).take(1000).filter_map(|line| line.split('\t').next()).collect();
    let start = Instant::now();
    let file = match way {
        "checked" => Frozen::<Packages>::open_checked(path, "packages of Rust 1")?,
        // SAFETY: `write` wrote the file with these types, and replaces it only.
        _ => unsafe { Frozen::<Packages>::open(path, "packages of Rust 1")? },
    };
    let opened = start.elapsed();
    let all = file.get();
    print(all, &names[0]);
    let answered = start.elapsed();
    let start = Instant::now();
    some.iter().for_each(|name| _ = black_box(all.get(*name)));
    println!("times {} {} {}", opened.as_nanos(), answered.as_nanos(), start.elapsed().as_nanos());
    for name in names {
        print(all, name);
        println!("{name} is needed by {}", all.iter().filter(|(_, p)| p.depends.contains(&&name[..])).count());
    }
    println!("done");
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn main() -> Result<(), Box<dyn error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments[..] {
        [way, table, path] if way == "write" => write(table, path),
        [way, path, names @ ..] if !names.is_empty() => read(path, way, names),
        _ => Err("frozen_map write TABLE FILE, or frozen_map trusted|checked FILE NAME...".into()),
    }
}
