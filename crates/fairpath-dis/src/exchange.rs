//! What the gateways of one session agree on: the origin of the local frame, the precision, and the
//! types that travel.

use fairpath::motion::dis::Model;
use fairpath::schedule::Liveness;
use fairpath::session::{
    Budget, Class, ClientConfig, Delivery, Protocol, Rates, ServerConfig, ServerEvent, ServerFrame,
};
use fairpath::wire::{Precision, PrecisionSettings};
use fairpath::{MotionKind, Span, Trigger, Vec3};
use serde::{Deserialize, Serialize};

use crate::frame::{Geodetic, LocalFrame};
use crate::id::DisId;
use crate::pdu::Description;

/// An entity of DIS, as an object of a session is created with it.
///
/// A game that shares the session creates its own objects with it too: with the id 0:0:0 every
/// gateway gives them a number of its own application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// The id in the exercise; 0:0:0 for an object of a game.
    pub id: DisId,
    /// Type, force, marking and the like.
    pub description: Description,
}

/// A description that differs from the one an entity was created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Described(pub Description);

/// The appearance bits of an entity. Not set: zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appearance(pub u32);

/// Other dead-reckoning parameters, as they travel in DIS. Not set: zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherParameters(pub [u8; 15]);

/// Variable parameters, as they travel in DIS. Not set: none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariableParameters(pub Vec<u8>);

/// A whole PDU that must arrive: Fire, Detonation, Collision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event(pub Vec<u8>);

/// A whole PDU of another kind, delivered at most once, as DIS does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Other(pub Vec<u8>);

/// How finely numbers travel between gateways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fineness {
    /// Positions to a centimetre, and curves within a millimetre of the original for 5 s at 300
    /// m/s. For entities that are passed on one to one. About 45 bytes for a DR vector with
    /// everything.
    #[default]
    Exact,
    /// Positions to 6 cm, orientations to 0.35°: a tenth of the standard's thresholds. For entities
    /// whose thresholds are a metre or more. About 28 bytes for a DR vector with everything.
    Compact,
}

/// What the gateways of one session agree on. A gateway with another origin or precision is
/// refused.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Exchange {
    /// The origin of the local frame. Choose a place in the middle of the exercise: within 80 km
    /// positions are short, and +z is up.
    pub origin: Geodetic,
    /// How finely numbers travel.
    pub fineness: Fineness,
}

impl Exchange {
    /// Returns the local frame.
    pub fn frame(&self) -> LocalFrame {
        LocalFrame::at(self.origin)
    }

    /// Returns the description of the session.
    pub fn protocol(&self) -> Protocol<Vec3> {
        let Geodetic { latitude, longitude, height } = self.origin;
        let name = format!("dis {latitude:.6},{longitude:.6},{height:.1}");
        self.add_to(Protocol::new(&name, 1)).with_precision(self.precision())
    }

    /// Adds the types of gateways to the description of a game.
    pub fn add_to(&self, game: Protocol<Vec3>) -> Protocol<Vec3> {
        // The gateway decides itself what is sent: whatever it observes is a new DR vector.
        let every_step = Trigger::Every(self.precision().time_step());
        let rates = Rates { interval_max: SILENCE_MAX, ..Rates::default() };
        let entity = Class::new(every_step)
            .with_model(MotionKind::Dis(Model::Rvw))
            .with_rates(rates)
            .state::<Described>("description")
            .state::<Appearance>("appearance")
            .state::<OtherParameters>("other parameters")
            .state::<VariableParameters>("variable parameters");
        game.class::<Entity>("dis entity", entity)
            .call::<Event>("dis event", Delivery::ReliableUnordered)
            .call::<Other>("dis pdu", Delivery::Unreliable)
    }

