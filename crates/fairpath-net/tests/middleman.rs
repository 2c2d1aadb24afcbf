//! Goal: between real sockets, packets fare as their links say. Method: a client, a server and a
//! middleman in one process. The machine may stall at any time, so the tests count and order
//! packets, and check that none leaves early, but never that one is fast.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use fairpath::time::{SharedInstant, Span};
use fairpath_net::middleman::{
    Bounds, ClientSelector, ClientStatistics, Direction, Directions, Middleman, MiddlemanConfig,
    MiddlemanStatistics, StartError, link_random,
};
use fairpath_sim::{Fate, LinkConfig, LinkModel, Loss, RttTrace};

/// Long enough for any stall; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(60);
/// The system's buffers hold at least as many small packets.
const BURST: u64 = 40;

/// A server behind a middleman.
struct World {
    server: UdpSocket,
    middleman: Middleman,
}

impl World {
    fn with(adjust: impl FnOnce(MiddlemanConfig) -> MiddlemanConfig) -> Self {
        let server = socket();
        let config = MiddlemanConfig::between(any_port(), server.local_addr().unwrap());
        Self { middleman: Middleman::start(adjust(config)).unwrap(), server }
    }

    fn both_ways(link: LinkConfig) -> Self {
        Self::with(|config| config.both_ways(link))
    }

    fn send(&self, client: &UdpSocket, bytes: &[u8]) {
        assert_eq!(client.send_to(bytes, self.middleman.address()).unwrap(), bytes.len());
    }

    /// Sends packets numbered from 0, never more at once than buffers hold, and waits until every
    /// one has left or is lost.
    fn send_numbered(&self, client: &UdpSocket, nth: u32, count: u64) {
        for number in 0..count {
            self.send(client, &number.to_le_bytes());
            if (number + 1) % BURST == 0 || number + 1 == count {
                self.wait_for(nth, |client| client.up.link.sent == number + 1);
            }
        }
        self.wait_for(nth, |client| client.up.waiting == 0);
    }

