//! Convergence: smooths corrections, so that a drawn entity does not jump when a DR vector arrives.
//!
//! A correction moves the *placed* path at once; the simulation uses that. [`Drawn`] smooths what
//! is shown. At the instant of the correction it records the distance from the new placed path to
//! the drawn position, and how fast this distance changes. This [`VisibleError`] then shrinks to
//! zero. Drawn = placed + the error left, a closed form in the time since the correction: the curve
//! is the same at any frame rate.
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
//! // A DR vector arrives: the entity is slower, and half a metre further left.
//! let corrected = State::moving(Vec2::new(10.0, 0.5), Vec2::new(1.0, 0.0));
//! drawn.correct(now, &believed, &corrected);
//! assert_eq!(drawn.at(now, &corrected), believed);
//! assert_eq!(drawn.at(now + Span::from_millis(200), &corrected), corrected);
//! ```
//!
//! # Why errors, and not splines through the world
//!
//! The literature blends from the drawn position to the position expected at the end of the blend.
//! Relative to the placed path these are the same curves if the entity moves in a straight line.
//! They are better ones if it does not, because a circle stays a circle under a shrinking error. No
//! point ahead is needed, and each property of a stopped target also holds for a moving one.
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
//! "Continuous" includes a correction during an unfinished blend. There are two exceptions: a
//! correction beyond [`snap_beyond`](Convergence::snap_beyond) jumps, and the velocity jumps where
//! the gap is zero, because turning without a distance to turn in would overshoot. For all
//! algorithms: the error never points to the other side of the placed position than the gap did (no
//! overshoot); an error that starts at rest or straight towards the placed position never grows;
//! once [`blend`](Convergence::blend) has passed, drawn *equals* placed.
//!
//! # How long a blend lasts
//!
//! Drawn is worse than placed when the next correction arrives before the last blend ends: the rest
//! of the old error adds to the new one. So a blend lasts half the pause since the last correction,
//! within [`blend_min`](Convergence::blend_min) and [`blend`](Convergence::blend). Half, because
//! jitter and relays make pauses uneven. [`Convergence::smooth`] uses this; with
//! [`Convergence::default`] every blend lasts `blend`. A pause lies between two corrections, not
//! between two frames, so the frame rate changes nothing.

mod critically_damped;
mod cubic;
mod linear;
mod projective_velocity_blending;

use crate::motion::NUMBER_MAX;
use crate::state::State;
use crate::time::{LocalInstant, Now, Span};
use crate::vector::Vector;

/// Settings for showing corrections. Plain data: a server sends it to its clients, which accept it
/// if it [is valid](Self::is_valid).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convergence {
    /// The curve of the correction. Default [`Algorithm::Cubic`].
    pub algorithm: Algorithm,
    /// Longest time that an error stays visible after its correction. Default 200 ms.
    ///
    /// Too low: corrections look like jerks. Too high: the drawn position never catches up with the
    /// truth. Example: a tank turning at full speed (25 m/s, π/4 rad/s) leaves a straight line by
    /// 0.3 m every 175 ms, so a longer blend never finishes; removing 0.3 m in 200 ms adds at most
    /// 2.3 m/s to the drawn speed, a tenth of the tank's.
    pub blend: Span,
    /// Shortest blend. Default 200 ms: every blend lasts [`blend`](Self::blend).
    ///
    /// Below `blend`, a blend lasts half the pause since the last correction, but at least this.
    /// Too low: corrections that arrive together look like jerks. Too high: errors add up. Example:
    /// a ship that accelerates with 80 u/s² leaves a straight line by 0.2 every 71 ms. With blends
    /// of 200 ms it is drawn twice as wrong as it is placed, with 50 to 100 ms 1.2 times.
    pub blend_min: Span,
    /// Distance from which a correction is shown as a jump, in world units. Default 10.
    ///
    /// Too low: ordinary corrections jump. Too high: entities glide through walls. Example: a tank
    /// that started to turn is off by 9 m if the update arrives 800 ms later; removing 10 m in 200
    /// ms shows it at 75 m/s, three times its top speed.
    pub snap_beyond: f64,
}

