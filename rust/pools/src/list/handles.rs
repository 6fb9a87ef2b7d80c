//! Operations of a list by handle.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::List;
use crate::capacity_error::{capacity_panic, CapacityError};
use crate::field_layout::FieldLayout;
use crate::key::Handle;
use crate::linked_slots::NONE;
use toft::Memory;

impl<T, L: FieldLayout<T>, M: Memory> List<T, L, M> {
    /// Whether the list has the value of a handle.
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// let handle = list.push_back('a');
    /// assert!(list.contains_handle(handle));
    /// list.clear();
    /// assert!(!list.contains_handle(handle));
    /// ```
    #[inline]
    pub fn contains_handle(&self, handle: Handle<T>) -> bool {
        self.slots.find(handle).is_some()
    }

    /// The value of a handle, or `None` if it was removed or the handle is of another list. O(1).
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// let handle = list.push_back('a');
    /// assert_eq!(list.get(handle), Some(&'a'));
    /// ```
    #[inline]
    pub fn get(&self, handle: Handle<T>) -> Option<L::Ref<'_>> {
        let i = self.slots.find(handle)?;
        // SAFETY: the slot has a value, which is borrowed with the list; here and below.
        Some(unsafe { L::get(self.slots.raw(), i as usize) })
    }

    /// The value of a handle, mutable. O(1).
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// let handle = list.push_back('a');
    /// *list.get_mut(handle).unwrap() = 'b';
    /// assert_eq!(list[handle], 'b');
    /// ```
    #[inline]
    pub fn get_mut(&mut self, handle: Handle<T>) -> Option<L::Mut<'_>> {
        let i = self.slots.find(handle)?;
        // SAFETY: see get.
        Some(unsafe { L::get_mut(self.slots.raw(), i as usize) })
    }

    /// Removes and returns the value of a handle, or `None` if the handle is stale. O(1).
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// let handle = list.push_back('a');
    /// assert_eq!((list.remove(handle), list.remove(handle)), (Some('a'), None));
    /// ```
    #[inline]
    pub fn remove(&mut self, handle: Handle<T>) -> Option<T> {
        let i = self.slots.find(handle)?;
        // SAFETY: the slot has a value.
        Some(unsafe { self.take(i) })
    }

    /// Adds a value before that of a handle. O(1) amortised.
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// let b = list.push_back('b');
    /// list.insert_before(b, 'a');
    /// assert!(list.iter().eq(&['a', 'b']));
    /// ```
    ///
    /// # Panics
    /// The handle is stale; or as [`push_back`](List::push_back).
    #[track_caller]
    pub fn insert_before(&mut self, handle: Handle<T>, value: T) -> Handle<T> {
        match self.try_insert_before(handle, value) {
            Ok(handle) => handle,
            Err(_) => capacity_panic(),
        }
    }

    /// As [`insert_before`](List::insert_before), with an error instead of a panic.
    ///
    /// ```
    /// let mut list = toft_pools::List::fixed(1);
    /// let a = list.push_back('a');
    /// assert!(list.try_insert_before(a, 'b').is_err());
    /// ```
    ///
    /// # Errors
    /// The value is returned in the error: the list is fixed and full, a handle cannot address more slots, or there is
    /// no memory.
    ///
    /// # Panics
    /// The handle is stale.
    #[track_caller]
    pub fn try_insert_before(&mut self, handle: Handle<T>, value: T) -> Result<Handle<T>, CapacityError<T>> {
        let i = self.slots.find(handle).expect("toft: the list has no value under this handle");
        // SAFETY: the slot has a value.
        let inserted = unsafe { self.try_link_in(value, self.before(i), i) };
        debug_assert!(self.verify());
        inserted
    }

    /// Adds a value after that of a handle. O(1) amortised.
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// let a = list.push_back('a');
    /// list.insert_after(a, 'b');
    /// assert!(list.iter().eq(&['a', 'b']));
    /// ```
    ///
    /// # Panics
    /// The handle is stale; or as [`push_back`](List::push_back).
    #[track_caller]
    pub fn insert_after(&mut self, handle: Handle<T>, value: T) -> Handle<T> {
        match self.try_insert_after(handle, value) {
            Ok(handle) => handle,
            Err(_) => capacity_panic(),
        }
    }

    /// As [`insert_after`](List::insert_after), with an error instead of a panic.
    ///
    /// ```
    /// let mut list = toft_pools::List::fixed(1);
    /// let a = list.push_back('a');
    /// assert!(list.try_insert_after(a, 'b').is_err());
    /// ```
    ///
    /// # Errors
    /// The value is returned in the error: the list is fixed and full, a handle cannot address more slots, or there is
    /// no memory.
    ///
    /// # Panics
    /// The handle is stale.
    #[track_caller]
    pub fn try_insert_after(&mut self, handle: Handle<T>, value: T) -> Result<Handle<T>, CapacityError<T>> {
        let i = self.slots.find(handle).expect("toft: the list has no value under this handle");
        // SAFETY: the slot has a value.
        let inserted = unsafe { self.try_link_in(value, i, self.after(i)) };
        debug_assert!(self.verify());
        inserted
    }

    /// Moves the value of a handle to the front; the handle stays valid. Returns false if the handle is stale. O(1).
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2]);
    /// let three = list.push_back(3);
    /// assert!(list.move_to_front(three));
    /// assert!(list.iter().eq(&[3, 1, 2]));
    /// ```
    pub fn move_to_front(&mut self, handle: Handle<T>) -> bool {
        let Some(i) = self.slots.find(handle) else { return false };
        if i != self.front {
            // SAFETY: the slot has a value, and is not the only one.
            unsafe {
                self.unlink(i);
                self.link_between(i, NONE, self.front);
            }
        }
        true
    }

    /// Moves the value of a handle to the back; the handle stays valid. Returns false if the handle is stale. O(1).
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// let one = list.push_back(1);
    /// list.push_back(2);
    /// assert!(list.move_to_back(one));
    /// assert!(list.iter().eq(&[2, 1]));
    /// ```
    pub fn move_to_back(&mut self, handle: Handle<T>) -> bool {
        let Some(i) = self.slots.find(handle) else { return false };
        if i != self.back {
            // SAFETY: see move_to_front.
            unsafe {
                self.unlink(i);
                self.link_between(i, self.back, NONE);
            }
        }
        true
    }

    /// The handle of the value at the front.
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// let one = list.push_back(1);
    /// assert_eq!(list.front_handle(), Some(one));
    /// ```
    pub fn front_handle(&self) -> Option<Handle<T>> {
        self.handle_at(self.front)
    }

    /// The handle of the value at the back.
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// let one = list.push_back(1);
    /// assert_eq!(list.back_handle(), Some(one));
    /// ```
    pub fn back_handle(&self) -> Option<Handle<T>> {
        self.handle_at(self.back)
    }

    /// The handle of the next value; `None` at the back, or if the handle is stale.
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// let (one, two) = (list.push_back(1), list.push_back(2));
    /// assert_eq!((list.next_handle(one), list.next_handle(two)), (Some(two), None));
    /// ```
    pub fn next_handle(&self, handle: Handle<T>) -> Option<Handle<T>> {
        self.handle_at(self.after(self.slots.find(handle)?))
    }

    /// The handle of the previous value; `None` at the front, or if the handle is stale.
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// let (one, two) = (list.push_back(1), list.push_back(2));
    /// assert_eq!((list.prev_handle(one), list.prev_handle(two)), (None, Some(one)));
    /// ```
    pub fn prev_handle(&self, handle: Handle<T>) -> Option<Handle<T>> {
        self.handle_at(self.before(self.slots.find(handle)?))
    }
}
