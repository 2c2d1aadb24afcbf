//! Convergence: how the eye is led from where something was drawn to where it turns out to be.
//!
//! A correction moves the *placed* path at once; the simulation uses that. [`Drawn`] bends what is
//! shown: at the instant of the correction it notes how far the drawn position is from the new
//! placed path, and how fast that distance changes, and then lets this [`VisibleError`] shrink to
//! nothing. Drawn = placed + what is left of the error, a closed form in the time since the
//! correction: the curve is the same at any frame rate.
//!
//! ```
//! use fairpath::State;
//! use fairpath::converge::{Convergence, Drawn};
//! use fairpath::time::{Now, SharedInstant, Span};
//! use fairpath::vector::Vec2;
//!
//! let mut drawn = Drawn::new(Convergence::default());
//! let now = Now::synchronised(SharedInstant::from_millis(1_000));
//! let believed = State::moving(Vec2::new(10.0, 0.0), Vec2::new(5.0, 0.0));
//! assert_eq!(drawn.at(now, &believed), believed);
//!
//! // A DR vector arrives: it crawls along half a metre further left.
//! let corrected = State::moving(Vec2::new(10.0, 0.5), Vec2::new(1.0, 0.0));
//! drawn.correct(now, &believed, &corrected);
//! assert_eq!(drawn.at(now, &corrected), believed);
//! assert_eq!(drawn.at(now + Span::from_millis(200), &corrected), corrected);
//! ```
//!
//! # Why errors, and not splines through the world
//!
//! The literature blends from where the entity was drawn to where it is expected at the end of the
//! blend. Taken relative to the placed path these are the same curves if the entity moves in a
//! straight line, and better ones if it does not, because a circle stays a circle under the
//! shrinking error. No point ahead is needed either, and what must hold for a stopped target holds
//! in the frame of a moving one.
//!
//! # What holds
//!
//! Let *gap* be the drawn position minus the placed one, at the instant of the last correction.
//!
//! | algorithm | drawn position | drawn velocity | error at most |
//! | --- | --- | --- | --- |
//! | snap | jumps | jumps | 0 |
//! | linear | continuous | jumps | 1 gap |
//! | cubic | continuous | continuous | 1.28 gaps |
//! | projective velocity blending | continuous | continuous | 1.33 gaps |
//! | critically damped | continuous | continuous | 1.22 gaps |
//!
//! Continuous, also when a correction cuts into an unfinished blend, unless it is farther than
//! [`snap_beyond`](Convergence::snap_beyond); the velocity also not where the gap is zero, because
//! turning without a distance to turn in would overshoot. For all of them: the error never points
//! to the other side of the placed position than the gap did (no overshoot); if it starts out
//! straight towards the placed position, or at rest, it never grows; and once
//! [`blend`](Convergence::blend) has passed, drawn *equals* placed.

mod critically_damped;
mod cubic;
mod linear;
mod projective_velocity_blending;

use crate::state::State;
use crate::time::{LocalInstant, Now, Span};
use crate::vector::Vector;

/// How corrections are shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convergence {
    /// Along which curve.
    pub algorithm: Algorithm,
    /// The longest that an error may stay visible after the correction that caused it. Default 200
    /// ms.
    ///
    /// Too low, and corrections look like jerks; too high, and what is drawn never catches up with
    /// what is true. Example: a tank turning at full speed (25 m/s, π/4 rad/s) leaves a
    /// straight line by 0.3 m every 175 ms, so more than that is never finished; bending 0.3 m
    /// away in 200 ms adds at most 2.3 m/s to what the eye sees, a tenth of the tank's speed.
    pub blend: Span,
    /// From how far on a correction is shown as a jump, in world units. Default 10.
    ///
    /// Too low, and ordinary corrections cut; too high, and things glide through walls. Example: a
    /// tank that started to turn and is heard of 800 ms later is off by 9 m; bending 10 m away
    /// in 200 ms shows it at 75 m/s, three times its top speed.
    pub snap_beyond: f64,
}

