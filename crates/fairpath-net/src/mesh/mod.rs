//! Peer-to-peer: every peer owns its entities and tells all others directly, with the same sessions
//! as client and server.
//!
//! # How it works
//!
//! A mesh of n peers is n worlds side by side. Every peer is the [`Server`] of the entities it
//! owns, and a [`Client`] of every other peer. The sessions do not know that they are in a mesh.
//! From this follows everything else:
//!
//! * **No peer can speak for another.** An entity is identified by its peer *and* its id. Data in
//!   the session with a peer is about that peer's entities only. The peer's identity is proven: its
//!   name is the fingerprint of its certificate, and each end pins the other's. Peers cannot create
//!   entities in each other's worlds.
//! * **An owner's clock is the shared clock of its entities.** No clock of a mesh outlives all
//!   peers, and none has to: DR vectors go one hop, from owner to viewer, and that hop is
//!   synchronised. It costs one clock request per second and pair. To compare instants of two
//!   peers, convert both to the local clock ([`Client::clock_now`]).
//! * **One socket.** A peer listens and connects on the same socket, and both ends of a pair
//!   connect to each other. So the address at which a [lobby](crate::lobby) sees a peer is the
//!   address at which others reach it, and each attempt opens the other's address translator (NAT).
//!   No other hole punching is needed.
//! * **A route is only a transport.** Where the direct route does not open, both ends connect to
//!   the lobby's relay instead ([`direct_within`](NetPeerConfig::direct_within)), which cannot read
//!   what it carries. The session is resumed, and no reliable message is lost or repeated.
//! * **A peer that leaves is removed at once; a peer that dies is noticed.** After four seconds of
//!   silence the route counts as dead ([`PeerEvent::Silent`]) and the peer reconnects. After
//!   [`give_up_after`](NetPeerConfig::give_up_after) it is given up ([`PeerEvent::ConnectionLost`])
//!   and its entities with it.
//!
//! # Costs and limits
//!
//! Every peer sends every update n − 1 times over its own uplink: Banavar 2005 names 8 players as
//! usual for such games and 32 as the most. Every peer knows everything, and there is no judge: a
//! peer that lies about its own entities is believed. A room at a lobby is open to every peer that
//! asks the lobby, unless it has a [key](RoomKey). Or exchange fingerprints by other means and call
//! [`connect`](NetPeer::connect). Where that is not enough, use a server: it relays updates with
//! the owners' timestamps, and its interceptors decide (`examples/03_relay.rs`).

mod maintain;
mod room_key;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fairpath::schedule::Scheduler;
use fairpath::session::{
    Client, ClientConfig, Household, Protocol, Server, ServerConfig, ServerFrame, Shares, Statistics,
};

use fairpath::time::{LocalInstant, SharedInstant};
use fairpath::vector::Planar;
use quinn::Endpoint;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::admissions::{Limits, household};
use crate::background::Background;
use crate::client::{self, ConnectionState, Connector, Routes};
use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::connection::{ALPN_NATIVE, transport_config};
use crate::endpoint::{open_endpoint, quic_server_config};
use crate::identity::client_certificates::ClientCertificates;
use crate::identity::{Fingerprint, Identity, Trust};
use crate::lobby::{
    AnnounceError, Announcement, EntryId, Filter, Listing, LobbyAddress, LobbyConnector, LobbyMember,
    LobbyPresence, LobbyRequest, LobbyResponse, join_lobby,
};
use crate::quinn_server::QuinnServer;
use crate::served::ServedSession;
use crate::server::{BindError, PeerStatus};
use crate::{NetClientConfig, lock, new_epoch, unguessable_random};
use room_key::PROOF;
pub use room_key::{NotARoomKey, RoomKey};

