//! The verdict on the measured savings.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{
    figure::{self, side, Side, LEAST_RUNS},
    study::affordable,
};
use crate::advice::{Advice, Figure, Malloc, Recipe, Scope, Trial, Verdict};
use crate::frame::Frame;

/// The part of a program's time below which advice is to change nothing.
pub const WORTH: f64 = 0.03;

pub fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        100.0 * part / whole
    } else {
        0.0
    }
}

/// "12.1 % (10.9 to 13.0)"
fn share(figure: &Figure, cpu: f64) -> String {
    let [median, low, high] = [figure.median, figure.low, figure.high].map(|v| percent(v, cpu));
    format!("{median:.1} % ({low:.1} to {high:.1})")
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
    let worth = WORTH * advice.cpu.median;
    let affordable = advice.scopes.iter().filter(|s| affordable(s));
    let trials = affordable.filter_map(|s| s.trial.map(|t| ((s, t), t.hooks))).collect();
    let best = figure::best(trials, worth).map(|(of, _)| of);
    let malloc = figure::best(advice.mallocs.iter().map(|m| (m, m.saving)).collect(), worth).map(|(m, _)| m);
    let (verdict, summary) = decision(advice.cpu, best, malloc);
    advice.verdict = verdict;
    advice.summary = summary;
}

