//! Goal: a blocked path leaves a gap of a second at most, a client that moves is followed only
//! after a proof, and no address is sent more than three times what came from there. Method: both
//! ends of a connection in virtual time, on a network that delays, loses, blocks and copies.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use fairpath::random::Random;
use fairpath::time::{LocalInstant, Span};
use fairpath_laws::{law, proptest::prelude::*};
use fairpath_net::sealed::{DropReason, SealedLink};

use crate::exporter::FixedExporter;

const EXPORTER: FixedExporter = FixedExporter([3; 32]);
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 7777);
const HOME: ([u8; 4], u16) = ([10, 0, 0, 2], 1000);
const TO_CLIENT: usize = 0;
const TO_SERVER: usize = 1;
/// A session's rates: 30 ticks a second, and receipts every 80 ms.
const SEND_EVERY_MS: [i64; 2] = [33, 80];

/// A packet under way.
struct Flight {
    due_ms: i64,
    way: usize,
    from: SocketAddr,
    to: SocketAddr,
    /// `None`: a QUIC datagram of the session, which QUIC carries whatever happens.
    sealed: Option<Vec<u8>>,
}

struct World {
    now_ms: i64,
    /// The server's end, which sends to the client, and the client's end.
    ends: [SealedLink; 2],
    client_at: SocketAddr,
    flights: Vec<Flight>,
    delay_ms: i64,
    /// How often each end's session has a datagram.
    send_every_ms: [i64; 2],
    loss: f64,
    blocks: [bool; 2],
    random: Random,
    /// When a session datagram last arrived, and the longest gap since `watch`.
    arrived_ms: [i64; 2],
    gap_ms: [i64; 2],
    by_quic: [u64; 2],
    by_sealed: [u64; 2],
    quic_pings: [u64; 2],
    probes: u64,
    /// Bytes to and from each address at the client's side of the network.
    bytes_to: BTreeMap<SocketAddr, usize>,
    bytes_from: BTreeMap<SocketAddr, usize>,
    /// A machine that sees packets to the server sends copies from here, which arrive first.
    spoofs: Option<SocketAddr>,
}

impl World {
    fn new(delay_ms: i64) -> Self {
        let now = LocalInstant::from_micros(0);
        let mut draws = Random::from_seed(9);
        let mut more = Random::from_seed(10);
        let server = SealedLink::server(&EXPORTER, HOME.into(), now, move || draws.bits().to_le_bytes());
        let client =
            SealedLink::client(&EXPORTER, [1; 4], SERVER.into(), now, move || more.bits().to_le_bytes());
        let mut ends = [server.expect("keys"), client.expect("keys")];
        ends.iter_mut().for_each(|end| end.on_round_trip(Span::from_millis(2 * delay_ms)));
        Self {
            now_ms: 0,
            ends,
            client_at: HOME.into(),
            flights: Vec::new(),
            delay_ms,
            send_every_ms: SEND_EVERY_MS,
            loss: 0.0,
            blocks: [false; 2],
            random: Random::from_seed(11),
            arrived_ms: [0; 2],
            gap_ms: [0; 2],
            by_quic: [0; 2],
            by_sealed: [0; 2],
            quic_pings: [0; 2],
            probes: 0,
            bytes_to: BTreeMap::new(),
            bytes_from: BTreeMap::new(),
            spoofs: None,
        }
    }

    fn run(&mut self, millis: i64) -> &mut Self {
        for _ in 0..millis {
            self.now_ms += 1;
            self.arrive();
            self.send_datagrams();
            self.send_signals();
        }
        self
    }

    /// Forgets what was measured.
    fn watch(&mut self) -> &mut Self {
        (self.gap_ms, self.by_quic, self.by_sealed) = ([0; 2], [0; 2], [0; 2]);
        (self.quic_pings, self.probes) = ([0; 2], 0);
        self.arrived_ms = [self.now_ms; 2];
        self
    }

    fn now(&self) -> LocalInstant {
        LocalInstant::from_micros(self.now_ms * 1_000)
    }

    fn are_in_use(&mut self) -> [bool; 2] {
        let now = self.now();
        self.ends.each_mut().map(|end| end.is_in_use(now))
    }

