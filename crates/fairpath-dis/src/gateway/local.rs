//! Entities of the network: heard here, owned by this client in the session.

use fairpath::motion::Dis;
use fairpath::session::{ClientFrame, ObjectError};
use fairpath::{EntityId, LocalInstant, OBSERVED_AHEAD_MAX, OBSERVED_LATE_MAX, Span, State, Vec3, Vector};

use super::{Gateway, Passing, RETRY_AFTER};
use crate::exchange::{Appearance, Described, Entity, OtherParameters, VariableParameters};
use crate::id::DisId;
use crate::path::{self, CurveForecast};
use crate::pdu::{Description, EntityState, Look, PARAMETER_BYTES};
use crate::stamp::{Instants, Stamp};

/// An entity of the network.
#[derive(Debug)]
pub(super) struct Local {
    pub(super) object: Option<EntityId>,
    /// When to offer it to the session again, after a refusal.
    pub(super) retry_at: LocalInstant,
    id: DisId,
    /// The newest curve, in the local frame, and the instant at which it starts.
    curve: Dis,
    starts_at: LocalInstant,
    /// The same curve as it was heard, for updates of a part of it.
    heard: EntityState,
    look: Look,
    /// What the object was created with.
    created_with: Description,
    heard_at: LocalInstant,
    observed_at: LocalInstant,
    is_stationary: bool,
}

impl Local {
    /// Returns the entity's newest state, brought to `now`.
    pub(super) fn as_heard(&self, now: LocalInstant) -> EntityState {
        let secs = (now - self.starts_at).as_secs_f64();
        EntityState { motion: path::rebased(&self.heard.motion, secs), ..self.heard.clone() }
    }

    fn state_at(&self, at: LocalInstant) -> State<Vec3> {
        path::state_at(&self.curve, self.secs_at(at))
    }

    fn secs_at(&self, at: LocalInstant) -> f64 {
        (at - self.starts_at).as_secs_f64()
    }
}

impl Gateway {
    /// Takes a new state of an entity.
    pub(super) fn hear_entity(
        &mut self,
        state: EntityState,
        stamp: Stamp,
        now: Instants,
        game: &mut ClientFrame<'_, Vec3>,
    ) {
        let id = state.id;
        let is_known = self.locals.contains_key(&id);
        if !is_known && self.remotes.contains_key(&id) {
            self.hear_foreign(id, now.local, game);
            return;
        }
        if state.look.is_deactivated() {
            self.end_local(id, game);
            return;
        }
        let placed = self.place(id.application, stamp, now);
        let (Some(placed), true) = (placed, is_known || self.locals.len() < self.config.entities_max) else {
            self.counters.excess += 1;
            return;
        };
        let inside = self.frame.motion_to_local(&state.motion);
        let curve = path::rebased(&inside, -placed.rest);
        let is_stationary = curve.velocity == Vec3::ZERO && curve.angular_velocity == Vec3::ZERO;
        match self.locals.get_mut(&id) {
            // An older PDU that was overtaken.
            Some(local) if placed.at < local.starts_at => local.heard_at = now.local,
            Some(local) => {
                (local.curve, local.starts_at, local.heard_at) = (curve, placed.at, now.local);
                (local.is_stationary, local.look, local.heard) = (is_stationary, state.look.clone(), state);
            }
            None => {
                let local = Local {
                    object: None,
                    retry_at: now.local,
                    id,
                    curve,
                    starts_at: placed.at,
                    look: state.look.clone(),
                    created_with: state.look.description,
                    heard: state,
                    heard_at: now.local,
                    observed_at: LocalInstant::from_micros(i64::MIN / 2),
                    is_stationary,
                };
                self.locals.insert(id, local);
            }
        }
        self.pass(id, true, now, game);
    }

    /// Brings the session up to date with an entity: creates its object, or observes it. `is_news`
    /// says that a PDU has just arrived.
    fn pass(&mut self, id: DisId, is_news: bool, now: Instants, game: &mut ClientFrame<'_, Vec3>) {
        self.pending.insert(id);
        let Some(local) = self.locals.get_mut(&id) else { return };
        let Some(object) = local.object else {
            self.create(id, now, game);
            return;
        };
        set_look(local, object, game);
        // The session takes instants near now, in order.
        let earliest = (now.local - OBSERVED_LATE_MAX + MARGIN).max(local.observed_at);
        let latest = now.local + OBSERVED_AHEAD_MAX - MARGIN;
        let wanted = if is_news { local.starts_at } else { now.local };
        let at = wanted.max(earliest).min(latest.max(earliest));
        let truth = local.state_at(at);
        let limits = self.config.thresholds_of(local.look.description.kind);
        let is_due = match self.config.passing {
            Passing::OneToOne => true,
            Passing::Triggered => {
                let shared = game.shared_now().map(|shared| shared + (at - now.local));
                let followed = game.session().followed(object).zip(shared);
                followed.is_none_or(|(vector, shared)| {
                    let believed = vector.state_at(shared);
                    believed.position.distance(truth.position) > limits.metres
                        || believed.orientation.angle_to(truth.orientation) > limits.degrees.to_radians()
                })
            }
        };
        if !is_due {
            return;
        }
        let before = game.session().followed(object).map(|vector| vector.generated_at);
        let forecast = CurveForecast::new(local.curve, local.secs_at(at), self.precision);
        let done = game
            .set_forecast(object, Some(Box::new(forecast)))
            .and_then(|()| game.observe(object, truth, at));
        let is_sent = game.session().followed(object).map(|vector| vector.generated_at) != before;
        match done {
            Ok(()) if is_sent => {
                local.observed_at = at;
                self.counters.vectors += 1;
                self.pending.remove(&id);
            }
            // Within the same millisecond as the last: the next frame tries again.
            Ok(()) => local.observed_at = at,
            Err(_) => self.counters.refused += 1,
        }
    }

