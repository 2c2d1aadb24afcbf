//! The owner's side: which motion to send so that a DR vector lasts longest.
//!
//! The current velocity is seldom the best one to send: a player that has just begun to turn or to
//! brake does not keep it. The owner knows its own past, and a server that owns all players knows
//! the past of all. So it may send the velocity *towards the expected position*, or an arc where
//! turns last. Receivers draw a line or an arc as always, and the wire format does not change. DR
//! vectors last longer, so fewer are needed.

use std::collections::VecDeque;

use super::gate::{Experience, Gate};
use super::{Adaptive, AdaptiveConfig, Objective, SUBJECTS_MAX};
use crate::{Known, Missing, Predictor, TICK_SECS};
use fairpath::State;
use fairpath::motion::{Linear, Motion, MotionKind};
use fairpath::vector::{Vec2, Vector};

/// Chooses the motion to send: the current velocity, the velocity towards an expected position a
/// little ahead, or the current turn. It takes the one that lasted longest in similar situations.
///
/// Call [`learn`](Self::learn) and [`observe`](Self::observe) every tick. When a DR vector is due,
/// send the motion that [`choose`](Self::choose) returns. The chooser then follows how long that
/// motion and its alternatives stay within the threshold.
#[derive(Clone, Debug)]
pub struct LastingMotion {
    path: Adaptive,
    threshold: f64,
    gate: Gate<CHOICES>,
    subjects: Vec<Trials<CHOICES>>,
}

/// Expected positions to aim at, in ticks ahead. Near ones suit thresholds that are crossed soon.
const AIM_TICKS: [u32; 5] = [6, 12, 18, 24, 36];
/// One line per position, the current line and the current arc.
const CHOICES: usize = AIM_TICKS.len() + 2;

/// Longer lives count as this many seconds.
const LASTS_MAX: f64 = 4.0;

/// Most DR vectors per subject that are followed at once. At ten per second that is all of them.
const TRIALS_MAX: usize = 40;

/// The motions of one subject that are being followed, and how long earlier ones lasted.
#[derive(Clone, Debug)]
pub(super) struct Trials<const CHOICES: usize> {
    own: Experience<CHOICES>,
    running: VecDeque<Trial<CHOICES>>,
    /// Longer times count as this many seconds.
    lasts_max: f64,
}

/// A DR vector as sent, and its alternatives.
#[derive(Clone, Copy, Debug)]
struct Trial<const CHOICES: usize> {
    context: usize,
    choices: [Motion<Vec2>; CHOICES],
    secs: f64,
    /// Seconds after which each left the path; `None` while it is within the threshold.
    lasted: [Option<f64>; CHOICES],
}

impl LastingMotion {
    /// Creates a chooser for players that are rarely faster than `top_speed`, and for DR vectors
    /// with this `threshold`.
    pub fn new(top_speed: f64, threshold: f64) -> Self {
        // A motion is within the threshold or not: how far outside does not matter.
        let config = AdaptiveConfig { distance_in_hits: 0.0, ..AdaptiveConfig::default() };
        let objective = Objective::Hits { radius: threshold };
        Self {
            path: Adaptive::with_config(top_speed, objective, config),
            threshold,
            gate: Gate::new(&config),
            subjects: Vec::new(),
        }
    }

    /// Learns from one more tick of a subject's real path. A history of one tick starts a new life.
    pub fn learn(&mut self, subject: usize, known: &Known<'_>) {
        self.path.learn(subject, known);
        if known.history.len() == 1
            && let Some(trials) = self.subjects.get_mut(subject)
        {
            trials.clear();
        }
    }

    /// Compares the motions that were sent with the subject's position, `secs` after the last call.
    ///
    /// Call it as often as DR vectors can be generated, which need not be once per tick.
    pub fn observe(&mut self, subject: usize, place: Vec2, secs: f64) {
        if subject >= SUBJECTS_MAX || !place.is_finite() {
            return;
        }
        if self.subjects.len() <= subject {
            self.subjects.resize_with(subject + 1, || Trials::new(LASTS_MAX));
        }
        self.subjects[subject].observe(&mut self.gate, place, secs, self.threshold);
    }

    /// Returns the motion for a DR vector now, starting at the subject's position. `turn_rate` is
    /// the subject's own, in radians per second.
    pub fn choose(&mut self, subject: usize, known: &Known<'_>, turn_rate: f64) -> Motion<Vec2> {
        let choices = self.choices(subject, known, turn_rate);
        let context = self.path.sketch(known).context;
        let Some(trials) = self.subjects.get_mut(subject) else { return choices[0] };
        choices[trials.choose(&self.gate, context, choices)]
    }

