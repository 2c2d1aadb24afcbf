use fairpath::motion::MotionKind;
use fairpath::random::Random;
use fairpath::time::Span;
use fairpath::vector::{Vec2, Vec3};
use fairpath_games::tanks::Script;

use crate::experiment::{CannotRun, Recorded, Settings};
use crate::truth::Truth;

/// Stretches of a recording that are shorter than this are mostly start-up.
pub const STRETCH_MIN: Span = Span::from_secs(25);

/// What really moves: games of one or more stretches. A receiver's errors are summed over the
/// stretches of a game before the spread over receivers is taken; games are averaged.
#[derive(Clone, Debug)]
pub struct Motion {
    pub name: String,
    pub unit: String,
    pub(super) truths: Truths,
    /// How many games. Those of a recording differ in the random numbers of links.
    pub(super) games: u64,
}

#[derive(Clone, Debug)]
pub(super) enum Truths {
    /// In the plane; each is a game of its own.
    Tanks(Vec<Truth<Vec2>>),
    /// In the plane; all are stretches of one game.
    Plane(Vec<Truth<Vec2>>),
    /// In space; all are stretches of one game.
    Space(Vec<Truth<Vec3>>),
}

/// What DR vectors extrapolate with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    #[default]
    Linear,
    /// Round a circle: what a tank that steers does.
    Circular,
}

impl Motion {
    /// `tanks` lone tanks, each driving at random for `length` with its own random numbers.
    pub fn tanks(seed: u64, tanks: u64, length: Span) -> Self {
        let dice = Random::from_seed(seed);
        let script = Script::random(dice.clone());
        let truths =
            (0..tanks).map(|tank| Truth::scripted(&script, dice.fork(tank).bits(), length)).collect();
        Self { name: "tanks".into(), unit: "units".into(), truths: Truths::Tanks(truths), games: tanks }
    }

    /// All stretches of a recording of [`STRETCH_MIN`] and more, as one game, played `games` times.
    pub fn recorded(recorded: &Recorded, games: u64) -> Result<Self, CannotRun> {
        let recording = &recorded.recording;
        let truths = if recording.is_flat() {
            Truths::Plane(Truth::recorded(recording, STRETCH_MIN))
        } else {
            Truths::Space(Truth::recorded(recording, STRETCH_MIN))
        };
        let motion = Self { name: recorded.file.clone(), unit: recording.unit.to_string(), truths, games };
        if motion.stretches() == 0 {
            return Err(CannotRun {
                what: format!("{} has no clean stretch of {} s", recorded.file, STRETCH_MIN.as_secs_f64()),
                fix: "record for longer, or mark fewer breaks".into(),
            });
        }
        Ok(motion)
    }

    /// The given recording, or else tanks: the given number, or else `tanks`, for `length` each.
    pub fn of(settings: &Settings, tanks: u64, length: Span) -> Result<Self, CannotRun> {
        match &settings.motion {
            Some(recorded) => Self::recorded(recorded, 1),
            None => Ok(Self::tanks(settings.seed, settings.tanks.unwrap_or(tanks), length)),
        }
    }

    pub(super) fn stretches(&self) -> usize {
        match &self.truths {
            Truths::Tanks(_) => 1,
            Truths::Plane(truths) => truths.len(),
            Truths::Space(truths) => truths.len(),
        }
    }

    pub fn is_recorded(&self) -> bool {
        !matches!(self.truths, Truths::Tanks(_))
    }

    /// All motion put together.
    pub fn secs(&self) -> f64 {
        let secs = |length: Span| length.as_secs_f64();
        match &self.truths {
            Truths::Tanks(truths) | Truths::Plane(truths) => truths.iter().map(|t| secs(t.length())).sum(),
            Truths::Space(truths) => truths.iter().map(|truth| secs(truth.length())).sum(),
        }
    }
}

impl Model {
    pub fn kind(self) -> MotionKind {
        match self {
            Self::Linear => MotionKind::Linear,
            Self::Circular => MotionKind::Circular,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Circular => "circular",
        }
    }
}
