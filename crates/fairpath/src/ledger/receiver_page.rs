use super::exports::Exports;
use super::pair::Pair;
use crate::error::Path;
use crate::number::ReceiverId;
use crate::time::SharedInstant;
use crate::vector::Planar;

/// One receiver's page of a [`Ledger`](super::Ledger), which saves repeated lookups.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverPage<'a, V: Planar> {
    receiver: ReceiverId,
    pair: &'a Pair<V>,
    exports: &'a Exports<V>,
}

/// What a receiver knows of an entity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReceiverBelief<'a, V: Planar> {
    /// It has not received any DR vector.
    Nothing,
    /// It follows an earlier life of the entity, which is as good as nothing.
    EarlierLife,
    /// It places this path.
    Places(&'a Path<V>),
}

impl<'a, V: Planar> ReceiverPage<'a, V> {
    pub(super) fn new(receiver: ReceiverId, pair: &'a Pair<V>, exports: &'a Exports<V>) -> Self {
        Self { receiver, pair, exports }
    }

    /// Returns the page's receiver.
    pub fn receiver(&self) -> ReceiverId {
        self.receiver
    }

    /// Returns what the receiver knows at `t`, now or later, if copies arrive as expected.
    pub fn belief_at(&self, t: SharedInstant) -> ReceiverBelief<'a, V> {
        match self.pair.followed_at(self.exports, t) {
            None => ReceiverBelief::Nothing,
            Some(followed) if self.exports.is_of_this_life(followed) => {
                ReceiverBelief::Places(&followed.placed)
            }
            Some(_) => ReceiverBelief::EarlierLife,
        }
    }
}