/// How a peer takes part in a mesh.
#[derive(Debug)]
pub struct NetPeerConfig<V: Planar> {
    /// The address to listen on and to connect from. With port 0 the system chooses one.
    pub listen: SocketAddr,
    /// The peer's certificate and key. Its name in the mesh is the fingerprint.
    pub identity: Identity,
    /// The session of the entities that this peer owns. Other peers cannot create entities in it,
    /// whatever its classes say, and `peers_max` sets the number of viewers.
    pub server_config: ServerConfig<V>,
    /// The sessions of entities that other peers own.
    pub client_config: ClientConfig<V>,
    /// How many connections one address may open, and how fast.
    pub limits: Limits,
    /// The congestion controller: how many bytes may be in flight to each peer.
    pub congestion: Congestion,
    /// The peer's clock, which is the shared clock of its own entities. Default [`Clock::unix`]. It
    /// need not be right.
    pub clock: Clock,
    /// Other peers at most. Default 31: a mesh of 32, which Banavar 2005 names as the most that
    /// such games had. Each costs two connections, and a copy of every update.
    pub peers_max: usize,
    /// Places that peers of one address keep when the mesh is full and a lobby introduces a peer of
    /// another address. Default 8. Beyond them, the address with the most peers loses the one that
    /// came last ([`Shares`]); peers that are not connected go first.
    /// While places are free, an address may have any number. Raise it for a class behind one
    /// router, up to [`peers_max`](Self::peers_max). Peers that the game has
    /// [connected](NetPeer::connect) itself keep their places.
    pub places_kept: usize,
    /// The key of the room, without which a peer that a lobby introduces is not let in. Default
    /// `None`: a room is open.
    pub room_key: Option<RoomKey>,
    /// Time limit of an attempt on the direct route, before the relay is tried. Default 3 s: three
    /// attempts, the first of which an address translator may drop. Too short, and a slow link is
    /// relayed needlessly; too long, and a peer that cannot be reached directly appears late.
    pub direct_within: Duration,
    /// A peer that cannot be reached for this long is given up. Default 15 s: about four times the
    /// silence after which a route counts as dead. Longer keeps entities of dead peers in the
    /// world; shorter gives up a player in a tunnel. At most a minute: then sessions end.
    pub give_up_after: Duration,
}

impl<V: Planar> NetPeerConfig<V> {
    /// The defaults, for this game.
    pub fn new(listen: SocketAddr, identity: Identity, protocol: impl Into<Protocol<V>>) -> Self {
        let server_config = ServerConfig::new(protocol, new_epoch());
        Self {
            listen,
            identity,
            client_config: ClientConfig::new(server_config.protocol.clone()),
            server_config,
            limits: Limits::default(),
            congestion: Congestion::default(),
            clock: Clock::unix(),
            peers_max: 31,
            places_kept: 8,
            room_key: None,
            direct_within: Duration::from_secs(3),
            give_up_after: Duration::from_secs(15),
        }
    }
}

/// What happened to another peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerEvent {
    /// The peer is connected, and its entities arrive.
    Connected(Fingerprint),
    /// The peer is silent. Replicas extrapolate up to their horizon, and this peer reconnects.
    Silent(Fingerprint),
    /// The peer is connected again. No reliable message was lost.
    Reconnected(Fingerprint),
    /// The peer has left or was given up. Its entities are gone.
    ConnectionLost(Fingerprint),
}

/// The status of another peer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PeerView {
    /// The peer's fingerprint.
    pub peer: Fingerprint,
    /// Whether there is a connection to it.
    pub connection_state: ConnectionState,
    /// The address of that connection: the peer's own, or a relay's.
    pub address: Option<SocketAddr>,
    /// Whether its entities are visible here.
    pub is_seen: bool,
    /// Whether it sees the entities that are owned here.
    pub sees_us: bool,
    /// The counters of the session in which this peer is its client.
    pub session: Statistics,
}

/// Why a peer cannot be connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectPeerError {
    /// The fingerprint is this peer's own.
    Itself,
    /// There are [`peers_max`](NetPeerConfig::peers_max) other peers already.
    Full,
}

/// A peer of a mesh, on one socket and one thread. The [module](self) explains meshes.
///
/// The game accesses the sessions themselves, as with [`NetServer`](crate::NetServer): the one of
/// its own entities in [`frame`](Self::frame), the one of another peer's in [`view`](Self::view).
/// Dropping the peer leaves at once; [`leave`](Self::leave) first waits for confirmations.
#[derive(Debug)]
pub struct NetPeer<V: Planar> {
    task: Background,
    mesh: Arc<Mesh<V>>,
    address: SocketAddr,
    runtime: Handle,
}

