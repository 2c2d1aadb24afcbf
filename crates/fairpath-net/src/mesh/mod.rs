//! Peer-to-peer: everybody owns their things and tells everybody else directly, with the same
//! sessions as client and server.
//!
//! # The heart
//!
//! A mesh of n peers is n worlds side by side. Every peer is the [`Server`] of what it owns, and a
//! [`Client`] of every other peer's; nothing in a session knows that it is in a mesh. From that
//! follows everything else:
//!
//! * **Nobody can speak for another.** A thing is called by its peer *and* its id, and what comes
//!   in the session with a peer is about that peer's things, whatever it says. Who the peer is was
//!   proven before: its name is the fingerprint of its certificate, and each end pins the other's.
//!   Peers cannot make things in each other's worlds.
//! * **An owner's clock is the shared clock of what it owns.** A mesh has nobody whose clock would
//!   outlive everybody else, and needs no common one: DR vectors go one hop, from the owner to who
//!   looks, and that hop is synchronised. It costs one clock request a second for each pair.
//!   Instants of two peers are compared on one's own clock ([`Client::clock_now`] of either).
//! * **One socket.** A peer listens and calls on the same one, and both ends of a pair call each
//!   other. So the address at which a [lobby](crate::lobby) sees a peer is the one at which others
//!   reach it, and each one's call is the knock that opens the other's address translator: there is
//!   no other machinery for that.
//! * **A way is only a transport.** Where the direct way does not open, both ends call the lobby's
//!   relay instead ([`direct_within`](NetPeerConfig::direct_within)), which carries what it cannot
//!   read. A session that changes ways is resumed, and resuming loses and repeats nothing of what
//!   was promised.
//! * **Who leaves is gone at once; who dies is missed.** After four seconds of silence the way
//!   counts as dead ([`PeerEvent::Silent`]) and is opened anew; after
//!   [`gone_after`](NetPeerConfig::gone_after) the peer is given up ([`PeerEvent::ConnectionLost`])
//!   and its things with it.
//!
//! # What it costs, and what it cannot do
//!
//! Everybody sends everything n − 1 times from their own home: Banavar 2005 gives 8 players as what
//! such games had, and 32 as what clever ones had. Everybody knows everything, and there is no
//! judge: a peer that lies about its own things is believed. A room at a lobby is open to whoever
//! asks the lobby; for a closed company exchange fingerprints by other means, and
//! [`meet`](NetPeer::meet). Where that is not enough, take a server: it relays what owners say with
//! the owners' stamps, and its interceptors decide (`examples/03_relay.rs`).

mod keep;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use fairpath::schedule::Scheduler;
use fairpath::session::{Class, ClassId, Client, ClientConfig, Server, ServerConfig, Statistics};
use fairpath::time::{LocalInstant, SharedInstant};
use fairpath::vector::Planar;
use quinn::Endpoint;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::client::{self, Caller, ConnectionState, Ways};
use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::connection_limiter::Limits;
use crate::identity::{Callers, Fingerprint, Guests, Identity, Trust};
use crate::link::{ALPN_NATIVE, transport_config};
use crate::lobby::{
    AnnounceError, Announcement, Attendee, Attending, EntryId, Filter, Listing, LobbyAddress, LobbyPresence,
    LobbyRequest, LobbyResponse, attend,
};
use crate::server::{self, BindError, PeerStatus, open_endpoint, quic_config};
use crate::{NetClientConfig, new_epoch, unguessable_random};

