//! Schedulers side by side, on the same motion, through the same links, at the same budget.
//!
//! One owner cuts DR vectors for three receivers; the budget covers only some of the copies. Each
//! scheduler decides in a lane of its own, and an omniscient observer integrates each receiver's
//! error. It is the laboratory's fairness experiment; a test holds it to the laboratory's numbers.
//!
//! The frame follows from seed, knobs and tick alone: turning a knob replays the heat up to the
//! same tick, so that schedulers are always compared over the same past.

mod lane;
mod scheduler;

use std::borrow::Cow;

use fairpath::motion::MotionKind;
use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::time::Span;
use fairpath::trigger::Trigger;
use fairpath::vector::Vec2;
use fairpath::{Observation, Owner};
use fairpath_games::tanks::{Match, Script, TanksConfig};
use fairpath_sim::{LinkConfig, Loss};

use self::lane::Lane;
pub use self::scheduler::SCHEDULERS;
use crate::chart::{Chart, Series, Stroke};
use crate::scene::{Knob, Scene, TICK_RATE, begin};

const KNOBS: &[Knob] = &[
    Knob::choice("view", 2, 0),
    Knob::choice("first", SCHEDULERS.len() as u32, 1),
    Knob::choice("second", SCHEDULERS.len() as u32, 6),
    Knob::choice("third", SCHEDULERS.len() as u32, 7),
    Knob::new("budget", 0.5, 3.0, 0.5, 1.0),
    Knob::new("near", 0.0, 1000.0, 10.0, 200.0),
    Knob::new("middle", 0.0, 1000.0, 10.0, 500.0),
    Knob::new("far", 0.0, 1000.0, 10.0, 800.0),
    Knob::new("jitter", 0.0, 300.0, 10.0, 0.0),
    Knob::new("loss", 0.0, 50.0, 1.0, 0.0),
    Knob::choice("model", 2, 0),
];

/// The length of a heat: two minutes, about 400 triggers. Then the order hardly ever changes.
pub const HEAT_TICKS: u64 = 120 * 60;
/// How often mean and spread are written down for the charts: twice a second.
const SAMPLE_TICKS: u64 = 30;
/// How wrong receivers may be before a DR vector is cut: as in the laboratory.
const THRESHOLD: f64 = 0.3;
/// How long the owner is silent at most: as in the laboratory.
const HEARTBEAT: Span = Span::from_secs(1);
const RECEIVERS: usize = 3;
const TANK: EntityId = EntityId(1);

/// The scene.
///
/// Its frame, in order: seconds; seconds of a whole heat; the real tank's x, y and heading; DR
/// vectors generated; lanes; then for each lane its scheduler, copies sent, mean and spread of the
/// accumulated errors, and for each receiver its accumulated error, copies sent to it, x, y and
/// heading of the placed tank; then how many datagrams are shown on the wires, and for each its
/// lane, receiver, progress from 0 to 1, whether it is a receipt on its way back, and whether it
/// gets lost.
pub struct Told {
    settings: Settings,
    heat: Heat,
    /// Whether a knob was turned since the heat was played.
    is_stale: bool,
}

/// Everything that a heat follows from.
#[derive(Clone, Debug)]
struct Settings {
    seed: u64,
    is_race: bool,
    schedulers: [usize; 3],
    budget: f64,
    delays: [Span; RECEIVERS],
    jitter: Span,
    loss: f64,
    model: MotionKind,
}

impl Settings {
    fn link(&self, receiver: usize) -> LinkConfig {
        LinkConfig::default()
            .delay(self.delays[receiver])
            .jitter_uniform(self.jitter)
            .loss(Loss::each(self.loss))
    }

    fn schedulers(&self) -> &[usize] {
        if self.is_race { &self.schedulers } else { &self.schedulers[..1] }
    }
}

/// One motion and its schedulers.
struct Heat {
    game: Match,
    ticks: u64,
    owner: Owner<Vec2>,
    triggers: u64,
    lanes: Vec<Lane>,
}

impl Heat {
    fn new(settings: &Settings) -> Self {
        /// Keeps the dice of links apart from those that make the motion.
        const LINKS: u64 = 1 << 32;
        let dice = Random::from_seed(settings.seed);
        let game = Match::of_scripts(
            TanksConfig::lone_tank(),
            &Script::random(dice.clone()),
            dice.clone().fork(0).bits(),
        )
        .expect("the configuration for a lone tank is sound");
        let links: Vec<LinkConfig> = (0..RECEIVERS).map(|receiver| settings.link(receiver)).collect();
        // All lanes use the same random numbers: a loss in one is a loss in all.
        let lanes = settings
            .schedulers()
            .iter()
            .map(|scheduler| Lane::new(*scheduler, settings.budget, &links, &dice.fork(LINKS), begin(0)));
        let trigger =
            Trigger::AnyOf(vec![Trigger::Distance { threshold: THRESHOLD }, Trigger::Every(HEARTBEAT)]);
        Self {
            lanes: lanes.collect(),
            owner: Owner::new(TANK, trigger).with_model(settings.model),
            game,
            ticks: 0,
            triggers: 0,
        }
    }

