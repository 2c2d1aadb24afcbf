//! Placement never returns to older information.
//!
//! The model: for each viewer, session and object, the generation time of the followed DR vector
//! only increases, and the placed position is the one of that DR vector. For the server the model
//! uses the DR vectors that it forwards.

use std::collections::BTreeMap;

use fairpath::number::EntityId;
use fairpath::place::Placement;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{DrVector, State};

use super::{Findings, Law};

/// The generation times that every viewer has followed so far.
#[derive(Debug)]
pub(crate) struct PlacementCheck {
    placement: Placement,
    horizon: Span,
    /// By viewer and session, and object.
    followed: BTreeMap<((usize, u32), EntityId), SharedInstant>,
    /// The generation time and the parent in the newest DR vector that the server forwarded.
    passed_on: BTreeMap<EntityId, (SharedInstant, Option<EntityId>)>,
    /// Viewers that went back in this frame; cleared if the object had left and come back.
    suspects: Vec<(usize, EntityId, SharedInstant, SharedInstant)>,
}

/// The place and heading of an object that carries another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CarrierFrame {
    position: Vec2,
    heading: f64,
}

impl CarrierFrame {
    pub(crate) fn of(state: &State<Vec2>) -> Self {
        Self { position: state.position, heading: state.orientation }
    }

    /// Returns the place in the world of a place ahead and to the left of the carrier's middle.
    pub(crate) fn carry(&self, place: Vec2) -> Vec2 {
        let ahead = Vec2::from_heading(self.heading);
        self.position + ahead * place.x + ahead.perpendicular() * place.y
    }
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

    /// Reports the suspects, once all events of the frame are known.
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

    /// Takes in a placed position of a viewer, with its DR vector, the place of its carrier, and
    /// the shared clock.
    pub(crate) fn on_placed(
        &self,
        viewer: usize,
        vector: &DrVector<Vec2>,
        carrier: Option<CarrierFrame>,
        (shared, position): (SharedInstant, Vec2),
        now: SharedInstant,
        findings: &mut Findings,
    ) {
        if self.placement == Placement::Global {
            let age = (shared - vector.generated_at).min(self.horizon);
            let said = vector.motion.position_at(age.as_secs_f64());
            let said = carrier.map_or(said, |carrier| carrier.carry(said));
            let off = said.distance(position);
            findings.check(Law::Placed, now, off < 1e-6, || {
                format!("client {viewer} places object {} {off} units off its DR vector", vector.entity.0)
            });
        }
    }

    /// Takes in an object that left a viewer: its history begins anew.
    pub(crate) fn on_removed(&mut self, viewer: usize, object: EntityId) {
        self.followed.retain(|((who, _), about), _| (*who, *about) != (viewer, object));
        self.suspects.retain(|(who, about, ..)| (*who, *about) != (viewer, object));
    }

    pub(crate) fn on_generated(
        &mut self,
        vector: &DrVector<Vec2>,
        now: SharedInstant,
        findings: &mut Findings,
    ) {
        let before = self.passed_on.insert(vector.entity, (vector.generated_at, vector.parent));
        let is_newer = before.is_none_or(|(before, _)| vector.generated_at > before);
        findings.check(Law::Placed, now, is_newer, || {
            format!("the server forwards an older DR vector of object {}", vector.entity.0)
        });
    }

    /// Takes in the parent that the server has chosen for an object that it has just observed.
    pub(crate) fn on_parent_chosen(
        &self,
        object: EntityId,
        parent: Option<EntityId>,
        now: SharedInstant,
        findings: &mut Findings,
    ) {
        let exported = self.passed_on.get(&object).map(|(_, parent)| *parent);
        findings.check(Law::Placed, now, exported == Some(parent), || {
            format!("the server carries object {} by {parent:?} and has exported {exported:?}", object.0)
        });
    }

    pub(crate) fn on_restarted(&mut self) {
        self.passed_on.clear();
    }
}
