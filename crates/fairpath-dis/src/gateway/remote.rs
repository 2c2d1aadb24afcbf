//! Entities of the session: owned elsewhere, spoken for on this network.

use fairpath::motion::dis::Model;
use fairpath::motion::{Circular, Dis, Linear, Motion, Quadratic, Static};
use fairpath::rotation::Quat;
use fairpath::session::{ClientFrame, Party};
use fairpath::{DrVector, EntityId, LocalInstant, MotionKind, SharedInstant, State, Vec3, Vector};

use super::{Gateway, rank};
use crate::exchange::{Appearance, Described, Entity, OtherParameters, VariableParameters};
use crate::id::DisId;
use crate::path;
use crate::pdu::{EntityState, Look};
use crate::stamp::{Instants, Stamp};

/// An entity of another peer.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) object: EntityId,
    look: Look,
    /// What the network was told: the DR vector, and the curve made of it.
    told: Option<Told>,
    /// The look has changed since.
    is_changed: bool,
    /// Somebody else speaks for it on this network, at least until then.
    silent_until: Option<LocalInstant>,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    generated_at: SharedInstant,
    at: LocalInstant,
    /// The curve on the network, from `at` on.
    curve: Dis,
    /// Whether it is exactly that of the DR vector.
    is_exact: bool,
    is_stationary: bool,
}

impl Remote {
    pub(super) fn is_silent(&self) -> bool {
        self.silent_until.is_some()
    }
}

impl Gateway {
    /// An object of another peer has become visible.
    pub(super) fn enter_remote(
        &mut self,
        object: EntityId,
        owner: Party,
        entity: Entity,
        game: &mut ClientFrame<'_, Vec3>,
    ) {
        let id = if entity.id == DisId::default() { self.number_for(object) } else { entity.id };
        let own_rank = game.id().map(|id| rank(Party::Client(id)));
        let is_heard_here = self.locals.contains_key(&id);
        if is_heard_here {
            // Two gateways hear the same entity. The one with the lower number keeps it.
            self.counters.foreign += 1;
            if own_rank.is_some_and(|own| own < rank(owner)) {
                return;
            }
            self.end_local(id, game);
        }
        let look = Look { description: entity.description, ..Look::default() };
        let remote = Remote { object, look, told: None, is_changed: false, silent_until: None };
        self.remotes.insert(id, remote);
        self.ids.insert(object, id);
        self.refresh_look(object, game);
        if is_heard_here {
            self.hear_foreign(id, game.now(), game);
        }
    }

    /// Returns an id of the gateway's own application, for an object of a game.
    fn number_for(&mut self, object: EntityId) -> DisId {
        let application = self.config.own;
        loop {
            // 0, 0xFFFE and 0xFFFF have meanings of their own in the standard.
            self.next_number = if self.next_number >= 0xFFFD { 1 } else { self.next_number + 1 };
            let id = DisId { application, entity: self.next_number };
            if self.remotes.get(&id).is_none_or(|remote| remote.object == object) {
                return id;
            }
        }
    }

    /// Reads the look of a remote entity from the session.
    pub(super) fn refresh_look(&mut self, object: EntityId, game: &mut ClientFrame<'_, Vec3>) {
        let Some(remote) = self.ids.get(&object).and_then(|id| self.remotes.get_mut(id)) else { return };
        let description = game.get::<Described>(object).map(|it| it.0);
        let look = Look {
            description: description.unwrap_or(remote.look.description),
            appearance: game.get::<Appearance>(object).map_or(0, |it| it.0),
            other: game.get::<OtherParameters>(object).map_or([0; 15], |it| it.0),
            parameters: game.get::<VariableParameters>(object).map(|it| it.0).unwrap_or_default(),
        };
        remote.is_changed |= remote.look != look;
        remote.look = look;
    }

    /// Another speaker for a remote entity was heard on this network: keep silent for a while. Two
    /// gateways that serve one network wait for different times, so one of them goes on.
    pub(super) fn hear_foreign(&mut self, id: DisId, now: LocalInstant, game: &mut ClientFrame<'_, Vec3>) {
        self.counters.foreign += 1;
        let Some(remote) = self.remotes.get_mut(&id) else { return };
        let is_stationary = remote.told.is_some_and(|told| told.is_stationary);
        let heartbeat = self.config.heartbeat_of(remote.look.description.version, is_stationary);
        let turn = game.id().map_or(0, |id| rank(Party::Client(id)) % 8) as f64;
        remote.silent_until = Some(now + heartbeat.scaled(1.2 + 0.25 * turn));
    }

