// SPDX-License-Identifier: MIT OR Apache-2.0
use toft_pools::Columnar;

#[derive(Columnar)]
pub struct Half {
    #[columns(group = "hot")]
    pub open: u8,
    #[columns(group = "hot")]
    private: u8,
}

fn main() {}