    fn create(&mut self, id: DisId, at: Instants, game: &mut ClientFrame<'_, Vec3>) {
        let now = at.local;
        let Some(local) = self.locals.get_mut(&id).filter(|local| local.retry_at <= now) else { return };
        if !game.is_connected() {
            return;
        }
        let entity = Entity { id: local.id, description: local.look.description };
        let session = game.session();
        let class = session.protocol().class_id::<Entity>();
        let (Some(class), Ok(bytes)) = (class, postcard::to_allocvec(&entity)) else { return };
        // Without a state: the first one follows, in the entity's own model instead of the class's.
        match session.create(class, &bytes, now) {
            Ok(object) => {
                local.object = Some(object);
                local.created_with = local.look.description;
                self.ids.insert(object, id);
                self.pass(id, true, at, game);
            }
            // Ids and rate come back by themselves; the next frame tries again.
            Err(ObjectError::NoIds | ObjectError::TooFast | ObjectError::Full) => {}
            Err(_) => {
                self.counters.refused += 1;
                local.retry_at = now + RETRY_AFTER;
            }
        }
    }

    /// Passes on what the session could not take yet, and what has come to differ too much.
    pub(super) fn pass_pending(&mut self, now: Instants, game: &mut ClientFrame<'_, Vec3>) {
        let pending: Vec<DisId> = self.pending.iter().copied().collect();
        for id in pending {
            if self.locals.contains_key(&id) {
                self.pass(id, false, now, game);
            } else {
                self.pending.remove(&id);
            }
        }
    }

    /// Ends the entities that have not been heard for too long.
    pub(super) fn time_out_locals(&mut self, now: Instants, game: &mut ClientFrame<'_, Vec3>) {
        let (config, factor) = (&self.config, self.config.timeout_factor);
        let is_gone = |local: &Local| {
            let heartbeat = config.heartbeat_of(local.look.description.version, local.is_stationary);
            now.local - local.heard_at > heartbeat.scaled(factor)
        };
        let gone: Vec<DisId> =
            self.locals.iter().filter(|(_, local)| is_gone(local)).map(|(id, _)| *id).collect();
        for id in gone {
            self.counters.timed_out += 1;
            self.end_local(id, game);
        }
    }

    pub(super) fn end_local(&mut self, id: DisId, game: &mut ClientFrame<'_, Vec3>) {
        self.pending.remove(&id);
        if let Some(object) = self.locals.remove(&id).and_then(|local| local.object) {
            self.ids.remove(&object);
            if game.destroy(object).is_err() {
                self.counters.refused += 1;
            }
        }
    }
}

/// Kept from the limits of the session's instants, which its clock computes a little later.
const MARGIN: Span = Span::from_millis(20);

/// Sets what the object does not have yet. Unchanged values are not sent.
fn set_look(local: &Local, object: EntityId, game: &mut ClientFrame<'_, Vec3>) {
    let Look { description, appearance, other, parameters } = &local.look;
    // A refused value is set again with the next PDU; the session refuses only what is too long.
    if game.get::<Described>(object).map_or(local.created_with, |it| it.0) != *description {
        let _ = game.set(object, &Described(*description));
    }
    if game.get::<Appearance>(object).map_or(0, |it| it.0) != *appearance {
        let _ = game.set(object, &Appearance(*appearance));
    }
    if game.get::<OtherParameters>(object).map_or([0; 15], |it| it.0) != *other {
        let _ = game.set(object, &OtherParameters(*other));
    }
    let parameters = &parameters[..parameters.len().min(PARAMETERS_BYTES_MAX)];
    if game.get::<VariableParameters>(object).map(|it| it.0).unwrap_or_default() != parameters {
        let _ = game.set(object, &VariableParameters(parameters.to_vec()));
    }
}

/// Variable parameters that fit in one state: 55 records. The largest entities have a dozen.
const PARAMETERS_BYTES_MAX: usize = 55 * PARAMETER_BYTES;