    /// Returns how numbers are rounded.
    pub fn precision(&self) -> Precision {
        let settings = match self.fineness {
            Fineness::Exact => PrecisionSettings {
                position_step: 0.01,
                world_min: Vec3::new(-80_000.0, -80_000.0, -20_000.0),
                world_max: Vec3::new(80_000.0, 80_000.0, 40_000.0),
                velocity_step: 1e-4,
                velocity_limit: 800.0,
                acceleration_step: 2e-5,
                acceleration_limit: 160.0,
                angle_steps: 1 << 20,
                turn_rate_step: 2e-7,
                turn_rate_limit: 1.6,
                time_step: Span::from_millis(1),
            },
            Fineness::Compact => PrecisionSettings {
                position_step: 1.0 / 16.0,
                world_min: Vec3::new(-65_500.0, -65_500.0, -8_000.0),
                world_max: Vec3::new(65_500.0, 65_500.0, 24_000.0),
                velocity_step: 1.0 / 64.0,
                velocity_limit: 511.0,
                acceleration_step: 1.0 / 64.0,
                acceleration_limit: 63.0,
                angle_steps: 1024,
                turn_rate_step: 5e-4,
                turn_rate_limit: 2.0,
                time_step: Span::from_millis(1),
            },
        };
        Precision::new(settings).expect("the settings are constants, and a test builds both")
    }

    /// Returns the settings of a server that many gateways share.
    pub fn server_config(&self, protocol: Protocol<Vec3>, epoch: u64) -> ServerConfig<Vec3> {
        let mut config = ServerConfig::new(protocol, epoch);
        self.set_up_server(&mut config);
        config
    }

    /// Changes the settings of a server so that gateways of 10 000 entities fit.
    pub fn set_up_server(&self, config: &mut ServerConfig<Vec3>) {
        config.objects_per_client_max = ENTITIES_MAX;
        config.budget = BUDGET;
        config.datagram_every = DATAGRAM_EVERY;
        config.dispatcher.horizon = HORIZON;
        config.dispatcher.liveness = Some(self.liveness());
    }

    /// Returns the settings of a gateway's client.
    pub fn client_config(&self, protocol: Protocol<Vec3>) -> ClientConfig<Vec3> {
        let mut config = ClientConfig::new(protocol);
        self.set_up_client(&mut config);
        config
    }

    /// Changes the settings of a client so that 10 000 entities fit.
    pub fn set_up_client(&self, config: &mut ClientConfig<Vec3>) {
        config.objects_max = ENTITIES_MAX;
        config.budget = BUDGET;
        config.datagram_every = DATAGRAM_EVERY;
        config.liveness = self.liveness();
    }

    fn liveness(&self) -> Liveness {
        // A lost DR vector is sent again where it makes a difference that a receiver could see.
        Liveness { silence_max: SILENCE_MAX, tolerance: self.precision().settings().position_step }
    }
}

/// Passes calls of one gateway on to all others. The server of the session calls it with each event
/// that it polls; returns whether the event was such a call.
pub fn relay(event: &ServerEvent, game: &mut ServerFrame<'_, Vec3>) -> bool {
    let ServerEvent::Called { from, call, .. } = event else { return false };
    if let Some(event) = call.get::<Event>() {
        // A client whose queue is full has lost the connection: nothing to do about it here.
        let _ = game.call_all_but(*from, &event);
    } else if let Some(other) = call.get::<Other>() {
        let _ = game.call_all_but(*from, &other);
    } else {
        return false;
    }
    true
}

/// Most entities of a gateway.
pub const ENTITIES_MAX: usize = 16_384;

/// 4 MB/s: 10 000 entities at 1 PDU/s take a tenth of it. The transport's congestion control still
/// limits it to what the network carries.
const BUDGET: Budget = Budget { bytes_per_sec: 4_000_000, burst_bytes: 64_000, share: None };

/// One datagram for what arrives within a frame of a simulation at 50 Hz, instead of one per PDU.
const DATAGRAM_EVERY: Span = Span::from_millis(20);

/// How often a receiver is sent an entity that keeps to its prediction. Receipts confirm what
/// arrived, so unlike DIS a session needs no heartbeat; this is a second line of defence.
const SILENCE_MAX: Span = Span::from_secs(60);

/// How long a replica predicts without an update. The gateway at the entity's network ends entities
/// that are not heard any more, so this is only longer than any heartbeat.
const HORIZON: Span = Span::from_secs(180);
