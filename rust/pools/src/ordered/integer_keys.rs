//! Integer keys. A node is searched without branches: the comparisons are independent of each other, and the processor
//! has no branch to predict.
//!
//! Unused positions of a node hold the largest integer, which is not less than any key, so a search needs no length.
//! Unused positions before the keys of a leaf hold the smallest integer; a search that ends among them means the first
//! key.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::any::TypeId;
use core::marker::PhantomData;

/// Capacities of nodes are multiples of this number.
pub(super) const STEP: usize = 8;

pub(super) trait Integer: Copy + Ord {}

macro_rules! number {
    ($($int:ty)*) => {$(
        impl Integer for $int {}
    )*};
}

number!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);

/// The rank of `key`: the number of sorted integers from `keys` on that are less.
///
/// # Safety
/// There are `positions` integers, a multiple of `STEP`.
#[inline(always)]
pub(super) unsafe fn rank<N: Integer>(keys: *const N, positions: usize, key: N) -> usize {
    // SAFETY: all indices are below `positions`.
    let less = |i: usize| usize::from(unsafe { *keys.add(i) } < key);
    let mut rank = 0;
    if positions == 64 {
        rank = (less(15) + less(31) + less(47)) * 16;
        rank += (less(rank + 3) + less(rank + 7) + less(rank + 11)) * 4;
    } else {
        for i in 1..positions / 4 {
            rank += less(i * 4 - 1);
        }
        rank *= 4;
    }
    rank + (less(rank) + less(rank + 1)) + (less(rank + 2) + less(rank + 3))
}

/// The identity of a type, which may borrow. Types that differ only in lifetimes have the same one.
#[inline(always)]
fn id<T: ?Sized>() -> TypeId {
    trait Identity {
        fn get(&self) -> TypeId
        where
            Self: 'static;
    }
    impl<T: ?Sized> Identity for PhantomData<T> {
        #[inline(always)]
        fn get(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<T>()
        }
    }
    let of = &PhantomData::<T>;
    // SAFETY: the method reads no value of the type; the lifetime is that of a marker.
    let of = unsafe { core::mem::transmute::<&dyn Identity, &(dyn Identity + 'static)>(of) };
    of.get()
}

/// Whether two types are the same, or differ only in lifetimes.
#[inline(always)]
pub(super) fn same_type<T: ?Sized, U: ?Sized>() -> bool {
    id::<T>() == id::<U>()
}

/// Expands to `$number` if `$K` is an integer, with `$N` for its integer type, and to `$other` otherwise. The compiler
/// removes the branches that do not apply.
macro_rules! with_integer {
    ($K:ty, $N:ident => $number:expr, else $other:expr) => {
        with_integer!(@ $K, $N => $number, else $other;
            u64 => u64, i64 => i64, u32 => u32, i32 => i32, usize => $crate::ordered::integer_keys::Usize,
            isize => $crate::ordered::integer_keys::Isize, u16 => u16, i16 => i16, u8 => u8, i8 => i8,
            char => u32, u128 => u128, i128 => i128)
    };
    (@ $K:ty, $N:ident => $number:expr, else $other:expr; $($key:ty => $as:ty),*) => {
        $(if $crate::ordered::integer_keys::same_type::<$K, $key>() {
            type $N = $as;
            $number
        } else)* {
            $other
        }
    };
}
pub(super) use with_integer;

#[cfg(target_pointer_width = "16")]
pub(super) use {i16 as Isize, u16 as Usize};
#[cfg(target_pointer_width = "32")]
pub(super) use {i32 as Isize, u32 as Usize};
#[cfg(target_pointer_width = "64")]
pub(super) use {i64 as Isize, u64 as Usize};

/// Whether keys of this type are integers.
#[inline(always)]
pub(super) fn is_integer<K>() -> bool {
    with_integer!(K, _N => true, else false)
}
