//! Whom a bot has seen, since when, and where last.

use fairpath::number::EntityId;
use fairpath::vector::{Vec2, Vector};

use crate::ethereal::config::{TICKS_PER_SECOND, TOP_SPEED};
use crate::ethereal::player::Body;
use crate::ethereal::view::{SeenPlayer, View};

/// The enemies a bot knows of.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    sightings: Vec<Sighting>,
}

#[derive(Clone, Copy, Debug)]
struct Sighting {
    id: EntityId,
    since: u64,
    last: u64,
    body: Body,
}

/// Whoever was out of sight for half a second has to be noticed anew.
const LOST_AFTER: u64 = 30;
/// After ten seconds they may be anywhere.
const FORGOTTEN_AFTER: u64 = 600;

impl Memory {
    /// Takes in what is shown now.
    pub(super) fn update(&mut self, view: &View) {
        self.sightings.retain(|seen| view.tick - seen.last < FORGOTTEN_AFTER);
        for foe in view.foes() {
            match self.sightings.iter_mut().find(|seen| seen.id == foe.id) {
                Some(seen) => {
                    if view.tick - seen.last > LOST_AFTER {
                        seen.since = view.tick;
                    }
                    seen.last = view.tick;
                    seen.body = foe.body;
                }
                None => {
                    let (id, tick) = (foe.id, view.tick);
                    self.sightings.push(Sighting { id, since: tick, last: tick, body: foe.body });
                }
            }
        }
    }

    /// Returns everything that is in sight and has been for `reaction_ticks`.
    pub(super) fn noticed<'a>(
        &'a self,
        view: &'a View,
        reaction_ticks: u64,
    ) -> impl Iterator<Item = &'a SeenPlayer> {
        view.foes().filter(move |foe| {
            let since = self.sightings.iter().find(|seen| seen.id == foe.id).map(|seen| seen.since);
            since.is_some_and(|since| view.tick - since >= reaction_ticks)
        })
    }

    /// Returns where an enemy is, or was when it was last seen.
    pub(super) fn body_of(&self, id: EntityId) -> Option<Body> {
        self.sightings.iter().find(|seen| seen.id == id).map(|seen| seen.body)
    }

    /// Whose trail to follow from `here`: fresh and near is best. A second that passed weighs as
    /// much as the way that can be gone in it.
    pub(super) fn best_trail(&self, tick: u64, here: Vec2) -> Option<EntityId> {
        let cost = |seen: &Sighting| {
            let secs = (tick - seen.last) as f64 / f64::from(TICKS_PER_SECOND);
            seen.body.position.distance(here) + TOP_SPEED * secs
        };
        let best = self.sightings.iter().min_by(|one, other| cost(one).total_cmp(&cost(other)));
        best.map(|seen| seen.id)
    }

    /// The place is searched: nobody was there.
    pub(super) fn forget(&mut self, id: EntityId) {
        self.sightings.retain(|seen| seen.id != id);
    }

    /// A new life: everybody has moved on.
    pub(super) fn clear(&mut self) {
        self.sightings.clear();
    }
}
