use std::collections::VecDeque;

use fairpath::State;
use fairpath::motion::Hermite;
use fairpath::number::Life;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vector;

/// Shows an entity in the known past: between two states that have arrived.
///
/// Ask for an instant a little back ([`AdaptiveDelay`](super::AdaptiveDelay) says how far; Valve's
/// games began with 100 ms). The path is the cubic through both states, so position and velocity
/// are continuous and the velocity is the slope of the position. When packets stop, the entity
/// moves straight on for a while and then stops.
///
/// ```
/// use fairpath_compensate::{Interpolation, Source};
/// use fairpath::number::Life;
/// use fairpath::time::SharedInstant;
/// use fairpath::{State, Vec2};
///
/// let ms = SharedInstant::from_millis;
/// let mut others = Interpolation::default();
/// let moving = |x: f64| State::moving(Vec2::new(x, 0.0), Vec2::new(10.0, 0.0));
/// others.accept(ms(0), Life::default(), moving(0.0));
/// others.accept(ms(100), Life::default(), moving(1.0));
/// let shown = others.at(ms(50)).expect("two states are known");
/// assert_eq!((shown.state.position, shown.source), (Vec2::new(0.5, 0.0), Source::Interpolated));
/// assert_eq!(others.at(ms(150)).map(|shown| shown.source), Some(Source::Extrapolated));
/// ```
#[derive(Clone, Debug)]
pub struct Interpolation<V: Vector> {
    guess_max: Span,
    known: VecDeque<Known<V>>,
}

#[derive(Clone, Copy, Debug)]
struct Known<V: Vector> {
    at: SharedInstant,
    life: Life,
    state: State<V>,
}

/// The number of states kept per entity: 64, two seconds at 30 a second, four times the longest
/// delay that an [`AdaptiveDelay`](super::AdaptiveDelay) asks for by default.
pub const HISTORY_LEN_MAX: usize = 64;

/// A state to show, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown<V: Vector> {
    /// Position and motion.
    pub state: State<V>,
    /// Where it comes from.
    pub source: Source,
}

/// Where a shown state comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It lies between two states that have arrived.
    Interpolated,
    /// No newer state has arrived: the entity moves straight on.
    Extrapolated,
    /// No newer state came for too long, or the history is too short: the entity stands.
    Held,
}

impl<V: Vector> Interpolation<V> {
    /// Creates one that extrapolates for at most `guess_max` when no state arrives. Default 250 ms,
    /// as in Valve's games: five packets at 20 a second. Longer, and entities of absent players
    /// walk through walls.
    pub fn new(guess_max: Span) -> Self {
        Self { guess_max, known: VecDeque::with_capacity(HISTORY_LEN_MAX) }
    }

    /// Takes a state. Returns false if it is known, has a number that is not finite, or is older
    /// than everything in a full history.
    pub fn accept(&mut self, at: SharedInstant, life: Life, state: State<V>) -> bool {
        let place = self.known.partition_point(|known| known.at < at);
        let is_known = self.known.get(place).is_some_and(|known| known.at == at);
        let is_full = self.known.len() == HISTORY_LEN_MAX;
        if is_known || !state.is_finite() || (is_full && place == 0) {
            return false;
        }
        self.known.insert(place, Known { at, life, state });
        if is_full {
            self.known.pop_front();
        }
        true
    }

    /// Returns the state to show for the instant `at`; `None` before the first state.
    pub fn at(&self, at: SharedInstant) -> Option<Shown<V>> {
        let after = self.known.partition_point(|known| known.at <= at);
        let Some(before) = after.checked_sub(1).map(|index| &self.known[index]) else {
            return self
                .known
                .front()
                .map(|oldest| Shown { state: at_rest(oldest.state), source: Source::Held });
        };
        let since = at - before.at;
        match self.known.get(after) {
            Some(next) if next.life == before.life => {
                let state = between(before, next, since);
                Some(Shown { state, source: Source::Interpolated })
            }
            // A respawn follows: there is no path from one life to the next.
            _ => Some(self.beyond(before, since)),
        }
    }

    /// Returns the newest known instant.
    pub fn newest(&self) -> Option<SharedInstant> {
        self.known.back().map(|known| known.at)
    }

