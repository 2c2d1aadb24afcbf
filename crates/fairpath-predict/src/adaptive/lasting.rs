//! The owner's side: which motion to put into a DR vector so that it stays true for longest.
//!
//! The velocity of this instant is seldom the best one to send: who has just begun to turn or to
//! brake will not keep it. The owner knows its own past well, and a server that owns everybody
//! knows all of them, so it may send the velocity *towards where it expects to be*, or an arc where
//! turns last. Receivers draw a line or an arc as ever, and nothing more is on the wire; only it
//! lasts longer, and fewer are needed.

use std::collections::VecDeque;

use super::gate::{Experience, Gate};
use super::{Adaptive, AdaptiveConfig, Objective, SUBJECTS_MAX};
use crate::{Known, Missing, Predictor, TICK_SECS};
use fairpath::State;
use fairpath::motion::{Linear, Motion, MotionKind};
use fairpath::vector::{Vec2, Vector};

/// Chooses what to send: the momentary velocity, that towards an expected place a little ahead, or
/// the momentary turn, whichever made DR vectors last longest in such situations.
///
/// Per tick call [`learn`](Self::learn) and [`observe`](Self::observe). When a DR vector is to be
/// cut, cut the motion of [`choose`](Self::choose): what comes of it, and of what else could have
/// been sent, is followed up.
#[derive(Clone, Debug)]
pub struct LastingMotion {
    path: Adaptive,
    threshold: f64,
    gate: Gate<CHOICES>,
    subjects: Vec<Trials>,
}

/// Expected places to aim at, in ticks ahead. Sooner ones suit thresholds that are crossed soon.
const AIM_TICKS: [u32; 5] = [6, 12, 18, 24, 36];
/// One line per place, the momentary line and the momentary arc.
const CHOICES: usize = AIM_TICKS.len() + 2;

/// What has lasted this long is as good as any, in seconds.
const LASTS_MAX: f64 = 4.0;

/// How many DR vectors of one subject are followed up at once. At ten a second every one is.
const TRIALS_MAX: usize = 40;

#[derive(Clone, Debug)]
struct Trials {
    own: Experience<CHOICES>,
    running: VecDeque<Trial>,
}

/// A DR vector as it was sent, and as it could have been sent.
#[derive(Clone, Copy, Debug)]
struct Trial {
    context: usize,
    choices: [Motion<Vec2>; CHOICES],
    secs: f64,
    /// After how many seconds each left the path; none while it lasts.
    lasted: [Option<f64>; CHOICES],
}

impl LastingMotion {
    /// For a game in which nobody is much faster than `top_speed`, and DR vectors that may be off
    /// by `threshold`.
    pub fn new(top_speed: f64, threshold: f64) -> Self {
        // Within the threshold or not: how far beyond it does not matter to what lasts.
        let config = AdaptiveConfig { distance_in_hits: 0.0, ..AdaptiveConfig::default() };
        let objective = Objective::Hits { radius: threshold };
        Self {
            path: Adaptive::with_config(top_speed, objective, config),
            threshold,
            gate: Gate::new(&config),
            subjects: Vec::new(),
        }
    }

    /// Another tick of a subject's real path. A history of one tick begins a new life.
    pub fn learn(&mut self, subject: usize, known: &Known<'_>) {
        self.path.learn(subject, known);
        if known.history.len() == 1
            && let Some(trials) = self.subjects.get_mut(subject)
        {
            trials.running.clear();
        }
    }

    /// So many seconds after it was last observed, the subject is at `place`: what has been sent
    /// may no longer be true. As often as DR vectors can be cut, which need not be once per
    /// tick.
    pub fn observe(&mut self, subject: usize, place: Vec2, secs: f64) {
        if subject >= SUBJECTS_MAX || !place.is_finite() {
            return;
        }
        if self.subjects.len() <= subject {
            self.subjects.resize_with(subject + 1, Trials::new);
        }
        let trials = &mut self.subjects[subject];
        for trial in &mut trials.running {
            trial.observe(place, secs, self.threshold);
        }
        while let Some(trial) = trials.running.front().filter(|trial| trial.is_over()) {
            self.gate.handle_costs(&mut trials.own, trial.context, &trial.costs());
            trials.running.pop_front();
        }
    }

    /// The motion to cut a DR vector from now, starting where the subject is. `turn_rate` is its
    /// own, in radians per second.
    pub fn choose(&mut self, subject: usize, known: &Known<'_>, turn_rate: f64) -> Motion<Vec2> {
        let choices = self.choices(subject, known, turn_rate);
        let context = self.path.sketch(known).context;
        let Some(trials) = self.subjects.get_mut(subject) else { return choices[0] };
        if trials.running.len() == TRIALS_MAX {
            trials.running.pop_front();
        }
        trials.running.push_back(Trial { context, choices, secs: 0.0, lasted: [None; CHOICES] });
        choices[self.gate.leader(&trials.own, context)]
    }

    /// The momentary line first: before anything was seen it is followed.
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

impl Trials {
    fn new() -> Self {
        Self { own: Experience::new(), running: VecDeque::with_capacity(TRIALS_MAX) }
    }
}

impl Trial {
    fn observe(&mut self, place: Vec2, secs: f64, threshold: f64) {
        self.secs += secs;
        for (lasted, choice) in self.lasted.iter_mut().zip(&self.choices) {
            if lasted.is_none() && choice.position_at(self.secs).distance(place) > threshold {
                *lasted = Some(self.secs);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.secs >= LASTS_MAX || self.lasted.iter().all(Option::is_some)
    }

    /// What lasts costs less.
    fn costs(&self) -> [f64; CHOICES] {
        self.lasted.map(|lasted| -lasted.unwrap_or(LASTS_MAX).min(LASTS_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, Condition};

    /// Sends a line whenever the last one is off by more than the threshold; how many were sent in
    /// the second half.
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
            let known = Known {
                history: &history[..now],
                condition: Condition::default(),
                others: &[],
                world: None,
                inputs: &[],
            };
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
        // In theory a chord lasts twice as long: it leaves the circle by the sagitta and comes back.
        assert!(chords * 10 <= tangents * 7, "{chords} chords, {tangents} tangents");
    }

    #[test]
    fn a_straight_path_needs_one_line_either_way() {
        let straight = |secs: f64| Vec2::new(4.0, 1.0) * secs;
        assert_eq!((lines_sent(20, 0.1, straight, true), lines_sent(20, 0.1, straight, false)), (0, 0));
    }
}
