//! PDUs: where one ends and the next begins, and the Entity State PDU in both directions.
//!
//! dis-rs reads and checks a PDU. What the gateway does not model stays in the PDU's own bytes:
//! dis-rs writes some of it differently (it sets the type of empty dead-reckoning parameters), and
//! a gateway must not change what it does not understand.

use std::fmt::{self, Display, Formatter};

use dis_rs::enumerations::PduType;
use dis_rs::model::PduBody;
use fairpath::motion::dis::{AccelerationReading, Model};
use fairpath::motion::{Dis, NUMBER_MAX};
use fairpath::rotation::{Euler, Quat};
use fairpath::{Vec3, Vector};
use serde::{Deserialize, Serialize};

use crate::id::{DisId, EntityType};
use crate::stamp::Stamp;

/// Bytes of a PDU's header.
pub const HEADER_BYTES: usize = 12;
/// Bytes of an Entity State PDU without variable parameters.
pub const ENTITY_STATE_BYTES: usize = 144;
/// Bytes of one variable parameter.
pub const PARAMETER_BYTES: usize = 16;

/// Why bytes are not a PDU that the gateway takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PduError {
    /// The bytes end before the PDU does.
    Truncated,
    /// The header's length is shorter than a header.
    BadLength,
    /// Neither version 6 (1998) nor 7 (2012).
    Version,
    /// The body does not follow the standard.
    Body,
    /// A number is NaN, infinite or beyond every world.
    NotFinite,
    /// No dead-reckoning model 1 to 9.
    Model,
}

impl Display for PduError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the datagram ends before the PDU",
            Self::BadLength => "the length in the header is shorter than a header",
            Self::Version => "neither DIS 6 nor DIS 7",
            Self::Body => "the body does not follow the standard",
            Self::NotFinite => "a number is NaN, infinite or too large",
            Self::Model => "no dead-reckoning model 1 to 9",
        })
    }
}

impl std::error::Error for PduError {}

/// One PDU: checked as far as its header goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu<'a> {
    bytes: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Returns the PDUs of a datagram: usually one, several in a bundle. After an error there are
    /// no more, because the next PDU's begin is not known.
    pub fn split(mut datagram: &'a [u8]) -> impl Iterator<Item = Result<Self, PduError>> {
        std::iter::from_fn(move || {
            // Bundles are padded to eight bytes.
            if datagram.iter().all(|byte| *byte == 0) {
                return None;
            }
            let first = Self::first(datagram);
            datagram = first.map_or(&[], |pdu| &datagram[pdu.bytes.len()..]);
            Some(first)
        })
    }

    fn first(datagram: &'a [u8]) -> Result<Self, PduError> {
        let header = datagram.get(..HEADER_BYTES).ok_or(PduError::Truncated)?;
        let length = usize::from(u16::from_be_bytes([header[8], header[9]]));
        if length < HEADER_BYTES {
            return Err(PduError::BadLength);
        }
        if !matches!(header[0], 6 | 7) {
            return Err(PduError::Version);
        }
        Ok(Self { bytes: datagram.get(..length).ok_or(PduError::Truncated)? })
    }

    /// Returns all bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the version of the protocol: 6 or 7.
    pub fn version(self) -> u8 {
        self.bytes[0]
    }

    /// Returns the exercise.
    pub fn exercise(self) -> u8 {
        self.bytes[1]
    }

    /// Returns the number of its type.
    pub fn kind(self) -> u8 {
        self.bytes[2]
    }

    /// Returns the name of its type.
    pub fn kind_name(self) -> String {
        PduType::from(self.kind()).to_string()
    }

    /// Returns its stamp.
    pub fn stamp(self) -> Stamp {
        Stamp(u32::from_be_bytes([self.bytes[4], self.bytes[5], self.bytes[6], self.bytes[7]]))
    }

    /// Returns the entity or application that sends it. The first id of the body is that in all
    /// families but the synthetic environment and the minefields, where it is near enough.
    pub fn originator(self) -> Option<DisId> {
        self.bytes.get(HEADER_BYTES..HEADER_BYTES + 6).map(DisId::from_bytes)
    }

    /// Returns the body as dis-rs reads it.
    pub fn body(self) -> Result<PduBody, PduError> {
        let mut parsed = dis_rs::parse(self.bytes).map_err(|_| PduError::Body)?;
        if parsed.len() == 1 { Ok(parsed.remove(0).body) } else { Err(PduError::Body) }
    }
}

/// Numbers of the PDU types that the gateway knows.
pub mod kind {
    /// Entity State.
    pub const ENTITY_STATE: u8 = 1;
    /// Fire.
    pub const FIRE: u8 = 2;
    /// Detonation.
    pub const DETONATION: u8 = 3;
    /// Collision.
    pub const COLLISION: u8 = 4;
    /// Entity State Update.
    pub const ENTITY_STATE_UPDATE: u8 = 67;
}

