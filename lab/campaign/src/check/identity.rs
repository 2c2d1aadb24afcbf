//! Creation value, states and position of an object belong together, whichever id it has.
//!
//! The model: every object of a world has a number of its own, which its creation value and its
//! states carry, and which decides where bullets fly and stones lie. Ids are used again, numbers
//! never. What a client sees in one session was created in one run of the server.

use std::collections::BTreeMap;

use fairpath::number::EntityId;
use fairpath::session::{ClassId, Payload};
use fairpath::time::SharedInstant;
use fairpath::vector::{Vec2, Vector};

use super::{Findings, Law};
use crate::game::{BULLET, STONE, Stamp, creation_stamp, state_stamp};

#[derive(Debug, Default)]
pub(crate) struct IdentityCheck {
    /// The class and the server's run of each object, by its number.
    made: Vec<(ClassId, u32)>,
    /// The last object with each id of a run.
    ids: BTreeMap<(u32, EntityId), u32>,
    /// How often an id was used again.
    pub(crate) ids_reused: u64,
    /// The run of each viewer's session, from the first object that entered.
    runs: BTreeMap<(usize, u32), u32>,
}

/// An object as a peer shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenObject {
    pub(crate) object: EntityId,
    pub(crate) class: ClassId,
    pub(crate) stamp: Option<Stamp>,
    pub(crate) position: Option<Vec2>,
}

impl IdentityCheck {
    /// Returns the number of the next object.
    pub(crate) fn next(&mut self, class: ClassId, epoch: u64) -> u32 {
        self.made.push((class, epoch as u32));
        self.made.len() as u32 - 1
    }

    /// Takes in the id that an object got.
    pub(crate) fn on_created(&mut self, object: EntityId, number: u32) {
        let epoch = self.made[number as usize].1;
        let before = self.ids.insert((epoch, object), number);
        self.ids_reused += u64::from(before.is_some_and(|before| before != number));
    }

    /// Takes in an object that the server has accepted from a client.
    pub(crate) fn on_created_by_client(
        &mut self,
        object: EntityId,
        class: ClassId,
        creation: &Payload,
        now: SharedInstant,
        findings: &mut Findings,
    ) {
        let stamp = creation_stamp(class, creation);
        stamp.into_iter().for_each(|stamp| self.on_created(object, stamp.number));
        self.on_seen("the server", SeenObject { object, class, stamp, position: None }, now, findings);
    }

    /// Takes in an object that became visible.
    pub(crate) fn on_entered(
        &mut self,
        (viewer, session): (usize, u32),
        (object, class): (EntityId, ClassId),
        creation: &Payload,
        now: SharedInstant,
        findings: &mut Findings,
    ) {
        let stamp = creation_stamp(class, creation);
        let seen = SeenObject { object, class, stamp, position: None };
        self.on_seen(&format!("client {viewer}"), seen, now, findings);
        if let Some(stamp) = stamp {
            let run = *self.runs.entry((viewer, session)).or_insert(stamp.epoch);
            findings.check(Law::Restart, now, run == stamp.epoch, || {
                let epoch = stamp.epoch;
                format!("client {viewer} in a session of run {run} sees object {} of run {epoch}", object.0)
            });
        }
    }

    pub(crate) fn on_seen(&self, who: &str, seen: SeenObject, now: SharedInstant, findings: &mut Findings) {
        let SeenObject { object, class, stamp, position } = seen;
        findings.check(Law::Types, now, stamp.is_some(), || {
            format!("{who} has object {} with a creation value of another type", object.0)
        });
        let Some(Stamp { epoch, number, .. }) = stamp else { return };
        let made = self.made.get(number as usize).copied();
        findings.check(Law::Identity, now, made == Some((class, epoch)), || {
            format!("{who} has object {} as number {number} of {class:?}, which is {made:?}", object.0)
        });
        let newest = self.ids.get(&(epoch, object)).copied().unwrap_or(number);
        // A client knows its own objects before the server does.
        findings.check(Law::Identity, now, newest <= number, || {
            format!("{who} has object {} as number {number}, and its id belongs to {newest}", object.0)
        });
        if let Some(off) = position.and_then(|position| misplaced(class, number, position)) {
            findings.check(Law::Identity, now, off < 0.05, || {
                format!("{who} has object {}, number {number}, {off:.2} from all places of it", object.0)
            });
        }
    }

    /// Takes in a state of an object with this creation value.
    pub(crate) fn on_state(
        &self,
        who: &str,
        object: EntityId,
        (group, value): (u8, &Payload),
        creation: Option<Stamp>,
        now: SharedInstant,
        findings: &mut Findings,
    ) {
        let stamp = state_stamp(group, value);
        findings.check(Law::Types, now, stamp.is_some(), || {
            format!("{who} has object {} with a state {group} of another type: {value:?}", object.0)
        });
        if let Some((stamp, creation)) = stamp.zip(creation) {
            findings.check(Law::Identity, now, stamp.number == creation.number, || {
                let (this, other) = (creation.number, stamp.number);
                format!("{who} has object {}, number {this}, with a state of number {other}", object.0)
            });
        }
    }
}

/// Returns how far a bullet or stone is from all places where it can be.
fn misplaced(class: ClassId, number: u32, position: Vec2) -> Option<f64> {
    match class {
        BULLET => Some((position.y - bullet_lane(number)).abs()),
        STONE => Some(position.distance(stone_place(number))),
        _ => None,
    }
}

/// Returns the y of a bullet, which never changes. Neighbouring numbers fly far apart.
pub(crate) fn bullet_lane(number: u32) -> f64 {
    f64::from(number * 37 % 128) * 1.5 - 96.0
}

/// Returns the place of a stone.
pub(crate) fn stone_place(number: u32) -> Vec2 {
    Vec2::from_heading(f64::from(number)) * (5.0 + 0.05 * f64::from(number % 4_096))
}
