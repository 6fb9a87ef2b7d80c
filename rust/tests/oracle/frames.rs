//! Sums of several arenas.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

#[test]
fn summaries_and_snapshots_are_the_sums_of_the_threads() {
    let (threads, rounds) = if MIRI { (3, 2) } else { (8, 20) };
    let mut frames = Frames::new();
    frames.set_metered(true).unwrap();
    frames.set_checked(true).unwrap();
    for round in 0..rounds {
        let tallies: Vec<(Tally, u64)> = std::thread::scope(|scope| {
            let work = |k: usize| {
                let frames = &frames;
                move || {
                    let (arena, mut tally) = (oracle::here(frames), Tally::default());
                    let _phase = arena.phase("work");
                    let before = arena.stats().allocated;
                    for i in 0..50 {
                        let name = TAGS[(i + k) % TAGS.len()];
                        let _tag = arena.tag(name);
                        let call = &COUNTED[(i * 7 + k * 3 + round) % COUNTED.len()];
                        tally.note(call.line, name, (call.call)(arena, i + 1));
                    }
                    (tally, arena.stats().allocated - before)
                }
            };
            let all: Vec<_> = (0..threads).map(|k| scope.spawn(work(k))).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut sum = Tally::default();
        for (tally, _) in &tallies {
            sum.add(tally);
        }
        let snapshot = frames.snapshot();
        let mut report = Report::default();
        snapshot.threads.iter().for_each(|thread| report.add(&thread.report));
        sum.check(&report, "oracle.rs");
        assert_eq!(snapshot.frame, round as u64);
        assert_eq!(snapshot.last.map(|last| last.frame), (round > 0).then_some(round as u64));

        frames.advance();
        let summary = frames.summary().unwrap();
        sum.check(&summary.report, "oracle.rs");
        assert_eq!((summary.frame, summary.findings.len()), (round as u64 + 1, 0));
        assert_eq!(summary.report.stats.live, report.stats.live);
        let by_tag: u64 = summary.report.tags.iter().map(|tag| tag.live).sum();
        assert_eq!(by_tag, summary.report.stats.live);
        assert_eq!(summary.report.phases.len(), 1);
        assert_eq!(summary.report.phases[0].entries, threads as u64);
        let now = frames.snapshot();
        assert!(now.threads.iter().all(|thread| thread.report.stats.live == 0 && thread.report.count() == 0));
    }
}

#[test]
fn a_sum_of_no_arenas_has_no_budget() {
    let mut frames = Frames::new();
    frames.set_metered(true).unwrap();
    frames.advance();
    assert_eq!(frames.summary().unwrap().report.stats.budget, u64::MAX);
    let (small, large) = (Options::new().budget(8).create().unwrap(), Options::new().budget(80).create().unwrap());
    let mut sum = Report::default();
    for (report, budget) in [(small.report(), 8), (large.report(), 88), (Report::default(), 88)] {
        sum.add(&report);
        assert_eq!(sum.stats.budget, budget);
    }
    sum.add(&Arena::new().report());
    assert_eq!(sum.stats.budget, u64::MAX);
}

#[cfg(feature = "serde")]
#[test]
fn json_has_the_same_values() {
    let mut frames = Frames::new();
    frames.set_metered(true).unwrap();
    frames.set_checked(true).unwrap();
    for _ in 0..2 {
        let arena = frames.here();
        let _phase = arena.phase("load");
        let _tag = arena.tag("a \"tag\" of\nlines");
        arena.alloc(String::from("lost"));
        arena.alloc_slice_fill(100, 7u16);
        drop((_tag, _phase));
        frames.advance();
    }
    frames.here().alloc(1u64);
    let snapshot = frames.snapshot();
    let json: serde_json::Value = serde_json::from_str(&serde_json::to_string(&snapshot).unwrap()).unwrap();
    let same = |report: &Report, json: &serde_json::Value| {
        let s = &report.stats;
        let stats = [s.live, s.allocated, s.peak, s.budget, s.reserved, s.wasted, s.blocks, s.source_calls];
        let names = ["live", "allocated", "peak", "budget", "reserved", "wasted", "blocks", "source_calls"];
        for (value, name) in stats.iter().zip(names) {
            let value = (*value != u64::MAX).then_some(*value); // no budget is null
            assert_eq!(json["stats"][name], serde_json::json!(value), "{name}");
        }
        assert_eq!(json["tags"].as_array().unwrap().len(), report.tags.len());
        for (tag, json) in report.tags.iter().zip(json["tags"].as_array().unwrap()) {
            assert_eq!((json["name"].as_str(), json["number"].as_u64()), (Some(&*tag.name), tag.number));
            assert_eq!((&json["live"], &json["allocated"]), (&tag.live.into(), &tag.allocated.into()));
            assert_eq!(json["budget"], serde_json::json!((tag.budget != u64::MAX).then_some(tag.budget)));
        }
        assert_eq!(json["sites"].as_array().unwrap().len(), report.sites.len());
        for (site, json) in report.sites.iter().zip(json["sites"].as_array().unwrap()) {
            assert_eq!(
                (json["site"]["file"].as_str(), &json["site"]["line"]),
                (Some(&*site.site.file), &site.site.line.into())
            );
            assert_eq!(
                (&json["count"], &json["bytes"], json["tag"].as_str()),
                (&site.count.into(), &site.bytes.into(), Some(&*site.tag))
            );
        }
        for (phase, json) in report.phases.iter().zip(json["phases"].as_array().unwrap()) {
            assert_eq!((json["name"].as_str(), &json["entries"]), (Some(&*phase.name), &phase.entries.into()));
            assert_eq!((&json["allocated"], &json["kept"]), (&phase.allocated.into(), &phase.kept.into()));
        }
    };
    assert_eq!((&json["frame"], json["threads"].as_array().unwrap().len()), (&2.into(), snapshot.threads.len()));
    for (thread, json) in snapshot.threads.iter().zip(json["threads"].as_array().unwrap()) {
        assert_eq!(json["name"].as_str(), thread.name.as_deref());
        same(&thread.report, &json["report"]);
    }
    let last = snapshot.last.as_ref().unwrap();
    assert_eq!(
        (last.report.count(), last.report.bytes(), last.findings.len()),
        (2, 200 + size_of::<String>() as u64, 1)
    );
    same(&last.report, &json["last"]["report"]);
    assert_eq!(json["last"]["findings"][0]["Leak"]["size"], size_of::<String>());
}
