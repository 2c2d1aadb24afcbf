//! The two flags: at home, on a tank, or lying where a tank lost it.

use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;

use super::tank::Team;
use crate::digest::Digest;

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

    pub(super) fn digest(&self, digest: &mut Digest) {
        digest.add(self.team as u64);
        digest.add_vector(self.position);
        match self.place {
            FlagPlace::Home => digest.add(0),
            FlagPlace::Carried(tank) => {
                digest.add(1);
                digest.add(u64::from(tank.0));
            }
            FlagPlace::Dropped { until } => {
                digest.add(2);
                digest.add_signed(until.as_micros());
            }
        }
    }
}