    /// The current line comes first: with no experience the gate chooses it.
    fn choices(&mut self, subject: usize, known: &Known<'_>, turn_rate: f64) -> [Motion<Vec2>; CHOICES] {
        let now = known.newest();
        let mut places = [now.position; AIM_TICKS.len()];
        let line = |velocity: Vec2| Motion::Linear(Linear { position: now.position, velocity });
        let turning =
            State::moving(now.position, now.velocity).with_heading(now.velocity.heading(), turn_rate);
        let mut choices = [line(now.velocity); CHOICES];
        choices[1] = MotionKind::Circular.from_state(&turning);
        let answer: Result<(), Missing> = self.path.predict(subject, known, &AIM_TICKS, &mut places);
        if answer.is_ok() {
            for ((choice, place), ticks) in choices[2..].iter_mut().zip(places).zip(AIM_TICKS) {
                *choice = line((place - now.position) * (1.0 / (f64::from(ticks) * TICK_SECS)));
            }
        }
        choices
    }
}

impl<const CHOICES: usize> Trials<CHOICES> {
    pub(super) fn new(lasts_max: f64) -> Self {
        Self { own: Experience::new(), running: VecDeque::with_capacity(TRIALS_MAX), lasts_max }
    }

    /// Drops the motions that are being followed: a new life has begun.
    pub(super) fn clear(&mut self) {
        self.running.clear();
    }

    /// Compares the motions that are being followed with the subject's position, `secs` after the
    /// last call.
    pub(super) fn observe(&mut self, gate: &mut Gate<CHOICES>, place: Vec2, secs: f64, threshold: f64) {
        for trial in &mut self.running {
            trial.observe(place, secs, threshold);
        }
        while let Some(trial) = self.running.front().filter(|trial| trial.is_over(self.lasts_max)) {
            gate.handle_costs(&mut self.own, trial.context, &trial.costs(self.lasts_max));
            self.running.pop_front();
        }
    }

    /// Returns which of `choices` to send, and follows all of them.
    pub(super) fn choose(
        &mut self,
        gate: &Gate<CHOICES>,
        context: usize,
        choices: [Motion<Vec2>; CHOICES],
    ) -> usize {
        if self.running.len() == TRIALS_MAX {
            self.running.pop_front();
        }
        self.running.push_back(Trial { context, choices, secs: 0.0, lasted: [None; CHOICES] });
        gate.leader(&self.own, context)
    }
}

impl<const CHOICES: usize> Trial<CHOICES> {
    fn observe(&mut self, place: Vec2, secs: f64, threshold: f64) {
        self.secs += secs;
        for (lasted, choice) in self.lasted.iter_mut().zip(&self.choices) {
            if lasted.is_none() && choice.position_at(self.secs).distance(place) > threshold {
                *lasted = Some(self.secs);
            }
        }
    }

    fn is_over(&self, lasts_max: f64) -> bool {
        self.secs >= lasts_max || self.lasted.iter().all(Option::is_some)
    }

    /// A motion costs less the longer it lasts.
    fn costs(&self, lasts_max: f64) -> [f64; CHOICES] {
        self.lasted.map(|lasted| -lasted.unwrap_or(lasts_max).min(lasts_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Body;

    /// Sends a line whenever the last one is off by more than the threshold. Returns how many were
    /// sent in the second half.
    fn lines_sent(secs: usize, threshold: f64, path: impl Fn(f64) -> Vec2, is_lasting: bool) -> usize {
        let at = |tick: usize| path(tick as f64 * TICK_SECS);
        let history: Vec<Body> = (1..secs * 60)
            .map(|tick| Body {
                position: at(tick),
                velocity: (at(tick) - at(tick - 1)) * 60.0,
                acceleration: Vec2::ZERO,
            })
            .collect();
        let mut lasting = LastingMotion::new(10.0, threshold);
        let mut told: Option<(usize, Motion<Vec2>)> = None;
        let mut sent = 0;
        for now in 1..history.len() {
            let body = history[now - 1];
            let known = Known { history: &history[..now], ..Known::default() };
            lasting.learn(0, &known);
            lasting.observe(0, body.position, TICK_SECS);
            let is_true = told.is_some_and(|(since, motion)| {
                motion.position_at((now - since) as f64 * TICK_SECS).distance(body.position) <= threshold
            });
            if !is_true {
                let line = Motion::Linear(Linear { position: body.position, velocity: body.velocity });
                let motion = if is_lasting { lasting.choose(0, &known, 0.0) } else { line };
                told = Some((now, motion));
                sent += usize::from(now > history.len() / 2);
            }
        }
        sent
    }

    #[test]
    fn a_chord_lasts_longer_than_a_tangent() {
        let circle = |secs: f64| Vec2::new(libm::cos(1.5 * secs), libm::sin(1.5 * secs)) * 6.0;
        let (tangents, chords) = (lines_sent(60, 0.5, circle, false), lines_sent(60, 0.5, circle, true));
        // In theory a chord lasts twice as long: it leaves the circle and comes back.
        assert!(chords * 10 <= tangents * 7, "{chords} chords, {tangents} tangents");
    }

    #[test]
    fn a_straight_path_needs_one_line_either_way() {
        let straight = |secs: f64| Vec2::new(4.0, 1.0) * secs;
        assert_eq!((lines_sent(20, 0.1, straight, true), lines_sent(20, 0.1, straight, false)), (0, 0));
    }
}
