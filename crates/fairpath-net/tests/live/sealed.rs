//! Goal: motion travels beside QUIC on real sockets, survives networks that do not carry it,
//! follows clients that move, and no forged packet changes anything. Method: a tap between a client
//! and its server that drops, holds and keeps sealed packets, and strangers that send what the tap
//! has kept.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairpath::time::Span;
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, State};
use fairpath_net::middleman::ClientSelector;
use fairpath_net::sealed::{DropReason, Drops, LinkStatistics, PacketKind};
use fairpath_net::{
    Carrier, Identity, NetClient, NetClientConfig, NetServer, PeerStatus, Transport, Trust, new_epoch,
};
use fairpath_sim::LinkConfig;

use super::arena::{Pilot, SHIP, World, any_port, client_session, server_config, server_session};

// ── a socket between one client and its server

/// Carries packets of one client, and does to sealed ones what a test wants.
struct Tap {
    shared: Arc<TapState>,
    address: SocketAddr,
    threads: Vec<JoinHandle<()>>,
}

struct TapState {
    server: SocketAddr,
    /// Towards the client.
    front: UdpSocket,
    /// Towards the server.
    back: UdpSocket,
    client: Mutex<Option<SocketAddr>>,
    blocks_sealed: AtomicBool,
    holds_sealed: AtomicBool,
    /// The newest sealed packet to the server that was carried.
    carried: Mutex<Vec<u8>>,
    /// The newest sealed packet to the server that was held.
    held: Mutex<Vec<u8>>,
    is_over: AtomicBool,
}

