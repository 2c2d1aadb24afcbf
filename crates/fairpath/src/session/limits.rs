//! Every bound of a session, in one place. What a peer sends beyond them is refused, and closes the
//! connection where no honest peer could have sent it.

use crate::time::Span;

/// For how long a session that lost its transport can be resumed.
///
/// 60 s: a laptop lid, a tunnel, a change from Wi-Fi to mobile. Longer keeps the objects of players
/// who are gone in the world; shorter loses what was promised to players who come back.
pub const RESUME_WITHIN: Span = Span::from_secs(60);

/// A peer that said nothing for this long has lost its transport; the session stays resumable.
///
/// 4 s is when the mailbox servers of the literature free a seat: four clock requests in a row
/// unanswered.
pub const SILENCE_MAX: Span = Span::from_secs(4);

/// A connection that has not said who it is after this long is closed.
pub const HELLO_WITHIN: Span = Span::from_secs(5);

/// Connections that may wait for their greeting at once, beyond those of clients: a flood stops
/// here.
pub const GREETINGS_MAX: usize = 64;

/// Objects one client may own at once: itself, what it carries and some dozens of shots in flight.
pub const OBJECTS_PER_CLIENT_MAX: usize = 256;

/// Objects of a server: many times what a client's scope can show.
pub const OBJECTS_MAX: usize = 1 << 16;

/// Ids that a client may use for objects it creates, granted at a time.
pub const IDS_PER_GRANT: u32 = 32;

/// A new grant is sent when this many are left: enough for the shots of one round trip.
pub(super) const IDS_LOW: u32 = IDS_PER_GRANT / 2;

/// State groups of an object.
pub const GROUPS_MAX: usize = 32;

/// Bytes of one state group, and of a call that travels in datagrams: one must fit in any datagram.
pub const DATAGRAM_ITEM_BYTES_MAX: usize = 900;

/// Bytes of what an object is created with.
pub const CREATION_BYTES_MAX: usize = 1024;

/// Bytes of a call that travels reliably.
pub const CALL_BYTES_MAX: usize = 16 * 1024;

/// Bytes of a proof of who one is.
pub const AUTHENTICATION_BYTES_MAX: usize = 1024;

/// One message on a stream: an object that enters with all its groups full is the longest.
pub const STREAM_MESSAGE_BYTES_MAX: usize = 32 * 1024;
const _: () = assert!(
    CREATION_BYTES_MAX + GROUPS_MAX * (DATAGRAM_ITEM_BYTES_MAX + 16) + 64 < STREAM_MESSAGE_BYTES_MAX
        && CALL_BYTES_MAX + 64 < STREAM_MESSAGE_BYTES_MAX
);

/// Bytes that the transport must be able to carry in a datagram: QUIC's least is 1200 with its own
/// overhead.
pub const DATAGRAM_BYTES_MIN: usize = 1100;
const _: () = assert!(DATAGRAM_ITEM_BYTES_MAX + 128 < DATAGRAM_BYTES_MIN);

/// Bytes of reliable messages that wait to be confirmed, each way of a session.
///
/// 256 KiB: a minute of partition at 4 KiB/s. More lets one absent client cost a server more
/// memory; with less, a chat through a tunnel loses the session. For a thousand clients at worst
/// 256 MiB.
pub const OUTBOX_BYTES_MAX: usize = 256 * 1024;

/// Reliable messages that wait to be confirmed, each way of a session.
pub const OUTBOX_MESSAGES_MAX: usize = 4096;

/// Reliable unordered messages that may be under way at once; more wait.
pub const UNORDERED_WINDOW: u64 = 256;

/// Quickest calls that wait to be confirmed.
pub const QUICKEST_MAX: usize = 32;
/// How far apart their numbers may be.
pub(super) const QUICKEST_WINDOW: u64 = 256;
/// Bytes of a quickest call: it is repeated in every packet.
pub const QUICKEST_BYTES_MAX: usize = 200;

/// Different newest-state calls (by object and method) of one direction of a session.
pub const SLOTS_MAX: usize = 256;

/// Unreliable calls that wait for room; the oldest is dropped for a newer one.
pub const UNRELIABLE_MAX: usize = 64;

/// Objects of which a DR vector may come before the news that they exist.
pub const EARLY_MAX: usize = 256;

/// Datagrams whose fate is open: at 60 a second a quarter of a minute.
pub const SENT_PACKETS_MAX: usize = 1024;

/// Events that nobody has fetched. Who does not drain them loses the connections that cause them.
pub const EVENTS_MAX: usize = 1 << 16;

/// Calls that a server takes from one client: so many a second for ever, and one outbox full at
/// once.
pub const CALLS_PER_SEC: u32 = 500;
/// What may come at once: all that waited for a partition to end.
pub const CALLS_BURST: u32 = 8192;
const _: () = assert!(CALLS_BURST as usize > OUTBOX_MESSAGES_MAX + QUICKEST_MAX + SLOTS_MAX);

/// Created and destroyed, claimed and released: so many a second from one client, and so many at
/// once.
pub const REQUESTS_PER_SEC: u32 = 200;
/// See [`REQUESTS_PER_SEC`].
pub const REQUESTS_BURST: u32 = 8192;
const _: () = assert!(REQUESTS_BURST as usize > OUTBOX_MESSAGES_MAX);

/// Refusals told to one client: so many a second; a flood of nonsense is not answered with a flood.
pub(super) const REFUSALS_PER_SEC: u32 = 20;
/// See [`REFUSALS_PER_SEC`].
pub(super) const REFUSALS_BURST: u32 = 40;
