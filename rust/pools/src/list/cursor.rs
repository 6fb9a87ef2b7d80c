//! Cursors of a list.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;

use super::List;
use crate::capacity_error::{capacity_panic, CapacityError};
use crate::field_layout::{FieldLayout, Rows};
use crate::key::Handle;
use crate::linked_slots::NONE;
use toft::{Heap, Memory};

/// A position in a list: at a value, or at the *ghost* element between the back and the front, as in `LinkedList`.
///
/// ```
/// let list = toft_pools::List::from([1, 2]);
/// let mut cursor = list.cursor_front();
/// assert_eq!(cursor.current(), Some(&1));
/// cursor.move_next();
/// cursor.move_next();
/// assert_eq!(cursor.current(), None); // the gap
/// cursor.move_next();
/// assert_eq!(cursor.current(), Some(&1));
/// ```
pub struct Cursor<'a, T, L: FieldLayout<T> = Rows, M: Memory = Heap> {
    list: &'a List<T, L, M>,
    at: u32,
}

/// A position in a list with operations that change it. See [`Cursor`].
///
/// ```
/// let mut list = toft_pools::List::from([1, 2, 4]);
/// let mut cursor = list.cursor_back_mut();
/// cursor.insert_before(3);
/// assert!(list.iter().eq(&[1, 2, 3, 4]));
/// ```
pub struct CursorMut<'a, T, L: FieldLayout<T> = Rows, M: Memory = Heap> {
    list: &'a mut List<T, L, M>,
    at: u32,
}

impl<T, L: FieldLayout<T>, M: Memory> List<T, L, M> {
    /// A cursor at the front; in an empty list, at the ghost element.
    ///
    /// ```
    /// assert_eq!(toft_pools::List::from([1, 2]).cursor_front().current(), Some(&1));
    /// ```
    pub fn cursor_front(&self) -> Cursor<'_, T, L, M> {
        Cursor { list: self, at: self.front }
    }

    /// A cursor at the back; in an empty list, at the ghost element.
    ///
    /// ```
    /// assert_eq!(toft_pools::List::from([1, 2]).cursor_back().current(), Some(&2));
    /// ```
    pub fn cursor_back(&self) -> Cursor<'_, T, L, M> {
        Cursor { list: self, at: self.back }
    }

    /// A cursor at the value of a handle, or `None` if the handle is stale.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2]);
    /// let three = list.push_back(3);
    /// assert_eq!(list.cursor_at(three).unwrap().peek_prev(), Some(&2));
    /// ```
    pub fn cursor_at(&self, handle: Handle<T>) -> Option<Cursor<'_, T, L, M>> {
        let at = self.slots.find(handle)?;
        Some(Cursor { list: self, at })
    }

    /// A mutable cursor at the front.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2]);
    /// list.cursor_front_mut().remove_current();
    /// assert!(list.iter().eq(&[2]));
    /// ```
    pub fn cursor_front_mut(&mut self) -> CursorMut<'_, T, L, M> {
        CursorMut { at: self.front, list: self }
    }

    /// A mutable cursor at the back.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2]);
    /// list.cursor_back_mut().remove_current();
    /// assert!(list.iter().eq(&[1]));
    /// ```
    pub fn cursor_back_mut(&mut self) -> CursorMut<'_, T, L, M> {
        CursorMut { at: self.back, list: self }
    }

    /// A mutable cursor at the value of a handle, or `None` if the handle is stale.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2]);
    /// let four = list.push_back(4);
    /// list.cursor_at_mut(four).unwrap().insert_before(3);
    /// assert!(list.iter().eq(&[1, 2, 3, 4]));
    /// ```
    pub fn cursor_at_mut(&mut self, handle: Handle<T>) -> Option<CursorMut<'_, T, L, M>> {
        let at = self.slots.find(handle)?;
        Some(CursorMut { list: self, at })
    }
}

