//! How far are entities shown from where they are?

pub(super) mod live_objects;
pub(super) mod loss;
pub(super) mod placement;
