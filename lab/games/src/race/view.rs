//! What one driver is shown. A bot decides from this view only.
//!
//! [`Race::look`] fills it with the truth. On a real client, other cars are where dead reckoning
//! places them. With those positions in the view, the bot hits cars that were elsewhere.

use fairpath::State;
use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;

use super::world::Race;

#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The time on this driver's client.
    pub now: SharedInstant,
    pub me: EntityId,
    /// The own car's true state: its owner knows it.
    pub own: State<Vec2>,
    /// The other cars that it can collide with; empty if cars do not collide.
    pub others: Vec<SeenCar>,
}

/// Another car, as the client shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenCar {
    pub id: EntityId,
    pub state: State<Vec2>,
}

impl Race {
    /// Returns the truth as car `me`'s client would show it without delay; `None` without `me`.
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