impl<V: Planar> NetPeer<V> {
    /// Starts a peer without connections.
    pub fn bind(config: NetPeerConfig<V>, scheduler: Box<dyn Scheduler<V>>) -> Result<Self, BindError> {
        let allowed = Arc::new(ClientCertificates::listed());
        let transport = transport_config(config.congestion, config.server_config.budget);
        let mut quic =
            quic_server_config(&config.identity, &[ALPN_NATIVE], Some(allowed.clone()), transport)?;
        // QUIC moves a connection to a new address before that is proven, and nothing here would
        // limit what is sent there. A peer whose address changes connects again.
        quic.migration(false);
        let (runtime, endpoint, address) = open_endpoint(config.listen, &config.identity, quic)?;
        let session = Server::new(own_session(&config), scheduler, unguessable_random());
        let served = ServedSession::new("NetPeer", session, config.limits, config.clock);
        let mesh = Arc::new(Mesh {
            own: Arc::new(QuinnServer::new(Arc::new(served))),
            others: Mutex::default(),
            allowed,
            events: Mutex::default(),
            disconnected: Mutex::default(),
            joined: Mutex::default(),
            endpoint,
            config,
        });
        let (inside, handle) = (Arc::clone(&mesh), runtime.handle().clone());
        let run = move |stop| maintain::run(inside, stop);
        let task = Background::start("fairpath-peer", runtime, run).map_err(BindError::System)?;
        Ok(Self { task, mesh, address, runtime: handle })
    }

    /// The local address that this peer listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// This peer's name in the mesh, which others pin.
    pub fn fingerprint(&self) -> Fingerprint {
        self.mesh.fingerprint()
    }

    /// Now on this peer's clock: shared time for its own entities, local time for others.
    pub fn now(&self) -> SharedInstant {
        self.mesh.config.clock.shared()
    }

    /// Lets a peer in and connects to it, until it leaves or is given up. The other peer must do
    /// the same, or it refuses the connection. For a known peer, this sets the address of the next
    /// connection attempt.
    pub fn connect(&self, peer: Fingerprint, address: SocketAddr) -> Result<(), ConnectPeerError> {
        lock(&self.mesh.disconnected).remove(&peer);
        self.mesh.connect(peer, address, Origin::Game, &self.runtime)
    }

    /// Disconnects a peer for good. Only [`connect`](Self::connect) brings it back, not a lobby.
    pub fn disconnect(&self, peer: Fingerprint) {
        self.mesh.forget(peer);
        let mut disconnected = lock(&self.mesh.disconnected);
        disconnected.insert(peer);
        if disconnected.len() > DISCONNECTED_MAX {
            disconnected.pop_first();
        }
    }

    /// Joins a lobby, and connects to every peer there that plays the same game with the same
    /// attributes, and to every peer that asks to be introduced. It looks for missing peers with
    /// every renewal, and asks for a relay where the direct route does not open. Joining another
    /// lobby leaves this one.
    pub fn join(&self, lobby: LobbyAddress, announcement: Announcement) -> Result<(), AnnounceError> {
        announcement.check().map_err(AnnounceError::Announcement)?;
        let at = lobby.address;
        let connector = LobbyConnector::new(self.mesh.endpoint.clone(), lobby, &self.mesh.config.identity);
        let connector = connector.map_err(AnnounceError::Connect)?;
        let announcement = Announcement { wants_introductions: true, ..announcement };
        let (mesh, runtime) = (Arc::clone(&self.mesh), self.runtime.clone());
        let (read_up_to, proven) = (EntryId(0), BTreeSet::new());
        let member = PeerLobbyMember { mesh, runtime, lobby: at, announcement, read_up_to, proven };
        let (presence, requests) = join_lobby(&self.runtime, connector, member);
        *lock(&self.mesh.joined) = Some(JoinedLobby { presence, requests });
        Ok(())
    }

