use crate::dr_vector::DrVector;
use crate::motion::Motion;
use crate::time::{SharedInstant, Span};
use crate::vector::{Planar, Vector};

/// The position of an entity at any shared instant, as a receiver or the owner assumes it.
///
/// A motion that starts at a known instant and may freeze later. Before its start the path looks
/// back along the same curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path<V: Planar> {
    motion: Motion<V>,
    since: SharedInstant,
    frozen_from: Option<SharedInstant>,
}

impl<V: Planar> Path<V> {
    /// Returns the path that follows `motion`, which starts at `since`, without freezing.
    pub fn new(motion: Motion<V>, since: SharedInstant) -> Self {
        Self { motion, since, frozen_from: None }
    }

    /// Returns the same path up to `instant`; from then on it stays where it is.
    ///
    /// This is what the horizon does to a replica that receives nothing. A path that is frozen
    /// twice freezes at the earlier instant.
    #[must_use]
    pub fn frozen_from(mut self, instant: SharedInstant) -> Self {
        self.frozen_from = Some(self.frozen_from.map_or(instant, |earlier| earlier.min(instant)));
        self
    }

    /// Returns the position at `t`.
    #[inline]
    pub fn position_at(&self, t: SharedInstant) -> V {
        self.motion.origin() + self.displacement_at(t)
    }

    /// Returns the velocity at `t`; zero once frozen.
    pub fn velocity_at(&self, t: SharedInstant) -> V {
        match self.frozen_from {
            Some(frozen) if t >= frozen => V::ZERO,
            _ => self.motion.velocity_at((t - self.since).as_secs_f64()),
        }
    }

    /// Returns the distance between the two paths at `t`. Exact even far from the origin.
    pub fn distance_at(&self, other: &Self, t: SharedInstant) -> f64 {
        let apart = self.motion.origin() - other.motion.origin();
        (apart + (self.displacement_at(t) - other.displacement_at(t))).length()
    }

    #[inline]
    fn displacement_at(&self, t: SharedInstant) -> V {
        let moving_until = self.frozen_from.map_or(t, |frozen| frozen.min(t));
        self.motion.displacement_at((moving_until - self.since).as_secs_f64())
    }

    /// Whether the path is one straight line until it freezes.
    pub(crate) fn is_straight(&self) -> bool {
        self.moving_line().is_some()
    }

    /// How long after `t` the path freezes; `None` if it never does or has already.
    pub(crate) fn freezes_after(&self, t: SharedInstant) -> Option<Span> {
        self.frozen_from.filter(|frozen| *frozen > t).map(|frozen| frozen - t)
    }

    /// The straight line that the path follows from `from` to `to`; `None` if it does not.
    #[inline]
    pub(super) fn line_over(&self, from: SharedInstant, to: SharedInstant) -> Option<Line<V>> {
        match self.frozen_from {
            Some(frozen) if frozen <= from => Some(self.frozen_line(frozen)),
            Some(frozen) if frozen < to => None,
            _ => self.moving_line(),
        }
    }

    /// The piece that the path follows on the smooth stretch around a second, counted from `zero`.
    pub(super) fn leg(&self, zero: SharedInstant, within: f64) -> Leg<'_, V> {
        if let Some(frozen) = self.frozen_from
            && within > (frozen - zero).as_secs_f64()
        {
            return Leg::Line { line: self.frozen_line(frozen), lead: (zero - frozen).as_secs_f64() };
        }
        let lead = (zero - self.since).as_secs_f64();
        match self.moving_line() {
            Some(line) => Leg::Line { line, lead },
            None => Leg::Curve { motion: &self.motion, lead },
        }
    }

    /// The seconds after `zero` at which the path is not smooth; infinite where there is none.
    pub(super) fn breaks(&self, zero: SharedInstant) -> [f64; 2] {
        let freezes = self.frozen_from.map_or(f64::INFINITY, |frozen| (frozen - zero).as_secs_f64());
        let bends = match &self.motion {
            Motion::Hermite(hermite) => hermite.secs - (zero - self.since).as_secs_f64(),
            _ => f64::INFINITY,
        };
        [freezes, bends]
    }

    #[inline]
    fn moving_line(&self) -> Option<Line<V>> {
        let (origin, velocity) = match &self.motion {
            Motion::Static(still) => (still.position, V::ZERO),
            Motion::Linear(linear) => (linear.position, linear.velocity),
            _ => return None,
        };
        Some(Line { origin, moved: V::ZERO, velocity, since: self.since })
    }

    fn frozen_line(&self, frozen: SharedInstant) -> Line<V> {
        let moved = self.motion.displacement_at((frozen - self.since).as_secs_f64());
        Line { origin: self.motion.origin(), moved, velocity: V::ZERO, since: frozen }
    }
}

/// The path of a receiver that follows this DR vector.
impl<V: Planar> From<&DrVector<V>> for Path<V> {
    fn from(vector: &DrVector<V>) -> Self {
        Self::new(vector.motion, vector.generated_at)
    }
}

/// A straight piece of a path: origin + moved + velocity·(t − since). Start and displacement stay
/// apart: far from the origin of the world their sum would round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line<V: Vector> {
    pub(super) origin: V,
    pub(super) moved: V,
    pub(super) velocity: V,
    pub(super) since: SharedInstant,
}

/// A smooth piece of a path. Its own clock is `lead` seconds ahead of the caller's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Leg<'a, V: Planar> {
    Line { line: Line<V>, lead: f64 },
    Curve { motion: &'a Motion<V>, lead: f64 },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::{Linear, Quadratic};
    use crate::vector::Vec2;

    const START: SharedInstant = SharedInstant::from_millis(5_000);

    fn secs(secs: i64) -> SharedInstant {
        START + Span::from_secs(secs)
    }

    #[test]
    fn a_frozen_path_stays_where_it_was() {
        let motion = Motion::Linear(Linear { position: Vec2::new(1.0, 2.0), velocity: Vec2::new(3.0, 0.0) });
        let path = Path::new(motion, START).frozen_from(secs(2)).frozen_from(secs(9));
        assert_eq!(path.position_at(secs(1)), Vec2::new(4.0, 2.0));
        assert_eq!(path.position_at(secs(2)), Vec2::new(7.0, 2.0));
        assert_eq!(path.position_at(secs(100)), Vec2::new(7.0, 2.0));
        assert_eq!(path.velocity_at(secs(1)), Vec2::new(3.0, 0.0));
        assert_eq!(path.velocity_at(secs(2)), Vec2::ZERO);
    }

    #[test]
    fn distance_is_exact_a_light_year_away() {
        let far = Vec2::new(9.5e15, -9.5e15);
        let fall = |metres_per_s2| {
            Motion::Quadratic(Quadratic {
                position: far,
                velocity: Vec2::ZERO,
                acceleration: Vec2::new(0.0, metres_per_s2),
            })
        };
        let (earth, moon) = (Path::new(fall(-9.81), START), Path::new(fall(-1.62), START));
        assert!((earth.distance_at(&moon, secs(1)) - 4.095).abs() < 1e-15);
    }
}
