//! Goal: no address is sent more than three times what came from there until it has answered, and
//! none is shown to others. Method: a client's packets leave from a second loopback address, whose
//! socket counts what it is sent and never answers. Each test prints the factor.

// Other systems have one loopback address.
#![cfg(target_os = "linux")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fairpath_net::lobby::{Announcement, Filter, LobbyAddress, LobbyConfig, LobbyServer, find};
use fairpath_net::{Carrier, Identity, NetClient, NetClientConfig, NetServer, Transport, Trust};
use fairpath_sim::LinkConfig;

use super::arena::{Pilot, World, any_port, client_session, server_config, server_session, until};
use super::mesh::{Captain, Fleet};

/// The second loopback address.
pub(crate) const VICTIM: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// Bytes sent to an unproven address for each byte from there.
const FACTOR_MAX: u64 = 3;

/// How long the victim listens after the last forged packet: probes of QUIC come for longer than a
/// second.
const LISTEN_FOR: Duration = Duration::from_secs(3);

/// Sits between a client and its server, and forges the source of the client's packets.
pub(crate) struct Spoofer {
    pub(crate) address: SocketAddr,
    mode: Arc<Mutex<Mode>>,
    sent: Arc<AtomicU64>,
    received: Arc<AtomicU64>,
    first: Arc<Mutex<Option<Vec<u8>>>>,
    victim: Arc<UdpSocket>,
    server: SocketAddr,
}

/// What happens to the client's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Carry,
    /// So many leave from the victim's address, and no others.
    Forge(u32),
    /// Every second one leaves from the victim's address.
    Alternate,
    Drop,
}

impl Spoofer {
    fn before(server: SocketAddr) -> Self {
        Self::between(any_port(), server)
    }

    /// Carries a client's packets as if the client were at this address. The threads sleep on their
    /// sockets and end with the process.
    pub(crate) fn between(client_at: SocketAddr, server: SocketAddr) -> Self {
        let near = Arc::new(UdpSocket::bind(any_port()).expect("a socket"));
        let honest = Arc::new(UdpSocket::bind(client_at).expect("a socket"));
        let victim = Arc::new(UdpSocket::bind((VICTIM, 0)).expect("a second loopback address"));
        let spoofer = Self {
            address: near.local_addr().expect("bound"),
            mode: Arc::new(Mutex::new(Mode::Carry)),
            sent: Arc::default(),
            received: Arc::default(),
            first: Arc::default(),
            victim,
            server,
        };
        let client = Arc::new(Mutex::new(None));
        let (inward, outward, caller) = (Arc::clone(&near), Arc::clone(&honest), Arc::clone(&client));
        let carry = spoofer.carry(server, outward);
        std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            let mut nth = 0u64;
            while let Ok((length, from)) = inward.recv_from(&mut buffer) {
                *caller.lock().expect("sound") = Some(from);
                nth += 1;
                carry(&buffer[..length], nth);
            }
        });
        std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok(length) = honest.recv(&mut buffer) {
                if let Some(client) = *client.lock().expect("sound") {
                    let _ = near.send_to(&buffer[..length], client);
                }
            }
        });
        let (victim, received) = (Arc::clone(&spoofer.victim), Arc::clone(&spoofer.received));
        std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok(length) = victim.recv(&mut buffer) {
                received.fetch_add(length as u64, Ordering::Relaxed);
            }
        });
        spoofer
    }

    fn carry(&self, server: SocketAddr, honest: Arc<UdpSocket>) -> impl Fn(&[u8], u64) + Send + use<> {
        let (mode, sent) = (Arc::clone(&self.mode), Arc::clone(&self.sent));
        let (victim, first) = (Arc::clone(&self.victim), Arc::clone(&self.first));
        move |packet, nth| {
            first.lock().expect("sound").get_or_insert_with(|| packet.to_vec());
            let mut mode = mode.lock().expect("sound");
            let forges = match &mut *mode {
                Mode::Carry => false,
                Mode::Drop => return,
                Mode::Alternate => nth % 2 == 0,
                Mode::Forge(0) => return,
                Mode::Forge(left) => {
                    *left -= 1;
                    true
                }
            };
            let from = if forges { &victim } else { &honest };
            if forges {
                sent.fetch_add(packet.len() as u64, Ordering::Relaxed);
            }
            let _ = from.send_to(packet, server);
        }
    }

    fn set(&self, mode: Mode) {
        *self.mode.lock().expect("sound") = mode;
    }

    /// The first packet that the client ever sent.
    fn first(&self) -> Vec<u8> {
        self.first.lock().expect("sound").clone().expect("the client has sent one")
    }

    /// Sends a packet from the victim's address.
    fn forge(&self, packet: &[u8]) {
        self.sent.fetch_add(packet.len() as u64, Ordering::Relaxed);
        let _ = self.victim.send_to(packet, self.server);
    }

    /// Bytes that were forged, and that the victim was sent, so far.
    fn bytes(&self) -> (u64, u64) {
        (self.sent.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed))
    }

    /// Checks what the victim was sent in all: what a phase leaves unused, the next may use.
    fn assert_bounded(&self, path: &str) {
        let (sent, received) = self.bytes();
        println!("{path}: {received} bytes for {sent}, factor {:.2}", received as f64 / sent as f64);
        assert!(sent > 0, "{path}: nothing was forged");
        assert!(received <= FACTOR_MAX * sent, "{path}: {received} bytes for {sent}");
    }
}

