use crate::rotation::wrap_angle;
use crate::state::State;
use crate::vector::{Planar, Vec2};

/// Keeps its speed along its heading and its turn rate, like a tank, a car or a ship.
///
/// p = p0 + s·t·sinc(ω·t/2)·(cos, sin)(φ + ω·t/2). This form, with sinc instead of the radius s/ω,
/// is exact down to ω = 0, where the circle becomes a line. A negative speed reverses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circular<V: Planar> {
    /// Position at the start.
    pub position: V,
    /// Heading at the start, in radians from +x towards +y.
    pub heading: f64,
    /// Speed along the heading, in units per second; negative when reversing.
    pub speed: f64,
    /// Turn rate in radians per second, positive from +x towards +y.
    pub turn_rate: f64,
    /// Vertical speed in units per second. Ignored in two dimensions.
    pub climb_rate: f64,
    /// Vertical acceleration in units per second squared. Gravity is negative.
    pub climb_acceleration: f64,
}

impl<V: Planar> Circular<V> {
    pub(super) fn from_state(state: &State<V>) -> Self {
        Self {
            position: state.position,
            heading: V::heading(state.orientation),
            speed: state.signed_speed(),
            turn_rate: V::turn_rate(state.spin),
            climb_rate: state.velocity.height(),
            climb_acceleration: state.acceleration.height(),
        }
    }

    pub(super) fn origin(&self) -> V {
        self.position
    }

    pub(super) fn displacement_at(&self, at: f64) -> V {
        let half_turn = 0.5 * self.turn_rate * at;
        let chord = self.speed * at * sinc(half_turn);
        let rise = (self.climb_rate + 0.5 * self.climb_acceleration * at) * at;
        V::from_plane(Vec2::from_heading(self.heading + half_turn) * chord, rise)
    }

    pub(super) fn velocity_at(&self, at: f64) -> V {
        let ahead = Vec2::from_heading(self.heading + self.turn_rate * at);
        V::from_plane(ahead * self.speed, self.climb_rate + self.climb_acceleration * at)
    }

    pub(super) fn state_at(&self, at: f64) -> State<V> {
        let velocity = self.velocity_at(at);
        let towards_centre = velocity.on_plane().perpendicular() * self.turn_rate;
        State {
            position: self.position + self.displacement_at(at),
            velocity,
            acceleration: V::from_plane(towards_centre, self.climb_acceleration),
            orientation: V::level(wrap_angle(self.heading + self.turn_rate * at)),
            spin: V::about_up(self.turn_rate),
        }
    }

    pub(super) fn is_within(&self, limit: f64) -> bool {
        self.position.is_within(limit)
            && [self.heading, self.speed, self.turn_rate, self.climb_rate, self.climb_acceleration]
                .iter()
                .all(|number| number.abs() <= limit)
    }
}

/// sin x / x, with its series where the quotient would be 0/0.
fn sinc(x: f64) -> f64 {
    if x.abs() < 1e-3 {
        let x2 = x * x;
        1.0 - x2 / 6.0 * (1.0 - x2 / 20.0)
    } else {
        libm::sin(x) / x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::Vector;

    fn tank(speed: f64, turn_rate: f64) -> Circular<Vec2> {
        let position = Vec2::new(10.0, 20.0);
        Circular { position, heading: 0.0, speed, turn_rate, climb_rate: 0.0, climb_acceleration: 0.0 }
    }

    #[test]
    fn a_full_turn_comes_back() {
        let round = tank(25.0, 0.785);
        let period = std::f64::consts::TAU / 0.785;
        assert!(round.displacement_at(period).length() < 1e-13 * 25.0 * period);
    }

    #[test]
    fn a_vanishing_turn_is_a_line() {
        // The radius form s/ω is off by 2e-4 here.
        let line = tank(25.0, 1e-12);
        assert!(line.displacement_at(1.0).distance(Vec2::new(25.0, 12.5e-12)) < 1e-14);
    }

    #[test]
    fn reversing_turns_the_other_way_round() {
        let reverse = tank(-12.5, 0.785);
        let state = reverse.state_at(1.0);
        assert!(state.position.x < 10.0 && state.position.y < 20.0);
        assert!(state.signed_speed() < 0.0);
    }

    #[test]
    fn the_series_meets_the_quotient() {
        for x in [0.999e-3, 1.001e-3] {
            assert!((sinc(x) - libm::sin(x) / x).abs() < 2e-16);
        }
    }
}
