/// How much one end of a session keeps of the other at the moment. Every number has its bound in
/// [`limits`](super::limits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queues {
    /// Bytes of reliable messages that are not confirmed: at most `OUTBOX_BYTES_MAX`.
    pub outbox_bytes: usize,
    /// Reliable messages that are not confirmed: at most `OUTBOX_MESSAGES_MAX`.
    pub outbox_messages: usize,
    /// Quickest calls that are not confirmed: at most `QUICKEST_MAX`.
    pub quickest: usize,
    /// Newest-state calls that are not confirmed: at most `SLOTS_MAX`.
    pub newest_calls: usize,
    /// Unreliable calls that wait for room: at most `UNRELIABLE_MAX`.
    pub unreliable: usize,
    /// Datagrams whose fate is open: at most `SENT_PACKETS_MAX`.
    pub datagrams_open: usize,
    /// Objects heard of before they exist here: at most `EARLY_MAX`, and at a server at most the
    /// ids granted.
    pub early: usize,
    /// Events that nobody has fetched, of all peers together: about `EVENTS_MAX`.
    pub events: usize,
}