impl Default for Convergence {
    fn default() -> Self {
        Self { algorithm: Algorithm::default(), blend: Span::from_millis(200), snap_beyond: 10.0 }
    }
}

impl Convergence {
    /// The same, along another curve.
    #[must_use]
    pub const fn with_algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }
}

/// The curves along which an error is bent away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// None: drawn is placed (zero order).
    Snap,
    /// The error shrinks evenly.
    Linear,
    /// A Hermite spline from the drawn position and velocity to the placed ones.
    #[default]
    Cubic,
    /// Murphy's blend of two projections, from the drawn and from the placed state, whose
    /// velocities are blended as well.
    ProjectiveVelocityBlending,
    /// A spring that is damped just enough not to swing; quick at first, long in the tail.
    CriticallyDamped,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Snap, Self::Linear, Self::Cubic, Self::ProjectiveVelocityBlending, Self::CriticallyDamped];

    /// How long `error` may take, `secs_max` or less where it would overshoot.
    fn secs<V: Vector>(self, error: &VisibleError<V>, secs_max: f64) -> f64 {
        match self {
            Self::Snap => 0.0,
            Self::Linear | Self::CriticallyDamped => secs_max,
            Self::Cubic => cubic::secs(error, secs_max),
            Self::ProjectiveVelocityBlending => projective_velocity_blending::secs(error, secs_max),
        }
    }

    /// What is left of `error` at `at` seconds of `secs`.
    fn left<V: Vector>(self, error: &VisibleError<V>, at: f64, secs: f64) -> VisibleError<V> {
        match self {
            Self::Snap => VisibleError::default(),
            Self::Linear => linear::left(error, at, secs),
            Self::Cubic => cubic::left(error, at, secs),
            Self::ProjectiveVelocityBlending => projective_velocity_blending::left(error, at, secs),
            Self::CriticallyDamped => critically_damped::left(error, at, secs),
        }
    }

    /// Which share of a turn is left when `done` of its time has passed, 0 to 1.
    fn turn_left(self, done: f64) -> f64 {
        match self {
            Self::Snap => 0.0,
            Self::Linear => 1.0 - done,
            _ => smooth_fall(done),
        }
    }
}

/// What is drawn minus what is placed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VisibleError<V: Vector> {
    /// How far the drawn position is from the placed one.
    pub offset: V,
    /// How fast that changes, per second.
    pub rate: V,
}

/// One entity as it is drawn: a pure function of the corrections so far and of now.
///
/// Every frame, ask [`at`](Self::at). Whenever new information moves the placed path, call
/// [`correct`](Self::correct) with the placed state of that instant before and after. With the
/// first information, and with every new life, call [`snap`](Self::snap): there is nothing to blend
/// from.
#[derive(Clone, Copy, Debug)]
pub struct Drawn<V: Vector> {
    convergence: Convergence,
    blend: Option<Blend<V>>,
}

/// An error being bent away.
#[derive(Clone, Copy, Debug)]
struct Blend<V: Vector> {
    since: LocalInstant,
    error: VisibleError<V>,
    secs: f64,
    /// From the placed orientation to the drawn one; blended on its own, in a time of its own.
    turn: V::Spin,
    turn_secs: f64,
}

impl<V: Vector> Drawn<V> {
    /// Drawn where it is placed, until the first correction.
    pub const fn new(convergence: Convergence) -> Self {
        Self { convergence, blend: None }
    }

    /// What to draw now, given what is placed now. Its acceleration and spin are those of the
    /// placed path.
    pub fn at(&self, now: Now, placed: &State<V>) -> State<V> {
        let Some(blend) = &self.blend else { return *placed };
        let elapsed = blend.elapsed(now);
        if elapsed >= blend.secs.max(blend.turn_secs) {
            return *placed;
        }
        let error = blend.error_after(elapsed, self.convergence.algorithm);
        State {
            position: placed.position + error.offset,
            velocity: placed.velocity + error.rate,
            orientation: blend.turned(placed.orientation, elapsed, self.convergence.algorithm),
            ..*placed
        }
    }

