//! The verdict on the measured savings.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{
    figure::{self, side, Side, LEAST_RUNS},
    study::affordable,
};
use crate::advice::{Advice, Figure, Malloc, Recipe, Scope, Trial, Verdict};
use crate::{frame::Frame, report::text::counted};

/// The part of a program's time below which advice is to change nothing.
pub const WORTH: f64 = 0.03;

pub fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        100.0 * part / whole
    } else {
        0.0
    }
}

/// "12.1 % (10.9 to 13.0)"; without an interval "12.1 % (3 runs)".
fn share(figure: &Figure, cpu: f64) -> String {
    let [median, low, high] = [figure.median, figure.low, figure.high].map(|v| percent(v, cpu));
    match figure.has_interval() {
        true => format!("{median:.1} % ({low:.1} to {high:.1})"),
        false => format!("{median:.1} % ({})", counted(figure.runs, "run")),
    }
}

fn name(frame: &Frame) -> String {
    let module = frame.module.as_deref().unwrap_or_default();
    match &frame.function {
        Some(name) => name.clone(),
        None => format!("{}+{:#x}", module.rsplit('/').next().unwrap_or_default(), frame.offset.unwrap_or(0)),
    }
}

/// The saving by hooks, which is measured in full.
pub fn saving(scope: &Scope) -> f64 {
    scope.trial.map_or(f64::NEG_INFINITY, |t| t.hooks.median)
}

/// Sets the verdict and its summary.
pub fn decide(advice: &mut Advice) {
    let impossible = leave_out_impossible(advice);
    let worth = WORTH * advice.cpu.median;
    let affordable = || advice.scopes.iter().filter(|s| affordable(s));
    let trials = affordable().filter_map(|s| s.trial.map(|t| ((s, t), t.hooks))).collect();
    let best = figure::best(trials, worth).map(|(of, _)| of);
    let malloc = figure::best(advice.mallocs.iter().map(|m| (m, m.saving)).collect(), worth).map(|(m, _)| m);
    let of_scope = |s: &Scope| format!("{}: {}", name(&s.function), s.reason.trim_start_matches("not measured: "));
    let of_scopes = affordable().filter(|_| best.is_none()).take(3).map(of_scope).collect::<Vec<_>>().join("; ");
    let of_mallocs = if malloc.is_none() { advice.failures.join("; ") } else { String::new() };
    let reasons = [
        ("Runs that are compared differ in more than the change: savings of 100 % or more", impossible),
        ("No arena was measured", of_scopes),
        ("No other malloc was measured", of_mallocs),
    ];
    let missing: Vec<_> =
        reasons.iter().filter(|(_, why)| !why.is_empty()).map(|(of, why)| format!("{of} ({why}).")).collect();
    (advice.verdict, advice.summary) = decision(advice.cpu, best, malloc, &missing.join(" "));
}

/// Scopes and mallocs with a saving of 100 % or more, which no program has, lose it. Returns the reason. A bound of an interval, or a
/// few runs, show it by chance: it is below.
fn leave_out_impossible(advice: &mut Advice) -> String {
    let cpu = advice.cpu.median;
    let mut found = Vec::new();
    let mut is_possible = |figure: &mut Figure, what: &str| {
        let is_possible = !figure.has_interval() || figure.median < cpu || cpu <= 0.0;
        found.extend((!is_possible).then(|| format!("{what} {:.0} %", percent(figure.median, cpu))));
        for part in [&mut figure.median, &mut figure.low, &mut figure.high] {
            *part = part.min(0.999 * cpu);
        }
        is_possible
    };
    for scope in &mut advice.scopes {
        let what = name(&scope.function);
        let Some(t) = &mut scope.trial else { continue };
        if !is_possible(&mut t.hooks, &what) || !is_possible(&mut t.without_traversal, &what) {
            scope.trial = None;
            scope.reason = "not measured: its runs show a saving of 100 % or more".to_owned();
        }
    }
    advice.mallocs.retain_mut(|m| is_possible(&mut m.saving, &m.name));
    found.join(", ")
}

/// Leaves out the scopes whose trials certainly saved nothing. After `decide`, whose summary may name one.
pub fn leave_out_useless(advice: &mut Advice) {
    let may_save = |f: Figure| f.high > 0.0 || (f.runs as usize) < LEAST_RUNS;
    let saves = |s: &Scope| s.trial.is_none_or(|t| may_save(t.hooks) || may_save(t.without_traversal));
    let before = advice.scopes.len();
    advice.scopes.retain(saves);
    let count = before - advice.scopes.len();
    let note = format!("The trials of {count} of {before} scopes saved nothing; --all shows them.");
    advice.notes.extend((count > 0).then_some(note));
}

/// What an arena saves more than a malloc, from the savings of the same rounds.
pub fn beyond(arena: &[f64], malloc: &[f64]) -> Figure {
    figure::of(arena.iter().zip(malloc).map(|(a, m)| a - m).collect())
}