/// How a peer takes part in a mesh.
#[derive(Debug)]
pub struct NetPeerConfig {
    /// Where to listen, and from where to call. Port 0 lets the system choose.
    pub listen: SocketAddr,
    /// Who it is: its name in the mesh is the fingerprint.
    pub identity: Identity,
    /// How it tells of what it owns. Others may not make things here, whatever the classes say, and
    /// how many may listen follows from `peers_max`.
    pub telling: ServerConfig,
    /// How it sees what others own.
    pub seeing: ClientConfig,
    /// Who may come, and how fast.
    pub limits: Limits,
    /// How much may be under way to each.
    pub congestion: Congestion,
    /// Its clock, which is the shared one of what it owns. Default [`Clock::unix`]; it need not be
    /// right.
    pub clock: Clock,
    /// How many others there may be. Default 31: a mesh of 32, which Banavar 2005 gives as the most
    /// that such games had. Each costs two connections, and a copy of every update.
    pub peers_max: usize,
    /// How long an attempt on the direct way may take before the relay has its turn, if there is
    /// one. Default 3 s: three calls, the first of which an address translator may swallow. Too
    /// short, and a slow link is relayed for nothing; too long, and who cannot be reached
    /// directly is seen late.
    pub direct_within: Duration,
    /// A peer that cannot be reached for this long is given up. Default 15 s: three times the
    /// silence after which a way counts as dead. Longer keeps things of the dead in the world;
    /// shorter gives up who only went through a tunnel. Not longer than a session can be
    /// resumed, which is a minute.
    pub gone_after: Duration,
}

impl NetPeerConfig {
    /// The usual, for these kinds of things.
    pub fn new(
        listen: SocketAddr,
        identity: Identity,
        classes: impl IntoIterator<Item = (ClassId, Class)>,
    ) -> Self {
        let telling = ServerConfig::new(classes, new_epoch());
        Self {
            listen,
            identity,
            seeing: ClientConfig::new(telling.classes.clone()),
            telling,
            limits: Limits::default(),
            congestion: Congestion::default(),
            clock: Clock::unix(),
            peers_max: 31,
            direct_within: Duration::from_secs(3),
            gone_after: Duration::from_secs(15),
        }
    }
}

/// What happens to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerEvent {
    /// It is there, and what it owns is coming.
    Met(Fingerprint),
    /// Nothing comes from it any more; its things are guessed for as long as replicas do, and it is
    /// called again.
    Silent(Fingerprint),
    /// It is back, and nothing that was promised is lost.
    Back(Fingerprint),
    /// It has left, or is given up. Its things are gone.
    ConnectionLost(Fingerprint),
}

/// How it stands with another peer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PeerView {
    /// Who.
    pub peer: Fingerprint,
    /// Whether there is a way to it.
    pub reach: ConnectionState,
    /// Where that way leads: its own address, or a relay's.
    pub address: Option<SocketAddr>,
    /// Whether what it owns is to be seen here.
    pub is_seen: bool,
    /// Whether it sees what is owned here.
    pub sees_us: bool,
    /// What the session with it counts, here as its client.
    pub session: Statistics,
}

/// Why a peer cannot be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MeetError {
    /// That is this peer itself.
    Itself,
    /// There are as many others as there may be.
    Full,
}

/// A peer of a mesh, on one socket and one thread. The [module](self) says what that is.
///
/// The game has its turns with the sessions themselves, as with [`NetServer`](crate::NetServer):
/// [`frame`](Self::frame) with the one of what is owned here, [`view`](Self::view) with the one of
/// what another peer owns. Dropping it leaves at once; [`leave`](Self::leave) waits until what was
/// promised has arrived.
#[derive(Debug)]
pub struct NetPeer<V: Planar> {
    mesh: Arc<Mesh<V>>,
    address: SocketAddr,
    runtime: Handle,
    stop: Option<oneshot::Sender<Duration>>,
    thread: Option<JoinHandle<bool>>,
}

impl<V: Planar> NetPeer<V> {
    /// Starts, and knows nobody yet.
    pub fn bind(config: NetPeerConfig, scheduler: Box<dyn Scheduler<V>>) -> Result<Self, BindError> {
        let guests = Arc::new(Guests::default());
        let transport = transport_config(config.congestion, config.telling.budget);
        let callers = Callers::Among(Arc::clone(&guests));
        let quic = quic_config(&config.identity, &[ALPN_NATIVE], callers, transport)?;
        let (runtime, endpoint, address) = open_endpoint(config.listen, &config.identity, quic)?;
        let session = Server::new(own_world(&config), scheduler, unguessable_random());
        let mesh = Arc::new(Mesh {
            own: Arc::new(server::Shared::new(session, config.limits, config.clock)),
            others: Mutex::default(),
            guests,
            events: Mutex::default(),
            parted: Mutex::default(),
            joined: Mutex::default(),
            endpoint,
            config,
        });
        let (stop, stopped) = oneshot::channel();
        let (inside, handle) = (Arc::clone(&mesh), runtime.handle().clone());
        let thread = std::thread::Builder::new()
            .name("fairpath-peer".into())
            .spawn(move || runtime.block_on(keep::run(inside, stopped)));
        let thread = Some(thread.map_err(BindError::System)?);
        Ok(Self { mesh, address, runtime: handle, stop: Some(stop), thread })
    }

