//! Properties of a type's bytes: whether they are checked, and the integer in them that distinguishes variants of another type.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::mem::MaybeUninit;

use crate::format::WIDTH;

/// How many variants around a type may be marked by one integer of it, as in `Option<Option<bool>>`.
const MARKS: usize = 4;

/// An integer in a type, with values that never occur. The compiler marks variants of other types by these.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar {
    pub offset: usize,
    /// 0: there is none.
    pub size: usize,
    /// A value that occurs.
    pub valid: u128,
    /// How many values are left.
    pub left: u128,
    /// The values that the compiler uses first; the first `used` ones are used.
    marks: [u128; MARKS],
    used: usize,
}

impl Scalar {
    const NONE: Scalar = Scalar { offset: 0, size: 0, valid: 0, left: 0, marks: [0; MARKS], used: 0 };

    /// An integer of T, where T has no other that the compiler prefers: `Option<T>` shows the values that it uses.
    pub const fn of<T>(offset: usize, size: usize, valid: u128, left: u128) -> Scalar {
        let marks = [
            none_of::<T, T>(offset, size),
            none_of::<T, Option<T>>(offset, size),
            none_of::<T, Option<Option<T>>>(offset, size),
            none_of::<T, Option<Option<Option<T>>>>(offset, size),
        ];
        Scalar { offset, size, valid, left, marks, used: 0 }
    }

    /// The value for the next variant. None: it is not known.
    pub const fn mark(self) -> Option<u128> {
        if self.left == 0 || self.used == MARKS {
            return None;
        }
        Some(self.marks[self.used])
    }

    const fn with_mark(self) -> Scalar {
        if self.left <= 1 {
            return Scalar::NONE;
        }
        Scalar { left: self.left - 1, used: self.used + 1, ..self }
    }
}

/// The integer in the `None` of `Option<O>`, which is T in some options. 0: that has a tag of its own.
const fn none_of<T, O>(offset: usize, size: usize) -> u128 {
    if size_of::<Option<O>>() != size_of::<T>() || size == 0 {
        return 0;
    }
    let none = MaybeUninit::<Option<O>>::new(None);
    let (mut value, mut i) = (0, 0);
    while i < size {
        // SAFETY: the integer lies in the value. It is what makes it None, thus initialized, or the compilation fails.
        let byte = unsafe { none.as_ptr().cast::<u8>().add(offset + i).read() } as u128;
        value |= byte << (8 * if cfg!(target_endian = "big") { size - 1 - i } else { i });
        i += 1;
    }
    value
}

/// The properties of a type that other types and the checks depend on.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The integers with the most values that never occur: the first and the last one in memory.
    pub(crate) scalars: [Scalar; 2],
    pub(crate) has_references: bool,
    /// Some bytes are no value.
    pub(crate) is_checked: bool,
}

impl Shape {
    /// Of a type without bytes, or whose bytes are always a value.
    pub const PLAIN: Shape = Shape { scalars: [Scalar::NONE; 2], has_references: false, is_checked: false };

    pub(crate) const fn of(scalar: Scalar) -> Shape {
        Shape { scalars: [scalar; 2], has_references: false, is_checked: true }
    }

    /// A pointer at an offset of T, which is not null.
    pub(crate) const fn pointer<T>(offset: usize) -> Shape {
        Shape { has_references: true, ..Shape::of(Scalar::of::<T>(offset, WIDTH, 1, 1)) }
    }

    /// The enum T with a tag of `size` bytes at its start, which has these values. Precondition: there is one.
    #[must_use]
    pub const fn tag<T>(size: usize, values: &[i128]) -> Shape {
        if size == 0 {
            return Shape::PLAIN;
        }
        // The values that never occur are those of the longest gap, behind the largest value also in front of the least.
        let (mut left, mut i) = (0, 0);
        while i < values.len() {
            let (mut gap, mut j) = (Shape::bits(size, -1), 0);
            while j < values.len() {
                let distance = Shape::bits(size, values[j].wrapping_sub(values[i]).wrapping_sub(1));
                if distance < gap {
                    gap = distance;
                }
                j += 1;
            }
            if gap > left {
                left = gap;
            }
            i += 1;
        }
        Shape::of(Scalar::of::<T>(0, size, Shape::bits(size, values[0]), left))
    }

    /// An integer's `size` bytes as [`Content::integer`](crate::Content::integer) reads them.
    #[must_use]
    pub const fn bits(size: usize, value: i128) -> u128 {
        if size == 0 {
            0
        } else {
            value as u128 & u128::MAX >> (128 - 8 * size)
        }
    }