    fn send_datagrams(&mut self) {
        for way in [TO_CLIENT, TO_SERVER] {
            if self.now_ms % self.send_every_ms[way] != 0 {
                continue;
            }
            let (now, mut packet) = (self.now(), Vec::new());
            match self.ends[way].seal(now, b"a session's datagram", &mut packet) {
                Some(to) => self.depart(way, to, Some(packet)),
                None => self.depart(way, SERVER.into(), None),
            }
        }
    }

    fn send_signals(&mut self) {
        let now = self.now();
        for way in [TO_CLIENT, TO_SERVER] {
            self.quic_pings[way] += u64::from(self.ends[way].poll_quic_ping(now));
            let mut packet = Vec::new();
            while let Some(to) = self.ends[way].poll_transmit(now, &mut packet) {
                self.probes += 1;
                self.depart(way, to, Some(std::mem::take(&mut packet)));
            }
            assert!(self.ends[way].poll_deadline().is_none_or(|at| at > now), "nothing is left to do");
        }
    }

    fn depart(&mut self, way: usize, to: SocketAddr, sealed: Option<Vec<u8>>) {
        let from = if way == TO_CLIENT { SERVER.into() } else { self.client_at };
        let due_ms = self.now_ms + self.delay_ms.max(1);
        if let (TO_SERVER, Some(spoofed), Some(packet)) = (way, self.spoofs, &sealed) {
            let sealed = Some(packet.clone());
            *self.bytes_from.entry(spoofed).or_default() += packet.len();
            self.flights.push(Flight { due_ms: due_ms - 1, way, from: spoofed, to, sealed });
        }
        self.flights.push(Flight { due_ms, way, from, to, sealed });
    }

    fn arrive(&mut self) {
        let (due, waiting) =
            std::mem::take(&mut self.flights).into_iter().partition(|flight| flight.due_ms <= self.now_ms);
        self.flights = waiting;
        let due: Vec<Flight> = due;
        for Flight { way, from, to, sealed, .. } in due {
            match sealed {
                None => {
                    self.by_quic[way] += 1;
                    self.on_datagram(way);
                }
                Some(packet) => self.deliver(way, from, to, packet),
            }
        }
    }

    fn deliver(&mut self, way: usize, from: SocketAddr, to: SocketAddr, mut packet: Vec<u8>) {
        if way == TO_CLIENT {
            *self.bytes_to.entry(to).or_default() += packet.len();
        }
        let is_lost = self.blocks[way] || self.random.chance(self.loss);
        if is_lost || (way == TO_CLIENT && to != self.client_at) {
            return;
        }
        let now = self.now();
        if self.ends[1 - way].handle_packet(now, from, &mut packet).is_some() {
            self.by_sealed[way] += 1;
            self.on_datagram(way);
        }
    }

    fn on_datagram(&mut self, way: usize) {
        self.gap_ms[way] = self.gap_ms[way].max(self.now_ms - self.arrived_ms[way]);
        self.arrived_ms[way] = self.now_ms;
    }
}

#[test]
fn sealed_packets_are_used_as_soon_as_a_challenge_is_echoed() {
    for delay_ms in [1, 20, 100, 400] {
        let mut world = World::new(delay_ms);
        world.run(2 * delay_ms + 5);
        assert_eq!(world.are_in_use(), [true; 2], "{delay_ms} ms");
        world.run(delay_ms + 5).watch().run(60_000);
        assert_eq!(world.by_quic, [0; 2], "{delay_ms} ms");
        assert_eq!(world.are_in_use(), [true; 2]);
        assert_eq!(world.ends[TO_CLIENT].statistics().falls, 0);
    }
}

#[test]
fn reports_ride_on_datagrams_and_cost_less_than_27_bytes_a_second() {
    let mut world = World::new(30);
    world.run(1_000).watch().run(10_000);
    assert_eq!(world.probes, 0, "everything rides on datagrams");
    let before = world.ends[TO_CLIENT].statistics();
    world.run(10_000);
    let after = world.ends[TO_CLIENT].statistics();
    let datagrams = after.datagrams_sent - before.datagrams_sent;
    let bare = datagrams * (19 + b"a session's datagram".len() as u64);
    let reports = after.bytes_sent - before.bytes_sent - bare;
    assert!((100..=270).contains(&reports), "{reports} bytes in 10 s");
}

