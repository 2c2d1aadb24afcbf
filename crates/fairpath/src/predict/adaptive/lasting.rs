//! The owner's side: which velocity to put into a DR vector so that the line it draws stays true for longest.
//!
//! The velocity of this instant is seldom the best one to send: who has just begun to turn or to brake will not keep
//! it. The owner knows its own past well, so it may send the velocity *towards where it expects to be*. Receivers
//! draw a line as ever, and nothing more is on the wire; only the line lasts longer, and fewer are needed.

use std::collections::VecDeque;

use super::features::Sketch;
use super::gate::{Experience, Gate};
use super::{Adaptive, Objective, SUBJECTS_MAX};
use crate::predict::{Known, Missing, Predictor, TICK_SECS};
use crate::vector::{Vec2, Vector};

/// Chooses the velocity to send: the momentary one, or that towards an expected place a little ahead, whichever made
/// lines last longest in such situations.
///
/// Per tick call [`learn`](Self::learn), then put [`velocity`](Self::velocity) into the state that
/// [`Owner::observe`](crate::Owner::observe) is shown, and say with [`handle_sent`](Self::handle_sent) when that cut a
/// DR vector.
#[derive(Clone, Debug)]
pub struct LastingLine {
    path: Adaptive,
    threshold: f64,
    gate: Gate<CHOICES>,
    subjects: Vec<Trials>,
}

/// Expected places to aim at, in ticks ahead. Sooner ones suit thresholds that are crossed soon.
const AIM_TICKS: [u32; 5] = [6, 12, 18, 24, 36];
const CHOICES: usize = AIM_TICKS.len() + 1;

/// A line that has lasted this long is as good as any: 4 s.
const LASTS_MAX: u32 = 240;

/// How many DR vectors of one subject are followed up at once. At ten a second every one is.
const TRIALS_MAX: usize = 40;

#[derive(Clone, Debug)]
struct Trials {
    known: usize,
    own: Experience<CHOICES>,
    running: VecDeque<Trial>,
}

/// A DR vector as it was sent, and as it could have been sent.
#[derive(Clone, Copy, Debug)]
struct Trial {
    context: usize,
    start: Vec2,
    velocities: [Vec2; CHOICES],
    ticks: u32,
    /// After how many ticks each line left the path; none while it lasts.
    lasted: [Option<u32>; CHOICES],
}

impl LastingLine {
    /// For a game in which nobody is much faster than `top_speed`, and lines that may be off by `threshold`.
    pub fn new(top_speed: f64, threshold: f64) -> Self {
        Self {
            path: Adaptive::new(top_speed, Objective::Mean),
            threshold,
            gate: Gate::new(),
            subjects: Vec::new(),
        }
    }

    /// Another tick of a subject's real path.
    pub fn learn(&mut self, subject: usize, known: &Known<'_>) {
        if subject >= SUBJECTS_MAX || !known.newest().is_finite() {
            return;
        }
        self.path.learn(subject, known);
        if self.subjects.len() <= subject {
            self.subjects.resize_with(subject + 1, Trials::new);
        }
        let trials = &mut self.subjects[subject];
        trials.handle_tick(known.history.len(), known.newest().position, self.threshold);
        while let Some(trial) = trials.running.front().filter(|trial| trial.is_over()) {
            let costs = trial.lasted.map(|lasted| -f64::from(lasted.unwrap_or(LASTS_MAX)));
            self.gate.handle_costs(&mut trials.own, trial.context, &costs);
            trials.running.pop_front();
        }
    }

    /// The velocity to send, if a DR vector were cut now.
    pub fn velocity(&mut self, subject: usize, known: &Known<'_>) -> Vec2 {
        let Some(trials) = self.subjects.get(subject) else { return known.newest().velocity };
        let context = self.context_of(known);
        let choice = self.gate.leader(&trials.own, context);
        self.choices(subject, known)[choice]
    }

    /// A DR vector was cut at the newest tick: what comes of it, and of what else could have been sent, is followed up.
    pub fn handle_sent(&mut self, subject: usize, known: &Known<'_>) {
        let (context, velocities) = (self.context_of(known), self.choices(subject, known));
        let Some(trials) = self.subjects.get_mut(subject) else { return };
        if trials.running.len() == TRIALS_MAX {
            trials.running.pop_front();
        }
        let start = known.newest().position;
        trials.running.push_back(Trial { context, start, velocities, ticks: 0, lasted: [None; CHOICES] });
    }

