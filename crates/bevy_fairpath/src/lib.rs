#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod authority;
mod call;
mod components;
#[cfg(feature = "conditioner")]
mod conditioner;
mod connection;
mod diagnostics;
mod end;
mod interest;
mod observe;
mod ownership;
mod place;
mod plugin;
mod receive;
mod register;
mod send;
mod space;
mod warnings;

pub use authority::{
    Authoritative, ControlledBy, Controls, Hittable, PredictAppExt, Predicted, Rewind, SeenThen,
};
pub use call::{Call, CallTo, Called};
pub use components::{
    Acceleration, Claimable, DeadReckoned, Facing, Model, Motionless, MovedIn, OutlivesOwner, Owned, Owner,
    Placed, Remote, ReplicatedId, Spin, Velocity,
};
#[cfg(feature = "conditioner")]
pub use conditioner::LinkConditioner;
pub use connection::{
    ActionRefused, ClientLeft, ConnectionStatus, Join, Leave, Listen, LocalClient, OwnerChanged,
    RemoteClient, ServerStatus,
};
pub use diagnostics::{FairpathDiagnostics, LinkDiagnostics};
#[cfg(feature = "conditioner")]
pub use fairpath_net::middleman::{LinkConfig, Loss};
pub use interest::{Audience, Interest};
pub use ownership::OwnershipCommandsExt;
pub use plugin::{
    Fairpath, FairpathClient, FairpathClientPlugin, FairpathServer, FairpathServerPlugin, FairpathSystems,
};
pub use register::{ReplicateAppExt, SetBy};
pub use space::Dimensions;
pub use warnings::{FairpathWarnings, Misuse};

pub use {fairpath, fairpath_net};

/// What a game uses, in one import.
///
/// `Vec2` and `Vec3` of the protocol are the session's: they say how many dimensions the world has.
/// Import Bevy's prelude as well, and name them `fairpath::Vec2` where both are meant.
pub mod prelude {
    pub use crate::{
        Acceleration, ActionRefused, Audience, Authoritative, Call, CallTo, Called, Claimable, ClientLeft,
        ConnectionStatus, ControlledBy, Controls, DeadReckoned, Facing, Fairpath, FairpathClientPlugin,
        FairpathDiagnostics, FairpathServerPlugin, FairpathSystems, FairpathWarnings, Hittable, Interest,
        Join, Leave, Listen, LocalClient, Model, Motionless, MovedIn, OutlivesOwner, Owned, Owner,
        OwnerChanged, OwnershipCommandsExt, Placed, PredictAppExt, Predicted, Remote, RemoteClient,
        ReplicateAppExt, ReplicatedId, Rewind, ServerStatus, SetBy, Spin, Velocity,
    };
    pub use fairpath::Vec2;
    pub use fairpath::session::{Delivery, Party, Protocol};
    pub use fairpath_net::{ConnectionProblem, Fingerprint, Identity};
}
