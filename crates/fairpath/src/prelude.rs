//! The names that a game uses: `use fairpath::prelude::*;`.
//!
//! [`Vector`] and [`Planar`] bring the methods of vectors: `length`, `distance`, `dot`.

pub use crate::number::EntityId;
pub use crate::session::{
    Class, ClientEvent, ClientFrame, ClientId, Delivery, ObjectHandle, Party, Protocol, ServerEvent,
    ServerFrame, Within,
};
pub use crate::state::State;
pub use crate::steps::FixedSteps;
pub use crate::time::{LocalInstant, SharedInstant, Span};
pub use crate::vector::{Planar, Vec2, Vec3, Vector};