    /// The id and the address under which the lobby lists this peer. `None` while it is not listed.
    pub fn announced(&self) -> Option<(EntryId, SocketAddr)> {
        lock(&self.mesh.joined).as_ref()?.presence.announced()
    }

    /// Gives the game access to the session of this peer's own entities.
    ///
    /// # Panics
    /// Inside another `frame` of this peer on the same thread, or if a callback of the game has
    /// panicked: see [`failure`](Self::failure).
    #[track_caller]
    pub fn frame<R>(&self, turn: impl FnOnce(&mut ServerFrame<'_, V>) -> R) -> R {
        self.mesh.own.frame(|session, now| turn(&mut session.frame(now)))
    }

    /// Gives access to the session below the typed [`frame`](Self::frame), with plain bytes.
    #[track_caller]
    pub fn with_session<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        self.mesh.own.frame(turn)
    }

    /// Returns why this peer's own session has ended by itself: the message of a callback of the
    /// game that panicked, as [`NetServer::failure`](crate::NetServer::failure) does.
    pub fn failure(&self) -> Option<String> {
        self.mesh.own.failure().map(str::to_owned)
    }

    /// Gives the game access to the session of another peer's entities. `None` if unknown.
    ///
    /// # Panics
    /// Inside another `view` of the same peer on the same thread.
    #[track_caller]
    pub fn view<R>(
        &self,
        peer: Fingerprint,
        turn: impl FnOnce(&mut Client<V>, LocalInstant) -> R,
    ) -> Option<R> {
        let shared = Arc::clone(&lock(&self.mesh.others).get(&peer)?.shared);
        Some(shared.with(turn))
    }

    /// All other peers, in the order of their fingerprints.
    pub fn peers(&self) -> Vec<Fingerprint> {
        lock(&self.mesh.others).keys().copied().collect()
    }

    /// The status of all other peers.
    ///
    /// # Panics
    /// Inside [`frame`](Self::frame) or [`view`](Self::view) on the same thread.
    #[track_caller]
    pub fn status(&self) -> Vec<PeerView> {
        let viewers: Vec<PeerStatus> = self.mesh.own.status();
        let sees_us = |peer| viewers.iter().any(|it| it.fingerprint == Some(peer) && it.client.is_some());
        let view = |(peer, other): (&Fingerprint, &RemotePeer<V>)| {
            let status = other.shared.status();
            PeerView {
                peer: *peer,
                connection_state: status.connection_state,
                address: status.server,
                is_seen: other.shared.is_in_session(),
                sees_us: sees_us(*peer),
                session: status.session,
            }
        };
        lock(&self.mesh.others).iter().map(view).collect()
    }

    /// The next event, if there is one.
    pub fn poll_event(&self) -> Option<PeerEvent> {
        lock(&self.mesh.events).pop_front()
    }

    /// Leaves the mesh. Waits up to `within` for reliable messages to be confirmed, and returns
    /// whether all of them were.
    pub fn leave(mut self, within: Duration) -> bool {
        self.task.finish(within)
    }
}

#[derive(Debug)]
struct Mesh<V: Planar> {
    own: Arc<QuinnServer<V>>,
    others: Mutex<BTreeMap<Fingerprint, RemotePeer<V>>>,
    allowed: Arc<ClientCertificates>,
    events: Mutex<VecDeque<PeerEvent>>,
    /// Peers that a lobby must not bring back.
    disconnected: Mutex<BTreeSet<Fingerprint>>,
    joined: Mutex<Option<JoinedLobby>>,
    endpoint: Endpoint,
    config: NetPeerConfig<V>,
}

#[derive(Debug)]
struct JoinedLobby {
    presence: LobbyPresence,
    requests: mpsc::Sender<LobbyRequest>,
}

#[derive(Debug)]
struct RemotePeer<V: Planar> {
    shared: Arc<client::SharedClient<V>>,
    routes: Arc<Routes>,
    has_connected: Arc<AtomicBool>,
    origin: Origin,
    joined_at: Instant,
    /// Dropping it ends the task that maintains the connection.
    _task: oneshot::Sender<()>,
}

