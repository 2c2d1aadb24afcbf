//! The game that is played: its classes, states and calls as Rust types.
//!
//! Every value names its own type and the object that it belongs to, so that a value of another
//! type, or of another object with the same id, is noticed wherever it arrives.

use fairpath::Trigger;
use fairpath::motion::MotionKind;
use fairpath::number::EntityId;
use fairpath::session::{Class, ClassId, Client, Delivery, Payload, Protocol, Rates, Server};
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::wire::{Precision, PrecisionSettings};
use serde::{Deserialize, Serialize};

use crate::plan::{Plan, Stranger};

/// A creation value or a state: the number of its type, of its object, and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    kind: u8,
    /// The run of the server in which the object was created.
    pub(crate) epoch: u32,
    /// The number of the object among all objects of a world.
    pub(crate) number: u32,
    pub(crate) value: u64,
}

/// A type with this number. The bytes of another type are no value of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stamp", into = "Stamp")]
pub(crate) struct Typed<const KIND: u8>(Stamp);

impl<const KIND: u8> Typed<KIND> {
    pub(crate) fn new(epoch: u64, number: u32, value: u64) -> Self {
        Self(Stamp { kind: KIND, epoch: epoch as u32, number, value })
    }
}

impl<const KIND: u8> TryFrom<Stamp> for Typed<KIND> {
    type Error = &'static str;

    fn try_from(stamp: Stamp) -> Result<Self, Self::Error> {
        if stamp.kind == KIND { Ok(Self(stamp)) } else { Err("a value of another type") }
    }
}

impl<const KIND: u8> From<Typed<KIND>> for Stamp {
    fn from(value: Typed<KIND>) -> Self {
        value.0
    }
}

/// The number of state groups that an owner sets in each class. The server sets the next ones.
pub(crate) const OWNER_GROUPS: u8 = 4;
/// The number of state groups of each class.
pub(crate) const GROUPS: u8 = 6;

const CREATION: u8 = 10;
pub(crate) type Tank = Typed<{ CREATION }>;
pub(crate) type Drone = Typed<{ CREATION + 1 }>;
pub(crate) type Ball = Typed<{ CREATION + 2 }>;
pub(crate) type Stone = Typed<{ CREATION + 3 }>;
pub(crate) type Bullet = Typed<{ CREATION + 4 }>;
pub(crate) type Platform = Typed<{ CREATION + 5 }>;
pub(crate) type Rider = Typed<{ CREATION + 6 }>;

/// The numbers of the classes, in the order of registration.
pub(crate) const TANK: ClassId = ClassId(0);
pub(crate) const DRONE: ClassId = ClassId(1);
pub(crate) const BALL: ClassId = ClassId(2);
pub(crate) const STONE: ClassId = ClassId(3);
pub(crate) const BULLET: ClassId = ClassId(4);
pub(crate) const PLATFORM: ClassId = ClassId(5);
pub(crate) const RIDER: ClassId = ClassId(6);

/// Calls `$body` with the type of a runtime number: `$kind` is a `const` there.
macro_rules! for_type {
    ($number:expr, $from:literal, |$kind:ident| $body:expr) => {
        match $number - $from {
            0 => {
                const $kind: u8 = $from;
                $body
            }
            1 => {
                const $kind: u8 = $from + 1;
                $body
            }
            2 => {
                const $kind: u8 = $from + 2;
                $body
            }
            3 => {
                const $kind: u8 = $from + 3;
                $body
            }
            4 => {
                const $kind: u8 = $from + 4;
                $body
            }
            5 => {
                const $kind: u8 = $from + 5;
                $body
            }
            _ => {
                const $kind: u8 = $from + 6;
                $body
            }
        }
    };
}
pub(crate) use for_type;

/// Returns the content of a state; `None` if its type is not the one of its group.
pub(crate) fn state_stamp(group: u8, value: &Payload) -> Option<Stamp> {
    for_type!(group, 0, |KIND| value.get::<Typed<KIND>>().map(Stamp::from))
}

/// Returns the content of a creation value; `None` if its type is not the one of its class.
pub(crate) fn creation_stamp(class: ClassId, value: &Payload) -> Option<Stamp> {
    let kind = CREATION + u8::try_from(class.0).ok()?;
    for_type!(kind, 10, |KIND| value.get::<Typed<KIND>>().map(Stamp::from))
}

/// Returns the creation value of an object at a client; `None` if it is not of its class's type.
pub(crate) fn stamp_at_client(
    client: &mut Client<Vec2>,
    object: EntityId,
    at: LocalInstant,
) -> Option<Stamp> {
    let kind = CREATION + client.class(object)?.0 as u8;
    let frame = client.frame(at);
    for_type!(kind, 10, |KIND| frame.creation::<Typed<KIND>>(object).map(Stamp::from))
}