/// Two pilots, and a third whose packets are forged.
fn attacked(transport: Transport, carrier: Carrier) -> (World, Spoofer) {
    let mut world = World::new(LinkConfig::default());
    world.join();
    world.join();
    let spoofer = Spoofer::before(world.server.address());
    let trust = Trust::Pinned(vec![world.server.fingerprint()]);
    let config = NetClientConfig { transport, carrier, ..NetClientConfig::new(trust) };
    let client = NetClient::connect(spoofer.address, config, client_session()).expect("a socket");
    world.pilots.push(Pilot { client, ship: None, events: Vec::new(), called: 0, calls: false });
    world.until("all clients have a ship", |world| world.pilots.iter().all(|pilot| pilot.ship.is_some()));
    world.pilots.iter_mut().for_each(|pilot| pilot.calls = true);
    world.play_for(Duration::from_secs(1));
    (world, spoofer)
}

fn withstand(path: &str, transport: Transport, carrier: Carrier) {
    let (mut world, spoofer) = attacked(transport, carrier);
    let modes = [("one packet", Mode::Forge(1)), ("all", Mode::Forge(u32::MAX)), ("half", Mode::Alternate)];
    for (what, mode) in modes {
        let (before, _) = spoofer.bytes();
        spoofer.set(mode);
        world.until("a packet was forged", |_| spoofer.bytes().0 > before);
        world.play_for(LISTEN_FOR);
        spoofer.set(Mode::Drop);
        let shown = world.server.status();
        assert!(shown.iter().all(|peer| peer.address.ip() != VICTIM), "{path}, {what}: {shown:?}");
        spoofer.assert_bounded(&format!("{path}, {what}"));
        spoofer.set(Mode::Carry);
        world.until("the client plays again", |world| {
            let client = &world.pilots[2].client;
            client.with_session(|session, _| session.is_connected())
        });
    }
    world.settle();
    world.assert_promises_kept();
}

#[test]
fn a_server_with_quic_datagrams_sends_a_victim_three_times_at_most() {
    withstand("QUIC datagrams", Transport::Quic, Carrier::QuicOnly);
}

#[test]
fn a_server_with_sealed_datagrams_sends_a_victim_three_times_at_most() {
    withstand("sealed datagrams", Transport::Quic, Carrier::Sealed);
}

#[test]
fn a_server_of_browsers_sends_a_victim_three_times_at_most() {
    withstand("WebTransport", Transport::WebTransport, Carrier::QuicOnly);
}

#[test]
fn a_client_whose_address_changes_is_followed_once_it_has_answered() {
    for carrier in [Carrier::QuicOnly, Carrier::Sealed] {
        let mut world = World::new(LinkConfig::default());
        let trust = Trust::Pinned(vec![world.server.fingerprint()]);
        let config = NetClientConfig { carrier, ..NetClientConfig::new(trust) };
        let client =
            NetClient::connect(world.middleman.address(), config, client_session()).expect("a socket");
        world.pilots.push(Pilot { client, ship: None, events: Vec::new(), called: 0, calls: true });
        world.until("it has a ship", |world| world.pilots[0].ship.is_some());
        for _ in 0..2 {
            let before = world.server.status()[0].address;
            world.middleman.rebind(fairpath_net::middleman::ClientSelector::All).expect("a socket");
            world.until("it is followed", |world| {
                let status = world.server.status();
                status.len() == 1 && status[0].address != before
            });
        }
        world.settle();
        world.assert_promises_kept();
        assert_eq!(world.pilots[0].client.status().connections, 1, "{carrier:?}: on one connection");
    }
}

// ── first packets

