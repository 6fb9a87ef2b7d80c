//! Parcels: a leased arena and a value in it, passed between threads as one value.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::convert::Infallible;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use crate::arenas::owner::{Keeper, Root, Rooted};
use crate::base::error::{AllocError, InitError};
use crate::memory::arena::Arena;
use crate::memory::construct::Construct;
use crate::threads::lease::{Lease, Leases};

/// A leased arena and a value that borrows it, as one value: for example a message whose parts are in the arena. Its
/// owner may read it, change it and send it on; when it is dropped, on any thread, the arena returns to its cache.
///
/// [`Owner`](crate::Owner) does the same for an arena that is not leased. A parcel is `Send` and `Sync` if the value
/// is. [`root!`](crate::root) names the type.
///
/// ```
/// use std::sync::mpsc;
/// use toft::{Leases, Parcel};
///
/// static LEASES: Leases = Leases::new();
///
/// struct Order<'a> {
///     who: &'a str,
///     what: &'a [&'a str],
/// }
/// toft::root!(struct Orders => Order<'a>);
///
/// let (send, receive) = mpsc::channel::<Parcel<'static, Orders>>();
/// let worker = std::thread::spawn(move || {
///     receive.iter().map(|order| order.with(|order| order.who.len() + order.what.len())).sum::<usize>()
/// });
/// for who in ["Ann", "Bob"] {
///     let order = LEASES.parcel(|arena| Order {
///         who: arena.alloc_str(who),
///         what: arena.alloc_slice_copy(&["rye", "oats"]),
///     });
///     send.send(order).unwrap();
/// }
/// drop(send);
/// assert_eq!(worker.join().unwrap(), 10);
/// assert!(LEASES.idle() > 0); // the worker dropped them
/// ```
pub struct Parcel<'l, R: Root>(Rooted<R, Leased<'l>>);

impl Leases {
    /// Leases an arena, and constructs a value in it.
    ///
    /// # Panics
    /// If there is no memory, or the budget of the leases does not allow one word, which the parcel needs. If `make`
    /// panics, the arena is returned.
    pub fn parcel<R: Root>(&self, make: impl for<'a> FnOnce(&'a Arena) -> R::In<'a>) -> Parcel<'_, R> {
        match self.try_parcel(|arena| Ok::<_, Infallible>(make(arena))) {
            Ok(parcel) => parcel,
            Err(InitError::Alloc(e)) => panic!("toft: {e}"),
            Err(InitError::Init(never)) => match never {},
        }
    }

    /// As [`parcel`](Leases::parcel), with errors: that of `make`, or of the arena. The arena is returned then.
    pub fn try_parcel<R: Root, E>(
        &self,
        make: impl for<'a> FnOnce(&'a Arena) -> Result<R::In<'a>, E>,
    ) -> Result<Parcel<'_, R>, InitError<E>> {
        let keeper = self.try_get().and_then(Leased::try_new).map_err(InitError::Alloc)?;
        Rooted::try_new(keeper, make).map(Parcel).map_err(InitError::Init)
    }
}

impl<'l, R: Root> Parcel<'l, R> {
    /// Calls `look` with the value.
    pub fn with<T>(&self, look: impl for<'a, 'b> FnOnce(&'b R::In<'a>) -> T) -> T {
        self.0.with(look)
    }

    /// Calls `change` with the value and the arena.
    ///
    /// ```
    /// toft::root!(struct Names => std::vec::Vec<&'a str>);
    /// let leases = toft::Leases::new();
    /// let mut names = leases.parcel::<Names>(|_| vec![]);
    /// names.with_mut(|names, arena| names.push(arena.alloc_str("Tofte")));
    /// assert_eq!(names.with(|names| names.len()), 1);
    /// ```
    pub fn with_mut<T>(&mut self, change: impl for<'a, 'b> FnOnce(&'b mut R::In<'a>, &'a Arena) -> T) -> T {
        self.0.with_mut(change)
    }

    /// Drops the value, and returns the lease after a reset.
    ///
    /// ```
    /// toft::root!(struct Text => &'a str);
    /// let leases = toft::Leases::new();
    /// let text = leases.parcel::<Text>(|arena| arena.alloc_str("text"));
    /// let lease = text.into_lease();
    /// assert_eq!(lease.stats().live, 0);
    /// ```
    pub fn into_lease(self) -> Lease<'l> {
        let mut lease = self.0.into_keeper().into_lease();
        lease.reset();
        lease
    }
}

// SAFETY: a shared reference only gives `&R::In`, and no access to the lease.
unsafe impl<R: Root> Sync for Parcel<'_, R> where for<'a> R::In<'a>: Sync {}

impl<R: Root> fmt::Debug for Parcel<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // reading the arena's statistics would be an unsynchronized use
        f.debug_struct("Parcel").finish_non_exhaustive()
    }
}

/// A lease whose `Arena`, one word, is stored in the arena itself, where references to it stay valid.
struct Leased<'l> {
    at: NonNull<Arena>,
    leases: &'l Leases,
}

// SAFETY: a lease is `Send`, and this is one.
unsafe impl Send for Leased<'_> {}

// SAFETY: the word is an allocation of the arena, which is not freed before `into_lease`.
unsafe impl Keeper for Leased<'_> {
    fn arena(&self) -> &Arena {
        // SAFETY: written by `try_new`; alive as long as this.
        unsafe { self.at.as_ref() }
    }
}

impl<'l> Leased<'l> {
    fn try_new(lease: Lease<'l>) -> Result<Leased<'l>, AllocError> {
        let at = lease.reserve_one::<Arena, AllocError>(false)?;
        let (arena, leases) = lease.into_parts();
        // SAFETY: memory for it. The arena does not drop the value: `into_lease` reads it.
        unsafe { at.write(arena) };
        Ok(Leased { at, leases })
    }

    fn into_lease(self) -> Lease<'l> {
        let this = ManuallyDrop::new(self);
        // SAFETY: read once; no references into the arena exist.
        Lease::of(unsafe { this.at.read() }, this.leases)
    }
}

impl Drop for Leased<'_> {
    fn drop(&mut self) {
        // SAFETY: as in `into_lease`.
        drop(Lease::of(unsafe { self.at.read() }, self.leases));
    }
}
