//! X14's first weather over real sockets.

use std::time::Duration;

use fairpath::vector::Vec2;
use fairpath_games::online::{CLIENT_SEAT, HostedSailing};
use fairpath_games::sailing::{self, Agent, SailingConfig, SailingPredictor, Trim, Wind};

use super::super::DECLARATION;
use super::{LivePlan, LiveRun, answered, on_or_off, real_time_note};
use crate::delay::sailing::Finish;
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, RunOption, Settings};
use crate::outcome::{Claim, Column, Outcome, Rows};
use crate::{cells, judge};

pub(in crate::experiments::delay) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "sailing",
        alias: "X14",
        title: "Sailing over real sockets",
        source: "Buchheit 2004 fig 9",
        about: "The first weather of sailing (X14) in real time: wind that shifts every 20 s, simple agents, a buoy 500 feet away, a server on \
                QUIC that runs without waiting, and a middleman that holds every packet for half the round trip. All races at once.",
        options: &[RunOption::Seed, RunOption::Delays],
        is_repeatable: false,
        ..DECLARATION
    },
    run,
};

const RTTS_MS: [i64; 4] = [50, 300, 800, 1500];
const RUNS: u64 = 2;
/// A shorter course: the clock is real.
const COURSE_FT: f64 = 500.0;
/// A boat that has not finished by then is counted with it.
const RACE_SECS_MAX: f64 = 150.0;

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let rules = SailingConfig {
        wind: Wind::west_and_south(20.0),
        buoy: Vec2::new(COURSE_FT, 0.0),
        ..SailingConfig::default()
    };
    let plan = LivePlan::new(settings, &RTTS_MS, RUNS);
    let game = || HostedSailing { rules: rules.clone(), opponent: Trim::Simple };
    let played = plan.play(game, settings.seed, progress, |live| race(live, &rules))?;
    let mut rows = Rows::new([
        Column::number("rtt_ms", "round trip", "ms").decimals(0),
        Column::text("compensation", "compensation"),
        Column::number("loss_percent", "takes longer by", "%").decimals(1),
        Column::number("heard_per_s", "states received", "/s").decimals(1),
        Column::number("runs", "runs", ""),
    ]);
    for (rtt, is_compensated, losses, heard) in &played.cells {
        let mean = losses.iter().sum::<f64>() / losses.len() as f64;
        rows.push(cells![rtt.as_millis_f64(), on_or_off(*is_compensated), mean, *heard, losses.len()]);
    }
    let pairs = played.pairs();
    let farthest = pairs.iter().max_by_key(|(rtt, ..)| *rtt);
    let judgement = farthest.map_or_else(judge::not_applicable, |(_, off, on)| judge::below(*on, *off));
    Ok(Outcome::new(rows)
        .claim(
            Claim::new("X14.live", "live: at the longest round trip compensation loses less", judgement)
                .unit("% longer, compensated")
                .paper("effective even at very high latencies"),
        )
        .claim(answered(&played.statistics, "X14"))
        .note(real_time_note()))
}

fn race(mut live: LiveRun<'_, HostedSailing>, rules: &SailingConfig) -> Option<f64> {
    let mut agent = Agent::new(Trim::Simple);
    let helm = SailingPredictor { rules: rules.clone(), seat: CLIENT_SEAT };
    let length = Duration::from_secs_f64(RACE_SECS_MAX);
    let is_over =
        |scene: &sailing::SailingScene| scene.is_over() || scene.now().as_secs_f64() >= RACE_SECS_MAX;
    let scene = live.play(&helm, length, |scene, now| agent.sail(rules, now, scene, CLIENT_SEAT), is_over)?;
    let secs = |boat: &sailing::Boat| {
        boat.finished_at.map_or(RACE_SECS_MAX, |tick| tick as f64 * sailing::TICK_RATE.step_secs())
    };
    let [client_secs, server_secs] = [secs(&scene.boats[0]), secs(&scene.boats[1])];
    Some(100.0 * Finish { client_secs, server_secs, swings_per_minute: 0.0 }.loss())
}