    /// Waits until the condition holds for this client's row.
    fn wait_for(&self, nth: u32, is_so: impl Fn(&ClientStatistics) -> bool) -> ClientStatistics {
        let started = Instant::now();
        loop {
            let clients = self.middleman.statistics().clients;
            match clients.into_iter().find(|client| client.nth == nth) {
                Some(client) if is_so(&client) => return client,
                row => assert!(started.elapsed() < PATIENCE, "waited in vain; client {nth}: {row:?}"),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The numbers of the packets in the server's buffer.
    fn numbers_at_server(&self) -> Vec<u64> {
        let packets = waiting_at(&self.server);
        packets.iter().map(|(bytes, _)| u64::from_le_bytes(bytes.as_slice().try_into().unwrap())).collect()
    }
}

fn any_port() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind(any_port()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = vec![0; 65_536];
    let (length, from) = socket.recv_from(&mut buffer).expect("a packet within the test's patience");
    buffer.truncate(length);
    (buffer, from)
}

/// The packets that have arrived. On loopback a sent packet has arrived.
fn waiting_at(socket: &UdpSocket) -> Vec<(Vec<u8>, SocketAddr)> {
    socket.set_nonblocking(true).unwrap();
    let mut buffer = vec![0; 65_536];
    let mut packets = Vec::new();
    while let Ok((length, from)) = socket.recv_from(&mut buffer) {
        packets.push((buffer[..length].to_vec(), from));
    }
    socket.set_nonblocking(false).unwrap();
    packets
}

fn millis(millis: i64) -> Span {
    Span::from_millis(millis)
}

#[test]
fn no_packet_leaves_early_and_none_is_changed() {
    let slow = LinkConfig::default().delay(millis(30));
    let World { server, middleman } =
        World::with(|config| config.each_way(slow.clone(), slow.delay(millis(10))));
    let client = socket();
    for round in 0..3u8 {
        let sent_at = Instant::now();
        client.send_to(&[round; 100], middleman.address()).unwrap();
        let (question, from) = receive(&server);
        assert!(sent_at.elapsed() >= Duration::from_millis(30), "{:?}", sent_at.elapsed());
        assert_eq!(question, [round; 100]);
        let sent_at = Instant::now();
        server.send_to(&[round, 1], from).unwrap();
        let (answer, from) = receive(&client);
        assert!(sent_at.elapsed() >= Duration::from_millis(10), "{:?}", sent_at.elapsed());
        assert_eq!((answer.as_slice(), from), (&[round, 1][..], middleman.address()));
    }
    let MiddlemanStatistics { clients, .. } = middleman.stop();
    let [row] = clients.as_slice() else { panic!("one client: {clients:?}") };
    assert_eq!((row.nth, row.address), (1, client.local_addr().unwrap()));
    assert_eq!((row.up.link.sent, row.up.link.sent_bytes, row.up.left), (3, 300, 3));
    assert_eq!((row.down.link.sent, row.down.link.sent_bytes, row.down.left), (3, 6, 3));
    assert_eq!(row.up.link.delays.max(), Some(millis(30)), "asked");
    assert!(row.up.measured.min() >= Some(millis(30)), "measured {:?}", row.up.measured.min());
    assert!(row.down.measured.min() >= Some(millis(10)), "measured {:?}", row.down.measured.min());
    assert_eq!(row.up.late.count(), 3);
}

#[test]
fn every_size_of_packet_passes() {
    let world = World::both_ways(LinkConfig::default());
    let client = socket();
    for size in [0, 1, 1200, 9000, 65_507] {
        let packet = vec![size as u8; size];
        world.send(&client, &packet);
        assert_eq!(receive(&world.server).0, packet);
    }
}

#[test]
fn the_packets_lost_live_are_those_lost_in_the_simulator() {
    let link = LinkConfig::default().loss(Loss::bursts(0.2, 3.0));
    let world = World::with(|config| config.both_ways(link.clone()).seed(11));
    let mut simulated = LinkModel::new(link, link_random(11, 1, Direction::Up));
    let expected: Vec<u64> = (0..400)
        .filter(|number| {
            let fate = simulated.send(SharedInstant::from_millis(*number), 8);
            matches!(fate, Fate::Delivered { .. })
        })
        .map(|number| number as u64)
        .collect();
    assert!((200..380).contains(&expected.len()), "the link loses some: {}", expected.len());

    let client = socket();
    let mut arrived = Vec::new();
    for batch in 0..10 {
        for number in batch * BURST..(batch + 1) * BURST {
            world.send(&client, &number.to_le_bytes());
        }
        world.wait_for(1, |row| row.up.link.sent == (batch + 1) * BURST && row.up.waiting == 0);
        arrived.extend(world.numbers_at_server());
    }
    assert_eq!(arrived, expected);
    let row = world.wait_for(1, |_| true);
    assert_eq!(row.up.link.lost.random, 400 - expected.len() as u64);
}

#[test]
fn duplicates_come_twice_and_count_once() {
    let world = World::both_ways(LinkConfig::default().delay(millis(5)).duplicate_ratio(1.0));
    let client = socket();
    world.send_numbered(&client, 1, 20);
    let mut numbers = world.numbers_at_server();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..20).flat_map(|number| [number, number]).collect::<Vec<_>>());
    let row = world.wait_for(1, |_| true);
    assert_eq!((row.up.link.duplicated, row.up.left, row.up.measured.count()), (20, 40, 20));
}

#[test]
fn jitter_reorders_unless_order_is_kept() {
    let jittery = LinkConfig::default().delay(millis(60)).jitter_uniform(millis(60));
    for keep in [false, true] {
        let world = World::both_ways(jittery.clone().keep_order(keep));
        world.send_numbered(&socket(), 1, BURST);
        let numbers = world.numbers_at_server();
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..BURST).collect::<Vec<_>>(), "none is lost");
        assert_eq!(numbers == sorted, keep, "{numbers:?}");
        assert_eq!(world.wait_for(1, |_| true).up.link.reordered == 0, keep);
    }
}

#[test]
fn a_bottleneck_drops_packets_beyond_its_queue() {
    // The queue holds two packets, and the first takes a minute to leave.
    let world = World::both_ways(LinkConfig::default().rate(1, 120));
    let client = socket();
    for _ in 0..5 {
        world.send(&client, &[0; 60]);
    }
    let row = world.wait_for(1, |row| row.up.link.sent == 5);
    assert_eq!((row.up.link.lost.queue_full, row.up.waiting, row.up.overflowed), (3, 2, 0));
}

