//! Findings of a checked arena: misuses that were detected.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

/// A call site: a location in Rust code, or a number from code in another language.
///
/// ```
/// let arena = toft::Arena::new();
/// arena.set_checked(true)?;
/// arena.alloc(1);
/// let site = arena.report().sites[0].site.clone();
/// assert_eq!(site.to_string(), format!("{}:{}:{}", file!(), site.line, site.column));
/// # Ok::<(), toft::SwitchError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Site {
    /// Empty: not Rust code, or unknown.
    pub file: Cow<'static, str>,
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
    /// The number from code in another language.
    pub number: u64,
}

/// A misuse that was detected: [`Arena::findings`](crate::Arena::findings).
///
/// ```
/// use toft::Finding;
/// let mut arena = toft::Arena::new();
/// arena.set_checked(true)?;
/// arena.alloc(String::from("it is never dropped"));
/// arena.reset();
/// assert!(matches!(arena.findings()[..], [Finding::Leak { .. }]));
/// # Ok::<(), toft::SwitchError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Finding {
    /// Bytes outside an allocation were written.
    Corrupt {
        /// The call site of the allocation.
        site: Site,
        /// Its size.
        size: usize,
        /// Its address.
        address: usize,
        /// The first changed byte, relative to the address.
        offset: isize,
        /// The bytes written.
        written: Written,
    },
    /// Memory was written after it was freed.
    LateWrite {
        /// The call site of the allocation.
        site: Site,
        /// Its size.
        size: usize,
        /// Its address.
        address: usize,
        /// The first written byte, relative to the address.
        offset: isize,
        /// The bytes written.
        written: Written,
    },
    /// A free or resize of an address that is not an allocation of this size, or is freed already. Nothing was done.
    BadFree {
        /// The call site of the free.
        site: Site,
        /// The size in the call.
        size: usize,
    },
    /// The memory of a value was freed without its destructor.
    Leak {
        /// The call site of the allocation.
        site: Site,
        /// Its size.
        size: usize,
    },
    /// The soft budget was exceeded; reported once between two resets.
    OverBudget {
        /// The call site of the allocation that exceeded it.
        site: Site,
        /// Allocated bytes now.
        live: u64,
        /// The soft budget.
        budget: u64,
    },
    /// Threads other than the arena's called it. The calls were refused.
    WrongThread {
        /// The number of calls.
        calls: u64,
    },
    /// There were too many findings to keep.
    Lost {
        /// The number of findings not kept.
        count: u64,
    },
}

/// The bytes written outside an allocation: in [`Finding::Corrupt`] and [`Finding::LateWrite`].
///
/// ```
/// use toft::Finding;
/// let mut arena = toft::Arena::new();
/// arena.set_checked(true)?;
/// let bytes = arena.alloc([0u8; 10]);
/// // SAFETY: it is not: bytes 10 to 13 are not the array's. In a checked arena they are a red zone.
/// unsafe { bytes.as_mut_ptr().add(10).copy_from(b"abc\0".as_ptr(), 4) };
/// arena.reset();
/// let Finding::Corrupt { written, .. } = &arena.findings()[0] else { panic!() };
/// assert_eq!(written.to_string(), r#"4 bytes "abc\x00""#);
/// # Ok::<(), toft::SwitchError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Written {
    /// Distance from the first to the last changed byte, both included.
    pub count: usize,
    /// The changed bytes reach the end of the checked region, away from the allocation: more may have been written.
    pub or_more: bool,
    /// The first 32 of them.
    pub bytes: Vec<u8>,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}:{}:{}", Escaped(&self.file), self.line, self.column)
        } else if self.number != 0 {
            write!(f, "site {:#x}", self.number)
        } else {
            f.write_str("an unknown place")
        }
    }
}

/// Escapes bytes outside 0x20..0x7e of the program's strings as `\xNN`, since a finding is one line.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.bytes().try_for_each(|byte| match byte {
            0x20..=0x7e => f.write_char(byte as char),
            _ => write!(f, "\\x{byte:02x}"),
        })
    }
}

