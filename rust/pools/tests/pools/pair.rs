//! A type of two columns with a hand-written implementation of the trait; other tests cover the derive.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use core::ptr::NonNull;
use toft_pools::{Columnar, ColumnarClone, Planner};

#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pair<A, B>(pub A, pub B);

// SAFETY: each function accesses the elements of its index in both columns.
unsafe impl<A, B> Columnar for Pair<A, B> {
    type Fields = (A, B);
    type Raw = (NonNull<A>, NonNull<B>);
    type Ref<'a>
        = (&'a A, &'a B)
    where
        Self: 'a;
    type Mut<'a>
        = (&'a mut A, &'a mut B)
    where
        Self: 'a;
    type Slices<'a>
        = (&'a [A], &'a [B])
    where
        Self: 'a;
    type SlicesMut<'a>
        = (&'a mut [A], &'a mut [B])
    where
        Self: 'a;

    fn plan(planner: &mut Planner) -> Self::Raw {
        (planner.column(1), planner.column(1))
    }
    unsafe fn write((a, b): Self::Raw, i: usize, value: Self) {
        // SAFETY: the caller's contract, here and below.
        unsafe {
            a.add(i).write(value.0);
            b.add(i).write(value.1);
        }
    }
    unsafe fn read((a, b): Self::Raw, i: usize) -> Self {
        // SAFETY: see write.
        unsafe { Pair(a.add(i).read(), b.add(i).read()) }
    }
    unsafe fn get<'a>((a, b): Self::Raw, i: usize) -> Self::Ref<'a>
    where
        Self: 'a,
    {
        // SAFETY: see write.
        unsafe { (a.add(i).as_ref(), b.add(i).as_ref()) }
    }
    unsafe fn get_mut<'a>((a, b): Self::Raw, i: usize) -> Self::Mut<'a>
    where
        Self: 'a,
    {
        // SAFETY: see write.
        unsafe { (a.add(i).as_mut(), b.add(i).as_mut()) }
    }
    unsafe fn slices<'a>((a, b): Self::Raw, start: usize, len: usize) -> Self::Slices<'a>
    where
        Self: 'a,
    {
        // SAFETY: see write.
        unsafe {
            (
                core::slice::from_raw_parts(a.add(start).as_ptr(), len),
                core::slice::from_raw_parts(b.add(start).as_ptr(), len),
            )
        }
    }
    unsafe fn slices_mut<'a>((a, b): Self::Raw, start: usize, len: usize) -> Self::SlicesMut<'a>
    where
        Self: 'a,
    {
        // SAFETY: see write.
        unsafe {
            (
                core::slice::from_raw_parts_mut(a.add(start).as_ptr(), len),
                core::slice::from_raw_parts_mut(b.add(start).as_ptr(), len),
            )
        }
    }
    unsafe fn copy(from: Self::Raw, i: usize, to: Self::Raw, j: usize, n: usize) {
        // SAFETY: see write.
        unsafe {
            to.0.add(j).copy_from_nonoverlapping(from.0.add(i), n);
            to.1.add(j).copy_from_nonoverlapping(from.1.add(i), n);
        }
    }
}

impl<A: Clone, B: Clone> ColumnarClone for Pair<A, B> {
    fn clone_ref(fields: (&A, &B)) -> Self {
        Pair(fields.0.clone(), fields.1.clone())
    }
}