/// How a peer came into the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The game has named it.
    Game,
    /// A lobby has introduced it, and has seen it in this household.
    Lobby(Household),
}

/// How long an introduced peer has to connect before its place is free for another.
const CONNECTS_WITHIN: Duration = Duration::from_secs(5);

/// Disconnected peers that are remembered. Of more, some are forgotten.
const DISCONNECTED_MAX: usize = 1024;
/// Events that wait to be polled, a dozen for each possible peer. The oldest are dropped first.
const EVENTS_MAX: usize = 512;

impl<V: Planar> Mesh<V> {
    fn fingerprint(&self) -> Fingerprint {
        self.config.identity.fingerprint()
    }

    /// Asks the lobby, if there is one, for a relay to a peer that cannot be reached directly.
    fn ask_for_relay(&self, peer: Fingerprint) {
        if let Some(joined) = &*lock(&self.joined) {
            // If the queue is full, the next check asks again.
            let _ = joined.requests.try_send(LobbyRequest::Relay(peer));
        }
    }

    fn report(&self, event: PeerEvent) {
        let mut events = lock(&self.events);
        if events.len() >= EVENTS_MAX {
            events.pop_front();
        }
        events.push_back(event);
    }

    fn connect(
        self: &Arc<Self>,
        peer: Fingerprint,
        address: SocketAddr,
        origin: Origin,
        runtime: &Handle,
    ) -> Result<(), ConnectPeerError> {
        if peer == self.fingerprint() {
            return Err(ConnectPeerError::Itself);
        }
        if let Some(known) = lock(&self.others).get_mut(&peer) {
            known.routes.set_direct(address);
            if origin == Origin::Game {
                known.origin = origin;
            }
            return Ok(());
        }
        self.make_room(origin)?;
        let mut others = lock(&self.others);
        if others.len() >= self.config.peers_max {
            return Err(ConnectPeerError::Full);
        }
        self.allowed.add(peer);
        let config = self.client_config(peer);
        let routes = Arc::new(Routes::new(address));
        let connector = Connector::from_endpoint(
            self.endpoint.clone(),
            Arc::clone(&routes),
            &config,
            Some(&self.config.identity),
        );
        let connector = connector.expect("the identity was good enough to listen with");
        let session = Client::new(self.config.client_config.clone(), unguessable_random());
        let shared = Arc::new(client::SharedClient::new("NetPeer", "view", session, self.config.clock));
        let (task, dropped) = oneshot::channel();
        let has_connected = Arc::new(AtomicBool::new(false));
        let watched = maintain::WatchedPeer {
            peer,
            shared: Arc::clone(&shared),
            has_connected: Arc::clone(&has_connected),
        };
        runtime.spawn(maintain::maintain(Arc::clone(self), watched, connector, config, dropped));
        let joined_at = Instant::now();
        others.insert(peer, RemotePeer { shared, routes, has_connected, origin, joined_at, _task: task });
        Ok(())
    }

    /// Removes an introduced peer for another one, if the mesh is full.
    fn make_room(&self, newcomer: Origin) -> Result<(), ConnectPeerError> {
        let Some(taken) = self.introduced_if_full() else { return Ok(()) };
        let Origin::Lobby(newcomer) = newcomer else { return Err(ConnectPeerError::Full) };
        // Not while the list is locked: a game may hold a session and ask for the list.
        let places: Vec<Place> = taken.into_iter().map(TakenPlace::look).collect();
        let leaver = place_to_yield(self.config.places_kept, newcomer, &places);
        self.forget(leaver.ok_or(ConnectPeerError::Full)?);
        Ok(())
    }

    /// The peers that a lobby has introduced. `None` while there is room for another peer.
    fn introduced_if_full(&self) -> Option<Vec<TakenPlace<V>>> {
        let others = lock(&self.others);
        let is_full = others.len() >= self.config.peers_max;
        let place = |(peer, other): (&Fingerprint, &RemotePeer<V>)| match other.origin {
            Origin::Game => None,
            Origin::Lobby(household) => {
                let (shared, joined_at) = (Arc::clone(&other.shared), other.joined_at);
                Some(TakenPlace { peer: *peer, household, shared, joined_at })
            }
        };
        is_full.then(|| others.iter().filter_map(place).collect())
    }

