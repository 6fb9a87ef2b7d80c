//! Lower bound for arenas: a bump with a limit check and a cold function that grows. `floor_mem` keeps the cursor in a
//! struct, `floor_cursor` in registers during a batch.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::contender::{Batch, Contender, Handle, Need, Pushed};
use crate::loops::ten;
use crate::push_all;
use allocator_api2::alloc::{AllocError, Allocator};
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};

/// Blocks begin at a cache line.
const LINE: usize = 64;
const FIRST: usize = 1 << 10;

struct Block {
    memory: *mut u8,
    layout: Layout,
}

impl Block {
    fn start(&self) -> *mut u8 {
        self.memory.wrapping_add(self.memory.align_offset(LINE))
    }
}

/// The struct that holds the cursor.
pub struct Head {
    cursor: Cell<*mut u8>,
    limit: Cell<*mut u8>,
    blocks: RefCell<Vec<Block>>,
}

impl Head {
    fn empty() -> Head {
        Head { cursor: Cell::new(ptr::null_mut()), limit: Cell::new(ptr::null_mut()), blocks: RefCell::new(Vec::new()) }
    }

    fn with_batch(bytes: usize) -> Head {
        let head = Head::empty();
        head.grow(bytes, LINE);
        head
    }

    /// Adds a block, twice as large as the last one, that fits the request; the cursor is set to its start.
    #[cold]
    #[inline(never)]
    fn grow(&self, size: usize, align: usize) {
        let mut blocks = self.blocks.borrow_mut();
        let twice = blocks.last().map_or(FIRST, |last| 2 * last.layout.size());
        let wanted = size.checked_add(align + LINE + 8).expect("a size that fits") & !7;
        let layout = Layout::from_size_align(twice.max(wanted), 16).expect("a size that fits");
        // SAFETY: the layout is not empty.
        let memory = unsafe { std::alloc::alloc(layout) };
        assert!(!memory.is_null(), "no memory for the floor");
        let block = Block { memory, layout };
        self.cursor.set(block.start());
        self.limit.set(memory.wrapping_add(layout.size()));
        blocks.push(block);
    }

    #[inline(always)]
    fn reset(&mut self) {
        if let [block] = &self.blocks.get_mut()[..] {
            self.cursor.set(block.start());
        } else {
            *self = Head::empty();
        }
    }

    #[inline(always)]
    fn bump(&self, size: usize, align: usize) -> *mut u8 {
        loop {
            let cursor = self.cursor.get();
            let pad = if align > 8 { (cursor as usize).wrapping_neg() & (align - 1) } else { 0 };
            if self.limit.get() as usize - cursor as usize >= pad + size {
                // SAFETY: the block has room for that, and for rounding up to a multiple of 8, as the limit is one.
                unsafe {
                    let at = cursor.add(pad);
                    self.cursor.set(at.add((size + 7) & !7));
                    return at;
                }
            }
            self.grow(size, align);
        }
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        for block in self.blocks.get_mut() {
            // SAFETY: allocated with this layout, and freed with its list.
            unsafe { std::alloc::dealloc(block.memory, block.layout) };
        }
    }
}

/// The head is behind a pointer, as in every arena that can be shared. A loop stores the cursor each time; whether it
/// also loads it depends on the compiler, as for the contenders.
pub struct FloorMem(Box<Head>);

impl Contender for FloorMem {
    const NAME: &'static str = "floor_mem";
    const LACKS_NESTED: Option<&'static str> = None;
    type Handle<'a> = &'a Head;

    fn lacks(need: Need) -> Option<&'static str> {
        (need == Need::Lifetime).then_some("see floor_exact")
    }
    fn new(batch: Batch) -> Self {
        FloorMem::with_batch(batch)
    }
    fn with_batch(batch: Batch) -> Self {
        FloorMem(Box::new(Head::with_batch(batch.bytes)))
    }
    #[inline(always)]
    fn handle(&mut self) -> &Head {
        &self.0
    }
    #[inline(always)]
    unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
        self.0.reset();
    }
    #[inline(always)]
    fn nested<const CHECK: bool>(&mut self, slots: &mut [*mut u8; 10], tag: u8) -> bool {
        let mark = self.0.cursor.get(); // there is room: the block stays
        let good = ten::<_, [u64; 8], CHECK>(&mut &*self.0, slots, tag);
        self.0.cursor.set(mark);
        good
    }
}

impl Handle for &Head {
    #[inline(always)]
    fn take<T: 'static>(&mut self) -> *mut T {
        let data: *mut T = self.bump(size_of::<T>(), align_of::<T>()).cast();
        // Avoids a null check in the caller. SAFETY: a block's address is not null.
        unsafe { NonNull::new_unchecked(data).as_ptr() }
    }
    #[inline(always)]
    fn take_slice<T: 'static>(&mut self, len: usize) -> *mut T {
        self.bump(len * size_of::<T>(), align_of::<T>()).cast()
    }
    #[inline(always)]
    fn take_str(&mut self, text: &str) -> *mut u8 {
        let data = self.bump(text.len(), 1);
        // SAFETY: the bytes were just allocated.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), data, text.len()) };
        data
    }
    #[inline(always)]
    fn take_layout(&mut self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `take`.
        unsafe { NonNull::new_unchecked(self.bump(layout.size(), layout.align())).as_ptr() }
    }
    #[inline(always)]
    fn allocate(&mut self, layout: Layout) -> *mut u8 {
        Allocator::allocate(self, layout).map_or(ptr::null_mut(), |block| block.as_ptr().cast())
    }
    fn push_all(&mut self, count: u64) -> Pushed {
        push_all!(allocator_api2::vec::Vec::new_in(*self), count, leak)
    }
}

