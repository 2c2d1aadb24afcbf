//! Measures what a DIS network does: how wrong predictions get, how regular PDUs and stamps are.

use std::collections::BTreeMap;

use dis_rs::enumerations::{EntityKind, PlatformDomain};
use fairpath::motion::Dis;
use fairpath::motion::dis::{AccelerationReading, Model};
use fairpath::{LocalInstant, Span, Vector};

use crate::frame::Geodetic;
use crate::gateway::GatewayConfig;
use crate::id::{Application, DisId};
use crate::path;
use crate::pdu::{EntityState, EntityStateUpdate, Pdu, PduError, kind};
use crate::stamp::{Instants, StampClock, StampUse};

/// Watches the PDUs of a network.
#[derive(Debug)]
pub struct Monitor {
    config: GatewayConfig,
    entities: BTreeMap<DisId, Watched>,
    clocks: BTreeMap<Application, StampClock>,
    kinds: BTreeMap<u8, u64>,
    errors: BTreeMap<PduError, u64>,
    other_exercises: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Watched {
    state: EntityState,
    at: LocalInstant,
    heard_at: LocalInstant,
    first_heard_at: LocalInstant,
    pdus: u64,
    /// Squared errors of predictions, in metres.
    squares: f64,
    predictions: u64,
    error_last: f64,
    error_max: f64,
    angle_max: f64,
    interval_max: Span,
    /// Squared errors of model 8 in both readings.
    readings: [f64; 2],
    stamp_use: StampUse,
    has_overtaken: bool,
}

/// What was seen of one entity.
#[derive(Clone, Debug)]
pub struct EntityReport {
    /// The entity.
    pub id: DisId,
    /// Its marking.
    pub marking: String,
    /// Its kind and domain, in words.
    pub kind: String,
    /// Its dead-reckoning model.
    pub model: Model,
    /// Entity State PDUs seen.
    pub pdus: u64,
    /// PDUs per second.
    pub rate: f64,
    /// How wrong the prediction was when the last PDU corrected it, in metres.
    pub error_last: f64,
    /// The same, root mean square of all.
    pub error_rms: f64,
    /// The same, greatest.
    pub error_max: f64,
    /// Greatest error of the orientation, in degrees.
    pub angle_max: f64,
    /// Threshold of its type, in metres.
    pub threshold: f64,
    /// Longest time between two PDUs.
    pub interval_max: Span,
    /// Time since the last PDU.
    pub silent_for: Span,
    /// Mean difference of the delays of successive PDUs of its application.
    pub jitter: Span,
    /// How its stamps can be used.
    pub stamp_use: StampUse,
    /// By how much instants may be wrong.
    pub stamp_uncertainty: Span,
    /// Where it is now, by dead reckoning.
    pub place: Geodetic,
    /// Its speed, in metres a second.
    pub speed: f64,
    /// What is wrong with it, in words; empty if nothing.
    pub problems: Vec<&'static str>,
}

/// What was seen of a network.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The entities, by id.
    pub entities: Vec<EntityReport>,
    /// PDUs by the number of their type.
    pub kinds: BTreeMap<u8, u64>,
    /// PDUs that could not be read, by reason.
    pub errors: BTreeMap<PduError, u64>,
    /// PDUs of other exercises.
    pub other_exercises: u64,
    /// Bytes of all datagrams.
    pub bytes: u64,
}

/// Most entities that are watched.
const ENTITIES_MAX: usize = 65_536;

impl Monitor {
    /// Returns a monitor. It uses the exercise, the thresholds, the heartbeats and the reading of
    /// the settings of a gateway.
    pub fn new(config: GatewayConfig) -> Self {
        Self {
            config,
            entities: BTreeMap::new(),
            clocks: BTreeMap::new(),
            kinds: BTreeMap::new(),
            errors: BTreeMap::new(),
            other_exercises: 0,
            bytes: 0,
        }
    }

    /// Takes a datagram of the network.
    pub fn handle_datagram(&mut self, bytes: &[u8], now: Instants) {
        self.bytes += bytes.len() as u64;
        for pdu in Pdu::split(bytes) {
            if let Err(error) = pdu.and_then(|pdu| self.hear(pdu, now)) {
                *self.errors.entry(error).or_default() += 1;
            }
        }
    }

    fn hear(&mut self, pdu: Pdu<'_>, now: Instants) -> Result<(), PduError> {
        if pdu.exercise() != self.config.exercise {
            self.other_exercises += 1;
            return Ok(());
        }
        *self.kinds.entry(pdu.kind()).or_default() += 1;
        let state = match pdu.kind() {
            kind::ENTITY_STATE => EntityState::read(pdu, self.config.reading)?,
            kind::ENTITY_STATE_UPDATE => {
                let update = EntityStateUpdate::read(pdu)?;
                let Some(known) = self.entities.get(&update.id) else { return Ok(()) };
                update.applied_to(&known.state)
            }
            // Read to notice what does not follow the standard.
            _ => return pdu.body().map(|_| ()),
        };
        let placed = self.clocks.entry(state.id.application).or_default().place(pdu.stamp(), now);
        if let Some(watched) = self.entities.get_mut(&state.id) {
            watched.hear(state, placed.at, now.local, placed.by);
        } else if self.entities.len() < ENTITIES_MAX {
            self.entities.insert(state.id, Watched::new(state, placed.at, now.local, placed.by));
        }
        Ok(())
    }

