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
}

pub fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}
