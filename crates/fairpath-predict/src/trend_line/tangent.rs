use std::sync::Arc;

use super::TrendLine;
use super::outlook::pace;
use super::predictor::remember;
use crate::{Known, Missing, Predictor, SUBJECTS_MAX, TICK_SECS};
use fairpath::vector::{Vec2, Vector};

/// Jawad 2017's prediction as it is printed, for comparison: one straight step along the tangent of
/// the trend line at the foot of the perpendicular, as long as the quadratic formula says; whoever
/// brakes comes to a stop and does not go back.
///
/// It knows positions only. For anything but comparison use
/// [`TrendLinePredictor`](super::TrendLinePredictor).
#[derive(Clone, Debug)]
pub struct TangentPredictor {
    line: Arc<TrendLine>,
    rule: SpeedRule,
    feet: Vec<Option<f64>>,
    subjects: Vec<Pace>,
}

/// How Jawad 2017 reckons speed from positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeedRule {
    /// As its text says: V(t) = 2·(P(t) − P(t−1))/Δt − V(t−1), beginning with 0. It never forgets
    /// how it began: from a standing start to a true 10 it says 20, 0, 20, 0 and so on for
    /// ever.
    Recursion,
    /// As its code does: V(t) = (P(t) − P(t−1))/Δt.
    Differences,
}

/// What was reckoned of a subject so far.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    known: usize,
    speed: f64,
    acceleration: f64,
}

impl TangentPredictor {
    /// By this line and rule; a sample is a tick.
    pub fn new(line: Arc<TrendLine>, rule: SpeedRule) -> Self {
        Self { line, rule, feet: Vec::new(), subjects: Vec::new() }
    }
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
        self.subjects[subject].handle_tick(known, self.rule);
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
    fn handle_tick(&mut self, known: &Known<'_>, rule: SpeedRule) {
        let history = known.history;
        if history.len() < self.known {
            *self = Self::default();
        }
        self.known = history.len();
        let [.., before, now] = history else { return };
        let difference = now.position.distance(before.position) / TICK_SECS;
        let speed = match rule {
            SpeedRule::Recursion => 2.0 * difference - self.speed,
            SpeedRule::Differences => difference,
        };
        self.acceleration = (speed - self.speed) / TICK_SECS;
        self.speed = speed;
    }

    /// How far it comes, until it stands.
    fn distance(&self, secs: f64) -> f64 {
        let speed = self.speed.max(0.0);
        let driven = if self.acceleration < 0.0 { secs.min(-speed / self.acceleration) } else { secs };
        speed * driven + 0.5 * self.acceleration * driven * driven
    }
}
