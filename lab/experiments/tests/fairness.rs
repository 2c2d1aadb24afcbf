//! Goal: what the fairness harness measures is what happened. Method: short tanks through links
//! whose effect is known.

use std::fmt::Write as _;

use fairpath::random::Random;
use fairpath::time::Span;
use fairpath::trigger::Trigger;
use fairpath::vector::Vec2;
use fairpath::wire::{Header, Precision, decode_updates, encode_updates};
use fairpath::{Observation, Owner};
use fairpath_eval::recording::{self, Source};
use fairpath_experiments::experiment::{Half, Recorded, Settings, Silent};
use fairpath_experiments::experiments;
use fairpath_experiments::fairness::run::{FairnessRun, run};
use fairpath_experiments::fairness::{Arena, Jitter, LabScheduler, Model, Motion, Receiver, Trial};
use fairpath_experiments::judge::Verdict;
use fairpath_experiments::truth::Truth;
use fairpath_games::tanks::Script;

/// The seeds that every push is tested with; the full sweep is `fairpath lab run all --seed N`.
const SEEDS: [u64; 2] = [11, 12];

fn tank(seed: u64, secs: i64) -> Truth<Vec2> {
    Truth::scripted(&Script::random(Random::from_seed(seed)), seed, Span::from_secs(secs))
}

fn receivers(delays_ms: &[i64], jitter_ms: i64) -> Vec<Receiver> {
    let delays: Vec<Span> = delays_ms.iter().copied().map(Span::from_millis).collect();
    Receiver::all_at(&delays, Jitter::Uniform(Span::from_millis(jitter_ms)))
}

fn played(scheduler: LabScheduler, receivers: Vec<Receiver>, seed: u64) -> FairnessRun {
    let trial = Trial::new(scheduler, receivers);
    let scheduler = scheduler.build(trial.receivers.len(), trial.budget);
    run(&tank(seed, 40), &trial.setup(), scheduler, &Random::from_seed(seed).fork(1))
}

fn finals(run: &FairnessRun) -> Vec<f64> {
    run.errors.iter().map(|errors| *errors.last().unwrap()).collect()
}

/// Generation times lie on a grid of 1 ms, so even at once is up to 1 ms late; in that time two
/// paths that were a threshold apart come no farther apart than this.
const AT_ONCE_MAX: f64 = 1e-3 * 0.4;

#[test]
fn told_of_everything_at_once_nobody_is_wrong() {
    for seed in SEEDS {
        let run = played(LabScheduler::BROADCAST, receivers(&[0, 0, 0], 0), seed);
        assert!(run.triggers > 50);
        for error in finals(&run) {
            assert!(error <= AT_ONCE_MAX * run.triggers as f64, "{error} in {} triggers", run.triggers);
        }
        // And everybody is within the threshold of the truth, all the time.
        assert!(run.distance.iter().all(|distance| *distance < Trial::THRESHOLD), "{:?}", run.distance);
    }
}

#[test]
fn equally_far_receivers_are_equally_wrong_and_farther_ones_more() {
    for scheduler in [LabScheduler::BROADCAST, LabScheduler::EVERY_NTH] {
        let equal = finals(&played(scheduler, receivers(&[300, 300, 300], 0), SEEDS[0]));
        assert!(equal[0] > 10.0 && equal[0] == equal[1] && equal[1] == equal[2], "{equal:?}");
        let apart = finals(&played(scheduler, receivers(&[800, 500, 200], 0), SEEDS[0]));
        assert!(apart[0] > apart[1] && apart[1] > apart[2], "{apart:?}");
    }
}