    /// The placed path is no longer the one that leads through `before`, it is the one through
    /// `after`. Both are states of this very instant.
    ///
    /// The new blend starts from the position and velocity drawn now. It lasts as long as the share
    /// of the visible error that is new deserves: a correction that changes nothing prolongs
    /// nothing.
    pub fn correct(&mut self, now: Now, before: &State<V>, after: &State<V>) {
        let drawn = self.at(now, before);
        let error =
            VisibleError { offset: drawn.position - after.position, rate: drawn.velocity - after.velocity };
        if self.is_jump(&error) {
            return self.snap();
        }
        let secs_max = self.convergence.blend.as_secs_f64();
        let (secs_left, turn_secs_left) = self.secs_left(now);
        let moved = before.position.distance(after.position);
        let prolonged = prolong(secs_left, secs_max, moved, error.offset.length());
        let turned = V::angle_between(before.orientation, after.orientation);
        let to_turn = V::angle_between(after.orientation, drawn.orientation);
        self.blend = Some(Blend {
            since: now.local,
            error,
            secs: self.convergence.algorithm.secs(&error, prolonged),
            turn: V::turn_between(after.orientation, drawn.orientation),
            turn_secs: prolong(turn_secs_left, secs_max, turned, to_turn),
        });
    }

    /// Forgets what was drawn before: the next frame shows what is placed.
    pub const fn snap(&mut self) {
        self.blend = None;
    }

    /// What is drawn now minus what is placed now.
    pub fn visible_error(&self, now: Now) -> VisibleError<V> {
        self.blend.as_ref().map_or_else(VisibleError::default, |blend| {
            blend.error_after(blend.elapsed(now), self.convergence.algorithm)
        })
    }

    /// Too far, or not even a number.
    fn is_jump(&self, error: &VisibleError<V>) -> bool {
        let distance = error.offset.length();
        let near = distance <= self.convergence.snap_beyond && distance < f64::INFINITY;
        !near || self.convergence.algorithm == Algorithm::Snap || !error.rate.length().is_finite()
    }

    /// What is left of the present blend's time, for the position and for the turn.
    fn secs_left(&self, now: Now) -> (f64, f64) {
        self.blend.as_ref().map_or((0.0, 0.0), |blend| {
            let elapsed = blend.elapsed(now);
            ((blend.secs - elapsed).max(0.0), (blend.turn_secs - elapsed).max(0.0))
        })
    }
}

impl<V: Vector> Blend<V> {
    fn elapsed(&self, now: Now) -> f64 {
        (now.local - self.since).max(Span::ZERO).as_secs_f64()
    }

    fn error_after(&self, elapsed: f64, algorithm: Algorithm) -> VisibleError<V> {
        if elapsed < self.secs {
            algorithm.left(&self.error, elapsed, self.secs)
        } else {
            VisibleError::default()
        }
    }

    fn turned(&self, placed: V::Orientation, elapsed: f64, algorithm: Algorithm) -> V::Orientation {
        if elapsed < self.turn_secs {
            V::turned(placed, self.turn, algorithm.turn_left(elapsed / self.turn_secs))
        } else {
            placed
        }
    }
}

/// The time a blend may take: what was left of the one before, and of the rest as much as is new.
fn prolong(secs_left: f64, secs_max: f64, new: f64, whole: f64) -> f64 {
    let share = if new < whole { new / whole } else { 1.0 };
    (secs_left + (secs_max - secs_left) * share).min(secs_max)
}

/// Falls from 1 to 0 with level ends.
fn smooth_fall(done: f64) -> f64 {
    (1.0 - done) * (1.0 - done) * (1.0 + 2.0 * done)
}