    /// Plays one tick in the laboratory's order: arrivals, cuts, departures, observations.
    fn tick(&mut self) {
        if self.ticks > 0 {
            self.game.step();
        }
        self.ticks += 1;
        let now = self.game.tanks().now();
        let state = self.game.tanks().tanks()[0].state();
        let export = self.owner.observe(Observation::Moved(state), now).expect("tanks are finite");
        self.triggers += u64::from(export.is_some());
        for lane in &mut self.lanes {
            lane.tick(export.as_ref(), now);
            if self.ticks % SAMPLE_TICKS == 1 {
                lane.write_down(now);
            }
        }
    }
}

impl Told {
    /// One third base, the papers' best and ours, at the cost of one DR vector per trigger.
    pub fn new(seed: u64) -> Self {
        let settings = Settings {
            seed,
            is_race: true,
            schedulers: [1, 6, 7],
            budget: 1.0,
            delays: [200, 500, 800].map(Span::from_millis),
            jitter: Span::ZERO,
            loss: 0.0,
            model: MotionKind::Linear,
        };
        Self { heat: Heat::new(&settings), settings, is_stale: false }
    }

    fn play_again(&mut self) {
        let ticks = self.heat.ticks;
        self.heat = Heat::new(&self.settings);
        (0..ticks).for_each(|_| self.heat.tick());
        self.is_stale = false;
    }
}

