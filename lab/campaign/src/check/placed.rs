//! What is placed never goes back to older information.
//!
//! The model: one instant for each viewer, session and object, the generation time of what is
//! followed, and it only rises; and what is placed is where that DR vector says. At the server it
//! is what is passed on.

use std::collections::BTreeMap;

use fairpath::DrVector;
use fairpath::number::EntityId;
use fairpath::place::Placement;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};

use super::{Findings, Law};

/// What everybody has followed so far.
#[derive(Debug)]
pub(crate) struct PlacementCheck {
    placement: Placement,
    horizon: Span,
    /// By viewer and session, and object.
    followed: BTreeMap<((usize, u32), EntityId), SharedInstant>,
    passed_on: BTreeMap<EntityId, SharedInstant>,
    /// Who went back in this frame, unless it turns out that the object had left and come again.
    suspects: Vec<(usize, EntityId, SharedInstant, SharedInstant)>,
}

impl PlacementCheck {
    pub(crate) fn new(placement: Placement, horizon: Span) -> Self {
        Self {
            placement,
            horizon,
            followed: BTreeMap::new(),
            passed_on: BTreeMap::new(),
            suspects: Vec::new(),
        }
    }

    /// A viewer follows this DR vector.
    pub(crate) fn on_followed(
        &mut self,
        (viewer, session): (usize, u32),
        vector: &DrVector<Vec2>,
        now: SharedInstant,
        findings: &mut Findings,
    ) {
        let key = ((viewer, session), vector.entity);
        let before = self.followed.insert(key, vector.generated_at);
        findings.check(Law::Placed, now, true, String::new);
        if let Some(before) = before.filter(|before| vector.generated_at < *before) {
            self.suspects.push((viewer, vector.entity, vector.generated_at, before));
        }
    }

    /// All events of this frame are known.
    pub(crate) fn judge_suspects(&mut self, now: SharedInstant, findings: &mut Findings) {
        for (viewer, object, followed, before) in self.suspects.drain(..) {
            findings.check(Law::Placed, now, false, || {
                format!(
                    "client {viewer} follows object {} as of {:.3} s, and has followed it as of {:.3} s",
                    object.0,
                    followed.as_secs_f64(),
                    before.as_secs_f64()
                )
            });
        }
    }

    /// A viewer places an object here, by this DR vector, when its shared clock shows this.
    pub(crate) fn on_placed(
        &self,
        viewer: usize,
        vector: &DrVector<Vec2>,
        (shared, position): (SharedInstant, Vec2),
        now: SharedInstant,
        findings: &mut Findings,
    ) {
        if self.placement == Placement::Global {
            let age = (shared - vector.generated_at).min(self.horizon);
            let said = vector.motion.position_at(age.as_secs_f64());
            let off = said.distance(position);
            findings.check(Law::Placed, now, off < 1e-6, || {
                format!("client {viewer} places object {} {off} from where it was told", vector.entity.0)
            });
        }
    }

    /// An object is to be seen no more: when it comes again it begins anew.
    pub(crate) fn on_removed(&mut self, viewer: usize, object: EntityId) {
        self.followed.retain(|((who, _), about), _| (*who, *about) != (viewer, object));
        self.suspects.retain(|(who, about, ..)| (*who, *about) != (viewer, object));
    }

    /// The server passes this on.
    pub(crate) fn on_generated(
        &mut self,
        vector: &DrVector<Vec2>,
        now: SharedInstant,
        findings: &mut Findings,
    ) {
        let before = self.passed_on.insert(vector.entity, vector.generated_at);
        let is_newer = before.is_none_or(|before| vector.generated_at > before);
        findings.check(Law::Placed, now, is_newer, || {
            format!("the server passes on what is older than before of object {}", vector.entity.0)
        });
    }

    /// Another server: its objects are others.
    pub(crate) fn on_restarted(&mut self) {
        self.passed_on.clear();
    }
}
