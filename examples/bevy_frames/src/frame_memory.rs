//! Frames as a Bevy plugin: copy this file into a game.
// SPDX-License-Identifier: MIT OR Apache-2.0

use bevy_app::{App, Last, Plugin};
use bevy_ecs::prelude::{ResMut, Resource};
use toft::{Arena, Frames};

/// Memory for what lives no longer than the running frame: an arena for each thread that asks, worker or main.
///
/// A system takes `Res<FrameMemory>`, as many at a time as like. What it allocates borrows the resource, so it cannot
/// leave the system for a component; and while anybody borrows it, the system that ends the frame cannot run.
#[derive(Resource, Debug, Default)]
pub struct FrameMemory(Frames);

impl FrameMemory {
    /// This thread's arena: empty when the frame begins.
    pub fn here(&self) -> &Arena {
        self.0.here()
    }

    /// How many frames have ended.
    pub fn frame(&self) -> u64 {
        self.0.number()
    }

    /// Bytes that all threads' arenas hold, in use or kept for the next frame.
    pub fn footprint(&mut self) -> u64 {
        self.0.arenas().map(|arena| arena.stats().reserved).sum()
    }
}

/// Ends the frame in `Last`: all arenas are emptied, whichever threads they are of.
#[derive(Clone, Copy, Debug)]
pub struct FramesPlugin;

impl Plugin for FramesPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<FrameMemory>().add_systems(Last, end_frame);
    }
}

/// To run systems in `Last` before or after it.
pub fn end_frame(mut memory: ResMut<FrameMemory>) {
    memory.0.advance();
}