/// Returns the creation value of an object at the server; `None` if it is not of its class's type.
pub(crate) fn stamp_at_server(
    server: &mut Server<Vec2>,
    object: EntityId,
    now: SharedInstant,
) -> Option<Stamp> {
    let kind = CREATION + server.class(object)?.0 as u8;
    let frame = server.frame(now);
    for_type!(kind, 10, |KIND| frame.creation::<Typed<KIND>>(object).map(Stamp::from))
}

/// Sets a state of an object that a client owns. Returns whether the session accepted it.
pub(crate) fn set_at_client(
    client: &mut Client<Vec2>,
    object: EntityId,
    (group, value): (u8, u64),
    at: LocalInstant,
) -> bool {
    let Some(Stamp { epoch, number, .. }) = stamp_at_client(client, object, at) else { return false };
    let mut frame = client.frame(at);
    for_type!(group, 0, |KIND| frame.set(object, &Typed::<KIND>::new(epoch.into(), number, value)).is_ok())
}

/// Sets a state of an object at the server. Returns whether the session accepted it.
pub(crate) fn set_at_server(
    server: &mut Server<Vec2>,
    object: EntityId,
    (group, value): (u8, u64),
    now: SharedInstant,
) -> bool {
    let Some(Stamp { epoch, number, .. }) = stamp_at_server(server, object, now) else { return false };
    let mut frame = server.frame(now);
    for_type!(group, 0, |KIND| frame.set(object, &Typed::<KIND>::new(epoch.into(), number, value)).is_ok())
}

/// A call of one delivery class: its lane and number, as the checker of calls counts them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Call<const DELIVERY: u8> {
    pub(crate) lane: [u8; 4],
    pub(crate) number: [u8; 4],
    padding: Vec<u8>,
}

impl<const DELIVERY: u8> Call<DELIVERY> {
    pub(crate) fn new(lane: u32, number: u32, padding: usize) -> Self {
        Self { lane: lane.to_le_bytes(), number: number.to_le_bytes(), padding: vec![DELIVERY; padding] }
    }
}

/// The delivery classes of typed calls, in the order of their methods.
pub(crate) const DELIVERIES: [Delivery; 5] = [
    Delivery::ReliableOrdered,
    Delivery::ReliableUnordered,
    Delivery::Unreliable,
    Delivery::Newest,
    Delivery::Quickest,
];

/// Returns the description of the game.
pub(crate) fn protocol(plan: &Plan) -> Protocol<Vec2> {
    describe("campaign", 1, plan)
}

/// Returns the description that a client of another game has.
pub(crate) fn strange_protocol(plan: &Plan, stranger: Stranger) -> Protocol<Vec2> {
    match stranger {
        Stranger::OtherGame => describe("another game", 1, plan),
        Stranger::OtherVersion => describe("campaign", 2, plan),
        Stranger::OtherClasses => protocol(plan).class::<Typed<99>>("boat", Class::within(0.3)),
        Stranger::OtherPrecision => {
            let settings = PrecisionSettings { position_step: 0.5, ..PrecisionSettings::default() };
            protocol(plan).with_precision(Precision::new(settings).expect("sound numbers"))
        }
    }
}

fn describe(name: &str, version: u32, plan: &Plan) -> Protocol<Vec2> {
    let rates = Rates { interval_min: plan.interval_min, ..Rates::default() };
    let class = |model: MotionKind| {
        let class = Class::new(Trigger::within(0.3)).with_model(model).with_rates(rates);
        let owners = class.state::<Typed<0>>("a").state::<Typed<1>>("b");
        let owners = owners.state::<Typed<2>>("c").state::<Typed<3>>("d");
        owners.server_state::<Typed<4>>("e").server_state::<Typed<5>>("f")
    };
    // Stones lie still: one DR vector is enough.
    let lasting = Rates { interval_max: Span::from_secs(3_600), ..rates };
    let lies = Trigger::Distance { threshold: 0.3 };
    let stone = Class::new(lies).with_model(MotionKind::Static).with_rates(lasting).server_only();
    Protocol::new(name, version)
        .class::<Tank>("tank", class(plan.model))
        .class::<Drone>("drone", class(MotionKind::Linear).server_only())
        .class::<Ball>("ball", class(MotionKind::Linear).claimable().outlives_owner())
        .class::<Stone>("stone", stone)
        .class::<Bullet>("bullet", class(MotionKind::Linear))
        .class::<Platform>("platform", class(MotionKind::Linear).with_attitude().server_only())
        .class::<Rider>("rider", class(MotionKind::Linear).with_attitude().claimable().outlives_owner())
        .call::<Call<0>>("ordered", DELIVERIES[0])
        .call::<Call<1>>("unordered", DELIVERIES[1])
        .call::<Call<2>>("unreliable", DELIVERIES[2])
        .call::<Call<3>>("newest", DELIVERIES[3])
        .call::<Call<4>>("quickest", DELIVERIES[4])
}