    fn context_of(&self, known: &Known<'_>) -> usize {
        Sketch::of(known, &self.path.arena, self.path.top_speed).context
    }

    /// The middle choice first: before anything was seen it is followed.
    fn choices(&mut self, subject: usize, known: &Known<'_>) -> [Vec2; CHOICES] {
        let mut places = [known.newest().position; AIM_TICKS.len()];
        let answer: Result<(), Missing> = self.path.predict(subject, known, &AIM_TICKS, &mut places);
        if answer.is_err() {
            return [known.newest().velocity; CHOICES];
        }
        let towards = |place: usize| {
            (places[place] - known.newest().position) * (1.0 / (f64::from(AIM_TICKS[place]) * TICK_SECS))
        };
        [towards(2), towards(1), towards(3), towards(0), towards(4), known.newest().velocity]
    }
}

impl Trials {
    fn new() -> Self {
        Self { known: 0, own: Experience::new(), running: VecDeque::with_capacity(TRIALS_MAX) }
    }

    fn handle_tick(&mut self, known: usize, place: Vec2, threshold: f64) {
        if known <= 1 || known < self.known {
            self.running.clear();
        }
        self.known = known;
        for trial in &mut self.running {
            trial.handle_tick(place, threshold);
        }
    }
}

impl Trial {
    fn handle_tick(&mut self, place: Vec2, threshold: f64) {
        self.ticks += 1;
        let secs = f64::from(self.ticks) * TICK_SECS;
        for (lasted, velocity) in self.lasted.iter_mut().zip(self.velocities) {
            let is_off = (self.start + velocity * secs - place).length() > threshold;
            if lasted.is_none() && is_off {
                *lasted = Some(self.ticks);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.ticks >= LASTS_MAX || self.lasted.iter().all(Option::is_some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::{Body, Condition};

    /// Sends a line whenever the last one is off by more than the threshold; how many were sent in the second half.
    fn lines_sent(secs: usize, threshold: f64, path: impl Fn(f64) -> Vec2, is_lasting: bool) -> usize {
        let at = |tick: usize| path(tick as f64 * TICK_SECS);
        let history: Vec<Body> = (1..secs * 60)
            .map(|tick| Body {
                position: at(tick),
                velocity: (at(tick) - at(tick - 1)) * 60.0,
                acceleration: Vec2::ZERO,
            })
            .collect();
        let mut lasting = LastingLine::new(10.0, threshold);
        let mut line: Option<(usize, Vec2, Vec2)> = None;
        let mut sent = 0;
        for now in 1..history.len() {
            let body = history[now - 1];
            let known = Known {
                history: &history[..now],
                condition: Condition::default(),
                others: &[],
                world: None,
                inputs: &[],
            };
            lasting.learn(0, &known);
            let is_true = line.is_some_and(|(since, start, velocity)| {
                let secs = (now - since) as f64 * TICK_SECS;
                (start + velocity * secs - body.position).length() <= threshold
            });
            if !is_true {
                let velocity = if is_lasting { lasting.velocity(0, &known) } else { body.velocity };
                lasting.handle_sent(0, &known);
                line = Some((now, body.position, velocity));
                sent += usize::from(now > history.len() / 2);
            }
        }
        sent
    }

    #[test]
    fn a_chord_lasts_longer_than_a_tangent() {
        let circle = |secs: f64| Vec2::new(libm::cos(1.5 * secs), libm::sin(1.5 * secs)) * 6.0;
        let (tangents, chords) = (lines_sent(60, 0.5, circle, false), lines_sent(60, 0.5, circle, true));
        // In theory a chord lasts twice as long: it leaves the circle by the sagitta and comes back.
        assert!(chords * 10 <= tangents * 7, "{chords} chords, {tangents} tangents");
    }

    #[test]
    fn a_straight_path_needs_one_line_either_way() {
        let straight = |secs: f64| Vec2::new(4.0, 1.0) * secs;
        assert_eq!((lines_sent(20, 0.1, straight, true), lines_sent(20, 0.1, straight, false)), (0, 0));
    }
}
