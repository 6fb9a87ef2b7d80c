//! Contracts of functions, for all values of their parameters under Kani (`make check-rust-kani`), and for random ones
//! in `cargo test`. `assume!` skips values that violate a precondition.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// Defines a proof and a test for each function.
macro_rules! contracts {
    ($(fn $name:ident($($value:ident: $type:ty),*) $body:block)*) => {$(
        #[cfg_attr(kani, kani::proof, kani::unwind(8), kani::solver(cadical))]
        #[cfg_attr(not(kani), test)]
        fn $name() {
            #[cfg(kani)]
            let ($($value,)*): ($($type,)*) = ($(kani::any::<$type>(),)*);
            #[cfg(not(kani))]
            let mut random = $crate::contract::Random(1);
            #[cfg(not(kani))]
            for _ in 0..if cfg!(miri) { 20 } else { 10_000 } {
                $(let $value = random.next() as $type;)*
                $body
            }
            #[cfg(kani)]
            $body
        }
    )*};
}

#[cfg(kani)]
macro_rules! assume {
    ($condition:expr) => {
        kani::assume($condition)
    };
}
#[cfg(not(kani))]
macro_rules! assume {
    ($condition:expr) => {
        if !$condition {
            continue;
        }
    };
}

/// Numbers of all magnitudes, by the xorshift generator of Marsaglia (Journal of Statistical Software 8, 14).
#[cfg(not(kani))]
pub struct Random(pub u64);

#[cfg(not(kani))]
impl Random {
    fn step(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn next(&mut self) -> u64 {
        let shift = self.step() >> 58;
        self.step() >> shift
    }
}
