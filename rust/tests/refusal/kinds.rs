//! Each kind of object that takes blocks from a source.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::Layout;
use std::ptr::NonNull;

use toft::{AllocError, Arena, Frames, Local, Options, Recycler, SharedArena, Source, SyncRecycler};

use crate::refusing::each_refusal;
use crate::{KIB, MIB};

type Of = &'static (dyn Source + Send + Sync);
pub type Object = (NonNull<u8>, Layout);

pub trait Kind {
    fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, AllocError>;
    /// Frees the objects, which are all live ones.
    fn empty(&mut self, objects: &[Object]);
    fn live(&self) -> u64;
}

macro_rules! emptied_by_reset {
    ($name:ty) => {
        impl Kind for $name {
            fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
                self.try_alloc_layout(layout)
            }
            fn empty(&mut self, _: &[Object]) {
                self.reset();
            }
            fn live(&self) -> u64 {
                self.stats().live
            }
        }
    };
}
emptied_by_reset!(Arena);
emptied_by_reset!(SharedArena<Of>);

/// Each round is one scope of the arena, which is reset afterwards.
struct InScope {
    /// Borrows the box, and is dropped first.
    scope: Option<toft::Scope<'static>>,
    arena: Box<Arena>,
}

impl Kind for InScope {
    fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        if self.scope.is_none() {
            // SAFETY: the box is not moved out, dropped or reset while the scope exists.
            let arena: &'static Arena = unsafe { &*std::ptr::from_ref(&*self.arena) };
            self.scope = Some(arena.try_scope_guard()?);
        }
        self.scope.as_ref().unwrap().try_alloc_layout(layout)
    }
    fn empty(&mut self, _: &[Object]) {
        self.scope = None;
        self.arena.reset();
    }
    fn live(&self) -> u64 {
        self.arena.stats().live
    }
}

macro_rules! recycling {
    ($name:ident) => {
        impl<S: Source> Kind for $name<S> {
            fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
                self.try_alloc_layout(layout)
            }
            fn empty(&mut self, objects: &[Object]) {
                for (p, layout) in objects {
                    // SAFETY: allocated here with that layout, and not used any more.
                    unsafe { self.deallocate(*p, *layout) };
                }
            }
            fn live(&self) -> u64 {
                self.stats().live
            }
        }
    };
}
recycling!(Recycler);
recycling!(SyncRecycler);

struct InLocal {
    /// Borrows the box, and is dropped first.
    local: Option<Local<'static, Of>>,
    arena: Box<SharedArena<Of>>,
}

impl Kind for InLocal {
    fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        // SAFETY: the box is not moved out, dropped or reset while the part exists.
        let arena: &'static SharedArena<Of> = unsafe { &*std::ptr::from_ref(&*self.arena) };
        self.local.get_or_insert_with(|| arena.local()).try_alloc_layout(layout)
    }
    fn empty(&mut self, _: &[Object]) {
        self.local = None;
        self.arena.reset();
    }
    fn live(&self) -> u64 {
        self.arena.stats().live
    }
}

impl Kind for Frames {
    fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        self.try_here()?.try_alloc_layout(layout)
    }
    fn empty(&mut self, _: &[Object]) {
        self.advance();
    }
    fn live(&self) -> u64 {
        self.try_here().map_or(0, |arena| arena.stats().live)
    }
}

pub struct Case {
    pub name: &'static str,
    pub make: fn(Of) -> Result<Box<dyn Kind>, AllocError>,
    /// It places objects in free memory, and takes memory in larger steps.
    pub recycles: bool,
}

pub const CASES: &[Case] = &[
    Case { name: "arena", make: |s| Ok(Box::new(Options::new().source(s).create()?)), recycles: false },
    Case {
        name: "checked",
        make: |s| {
            let arena = Options::new().source(s).create()?;
            arena.set_checked(true).map_err(|_| AllocError)?;
            Ok(Box::new(arena))
        },
        recycles: false,
    },
    Case {
        name: "scope",
        make: |s| Ok(Box::new(InScope { scope: None, arena: Box::new(Options::new().source(s).create()?) })),
        recycles: false,
    },
    Case {
        name: "frames",
        make: |s| Ok(Box::new(Frames::with(move || Options::new().source(s).create()))),
        recycles: false,
    },
    Case { name: "shared", make: |s| Ok(Box::new(SharedArena::from_source(s))), recycles: false },
    Case {
        name: "local",
        make: |s| Ok(Box::new(InLocal { local: None, arena: Box::new(SharedArena::from_source(s)) })),
        recycles: false,
    },
    Case { name: "recycler", make: |s| Ok(Box::new(Recycler::from_source(s))), recycles: true },
    Case { name: "sync", make: |s| Ok(Box::new(SyncRecycler::from_source(s))), recycles: true },
];

/// Checked arenas compare each freed byte, which is slow without optimization: such builds test limits of bytes only.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(|case| case.name != "checked" || !cfg!(debug_assertions))
}

impl Case {
    /// The first object of a kind takes up to 64 KiB; recyclers take memory by 64 KiB at least.
    pub fn least_limit(&self) -> usize {
        if self.recycles {
            MIB
        } else {
            64 * KIB
        }
    }
}

/// An object of a kind, and its allocations: each is filled with a number of its own.
struct Filled(Box<dyn Kind>, Vec<Object>);

impl Filled {
    fn is_intact(&self) -> bool {
        // SAFETY: that many bytes are allocated there, and were written.
        let bytes = |(p, layout): &Object| unsafe { std::slice::from_raw_parts(p.as_ptr(), layout.size()) };
        self.1.iter().enumerate().all(|(i, object)| bytes(object).iter().all(|byte| usize::from(*byte) == i))
    }
}

impl Drop for Filled {
    fn drop(&mut self) {
        assert!(self.is_intact());
        self.0.empty(&self.1);
        assert_eq!(self.0.live(), 0);
    }
}

#[test]
fn every_kind_is_usable_after_each_refusal() {
    const SIZES: [usize; 11] = [10, 3000, 24, 70_000, 9000, 100, 5000, 100_000, 40_000, 2000, 16];
    for case in CASES {
        each_refusal(
            case.name,
            SIZES.len(),
            |memory| {
                let mut of = Filled((case.make)(memory).unwrap(), Vec::new());
                for (size, align) in
                    [(isize::MAX as usize / 2 + 1, 8), (isize::MAX as usize - 7, 8), (8, 1 << (usize::BITS - 2))]
                {
                    assert!(of.0.alloc(Layout::from_size_align(size, align).unwrap()).is_err(), "{}", case.name);
                }
                of
            },
            |of| {
                let layout = Layout::from_size_align(SIZES[of.1.len()], 8).unwrap();
                let Ok(p) = of.0.alloc(layout) else { return false };
                // SAFETY: that many bytes are allocated there.
                unsafe { p.write_bytes(of.1.len() as u8, layout.size()) };
                of.1.push((p, layout));
                true
            },
            |of| {
                assert!(of.is_intact(), "{}", case.name);
                (case.name != "local").then(|| of.0.live()) // which returns the rest of its piece
            },
        );
    }
}
