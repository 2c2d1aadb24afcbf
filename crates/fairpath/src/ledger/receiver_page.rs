use super::exports::Exports;
use super::pair::Pair;
use crate::error::Path;
use crate::number::ReceiverId;
use crate::time::SharedInstant;
use crate::vector::Planar;

/// One receiver's page, open for reading: what [`Ledger`](super::Ledger) answers for one receiver,
/// without looking it up again and again.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverPage<'a, V: Planar> {
    receiver: ReceiverId,
    pair: &'a Pair<V>,
    exports: &'a Exports<V>,
}

/// What a receiver makes of an entity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReceiverBelief<'a, V: Planar> {
    /// It has never heard of it.
    Nothing,
    /// It follows one of the entity's earlier lives: as good as nothing.
    EarlierLife,
    /// It follows this path.
    Places(&'a Path<V>),
}

impl<'a, V: Planar> ReceiverPage<'a, V> {
    pub(super) fn new(receiver: ReceiverId, pair: &'a Pair<V>, exports: &'a Exports<V>) -> Self {
        Self { receiver, pair, exports }
    }

    /// Whose page it is.
    pub fn receiver(&self) -> ReceiverId {
        self.receiver
    }

    /// What the receiver will believe at `t`, now or ahead, if copies in flight arrive when
    /// expected.
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
