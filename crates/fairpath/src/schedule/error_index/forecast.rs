use std::collections::BTreeMap;

use super::super::DecisionContext;
use crate::error::Path;
use crate::motion::{Linear, Motion};
use crate::number::EntityId;
use crate::time::Span;
use crate::vector::Planar;

/// The share of velocity changes that must point in one direction for the newest curve to be used
/// as it is. 0.95: a tank in a constant turn changes its velocity in almost one direction.
const STEADY: f64 = 0.95;
/// Changes of velocity smaller than this, in units per second, are rounding.
const CHANGE_MIN: f64 = 1e-9;

/// Predicts where the entity will go from its latest motion; `None` before its first DR vector. The
/// newest DR vector says where the entity goes *now*. If the last few went back and forth, it will
/// not go there for long, and copies of each swing are wasted. So the newest velocity is weighted
/// with the share of recent changes that did not cancel, the window's mean velocity with the rest.
pub(super) fn forecast<V: Planar>(context: &DecisionContext<'_, V>, window: Span) -> Option<Path<V>> {
    let from = context.now - window;
    let mut pieces = context.ledger.exported_back_to(from);
    let newest = pieces.next()?;
    let (mut net, mut gross) = (V::ZERO, 0.0);
    let mut later = newest;
    for earlier in pieces {
        let change = later.1.velocity_at(later.0) - earlier.1.velocity_at(later.0);
        net += change;
        gross += change.length();
        later = earlier;
    }
    let newest = *newest.1;
    let start = from.max(later.0);
    let secs = (context.now - start).as_secs_f64();
    if !(gross > CHANGE_MIN && secs > 0.0) {
        return Some(newest);
    }
    let lasting = net.length() / gross;
    if lasting > STEADY && !is_straight(&context.vector.motion) {
        return Some(newest);
    }
    let position = newest.position_at(context.now);
    let mean = (position - later.1.position_at(start)) * (1.0 / secs);
    let velocity = newest.velocity_at(context.now) * lasting + mean * (1.0 - lasting);
    Some(Path::new(Motion::Linear(Linear { position, velocity }), context.now))
}

/// The lowest height at which each entity moved level: the forecast does not go below it. The DR
/// vector of a falling entity continues to fall, and reaches a far receiver after the landing.
/// Without a floor that copy would seem worth sending, and would put the entity into the ground.
#[derive(Clone, Debug, Default)]
pub(super) struct GroundLevels {
    levels: BTreeMap<EntityId, f64>,
}

/// An entity moves level if it climbs or falls by less than this for each metre of its way.
const LEVEL: f64 = 0.05;

impl GroundLevels {
    /// Records the height of the entity.
    pub(super) fn on_trigger<V: Planar>(&mut self, context: &DecisionContext<'_, V>) {
        let Some(path) = context.ledger.exported() else { return };
        let velocity = path.velocity_at(context.now);
        if velocity.height().abs() <= LEVEL * velocity.length() {
            let height = path.position_at(context.now).height();
            let level = self.levels.entry(context.entity).or_insert(height);
            *level = level.min(height);
        }
    }

    pub(super) fn forget(&mut self, entity: EntityId) {
        self.levels.remove(&entity);
    }

    /// The height below which the entity will not fall; −∞ if it is below all known levels.
    pub(super) fn below<V: Planar>(&self, entity: EntityId, position: V) -> f64 {
        let level = self.levels.get(&entity).copied();
        level.filter(|level| *level <= position.height()).unwrap_or(f64::NEG_INFINITY)
    }
}

/// The same position, but not below this height.
pub(super) fn not_below<V: Planar>(position: V, height: f64) -> V {
    if position.height() < height { V::from_plane(position.on_plane(), height) } else { position }
}

fn is_straight<V: Planar>(motion: &Motion<V>) -> bool {
    matches!(motion, Motion::Static(_) | Motion::Linear(_))
}