/// A first packet of a client of this server, and the server's answers to copies of it.
fn flood(path: &str, spoofer: &Spoofer) {
    let first = spoofer.first();
    for _ in 0..50 {
        spoofer.forge(&first);
        spoofer.forge(&first[..first.len() / 2]);
        // Another version of QUIC, and a packet of a connection that does not exist.
        let version = [&first[..1], &[0xfa; 4], &first[5..]].concat();
        spoofer.forge(&version);
        spoofer.forge(&[&[0x41; 9], &first[9..60]].concat());
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(LISTEN_FOR);
    spoofer.assert_bounded(path);
}

#[test]
fn first_packets_are_answered_with_less_than_three_times_their_bytes() {
    let (_world, spoofer) = attacked(Transport::Quic, Carrier::Sealed);
    spoofer.set(Mode::Drop);
    flood("first packets, server", &spoofer);

    let (lobby, address) = lobby();
    let spoofer = Spoofer::before(lobby.address());
    let server = game_server();
    let through = LobbyAddress { address: spoofer.address, ..address };
    let presence = server.announce(through, Announcement::new("tanks", "it")).expect("a good one");
    until("it is listed", || presence.announced().is_some());
    spoofer.set(Mode::Drop);
    flood("first packets, lobby", &spoofer);

    let fleet = Fleet::of(2);
    let spoofer = Spoofer::before(fleet.captains[1].peer.address());
    fleet.captains[0].peer.connect(fleet.captains[1].name(), spoofer.address).expect("room");
    until("it has called", || spoofer.first.lock().expect("sound").is_some());
    spoofer.set(Mode::Drop);
    flood("first packets, peer", &spoofer);
}

// ── lobbies and meshes

fn lobby() -> (LobbyServer, LobbyAddress) {
    let config = LobbyConfig::new(any_port(), Identity::local(&[]).expect("made"));
    let lobby = LobbyServer::bind(config).expect("a free port");
    let trust = Trust::Pinned(vec![lobby.fingerprint()]);
    let address = LobbyAddress::new(lobby.address(), trust);
    (lobby, address)
}

fn game_server() -> NetServer<fairpath::vector::Vec2> {
    let config = server_config(any_port(), Identity::local(&[]).expect("made"));
    NetServer::bind(config, server_session()).expect("a free port")
}

/// One forged packet made a lobby and three peers send a victim 39 726 bytes.
#[test]
fn a_lobby_lists_no_victim_and_introduces_nobody_to_it() {
    let (lobby, address) = lobby();
    let spoofer = Spoofer::before(lobby.address());
    let attacker = Captain::new(0, |_| {});
    let through = LobbyAddress { address: spoofer.address, ..address.clone() };
    let room = || Announcement::new("ships", "blue").with_attribute("room", "blue");
    attacker.peer.join(through, room()).expect("a good one");
    until("it is listed", || attacker.peer.announced().is_some());
    for (what, mode) in [("one packet", Mode::Forge(1)), ("all", Mode::Forge(u32::MAX))] {
        let (before, _) = spoofer.bytes();
        spoofer.set(mode);
        // It renews its entry every ten seconds, and QUIC repeats what is not confirmed.
        until("a packet was forged", || spoofer.bytes().0 > before);
        let victims: Vec<_> = (1..4).map(|which| Captain::new(which, |_| {})).collect();
        for captain in &victims {
            captain.peer.join(address.clone(), room()).expect("a good one");
        }
        until("they have met", || victims.iter().all(|captain| captain.peer.peers().len() >= 2));
        std::thread::sleep(LISTEN_FOR);
        spoofer.set(Mode::Drop);
        assert!(lobby.entries().iter().all(|listing| listing.address.ip() != VICTIM));
        let found = find(&address, &Filter::default(), false).expect("the list");
        assert!(found.iter().all(|it| it.listing.address.ip() != VICTIM));
        spoofer.assert_bounded(&format!("lobby and three peers, {what}"));
        spoofer.set(Mode::Carry);
        until("it is listed", || attacker.peer.announced().is_some());
    }
}

#[test]
fn a_peer_sends_a_victim_three_times_at_most() {
    let mut fleet = Fleet::of(3);
    let spoofer = Spoofer::before(fleet.captains[0].peer.address());
    let names: Vec<_> = fleet.captains.iter().map(Captain::name).collect();
    let addresses: Vec<_> = fleet.captains.iter().map(|captain| captain.peer.address()).collect();
    for (one, captain) in fleet.captains.iter().enumerate() {
        for other in (0..3).filter(|other| *other != one) {
            let address = if (one, other) == (2, 0) { spoofer.address } else { addresses[other] };
            captain.peer.connect(names[other], address).expect("room");
        }
    }
    fleet.until("all peers see each other", |fleet| fleet.is_seen());
    for (what, mode) in [("one packet", Mode::Forge(1)), ("all", Mode::Forge(u32::MAX))] {
        let (before, _) = spoofer.bytes();
        spoofer.set(mode);
        fleet.until("a packet was forged", |_| spoofer.bytes().0 > before);
        let began = std::time::Instant::now();
        fleet.until("the victim has listened", |_| began.elapsed() >= LISTEN_FOR);
        spoofer.set(Mode::Drop);
        spoofer.assert_bounded(&format!("peer of a mesh, {what}"));
        spoofer.set(Mode::Carry);
        fleet.until("all peers see each other", |fleet| fleet.is_seen());
    }
}
