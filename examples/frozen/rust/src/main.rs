//! Answers the same queries as read.c, in Rust: frozen_read trusted|checked FILE NAME...
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::io::Read;
use std::time::Instant;
use std::{env, error, io};

use toft_frozen::{Freeze, Frozen, FrozenSlice};

/// The structs of packages.h.
type Text<'a> = FrozenSlice<'a, u8>;

#[derive(Freeze)]
#[repr(C)]
struct Package<'a> {
    name: Text<'a>,
    version: Text<'a>,
    description: Text<'a>,
    depends: FrozenSlice<'a, Text<'a>>,
    kib: u64,
}

#[derive(Freeze)]
#[repr(C)]
struct Packages<'a> {
    list: FrozenSlice<'a, Package<'a>>,
    index: FrozenSlice<'a, u64>,
}

impl Packages<'_> {
    fn find(&self, name: &str) -> Option<&Package<'_>> {
        let start = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let mask = self.index.len() - 1;
        (start as usize..)
            .map(|at| self.index[at & mask])
            .take_while(|&number| number != 0)
            .map(|number| &self.list[number as usize - 1])
            .find(|package| *package.name == *name.as_bytes())
    }

    fn print(&self, name: &str) {
        let text = |t: &Text<'_>| String::from_utf8_lossy(t).into_owned();
        match self.find(name) {
            None => println!("{name} -"),
            Some(p) => println!(
                "{} {} {} {} {}",
                text(&p.name),
                text(&p.version),
                p.kib,
                p.depends.len(),
                text(&p.description)
            ),
        }
    }

    fn needed_by(&self, name: &str) -> usize {
        self.list.iter().filter(|p| p.depends.iter().any(|d| **d == *name.as_bytes())).count()
    }
}

const USAGE: &str = "frozen_read trusted|checked FILE NAME...";

fn main() -> Result<(), Box<dyn error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [way, path, names @ ..] = &arguments[..] else { return Err(USAGE.into()) };
    let first = names.first().ok_or(USAGE)?;
    let start = Instant::now();
    let file = match &way[..] {
        "checked" => Frozen::<Packages>::open_checked(path, "packages 1")?,
        // SAFETY: build.c writes the file with these structs and this layout, and replaces it only.
        "trusted" => unsafe { Frozen::<Packages>::open(path, "packages 1")? },
        _ => return Err(USAGE.into()),
    };
    let opened = start.elapsed();
    let all = file.get();
    all.print(first);
    println!("times {} {}", opened.as_nanos(), start.elapsed().as_nanos());
    for name in names {
        all.print(name);
        println!("{name} is needed by {}", all.needed_by(name));
    }
    println!("done");
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
