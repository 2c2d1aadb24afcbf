//! The two flags: at home, carried by a tank, or on the ground.

use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;
use fairpath_sim::Digest;

use crate::shared::{Team, add_vector};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flag {
    pub(super) team: Team,
    pub(super) place: FlagPlace,
    pub(super) position: Vec2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagPlace {
    /// At the centre of its own base.
    Home,
    /// Carried by this tank of the other team.
    Carried(EntityId),
    /// On the ground, until a tank touches it or its time is up.
    Dropped { until: SharedInstant },
}

impl Flag {
    pub fn team(&self) -> Team {
        self.team
    }

    pub fn place(&self) -> FlagPlace {
        self.place
    }

    pub fn position(&self) -> Vec2 {
        self.position
    }

    pub(super) fn add_to(&self, digest: &mut Digest) {
        digest.u8(self.team as u8);
        add_vector(self.position, digest);
        match self.place {
            FlagPlace::Home => digest.u8(0),
            FlagPlace::Carried(tank) => digest.u8(1).u32(tank.0),
            FlagPlace::Dropped { until } => digest.u8(2).i64(until.as_micros()),
        };
    }
}