/// Leaves out the scopes whose trials certainly saved nothing. After `decide`, whose summary may name one.
pub fn leave_out_useless(advice: &mut Advice) {
    let may_save = |f: Figure| f.high > 0.0 || (f.runs as usize) < LEAST_RUNS;
    let saves = |s: &Scope| s.trial.is_none_or(|t| may_save(t.hooks) || may_save(t.without_traversal));
    let before = advice.scopes.len();
    advice.scopes.retain(saves);
    match before - advice.scopes.len() {
        0 => {}
        1 => advice.notes.push("A scope whose trial saved nothing is left out; --all shows it.".to_owned()),
        n => advice.notes.push(format!("{n} scopes whose trials saved nothing are left out; --all shows them.")),
    }
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

fn decision(cpu: Figure, best: Option<(&Scope, Trial)>, malloc: Option<&Malloc>) -> (Verdict, String) {
    let arena = best.map_or("No arena was measured.".to_owned(), |(s, t)| {
        format!(
            "{} saves {} of the program's CPU time where frees are called, and {} without the traversals that free.",
            what(s),
            share(&t.hooks, cpu.median),
            share(&t.without_traversal, cpu.median)
        )
    });
    let other = malloc.map_or(String::new(), |m| format!(" {} saves {}.", m.name, share(&m.saving, cpu.median)));
    let (hooks, beyond) = (best.map(|(_, t)| t.hooks), best.and_then(|(_, t)| t.beyond_malloc));
    let verdict = of(cpu.median, hooks.as_ref(), malloc.map(|m| &m.saving), beyond.as_ref());
    let summary = match verdict {
        Verdict::UseArenas => arena + &other,
        Verdict::SwitchMalloc => format!("{} That is not 3 % less than with the arena. {arena}", other.trim_start()),
        Verdict::DoNothing => format!("Nothing that was tried saves 3 %. {arena}{other}"),
        Verdict::NotDecided => format!("{} {arena}{other}", undecided(cpu, best, malloc)),
    };
    (verdict, summary)
}

fn what(scope: &Scope) -> String {
    match scope.recipe {
        Recipe::Process => {
            format!("An arena for the objects of {}, which lasts as long as the process,", name(&scope.function))
        }
        Recipe::Generations => {
            format!("An arena in {} that is reset after each generation of objects", name(&scope.function))
        }
        _ => format!("An arena for each call of {}", name(&scope.function)),
    }
}

/// Why there is no verdict.
fn undecided(cpu: Figure, best: Option<(&Scope, Trial)>, malloc: Option<&Malloc>) -> String {
    let runs = best.map(|(_, t)| t.hooks.runs).or(malloc.map(|m| m.saving.runs)).unwrap_or(cpu.runs);
    if (runs as usize) < LEAST_RUNS {
        return format!(
            "The time was enough for {runs} of the {LEAST_RUNS} runs of each kind that an interval needs; raise --seconds, or \
             give the program a smaller input."
        );
    }
    let worth = WORTH * cpu.median;
    let reason = match (best.map(|(_, t)| side(&t.hooks, worth)), malloc.map(|m| side(&m.saving, worth))) {
        (Some(Side::Above), Some(Side::Above)) => {
            "Both an arena and another malloc save 3 %, and which saves more by 3 % is open:"
        }
        (Some(Side::Above), _) => "The arena saves 3 %, and whether by 3 % more than another malloc is open:",
        (_, Some(Side::Above)) => "Another malloc saves 3 %, and whether an arena saves 3 % more is open:",
        _ => "An interval contains the threshold of 3 %:",
    };
    let spread = percent(cpu.high - cpu.low, cpu.median);
    let busy = if spread > 5.0 { "; the machine is busy" } else { "" };
    format!(
        "{reason} after {runs} runs of each kind the interval of the program's own CPU time is {spread:.1} % wide{busy}. More \
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

    fn scope(hooks: Figure, beyond_malloc: Option<Figure>) -> Scope {
        let trial = Trial { hooks, without_traversal: hooks, beyond_malloc, ..Trial::default() };
        Scope {
            function: Frame { function: Some("parse".to_owned()), ..Frame::default() },
            trial: Some(trial),
            peak_malloc: 1 << 20,
            peak_arena: 2 << 20,
            ..Scope::default()
        }
    }

    /// The verdict on savings of an arena and of another malloc, with intervals of that width. The program takes 1 s.
    fn verdict(arena: Option<f64>, malloc: Option<f64>, width: f64) -> (Verdict, String) {
        let mut advice = advice(arena, malloc, width);
        decide(&mut advice);
        (advice.verdict, advice.summary)
    }

    fn advice(arena: Option<f64>, malloc: Option<f64>, width: f64) -> Advice {
        let beyond = |a: f64| malloc.map(|m| around(a - m, width));
        let other = |m| Malloc { name: "other".to_owned(), saving: around(m, width), system: 0.0, faults: 0.0 };
        Advice {
            cpu: around(1.0, width),
            mallocs: malloc.map(other).into_iter().collect(),
            scopes: arena.map(|a| scope(around(a, width), beyond(a))).into_iter().collect(),
            ..Advice::default()
        }
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
    fn less_than_three_percent_is_not_worth_a_change() {
        assert_eq!(verdict(Some(0.02), Some(0.01), 0.01).0, Verdict::DoNothing);
        assert_eq!(verdict(None, Some(-0.05), 0.01).0, Verdict::DoNothing);
        assert_eq!(verdict(None, None, 0.01).0, Verdict::DoNothing);
        assert_eq!(verdict(Some(0.04), None, 0.01).0, Verdict::UseArenas);
    }

    #[test]
    fn each_malloc_must_save_less_before_nothing_is_advised() {
        let mut of = advice(Some(0.0), Some(0.01), 0.01);
        of.mallocs.push(Malloc { name: "wide".to_owned(), saving: around(-0.01, 0.2), system: 0.0, faults: 0.0 });
        decide(&mut of);
        assert_eq!(of.verdict, Verdict::NotDecided, "{}", of.summary);
    }

    #[test]
    fn an_arena_must_save_more_than_another_malloc() {
        assert_eq!(verdict(Some(0.20), Some(0.18), 0.01).0, Verdict::SwitchMalloc);
        let (found, summary) = verdict(Some(0.25), Some(0.18), 0.01);
        assert_eq!(found, Verdict::UseArenas);
        assert!(
            summary.contains("parse saves 25.0 % (24.5 to 25.5)") && summary.contains("other saves 18.0 %"),
            "{summary}"
        );
    }

    #[test]
    fn an_arena_of_many_times_the_memory_is_not_recommended() {
        let mut large = scope(around(0.5, 0.01), None);
        large.peak_arena = 1 << 30;
        assert!(!affordable(&large));
        large.peak_arena = 3 << 20;
        assert!(affordable(&large));
    }

    #[test]
    fn an_interval_that_contains_three_percent_is_no_verdict() {
        for (arena, malloc) in
            [(Some(0.03), None), (Some(0.05), None), (Some(0.01), Some(0.03)), (Some(0.2), Some(0.17))]
        {
            let (found, summary) = verdict(arena, malloc, 0.06);
            assert_eq!(found, Verdict::NotDecided, "{summary}");
            assert!(summary.contains("the machine is busy"), "{summary}");
        }
        let few = figure::of(vec![0.2; 5]);
        let (found, summary) =
            decision(around(1.0, 0.0), Some((&scope(few, None), scope(few, None).trial.unwrap())), None);
        assert_eq!(found, Verdict::NotDecided);
        assert!(summary.contains("5 of the 6 runs"), "{summary}");
    }
}
