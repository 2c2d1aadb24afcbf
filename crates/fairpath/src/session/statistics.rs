use crate::time::Span;

/// What one direction of a session has seen of the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// There and back, on average; nothing before the first receipt.
    pub round_trip: Option<Span>,
    /// How far round trips are from that, on average.
    pub round_trip_deviation: Option<Span>,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Datagrams received, without repeated ones.
    pub datagrams_received: u64,
    /// Datagrams of the peer that never came, as far as their numbers tell.
    pub datagrams_lost: u64,
    /// Datagrams that came twice.
    pub datagrams_repeated: u64,
    /// Feedback that did not prove what it said, or came too late to be checked.
    pub feedback_refused: u64,
    /// Bytes sent: datagrams, stream and messages, without what the transport adds.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// DR vectors sent.
    pub vectors_sent: u64,
    /// DR vectors received.
    pub vectors_received: u64,
    /// Bytes of reliable messages that are not confirmed.
    pub outbox_bytes: u64,
    /// How wrong the peer has been about what it is shown, per second, from the ledger.
    pub error_per_sec: f64,
}

impl Statistics {
    /// Which part of the peer's datagrams was lost.
    pub fn loss_ratio(&self) -> f64 {
        let sent = self.datagrams_lost + self.datagrams_received;
        if sent == 0 { 0.0 } else { self.datagrams_lost as f64 / sent as f64 }
    }
}