    /// Forgets all states, for a new timeline.
    pub fn clear(&mut self) {
        self.known.clear();
    }

    fn beyond(&self, newest: &Known<V>, since: Span) -> Shown<V> {
        let secs = since.min(self.guess_max).as_secs_f64();
        let state = newest.state;
        let moved = State {
            position: state.position + state.velocity * secs,
            orientation: V::turned(state.orientation, state.spin, secs),
            ..state
        };
        if since <= self.guess_max {
            Shown { state: moved, source: Source::Extrapolated }
        } else {
            Shown { state: at_rest(moved), source: Source::Held }
        }
    }
}

impl<V: Vector> Default for Interpolation<V> {
    fn default() -> Self {
        Self::new(Span::from_millis(250))
    }
}

fn between<V: Vector>(before: &Known<V>, next: &Known<V>, since: Span) -> State<V> {
    let secs = (next.at - before.at).as_secs_f64();
    let at = since.as_secs_f64();
    let path = Hermite {
        start: before.state.position,
        start_velocity: before.state.velocity,
        end: next.state.position,
        end_velocity: next.state.velocity,
        secs,
    };
    let turn = V::turn_between(before.state.orientation, next.state.orientation);
    State {
        position: path.start + path.displacement_at(at),
        velocity: path.velocity_at(at),
        orientation: V::turned(before.state.orientation, turn, at / secs),
        ..before.state
    }
}

fn at_rest<V: Vector>(state: State<V>) -> State<V> {
    State { velocity: V::ZERO, acceleration: V::ZERO, spin: V::Spin::default(), ..state }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath::vector::Vec2;

    fn ms(millis: i64) -> SharedInstant {
        SharedInstant::from_millis(millis)
    }

    fn circle(at: SharedInstant) -> State<Vec2> {
        let angle = at.as_secs_f64();
        State::moving(Vec2::from_heading(angle) * 10.0, Vec2::from_heading(angle).perpendicular() * 10.0)
    }

    #[test]
    fn in_the_past_a_circle_is_a_circle_whatever_the_order_of_arrival() {
        let mut others = Interpolation::default();
        for at in [0, 100, 300, 200, 500, 400, 400] {
            others.accept(ms(at), Life::default(), circle(ms(at)));
        }
        for at in (0..=500).map(ms) {
            let shown = others.at(at).expect("known");
            assert!(shown.state.position.distance(circle(at).position) < 1e-5, "{at:?}");
            assert!(shown.state.velocity.distance(circle(at).velocity) < 1e-2, "{at:?}");
        }
    }

    #[test]
    fn silence_goes_straight_on_and_then_stops() {
        let mut others = Interpolation::default();
        assert_eq!(others.at(ms(0)), None);
        others.accept(ms(0), Life::default(), State::moving(Vec2::ZERO, Vec2::new(1.0, 0.0)));
        let far = others.at(ms(10_000)).expect("known");
        assert_eq!((far.state.position, far.source), (Vec2::new(0.25, 0.0), Source::Held));
        assert_eq!(far.state.velocity, Vec2::ZERO);
        assert_eq!(others.at(ms(-50)).map(|shown| shown.source), Some(Source::Held));
    }

    #[test]
    fn lives_are_not_connected_and_history_is_bounded() {
        let mut others = Interpolation::default();
        let stays = State::moving(Vec2::ZERO, Vec2::ZERO);
        others.accept(ms(0), Life::new(0), stays);
        others.accept(ms(100), Life::new(1), State { position: Vec2::new(100.0, 0.0), ..stays });
        assert_eq!(others.at(ms(99)).map(|shown| shown.state.position.x), Some(0.0));
        assert_eq!(others.at(ms(100)).map(|shown| shown.state.position.x), Some(100.0));
        for at in 200..1_200 {
            others.accept(ms(at), Life::new(1), stays);
        }
        assert_eq!(others.known.len(), HISTORY_LEN_MAX);
        assert!(!others.accept(ms(1), Life::new(1), stays), "older than all that is kept");
        assert!(!others.accept(
            ms(9_999),
            Life::new(1),
            State { position: Vec2::new(f64::NAN, 0.0), ..stays }
        ));
    }
}
