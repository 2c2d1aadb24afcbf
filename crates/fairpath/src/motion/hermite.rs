use crate::state::State;
use crate::vector::Vector;

/// Follows the cubic through a start and an end, each with position and velocity; afterwards keeps
/// the end's velocity. For motion known ahead: a planned path, a braking car, a jump.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hermite<V: Vector> {
    /// Position at the start.
    pub start: V,
    /// Velocity at the start, per second.
    pub start_velocity: V,
    /// Position at the end.
    pub end: V,
    /// Velocity at the end, per second.
    pub end_velocity: V,
    /// Time from start to end, in seconds; positive.
    pub secs: f64,
}

impl<V: Vector> Hermite<V> {
    pub(super) fn from_state(state: &State<V>, secs: f64) -> Self {
        let secs = secs.max(f64::MIN_POSITIVE);
        Self {
            start: state.position,
            start_velocity: state.velocity,
            end: state.position + (state.velocity + state.acceleration * (0.5 * secs)) * secs,
            end_velocity: state.velocity + state.acceleration * secs,
            secs,
        }
    }

    pub(super) fn origin(&self) -> V {
        self.start
    }

    /// Returns the displacement from `start` after `at` seconds.
    pub fn displacement_at(&self, at: f64) -> V {
        if at >= self.secs {
            return (self.end - self.start) + self.end_velocity * (at - self.secs);
        }
        let s = at / self.secs;
        let s2 = s * s;
        let s3 = s2 * s;
        (self.end - self.start) * (3.0 * s2 - 2.0 * s3)
            + self.start_velocity * (self.secs * (s3 - 2.0 * s2 + s))
            + self.end_velocity * (self.secs * (s3 - s2))
    }

    /// Returns the velocity after `at` seconds: the slope of the path.
    pub fn velocity_at(&self, at: f64) -> V {
        if at >= self.secs {
            return self.end_velocity;
        }
        let s = at / self.secs;
        let s2 = s * s;
        (self.end - self.start) * (6.0 * (s - s2) / self.secs)
            + self.start_velocity * (3.0 * s2 - 4.0 * s + 1.0)
            + self.end_velocity * (3.0 * s2 - 2.0 * s)
    }

    pub(super) fn state_at(&self, at: f64) -> State<V> {
        State::moving(self.start + self.displacement_at(at), self.velocity_at(at))
            .with_acceleration(self.acceleration_at(at))
    }

    fn acceleration_at(&self, at: f64) -> V {
        if at >= self.secs {
            return V::ZERO;
        }
        let s = at / self.secs;
        (self.end - self.start) * (6.0 * (1.0 - 2.0 * s) / (self.secs * self.secs))
            + self.start_velocity * ((6.0 * s - 4.0) / self.secs)
            + self.end_velocity * ((6.0 * s - 2.0) / self.secs)
    }

    pub(super) fn is_within(&self, limit: f64) -> bool {
        [self.start, self.start_velocity, self.end, self.end_velocity].iter().all(|v| v.is_within(limit))
            && self.secs.abs() <= limit
    }
}