    /// Returns what was seen up to `now`.
    pub fn report(&self, now: LocalInstant) -> Report {
        Report {
            entities: self.entities.values().map(|watched| self.entity(watched, now)).collect(),
            kinds: self.kinds.clone(),
            errors: self.errors.clone(),
            other_exercises: self.other_exercises,
            bytes: self.bytes,
        }
    }

    fn entity(&self, watched: &Watched, now: LocalInstant) -> EntityReport {
        let EntityState { id, motion, look } = &watched.state;
        let clock = self.clocks.get(&id.application);
        let state = path::state_at(motion, (now - watched.at).as_secs_f64().clamp(0.0, 60.0));
        let watched_for = (watched.heard_at - watched.first_heard_at).as_secs_f64();
        let kind = look.description.kind;
        EntityReport {
            id: *id,
            marking: look.description.marking(),
            kind: kind_name(kind.0),
            model: motion.model,
            pdus: watched.pdus,
            rate: if watched_for > 0.0 { (watched.pdus - 1) as f64 / watched_for } else { 0.0 },
            error_last: watched.error_last,
            error_rms: (watched.squares / watched.predictions.max(1) as f64).sqrt(),
            error_max: watched.error_max,
            angle_max: watched.angle_max,
            threshold: self.config.thresholds_of(kind).metres,
            interval_max: watched.interval_max,
            silent_for: now - watched.heard_at,
            jitter: clock.map_or(Span::ZERO, StampClock::jitter),
            stamp_use: watched.stamp_use,
            stamp_uncertainty: clock.map_or(Span::ZERO, StampClock::uncertainty),
            place: Geodetic::from_geocentric(state.position),
            speed: state.velocity.length(),
            problems: self.problems(watched, now),
        }
    }

    fn problems(&self, watched: &Watched, now: LocalInstant) -> Vec<&'static str> {
        let Watched { state: EntityState { motion, look, .. }, .. } = watched;
        let is_stationary = motion.velocity.length() == 0.0 && motion.angular_velocity.length() == 0.0;
        let heartbeat = if is_stationary && look.description.version >= 7 {
            self.config.heartbeat_stationary
        } else {
            self.config.heartbeat
        };
        let limits = self.config.thresholds_of(look.description.kind);
        let silent_for = now - watched.heard_at;
        let [inertial, body] = watched.readings;
        let other_is_better = match self.config.reading {
            AccelerationReading::Inertial => body < 0.25 * inertial,
            AccelerationReading::BodyRate => inertial < 0.25 * body,
        };
        let place = Geodetic::from_geocentric(motion.position);
        let found = [
            (look.is_deactivated(), "has left"),
            (look.is_frozen(), "frozen"),
            (
                !look.is_deactivated() && silent_for > heartbeat.scaled(self.config.timeout_factor),
                "timed out",
            ),
            (watched.interval_max > heartbeat.scaled(1.1), "late heartbeat"),
            (watched.stamp_use == StampUse::Arrival, "stamps stand still"),
            (watched.has_overtaken, "stamps run backwards"),
            (watched.error_max > 2.0 * limits.metres, "beyond twice its threshold"),
            (matches!(motion.model, Model::Rvb(_)) && other_is_better, "other reading of model 8 fits"),
            (!(-12_000.0..5e7).contains(&place.height), "not near the Earth"),
        ];
        found.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words).collect()
    }
}

impl Watched {
    fn new(state: EntityState, at: LocalInstant, heard_at: LocalInstant, stamp_use: StampUse) -> Self {
        Self {
            state,
            at,
            heard_at,
            first_heard_at: heard_at,
            pdus: 1,
            squares: 0.0,
            predictions: 0,
            error_last: 0.0,
            error_max: 0.0,
            angle_max: 0.0,
            interval_max: Span::ZERO,
            readings: [0.0; 2],
            stamp_use,
            has_overtaken: false,
        }
    }

    fn hear(&mut self, state: EntityState, at: LocalInstant, heard_at: LocalInstant, stamp_use: StampUse) {
        self.pdus += 1;
        self.stamp_use = stamp_use;
        self.interval_max = self.interval_max.max(heard_at - self.heard_at);
        self.heard_at = heard_at;
        if at < self.at {
            self.has_overtaken |= self.at - at > Span::from_millis(1);
            return;
        }
        let secs = (at - self.at).as_secs_f64();
        let error_of = |motion: &Dis| path::state_at(motion, secs).position.distance(state.motion.position);
        let error = error_of(&self.state.motion);
        let turned = path::state_at(&self.state.motion, secs).orientation.angle_to(state.motion.orientation);
        (self.error_last, self.error_max) = (error, self.error_max.max(error));
        self.angle_max = self.angle_max.max(turned.to_degrees());
        self.squares += error * error;
        self.predictions += 1;
        if let Model::Rvb(_) = self.state.motion.model {
            for (sum, reading) in
                self.readings.iter_mut().zip([AccelerationReading::Inertial, AccelerationReading::BodyRate])
            {
                let mut motion = self.state.motion;
                motion.model = Model::Rvb(reading);
                let error = error_of(&motion);
                *sum += error * error;
            }
        }
        (self.state, self.at) = (state, at);
    }
}

/// Returns the kind and the domain of a type in words: "air platform".
fn kind_name(kind: [u8; 8]) -> String {
    let [number, domain, ..] = kind;
    let kind = EntityKind::from(number).to_string().to_lowercase();
    if matches!(number, 1 | 2) {
        format!("{} {kind}", PlatformDomain::from(domain).to_string().to_lowercase())
    } else {
        kind
    }
}