impl Default for Convergence {
    fn default() -> Self {
        let blend = Span::from_millis(200);
        Self { algorithm: Algorithm::default(), blend, blend_min: blend, snap_beyond: 10.0 }
    }
}

impl Convergence {
    /// Longest blend that [`is_valid`](Self::is_valid) accepts. 10 s: three times the horizon after
    /// which a replica freezes. A longer blend shows an error for longer than a DR vector lives.
    pub const BLEND_MAX: Span = Span::from_secs(10);

    /// Returns the settings of a new [`Replica`](crate::place::Replica): [`Algorithm::Linear`], 50
    /// to 100 ms, jumps beyond 10 units.
    ///
    /// Chosen by measurement on ships of 60 u/s and 80 u/s² with a threshold of 0.2, over a good
    /// and a bad link (`cargo test -p fairpath-sim --test scenarios drawing -- --nocapture`). The
    /// drawn error (p95) is at most 1.2 times the placed one. What a ship moves on the screen
    /// between two frames and did not move in truth (p99, 144 frames a second) is at most 0.24 of
    /// what it is without smoothing. The curves with a continuous velocity draw a ship farther from
    /// the truth: at first they carry on with the velocity that was wrong.
    #[must_use]
    pub const fn smooth() -> Self {
        Self {
            algorithm: Algorithm::Linear,
            blend: Span::from_millis(100),
            blend_min: Span::from_millis(50),
            snap_beyond: 10.0,
        }
    }

    /// Returns whether every number is finite and in range: both blend times from zero to
    /// [`BLEND_MAX`](Self::BLEND_MAX), `snap_beyond` from zero to
    /// [`NUMBER_MAX`]. Other settings draw finite states too, but make
    /// no sense: check settings from a peer.
    pub fn is_valid(&self) -> bool {
        let spans = Span::ZERO..=Self::BLEND_MAX;
        spans.contains(&self.blend)
            && spans.contains(&self.blend_min)
            && (0.0..=NUMBER_MAX).contains(&self.snap_beyond)
    }

    /// Sets the curve.
    #[must_use]
    pub const fn with_algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Returns the duration of a blend that starts `pause` after the last correction.
    fn secs(&self, pause: Option<Span>) -> f64 {
        let span = pause.map_or(self.blend, |pause| pause.scaled(0.5).max(self.blend_min).min(self.blend));
        span.as_secs_f64()
    }
}

/// The curves along which an error is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// No curve: drawn equals placed at once.
    Snap,
    /// The error shrinks linearly.
    Linear,
    /// A Hermite spline from the drawn position and velocity to the placed ones. The default.
    #[default]
    Cubic,
    /// Murphy's blend of projections from the drawn and the placed state, with blended velocities.
    ProjectiveVelocityBlending,
    /// A spring with just enough damping not to oscillate: quick at first, with a long tail.
    CriticallyDamped,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 5] =
        [Self::Snap, Self::Linear, Self::Cubic, Self::ProjectiveVelocityBlending, Self::CriticallyDamped];

    /// Returns how long to take for `error`: `secs_max`, or less where it would overshoot.
    fn secs<V: Vector>(self, error: &VisibleError<V>, secs_max: f64) -> f64 {
        match self {
            Self::Snap => 0.0,
            Self::Linear | Self::CriticallyDamped => secs_max,
            Self::Cubic => cubic::secs(error, secs_max),
            Self::ProjectiveVelocityBlending => projective_velocity_blending::secs(error, secs_max),
        }
    }

    /// Returns the rest of `error` after `at` of `secs` seconds.
    fn left<V: Vector>(self, error: &VisibleError<V>, at: f64, secs: f64) -> VisibleError<V> {
        match self {
            Self::Snap => VisibleError::default(),
            Self::Linear => linear::left(error, at, secs),
            Self::Cubic => cubic::left(error, at, secs),
            Self::ProjectiveVelocityBlending => projective_velocity_blending::left(error, at, secs),
            Self::CriticallyDamped => critically_damped::left(error, at, secs),
        }
    }

    /// Returns the share of a turn left, 0 to 1, when `done` of its time has passed.
    fn turn_left(self, done: f64) -> f64 {
        match self {
            Self::Snap => 0.0,
            Self::Linear => 1.0 - done,
            _ => smooth_fall(done),
        }
    }
}

