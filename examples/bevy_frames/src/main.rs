//! A thousand frames of a headless Bevy application, whose systems allocate on every worker thread, and a check that the
//! arena of each of them is empty when the next frame begins. A check that fails ends the program by a panic.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Barrier, Mutex};
use std::task::Poll;
use std::thread::ThreadId;
use std::time::Instant;

use bevy_app::{App, Last, Startup, TaskPoolOptions, TaskPoolPlugin, TaskPoolThreadAssignmentPolicy, Update};
use bevy_ecs::prelude::*;
use bevy_ecs::system::NonSendMarker;
use bevy_tasks::ComputeTaskPool;

use toft_bevy::{EndFrame, FrameArena, FrameMemory, FramesPlugin};

const FRAMES: u64 = 1000;
const WARM: u64 = 100; // frames after which nothing more is taken from the system
const WORKERS: usize = 4;
const ENTITIES: usize = 500;
/// The bytes that each thread allocates in every frame: more than the entities need on any thread, so frames are alike.
const BYTES: usize = 600 << 10;

// ---- a small world ----

#[derive(Component)]
struct Position([f32; 2]);

#[derive(Component)]
struct Speed([f32; 2]);

fn populate(mut commands: Commands) {
    commands.spawn_batch((0..ENTITIES).map(|i| (Position([i as f32, 0.0]), Speed([1.0, i as f32]))));
}

/// For each entity, on the thread that the scheduler chooses: a list and a text of this frame.
fn move_all(frame: FrameArena, mut entities: Query<(&mut Position, &Speed)>) {
    entities.par_iter_mut().for_each(|(mut position, speed)| {
        let arena = &*frame;
        let steps = arena.alloc_slice_fill_with(8, |k| speed.0.map(|v| v * k as f32 / 8.0));
        let label = toft::format_in!(arena, "{} steps", steps.len());
        assert_eq!(label, "8 steps");
        position.0 = [position.0[0] + steps[7][0], position.0[1] + steps[7][1]];
    });
}

/// Where two systems that run in parallel meet, so that both have their lists at one time.
#[derive(Resource)]
struct Meeting(Barrier, Mutex<[Option<ThreadId>; 2]>);

impl Meeting {
    /// Waits for the other system. Panics if it runs on the same thread.
    fn wait(&self, which: usize) {
        self.1.lock().unwrap()[which] = Some(std::thread::current().id());
        self.0.wait();
        let [one, other] = *self.1.lock().unwrap();
        assert_ne!(one, other);
        self.0.wait();
    }
}

/// The entities from left to right, in a list of this frame, while `fastest` makes another one.
fn leftmost(frame: FrameArena, meeting: Res<Meeting>, entities: Query<(Entity, &Position)>) {
    let mut sorted = frame.vec();
    sorted.extend(entities.iter().map(|(entity, position)| (position.0[0], entity)));
    meeting.wait(0);
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(sorted.len() == ENTITIES && sorted.is_sorted_by(|a, b| a.0 <= b.0));
}

fn fastest(frame: FrameArena, meeting: Res<Meeting>, entities: Query<&Speed>) {
    let mut names = frame.vec();
    names.extend(entities.iter().map(|speed| toft::format_in!(frame, "{:06}", speed.0[1])));
    meeting.wait(1);
    names.sort_by(|a, b| b.cmp(a));
    assert!(names.len() == ENTITIES && names[0].ends_with("499"));
}

// ---- the checks ----

/// The threads of the pool, recorded when they start.
#[derive(Resource, Clone, Default)]
struct Workers(Arc<Mutex<Vec<ThreadId>>>);

/// What each thread has observed.
#[derive(Resource, Default)]
struct Seen(Mutex<HashMap<ThreadId, Thread>>);

#[derive(Clone, Copy, Default)]
struct Thread {
    /// Frames in which its arena was empty to begin with, and was used then.
    frames: u64,
    /// The address of its first value, and how often that was the address in the frame before.
    first: usize,
    reused: u64,
}