/// The verdict on the best arena and the best malloc of a program of that CPU time.
pub fn of(cpu: f64, arena: Option<&Figure>, malloc: Option<&Figure>, beyond: Option<&Figure>) -> Verdict {
    let of = |figure: Option<&Figure>| figure.map_or(Side::Below, |f| side(f, WORTH * cpu));
    // Without another malloc an arena need not be better than it.
    match (of(arena), of(malloc), of(beyond.or(arena))) {
        (Side::Above, _, Side::Above) => Verdict::UseArenas,
        (Side::Above, _, Side::Below) | (_, Side::Above, Side::Below) => Verdict::SwitchMalloc,
        // An arena that saves less than 3 % does not save 3 % more than a malloc that saves more.
        (Side::Below, Side::Above, _) => Verdict::SwitchMalloc,
        (Side::Below, Side::Below, _) => Verdict::DoNothing,
        _ => Verdict::NotDecided,
    }
}

/// `missing`: ways that were not measured, without which there is no verdict.
fn decision(cpu: Figure, best: Option<(&Scope, Trial)>, malloc: Option<&Malloc>, missing: &str) -> (Verdict, String) {
    let arena = best.map_or(String::new(), |(s, t)| {
        format!(
            "{} saves {} of the program's CPU time where frees are called, and {} without the traversals that free.",
            what(s),
            share(&t.hooks, cpu.median),
            share(&t.without_traversal, cpu.median)
        )
    });
    let other = malloc.map_or(String::new(), |m| {
        format!("The program saves {} of its CPU time on {}.", share(&m.saving, cpu.median), m.name)
    });
    let (hooks, beyond) = (best.map(|(_, t)| t.hooks), best.and_then(|(_, t)| t.beyond_malloc));
    let verdict = match missing {
        "" => of(cpu.median, hooks.as_ref(), malloc.map(|m| &m.saving), beyond.as_ref()),
        _ => Verdict::NotDecided,
    };
    let summary = match verdict {
        Verdict::UseArenas => [arena, other],
        Verdict::SwitchMalloc if best.is_some() => [other, format!("An arena does not save 3 % more. {arena}")],
        Verdict::SwitchMalloc => [other, arena],
        Verdict::DoNothing => [format!("Nothing that was tried saves 3 %. {arena}"), other],
        Verdict::NotDecided if missing.is_empty() => [format!("{} {arena}", undecided(cpu, best, malloc)), other],
        Verdict::NotDecided => [format!("{missing} {arena}"), other],
    };
    (verdict, summary.map(|part| part.trim().to_owned()).join(" ").trim().to_owned())
}

fn what(scope: &Scope) -> String {
    match scope.recipe {
        Recipe::Process => format!("An arena for the objects of {}, as long as the process,", name(&scope.function)),
        Recipe::Generations => format!("An arena in {}, reset after each generation,", name(&scope.function)),
        _ => format!("An arena for each call of {}", name(&scope.function)),
    }
}

