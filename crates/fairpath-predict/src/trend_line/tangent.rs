use std::sync::Arc;

use super::TrendLine;
use super::outlook::pace;
use super::predictor::remember;
use crate::{Known, Missing, Predictor, SUBJECTS_MAX, TICK_SECS};
use fairpath::vector::{Vec2, Vector};

/// The prediction of Jawad 2017, for comparison: one straight step along the tangent of the trend
/// line at the foot of the perpendicular, with the length of the quadratic formula. A braking car
/// stops and does not reverse.
///
/// It uses positions only. For anything but comparison use
/// [`TrendLinePredictor`](super::TrendLinePredictor).
#[derive(Clone, Debug)]
pub struct TangentPredictor {
    line: Arc<TrendLine>,
    rule: SpeedRule,
    /// Ticks from one sample to the next.
    sample_ticks: u32,
    feet: Vec<Option<f64>>,
    subjects: Vec<Pace>,
}

/// How Jawad 2017 computes speed from positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeedRule {
    /// As printed in its text: V(t) = 2·(P(t) − P(t−1))/Δt − V(t−1), starting with 0. It never
    /// forgets its start: from standing to a true speed of 10 it gives 20, 0, 20, 0 and so on.
    Recursion,
    /// As in its code: V(t) = (P(t) − P(t−1))/Δt.
    Differences,
}

/// Speed and acceleration of a subject so far.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    known: usize,
    /// Ticks since the last sample, and the position at that sample.
    ticks: u32,
    sampled: Option<Vec2>,
    speed: f64,
    acceleration: f64,
}

impl TangentPredictor {
    /// Creates the predictor with this line and rule. One sample is one tick.
    pub fn new(line: Arc<TrendLine>, rule: SpeedRule) -> Self {
        Self { line, rule, sample_ticks: 1, feet: Vec::new(), subjects: Vec::new() }
    }

    /// Returns the predictor with a sample every `ticks` ticks, at least 1. Jawad 2017 took one
    /// every 0.2 s: see [`PAPER_SAMPLE_TICKS`](Self::PAPER_SAMPLE_TICKS). Speed and acceleration
    /// are then up to 0.2 s old, and the recursion swings as far, but less often.
    #[must_use]
    pub fn sampled_every(mut self, ticks: u32) -> Self {
        self.sample_ticks = ticks.max(1);
        self
    }

    /// The sampling of Jawad 2017: 0.2 s.
    pub const PAPER_SAMPLE_TICKS: u32 = 12;
}

impl Predictor for TangentPredictor {
    fn name(&self) -> &str {
        match self.rule {
            SpeedRule::Recursion => "Jawad 2017 as printed",
            SpeedRule::Differences => "Jawad 2017 as coded",
        }
    }

    fn learn(&mut self, subject: usize, known: &Known<'_>) {
        if subject >= SUBJECTS_MAX {
            return;
        }
        if self.subjects.len() <= subject {
            self.subjects.resize(subject + 1, Pace::default());
        }
        self.subjects[subject].handle_tick(known, self.rule, self.sample_ticks);
    }

    fn predict(
        &mut self,
        subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        let place = known.newest().position;
        let foot =
            self.line.course.foot(place, pace(known.history), self.feet.get(subject).copied().flatten());
        let tangent = self.line.tangent_at(foot.along);
        let pace = self.subjects.get(subject).copied().unwrap_or_default();
        for (ticks, position) in ticks.iter().zip(positions) {
            *position = place + tangent * pace.distance(f64::from(*ticks) * TICK_SECS);
        }
        remember(&mut self.feet, subject, Some(foot.along));
        Ok(())
    }
}

impl Pace {
    fn handle_tick(&mut self, known: &Known<'_>, rule: SpeedRule, sample_ticks: u32) {
        let history = known.history;
        if history.len() < self.known {
            *self = Self::default();
        }
        self.known = history.len();
        let now = known.newest().position;
        self.ticks += 1;
        let Some(before) = self.sampled else {
            self.sampled = Some(now);
            self.ticks = 0;
            return;
        };
        if self.ticks < sample_ticks {
            return;
        }
        self.ticks = 0;
        self.sampled = Some(now);
        let secs = f64::from(sample_ticks) * TICK_SECS;
        let difference = now.distance(before) / secs;
        let speed = match rule {
            SpeedRule::Recursion => 2.0 * difference - self.speed,
            SpeedRule::Differences => difference,
        };
        self.acceleration = (speed - self.speed) / secs;
        self.speed = speed;
    }

    /// Returns the distance covered, until the car stands.
    fn distance(&self, secs: f64) -> f64 {
        let speed = self.speed.max(0.0);
        let driven = if self.acceleration < 0.0 { secs.min(-speed / self.acceleration) } else { secs };
        speed * driven + 0.5 * self.acceleration * driven * driven
    }
}
