//! The adaptive predictor as the forecast of one owner.

use super::gate::Gate;
use super::lasting::Trials;
use super::{Adaptive, AdaptiveConfig, Objective};
use crate::{Body, Known, Predictor, TICK_RATE, TICK_SECS};
use fairpath::motion::{Linear, Motion, MotionKind, Quadratic};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{Forecast, Observation, State};

/// Chooses the motion of each DR vector that an owner exports, so that DR vectors last long.
///
/// It learns the entity's own path and predicts its next second. Then it fits a line, a parabola
/// and an arc to the prediction by least squares, over the time that a DR vector usually lives. Of
/// these and of the motions that start in the current state it takes the one that lasted longest in
/// similar situations. Receivers need no predictor: they follow the motion like any other.
///
/// It works in the plane. One forecast takes about 300 kB and serves one entity.
///
/// ```
/// use fairpath::{EntityId, MotionKind, Owner, Trigger, Vec2};
/// use fairpath_predict::AdaptiveForecast;
///
/// let (top_speed, threshold, model) = (60.0, 0.2, MotionKind::Circular);
/// let forecast = AdaptiveForecast::new(top_speed, threshold, model);
/// let owner = Owner::<Vec2>::new(EntityId(1), Trigger::within(threshold))
///     .with_model(model)
///     .with_forecast(Box::new(forecast));
/// ```
#[derive(Clone, Debug)]
pub struct AdaptiveForecast {
    path: Adaptive,
    threshold: f64,
    model: MotionKind,
    gate: Gate<CHOICES>,
    trials: Trials<CHOICES>,
    history: History,
    last_cut: Option<SharedInstant>,
    /// The usual life of a DR vector, in seconds.
    life: f64,
}

/// Models that start in the current state, after the owner's own.
const MODELS: [MotionKind; 3] = [MotionKind::Linear, MotionKind::Quadratic, MotionKind::Circular];
/// The spans to fit, in usual lives of a DR vector.
const SPANS: [f64; 3] = [0.5, 1.0, 1.5];
/// The motions to choose from. The owner's model is first: with no experience the gate chooses it.
const CHOICES: usize = 1 + MODELS.len() + FITS * SPANS.len();
/// A line, a parabola and an arc.
const FITS: usize = 3;

/// Predicted positions per fit.
const POINTS: usize = 8;
/// The farthest prediction, in ticks: 1 s.
const AHEAD_MAX: f64 = 60.0;
/// Longer lives count as this many seconds: the usual heartbeat replaces every DR vector then.
const LASTS_MAX: f64 = 1.0;
/// Number of DR vectors whose mean life is the usual one.
const LIVES: f64 = 16.0;
/// A longer time between two observations starts a new path.
const GAP_MAX: Span = Span::from_secs(1);

impl AdaptiveForecast {
    /// Creates the forecast of an entity that is rarely faster than `top_speed`, whose owner
    /// generates at the distance `threshold` and predicts with `model`.
    pub fn new(top_speed: f64, threshold: f64, model: MotionKind) -> Self {
        // A motion is within the threshold or not: how far outside does not matter. One entity
        // generates few DR vectors, so situations count on their own after 30 of them.
        let config = AdaptiveConfig {
            distance_in_hits: 0.0,
            common_cases: 30.0,
            others_cases: 30.0,
            ..AdaptiveConfig::default()
        };
        Self {
            path: Adaptive::with_config(top_speed, Objective::Hits { radius: threshold }, config),
            threshold,
            model,
            gate: Gate::new(&config),
            trials: Trials::new(LASTS_MAX),
            history: History::default(),
            last_cut: None,
            life: 0.5 * LASTS_MAX,
        }
    }

    fn choices(&mut self, state: &State<Vec2>) -> [Motion<Vec2>; CHOICES] {
        let mut choices = [self.model.from_state(state); CHOICES];
        let (plain, fitted) = choices.split_at_mut(1 + MODELS.len());
        for (choice, kind) in plain[1..].iter_mut().zip(MODELS) {
            *choice = kind.from_state(state);
        }
        for (choices, span) in fitted.chunks_exact_mut(FITS).zip(SPANS) {
            let end = (span * self.life / TICK_SECS).clamp(POINTS as f64, AHEAD_MAX);
            let ticks: [u32; POINTS] =
                std::array::from_fn(|point| (end * (point + 1) as f64 / POINTS as f64) as u32);
            let mut places = [Vec2::ZERO; POINTS];
            if self.path.predict(0, &self.history.known(), &ticks, &mut places).is_ok() {
                let ways = ticks.iter().zip(places);
                let ways = ways.map(|(ticks, place)| (f64::from(*ticks) * TICK_SECS, place - state.position));
                choices.copy_from_slice(&fits(state.position, ways));
            }
        }
        choices
    }
}

impl Forecast<Vec2> for AdaptiveForecast {
    fn observe(&mut self, observation: &Observation<Vec2>, at: SharedInstant) {
        let State { position, velocity, acceleration, .. } = *observation.state();
        let body = Body { position, velocity, acceleration };
        let continues = matches!(observation, Observation::Moved(_));
        match self.history.elapsed(at).filter(|elapsed| continues && *elapsed <= GAP_MAX) {
            Some(elapsed) => {
                self.history.extend(body, at, |known| self.path.learn(0, known));
                self.trials.observe(&mut self.gate, position, elapsed.as_secs_f64(), self.threshold);
            }
            None => {
                self.trials.clear();
                self.last_cut = None;
                self.history = History::starting(body, at);
                self.path.learn(0, &self.history.known());
            }
        }
    }

