//! What derived code asks of all fields of a struct at once: the list of them, in pairs, has the trait where each field
//! has it.
//!
//! A bound for each field would say the same, if types with lifetimes were told apart: of `&'a str: Debug` and
//! `&'b str: Debug` in one `where`, neither can be used.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt::Debug;

// `(&A, (&B, ()))`, to be shown field by field.
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

// `(&A, (&B, ()))` as `(A, (B, ()))`.
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
