//! Frame memory for [Bevy](https://bevyengine.org): an arena for each thread, emptied at the end of each frame.
//!
//! A system that takes [`FrameArena`] allocates what it needs until the end of the frame: lists of neighbours, labels,
//! commands in preparation. An allocation moves a pointer; no allocation is freed by itself, and [`FramesPlugin`]
//! empties the arenas of all threads in [`Last`]. From the second frame on the arenas reuse their memory.
//!
//! ```
//! use bevy_app::{App, Update};
//! use bevy_ecs::prelude::*;
//! use toft_bevy::{FrameArena, FramesPlugin};
//!
//! #[derive(Component)]
//! struct Distance(f32);
//!
//! fn nearest(frame: FrameArena, ships: Query<(Entity, &Distance)>) {
//!     let mut near = frame.vec(); // in the arena of the thread that runs the system
//!     near.extend(ships.iter().filter(|(_, distance)| distance.0 < 100.0));
//!     near.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
//! } // its memory is reused in the next frame
//!
//! let mut app = App::new();
//! app.add_plugins(FramesPlugin).add_systems(Update, nearest);
//! app.update();
//! ```
//!
//! # Threads
//!
//! Systems with a [`FrameArena`] run in parallel, and so may the closures of `Query::par_iter`: each thread has its own
//! arena, which it finds without a lock. The system that ends the frame has exclusive access to [`FrameMemory`], so it
//! runs while no system uses an arena.
//!
//! # Lifetimes
//!
//! Allocations borrow the system's parameter. The compiler refuses to store one in a component, a resource or a
//! `Local`:
//!
//! ```compile_fail,E0521
//! use bevy_ecs::prelude::*;
//! use toft_bevy::FrameArena;
//!
//! fn keep(frame: FrameArena, mut kept: Local<Option<&'static u32>>) {
//!     *kept = Some(frame.alloc(7));
//! }
//! ```
//!
//! Data for the next frame belongs in components and resources.
//!
//! # Panics and errors
//!
//! The methods of an arena panic if there is no memory; their `try_` variants return an error.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ops::Deref;

use bevy_app::{App, Last, Plugin};
use bevy_ecs::prelude::{IntoScheduleConfigs, Res, ResMut, Resource, SystemSet};
use bevy_ecs::system::SystemParam;
use toft::{Arena, Frames};

/// Adds [`FrameMemory`], and a system in [`Last`] that ends the frame, which is in the set [`EndFrame`].
///
/// ```
/// let mut app = bevy_app::App::new();
/// app.add_plugins(toft_bevy::FramesPlugin);
/// app.update();
/// assert_eq!(app.world().resource::<toft_bevy::FrameMemory>().frame(), 1);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct FramesPlugin;

impl Plugin for FramesPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<FrameMemory>().add_systems(Last, end_frame.in_set(EndFrame));
    }
}

/// The set of the system that ends the frame: to run systems of [`Last`] before or after it.
///
/// ```
/// use bevy_app::{App, Last};
/// use bevy_ecs::prelude::*;
/// use toft_bevy::{EndFrame, FrameArena, FramesPlugin};
///
/// fn summary(frame: FrameArena) {
///     frame.alloc_str("end of frame");
/// }
/// App::new().add_plugins(FramesPlugin).add_systems(Last, summary.before(EndFrame)).update();
/// ```
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EndFrame;

/// Ends the frame: empties the arenas of all threads. [`FramesPlugin`] adds it to [`Last`]; a program with frames of
/// another schedule inserts the resource and adds this system there instead of the plugin.
///
/// ```
/// use bevy_app::{App, FixedLast, FixedUpdate};
/// use toft_bevy::{end_frame, FrameMemory};
///
/// App::new().init_resource::<FrameMemory>().add_systems(FixedLast, end_frame);
/// ```
pub fn end_frame(mut memory: ResMut<FrameMemory>) {
    memory.0.advance();
}

/// The arena of the thread that uses it, as a system parameter: it dereferences to [`Arena`].
///
/// Taken by several systems at a time. In a closure that another thread runs, it is the arena of that thread.
///
/// ```
/// use toft_bevy::FrameArena;
///
/// fn system(frame: FrameArena) {
///     let squares = frame.alloc_slice_fill_with(10, |i| i * i);
///     assert_eq!(squares[3], 9);
/// }
/// ```
///
/// # Panics
/// Dereferencing panics if the thread has no arena yet and there is no memory for one.
#[derive(SystemParam)]
pub struct FrameArena<'w> {
    memory: Res<'w, FrameMemory>,
}

impl Deref for FrameArena<'_> {
    type Target = Arena;

    #[inline]
    fn deref(&self) -> &Arena {
        self.memory.arena()
    }
}

impl core::fmt::Debug for FrameArena<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FrameArena").field("frame", &self.memory.frame()).finish_non_exhaustive()
    }
}

/// The resource: an arena for each thread that has used it. Systems take it through [`FrameArena`]; code with a `World`
/// uses it directly.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use toft_bevy::FrameMemory;
///
/// fn exclusive(world: &mut World) {
///     let memory = world.resource::<FrameMemory>();
///     memory.arena().alloc(7);
/// }
/// ```
#[derive(Resource, Debug, Default)]
pub struct FrameMemory(Frames);

impl FrameMemory {
    /// A resource whose arenas the caller creates, for example with a budget: see [`Frames::with`].
    ///
    /// ```
    /// use toft::{Frames, Options};
    /// let memory = toft_bevy::FrameMemory::new(Frames::with(|| Options::new().reserve(1 << 20).create()));
    /// memory.arena().alloc(1);
    /// ```
    pub fn new(frames: Frames) -> FrameMemory {
        FrameMemory(frames)
    }

    /// The calling thread's arena, empty at the beginning of each frame.
    ///
    /// ```
    /// let memory = toft_bevy::FrameMemory::default();
    /// assert_eq!(memory.arena().alloc(7), &7);
    /// ```
    ///
    /// # Panics
    /// The thread has no arena yet and there is no memory for one.
    #[inline]
    pub fn arena(&self) -> &Arena {
        self.0.here()
    }

    /// The number of frames that have ended.
    ///
    /// ```
    /// assert_eq!(toft_bevy::FrameMemory::default().frame(), 0);
    /// ```
    pub fn frame(&self) -> u64 {
        self.0.number()
    }

    /// The bytes that the arenas of all threads have from the system, in use or kept for the next frame.
    ///
    /// ```
    /// let mut memory = toft_bevy::FrameMemory::default();
    /// memory.arena().alloc([0_u8; 4096]);
    /// assert!(memory.reserved() >= 4096);
    /// ```
    pub fn reserved(&mut self) -> u64 {
        self.0.arenas().map(|arena| arena.stats().reserved).sum()
    }

    /// The frames themselves, to trim them, to end them at another time, or to read the statistics of their arenas.
    ///
    /// ```
    /// let mut memory = toft_bevy::FrameMemory::default();
    /// memory.arena().alloc([0_u8; 100_000]);
    /// memory.frames_mut().advance();
    /// memory.frames_mut().trim(0);
    /// ```
    pub fn frames_mut(&mut self) -> &mut Frames {
        &mut self.0
    }
}

// The examples of README.md are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
