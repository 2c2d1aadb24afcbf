//! The enemies that a bot has seen, since when, and where last.

use fairpath::number::EntityId;
use fairpath::vector::{Vec2, Vector};

use crate::ethereal::config::{TICKS_PER_SECOND, TOP_SPEED};
use crate::ethereal::player::Body;
use crate::ethereal::view::{SeenPlayer, View};

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

/// An enemy that was out of sight for half a second has to be noticed again.
const LOST_AFTER: u64 = 30;
/// After ten seconds a sighting is forgotten.
const FORGOTTEN_AFTER: u64 = 600;

impl Memory {
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

    /// Returns the enemies that have been in sight for `reaction_ticks`.
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

    /// Returns the position and velocity at which an enemy was last seen.
    pub(super) fn body_of(&self, id: EntityId) -> Option<Body> {
        self.sightings.iter().find(|seen| seen.id == id).map(|seen| seen.body)
    }

    /// Returns the best enemy to follow from `here`: recent and near. A second since the sighting
    /// counts as much as the distance at top speed in a second.
    pub(super) fn best_trail(&self, tick: u64, here: Vec2) -> Option<EntityId> {
        let cost = |seen: &Sighting| {
            let secs = (tick - seen.last) as f64 / f64::from(TICKS_PER_SECOND);
            seen.body.position.distance(here) + TOP_SPEED * secs
        };
        let best = self.sightings.iter().min_by(|one, other| cost(one).total_cmp(&cost(other)));
        best.map(|seen| seen.id)
    }

    /// Forgets an enemy that was not where the bot looked for it.
    pub(super) fn forget(&mut self, id: EntityId) {
        self.sightings.retain(|seen| seen.id != id);
    }

    pub(super) fn clear(&mut self) {
        self.sightings.clear();
    }
}
