//! Arenas that a thread finds without a parameter: Toft's `Frames`, and the usual replacement with bumpalo.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

/// `Frames`: an arena for each thread, found with `here`, emptied by `advance`.
#[cfg(feature = "toft")]
pub mod toft {
    use crate::contender::{Batch, Contender, Handle};
    use crate::loops::ten;
    use std::alloc::Layout;
    use toft::{Arena, Frames, Options};

    pub struct ToftFrames(pub Frames);

    impl Contender for ToftFrames {
        const NAME: &'static str = "toft frames";
        const LACKS_NESTED: Option<&'static str> = None;
        const LACKS_HERE: Option<&'static str> = None;
        type Handle<'a> = &'a Arena;

        fn new(_batch: Batch) -> Self {
            ToftFrames(Frames::new())
        }
        fn with_batch(batch: Batch) -> Self {
            ToftFrames(Frames::with(move || Options::new().reserve(batch.bytes).create()))
        }
        #[inline(always)]
        fn handle(&mut self) -> &Arena {
            self.0.here()
        }
        #[inline(always)]
        unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
            self.0.advance();
        }
        #[inline(always)]
        fn nested<const CHECK: bool>(&mut self, slots: &mut [*mut u8; 10], tag: u8) -> bool {
            self.0.here().scope(|inner| ten::<_, [u64; 8], CHECK>(&mut &*inner, slots, tag))
        }
        #[inline(always)]
        fn here<T: 'static>(&mut self) -> *mut T {
            self.0.here().take()
        }
    }
}

/// A `Bump` in a `RefCell` in a thread-local. Its users borrow it once a frame, within `with`.
#[cfg(feature = "bumpalo")]
pub mod bumpalo {
    use crate::contender::{Batch, Contender, Handle};
    use bumpalo::Bump;
    use std::alloc::Layout;
    use std::cell::{Ref, RefCell};

    thread_local! {
        static BUMP: RefCell<Bump> = RefCell::new(Bump::new());
    }

    pub struct LocalBumpalo(());

    pub struct LocalHandle<'a>(Ref<'a, Bump>);

    impl Contender for LocalBumpalo {
        const NAME: &'static str = "bumpalo, local";
        const DOWN: bool = true;
        const LACKS_HERE: Option<&'static str> = None;
        type Handle<'a> = LocalHandle<'a>;

        fn new(_batch: Batch) -> Self {
            BUMP.set(Bump::new());
            LocalBumpalo(())
        }
        fn with_batch(batch: Batch) -> Self {
            BUMP.set(Bump::with_capacity(batch.bytes));
            LocalBumpalo(())
        }
        #[inline(always)]
        fn handle(&mut self) -> LocalHandle<'_> {
            // SAFETY: a batch ends before its thread, whose local it is.
            LocalHandle(BUMP.with(|bump| unsafe { &*std::ptr::from_ref(bump) }).borrow())
        }
        #[inline(always)]
        unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
            BUMP.with_borrow_mut(Bump::reset);
        }
        #[inline(always)]
        fn here<T: 'static>(&mut self) -> *mut T {
            BUMP.with_borrow(|mut bump| bump.take())
        }
    }

    impl Handle for LocalHandle<'_> {
        #[inline(always)]
        fn take<T: 'static>(&mut self) -> *mut T {
            (&*self.0).take()
        }
    }
}