    fn client_config(&self, peer: Fingerprint) -> NetClientConfig {
        NetClientConfig {
            congestion: self.config.congestion,
            budget: self.config.client_config.budget,
            connect_within: self.config.direct_within,
            retry_after_max: Duration::from_secs(1),
            clock: self.config.clock,
            ..NetClientConfig::new(Trust::Pinned(vec![peer]))
        }
    }

    /// Removes a peer, and shows it nothing any more.
    fn forget(&self, peer: Fingerprint) {
        self.allowed.remove(peer);
        self.own.dismiss(peer);
        let removed = lock(&self.others).remove(&peer);
        // No event for a peer that never connected.
        if removed.is_some_and(|other| other.has_connected.load(Ordering::Relaxed)) {
            self.report(PeerEvent::ConnectionLost(peer));
        }
    }
}

/// The place of an introduced peer.
struct TakenPlace<V: Planar> {
    peer: Fingerprint,
    household: Household,
    shared: Arc<client::SharedClient<V>>,
    joined_at: Instant,
}

/// The same, without the peer's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    peer: Fingerprint,
    household: Household,
    joined_at: Instant,
    /// Whether it has had its time to connect, and is not connected.
    is_idle: bool,
}

impl<V: Planar> TakenPlace<V> {
    fn look(self) -> Place {
        let Self { peer, household, shared, joined_at } = self;
        let is_idle = joined_at.elapsed() >= CONNECTS_WITHIN && !shared.is_in_session();
        Place { peer, household, joined_at, is_idle }
    }
}

/// The introduced peer that loses its place to a newcomer: one that is not connected, of the
/// household with the most such; or of the household with the most places the one that came last.
fn place_to_yield(kept: usize, newcomer: Household, places: &[Place]) -> Option<Fingerprint> {
    let idle = || places.iter().filter(|place| place.is_idle);
    let idle_of = |household: Household| idle().filter(|place| place.household == household).count();
    let longest_idle = idle().max_by_key(|place| (idle_of(place.household), Reverse(place.joined_at)));
    let loser = Shares { kept }.loser(newcomer, places.iter().map(|place| place.household));
    let of_loser = places.iter().filter(|place| Some(place.household) == loser);
    longest_idle.or_else(|| of_loser.max_by_key(|place| place.joined_at)).map(|place| place.peer)
}

struct PeerLobbyMember<V: Planar> {
    mesh: Arc<Mesh<V>>,
    runtime: Handle,
    lobby: SocketAddr,
    announcement: Announcement,
    /// The last entry that was read, of a list that comes in pages.
    read_up_to: EntryId,
    /// Peers that have proven to have the key of the room.
    proven: BTreeSet<Fingerprint>,
}

impl<V: Planar> PeerLobbyMember<V> {
    /// The request for peers that play the same game.
    fn look(&self, after: EntryId) -> LobbyRequest {
        let Announcement { game, attributes, .. } = self.announcement.clone();
        LobbyRequest::Find(Filter { game: Some(game), free_seats_min: 0, attributes }, after)
    }

    /// Whether the entry is a new peer that wants introductions.
    fn is_wanted(&self, listing: &Listing) -> bool {
        let peer = listing.fingerprint;
        listing.announcement.wants_introductions
            && peer != self.mesh.fingerprint()
            && !lock(&self.mesh.others).contains_key(&peer)
            && !lock(&self.mesh.disconnected).contains(&peer)
    }

    /// Whether the announcer of an entry may be let in. Remembers it if so: the peer may ask the
    /// lobby first.
    fn may_enter(&mut self, listing: &Listing) -> bool {
        let Some(key) = &self.mesh.config.room_key else { return true };
        let is_proven = key.is_proven(listing);
        if is_proven {
            self.proven.insert(listing.fingerprint);
            if self.proven.len() > PROVEN_MAX {
                self.proven.pop_first();
            }
        }
        is_proven
    }
}

