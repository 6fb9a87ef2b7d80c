//! A call of a stack, as snapshots, advice and findings have it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Hexadecimal; empty in an advice.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub address: String,
    /// `None`: no symbol of the module contains the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Of the address within the function; in an advice within the module's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Of Rust's findings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// Into the next call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inlined: bool,
}

impl Frame {
    /// The address, if it is known.
    pub fn number(&self) -> Option<u64> {
        hex(&self.address).filter(|address| *address != 0)
    }

    /// Whether it belongs to Toft or to a language's library.
    pub fn is_library(&self) -> bool {
        let file = self.file.as_deref().unwrap_or("");
        let name = file.rsplit('/').next().unwrap_or(file);
        let header = file.contains("/toft/") && (name.ends_with(".h") || name.ends_with(".hpp"));
        let folder = ["/usr/include/", "/rustc/"].iter().any(|folder| file.starts_with(folder));
        let function = self.function.as_deref().unwrap_or("").trim_start_matches('<');
        let namespaces = ["toft::", "toft_", "std::", "core::", "alloc::", "__gnu_cxx::"];
        name == "toft.h"
            || name == "toft.c"
            || header
            || folder
            || file.contains("/include/c++/")
            || namespaces.iter().any(|name| function.starts_with(name))
    }
}

/// Code of the program or of a shared library, where the process had it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Module {
    /// The path of its file.
    pub module: String,
    pub address: String,
    pub size: u64,
    /// Of its first byte in the file.
    #[serde(default)]
    pub offset: u64,
    /// `None`: the file has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
}

impl Module {
    pub fn start(&self) -> u64 {
        hex(&self.address).unwrap_or(u64::MAX)
    }

    /// The offset in the file of a call in it, which returns to `address`.
    pub fn offset_of(&self, address: u64) -> u64 {
        address.wrapping_sub(1).wrapping_sub(self.start()).wrapping_add(self.offset)
    }

    /// The address behind a call at an offset in a file, if that part of the file is in it.
    pub fn address_of(&self, file: &str, offset: u64) -> Option<u64> {
        let within = offset.checked_sub(self.offset).filter(|within| self.module == file && *within < self.size)?;
        self.start().checked_add(within + 1)
    }

    /// The one that a call, which returns to `address`, is in.
    pub fn of(modules: &[Module], address: u64) -> Option<&Module> {
        modules.iter().find(|module| {
            let within = (address - 1).checked_sub(module.start());
            within.is_some_and(|within| within < module.size)
        })
    }
}

pub fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_namespaces_of_libraries() {
        let call = |function: &str, file: &str| Frame {
            function: Some(function.into()),
            file: Some(file.into()),
            ..Frame::default()
        };
        for (function, file) in [
            ("reset", "/usr/share/toft/arena.hpp"),
            ("toft::v0_1::arena::reset()", "x.hpp"),
            ("f", "/usr/include/c++/12/bits/stl_map.h"),
            ("<alloc::vec::Vec<T> as core::clone::Clone>::clone", "vec.rs"),
        ] {
            assert!(call(function, file).is_library(), "{function}");
        }
        assert!(!call("serve", "server.c").is_library() && !call("stdin::read", "src/toft.rs").is_library());
    }
}
