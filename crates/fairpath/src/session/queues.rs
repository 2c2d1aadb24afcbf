/// Queue lengths at one end of a session. [`limits`](super::limits) has the limit of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queues {
    /// Bytes of unconfirmed reliable messages: at most `OUTBOX_BYTES_MAX`.
    pub outbox_bytes: usize,
    /// Unconfirmed reliable messages: at most `OUTBOX_MESSAGES_MAX`.
    pub outbox_messages: usize,
    /// Unconfirmed quickest calls: at most `QUICKEST_MAX`.
    pub quickest: usize,
    /// Unconfirmed newest-state calls: at most `SLOTS_MAX`.
    pub newest_calls: usize,
    /// Unreliable calls that wait for room: at most `UNRELIABLE_MAX`.
    pub unreliable: usize,
    /// Datagrams without a known outcome: at most `SENT_PACKETS_MAX`.
    pub datagrams_open: usize,
    /// Objects with motion but without an announcement yet: at most `EARLY_MAX`, and at a server at
    /// most the ids granted.
    pub early: usize,
    /// Objects that the client is to see and that are not announced yet: at most `OBJECTS_MAX`.
    /// Zero at a client.
    pub waiting: usize,
    /// Events that the application has not fetched, of all peers together: about `EVENTS_MAX`.
    pub events: usize,
}