/// Both ways, and each way alone.
#[test]
fn blocking_sealed_packets_in_mid_match_leaves_a_gap_of_a_second_at_most() {
    for delay_ms in [1, 20, 100, 200, 300] {
        for blocks in [[true, true], [true, false], [false, true]] {
            for offset_ms in [0, 17, 45, 90] {
                let mut world = World::new(delay_ms);
                world.run(15_000 + offset_ms);
                world.watch().blocks = blocks;
                world.run(5_000);
                let case = format!("{delay_ms} ms, {blocks:?}, at {offset_ms}: gaps {:?}", world.gap_ms);
                assert!(world.gap_ms.iter().all(|gap| *gap <= 1_000), "{case}");
                assert_eq!(world.are_in_use(), [false; 2], "{case}");
                assert!(world.by_quic.iter().all(|count| *count > 40), "{case}");
            }
        }
    }
}

#[test]
fn a_blocked_path_is_probed_rarely_and_used_again_when_it_opens() {
    let mut world = World::new(50);
    world.run(15_000).blocks = [true; 2];
    world.run(300_000).watch().run(60_000);
    assert!(world.probes <= 2 * 4 * 3, "{} probes in a minute", world.probes);
    assert!(world.gap_ms.iter().all(|gap| *gap <= 100), "QUIC carries everything: {:?}", world.gap_ms);
    world.blocks = [false; 2];
    world.watch().run(33_500);
    assert_eq!(world.are_in_use(), [true; 2], "within the longest pause");
    assert!(world.gap_ms.iter().all(|gap| *gap <= 100), "{:?}", world.gap_ms);
}

#[test]
fn a_network_that_never_carries_sealed_packets_costs_nothing_but_probes() {
    for blocks in [[true, true], [true, false], [false, true]] {
        let mut world = World::new(50);
        world.blocks = blocks;
        world.run(60_000);
        assert_eq!(world.by_sealed, [0; 2], "{blocks:?}");
        assert_eq!(world.gap_ms[TO_CLIENT].max(world.gap_ms[TO_SERVER]), 80 + 50, "{blocks:?}");
    }
}

#[test]
fn loss_is_not_taken_for_blocking() {
    for (loss, falls_max) in [(0.05, 0), (0.2, 1), (0.3, 4)] {
        let mut world = World::new(40);
        world.run(1_000).loss = loss;
        world.run(600_000);
        let falls: u64 = world.ends.iter().map(|end| end.statistics().falls).sum();
        assert!(falls <= falls_max, "{falls} falls in ten minutes at a loss of {loss}");
    }
}

#[test]
fn a_client_that_moves_is_followed_after_its_proof() {
    for delay_ms in [1, 50, 150] {
        let mut world = World::new(delay_ms);
        world.run(5_000);
        let moved: SocketAddr = ([10, 0, 0, 2], 2000).into();
        world.watch().client_at = moved;
        world.run(3_000);
        assert_eq!(world.ends[TO_CLIENT].peer(), moved, "{delay_ms} ms");
        assert_eq!(world.ends[TO_CLIENT].statistics().moves, 1);
        assert!(world.gap_ms.iter().all(|gap| *gap <= 1_000), "{delay_ms} ms: {:?}", world.gap_ms);
        assert!(world.ends[TO_CLIENT].statistics().drops.of(DropReason::OtherAddress) > 0);
        assert_eq!(world.are_in_use(), [true; 2]);
    }
}

#[test]
fn a_client_that_hears_nothing_pings_over_quic_within_300_ms() {
    let mut world = World::new(20);
    // Between two of the client's regular pings.
    world.run(5_200).watch().run(1_000);
    assert_eq!(world.quic_pings[TO_SERVER], 0);
    world.watch().blocks = [true, false];
    world.run(350);
    // One for the silence, and one more for the datagram that was not reported.
    assert!((1..=2).contains(&world.quic_pings[TO_SERVER]) && world.probes > 0);
}

/// A client without objects asks for the time once a second.
#[test]
fn an_idle_client_that_is_not_answered_pings_over_quic_within_400_ms_of_its_question() {
    let mut world = World::new(20);
    world.send_every_ms = [1_000; 2];
    world.run(5_900).watch().blocks = [true, false];
    world.run(100 + 400);
    assert_eq!((world.quic_pings[TO_SERVER], world.probes > 0), (1, true));
}

#[test]
fn a_server_of_motion_pings_over_quic_every_second_so_that_its_round_trip_stays_measured() {
    for motion_every_ms in [33, 100, 500] {
        let mut world = World::new(20);
        world.send_every_ms[TO_CLIENT] = motion_every_ms;
        world.run(3_000).watch().run(60_000);
        let [server, client] = world.quic_pings;
        assert!((60..=67).contains(&server), "{server} pings in a minute, motion every {motion_every_ms} ms");
        assert!(client <= 15, "{client} pings in a minute, motion every {motion_every_ms} ms");
    }
}

