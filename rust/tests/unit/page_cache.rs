//! Unit tests of `src/system/page_cache.rs`: numbers in the environment.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

#[test]
fn numbers_in_the_environment_are_parsed() {
    let cases = [("0", 0), ("7", 7), ("64M", 64 << 20), ("2k", 2048), ("1G", 1 << 30), ("12 MB", 12)];
    for (text, bytes) in cases {
        assert_eq!(bytes_of(text), Some(bytes), "{text}");
    }
    assert_eq!(bytes_of("99999999999999999999999G"), Some(usize::MAX / 2));
    for text in ["", "M", "-1", "x1"] {
        assert_eq!(bytes_of(text), None, "{text}");
    }
}