    /// Where this peer listens, as it knows it itself.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What others call it, and pin.
    pub fn fingerprint(&self) -> Fingerprint {
        self.mesh.fingerprint()
    }

    /// What its clock shows: the shared time of what it owns, and the local one for what others
    /// own.
    pub fn now(&self) -> SharedInstant {
        self.mesh.config.clock.shared()
    }

    /// Lets a peer in and calls it there, from now on until it leaves or is given up. The other one
    /// must do the same: who calls without having been let in is refused. Who is met already is
    /// called at the new address the next time it must be.
    pub fn meet(&self, peer: Fingerprint, address: SocketAddr) -> Result<(), MeetError> {
        self.mesh.parted().remove(&peer);
        self.mesh.meet(peer, address, &self.runtime)
    }

    /// Sees no more of a peer, and shows it nothing; a lobby does not bring it back.
    /// [`meet`](Self::meet) does.
    pub fn part(&self, peer: Fingerprint) {
        self.mesh.forget(peer);
        let mut parted = self.mesh.parted();
        parted.insert(peer);
        if parted.len() > PARTED_MAX {
            parted.pop_first();
        }
    }

    /// Goes to a lobby, is on its list as one who wants to be introduced, and meets everybody there
    /// who plays the same game with the same attributes, and whoever asks for this peer.
    /// Missing ones are looked for again with every renewal, and a relay is asked for where a
    /// direct way does not open. Ends with the mesh, or when another lobby is joined.
    pub fn join(&self, lobby: LobbyAddress, announcement: Announcement) -> Result<(), AnnounceError> {
        announcement.check().map_err(AnnounceError::Announcement)?;
        let at = lobby.address;
        let attending = Attending::new(self.mesh.endpoint.clone(), lobby, &self.mesh.config.identity);
        let attending = attending.map_err(AnnounceError::Connect)?;
        let announcement = Announcement { wants_introductions: true, ..announcement };
        let (mesh, runtime) = (Arc::clone(&self.mesh), self.runtime.clone());
        let attendee = Mingling { mesh, runtime, lobby: at, announcement, looked_up_to: EntryId(0) };
        let (attendance, asking) = attend(&self.runtime, attending, attendee);
        *self.mesh.joined() = Some(Joined { attendance, asking });
        Ok(())
    }

    /// Under which name, and at which address, the lobby has this peer; nothing while it is not on
    /// its list.
    pub fn announced(&self) -> Option<(EntryId, SocketAddr)> {
        self.mesh.joined().as_ref()?.attendance.announced()
    }

    /// The game's turn with what this peer owns.
    pub fn frame<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        self.mesh.own.frame(turn)
    }

    /// The game's turn with what another peer owns; nothing if there is no such peer.
    pub fn view<R>(
        &self,
        peer: Fingerprint,
        turn: impl FnOnce(&mut Client<V>, LocalInstant) -> R,
    ) -> Option<R> {
        let shared = Arc::clone(&self.mesh.others().get(&peer)?.shared);
        Some(shared.with(turn))
    }

    /// All others, in the order of their names.
    pub fn peers(&self) -> Vec<Fingerprint> {
        self.mesh.others().keys().copied().collect()
    }

    /// How it stands with all others.
    pub fn status(&self) -> Vec<PeerView> {
        let viewers: Vec<PeerStatus> = self.mesh.own.status();
        let sees_us = |peer| viewers.iter().any(|it| it.fingerprint == Some(peer) && it.client.is_some());
        let view = |(peer, other): (&Fingerprint, &Other<V>)| {
            let status = other.shared.status();
            PeerView {
                peer: *peer,
                reach: status.reach,
                address: status.server,
                is_seen: other.shared.is_in_session(),
                sees_us: sees_us(*peer),
                session: status.session,
            }
        };
        self.mesh.others().iter().map(view).collect()
    }

    /// Something that happened to another peer.
    pub fn poll_event(&self) -> Option<PeerEvent> {
        self.mesh.events.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Leaves, after so long at most to let arrive what was promised. Whether all of it was
    /// confirmed.
    pub fn leave(mut self, within: Duration) -> bool {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(within);
        }
        self.end()
    }

    fn end(&mut self) -> bool {
        self.stop = None;
        // If it panicked it has said so; a second panic while the first unwinds would hide it.
        self.thread.take().is_some_and(|thread| thread.join().unwrap_or(false))
    }
}

