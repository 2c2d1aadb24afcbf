//! Who sees what.

use std::fmt::Debug;

use super::{ClassId, ClientId, Party};
use crate::number::EntityId;
use crate::state::State;
use crate::vector::Planar;

/// An object, as [`Scope`] is shown it.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a, V: Planar> {
    /// Which.
    pub object: EntityId,
    /// What it is.
    pub class: ClassId,
    /// Whose it is.
    pub owner: Party,
    /// What it was created with.
    pub creation: &'a [u8],
    /// Where the server places it now; nothing before the first observation.
    pub state: Option<State<V>>,
}

/// Says who sees what. Owners always see what is theirs.
pub trait Scope<V: Planar>: Debug + Send {
    /// Whether `client` is to see the object. `eyes` are the objects it owns; `is_seen` whether it sees it now, for
    /// who wants to keep things from flickering at the edge.
    fn sees(&mut self, client: ClientId, object: &Sight<'_, V>, eyes: &[Sight<'_, V>], is_seen: bool)
    -> bool;
}

/// Everybody sees everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl<V: Planar> Scope<V> for Everything {
    fn sees(&mut self, _: ClientId, _: &Sight<'_, V>, _: &[Sight<'_, V>], _: bool) -> bool {
        true
    }
}

/// Clients see what is near to something of theirs; who has nothing sees everything.
#[derive(Clone, Copy, Debug)]
pub struct Within {
    /// From this near on it is seen.
    pub enter: f64,
    /// Up to this far away it stays seen. At least `enter`: with less between them than an object moves in one look,
    /// things at the edge come and go with every look.
    pub leave: f64,
}

impl<V: Planar> Scope<V> for Within {
    fn sees(&mut self, _: ClientId, object: &Sight<'_, V>, eyes: &[Sight<'_, V>], is_seen: bool) -> bool {
        let reach = if is_seen { self.leave } else { self.enter };
        let Some(state) = object.state else { return true };
        let mut distances = eyes.iter().filter_map(|eye| Some(eye.state?.position.distance(state.position)));
        eyes.is_empty() || distances.any(|distance| distance <= reach)
    }
}