/// The drawn state minus the placed state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VisibleError<V: Vector> {
    /// The drawn position minus the placed one.
    pub offset: V,
    /// The change of `offset` per second.
    pub rate: V,
}

/// One entity as it is drawn: a pure function of the corrections so far and of the time.
///
/// Call [`at`](Self::at) every frame. Whenever new information moves the placed path, call
/// [`correct`](Self::correct) with the placed state of that instant before and after. At the first
/// DR vector and at every new life, call [`snap`](Self::snap): there is nothing to blend from.
#[derive(Clone, Copy, Debug)]
pub struct Drawn<V: Vector> {
    convergence: Convergence,
    blend: Option<Blend<V>>,
    corrected_at: Option<LocalInstant>,
}

/// An error that is being removed.
#[derive(Clone, Copy, Debug)]
struct Blend<V: Vector> {
    since: LocalInstant,
    error: VisibleError<V>,
    secs: f64,
    /// From the placed orientation to the drawn one; blended separately, with its own duration.
    turn: V::Spin,
    turn_secs: f64,
}

impl<V: Vector> Drawn<V> {
    /// Returns an entity that is drawn where it is placed, until the first correction.
    pub const fn new(convergence: Convergence) -> Self {
        Self { convergence, blend: None, corrected_at: None }
    }

    /// Returns the state to draw at `now`, given the placed state at `now`. Acceleration and spin
    /// are those of the placed path.
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

    /// Starts a blend: the placed path led through `before`, now through `after`: states at `now`.
    ///
    /// The blend starts from the position and velocity drawn now. It takes the time left of the
    /// last blend if nothing of the visible error is new, and the full time if all of it is.
    pub fn correct(&mut self, now: Now, before: &State<V>, after: &State<V>) {
        let drawn = self.at(now, before);
        let error =
            VisibleError { offset: drawn.position - after.position, rate: drawn.velocity - after.velocity };
        if self.is_jump(&error) {
            return self.snap();
        }
        let last = self.corrected_at.replace(now.local);
        let secs_max = self.convergence.secs(last.map(|last| now.local - last));
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

    /// Ends the blend and forgets past corrections: the next frame shows the placed state.
    pub const fn snap(&mut self) {
        *self = Self::new(self.convergence);
    }

    /// Returns the drawn state minus the placed state at `now`.
    pub fn visible_error(&self, now: Now) -> VisibleError<V> {
        self.blend.as_ref().map_or_else(VisibleError::default, |blend| {
            blend.error_after(blend.elapsed(now), self.convergence.algorithm)
        })
    }

    /// Returns whether the error is too large to blend, or not finite.
    fn is_jump(&self, error: &VisibleError<V>) -> bool {
        let distance = error.offset.length();
        let near = distance <= self.convergence.snap_beyond && distance < f64::INFINITY;
        !near || self.convergence.algorithm == Algorithm::Snap || !error.rate.length().is_finite()
    }

    /// Returns the time left of the current blend, for the position and for the turn.
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

/// Returns the duration of a new blend: between the time left of the last and `secs_max`, by the
/// share of the error that is new.
fn prolong(secs_left: f64, secs_max: f64, new: f64, whole: f64) -> f64 {
    let share = if new < whole { new / whole } else { 1.0 };
    (secs_left + (secs_max - secs_left) * share).min(secs_max.max(secs_left))
}

/// Falls from 1 to 0 with level ends.
fn smooth_fall(done: f64) -> f64 {
    (1.0 - done) * (1.0 - done) * (1.0 + 2.0 * done)
}

/// Returns the duration of a polynomial blend. It overshoots where the error, at its initial rate,
/// would travel farther than three times its own length.
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
