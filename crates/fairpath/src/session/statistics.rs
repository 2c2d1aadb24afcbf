use crate::time::Span;

/// Statistics of the link to a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Mean round trip; `None` before the first receipt.
    pub round_trip: Option<Span>,
    /// Mean deviation of the round trip.
    pub round_trip_deviation: Option<Span>,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Datagrams received, without duplicates.
    pub datagrams_received: u64,
    /// Datagrams of the peer that did not arrive, inferred from their numbers.
    pub datagrams_lost: u64,
    /// Duplicate datagrams received.
    pub datagrams_repeated: u64,
    /// Feedback messages refused: not proven, or too late to be checked.
    pub feedback_refused: u64,
    /// Bytes sent: datagrams, stream and messages, without the transport's overhead.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// DR vectors sent.
    pub vectors_sent: u64,
    /// DR vectors received.
    pub vectors_received: u64,
    /// Bytes of unconfirmed reliable messages.
    pub outbox_bytes: u64,
    /// The peer's error about the objects it sees, per second, from the ledger.
    pub error_per_sec: f64,
}

impl Statistics {
    /// Returns the share of the peer's datagrams that were lost.
    pub fn loss_ratio(&self) -> f64 {
        let sent = self.datagrams_lost + self.datagrams_received;
        if sent == 0 { 0.0 } else { self.datagrams_lost as f64 / sent as f64 }
    }
}