impl Tap {
    fn open(server: SocketAddr) -> Self {
        let [front, back] = [(); 2].map(|()| {
            let socket = UdpSocket::bind(any_port()).expect("a free port");
            socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a time");
            socket
        });
        let address = front.local_addr().expect("bound");
        let shared = Arc::new(TapState {
            server,
            front,
            back,
            client: Mutex::default(),
            blocks_sealed: AtomicBool::new(false),
            holds_sealed: AtomicBool::new(false),
            carried: Mutex::default(),
            held: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let (up, down) = (Arc::clone(&shared), Arc::clone(&shared));
        let threads =
            vec![std::thread::spawn(move || up.carry_up()), std::thread::spawn(move || down.carry_down())];
        Self { shared, address, threads }
    }

    /// Drops sealed packets in both directions, as a firewall that knows only QUIC.
    fn block(&self, blocks: bool) {
        self.shared.blocks_sealed.store(blocks, Ordering::Relaxed);
    }

    /// Keeps sealed packets to the server instead of carrying them.
    fn hold(&self, holds: bool) {
        self.shared.holds_sealed.store(holds, Ordering::Relaxed);
    }

    fn carried(&self) -> Vec<u8> {
        lock(&self.shared.carried).clone()
    }

    fn held(&self) -> Vec<u8> {
        lock(&self.shared.held).clone()
    }

    /// Sends a packet to the server from the address that it knows as the client's.
    fn inject(&self, packet: &[u8]) {
        self.shared.back.send_to(packet, self.shared.server).expect("sent");
    }
}

impl TapState {
    fn carry_up(&self) {
        let mut buffer = [0; 2048];
        while !self.is_over.load(Ordering::Relaxed) {
            let Ok((length, from)) = self.front.recv_from(&mut buffer) else { continue };
            let packet = &buffer[..length];
            *lock(&self.client) = Some(from);
            if PacketKind::of(packet) == PacketKind::Sealed {
                if self.blocks_sealed.load(Ordering::Relaxed) {
                    continue;
                }
                if self.holds_sealed.load(Ordering::Relaxed) {
                    *lock(&self.held) = packet.to_vec();
                    continue;
                }
            }
            // A packet that the system refuses is lost.
            let _ = self.back.send_to(packet, self.server);
            if PacketKind::of(packet) == PacketKind::Sealed {
                *lock(&self.carried) = packet.to_vec();
            }
        }
    }

    fn carry_down(&self) {
        let mut buffer = [0; 2048];
        while !self.is_over.load(Ordering::Relaxed) {
            let Ok((length, _)) = self.back.recv_from(&mut buffer) else { continue };
            let packet = &buffer[..length];
            let is_sealed = PacketKind::of(packet) == PacketKind::Sealed;
            if is_sealed && self.blocks_sealed.load(Ordering::Relaxed) {
                continue;
            }
            if let Some(client) = *lock(&self.client) {
                let _ = self.front.send_to(packet, client);
            }
        }
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// ── a world whose first pilot is behind the tap

fn join_at(world: &mut World, address: SocketAddr, carrier: Carrier) -> usize {
    let trust = Trust::Pinned(vec![world.server.fingerprint()]);
    let config = NetClientConfig { carrier, ..NetClientConfig::new(trust) };
    let client = NetClient::connect(address, config, client_session()).expect("a socket");
    world.pilots.push(Pilot { client, ship: None, events: Vec::new(), called: 0, calls: false });
    world.pilots.len() - 1
}

/// A pilot behind a tap, and another one whose ship it sees. Returns once motion is sealed.
fn tapped() -> (World, Tap) {
    let mut world = World::new(LinkConfig::default());
    let tap = Tap::open(world.server.address());
    join_at(&mut world, tap.address, Carrier::default());
    world.join();
    world.until("motion is sealed", |world| (0..2).all(|which| carries_sealed(world, which, [10; 2])));
    (world, tap)
}

/// The server's status of a pilot's connection.
fn status(world: &World, which: usize) -> Option<PeerStatus> {
    let id = world.pilots[which].client.with_session(|session, _| session.id())?;
    world.server.status().into_iter().find(|peer| peer.client == Some(id))
}

fn at_server(world: &World, which: usize) -> Option<LinkStatistics> {
    status(world, which)?.sealed
}

fn at_client(world: &World, which: usize) -> Option<LinkStatistics> {
    world.pilots[which].client.status().sealed
}

/// Sealed datagrams that the client and the server have received.
fn received(world: &World, which: usize) -> [u64; 2] {
    [at_client(world, which), at_server(world, which)]
        .map(|statistics| statistics.map_or(0, |statistics| statistics.datagrams_received))
}

/// Whether both ends have received more sealed datagrams than these.
fn carries_sealed(world: &World, which: usize, beyond: [u64; 2]) -> bool {
    let [client, server] = received(world, which);
    client > beyond[0] && server > beyond[1]
}

fn drops(world: &World) -> Drops {
    world.server.sealed_statistics().total.drops
}

fn datagrams_repeated(world: &World) -> u64 {
    world.pilots.iter().map(|pilot| pilot.client.status().session.datagrams_repeated).sum()
}

// ── scenarios

#[test]
fn motion_travels_sealed_end_to_end() {
    let mut world = World::new(LinkConfig::default());
    for _ in 0..3 {
        world.join();
    }
    world.pilots.iter_mut().for_each(|pilot| pilot.calls = true);
    world.until("all motion is sealed", |world| (0..3).all(|which| carries_sealed(world, which, [20; 2])));
    let statistics = world.server.sealed_statistics();
    assert_eq!(statistics.offered, 3);
    assert_eq!(statistics.total.drops.total(), 0);
    // No datagram leaves in QUIC while the sealed path is in use.
    let mut before: Option<(u64, LinkStatistics)> = None;
    world.until("forty datagrams in a row have left sealed", |world| {
        let peer = status(world, 0).expect("connected");
        let sealed = peer.sealed.expect("offered");
        assert!(peer.departures.count >= sealed.datagrams_sent);
        assert!(peer.udp_bytes_sent > sealed.bytes_sent && peer.udp_bytes_received > sealed.bytes_received);
        let (count, at) = *before.get_or_insert((peer.departures.count, sealed));
        if sealed.falls != at.falls {
            // A machine that stalls makes an end fall back.
            before = None;
            return false;
        }
        assert_eq!(peer.departures.count - count, sealed.datagrams_sent - at.datagrams_sent);
        sealed.datagrams_sent >= at.datagrams_sent + 40
    });
    world.settle();
    world.assert_promises_kept();
    assert_eq!(datagrams_repeated(&world), 0);
}

/// The longest time without new motion at a client, and the longest pause of the test itself.
struct Gaps {
    vectors: u64,
    moved_at: Instant,
    looked_at: Instant,
    longest: Duration,
    stall: Duration,
}

impl Gaps {
    fn begin(vectors: u64) -> Self {
        let now = Instant::now();
        Self { vectors, moved_at: now, looked_at: now, longest: Duration::ZERO, stall: Duration::ZERO }
    }

    fn look(&mut self, vectors: u64) {
        let now = Instant::now();
        self.stall = self.stall.max(now - self.looked_at);
        self.looked_at = now;
        self.longest = self.longest.max(now - self.moved_at);
        if vectors != self.vectors {
            (self.vectors, self.moved_at) = (vectors, now);
        }
    }
}

#[test]
fn a_network_that_begins_to_block_sealed_packets_interrupts_motion_for_a_second() {
    let (mut world, tap) = tapped();
    let vectors = |world: &World| world.pilots[0].client.status().session.vectors_received;
    let mut gaps = Gaps::begin(vectors(&world));
    tap.block(true);
    world.until("both ends use QUIC datagrams", |world| {
        gaps.look(vectors(world));
        [at_client(world, 0), at_server(world, 0)]
            .iter()
            .all(|statistics| statistics.is_some_and(|statistics| statistics.falls > 0))
    });
    let (before, sealed) = (vectors(&world), received(&world, 0));
    world.until("motion goes on in QUIC datagrams", |world| {
        gaps.look(vectors(world));
        vectors(world) > before + 20
    });
    let Gaps { longest, stall, .. } = gaps;
    println!("longest gap {longest:?}, longest pause of the test {stall:?}");
    assert_eq!(received(&world, 0), sealed, "nothing arrived sealed");
    // A machine that keeps the test waiting keeps the server waiting, too.
    assert!(longest <= Duration::from_secs(1) + 10 * stall, "{longest:?}, and the test paused for {stall:?}");
    tap.block(false);
    world.until("motion is sealed again", |world| carries_sealed(world, 0, sealed));
    assert_eq!(world.pilots[0].client.status().connections, 1);
    world.settle();
    world.assert_promises_kept();
}

#[test]
fn sealed_packets_follow_a_client_to_its_new_port() {
    let mut world = World::new(LinkConfig::default());
    world.join();
    world.join();
    world.until("motion is sealed", |world| (0..2).all(|which| carries_sealed(world, which, [10; 2])));
    for _ in 0..3 {
        let moves = [0, 1].map(|which| at_server(&world, which).expect("offered").moves);
        let before = [0, 1].map(|which| received(&world, which));
        assert_eq!(world.middleman.rebind(ClientSelector::All).expect("sockets"), 2);
        world.until("sealed packets arrive from the new ports and at them", |world| {
            (0..2).all(|which| {
                at_server(world, which).is_some_and(|statistics| statistics.moves > moves[which])
                    && carries_sealed(world, which, before[which])
            })
        });
    }
    world.settle();
    world.assert_promises_kept();
    assert!(world.pilots.iter().all(|pilot| pilot.client.status().connections == 1));
}

#[test]
fn forged_packets_are_dropped_and_counted_and_change_nothing() {
    let (mut world, tap) = tapped();
    // What the server has opened before; by now it may be too old to say so.
    let before = drops(&world);
    let replayed = tap.carried();
    tap.inject(&replayed);
    let is_replay = |drops: Drops| drops.of(DropReason::Replayed) + drops.of(DropReason::TooOld);
    world.until("the replay is dropped", |world| is_replay(drops(world)) == is_replay(before) + 1);

    // What the server has not seen, with a flipped bit in every byte, and cut.
    tap.hold(true);
    world.until("a packet is held", |_| tap.held().len() > 30);
    tap.hold(false);
    let fresh = tap.held();
    let flip = |place: usize| {
        let mut packet = fresh.clone();
        // Not the form, which would make it a packet of QUIC's.
        packet[place] ^= 1 << (place % 6);
        packet
    };
    let forged = (0..fresh.len()).map(flip);
    let cut = [1, 5, 22, 23, fresh.len() - 1].map(|length| fresh[..length].to_vec());
    let forged: Vec<Vec<u8>> = forged.chain(cut).collect();
    let before = drops(&world);
    forged.iter().for_each(|packet| tap.inject(packet));
    world.until("all of them are dropped", |world| {
        drops(world).total() >= before.total() + forged.len() as u64
    });
    let after = drops(&world);
    assert_eq!(after.total(), before.total() + forged.len() as u64, "{after:?}");
    let counted = |reason| after.of(reason) - before.of(reason);
    assert_eq!(counted(DropReason::TooShort), 3);
    assert_eq!(counted(DropReason::UnknownForm), 1);
    assert_eq!(counted(DropReason::UnknownConnection), 4);
    assert!(counted(DropReason::NotAuthentic) >= 16, "{after:?}");
    assert_eq!(counted(DropReason::OtherAddress), 0);

    // No forgery has used up a number or moved the path.
    let sealed = received(&world, 0);
    world.until("motion is still sealed", |world| carries_sealed(world, 0, sealed));
    assert_eq!(at_server(&world, 0).expect("offered").moves, 0);
    assert_eq!(world.server.status().len(), 2);
    world.settle();
    world.assert_promises_kept();
    assert_eq!(datagrams_repeated(&world), 0);
}

/// Other systems have one loopback address.
#[cfg(target_os = "linux")]
#[test]
fn a_spoofer_gets_three_times_its_bytes_at_most_and_no_motion() {
    let (mut world, tap) = tapped();
    let spoofer = UdpSocket::bind("127.0.0.2:0").expect("a second loopback address");
    spoofer.set_nonblocking(true).expect("a socket option");
    let mut answers: Vec<Vec<u8>> = Vec::new();
    let read = |answers: &mut Vec<Vec<u8>>| {
        let mut buffer = [0; 2048];
        while let Ok(length) = spoofer.recv(&mut buffer) {
            answers.push(buffer[..length].to_vec());
        }
    };
    // The newest packet of the client comes from the spoofer's address only.
    tap.hold(true);
    world.until("a packet is held", |_| tap.held().len() > 30);
    let packet = tap.held();
    spoofer.send_to(&packet, world.server.address()).expect("sent");
    world.until("the server challenges the new address", |world| {
        read(&mut answers);
        !answers.is_empty() && drops(world).of(DropReason::OtherAddress) > 0
    });
    world.play_for(Duration::from_millis(1_500));
    read(&mut answers);
    let bytes: usize = answers.iter().map(Vec::len).sum();
    assert!(bytes <= 3 * packet.len(), "{bytes} bytes in answer to {}", packet.len());
    // Challenges have 8 bytes of content, and their kind in the first byte.
    let is_challenge = |packet: &Vec<u8>| packet.len() == 19 + 8 && packet[0] >> 2 & 0b11 == 2;
    assert!(answers.iter().all(is_challenge), "{answers:?}");

    tap.hold(false);
    let sealed = received(&world, 0);
    world.until("motion of the client is sealed", |world| carries_sealed(world, 0, sealed));
    // Copies of what the server has opened are worth nothing.
    let replayed = tap.carried();
    let sealed = received(&world, 0);
    world.until("that packet is opened", |world| carries_sealed(world, 0, sealed));
    answers.clear();
    for _ in 0..10 {
        spoofer.send_to(&replayed, world.server.address()).expect("sent");
    }
    let replays = |world: &World| drops(world).of(DropReason::Replayed) + drops(world).of(DropReason::TooOld);
    world.until("all copies are dropped", |world| replays(world) >= 10);
    world.play_for(Duration::from_millis(300));
    read(&mut answers);
    assert!(answers.is_empty(), "{answers:?}");
    assert_eq!(at_server(&world, 0).expect("offered").moves, 0, "motion never went there");
    world.settle();
    world.assert_promises_kept();
}

/// Counts bytes and frames for a second at a time.
struct Window {
    began: Instant,
    bytes: u64,
    frames: u32,
}

impl Window {
    /// Bytes a second, after a second in which the game had more to send than the budget allows: a
    /// machine that stalls sends little, too.
    fn look(&mut self, bytes: u64, bytes_per_frame: f64) -> Option<f64> {
        self.frames += 1;
        let secs = self.began.elapsed().as_secs_f64();
        if secs < 1.0 {
            return None;
        }
        let (sent, offered) = ((bytes - self.bytes) as f64, f64::from(self.frames) * bytes_per_frame);
        *self = Self { began: Instant::now(), bytes, frames: 0 };
        (offered > 1.2 * BUDGET * secs).then_some(sent / secs)
    }
}

/// The default of a session, in bytes a second.
const BUDGET: f64 = 32_000.0;

#[test]
fn a_server_sends_less_while_a_narrow_link_delays_its_packets() {
    const OBJECTS: usize = 160;
    let link = LinkConfig::default().delay(Span::from_millis(10)).rate(14_000, 28_000);
    let mut world = World::new(link);
    world.join();
    world.until("it has a ship", |world| world.pilots[0].ship.is_some());
    let objects: Vec<EntityId> = world.server.with_session(|session, now| {
        (0..OBJECTS).map(|_| session.create(SHIP, b"", now).expect("room")).collect()
    });
    let mut frame = 0_u32;
    let mut jump_all = |world: &mut World| {
        frame += 1;
        world.server.with_session(|session, now| {
            for (nth, object) in objects.iter().enumerate() {
                let place = Vec2::new(f64::from(frame % 100), nth as f64);
                let moved = Observation::Moved(State::moving(place, Vec2::ZERO));
                session.observe(*object, moved, now).expect("its own object");
            }
        });
    };
    let sent = |world: &World| status(world, 0).and_then(|peer| Some(peer.session?.bytes_sent));
    let bytes_per_frame = 9.0 * OBJECTS as f64;
    let mut window = Window { began: Instant::now(), bytes: sent(&world).expect("connected"), frames: 0 };
    for (what, is_reached) in [
        ("the budget is used up", (|rate| rate > 0.8 * BUDGET) as fn(f64) -> bool),
        ("the server sends half of it", |rate| rate < 0.55 * BUDGET),
    ] {
        world.until(what, |world| {
            jump_all(world);
            let rate = sent(world).and_then(|bytes| window.look(bytes, bytes_per_frame));
            rate.is_some_and(is_reached)
        });
    }
}

#[test]
fn a_restarted_server_offers_anew_and_knows_no_old_tag() {
    let folder = std::env::temp_dir().join(format!("fairpath-sealed-{}-{}", std::process::id(), new_epoch()));
    let identity = || Identity::stored_in(&folder, "restart").expect("made");
    let mut world =
        World::with(LinkConfig::default(), server_session(), |config| config.identity = identity());
    let tap = Tap::open(world.server.address());
    join_at(&mut world, tap.address, Carrier::default());
    world.join();
    let is_sealed = |world: &mut World| (0..2).all(|which| carries_sealed(world, which, [10; 2]));
    world.until("motion is sealed", is_sealed);
    let old_packet = tap.carried();

    let elsewhere = server_config(any_port(), Identity::local(&[]).expect("made"));
    let placeholder: NetServer<Vec2> = NetServer::bind(elsewhere, server_session()).expect("a free port");
    let old = std::mem::replace(&mut world.server, placeholder);
    let address = old.address();
    old.shutdown_for_restart(Duration::from_secs(60));
    world.server =
        NetServer::bind(server_config(address, identity()), server_session()).expect("its old port");
    std::fs::remove_dir_all(&folder).expect("removed");
    tap.inject(&old_packet);
    world.until("the old packet is dropped", |world| drops(world).of(DropReason::UnknownConnection) > 0);
    world.until("the clients are back", |world| {
        world.pilots.iter().all(|pilot| pilot.client.status().connections >= 2)
    });
    world.until("motion is sealed with new keys", is_sealed);
    world.settle();
}

#[test]
fn a_client_without_sealed_datagrams_plays_beside_one_with_them() {
    let mut world = World::new(LinkConfig::default());
    let address = world.middleman.address();
    let old = join_at(&mut world, address, Carrier::QuicOnly);
    let new = join_at(&mut world, address, Carrier::Sealed);
    world.pilots.iter_mut().for_each(|pilot| pilot.calls = true);
    world.until("motion of the new client is sealed", |world| carries_sealed(world, new, [20; 2]));
    world.until("both are served", |world| {
        world.server.status().iter().all(|peer| peer.departures.count >= 30)
    });
    assert_eq!((at_client(&world, old), at_server(&world, old)), (None, None));
    assert_eq!(world.server.sealed_statistics().offered, 1);
    world.settle();
    world.assert_promises_kept();
}

#[test]
fn a_native_client_beside_a_browser_is_served_sealed() {
    let mut world = World::with(LinkConfig::default(), server_session(), |config| config.accepts_web = true);
    let address = world.middleman.address();
    let native = join_at(&mut world, address, Carrier::Sealed);
    world.join_by(Transport::WebTransport);
    world.pilots.iter_mut().for_each(|pilot| pilot.calls = true);
    world.until("both are served", |world| {
        let peers = world.server.status();
        peers.len() == 2 && peers.iter().all(|peer| peer.departures.count >= 30)
    });
    let sealed = at_client(&world, native).expect("sealed datagrams were agreed on");
    assert!(sealed.datagrams_sent > 0 && sealed.datagrams_received > 0, "{sealed:?}");
    world.settle();
    world.assert_promises_kept();
}