impl<V: Planar> Drop for NetPeer<V> {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the thread and the game share.
#[derive(Debug)]
struct Mesh<V: Planar> {
    own: Arc<server::Shared<V>>,
    others: Mutex<BTreeMap<Fingerprint, Other<V>>>,
    /// Who may listen to what is owned here.
    guests: Arc<Guests>,
    events: Mutex<VecDeque<PeerEvent>>,
    /// Whom a lobby is not to bring back.
    parted: Mutex<BTreeSet<Fingerprint>>,
    joined: Mutex<Option<Joined>>,
    endpoint: Endpoint,
    config: NetPeerConfig,
}

/// The lobby that this peer is at.
#[derive(Debug)]
struct Joined {
    attendance: LobbyPresence,
    asking: mpsc::Sender<LobbyRequest>,
}

/// Another peer.
#[derive(Debug)]
struct Other<V: Planar> {
    shared: Arc<client::Shared<V>>,
    ways: Arc<Ways>,
    has_been_met: Arc<AtomicBool>,
    /// Dropped, it ends the task that keeps the way open.
    _keeping: oneshot::Sender<()>,
}

/// Peers that one has parted from and that a lobby is not to bring back; some of more are
/// forgotten.
const PARTED_MAX: usize = 1024;
/// Events that nobody has fetched; the oldest are dropped first. A dozen for each peer there may
/// be.
const EVENTS_MAX: usize = 512;

impl<V: Planar> Mesh<V> {
    fn fingerprint(&self) -> Fingerprint {
        self.config.identity.fingerprint()
    }

    fn others(&self) -> MutexGuard<'_, BTreeMap<Fingerprint, Other<V>>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn parted(&self) -> MutexGuard<'_, BTreeSet<Fingerprint>> {
        self.parted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn joined(&self) -> MutexGuard<'_, Option<Joined>> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The direct way to a peer does not open: asks for another, where there is somebody to ask.
    fn ask_for_relay(&self, peer: Fingerprint) {
        if let Some(joined) = &*self.joined() {
            // With the next look, if there is no room now.
            let _ = joined.asking.try_send(LobbyRequest::Relay(peer));
        }
    }

    fn tell(&self, event: PeerEvent) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() >= EVENTS_MAX {
            events.pop_front();
        }
        events.push_back(event);
    }

    fn meet(
        self: &Arc<Self>,
        peer: Fingerprint,
        address: SocketAddr,
        runtime: &Handle,
    ) -> Result<(), MeetError> {
        if peer == self.fingerprint() {
            return Err(MeetError::Itself);
        }
        let mut others = self.others();
        if let Some(known) = others.get(&peer) {
            known.ways.set_best(address);
            return Ok(());
        }
        if others.len() >= self.config.peers_max {
            return Err(MeetError::Full);
        }
        self.guests.invite(peer);
        let config = self.calling(peer);
        let ways = Arc::new(Ways::new(address));
        let caller = Caller::from_endpoint(
            self.endpoint.clone(),
            Arc::clone(&ways),
            &config,
            Some(&self.config.identity),
        );
        let caller = caller.expect("the identity was good enough to listen with");
        let session = Client::new(self.config.seeing.clone(), unguessable_random());
        let shared = Arc::new(client::Shared::new(session, self.config.clock));
        let (keeping, dropped) = oneshot::channel();
        let has_been_met = Arc::new(AtomicBool::new(false));
        let watched =
            keep::Watched { peer, shared: Arc::clone(&shared), has_been_met: Arc::clone(&has_been_met) };
        runtime.spawn(keep::keep(Arc::clone(self), watched, caller, config, dropped));
        others.insert(peer, Other { shared, ways, has_been_met, _keeping: keeping });
        Ok(())
    }

