//! The seeds of random streams.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::ops::Range;

/// Seeds for streams: a fifth of `n`, fewer with `TOFT_SHORT`, and 25 times `n` with `TOFT_LONG=1`. Under Miri a few, which differ for
/// each `TOFT_PART`.
pub fn seeds(n: u64) -> Range<u64> {
    let value = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    if cfg!(miri) {
        let (few, part) = (n.div_ceil(100), value("TOFT_PART").unwrap_or(0));
        return part * few..(part + 1) * few;
    }
    match (std::env::var_os("TOFT_SHORT"), value("TOFT_LONG")) {
        (Some(_), _) => 0..n / 20,
        (None, Some(1)) => 0..n * 25,
        _ => 0..n.div_ceil(5),
    }
}