    fn motion(&mut self, state: &State<Vec2>, at: SharedInstant) -> Option<Motion<Vec2>> {
        if self.history.ticks.is_empty() {
            return None;
        }
        if let Some(last) = self.last_cut.replace(at) {
            let lived = (at - last).as_secs_f64().clamp(0.0, LASTS_MAX);
            self.life += (lived - self.life) / LIVES;
        }
        let choices = self.choices(state);
        let context = self.path.sketch(&self.history.known()).context;
        Some(choices[self.trials.choose(&self.gate, context, choices)])
    }
}

/// Returns the line, the parabola and the arc from `position` with the least squared distance to
/// later `ways`, each an offset after some seconds. The arc has the parabola's start and turn.
fn fits(position: Vec2, ways: impl Iterator<Item = (f64, Vec2)>) -> [Motion<Vec2>; FITS] {
    let (mut t2, mut t3, mut t4) = (0.0, 0.0, 0.0);
    let (mut way_t, mut way_t2) = (Vec2::ZERO, Vec2::ZERO);
    for (t, way) in ways {
        (t2, t3, t4) = (t2 + t * t, t3 + t * t * t, t4 + t * t * t * t);
        (way_t, way_t2) = (way_t + way * t, way_t2 + way * (t * t));
    }
    let line = Linear { position, velocity: way_t * (1.0 / t2) };
    let unit = 1.0 / (t2 * t4 - t3 * t3);
    let velocity = (way_t * t4 - way_t2 * t3) * unit;
    let acceleration = (way_t2 * t2 - way_t * t3) * (2.0 * unit);
    let sideways = velocity.x * acceleration.y - velocity.y * acceleration.x;
    let turn_rate = sideways / velocity.length_squared().max(f64::MIN_POSITIVE);
    let turning = State::moving(position, velocity).with_heading(velocity.heading(), turn_rate);
    [
        Motion::Linear(line),
        Motion::Quadratic(Quadratic { position, velocity, acceleration }),
        MotionKind::Circular.from_state(&turning),
    ]
}

/// The entity's past at every tick of the predictor.
#[derive(Clone, Debug, Default)]
struct History {
    ticks: Vec<Body>,
    /// Number of ticks before `ticks`.
    forgotten: i64,
    start: SharedInstant,
    newest: Option<(SharedInstant, Body)>,
}

impl History {
    /// Ticks that the predictor is shown: it looks back two seconds.
    const SHOWN: usize = 121;

    fn starting(body: Body, at: SharedInstant) -> Self {
        Self { ticks: vec![body], forgotten: 0, start: at, newest: Some((at, body)) }
    }

    /// Returns the time since the newest observation, if there is one.
    fn elapsed(&self, at: SharedInstant) -> Option<Span> {
        self.newest.map(|(newest, _)| at - newest)
    }

    /// Adds every tick between the newest observation and this one, and shows each to `learn`.
    fn extend(&mut self, body: Body, at: SharedInstant, mut learn: impl FnMut(&Known<'_>)) {
        let Some((from_at, from)) = self.newest.replace((at, body)) else { return };
        let secs = (at - from_at).as_secs_f64();
        loop {
            let tick_at = self.start + TICK_RATE.begin(self.forgotten + self.ticks.len() as i64);
            if tick_at > at {
                return;
            }
            let share = if secs > 0.0 { (tick_at - from_at).as_secs_f64() / secs } else { 1.0 };
            let between = |from: Vec2, to: Vec2| from + (to - from) * share;
            self.ticks.push(Body {
                position: between(from.position, body.position),
                velocity: between(from.velocity, body.velocity),
                acceleration: between(from.acceleration, body.acceleration),
            });
            if self.ticks.len() == 4 * Self::SHOWN {
                self.forgotten += self.ticks.drain(..3 * Self::SHOWN).len() as i64;
            }
            learn(&self.known());
        }
    }

    fn known(&self) -> Known<'_> {
        let history = &self.ticks[self.ticks.len().saturating_sub(Self::SHOWN)..];
        Known { history, ..Known::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_finds_the_motion_that_it_was_made_from() {
        let start = State::moving(Vec2::new(3.0, -1.0), Vec2::new(4.0, 2.0));
        let bent = start.with_acceleration(Vec2::new(-1.0, 3.0));
        let secs = || (1..=POINTS).map(|point| point as f64 * 0.1);
        let ways = |motion: Motion<Vec2>| secs().map(move |at| (at, motion.displacement_at(at)));
        for (place, kind, state) in [(0, MotionKind::Linear, start), (1, MotionKind::Quadratic, bent)] {
            let (truth, fitted) =
                (kind.from_state(&state), fits(start.position, ways(kind.from_state(&state))));
            for at in secs() {
                let error = fitted[place].position_at(at).distance(truth.position_at(at));
                assert!(error < 1e-9, "{kind:?} is off by {error}");
            }
        }
        let arc: Motion<Vec2> =
            MotionKind::Circular.from_state(&start.with_heading(start.velocity.heading(), 0.5));
        let error = fits(start.position, ways(arc))[2].position_at(0.8).distance(arc.position_at(0.8));
        assert!(error < 0.05, "{error}");
    }
}