#[test]
fn every_copy_is_counted() {
    let broadcast = played(LabScheduler::BROADCAST, receivers(&[800, 500, 200], 100), SEEDS[0]);
    assert_eq!(broadcast.vectors, [broadcast.triggers; 3]);
    let third = played(LabScheduler::EVERY_NTH, receivers(&[800, 500, 200], 100), SEEDS[0]);
    assert_eq!(third.triggers, broadcast.triggers, "the owner does not know who listens");
    assert_eq!(third.vectors, [third.triggers.div_ceil(3); 3]);
    let each = |run: &FairnessRun| run.bytes as f64 / run.vectors.iter().sum::<u64>() as f64;
    assert!((17.0..24.0).contains(&each(&broadcast)) && (17.0..24.0).contains(&each(&third)));
}

#[test]
fn the_same_seed_gives_the_same_numbers_for_every_scheduler() {
    for scheduler in LabScheduler::all() {
        let play = |seed| played(scheduler, receivers(&[800, 500, 200], 100), seed);
        let (one, again, other) = (play(SEEDS[0]), play(SEEDS[0]), play(SEEDS[1]));
        assert_eq!(one, again, "{scheduler}");
        assert_ne!(one, other, "{scheduler}");
    }
}

/// Everybody keeps to the budget of a third, but for who has none.
#[test]
fn budgets_are_kept() {
    for scheduler in LabScheduler::all() {
        let run = played(scheduler, receivers(&[800, 500, 200], 0), SEEDS[0]);
        let per_trigger = run.vectors.iter().sum::<u64>() as f64 / run.triggers as f64;
        let without_budget = [
            LabScheduler::BROADCAST,
            LabScheduler::SCHEDULING_DISCARD,
            LabScheduler::SCHEDULING_DISCARD_AT_RECEPTION,
            LabScheduler::SCHEDULING_SEND,
            LabScheduler::RELATIVE_ERROR,
        ];
        let has_budget = !without_budget.contains(&scheduler);
        assert!(per_trigger <= 3.0 + 1e-9, "{scheduler}: {per_trigger}");
        assert!(!has_budget || (0.8..1.2).contains(&per_trigger), "{scheduler}: {per_trigger}");
    }
}

/// Where delays do not vary and nothing is lost, the ledger knows all there is to know.
#[test]
fn the_ledger_believes_what_the_observer_sees() {
    for scheduler in [LabScheduler::BROADCAST, LabScheduler::EVERY_NTH, LabScheduler::ERROR_INDEX] {
        let run = played(scheduler, receivers(&[800, 500, 200], 0), SEEDS[0]);
        let settled = run.belief.secs.iter().position(|secs| *secs > 5.0).unwrap();
        // Its estimate of a delay comes to rest at the true one, but only to the microsecond.
        let off = run.belief.off[settled..].iter().copied().fold(0.0, f64::max);
        assert!(off < 1e-3, "{scheduler}: {off}");
        let jittery = played(scheduler, receivers(&[800, 500, 200], 180), SEEDS[0]);
        assert!(jittery.belief.off.iter().any(|off| *off > 1e-2), "it cannot know what has not arrived yet");
        assert!(jittery.belief.open.iter().any(|share| *share > 0.5), "and says so");
        let settled_off = jittery.belief.settled_off.iter().copied().fold(0.0, f64::max);
        assert!(settled_off < 1e-6, "{scheduler}: off by {settled_off} with all receipts in");
        assert_eq!(jittery.belief.unsettled, 0, "nothing is lost here");
    }
}

#[test]
fn what_receivers_decode_is_what_the_owner_compares_with() {
    let precision = Precision::default();
    for model in [Model::Linear, Model::Circular] {
        let mut owner = Owner::new(Default::default(), Trigger::within(0.3)).with_model(model.kind());
        for (now, state) in tank(SEEDS[0], 20).ticks {
            let Some(export) = owner.observe(Observation::Moved(state), now).unwrap() else { continue };
            let header = Header { sent_at: now, ..Header::default() };
            let mut bytes = Vec::new();
            encode_updates(&precision, &header, &[export.vector], &mut bytes).unwrap();
            assert_eq!(decode_updates::<Vec2>(&precision, now, &bytes).unwrap().vectors, [export.vector]);
        }
    }
}

