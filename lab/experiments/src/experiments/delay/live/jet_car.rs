//! X13 over real sockets.

use std::time::Duration;

use fairpath::random::Random;
use fairpath::time::Span;
use fairpath_games::jet_car::{Bot, JetCarConfig, JetCarScene, Skill};
use fairpath_games::online::HostedJetCar;

use super::super::DECLARATION;
use super::{LivePlan, LiveRun, answered, on_or_off, real_time_note};
use crate::delay::Summary;
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, RunOption, Settings};
use crate::outcome::{Claim, Column, Outcome, Rows};
use crate::{cells, judge};

pub(in crate::experiments::delay) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "jet-car",
        alias: "X13",
        title: "Jet car over real sockets",
        source: "Buchheit 2004 fig 7",
        about: "jet-car (X13) in real time: a server on QUIC that runs without waiting, and bots behind a middleman that holds every packet for \
                half the round trip. Calm air, 40 s a run, all runs at once. The courses follow from the seed; what arrives when does not.",
        options: &[RunOption::Seed, RunOption::Delays],
        is_repeatable: false,
        ..DECLARATION
    },
    run,
};

const RTTS_MS: [i64; 4] = [40, 200, 800, 1600];
const SECS: u32 = 40;
const RUNS: u64 = 3;

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let rules = JetCarConfig { secs: SECS, ..JetCarConfig::default() };
    let plan = LivePlan::new(settings, &RTTS_MS, RUNS);
    let game = || HostedJetCar { rules };
    let played = plan.play(game, settings.seed, progress, |live| drive(live, rules))?;
    let mut rows = Rows::new([
        Column::number("rtt_ms", "round trip", "ms").decimals(0),
        Column::text("compensation", "compensation"),
        Column::number("score", "mean score in 40 s", "").decimals(1),
        Column::number("score_low", "95 %, from", "").decimals(1),
        Column::number("score_high", "to", "").decimals(1),
        Column::number("heard_per_s", "states received", "/s").decimals(1),
        Column::number("runs", "runs", ""),
    ]);
    for (rtt, is_compensated, scores, heard) in &played.cells {
        let score = Summary::of(scores);
        rows.push(cells![
            rtt.as_millis_f64(),
            on_or_off(*is_compensated),
            score.mean,
            score.interval.0,
            score.interval.1,
            *heard,
            scores.len(),
        ]);
    }
    let pairs: Vec<(Span, f64, f64)> = played.pairs();
    let far = pairs.iter().filter(|(rtt, ..)| *rtt >= Span::from_millis(200));
    let gain = far.map(|(_, off, on)| on - off).fold(f64::INFINITY, f64::min);
    Ok(Outcome::new(rows)
        .claim(
            Claim::new(
                "X13.live",
                "live: from 200 ms on compensated play scores more",
                judge::above(gain, 0.0),
            )
            .unit("points more in 40 s, at least")
            .paper("on ≫ off"),
        )
        .claim(answered(&played.statistics, "X13"))
        .note(real_time_note()))
}

/// Plays one run. `None` if the server never answered or never ended it.
fn drive(mut live: LiveRun<'_, HostedJetCar>, rules: JetCarConfig) -> Option<f64> {
    let skill = if live.is_compensated { Skill::default() } else { Skill::default().used_to(live.rtt) };
    let mut bot = Bot::new(skill, Random::from_seed(live.seed).fork(1 << 32));
    let length = Duration::from_secs(rules.secs.into());
    live.play(
        &rules,
        length,
        |scene, now| bot.drive(&rules, now, scene),
        |scene: &JetCarScene| scene.is_over(&rules),
    )
    .map(|scene| f64::from(scene.score))
}