impl<T, L: FieldLayout<T>, M: Memory> Clone for Cursor<'_, T, L, M> {
    fn clone(&self) -> Self {
        Cursor { list: self.list, at: self.at }
    }
}

impl<'a, T, L: FieldLayout<T>, M: Memory> Cursor<'a, T, L, M> {
    /// The current value; `None` at the ghost element.
    ///
    /// ```
    /// assert_eq!(toft_pools::List::<u8>::new().cursor_front().current(), None);
    /// ```
    pub fn current(&self) -> Option<L::Ref<'a>> {
        self.list.at(self.at)
    }

    /// The handle of the current value.
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// let one = list.push_back(1);
    /// assert_eq!(list.cursor_back().handle(), Some(one));
    /// ```
    pub fn handle(&self) -> Option<Handle<T>> {
        self.list.handle_at(self.at)
    }

    /// Moves to the next value: from the back to the ghost element, and from there to the front.
    ///
    /// ```
    /// let list = toft_pools::List::from([1, 2]);
    /// let mut cursor = list.cursor_front();
    /// cursor.move_next();
    /// assert_eq!(cursor.current(), Some(&2));
    /// ```
    pub fn move_next(&mut self) {
        self.at = self.list.after(self.at);
    }

    /// Moves to the previous value: from the front to the ghost element, and from there to the back.
    ///
    /// ```
    /// let list = toft_pools::List::from([1, 2]);
    /// let mut cursor = list.cursor_front();
    /// cursor.move_prev();
    /// cursor.move_prev();
    /// assert_eq!(cursor.current(), Some(&2));
    /// ```
    pub fn move_prev(&mut self) {
        self.at = self.list.before(self.at);
    }

    /// The next value.
    ///
    /// ```
    /// assert_eq!(toft_pools::List::from([1, 2]).cursor_front().peek_next(), Some(&2));
    /// ```
    pub fn peek_next(&self) -> Option<L::Ref<'a>> {
        self.list.at(self.list.after(self.at))
    }

    /// The previous value.
    ///
    /// ```
    /// assert_eq!(toft_pools::List::from([1, 2]).cursor_back().peek_prev(), Some(&1));
    /// ```
    pub fn peek_prev(&self) -> Option<L::Ref<'a>> {
        self.list.at(self.list.before(self.at))
    }
}