    /// How another peer is called.
    fn calling(&self, peer: Fingerprint) -> NetClientConfig {
        NetClientConfig {
            congestion: self.config.congestion,
            budget: self.config.seeing.budget,
            connect_within: self.config.direct_within,
            retry_after_max: Duration::from_secs(1),
            clock: self.config.clock,
            ..NetClientConfig::new(Trust::Pinned(vec![peer]))
        }
    }

    /// Nothing is left of a peer, and it is shown nothing any more.
    fn forget(&self, peer: Fingerprint) {
        self.guests.strike(peer);
        self.own.dismiss(peer);
        let removed = self.others().remove(&peer);
        // Who never came is not missed.
        if removed.is_some_and(|other| other.has_been_met.load(Ordering::Relaxed)) {
            self.tell(PeerEvent::ConnectionLost(peer));
        }
    }
}

/// A peer at a lobby.
struct Mingling<V: Planar> {
    mesh: Arc<Mesh<V>>,
    runtime: Handle,
    lobby: SocketAddr,
    announcement: Announcement,
    /// Of a list that is read some at a time.
    looked_up_to: EntryId,
}

impl<V: Planar> Mingling<V> {
    /// Those who play the same.
    fn look(&self, after: EntryId) -> LobbyRequest {
        let Announcement { game, attributes, .. } = self.announcement.clone();
        LobbyRequest::Find(Filter { game: Some(game), free_seats_min: 0, attributes }, after)
    }

    /// Whether this is somebody new whom one wants to meet.
    fn is_missed(&self, listing: &Listing) -> bool {
        let peer = listing.fingerprint;
        listing.announcement.wants_introductions
            && peer != self.mesh.fingerprint()
            && !self.mesh.others().contains_key(&peer)
            && !self.mesh.parted().contains(&peer)
    }
}

impl<V: Planar> Attendee for Mingling<V> {
    fn announcement(&self) -> Announcement {
        let players = self.mesh.others().len() as u32 + 1;
        let seats = self.mesh.config.peers_max as u32 + 1;
        Announcement { players, seats, ..self.announcement.clone() }
    }

    fn on_answer(&mut self, answer: LobbyResponse) -> Vec<LobbyRequest> {
        match answer {
            // Announced first, looked afterwards: of two who come at once, one sees the other.
            LobbyResponse::Announced(..) => {
                self.looked_up_to = EntryId(0);
                vec![self.look(self.looked_up_to)]
            }
            LobbyResponse::Found(listing) => {
                self.looked_up_to = self.looked_up_to.max(listing.entry);
                if self.is_missed(&listing) { vec![LobbyRequest::Meet(listing.entry)] } else { Vec::new() }
            }
            LobbyResponse::End(true) => vec![self.look(self.looked_up_to)],
            LobbyResponse::Meet(peer, address) => {
                if !self.mesh.parted().contains(&peer) {
                    // If there is no room for it, it will find out.
                    let _ = self.mesh.meet(peer, address, &self.runtime);
                }
                Vec::new()
            }
            LobbyResponse::Relay(peer, port) => {
                if let Some(other) = self.mesh.others().get(&peer) {
                    other.ways.set_detour((self.lobby.ip(), port).into());
                }
                Vec::new()
            }
            LobbyResponse::End(false) | LobbyResponse::Refused(_) => Vec::new(),
        }
    }
}

/// The world of what a peer owns: others only look.
fn own_world(config: &NetPeerConfig) -> ServerConfig {
    let mut world = config.telling.clone();
    for class in world.classes.values_mut() {
        *class = class.clone().server_only();
    }
    // Who was started again is there twice for a while.
    world.clients_max = 2 * config.peers_max;
    world
}

impl fmt::Display for MeetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Itself => "that is this peer itself",
            Self::Full => "there are as many peers as there may be",
        })
    }
}

impl std::error::Error for MeetError {}
