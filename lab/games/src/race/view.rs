//! What one driver is shown. A bot decides from this and from nothing else.
//!
//! [`Race::look`] fills it with the truth. On a real screen the others are where dead reckoning
//! places them: put those positions into the view, and the bot overtakes what it sees, and bumps
//! into what was elsewhere.

use fairpath::State;
use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;

use super::world::Race;

/// What one driver is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The time on this driver's screen.
    pub now: SharedInstant,
    /// Which car is the driver's own.
    pub me: EntityId,
    /// The own car: its owner knows the truth.
    pub own: State<Vec2>,
    /// The others that are in the way; none where cars do not bump.
    pub others: Vec<SeenCar>,
}

/// Another car, as it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenCar {
    /// Which car.
    pub id: EntityId,
    /// Where it is shown, and how it is shown to move.
    pub state: State<Vec2>,
}

impl Race {
    /// Returns the truth, as the driver of car `me` would see it on a screen without delay. Nothing
    /// if there is no such car.
    pub fn look(&self, me: EntityId) -> Option<View> {
        let own = self.car(me)?;
        let are_solid = self.config().cars_bump;
        let others = self.cars().iter().filter(|car| are_solid && car.id() != me && car.is_racing());
        Some(View {
            now: self.now(),
            me,
            own: own.state(),
            others: others.map(|car| SeenCar { id: car.id(), state: car.state() }).collect(),
        })
    }
}
