use crate::time::Span;

/// Statistics of the link to a peer, since the session began. A resumed session goes on counting; a
/// new one starts at zero.
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
    /// DR vectors sent, further copies included.
    pub vectors_sent: u64,
    /// Further copies among them, sent because the link loses datagrams
    /// ([`LossProtection`](super::LossProtection)).
    pub vectors_repeated: u64,
    /// DR vectors received.
    pub vectors_received: u64,
    /// Bytes of unconfirmed reliable messages.
    pub outbox_bytes: u64,
    /// How wrong the peer is about the objects that this end sends to it, from the ledger: for each
    /// object the mean distance between the exported path and where the peer places it, summed over
    /// the objects, in world units. Divide by the number of objects for the mean of one.
    ///
    /// At a server it is the client's error about what the client sees. At a client it is the
    /// server's error about the client's own objects. The name says how it is computed: units times
    /// seconds of error, for each second; older time fades with a half-life of 30 s.
    pub error_per_sec: f64,
}

impl Statistics {
    /// Returns the share of the peer's datagrams that were lost.
    pub fn loss_ratio(&self) -> f64 {
        let sent = self.datagrams_lost + self.datagrams_received;
        if sent == 0 { 0.0 } else { self.datagrams_lost as f64 / sent as f64 }
    }
}