#[test]
fn recorded_round_trips_delay_by_half_and_repeat_losses() {
    let trace = RttTrace::from_csv(b"t,rtt_ms\n0,40\n").unwrap();
    let world = World::both_ways(LinkConfig::default().rtt_trace(trace));
    let client = socket();
    world.send(&client, b"slow");
    receive(&world.server);
    let row = world.wait_for(1, |row| row.up.left == 1);
    assert_eq!(row.up.link.delays.max(), Some(millis(20)));
    assert!(row.up.measured.min() >= Some(millis(20)));

    let silent = RttTrace::from_csv(b"t,rtt_ms\n0,\n").unwrap();
    world
        .middleman
        .change(ClientSelector::All, Directions::Up, |link| link.rtt_trace = Some(silent.clone()))
        .unwrap();
    world.send(&client, b"lost");
    assert_eq!(world.wait_for(1, |row| row.up.link.sent == 2).up.link.lost.trace, 1);
}

#[test]
fn a_partition_of_one_direction_drops_until_healed() {
    let world = World::both_ways(LinkConfig::default());
    let client = socket();
    world.send(&client, b"hello");
    let (_, from) = receive(&world.server);

    assert_eq!(world.middleman.partition(ClientSelector::All, Directions::Up, None), Ok(1));
    for _ in 0..5 {
        world.send(&client, b"lost");
    }
    let row = world.wait_for(1, |row| row.up.link.sent == 6);
    assert_eq!((row.up.link.lost.partition, row.up.link.delivered), (5, 1));
    world.server.send_to(b"the other way works", from).unwrap();
    assert_eq!(receive(&client).0, b"the other way works");

    assert_eq!(world.middleman.heal(ClientSelector::All, Directions::Up), Ok(1));
    world.send(&client, b"again");
    assert_eq!(receive(&world.server).0, b"again");
}

#[test]
fn a_partition_ends_by_itself_and_applies_to_new_clients() {
    let world = World::both_ways(LinkConfig::default());
    world.middleman.partition(ClientSelector::All, Directions::Both, Some(Span::from_secs(86_400))).unwrap();
    let client = socket();
    world.send(&client, b"lost");
    assert_eq!(world.wait_for(1, |row| row.up.link.sent == 1).up.link.lost.partition, 1);

    world.middleman.partition(ClientSelector::All, Directions::Both, Some(millis(20))).unwrap();
    let started = Instant::now();
    let mut sent = 1;
    while world.wait_for(1, |row| row.up.link.sent == sent).up.link.delivered == 0 {
        assert!(started.elapsed() < PATIENCE, "the partition does not end");
        world.send(&client, b"is it over?");
        sent += 1;
    }
    assert_eq!(receive(&world.server).0, b"is it over?");
}

#[test]
fn after_a_rebind_the_server_sees_another_port_and_the_old_one_is_dead() {
    let world = World::both_ways(LinkConfig::default());
    let client = socket();
    world.send(&client, b"before");
    let (_, old) = receive(&world.server);
    assert_eq!(world.middleman.rebind(ClientSelector::Nth(2)).unwrap(), 0, "there is no second client");
    assert_eq!(world.middleman.rebind(ClientSelector::All).unwrap(), 1);
    world.send(&client, b"after");
    let (packet, new) = receive(&world.server);
    assert_eq!((packet.as_slice(), new.ip()), (&b"after"[..], old.ip()));
    assert_ne!(new.port(), old.port());

    // On some systems sending to a closed port is an error. Either way it does not arrive.
    let _ = world.server.send_to(b"to nobody", old);
    world.server.send_to(b"to you", new).unwrap();
    assert_eq!(receive(&client).0, b"to you");
    let row = world.wait_for(1, |_| true);
    assert_eq!((row.rebinds, row.down.link.sent), (1, 1));
}

#[test]
fn clients_have_links_of_their_own() {
    let (first, second, third) = (socket(), socket(), socket());
    let third_address = third.local_addr().unwrap();
    let world = World::with(|mut config| {
        config
            .links
            .change(ClientSelector::Nth(2), Directions::Up, |link| link.loss = Loss::each(1.0))
            .unwrap();
        let twice = |link: &mut LinkConfig| link.duplicate_ratio = 1.0;
        config.links.change(ClientSelector::Address(third_address), Directions::Up, twice).unwrap();
        config
    });
    for (nth, client) in (1..).zip([&first, &second, &third]) {
        world.send(client, &[nth as u8]);
        world.wait_for(nth, |row| row.up.link.sent == 1 && row.up.waiting == 0);
    }
    let arrived: Vec<u8> = waiting_at(&world.server).iter().map(|(bytes, _)| bytes[0]).collect();
    assert_eq!(arrived, [1, 3, 3]);

    world.middleman.change(ClientSelector::Nth(2), Directions::Up, |link| link.loss = Loss::NONE).unwrap();
    world
        .middleman
        .change(ClientSelector::Nth(1), Directions::Down, |link| link.loss = Loss::each(1.0))
        .unwrap();
    world.send(&first, &[1]);
    let (_, to_first) = receive(&world.server);
    world.send(&second, &[2]);
    let (_, to_second) = receive(&world.server);
    assert_ne!(to_first, to_second, "the server can tell them apart");
    world.server.send_to(&[1], to_first).unwrap();
    world.server.send_to(&[2], to_second).unwrap();
    assert_eq!(receive(&second).0, [2]);
    assert_eq!(world.wait_for(1, |row| row.down.link.sent == 1).down.link.lost.random, 1);
}

