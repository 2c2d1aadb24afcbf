//! The two flags: at home, on a tank, or lying where a tank lost it.

use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;
use fairpath_sim::Digest;

use crate::shared::{Team, add_vector};

/// One team's flag. The other team wants it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flag {
    pub(super) team: Team,
    pub(super) place: FlagPlace,
    pub(super) position: Vec2,
}

/// How a flag is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagPlace {
    /// In the middle of its own base.
    Home,
    /// On this tank, of the other team.
    Carried(EntityId),
    /// On the ground, until somebody touches it or it goes home by itself.
    Dropped {
        /// When it goes home by itself.
        until: SharedInstant,
    },
}

impl Flag {
    /// Whose flag it is: who loses a point if it is captured.
    pub fn team(&self) -> Team {
        self.team
    }

    /// How it is where it is.
    pub fn place(&self) -> FlagPlace {
        self.place
    }

    /// Where it is.
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