/// A task on every worker of the pool: no task ends before all have started, so each worker has one.
fn on_every_worker(memory: Res<FrameMemory>, workers: Res<Workers>, seen: Res<Seen>) {
    let pool = ComputeTaskPool::get();
    let workers = workers.0.lock().unwrap().clone();
    assert_eq!((workers.len(), pool.thread_num()), (WORKERS, WORKERS));
    let all = Barrier::new(WORKERS);
    pool.scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(async {
                // The main thread runs tasks too while it waits. It yields them back.
                while !workers.contains(&std::thread::current().id()) {
                    let mut yielded = false;
                    poll_fn(|context| {
                        context.waker().wake_by_ref();
                        if std::mem::replace(&mut yielded, true) {
                            Poll::Ready(())
                        } else {
                            Poll::Pending
                        }
                    })
                    .await;
                }
                all.wait();
                use_an_empty_arena(&memory, &seen);
            });
        }
    });
}

fn use_an_empty_arena(memory: &FrameMemory, seen: &Seen) {
    let arena = memory.arena();
    assert_eq!(arena.stats().live, 0, "the arena has an allocation of the frame before");
    let first = arena.alloc(memory.frame());
    let mut list = arena.vec();
    for i in 0..1000 {
        list.push(i ^ *first);
    }
    assert!(list.iter().enumerate().all(|(i, x)| *x == i as u64 ^ memory.frame()));
    arena.alloc_uninit_slice::<u8>(BYTES);

    let mut seen = seen.0.lock().unwrap();
    let me = seen.entry(std::thread::current().id()).or_default();
    assert_eq!(me.frames, memory.frame(), "a frame without this worker");
    let first = std::ptr::from_mut(first).addr();
    *me = Thread { frames: me.frames + 1, first, reused: me.reused + u64::from(me.first == first) };
}

/// The main thread takes part in loops over entities; it has an arena as the workers have.
fn on_the_main_thread(frame: FrameArena, _: NonSendMarker) {
    frame.alloc_uninit_slice::<u8>(BYTES);
}

/// The most that the arenas held up to frame `WARM`, and up to now.
#[derive(Resource, Default)]
struct Footprint {
    warm: u64,
    most: u64,
}

fn measure(mut memory: ResMut<FrameMemory>, mut footprint: ResMut<Footprint>) {
    let now = memory.reserved();
    footprint.most = footprint.most.max(now);
    if memory.frame() <= WARM {
        footprint.warm = footprint.most;
    }
}

fn main() {
    let workers = Workers::default();
    let started = workers.clone();
    let compute = TaskPoolThreadAssignmentPolicy {
        min_threads: WORKERS,
        max_threads: WORKERS,
        percent: 1.0,
        on_thread_spawn: Some(Arc::new(move || started.0.lock().unwrap().push(std::thread::current().id()))),
        on_thread_destroy: None,
    };
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin { task_pool_options: TaskPoolOptions { compute, ..TaskPoolOptions::default() } },
        FramesPlugin,
    ))
    .insert_resource(workers.clone())
    .init_resource::<Seen>()
    .init_resource::<Footprint>()
    .add_systems(Startup, populate)
    .insert_resource(Meeting(Barrier::new(2), Mutex::default()))
    .add_systems(Update, (on_every_worker, on_the_main_thread, move_all, (leftmost, fastest)).chain())
    .add_systems(Last, measure.after(EndFrame));
    app.finish();
    app.cleanup();
    while workers.0.lock().unwrap().len() < WORKERS {
        std::thread::yield_now(); // they are starting
    }

    let begin = Instant::now();
    for _ in 0..FRAMES {
        app.update();
    }
    let seconds = begin.elapsed().as_secs_f64();

    let seen = app.world().resource::<Seen>().0.lock().unwrap().clone();
    let workers = workers.0.lock().unwrap().clone();
    assert!(seen.len() == WORKERS && workers.iter().all(|worker| seen[worker].frames == FRAMES));
    let reused = seen.values().map(|thread| thread.reused).min().unwrap();
    assert!(reused >= FRAMES - WARM, "{reused}");
    let Footprint { warm, most } = *app.world().resource::<Footprint>();
    assert_eq!(warm, most, "memory was taken after frame {WARM}");
    println!(
        "In short: {FRAMES} frames of Bevy in {seconds:.2} s: each of {WORKERS} workers found its arena empty {FRAMES} times, at one address \
         in {reused} of them at least; all arenas hold {} KiB since frame {WARM}",
        most / 1024
    );
}
