//! The assignment of fields to columns.
// SPDX-License-Identifier: MIT OR Apache-2.0

use proc_macro2::Ident;
use quote::{format_ident, ToTokens};
use syn::ext::IdentExt;
use syn::{Error, Member, Result, Visibility};

use crate::input::{Errors, Field, Input};

/// The columns, in the order of their first fields.
pub struct Columns<'i>(pub Vec<Column<'i>>);

pub enum Column<'i> {
    /// The column of a field, or the columns of the type of a nested field.
    Field(&'i Field),
    Group(Group<'i>),
}

/// The fields of a group, which are in one column of small structs.
pub struct Group<'i> {
    pub name: &'i Ident,
    /// The name of that struct.
    pub row: Ident,
    pub vis: &'i Visibility,
    pub align: usize,
    pub fields: Vec<&'i Field>,
}

impl<'i> Columns<'i> {
    pub fn of(input: &'i Input) -> Result<Columns<'i>> {
        let mut columns: Vec<Column<'i>> = Vec::new();
        let mut errors = Errors::default();
        for field in &input.fields {
            let Some(name) = &field.group else {
                columns.push(Column::Field(field));
                continue;
            };
            let known = columns.iter_mut().find_map(|column| match column {
                Column::Group(group) if group.name == name => Some(group),
                _ => None,
            });
            match known {
                Some(group) => errors.note(group.add(field)),
                None => {
                    let row = row_name(input, name);
                    errors.note(check_name(input, &columns, name, &row));
                    let (vis, align) = (&field.vis, field.align.unwrap_or(1));
                    columns.push(Column::Group(Group { name, row, vis, align, fields: vec![field] }));
                }
            }
        }
        errors.end().map(|()| Columns(columns))
    }
}

impl<'i> Group<'i> {
    fn add(&mut self, field: &'i Field) -> Result<()> {
        self.align = self.align.max(field.align.unwrap_or(1));
        self.fields.push(field);
        if field.vis.to_token_stream().to_string() != self.vis.to_token_stream().to_string() {
            // Access to the column is access to each of its fields.
            return Err(Error::new_spanned(&field.member, "the fields of a group must have the same visibility"));
        }
        Ok(())
    }
}

/// `hot_fields` of `Particle`: `ParticleHotFields`.
fn row_name(input: &Input, group: &Ident) -> Ident {
    let words = group.unraw().to_string();
    let mut camel = String::new();
    for word in words.split('_') {
        let mut letters = word.chars();
        camel.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        camel.push_str(letters.as_str());
    }
    format_ident!("{}{}", input.ident.unraw(), camel, span = group.span())
}

fn check_name(input: &Input, columns: &[Column], name: &Ident, row: &Ident) -> Result<()> {
    let error = |text: &str| Err(Error::new(name.span(), text));
    if input.tuple {
        return error("a tuple struct cannot have groups: the slices have a field with the name of the group");
    }
    let is_field = |field: &Field| matches!(&field.member, Member::Named(ident) if ident.unraw() == name.unraw());
    if input.fields.iter().any(is_field) {
        return error("a group and a field cannot have the same name");
    }
    let views = ["Ref", "Mut", "Slices", "SlicesMut"].map(|view| format_ident!("{}{}", input.ident.unraw(), view));
    let is_row = |column: &Column| matches!(column, Column::Group(group) if group.row == *row);
    if views.contains(row) || columns.iter().any(is_row) {
        return error("the struct of the group would have the name of another generated struct: choose another name");
    }
    Ok(())
}