// SAFETY: memory stays valid until a reset or the end, both of which borrow the arena mutably.
unsafe impl Allocator for &Head {
    #[inline(always)]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let data = self.bump(layout.size(), layout.align());
        // SAFETY: a block's address is not null.
        Ok(NonNull::slice_from_raw_parts(unsafe { NonNull::new_unchecked(data) }, layout.size()))
    }
    #[inline(always)]
    unsafe fn deallocate(&self, _data: NonNull<u8>, _layout: Layout) {}
    /// In place, if it is the newest and fits.
    unsafe fn grow(&self, data: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: within the block, as the caller allocated it here.
        let end = unsafe { data.as_ptr().add((old.size() + 7) & !7) };
        let more = ((new.size() + 7) & !7) - ((old.size() + 7) & !7);
        if end == self.cursor.get() && self.limit.get() as usize - end as usize >= more {
            // SAFETY: the block has room.
            self.cursor.set(unsafe { end.add(more) });
            return Ok(NonNull::slice_from_raw_parts(data, new.size()));
        }
        let to = Allocator::allocate(self, new)?;
        // SAFETY: both are live, and the new one is larger.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), to.as_ptr().cast(), old.size()) };
        Ok(to)
    }
}

/// The same with the cursor in registers.
pub struct FloorCursor(Box<Head>);

pub struct Registers<'a> {
    cursor: *mut u8,
    limit: *mut u8,
    home: &'a Head,
}

impl Registers<'_> {
    /// Adds a block: the rest of this one stays unused.
    #[cold]
    #[inline(never)]
    fn grow(home: &Head, size: usize, align: usize) -> (*mut u8, *mut u8) {
        home.grow(size, align);
        (home.cursor.get(), home.limit.get())
    }

    /// `GRAIN` is a power of two.
    #[inline(always)]
    fn bump<const GRAIN: usize>(&mut self, size: usize, align: usize) -> *mut u8 {
        loop {
            let pad = if align > GRAIN { (self.cursor as usize).wrapping_neg() & (align - 1) } else { 0 };
            if self.limit as usize - self.cursor as usize >= pad + size {
                // SAFETY: as in `Head::bump`.
                unsafe {
                    let at = self.cursor.add(pad);
                    self.cursor = at.add((size + GRAIN - 1) & !(GRAIN - 1));
                    return NonNull::new_unchecked(at).as_ptr();
                }
            }
            (self.cursor, self.limit) = Self::grow(self.home, size, align);
        }
    }
}

impl Drop for Registers<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.home.cursor.set(self.cursor);
    }
}

impl Contender for FloorCursor {
    const NAME: &'static str = "floor_cursor";
    type Handle<'a> = Registers<'a>;

    fn lacks(need: Need) -> Option<&'static str> {
        match need {
            Need::Slice | Need::Allocator | Need::Vec => Some("a cursor in registers takes values"),
            Need::Lifetime => Some("see floor_exact"),
            _ => None,
        }
    }
    fn new(batch: Batch) -> Self {
        FloorCursor::with_batch(batch)
    }
    fn with_batch(batch: Batch) -> Self {
        FloorCursor(Box::new(Head::with_batch(batch.bytes)))
    }
    #[inline(always)]
    fn handle(&mut self) -> Registers<'_> {
        Registers { cursor: self.0.cursor.get(), limit: self.0.limit.get(), home: &self.0 }
    }
    #[inline(always)]
    unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
        self.0.reset();
    }
}

impl Handle for Registers<'_> {
    #[inline(always)]
    fn take<T: 'static>(&mut self) -> *mut T {
        self.bump::<8>(size_of::<T>(), align_of::<T>()).cast()
    }
    /// Without rounding: the floor of packed strings.
    #[inline(always)]
    fn take_str(&mut self, text: &str) -> *mut u8 {
        let data = self.bump::<1>(text.len(), 1);
        // SAFETY: the bytes were just allocated.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), data, text.len()) };
        data
    }
    #[inline(always)]
    fn take_layout(&mut self, layout: Layout) -> *mut u8 {
        self.bump::<8>(layout.size(), layout.align())
    }
}

/// One block of the exact size, allocated and freed: the floor of new + fill + drop without kept memory.
pub struct FloorExact(Head);

impl Contender for FloorExact {
    const NAME: &'static str = "floor_exact";
    const LACKS_EMPTY: Option<&'static str> = Some("a floor of new + fill + drop only");
    type Handle<'a> = &'a Head;

    fn lacks(need: Need) -> Option<&'static str> {
        (need != Need::Lifetime).then_some("a floor of new + fill + drop only")
    }
    fn new(batch: Batch) -> Self {
        FloorExact(Head::with_batch(batch.bytes))
    }
    fn with_batch(batch: Batch) -> Self {
        FloorExact::new(batch)
    }
    fn handle(&mut self) -> &Head {
        &self.0
    }
    unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {}
}
