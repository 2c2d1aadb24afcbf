//! All limits of a session. Data beyond a limit is refused; if no honest peer could have sent it,
//! the connection is closed.

use crate::time::Span;

/// How long a session without a transport can be resumed.
///
/// 60 s: a closed laptop lid, a tunnel, a change from Wi-Fi to mobile. Longer: objects of departed
/// players stay in the world. Shorter: returning players lose reliable messages.
pub const RESUME_WITHIN: Span = Span::from_secs(60);

/// Time without data after which a peer has lost its transport; the session stays resumable.
///
/// 4 s: four unanswered clock requests in a row, and the time after which mailbox servers in the
/// literature free a slot.
pub const SILENCE_MAX: Span = Span::from_secs(4);

/// Longest time that a client waits for a good clock before its session begins.
///
/// 2 s: the longest supported round trip, and 16 requests. Longer: players on bad links wait.
/// Shorter: on a link that loses most packets a session begins with the clock of the greeting,
/// which is wrong by half the time that the greeting waited.
pub const CLOCK_WAIT_MAX: Span = Span::from_secs(2);

/// Time within which a new connection must send its greeting; then it is closed.
pub const HELLO_WITHIN: Span = Span::from_secs(5);

/// Most connections that wait for their greeting, beyond those of clients: the limit of a flood.
pub const GREETINGS_MAX: usize = 64;

/// Most objects that one client may own by default: its avatar, its items and some dozens of shots
/// in flight. [`ServerConfig::objects_per_client_max`](super::ServerConfig::objects_per_client_max)
/// and [`ClientConfig::objects_max`](super::ClientConfig::objects_max) set another limit.
pub const OBJECTS_PER_CLIENT_MAX: usize = 256;

/// Most objects of a server: many times what a client's scope can show.
pub const OBJECTS_MAX: usize = 1 << 16;

/// Most parents above an object: a gunner on a turret on a ship in a dock has three. Objects are
/// placed by walking up the chain.
pub const PARENTS_MAX: usize = 8;

/// Ids in one grant. A client uses them for objects that it creates.
pub const IDS_PER_GRANT: u32 = 32;

/// Ids left at which the server grants more: enough for the shots of one round trip.
pub(super) const IDS_LOW: u32 = IDS_PER_GRANT / 2;

/// Most state groups of an object.
pub const GROUPS_MAX: usize = 32;

/// Most bytes of one state group, and of a call in a datagram: one must fit in any datagram.
pub const DATAGRAM_ITEM_BYTES_MAX: usize = 900;

/// Most creation bytes of an object.
pub const CREATION_BYTES_MAX: usize = 1024;

/// Most bytes of a reliable call.
pub const CALL_BYTES_MAX: usize = 16 * 1024;

/// Most bytes of the name of a game.
pub const GAME_NAME_BYTES_MAX: usize = 64;

/// Most bytes of a DR vector in an announcement: the greatest numbers of the longest model.
pub(super) const MOTION_BYTES_MAX: usize = 512;

/// Unconfirmed bytes on the stream to a client below which the server announces more objects.
///
/// 16 KiB: with a round trip of 200 ms, some 50 kB a second, more than the default budget. More: a
/// call waits longer behind announcements. Less: a far client takes longer to see a full world.
pub const PAGE_BYTES: usize = 16 * 1024;

/// Most bytes of [`ClientConfig::authentication`](super::ClientConfig::authentication).
pub const AUTHENTICATION_BYTES_MAX: usize = 1024;

/// Most bytes of a message on the stream: the longest announces an object with all groups full.
pub const STREAM_MESSAGE_BYTES_MAX: usize = 32 * 1024;
const _: () = assert!(
    CREATION_BYTES_MAX + MOTION_BYTES_MAX + GROUPS_MAX * (DATAGRAM_ITEM_BYTES_MAX + 16) + 64
        < STREAM_MESSAGE_BYTES_MAX
        && CALL_BYTES_MAX + 64 < STREAM_MESSAGE_BYTES_MAX
);

/// Bytes that the transport must carry in a datagram: QUIC's minimum is 1200 with its own overhead.
pub const DATAGRAM_BYTES_MIN: usize = 1100;
const _: () = assert!(DATAGRAM_ITEM_BYTES_MAX + 128 < DATAGRAM_BYTES_MIN);

/// Most bytes of unconfirmed reliable messages, for each direction of a session.
///
/// 256 KiB: a minute of partition at 4 KiB/s. More: one absent client costs a server more memory; a
/// thousand clients cost 256 MiB at worst. Less: a chat through a tunnel loses the session.
pub const OUTBOX_BYTES_MAX: usize = 256 * 1024;

/// Most unconfirmed reliable messages, for each direction of a session.
pub const OUTBOX_MESSAGES_MAX: usize = 4096;

/// Most unordered reliable messages in flight; more wait.
pub const UNORDERED_WINDOW: u64 = 256;

/// Most unconfirmed quickest calls.
pub const QUICKEST_MAX: usize = 32;
/// Greatest difference of the numbers of two unconfirmed quickest calls.
pub(super) const QUICKEST_WINDOW: u64 = 256;
/// Most bytes of a quickest call: every packet repeats it.
pub const QUICKEST_BYTES_MAX: usize = 200;

/// Most different newest-state calls (by target and method), for each direction of a session.
pub const SLOTS_MAX: usize = 256;

/// Most unreliable calls that wait for room; a newer call replaces the oldest.
pub const UNRELIABLE_MAX: usize = 64;

/// Most objects whose DR vectors may arrive before their announcement.
pub const EARLY_MAX: usize = 256;

/// Most datagrams without a known outcome: a quarter of a minute at 270 per second.
pub const SENT_PACKETS_MAX: usize = crate::link::PACKETS_MAX;

/// Most events that the application has not fetched. Beyond it their connections are closed.
pub const EVENTS_MAX: usize = 1 << 16;

/// Calls per second that a server accepts from one client, sustained.
pub const CALLS_PER_SEC: u32 = 500;
/// Calls that a server accepts at once: all that waited during a partition.
pub const CALLS_BURST: u32 = 8192;
const _: () = assert!(CALLS_BURST as usize > OUTBOX_MESSAGES_MAX + QUICKEST_MAX + SLOTS_MAX);

/// Sustained requests per second (create, destroy, claim, release) that one client may send.
pub const REQUESTS_PER_SEC: u32 = 200;
/// Requests that a server accepts at once from one client.
pub const REQUESTS_BURST: u32 = 8192;
const _: () = assert!(REQUESTS_BURST as usize > OUTBOX_MESSAGES_MAX);

/// Refusals per second sent to one client: a flood of bad messages is not answered with a flood.
pub(super) const REFUSALS_PER_SEC: u32 = 20;
/// Refusals sent at once to one client.
pub(super) const REFUSALS_BURST: u32 = 40;