    /// Adds a field at an offset.
    #[must_use]
    pub const fn with(self, offset: usize, field: Shape) -> Shape {
        let (mut sum, mut i) = (self.also(field), 0);
        while i < 2 {
            let new = Scalar { offset: offset + field.scalars[i].offset, ..field.scalars[i] };
            let [first, last] = sum.scalars;
            if new.left > first.left {
                sum.scalars = [new; 2];
            } else if new.left != 0 && new.left == first.left && new.offset < first.offset {
                sum.scalars[0] = new;
            } else if new.left != 0 && new.left == first.left && new.offset > last.offset {
                sum.scalars[1] = new;
            }
            i += 1;
        }
        sum
    }

    /// Adds the references and checks of a type, none of whose integers marks a variant.
    #[must_use]
    pub const fn also(self, field: Shape) -> Shape {
        let (has_references, is_checked) = (field.has_references, field.is_checked);
        Shape {
            scalars: self.scalars,
            has_references: self.has_references | has_references,
            is_checked: self.is_checked | is_checked,
        }
    }
}

/// The value of a variant.
#[derive(Clone, Copy)]
pub(crate) struct Payload {
    pub size: usize,
    pub align: usize,
    pub shape: Shape,
}

/// How a type with two variants has them in memory; each has one value, perhaps without bytes.
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    pub tag: Scalar,
    /// The variant in which the tag is `mark`.
    pub marked: usize,
    pub mark: u128,
    /// The tag in the other variant, unless it is an integer of that variant's value.
    pub other: Option<u128>,
    pub offsets: [usize; 2],
    pub shape: Shape,
}

const fn larger(a: usize, b: usize) -> usize {
    if a > b {
        a
    } else {
        b
    }
}

impl Choice {
    /// With a tag of its own, which is 0 or 1.
    pub const fn with_tag(tag: Scalar, offsets: [usize; 2], values: &[Payload; 2]) -> Choice {
        let shape = Shape::of(tag).also(values[0].shape).also(values[1].shape);
        Choice { tag, marked: 0, mark: 0, other: Some(1), offsets, shape }
    }

    /// Where an integer of a variant's value marks the other variant, whose value is at an offset.
    pub const fn without_tag(tag: Scalar, mark: u128, holder: usize, offset: usize, values: &[Payload; 2]) -> Choice {
        let shape = Shape::of(tag.with_mark()).also(values[0].shape).also(values[1].shape);
        let offsets = if holder == 0 { [0, offset] } else { [offset, 0] };
        Choice { tag, marked: 1 - holder, mark, other: None, offsets, shape }
    }

    /// Whether a type of this size and alignment has a tag of its own. Where that takes no more memory, the compiler
    /// prefers the integer that leaves more values. None: it is not known.
    pub const fn has_tag(size: usize, align: usize, values: &[Payload; 2]) -> Option<bool> {
        let [a, b] = values;
        let with_tag = larger(a.align + a.size, b.align + b.size).next_multiple_of(align);
        let without = larger(a.size, b.size).next_multiple_of(align);
        let left = values[Choice::holder(values)].shape.scalars[0].left;
        match (size == with_tag, size == without && left != 0) {
            (true, true) => Some(left - 1 <= Choice::tag(values).left),
            (false, false) => None,
            (has_tag, _) => Some(has_tag),
        }
    }

    /// The variant whose value may have an integer that marks the other one.
    pub const fn holder([a, b]: &[Payload; 2]) -> usize {
        if a.size > b.size {
            0
        } else {
            1
        }
    }

    /// The tag: at the start, and as wide as the space in front of the values if an integer is.
    pub const fn tag([a, b]: &[Payload; 2]) -> Scalar {
        let a = if a.size == 0 && a.align == 1 { usize::MAX } else { a.align };
        let b = if b.size == 0 && b.align == 1 { usize::MAX } else { b.align };
        let size = if a < b { a } else { b };
        match size {
            2 => Scalar::of::<Option<u16>>(0, 2, 0, Shape::bits(2, -2)),
            4 => Scalar::of::<Option<u32>>(0, 4, 0, Shape::bits(4, -2)),
            8 if align_of::<u64>() == 8 => Scalar::of::<Option<u64>>(0, 8, 0, Shape::bits(8, -2)),
            16 if align_of::<u128>() == 16 => Scalar::of::<Option<u128>>(0, 16, 0, Shape::bits(16, -2)),
            _ => Scalar::of::<Option<u8>>(0, 1, 0, Shape::bits(1, -2)),
        }
    }

    /// The variant of a tag. None: it is of none.
    pub const fn variant(&self, tag: u128) -> Option<usize> {
        match self.other {
            _ if tag == self.mark => Some(self.marked),
            Some(other) if tag != other => None,
            _ => Some(1 - self.marked),
        }
    }
}