#[test]
fn a_flood_of_new_clients_is_refused_and_current_ones_stay() {
    let world = World::with(|config| config.bounds(Bounds { clients_max: 2, ..Bounds::default() }));
    let inside = socket();
    world.send(&inside, b"first");
    world.wait_for(1, |row| row.up.left == 1);
    let strangers: Vec<UdpSocket> = (0..30).map(|_| socket()).collect();
    for stranger in &strangers {
        world.send(stranger, b"flood");
    }
    let started = Instant::now();
    while world.middleman.statistics().refused < 29 {
        assert!(started.elapsed() < PATIENCE, "{:?}", world.middleman.statistics());
    }
    world.send(&inside, b"still here");
    world.wait_for(1, |row| row.up.left == 2);
    let arrived: Vec<Vec<u8>> = waiting_at(&world.server).into_iter().map(|(bytes, _)| bytes).collect();
    assert_eq!(arrived, [&b"first"[..], b"flood", b"still here"]);
    assert_eq!(world.middleman.stop().clients.len(), 2);
}

#[test]
fn packets_to_an_absent_server_are_counted_until_it_comes() {
    // If another process has taken the server's port meanwhile, start over.
    let came = (0..20).any(|_| {
        let World { server, middleman } = World::both_ways(LinkConfig::default());
        let address = server.local_addr().unwrap();
        drop(server);
        let client = socket();
        let started = Instant::now();
        while middleman.statistics().clients.first().is_none_or(|row| row.up.failures == 0) {
            assert!(started.elapsed() < PATIENCE, "{:?}", middleman.statistics());
            client.send_to(b"anybody?", middleman.address()).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
        let Ok(server) = UdpSocket::bind(address) else { return false };
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        client.send_to(b"hello", middleman.address()).unwrap();
        while receive(&server).0 != b"hello" {}
        true
    });
    assert!(came, "its port was taken every time");
}

#[test]
fn packets_waiting_at_the_stop_are_counted_and_not_sent() {
    let world = World::both_ways(LinkConfig::default().delay(Span::from_secs(3600)));
    let client = socket();
    for _ in 0..3 {
        world.send(&client, b"slow");
    }
    world.wait_for(1, |row| row.up.waiting == 3);
    let row = world.middleman.stop().clients.remove(0);
    assert_eq!((row.up.waiting, row.up.left, row.up.link.delivered), (3, 0, 3));
}

#[test]
fn a_failed_start_says_why() {
    let held = socket();
    let taken = held.local_addr().unwrap();
    let refused = Middleman::start(MiddlemanConfig::between(taken, any_port())).unwrap_err();
    assert!(matches!(refused, StartError::Listen { address, .. } if address == taken), "{refused}");
    let refused = Middleman::start(MiddlemanConfig::between(taken, taken)).unwrap_err();
    assert!(matches!(refused, StartError::ToItself(address) if address == taken), "{refused}");
    let late = LinkConfig::default().delay(millis(-1));
    let refused = Middleman::start(MiddlemanConfig::between(any_port(), taken).both_ways(late)).unwrap_err();
    assert!(matches!(refused, StartError::BadLink(_)), "{refused}");
}

#[test]
fn it_starts_and_stops_inside_an_asynchronous_test() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(async {
        let World { server, middleman } = World::both_ways(LinkConfig::default());
        let client = tokio::net::UdpSocket::bind(any_port()).await.unwrap();
        client.send_to(b"hello", middleman.address()).await.unwrap();
        assert_eq!(receive(&server).0, b"hello");
        assert_eq!(middleman.stop().clients.len(), 1);
    });
}