    /// Speaks for every remote entity that has news, has changed, or is due for a heartbeat.
    pub(super) fn follow_remotes(&mut self, now: Instants, game: &mut ClientFrame<'_, Vec3>) {
        let Some(shared) = game.shared_now() else { return };
        let mut due = Vec::new();
        for (id, remote) in &mut self.remotes {
            if let Some(until) = remote.silent_until {
                if now.local < until {
                    continue;
                }
                remote.silent_until = None;
                remote.told = None;
            }
            let Some(followed) = game.session().followed(remote.object).copied() else { continue };
            let Some(told) = remote.told else {
                due.push((*id, followed));
                continue;
            };
            let heartbeat = self.config.heartbeat_of(remote.look.description.version, told.is_stationary);
            let is_news = followed.generated_at != told.generated_at && told.is_exact;
            if is_news || remote.is_changed || now.local - told.at >= heartbeat {
                due.push((*id, followed));
            } else if !told.is_exact {
                let Some(truth) = game.place(remote.object) else { continue };
                let shown = path::state_at(&told.curve, (now.local - told.at).as_secs_f64());
                let limits = self.config.thresholds_of(remote.look.description.kind);
                let is_off = truth.position.distance(shown.position) > limits.metres
                    || truth.orientation.angle_to(shown.orientation) > limits.degrees.to_radians();
                if is_off {
                    due.push((*id, followed));
                }
            }
        }
        for (id, followed) in due {
            self.speak_for(id, &followed, shared, now, game);
        }
    }

    /// Writes an Entity State PDU that is true for now.
    fn speak_for(
        &mut self,
        id: DisId,
        followed: &DrVector<Vec3>,
        shared: SharedInstant,
        now: Instants,
        game: &mut ClientFrame<'_, Vec3>,
    ) {
        let Some(remote) = self.remotes.get_mut(&id) else { return };
        let (stamp, late) = Stamp::of(now, self.config.stamps_are_absolute);
        let exact = curve_of(followed)
            .map(|curve| path::rebased(&curve, (shared - followed.generated_at).as_secs_f64() + late));
        let Some(curve) = exact.or_else(|| game.place(remote.object).map(|state| curve_from(&state))) else {
            return;
        };
        let is_stationary = curve.velocity == Vec3::ZERO && curve.angular_velocity == Vec3::ZERO;
        remote.told = Some(Told {
            generated_at: followed.generated_at,
            at: now.local,
            curve,
            is_exact: exact.is_some(),
            is_stationary,
        });
        remote.is_changed = false;
        let mut look = remote.look.clone();
        if look.description.version == 0 {
            look.description.version = 7;
        }
        let state = EntityState { id, motion: self.frame.motion_to_geocentric(&curve), look };
        self.speak(state.write(self.config.exercise, stamp));
    }

    /// A remote entity has left. If it was destroyed, the network is told with a last PDU.
    pub(super) fn end_remote(&mut self, id: DisId, is_destroyed: bool, now: Instants) {
        let Some(remote) = self.remotes.remove(&id) else { return };
        if !is_destroyed || remote.is_silent() {
            return;
        }
        // Where it was told to be last is where every receiver reckons it to be.
        let (stamp, _) = Stamp::of(now, self.config.stamps_are_absolute);
        if let Some(last) = remote.told {
            let secs = (now.local - last.at).as_secs_f64();
            let motion = self.frame.motion_to_geocentric(&path::rebased(&last.curve, secs));
            let mut look = remote.look.deactivated();
            look.description.version = look.description.version.max(6);
            let state = EntityState { id, motion, look };
            self.speak(state.write(self.config.exercise, stamp));
        }
    }
}

/// Returns a DR vector's curve as a model of the standard, where one is exactly the same.
fn curve_of(vector: &DrVector<Vec3>) -> Option<Dis> {
    if vector.parent.is_some() {
        return None;
    }
    let zero = Dis {
        model: Model::Static,
        position: vector.motion.origin(),
        velocity: Vec3::ZERO,
        acceleration: Vec3::ZERO,
        orientation: Quat::IDENTITY,
        angular_velocity: Vec3::ZERO,
    };
    let curve = match vector.motion {
        Motion::Dis(curve) => curve,
        Motion::Static(Static { orientation, .. }) => Dis { orientation, ..zero },
        Motion::Linear(Linear { velocity, .. }) => {
            Dis { model: Model::Rpw, velocity, orientation: vector.motion.state_at(0.0).orientation, ..zero }
        }
        Motion::Quadratic(Quadratic { velocity, acceleration, .. }) => {
            // Its orientation follows the velocity, which no model of the standard does.
            vector.attitude?;
            Dis { model: Model::Rvw, velocity, acceleration, ..zero }
        }
        Motion::Circular(Circular { speed, turn_rate, climb_rate, climb_acceleration, .. }) => {
            if climb_acceleration != 0.0 || vector.attitude.is_some() {
                return None;
            }
            Dis {
                model: Model::Rpb,
                velocity: Vec3::new(speed, 0.0, climb_rate),
                orientation: vector.motion.state_at(0.0).orientation,
                angular_velocity: Vec3::new(0.0, 0.0, turn_rate),
                ..zero
            }
        }
        Motion::Hermite(_) => return None,
    };
    Some(match vector.attitude {
        Some(attitude) => Dis { orientation: attitude.orientation, angular_velocity: attitude.spin, ..curve },
        None => curve,
    })
}

/// Returns the best curve of the standard for a state of which only the present is known.
fn curve_from(state: &State<Vec3>) -> Dis {
    match MotionKind::Dis(Model::Rvw).from_state(state) {
        Motion::Dis(curve) => curve,
        other => unreachable!("a model of the standard became {other:?}"),
    }
}