/// Peers of a room that are remembered: many times what fits into a mesh.
const PROVEN_MAX: usize = 1024;

impl<V: Planar> LobbyMember for PeerLobbyMember<V> {
    fn announcement(&self) -> Announcement {
        let players = lock(&self.mesh.others).len() as u32 + 1;
        let seats = self.mesh.config.peers_max as u32 + 1;
        let mut announcement = Announcement { players, seats, ..self.announcement.clone() };
        if let Some(key) = &self.mesh.config.room_key {
            announcement.attributes.insert(PROOF.to_owned(), key.proof(self.mesh.fingerprint()));
        }
        announcement
    }

    fn on_response(&mut self, response: LobbyResponse) -> Vec<LobbyRequest> {
        match response {
            // Announce first, look afterwards: of two peers that come at once, one sees the other.
            LobbyResponse::Announced(..) => {
                self.read_up_to = EntryId(0);
                vec![self.look(self.read_up_to)]
            }
            LobbyResponse::Found(listing) => {
                self.read_up_to = self.read_up_to.max(listing.entry);
                if self.may_enter(&listing) && self.is_wanted(&listing) {
                    vec![LobbyRequest::Meet(listing.entry)]
                } else {
                    Vec::new()
                }
            }
            LobbyResponse::End(true) => vec![self.look(self.read_up_to)],
            // Either it is a stranger, or it has come since the list was read. In that case the
            // list has its proof, and this peer asks to meet it.
            LobbyResponse::Meet(peer, _)
                if self.mesh.config.room_key.is_some() && !self.proven.contains(&peer) =>
            {
                vec![self.look(self.read_up_to)]
            }
            LobbyResponse::Meet(peer, address) => {
                if !lock(&self.mesh.disconnected).contains(&peer) {
                    let origin = Origin::Lobby(household(address.ip()));
                    // If there is no room, the other peer's attempts fail.
                    let _ = self.mesh.connect(peer, address, origin, &self.runtime);
                }
                Vec::new()
            }
            LobbyResponse::Relay(peer, port) => {
                if let Some(other) = lock(&self.mesh.others).get(&peer) {
                    other.routes.set_relay((self.lobby.ip(), port).into());
                }
                Vec::new()
            }
            LobbyResponse::End(false) | LobbyResponse::Refused(_) => Vec::new(),
        }
    }
}

/// The session of the peer's own entities: other peers only view them.
fn own_session<V: Planar>(config: &NetPeerConfig<V>) -> ServerConfig<V> {
    let mut world = config.server_config.clone();
    world.protocol = world.protocol.server_only();
    // A restarted peer has two connections for a while.
    world.clients_max = 2 * config.peers_max;
    world
}

impl fmt::Display for ConnectPeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Itself => "cannot connect to this peer itself; give the fingerprint of another peer",
            Self::Full => {
                "cannot connect to another peer: the mesh is full; raise peers_max or disconnect a peer"
            }
        })
    }
}

impl std::error::Error for ConnectPeerError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// 34 certificates of one address closed a room to all others.
    #[test]
    fn peers_of_one_household_yield_to_a_newcomer_and_idle_ones_first() {
        let begin = Instant::now();
        let place = |nth: u8, household, is_idle| Place {
            peer: Fingerprint([nth; 32]),
            household: Household(household),
            joined_at: begin + Duration::from_secs(nth.into()),
            is_idle,
        };
        let yields = |kept, newcomer, places: &[Place]| {
            place_to_yield(kept, Household(newcomer), places).map(|it| it.0[0])
        };
        let mut places: Vec<Place> = (0..31).map(|nth| place(nth, 1, false)).collect();
        assert_eq!(yields(8, 2, &places), Some(30), "the last one");
        assert_eq!(yields(8, 1, &places), None, "it is full");
        assert_eq!(yields(31, 2, &places), None, "a class behind one router");
        places[7].is_idle = true;
        places[9].is_idle = true;
        assert_eq!(yields(31, 2, &places), Some(7), "idle for the longest time");
        places[3] = place(3, 2, true);
        assert_eq!(yields(31, 4, &places), Some(7), "of the household with more such");
    }
}