/// `1 byte`, `2 bytes`.
struct Bytes(usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { "byte" } else { "bytes" })
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} \"", Bytes(self.count), if self.or_more { " or more" } else { "" })?;
        for byte in &self.bytes {
            match byte {
                b'"' | b'\\' => write!(f, "\\{}", *byte as char)?,
                0x20..=0x7e => f.write_char(*byte as char)?,
                _ => write!(f, "\\x{byte:02x}")?,
            }
        }
        f.write_str(if self.bytes.len() < self.count { "\"..." } else { "\"" })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(f, true)?;
        match self.place() {
            Some((Finding::LAST, site)) => write!(f, "; the last of them allocated at {site}"),
            Some((role, site)) => write!(f, "; {role} at {site}"),
            None => Ok(()),
        }
    }
}

impl Finding {
    const LAST: &str = "exceeded";

    /// What was found, without its place.
    fn describe(&self, f: &mut dyn Write, with_address: bool) -> fmt::Result {
        let at = |address: &usize| if with_address { alloc::format!(" at {address:#x}") } else { String::new() };
        match self {
            Finding::Corrupt { size, address, offset, written, .. } => {
                let kind = if *offset < 0 { "underrun" } else { "overrun" };
                write!(f, "{kind}: byte {offset} of {}{} was written: {written}", Bytes(*size), at(address))
            }
            Finding::LateWrite { size, address, offset, written, .. } => {
                write!(f, "late write: byte {offset} of {}{} was written after ", Bytes(*size), at(address))?;
                write!(f, "they were given back: {written}")
            }
            Finding::BadFree { size, .. } => {
                write!(f, "bad free: {size} bytes that are no allocation of this arena, or not any more")
            }
            Finding::Leak { size, .. } => {
                write!(f, "leak: a value of {size} bytes was given back without its destructor")
            }
            Finding::OverBudget { live, budget, .. } => {
                write!(f, "over budget: {live} bytes of a soft budget of {budget}")
            }
            Finding::WrongThread { calls } => {
                write!(f, "wrong thread: {calls} calls by threads that the arena does not belong to")
            }
            Finding::Lost { count } => write!(f, "lost: {count} findings more"),
        }
    }

    /// The role of its site, and the site.
    fn place(&self) -> Option<(&'static str, &Site)> {
        match self {
            Finding::Corrupt { site, .. } | Finding::LateWrite { site, .. } | Finding::Leak { site, .. } => {
                Some(("allocated", site))
            }
            Finding::BadFree { site, .. } => Some(("freed or resized", site)),
            Finding::OverBudget { site, .. } => Some((Finding::LAST, site)),
            Finding::WrongThread { .. } | Finding::Lost { .. } => None,
        }
    }

    /// The finding as a JSON object, as `docs/run.md` describes it.
    #[cfg(feature = "std")]
    pub(crate) fn object(&self) -> String {
        let (kind, size) = match self {
            Finding::Corrupt { size, offset, .. } if *offset < 0 => ("underrun", *size as u64),
            Finding::Corrupt { size, .. } => ("overrun", *size as u64),
            Finding::LateWrite { size, .. } => ("late-write", *size as u64),
            Finding::BadFree { size, .. } => ("bad-free", *size as u64),
            Finding::Leak { size, .. } => ("leak", *size as u64),
            Finding::OverBudget { live, .. } => ("budget", *live),
            Finding::WrongThread { calls } => ("wrong-thread", *calls),
            Finding::Lost { count } => ("lost", *count),
        };
        let mut text = String::new();
        let _ = self.describe(&mut text, false);
        let mut object = alloc::format!(r#"{{"kind":"{kind}","library":"toft-rust","text":{}"#, Quoted(&text));
        let _ = write!(object, r#","size":{size},"places":["#);
        if let Some((role, site)) = self.place() {
            let (line, column) = (site.line, site.column);
            let _ = match (site.file.is_empty(), site.number) {
                (false, _) => write!(
                    object,
                    r#"{{"role":"{role}","stack":[{{"file":{},"line":{line},"column":{column}}}]}}"#,
                    Quoted(&site.file)
                ),
                (true, 0) => write!(object, r#"{{"role":"{role}","stack":[]}}"#),
                (true, number) => {
                    write!(object, r#"{{"role":"{role}","stack":[{{"function":"site {number:#x}"}}]}}"#)
                }
            };
        }
        object.push_str("]}");
        object
    }
}

/// A string of JSON.
#[cfg(feature = "std")]
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

#[cfg(feature = "std")]
impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        self.0.chars().try_for_each(|c| match c {
            '"' | '\\' => write!(f, "\\{c}"),
            '\0'..='\x1f' => write!(f, "\\u{:04x}", c as u32),
            _ => f.write_char(c),
        })?;
        f.write_char('"')
    }
}
