//! Client and server of games played over a network, without sockets.
//!
//! ```text
//!  client                                                       server
//!  input ──▶ ClientDisplay::act ──── input ── link ───────────▶ ClientSlot::receive, play ──▶ tick
//!  frame ◀── ClientDisplay::show ◀── receive ◀ link ── Reply ── ClientSlot::answer ◀───────────┘
//! ```
//!
//! - [`ClientSlot`] is one client at a free-running server: it holds the newest input, replies with
//!   a state, sends keep-alives to a silent client, and frees the slot after
//!   [`SEAT_SILENCE`](fairpath_compensate::SEAT_SILENCE)
//! - [`ClientDisplay`] decides what a player sees: [`Uncompensated`] shows states as they arrive,
//!   [`Extrapolated`] replays the player's own inputs on them, [`Prototyped`] offsets the position
//!   as Buchheit 2004's first game did
//! - [`Loopback`] connects both ends with simulated links in one process, for experiments and local
//!   play
//! - [`HostedGame`] is a game for one client, [`Room`] runs one game per client at a server,
//!   [`GameRooms`] has a room for each game, and [`HostedClient`] is the client's end. All of them
//!   exchange calls of a session
//! - [`Table`] is a [`SharedGame`] that several clients play together, with bots in the seats that
//!   are left, a host, a countdown, and a result; [`SharedRoom`] carries it to a session. Each game
//!   is recorded and replays to the bit
//! - [`TankPublisher`] plays local tanks and publishes them to a session
//! - [`ReplayPublisher`] publishes a recorded match again, from any instant and at any speed
//! - [`FairnessReport`] is the server's ledger of one client's error, compared with all clients
//! - [`WireState`] is a state with a bit-exact byte encoding
//!
//! A program with real sockets owns the sessions and carries their datagrams.

mod client;
mod display;
mod fairness;
mod hosted;
mod loopback;
mod message;
mod publisher;
mod replay;
mod room;
mod rooms;
mod shared_ethereal;
mod shared_games;
mod shared_room;
mod slot;
mod table;

pub use client::HostedClient;
pub use display::{ClientDisplay, Extrapolated, Prototyped, Uncompensated};
pub use fairness::FairnessReport;
pub use hosted::{CLIENT_SEAT, ClientGame, HostedGame, HostedJetCar, HostedRace, HostedSailing};
pub use loopback::Loopback;
pub use message::{BadMessage, Reader, WireState, Writer, read_input, read_reply, write_input, write_reply};
pub use publisher::{ALIVE, EntitySink, SHOT, SessionAt, TANK, TankPublisher, show};
pub use replay::{PlacedCheck, PlacedChecker, RecordedMatch, ReplayPublisher, SPEEDS, Sights, check_placed};
pub use room::{Room, RoomStatistics};
pub use rooms::GameRooms;
pub use shared_ethereal::{
    EtherealScene, ScenePlayer, SharedEthereal, SharedEtherealPredictor, SharedSailing,
    SharedSailingPredictor,
};
pub use shared_games::{
    SceneTank, SharedRace, SharedRacePredictor, SharedTanks, SharedTanksPredictor, TanksScene,
};
pub use shared_room::{SharedRoom, SharedRoomStatistics};
pub use slot::{ClientSlot, PADDING};
pub use table::{COUNTDOWN, InputOf, Phase, SEATS_MAX, Seated, SharedGame, Standing, Table, TableScene};

// Method numbers of the session calls between the ends of a hosted game. Inputs and states are
// unreliable, because a later one replaces an earlier one. The rest is reliable.

/// Client to server: the player's input, as [`write_input`] encodes it.
pub const INPUT: u32 = 1;
/// Server to client: a state, as [`write_reply`] encodes it.
pub const STATE: u32 = 2;
/// Server to client: the number of the game that this room plays.
pub const WELCOME: u32 = 3;
/// Client to server: end this run and begin another.
pub const RESTART: u32 = 4;
/// Client to server: join the room of this game's number at a server with [`GameRooms`]; 0 leaves.
pub const JOIN: u32 = 5;
/// Server to client: a [`FairnessReport`].
pub const FAIRNESS: u32 = 6;
/// Client to server: begin the countdown of a [`Table`], as its host may.
pub const START: u32 = 7;
