use fairpath::number::ReceiverId;
use fairpath::schedule::{Departure, Dispatcher};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Planar;
use fairpath::wire::{Feedback, Header};
use fairpath::{DrVector, Export};

use crate::link::Fate;

/// Sees what happens in a [`Star`](super::Star), and decides what receivers report. By default it
/// does nothing, and receivers report the truth at once.
pub trait Watch<V: Planar> {
    /// A DR vector was generated and the scheduler has decided.
    fn on_export(&mut self, _export: &Export<V>, _dispatcher: &Dispatcher<V>, _now: SharedInstant) {}

    /// A copy has left in a datagram with this fate.
    fn on_departure(
        &mut self,
        _departure: &Departure,
        _fate: Fate,
        _dispatcher: &Dispatcher<V>,
        _now: SharedInstant,
    ) {
    }

    /// A DR vector reaches a receiver.
    fn on_arrival(&mut self, _receiver: ReceiverId, _vector: &DrVector<V>, _at: SharedInstant) {}

    /// A receiver has sent feedback, which has this fate.
    fn on_feedback_sent(&mut self, _receiver: ReceiverId, _fate: Fate, _now: SharedInstant) {}

    /// Feedback reaches the sender. The sender reads it as this method leaves it.
    fn on_feedback(&mut self, _receiver: ReceiverId, _feedback: &mut Feedback, _at: SharedInstant) {}

    /// Returns what a receiver reports of a datagram that arrived at `received_at`; `None` sends no
    /// feedback. Default: the truth, at once.
    fn report(
        &mut self,
        _receiver: ReceiverId,
        _header: &Header,
        received_at: SharedInstant,
    ) -> Option<Reported> {
        Some(Reported::at_once(received_at))
    }

    /// Returns what a receiver reports of a datagram that was lost, with the header that it claims
    /// to have seen. It cannot know the nonce in `header`. Default: nothing. A forged receipt
    /// leaves in a message of its own: a wrong nonce spoils the proof of all others.
    fn forge(
        &mut self,
        _receiver: ReceiverId,
        _header: &Header,
        _now: SharedInstant,
    ) -> Option<(Header, Reported)> {
        None
    }

    /// Returns how long a receiver holds back the transport's acknowledgements. Default: zero.
    fn transport_held_back(&mut self, _receiver: ReceiverId) -> Span {
        Span::ZERO
    }
}

/// Sees nothing. Receivers are honest.
impl<V: Planar> Watch<V> for () {}

/// What a receiver reports of one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported {
    /// When the datagram is said to have arrived; `None` leaves it out, as if it had not.
    pub received_at: Option<SharedInstant>,
    /// For how long the feedback is held back.
    pub held_back: Span,
}

impl Reported {
    /// The datagram is said to have arrived at `received_at`; the feedback leaves at once.
    pub const fn at_once(received_at: SharedInstant) -> Self {
        Self { received_at: Some(received_at), held_back: Span::ZERO }
    }
}