#[test]
fn an_idle_connection_is_pinged_rarely_and_at_once_when_motion_begins() {
    let mut world = World::new(20);
    world.send_every_ms = [1_000; 2];
    world.run(10_000).watch().run(60_000);
    assert!(world.quic_pings.iter().all(|pings| (14..=16).contains(pings)), "{:?}", world.quic_pings);
    world.send_every_ms = SEND_EVERY_MS;
    world.watch().run(1_000);
    assert!(world.quic_pings[TO_CLIENT] >= 1, "{:?}", world.quic_pings);
}

#[test]
fn an_idle_path_costs_a_report_for_each_datagram_and_no_probes() {
    let mut world = World::new(20);
    world.send_every_ms = [1_000; 2];
    world.run(3_000).watch().run(60_000);
    assert!(world.probes <= 2 * 61, "{} packets of the path's own in a minute", world.probes);
    assert_eq!(world.are_in_use(), [true; 2]);
    let falls = world.ends.each_ref().map(|end| end.statistics().falls);
    assert_eq!(falls, [0; 2]);
}

/// An observer that is quicker than the client makes the server's packets for the client go nowhere
/// else, whatever it claims as its address.
#[test]
fn copies_from_spoofed_addresses_move_nothing_and_are_answered_threefold_at_most() {
    let mut world = World::new(30);
    world.run(5_000);
    let victim: SocketAddr = ([192, 0, 2, 1], 53).into();
    world.watch().spoofs = Some(victim);
    world.run(20_000);
    let (to, from) = (world.bytes_to.get(&victim).copied().unwrap_or(0), world.bytes_from[&victim]);
    assert!(to <= 3 * from, "{to} bytes for {from}");
    assert!(to > 0, "the address was challenged");
    assert_eq!(world.ends[TO_CLIENT].peer(), HOME.into());
    assert_eq!(world.by_quic, [0; 2], "nothing else changes");
    assert!(world.gap_ms.iter().all(|gap| *gap <= 100), "{:?}", world.gap_ms);
}

/// A hostile client has the keys, sends from any address it likes, and guesses challenges.
#[test]
fn no_address_is_sent_more_than_threefold_before_it_is_proven() {
    let packets = prop::collection::vec((0_u8..4, 0_usize..60, 0_i64..300, any::<bool>()), 1..200);
    law!(packets, cases = 64, |packets| {
        let mut now_ms = 0;
        let mut draws = Random::from_seed(5);
        let at = |ms: i64| LocalInstant::from_micros(ms * 1_000);
        let mut server =
            SealedLink::server(&EXPORTER, HOME.into(), at(0), move || draws.bits().to_le_bytes())
                .expect("keys");
        let mut sealer = fairpath_net::sealed::Sealer::to_server(&EXPORTER, [1; 4]).expect("keys");
        let (mut to, mut from) = (BTreeMap::<SocketAddr, usize>::new(), BTreeMap::<SocketAddr, usize>::new());
        for (host, length, pause_ms, is_echo) in packets {
            now_ms += pause_ms;
            let address: SocketAddr = ([192, 0, 2, host], 9).into();
            let (mut packet, bytes) = (Vec::new(), vec![0; length]);
            let content = if is_echo {
                fairpath_net::sealed::Content::Echo([host; 8])
            } else {
                fairpath_net::sealed::Content::Datagram(&bytes)
            };
            sealer.seal(&content, &mut packet).expect("a key");
            *from.entry(address).or_default() += packet.len();
            prop_assert!(server.handle_packet(at(now_ms), address, &mut packet).is_none());
            let mut out = Vec::new();
            while let Some(address) = server.poll_transmit(at(now_ms), &mut out) {
                *to.entry(address).or_default() += std::mem::take(&mut out).len();
            }
            if let Some(address) = server.seal(at(now_ms), &[0; 1_000], &mut out) {
                *to.entry(address).or_default() += out.len();
            }
        }
        to.remove(&SocketAddr::from(HOME));
        for (address, bytes) in to {
            prop_assert!(bytes <= 3 * from[&address], "{} bytes to {}", bytes, address);
        }
        prop_assert_eq!(server.peer(), HOME.into());
        Ok(())
    });
}
