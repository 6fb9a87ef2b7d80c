//! Traits for derived code, implemented for a list of fields in nested pairs if each field has the trait.
//!
//! Bounds for each field would be ambiguous for fields that differ in lifetimes only: of `&'a str: Debug` and
//! `&'b str: Debug` in one `where` clause, the compiler can use neither.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::fmt::Debug;

// `Debug` of `(&A, (&B, ()))`, field by field.
pub trait ShowFields {
    fn show(&self, field: &mut dyn FnMut(&dyn Debug));
}

impl ShowFields for () {
    fn show(&self, _: &mut dyn FnMut(&dyn Debug)) {}
}

impl<A: Debug, R: ShowFields> ShowFields for (A, R) {
    fn show(&self, field: &mut dyn FnMut(&dyn Debug)) {
        field(&self.0);
        self.1.show(field);
    }
}

// Clones `(&A, (&B, ()))` to `(A, (B, ()))`.
pub trait CloneFields<To> {
    fn clone_fields(self) -> To;
}

impl CloneFields<()> for () {
    #[inline(always)]
    fn clone_fields(self) {}
}

impl<A: Clone, To, R: CloneFields<To>> CloneFields<(A, To)> for (&A, R) {
    #[inline(always)]
    fn clone_fields(self) -> (A, To) {
        (self.0.clone(), self.1.clone_fields())
    }
}