impl Scene for Told {
    fn knobs(&self) -> Cow<'static, [Knob]> {
        KNOBS.into()
    }

    fn turn(&mut self, knob: &str, value: f64) {
        let span = || Span::from_millis(value as i64);
        let settings = &mut self.settings;
        match knob {
            "view" => settings.is_race = value == 0.0,
            "first" => settings.schedulers[0] = value as usize,
            "second" => settings.schedulers[1] = value as usize,
            "third" => settings.schedulers[2] = value as usize,
            "budget" => settings.budget = value,
            "near" => settings.delays[0] = span(),
            "middle" => settings.delays[1] = span(),
            "far" => settings.delays[2] = span(),
            "jitter" => settings.jitter = span(),
            "loss" => settings.loss = value / 100.0,
            "model" => {
                settings.model = if value > 0.0 { MotionKind::Circular } else { MotionKind::Linear };
            }
            _ => return,
        }
        self.is_stale = true;
    }

    /// A heat that is over stays as it is.
    fn tick(&mut self) {
        // Only now: a slider that is dragged turns a knob many times between two frames.
        if self.is_stale {
            self.play_again();
        }
        if self.heat.ticks < HEAT_TICKS {
            self.heat.tick();
        }
    }

    fn frame(&self, out: &mut Vec<f64>) {
        let Heat { game, ticks, triggers, lanes, .. } = &self.heat;
        let now = game.tanks().now();
        let state = game.tanks().tanks()[0].state();
        out.extend([*ticks, HEAT_TICKS].map(|ticks| ticks as f64 * TICK_RATE.step_secs()));
        out.extend([state.position.x, state.position.y, state.orientation]);
        out.extend([*triggers as f64, lanes.len() as f64]);
        lanes.iter().for_each(|lane| lane.frame(now, out));
        out.push(lanes.iter().map(|lane| lane.flights(now).count()).sum::<usize>() as f64);
        for (number, lane) in lanes.iter().enumerate() {
            for flight in lane.flights(now) {
                out.push(number as f64);
                flight.write(now, out);
            }
        }
    }

    /// 0: how unequal; 1: how wrong on average.
    fn chart(&self, number: u32) -> Option<Chart> {
        let lanes = self.heat.lanes.iter().enumerate();
        let series = lanes.map(|(colour, lane)| Series {
            // The first three are the receivers'.
            colour: RECEIVERS as u32 + colour as u32,
            stroke: Stroke::Solid,
            points: lane
                .written()
                .iter()
                .map(|(at, mean, spread)| (at.as_secs_f64(), if number == 0 { *spread } else { *mean }))
                .collect(),
        });
        Some(Chart {
            x: "seconds".into(),
            y: if number == 0 { "spread" } else { "mean" }.into(),
            x_range: Some((0.0, HEAT_TICKS as f64 * TICK_RATE.step_secs())),
            y_least: 10.0,
            series: series.collect(),
        })
    }

    fn words(&mut self, about: &str) -> String {
        match about {
            "schedulers" => SCHEDULERS.map(|scheduler| scheduler.name()).join("\n"),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{digest, turn};
    use fairpath_experiments::fairness::run::{Setup, run};
    use fairpath_experiments::fairness::{Jitter, LabScheduler, Receiver, Trial};
    use fairpath_experiments::truth::Truth;
    use fairpath_sim::Digest;

    fn played(turns: &[(&str, f64)], secs: u64) -> Told {
        let mut scene = Told::new(1);
        for (knob, value) in turns {
            assert!(turn(&mut scene, knob, *value));
        }
        (0..60 * secs).for_each(|_| scene.tick());
        scene
    }

    #[test]
    fn its_errors_are_the_laboratorys() {
        let turns = [("jitter", 100.0), ("loss", 10.0)];
        let scene = played(&turns, 60);
        let contenders = [LabScheduler::EVERY_NTH, LabScheduler::DETERMINISTIC, LabScheduler::ERROR_INDEX];
        let dice = Random::from_seed(1);
        let length = TICK_RATE.begin(3600);
        let truth = Truth::scripted(&Script::random(dice.clone()), dice.fork(0).bits(), length);
        for (lane, contender) in scene.heat.lanes.iter().zip(contenders) {
            let jitter = Jitter::Uniform(Span::from_millis(100));
            let delays = [200, 500, 800].map(Span::from_millis);
            let receivers: Vec<Receiver> =
                Receiver::all_at(&delays, jitter).into_iter().map(|receiver| receiver.losing(0.1)).collect();
            let setup: Setup = Trial::new(contender, receivers).setup();
            let expected = run(&truth, &setup, contender.build(3, 1.0), &dice.fork(1 << 32));
            assert_eq!(lane.copies(), expected.vectors, "{contender:?}");
            for (receiver, errors) in expected.errors.iter().enumerate() {
                let (ours, theirs) = (lane.errors()[receiver], errors[errors.len() - 1]);
                assert!((ours - theirs).abs() <= 1e-9 * theirs, "{contender:?}: {ours} and {theirs}");
            }
        }
    }

    #[test]
    fn error_index_is_fairer_and_better_at_the_same_cost() {
        let scene = played(&[], 120);
        let [base, _, index] = &scene.heat.lanes[..] else { panic!("three lanes") };
        let copies = |lane: &Lane| lane.copies().iter().sum::<u64>() as f64;
        assert!(copies(index) <= 1.02 * copies(base));
        assert!(index.spread() < 0.3 * base.spread() && index.mean() < base.mean());
    }

    #[test]
    fn turning_a_knob_back_and_forth_changes_nothing() {
        let mut turned = played(&[], 10);
        turn(&mut turned, "budget", 3.0);
        turned.tick();
        turn(&mut turned, "budget", 1.0);
        turned.tick();
        let mut straight = played(&[], 10);
        (0..2).for_each(|_| straight.tick());
        assert_eq!(digest(&turned), digest(&straight));
    }

    /// The page shows mean and interval of 32 heats; each is the laboratory's own run of that seed.
    #[test]
    fn the_heats_of_32_seeds_are_the_laboratorys() {
        let contenders = [LabScheduler::EVERY_NTH, LabScheduler::DETERMINISTIC, LabScheduler::ERROR_INDEX];
        let [mut ours, mut theirs] = [Digest::new(), Digest::new()];
        // Sums of floats in another order differ in their last bits, and nothing else may.
        let write = |digest: &mut Digest, copies: &[u64], errors: &[f64]| {
            for copies in copies {
                digest.u64(*copies);
            }
            for error in errors {
                digest.u64((1e6 * error).round() as u64);
            }
        };
        for seed in 1..=32 {
            let mut scene = Told::new(seed);
            (0..HEAT_TICKS).for_each(|_| scene.tick());
            let dice = Random::from_seed(seed);
            let length = TICK_RATE.begin(HEAT_TICKS.cast_signed());
            let truth = Truth::scripted(&Script::random(dice.clone()), dice.fork(0).bits(), length);
            for (lane, contender) in scene.heat.lanes.iter().zip(contenders) {
                let delays = [200, 500, 800].map(Span::from_millis);
                let receivers = Receiver::all_at(&delays, Jitter::Uniform(Span::ZERO));
                let setup: Setup = Trial::new(contender, receivers).setup();
                let expected = run(&truth, &setup, contender.build(3, 1.0), &dice.fork(1 << 32));
                let last: Vec<f64> = expected.errors.iter().map(|errors| errors[errors.len() - 1]).collect();
                write(&mut ours, &lane.copies(), &lane.errors());
                write(&mut theirs, &expected.vectors, &last);
            }
        }
        assert_eq!(ours, theirs);
    }

    #[test]
    fn a_heat_ends() {
        let mut scene = played(&[("view", 1.0)], 121);
        let before = digest(&scene);
        scene.tick();
        assert_eq!(digest(&scene), before);
        assert_eq!(scene.heat.lanes.len(), 1);
    }
}