impl<T, L: FieldLayout<T>, M: Memory> CursorMut<'_, T, L, M> {
    /// The current value, mutable; `None` at the ghost element.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2]);
    /// *list.cursor_front_mut().current().unwrap() = 7;
    /// assert!(list.iter().eq(&[7, 2]));
    /// ```
    pub fn current(&mut self) -> Option<L::Mut<'_>> {
        self.list.at_mut(self.at)
    }

    /// The handle of the current value.
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// let one = list.push_back(1);
    /// assert_eq!(list.cursor_back_mut().handle(), Some(one));
    /// ```
    pub fn handle(&self) -> Option<Handle<T>> {
        self.list.handle_at(self.at)
    }

    /// A shared cursor at the same position.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2]);
    /// let cursor = list.cursor_front_mut();
    /// assert_eq!(cursor.as_cursor().current(), Some(&1));
    /// ```
    pub fn as_cursor(&self) -> Cursor<'_, T, L, M> {
        Cursor { list: self.list, at: self.at }
    }

    /// Moves to the next value: from the back to the ghost element, and from there to the front.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2]);
    /// let mut cursor = list.cursor_front_mut();
    /// cursor.move_next();
    /// assert_eq!(cursor.current(), Some(&mut 2));
    /// ```
    pub fn move_next(&mut self) {
        self.at = self.list.after(self.at);
    }

    /// Moves to the previous value: from the front to the ghost element, and from there to the back.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2]);
    /// let mut cursor = list.cursor_back_mut();
    /// cursor.move_prev();
    /// assert_eq!(cursor.current(), Some(&mut 1));
    /// ```
    pub fn move_prev(&mut self) {
        self.at = self.list.before(self.at);
    }

    /// The next value, mutable.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2]);
    /// assert_eq!(list.cursor_front_mut().peek_next(), Some(&mut 2));
    /// ```
    pub fn peek_next(&mut self) -> Option<L::Mut<'_>> {
        self.list.at_mut(self.list.after(self.at))
    }

    /// The previous value, mutable.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2]);
    /// assert_eq!(list.cursor_back_mut().peek_prev(), Some(&mut 1));
    /// ```
    pub fn peek_prev(&mut self) -> Option<L::Mut<'_>> {
        self.list.at_mut(self.list.before(self.at))
    }

    /// Inserts a value before the current one; at the ghost element, at the back. O(1) amortised.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([2]);
    /// list.cursor_front_mut().insert_before(1);
    /// assert!(list.iter().eq(&[1, 2]));
    /// ```
    ///
    /// # Panics
    /// As [`List::push_back`].
    #[track_caller]
    pub fn insert_before(&mut self, value: T) -> Handle<T> {
        match self.try_insert_before(value) {
            Ok(handle) => handle,
            Err(_) => capacity_panic(),
        }
    }

    /// As [`insert_before`](CursorMut::insert_before), with an error instead of a panic.
    ///
    /// ```
    /// let mut list = toft_pools::List::fixed(0);
    /// assert!(list.cursor_front_mut().try_insert_before(1).is_err());
    /// ```
    ///
    /// # Errors
    /// As [`List::try_push_back`].
    pub fn try_insert_before(&mut self, value: T) -> Result<Handle<T>, CapacityError<T>> {
        // SAFETY: the two are neighbours.
        unsafe { self.list.try_link_in(value, self.list.before(self.at), self.at) }
    }

    /// Inserts a value after the current one; at the ghost element, at the front. O(1) amortised.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1]);
    /// list.cursor_front_mut().insert_after(2);
    /// assert!(list.iter().eq(&[1, 2]));
    /// ```
    ///
    /// # Panics
    /// As [`List::push_back`].
    #[track_caller]
    pub fn insert_after(&mut self, value: T) -> Handle<T> {
        match self.try_insert_after(value) {
            Ok(handle) => handle,
            Err(_) => capacity_panic(),
        }
    }

    /// As [`insert_after`](CursorMut::insert_after), with an error instead of a panic.
    ///
    /// ```
    /// let mut list = toft_pools::List::fixed(0);
    /// assert!(list.cursor_front_mut().try_insert_after(1).is_err());
    /// ```
    ///
    /// # Errors
    /// As [`List::try_push_back`].
    pub fn try_insert_after(&mut self, value: T) -> Result<Handle<T>, CapacityError<T>> {
        // SAFETY: the two are neighbours.
        unsafe { self.list.try_link_in(value, self.at, self.list.after(self.at)) }
    }

    /// Removes and returns the current value, and moves to the next one; `None` at the ghost element.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2, 3]);
    /// let mut cursor = list.cursor_front_mut();
    /// cursor.move_next();
    /// assert_eq!(cursor.remove_current(), Some(2));
    /// assert_eq!(cursor.current(), Some(&mut 3));
    /// ```
    pub fn remove_current(&mut self) -> Option<T> {
        if self.at == NONE {
            return None;
        }
        let removed = self.at;
        self.at = self.list.after(removed);
        // SAFETY: a slot of the list.
        Some(unsafe { self.list.take(removed) })
    }
}

impl<T, L: FieldLayout<T>, M: Memory> fmt::Debug for Cursor<'_, T, L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor").field("at", &self.handle()).finish()
    }
}

impl<T, L: FieldLayout<T>, M: Memory> fmt::Debug for CursorMut<'_, T, L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CursorMut").field("at", &self.handle()).finish()
    }
}
