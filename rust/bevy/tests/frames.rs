//! The plugin in headless applications: the allocations of a frame are freed when it ends, on every thread.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use bevy_app::{App, First, Last, Update};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{ScheduleLabel, SingleThreadedExecutor};
use toft::{Arena, Frames, Options};
use toft_bevy::{EndFrame, FrameArena, FrameMemory, FramesPlugin};

/// Systems of the schedule run on the thread that updates the application, so they share one arena.
fn on_one_thread(app: &mut App, schedule: impl ScheduleLabel) {
    app.edit_schedule(schedule, |schedule| {
        schedule.set_executor(SingleThreadedExecutor::new());
    });
}

/// The address of the first allocation of each frame.
#[derive(Resource, Default)]
struct Addresses(Vec<usize>);

fn allocate(frame: FrameArena, mut addresses: ResMut<Addresses>) {
    assert_eq!(frame.stats().live, 0, "the arena is not empty at the beginning of a frame");
    let first: &mut u64 = frame.alloc(7);
    addresses.0.push(std::ptr::from_mut(first).addr());
    let mut list = frame.vec();
    list.extend(0..1000_u64);
    assert_eq!(list.iter().sum::<u64>() + *first, 499_507);
}

#[test]
fn each_frame_reuses_the_memory_of_the_one_before() {
    let mut app = App::new();
    app.add_plugins(FramesPlugin).init_resource::<Addresses>().add_systems(Update, allocate);
    on_one_thread(&mut app, Update);
    for _ in 0..10 {
        app.update();
    }
    let mut memory = app.world_mut().resource_mut::<FrameMemory>();
    assert_eq!(memory.frame(), 10);
    let reserved = memory.reserved();
    assert!(reserved >= 8000);
    // A reset may merge the blocks once; from then on the address is the same.
    let addresses = &app.world().resource::<Addresses>().0;
    assert_eq!(addresses.len(), 10);
    assert!(addresses[2..].iter().all(|address| *address == addresses[2]), "{addresses:?}");
    for _ in 0..10 {
        app.update();
    }
    assert_eq!(app.world_mut().resource_mut::<FrameMemory>().reserved(), reserved);
}

#[test]
fn the_set_orders_systems_before_and_after_the_end() {
    fn fill(frame: FrameArena) {
        frame.alloc([0_u64; 100]);
    }
    fn before(frame: FrameArena) {
        assert!(frame.stats().live >= 800);
    }
    fn after(frame: FrameArena) {
        assert_eq!(frame.stats().live, 0);
    }
    let mut app = App::new();
    app.add_plugins(FramesPlugin)
        .add_systems(First, fill)
        .add_systems(Last, (before.before(EndFrame), after.after(EndFrame)));
    on_one_thread(&mut app, First);
    on_one_thread(&mut app, Last);
    app.update();
    app.update();
}

/// Both systems are needed at the same time, so this ends only if the scheduler runs them in parallel.
#[test]
fn systems_allocate_in_parallel_in_different_arenas() {
    #[derive(Resource, Default)]
    struct Meeting {
        arrived: AtomicUsize,
        arenas: Mutex<Vec<usize>>,
    }
    fn meet(frame: &FrameArena, meeting: &Meeting) {
        let frames = meeting.arrived.fetch_add(1, Ordering::SeqCst) / 2 + 1;
        let mut arenas = meeting.arenas.lock().unwrap();
        arenas.push(std::ptr::from_ref::<Arena>(frame).addr());
        drop(arenas);
        let value = frame.alloc(frames);
        while meeting.arrived.load(Ordering::SeqCst) < 2 * frames {
            std::thread::yield_now();
        }
        assert_eq!(*value, frames);
    }
    let mut app = App::new();
    app.add_plugins((bevy_app::TaskPoolPlugin::default(), FramesPlugin)).init_resource::<Meeting>().add_systems(
        Update,
        (
            |frame: FrameArena, meeting: Res<Meeting>| meet(&frame, &meeting),
            |frame: FrameArena, meeting: Res<Meeting>| meet(&frame, &meeting),
        ),
    );
    for _ in 0..5 {
        app.update();
    }
    let arenas = app.world().resource::<Meeting>().arenas.lock().unwrap().clone();
    assert_eq!(arenas.len(), 10);
    assert!(arenas.chunks(2).all(|two| two[0] != two[1]), "{arenas:?}");
}

#[test]
fn arenas_are_the_programs_own_choice() {
    let mut app = App::new();
    app.insert_resource(FrameMemory::new(Frames::with(|| Options::new().budget(1 << 16).create())))
        .add_plugins(FramesPlugin)
        .add_systems(Update, |frame: FrameArena| assert!(frame.try_alloc([0_u8; 1 << 17]).is_err()));
    app.update();
    let mut memory = app.world_mut().resource_mut::<FrameMemory>();
    assert_eq!(memory.frame(), 1);
    memory.frames_mut().trim(0);
}