/// Writes a header's exercise and stamp over those of a whole PDU.
pub fn readdress(bytes: &mut [u8], exercise: u8, stamp: Stamp) {
    if let Some(header) = bytes.get_mut(..HEADER_BYTES) {
        header[1] = exercise;
        header[4..8].copy_from_slice(&stamp.0.to_be_bytes());
    }
}

/// What an Entity State PDU says about an entity, besides its motion. Bytes as they travel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// What seldom changes.
    pub description: Description,
    /// Appearance bits.
    pub appearance: u32,
    /// The 15 bytes of other dead-reckoning parameters.
    pub other: [u8; 15],
    /// Variable parameters, such as articulated parts: 16 bytes each.
    pub parameters: Vec<u8>,
}

/// What seldom changes of an entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Version of the protocol that its simulation speaks: 6 or 7.
    pub version: u8,
    /// The status byte of a header of version 7; zero in version 6.
    pub status: u8,
    /// Force.
    pub force: u8,
    /// Type.
    pub kind: EntityType,
    /// Type that the other forces see.
    pub alternative: EntityType,
    /// Character set and marking.
    pub marking: [u8; 12],
    /// Capabilities.
    pub capabilities: u32,
}

impl Description {
    /// Returns the marking as text; other characters than printable ASCII are dots.
    pub fn marking(&self) -> String {
        let text = self.marking[1..].iter().take_while(|byte| **byte != 0);
        let plain = |byte: &u8| if matches!(byte, 32..=126) { char::from(*byte) } else { '.' };
        text.map(plain).collect::<String>().trim_end().to_owned()
    }

    /// Returns it with another marking: at most eleven characters of ASCII.
    #[must_use]
    pub fn with_marking(mut self, marking: &str) -> Self {
        self.marking = [0; 12];
        self.marking[0] = 1;
        for (to, from) in self.marking[1..].iter_mut().zip(marking.bytes()) {
            *to = from;
        }
        self
    }
}

/// Bit of the appearance: the simulation of the entity is frozen.
const FROZEN: u32 = 1 << 21;
/// Bit of the appearance: the entity is deactivated, it leaves the exercise.
const DEACTIVATED: u32 = 1 << 23;

impl Look {
    /// Returns whether the entity is frozen: it stays where it is.
    pub fn is_frozen(&self) -> bool {
        self.appearance & FROZEN != 0
    }

    /// Returns whether the entity leaves the exercise.
    pub fn is_deactivated(&self) -> bool {
        self.appearance & DEACTIVATED != 0
    }

    /// Returns the look of the same entity as it leaves the exercise.
    #[must_use]
    pub fn deactivated(&self) -> Self {
        Self { appearance: self.appearance | DEACTIVATED, ..self.clone() }
    }
}

/// An Entity State PDU.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityState {
    /// The entity.
    pub id: DisId,
    /// Its motion, in geocentric axes and in the body axes of DIS. A frozen entity does not move.
    pub motion: Dis,
    /// The rest.
    pub look: Look,
}

impl EntityState {
    /// Reads an Entity State PDU. `reading` says what the acceleration of model 8 is the slope of.
    pub fn read(pdu: Pdu<'_>, reading: AccelerationReading) -> Result<Self, PduError> {
        let PduBody::EntityState(state) = pdu.body()? else { return Err(PduError::Body) };
        let bytes = pdu.bytes();
        let look = Look {
            description: Description {
                version: pdu.version(),
                status: if pdu.version() == 7 { bytes[10] } else { 0 },
                force: bytes[18],
                kind: EntityType(array(bytes, 20)),
                alternative: EntityType(array(bytes, 28)),
                marking: array(bytes, 128),
                capabilities: u32::from_be_bytes(array(bytes, 140)),
            },
            appearance: u32::from_be_bytes(array(bytes, 84)),
            other: array(bytes, 89),
            parameters: parameters(bytes, bytes[19], ENTITY_STATE_BYTES)?,
        };
        let number = u8::from(state.dead_reckoning_parameters.algorithm);
        let model = if look.is_frozen() { Some(Model::Static) } else { model(number, reading) };
        let vector = |it: &dis_rs::model::VectorF32| {
            Vec3::new(
                it.first_vector_component.into(),
                it.second_vector_component.into(),
                it.third_vector_component.into(),
            )
        };
        let (at, turned) = (&state.entity_location, &state.entity_orientation);
        let angles = Euler { psi: turned.psi.into(), theta: turned.theta.into(), phi: turned.phi.into() };
        if ![angles.psi, angles.theta, angles.phi].iter().all(|angle| angle.abs() < 1e6) {
            return Err(PduError::NotFinite);
        }
        let motion = Dis {
            model: model.ok_or(PduError::Model)?,
            position: Vec3::new(at.x_coordinate, at.y_coordinate, at.z_coordinate),
            velocity: vector(&state.entity_linear_velocity),
            acceleration: vector(&state.dead_reckoning_parameters.linear_acceleration),
            orientation: Quat::from_euler(angles),
            angular_velocity: vector(&state.dead_reckoning_parameters.angular_velocity),
        };
        if !fairpath::motion::Motion::<Vec3>::Dis(motion).stays_finite() {
            return Err(PduError::NotFinite);
        }
        Ok(Self { id: DisId::from_bytes(&bytes[12..18]), motion, look })
    }