/// The time the polynomial blends may take: they overshoot where the error, at the rate it starts
/// with, would go farther than three times its own length.
fn secs_without_overshoot<V: Vector>(error: &VisibleError<V>, secs_max: f64) -> f64 {
    let (distance, speed) = (error.offset.length(), error.rate.length());
    if speed * secs_max > 3.0 * distance { 3.0 * distance / speed } else { secs_max }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SharedInstant;
    use crate::vector::{Vec2, Vec3};

    fn at(millis: i64) -> Now {
        Now::synchronised(SharedInstant::from_millis(millis))
    }

    fn standing(x: f64) -> State<Vec2> {
        State::moving(Vec2::new(x, 0.0), Vec2::ZERO)
    }

    #[test]
    fn snap_draws_what_is_placed() {
        let mut drawn = Drawn::new(Convergence::default().with_algorithm(Algorithm::Snap));
        drawn.correct(at(0), &standing(0.0), &standing(1.0));
        assert_eq!(drawn.at(at(0), &standing(1.0)), standing(1.0));
    }

    #[test]
    fn half_way_the_symmetric_curves_have_done_half() {
        for algorithm in [Algorithm::Linear, Algorithm::Cubic, Algorithm::ProjectiveVelocityBlending] {
            let mut drawn = Drawn::new(Convergence::default().with_algorithm(algorithm));
            drawn.correct(at(0), &standing(0.0), &standing(1.0));
            assert!((drawn.at(at(100), &standing(1.0)).position.x - 0.5).abs() < 1e-15, "{algorithm:?}");
        }
    }

    #[test]
    fn the_spring_is_ahead_of_the_others() {
        let mut drawn = Drawn::new(Convergence::default().with_algorithm(Algorithm::CriticallyDamped));
        drawn.correct(at(0), &standing(0.0), &standing(1.0));
        assert!(drawn.at(at(100), &standing(1.0)).position.x > 0.85);
    }

    #[test]
    fn far_corrections_and_new_lives_cut() {
        let mut drawn = Drawn::new(Convergence::default());
        drawn.correct(at(0), &standing(0.0), &standing(10.5));
        assert_eq!(drawn.at(at(0), &standing(10.5)), standing(10.5));
        drawn.correct(at(50), &standing(10.5), &standing(9.5));
        assert_ne!(drawn.at(at(60), &standing(9.5)), standing(9.5));
        drawn.snap();
        assert_eq!(drawn.at(at(60), &standing(9.5)), standing(9.5));
    }

    #[test]
    fn a_turn_takes_the_short_way_round() {
        let facing = |heading| standing(0.0).with_heading(heading, 0.0);
        let mut drawn = Drawn::new(Convergence::default().with_algorithm(Algorithm::Linear));
        drawn.correct(at(0), &facing(3.0), &facing(-3.0));
        assert!((drawn.at(at(0), &facing(-3.0)).orientation - 3.0).abs() < 1e-14);
        let half_way = drawn.at(at(100), &facing(-3.0)).orientation;
        assert!(
            (half_way.abs() - std::f64::consts::PI).abs() < 1e-14,
            "through π, not through 0: {half_way}"
        );
        assert_eq!(drawn.at(at(200), &facing(-3.0)).orientation, -3.0);
    }

    #[test]
    fn in_space_the_nose_swings_over_too() {
        let facing = |direction: Vec3| State::<Vec3> { orientation: direction.facing(), ..State::default() };
        let (before, after) = (facing(Vec3::new(1.0, 0.0, 0.0)), facing(Vec3::new(0.0, 0.0, 1.0)));
        let mut drawn = Drawn::new(Convergence::default());
        drawn.correct(at(0), &before, &after);
        let angle_left =
            |millis| Vec3::angle_between(drawn.at(at(millis), &after).orientation, after.orientation);
        let quarter = 0.5 * std::f64::consts::PI;
        assert!((angle_left(0) - quarter).abs() < 1e-14);
        assert!((angle_left(100) - 0.5 * quarter).abs() < 1e-14);
        assert_eq!(angle_left(200), 0.0);
    }
}