#[test]
fn an_arena_answers_in_the_order_it_was_asked() {
    let motion = Motion::tanks(SEEDS[0], 2, Span::from_secs(10));
    let trials = [LabScheduler::EVERY_NTH, LabScheduler::BROADCAST]
        .map(|scheduler| Trial::new(scheduler, receivers(&[800, 200], 0)));
    let scores = Arena { motion: &motion, seed: 1, progress: &Silent }.play(&trials);
    assert_eq!(
        scores.iter().map(|score| score.label.as_str()).collect::<Vec<_>>(),
        ["every-nth", "broadcast"]
    );
    assert!(scores.iter().all(|score| score.games.len() == 2));
    assert!(scores[1].vectors() > 2 * scores[0].vectors());
    assert!(scores[1].mean() < scores[0].mean());
}

/// Four tanks for half a minute each, written down as somebody would record them: short enough for
/// every push.
fn recorded_tanks(seed: u64) -> Recorded {
    let mut csv = String::from("t,entity,team,x,y\n");
    for entity in 0..4 {
        for (now, state) in tank(4 * seed + entity, 30).ticks {
            let (t, Vec2 { x, y }) = (now.as_secs_f64(), state.position);
            writeln!(csv, "{t:.6},{entity},1,{x:.6},{y:.6}").unwrap();
        }
    }
    let source = Source { name: "tanks.csv", bytes: csv.as_bytes() };
    Recorded { file: "tanks.csv".into(), recording: recording::read(source, None).unwrap() }
}

/// The claims that do not hang on the seed. Others are near their limit, and the reports say on
/// which side.
#[test]
fn firm_claims_hold_for_two_fixed_seeds() {
    let firm = [
        ("X2", &["X2.spread-0", "X2.spread-180", "X2.mean-0", "X2.mean-180", "X2.every-receiver-100"][..]),
        ("X3", &["X3.spread", "X3.mean-above-base", "X3.mean-below-one"]),
        ("X4", &["X4.mean"]),
        ("X5", &["X5.worst"]),
        ("X6", &["X6.spread-third", "X6.farthest"]),
        ("X7", &["X7.spread-third-100", "X7.mean-below-probabilistic-180", "X7.neither"]),
        ("X8", &["X8.spread", "X8.theorem", "X8.theorem-actual"]),
        ("X17", &["X17.third-error-index"]),
        ("EI", &["EI.dominates-deterministic-linear-100", "EI.dominates-deterministic-crowd-32"]),
    ];
    for seed in SEEDS {
        let settings = Settings { seed, motion: Some(recorded_tanks(seed)), ..Settings::default() };
        for (id, claims) in firm {
            let outcome = experiments::find(id).unwrap().run(&settings, &Silent).unwrap();
            assert!(!outcome.rows.is_empty() && !outcome.figures.is_empty() && !outcome.notes.is_empty());
            for claim in claims {
                let found = outcome.claims.iter().find(|found| found.id == *claim).expect(claim);
                assert_eq!(found.judgement.verdict, Verdict::Held, "seed {seed}: {found:?}");
            }
        }
    }
}

#[test]
fn halves_of_a_recording_share_no_stretch_and_miss_none() {
    let all = recorded_tanks(SEEDS[0]);
    let halves = [Half::Odd, Half::Even].map(|half| all.clone().only(half).recording.stretches);
    assert_eq!(halves.iter().map(Vec::len).sum::<usize>(), all.recording.stretches.len());
    assert!(!halves[0].is_empty() && !halves[1].is_empty());
    assert!(halves[0].iter().all(|stretch| !halves[1].contains(stretch)));
}

#[test]
fn one_receiver_alone_is_no_question_of_fairness() {
    let settings = Settings { delays: Some(vec![Span::from_millis(100)]), ..Settings::default() };
    let refused = experiments::find("X2").unwrap().run(&settings, &Silent).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "one receiver alone is always treated fairly; give two delays or more with --delays"
    );
}