/// Why there is no verdict.
fn undecided(cpu: Figure, best: Option<(&Scope, Trial)>, malloc: Option<&Malloc>) -> String {
    let of_both = [best.map(|(_, t)| t.hooks.runs), malloc.map(|m| m.saving.runs)];
    let runs = of_both.into_iter().flatten().min().unwrap_or(cpu.runs);
    let spread = percent(cpu.high - cpu.low, cpu.median);
    let busy = if spread > 5.0 { ": the machine is busy" } else { "" };
    if (runs as usize) < LEAST_RUNS {
        let own = (cpu.runs > 1).then(|| format!(" Runs of the program as it is differ by {spread:.1} %{busy}."));
        return format!(
            "The time was enough for {runs} of the {LEAST_RUNS} runs of each kind that an interval needs; raise --seconds, or \
             give the program a smaller input.{}",
            own.unwrap_or_default()
        );
    }
    let worth = WORTH * cpu.median;
    let reason = match (best.map(|(_, t)| side(&t.hooks, worth)), malloc.map(|m| side(&m.saving, worth))) {
        (Some(Side::Above), Some(Side::Above)) => {
            "Both an arena and another malloc save 3 %, and which saves more by 3 % is open"
        }
        (Some(Side::Above), _) => "An arena saves 3 %, and whether by 3 % more than another malloc is open",
        (_, Some(Side::Above)) => "Another malloc saves 3 %, and whether an arena saves 3 % more is open",
        _ => "An interval contains the threshold of 3 %",
    };
    format!(
        "{reason}. After {runs} runs of each kind the interval of the program's own CPU time is {spread:.1} % wide{busy}. More \
         time (--seconds) makes intervals narrower."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values around a median, of six runs or more.
    fn around(median: f64, width: f64) -> Figure {
        figure::of((0..7).map(|i| median + width * (f64::from(i) - 3.0) / 6.0).collect())
    }

    /// The advice on savings of an arena and of another malloc, with intervals of that width. The program takes 1 s.
    fn advice(arena: Option<f64>, malloc: Option<f64>, width: f64) -> Advice {
        let scope = |a| {
            let hooks = around(a, width);
            let beyond_malloc = malloc.map(|m| around(a - m, width));
            let trial = Some(Trial { hooks, without_traversal: hooks, beyond_malloc, ..Trial::default() });
            let function = Frame { function: Some("parse".to_owned()), ..Frame::default() };
            Scope { function, trial, peak_malloc: 1 << 20, peak_arena: 2 << 20, ..Scope::default() }
        };
        let other = |m| Malloc { name: "other".to_owned(), saving: around(m, width), system: 0.0, faults: 0.0 };
        let (mallocs, scopes) = (malloc.map(other).into_iter().collect(), arena.map(scope).into_iter().collect());
        Advice { cpu: around(1.0, width), mallocs, scopes, ..Advice::default() }
    }

    fn decided(mut of: Advice) -> (Verdict, String) {
        decide(&mut of);
        (of.verdict, of.summary)
    }

    #[test]
    fn scopes_that_certainly_save_nothing_are_left_out() {
        for (saving, kept) in [(-0.02, 0), (-0.002, 1), (0.02, 1)] {
            let mut of = advice(Some(saving), None, 0.01);
            leave_out_useless(&mut of);
            assert_eq!((of.scopes.len(), of.notes.len()), (kept, 1 - kept), "{saving}");
        }
        let mut of = advice(Some(-0.02), None, 0.01);
        of.scopes[0].trial = None; // the reason is shown
        leave_out_useless(&mut of);
        assert_eq!(of.scopes.len(), 1);
    }

    #[test]
    fn an_arena_must_save_three_percent_and_that_more_than_another_malloc() {
        use Verdict::{DoNothing, NotDecided, SwitchMalloc, UseArenas};
        let (less, more) = (
            "The program saves 18.0 % (17.5 to 18.5) of its CPU time on other. An arena does",
            "that free. The program",
        );
        for (arena, malloc, width, expected, text) in [
            (
                Some(0.02),
                Some(0.01),
                0.01,
                DoNothing,
                "Nothing that was tried saves 3 %. An arena for each call of parse",
            ),
            (None, Some(-0.05), 0.01, DoNothing, "The program saves -5.0 %"),
            (None, None, 0.01, DoNothing, "Nothing that was tried"),
            (Some(0.04), None, 0.01, UseArenas, "An arena for each call of parse saves 4.0 % (3.5 to 4.5) of the"),
            (Some(0.20), Some(0.18), 0.01, SwitchMalloc, less),
            (Some(0.25), Some(0.18), 0.01, UseArenas, more),
            (Some(0.03), None, 0.06, NotDecided, "the machine is busy"),
            (Some(0.05), None, 0.06, NotDecided, "the machine is busy"),
            (Some(0.01), Some(0.03), 0.06, NotDecided, "the machine is busy"),
            (Some(0.2), Some(0.17), 0.06, NotDecided, "the machine is busy"),
            (Some(0.9), None, 0.4, UseArenas, "90.0 % (70.0 to 99.9)"),
            (Some(1.4), Some(0.1), 0.01, NotDecided, "savings of 100 % or more (parse 140 %)."),
            (Some(0.1), Some(1.4), 0.01, NotDecided, "savings of 100 % or more (other 140 %)."),
        ] {
            let (verdict, summary) = decided(advice(arena, malloc, width));
            assert!(verdict == expected && summary.contains(text), "{arena:?} {malloc:?}: {summary}");
            assert!(!summary.contains("40.") && summary.trim() == summary, "{summary}");
        }
    }

    #[test]
    fn each_way_must_be_measured_before_nothing_is_advised() {
        let mut of = advice(Some(0.0), Some(0.01), 0.01);
        of.mallocs.push(Malloc { name: "wide".to_owned(), saving: around(-0.01, 0.2), system: 0.0, faults: 0.0 });
        assert_eq!(decided(of.clone()).0, Verdict::NotDecided);
        of.mallocs.clear();
        of.scopes[0].trial = None;
        of.scopes[0].reason = "not measured: it ends by signal 6".to_owned();
        of.failures = vec!["other: it ends by signal 11".to_owned()];
        let expected =
            "No arena was measured (parse: it ends by signal 6). No other malloc was measured (other: it ends by \
            signal 11).";
        assert_eq!(decided(of), (Verdict::NotDecided, expected.to_owned()));
        let mut of = advice(Some(0.2), None, 0.0);
        of.scopes[0].trial.as_mut().unwrap().hooks.runs = 5;
        let (verdict, summary) = decided(of);
        assert_eq!(verdict, Verdict::NotDecided);
        assert!(summary.contains("5 of the 6 runs") && summary.contains("saves 20.0 % (5 runs) of"), "{summary}");
    }

    #[test]
    fn an_arena_of_many_times_the_memory_is_not_recommended() {
        let mut of = advice(Some(0.5), None, 0.01);
        of.scopes[0].peak_arena = 1 << 30;
        assert_eq!(decided(of.clone()).0, Verdict::DoNothing);
        of.scopes[0].peak_arena = 3 << 20;
        assert_eq!(decided(of).0, Verdict::UseArenas);
    }
}