    /// Writes the PDU. Numbers beyond [`NUMBER_MAX`] cannot occur: motions of sessions have none.
    pub fn write(&self, exercise: u8, stamp: Stamp) -> Vec<u8> {
        let Self { id, motion, look: Look { description, appearance, other, parameters } } = self;
        let records = (parameters.len() / PARAMETER_BYTES).min(255);
        let parameters = &parameters[..records * PARAMETER_BYTES];
        let length = ENTITY_STATE_BYTES + parameters.len();
        let mut out = Vec::with_capacity(length);
        out.extend([description.version, exercise, kind::ENTITY_STATE, 1]);
        out.extend(stamp.0.to_be_bytes());
        out.extend((length as u16).to_be_bytes());
        out.extend([description.status, 0]);
        out.extend(id.to_bytes());
        out.extend([description.force, records as u8]);
        out.extend(description.kind.0);
        out.extend(description.alternative.0);
        put_vector(&mut out, motion.velocity);
        let Vec3 { x, y, z } = motion.position;
        [x, y, z].iter().for_each(|it| out.extend(it.to_be_bytes()));
        let Euler { psi, theta, phi } = motion.orientation.euler();
        put_vector(&mut out, Vec3::new(psi, theta, phi));
        out.extend(appearance.to_be_bytes());
        out.push(motion.model.number());
        out.extend(other);
        put_vector(&mut out, motion.acceleration);
        put_vector(&mut out, motion.angular_velocity);
        out.extend(description.marking);
        out.extend(description.capabilities.to_be_bytes());
        out.extend(parameters);
        debug_assert!(out.len() == length && motion.position.x.abs() <= NUMBER_MAX);
        out
    }
}

/// The fields of an Entity State Update PDU: what changed of an entity that is known already.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityStateUpdate {
    /// The entity.
    pub id: DisId,
    velocity: Vec3,
    position: Vec3,
    orientation: Quat,
    appearance: u32,
    parameters: Vec<u8>,
}

impl EntityStateUpdate {
    /// Reads an Entity State Update PDU.
    pub fn read(pdu: Pdu<'_>) -> Result<Self, PduError> {
        const FIXED_BYTES: usize = 72;
        let bytes = pdu.bytes();
        if bytes.len() < FIXED_BYTES {
            return Err(PduError::Body);
        }
        let single = |at: usize| f64::from(f32::from_be_bytes(array(bytes, at)));
        let double = |at: usize| f64::from_be_bytes(array(bytes, at));
        let angles = Euler { psi: single(56), theta: single(60), phi: single(64) };
        let update = Self {
            id: DisId::from_bytes(&bytes[12..18]),
            velocity: Vec3::new(single(20), single(24), single(28)),
            position: Vec3::new(double(32), double(40), double(48)),
            orientation: Quat::from_euler(angles),
            appearance: u32::from_be_bytes(array(bytes, 68)),
            parameters: parameters(bytes, bytes[19], FIXED_BYTES)?,
        };
        let is_finite = [update.velocity, update.position].iter().all(|v| v.length() < NUMBER_MAX)
            && [angles.psi, angles.theta, angles.phi].iter().all(|angle| angle.abs() < 1e6);
        if is_finite { Ok(update) } else { Err(PduError::NotFinite) }
    }

    /// Returns the entity's whole state: the model, acceleration and rate of turn stay as they were
    /// in `before`, which is brought to the instant of the update.
    pub fn applied_to(self, before: &EntityState) -> EntityState {
        let Self { id, velocity, position, orientation, appearance, parameters } = self;
        let parameters = if parameters.is_empty() { before.look.parameters.clone() } else { parameters };
        let look = Look { appearance, parameters, ..before.look.clone() };
        let model = if look.is_frozen() { Model::Static } else { before.motion.model };
        EntityState { id, motion: Dis { model, velocity, position, orientation, ..before.motion }, look }
    }
}

/// Returns the variable parameters after the fixed part of a PDU.
fn parameters(bytes: &[u8], count: u8, fixed_bytes: usize) -> Result<Vec<u8>, PduError> {
    let end = fixed_bytes + usize::from(count) * PARAMETER_BYTES;
    Ok(bytes.get(fixed_bytes..end).ok_or(PduError::Body)?.to_vec())
}

/// Returns the model with this number, with the chosen reading of model 8.
fn model(number: u8, reading: AccelerationReading) -> Option<Model> {
    match Model::from_number(number)? {
        Model::Rvb(_) => Some(Model::Rvb(reading)),
        model => Some(model),
    }
}

fn put_vector(out: &mut Vec<u8>, vector: Vec3) {
    [vector.x, vector.y, vector.z].iter().for_each(|it| out.extend((*it as f32).to_be_bytes()));
}

/// Returns `N` bytes from `at` on. dis-rs has read the whole body, so they exist.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|index| bytes[at + index])
}
