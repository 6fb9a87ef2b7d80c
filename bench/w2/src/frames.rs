//! What a thread reaches without being given it: Toft's `Frames`, and what users of bumpalo write for that.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

/// `Frames`: an arena for each thread, reached by `here`, emptied by `advance`.
#[cfg(feature = "toft")]
pub mod toft {
    use crate::contender::{Contender, Hand, Room};
    use crate::loops::ten;
    use std::alloc::Layout;
    use toft::{Arena, Frames, Options};

    pub struct ToftFrames(pub Frames);

    impl Contender for ToftFrames {
        const NAME: &'static str = "toft frames";
        const LACKS_NESTED: Option<&'static str> = None;
        const LACKS_HERE: Option<&'static str> = None;
        type Hand<'a> = &'a Arena;

        fn new(_room: Room) -> Self {
            ToftFrames(Frames::new())
        }
        fn with_room(room: Room) -> Self {
            ToftFrames(Frames::with(move || Options::new().reserve(room.bytes).create()))
        }
        #[inline(always)]
        fn hand(&mut self) -> &Arena {
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

/// A `Bump` in a `RefCell` in a thread's local. Those who use it borrow it once a frame, within `with`.
#[cfg(feature = "bumpalo")]
pub mod bumpalo {
    use crate::contender::{Contender, Hand, Room};
    use crate::values_only;
    use bumpalo::Bump;
    use std::alloc::Layout;
    use std::cell::{Ref, RefCell};

    thread_local! {
        static BUMP: RefCell<Bump> = RefCell::new(Bump::new());
    }

    pub struct LocalBumpalo(());

    pub struct LocalHand<'a>(Ref<'a, Bump>);

    impl Contender for LocalBumpalo {
        const NAME: &'static str = "bumpalo, local";
        const DOWN: bool = true;
        const LACKS_HERE: Option<&'static str> = None;
        type Hand<'a> = LocalHand<'a>;

        fn new(_room: Room) -> Self {
            BUMP.set(Bump::new());
            LocalBumpalo(())
        }
        fn with_room(room: Room) -> Self {
            BUMP.set(Bump::with_capacity(room.bytes));
            LocalBumpalo(())
        }
        #[inline(always)]
        fn hand(&mut self) -> LocalHand<'_> {
            // SAFETY: a batch ends before its thread does, whose local it is.
            LocalHand(BUMP.with(|bump| unsafe { &*std::ptr::from_ref(bump) }).borrow())
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

    impl Hand for LocalHand<'_> {
        #[inline(always)]
        fn take<T: 'static>(&mut self) -> *mut T {
            (&*self.0).take()
        }
        values_only!();
    }
}
