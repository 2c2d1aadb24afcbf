//! Goal: a server under attack over real sockets stays up and within its bounds, and other clients
//! lose no reliable call and see the newest states. Method: two honest pilots through a middleman,
//! and an intruder of each kind. `fairpath-campaign` compares the others' error in virtual time,
//! where nothing else moves it.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fairpath::random::Random;
use fairpath::session::limits::{
    EVENTS_MAX, OBJECTS_PER_CLIENT_MAX, OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX, QUICKEST_MAX,
    SENT_PACKETS_MAX, SLOTS_MAX, UNRELIABLE_MAX,
};
use fairpath::session::{Queues, ServerEvent};
use fairpath_campaign::siege::Attack;
use fairpath_net::{Limits, NetClient, NetClientConfig, Trust};
use fairpath_sim::LinkConfig;

use super::arena::{SHIP, World, any_port, classes, client_session};
use super::hostile::{Impostor, besieged, besieged_with};
use fairpath_bench::assault::Assault;

/// Messages of an intruder before the scenario goes on: some seconds of its work, however slow the
/// machine.
const SHOTS: u64 = 200;

fn assert_bounded(queues: &Queues) {
    assert!(queues.outbox_bytes <= OUTBOX_BYTES_MAX, "{queues:?}");
    assert!(queues.outbox_messages <= OUTBOX_MESSAGES_MAX, "{queues:?}");
    assert!(queues.quickest <= QUICKEST_MAX && queues.newest_calls <= SLOTS_MAX, "{queues:?}");
    assert!(queues.unreliable <= UNRELIABLE_MAX && queues.datagrams_open <= SENT_PACKETS_MAX, "{queues:?}");
    assert!(queues.early <= OBJECTS_PER_CLIENT_MAX && queues.events <= EVENTS_MAX, "{queues:?}");
}

/// Checks that everything the server keeps of all clients is within its bounds.
fn assert_server_bounded(world: &World) {
    world.server.with_session(|session, _| {
        let clients: Vec<_> = session.clients().collect();
        clients.iter().for_each(|client| assert_bounded(&session.queues(*client).expect("it has a session")));
        assert!(session.objects().count() <= 2 + clients.len() * OBJECTS_PER_CLIENT_MAX);
    });
}

fn withstand(attack: Attack) {
    let (mut world, impostor) = besieged(b"fairpath/1");
    let assault = Assault::begin(attack, classes(), SHIP, world.server.address(), impostor.certificates());
    world.until("the intruder has done its worst", |world| {
        assert_server_bounded(world);
        assault.shots() >= SHOTS
    });
    world.settle();
    world.assert_promises_kept();
    assert_server_bounded(&world);
    drop(assault);
    let honest =
        |event: &ServerEvent| matches!(event, ServerEvent::Closed { client: Some(it), .. } if it.0 < 2);
    assert!(!world.events.iter().any(honest), "no other client lost a connection: {:?}", world.events);
}

macro_rules! withstands {
    ($($name:ident: $attack:ident,)*) => {
        $(#[test]
        fn $name() {
            withstand(Attack::$attack);
        })*

        #[test]
        fn every_attack_is_tried() {
            assert_eq!([$(Attack::$attack),*], Attack::ALL[1..]);
        }
    };
}

withstands! {
    random_bytes_on_every_way_in: Garbage,
    sound_words_with_a_bit_turned_over: Mutations,
    datagrams_said_again: Replays,
    connections_that_never_say_anything: HalfOpen,
    a_client_that_never_reads: NeverReads,
    a_client_that_floods: Floods,
    a_client_that_takes_what_is_others: Thief,
    motion_that_is_not_a_number: NotNumbers,
    motion_that_is_absurd: Absurdities,
    numbers_from_far_away: SequenceJumps,
    times_from_far_away: TimeJumps,
    receipts_that_lie: LateReceipts,
    receipts_that_never_come: NoReceipts,
    a_storm_of_objects: ObjectStorm,
}

/// Sits between a client and the server, and keeps the client's packets.
struct Wiretap {
    address: SocketAddr,
    towards_server: Arc<UdpSocket>,
    kept: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Wiretap {
    /// The threads sleep on their sockets and end with the process.
    fn before(server: SocketAddr) -> Self {
        let near = Arc::new(UdpSocket::bind(any_port()).expect("a socket"));
        let towards_server = Arc::new(UdpSocket::bind(any_port()).expect("a socket"));
        towards_server.connect(server).expect("an address");
        let address = near.local_addr().expect("bound");
        let (kept, client) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(None)));
        let tap = Self { address, towards_server: Arc::clone(&towards_server), kept: Arc::clone(&kept) };
        let (inward, outward, caller) = (Arc::clone(&near), Arc::clone(&towards_server), Arc::clone(&client));
        std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok((length, from)) = inward.recv_from(&mut buffer) {
                *caller.lock().expect("sound") = Some(from);
                kept.lock().expect("sound").push(buffer[..length].to_vec());
                let _ = outward.send(&buffer[..length]);
            }
        });
        std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok(length) = towards_server.recv(&mut buffer) {
                if let Some(client) = *client.lock().expect("sound") {
                    let _ = near.send_to(&buffer[..length], client);
                }
            }
        });
        tap
    }

    fn kept(&self) -> Vec<Vec<u8>> {
        self.kept.lock().expect("sound").clone()
    }
}

/// A third pilot that flies through a wiretap.
fn tapped(world: &mut World) -> (Wiretap, NetClient<fairpath::vector::Vec2>) {
    let tap = Wiretap::before(world.server.address());
    let trust = Trust::Pinned(vec![world.server.fingerprint()]);
    let client =
        NetClient::connect(tap.address, NetClientConfig::new(trust), client_session()).expect("a socket");
    world.until("it is in", |_| client.with_session(|session, _| session.is_connected()));
    world.play_for(Duration::from_millis(300));
    (tap, client)
}

#[test]
fn recorded_packets_have_no_effect_when_replayed() {
    let (mut world, _) = besieged(b"fairpath/1");
    let (tap, client) = tapped(&mut world);
    let before = client.with_session(|session, _| session.id()).expect("a session");
    let recorded = tap.kept();
    assert!(recorded.len() > 10, "there is something to replay: {}", recorded.len());
    let elsewhere = UdpSocket::bind(any_port()).expect("a socket");
    for packet in recorded.iter().chain(recorded.iter().rev()) {
        // From the client's address, and from an address of the thief.
        let _ = tap.towards_server.send(packet);
        let _ = elsewhere.send_to(packet, world.server.address());
    }
    // QUIC numbers its packets and drops repeated ones before the session sees them.
    world.play_for(Duration::from_millis(300));
    let statistics =
        world.server.with_session(|session, _| session.statistics(before)).expect("its session lives");
    assert_eq!(statistics.datagrams_repeated, 0);
    assert!(client.with_session(|session, _| session.is_connected() && session.id() == Some(before)));
    assert_eq!(world.server.with_session(|session, _| session.clients().count()), 3);
    world.settle();
    world.assert_promises_kept();
}

#[test]
fn duplicated_packets_have_no_effect() {
    let (mut world, _) =
        besieged_with(LinkConfig::default().duplicate_ratio(0.8), b"fairpath/1", Limits::default());
    world.play_for(Duration::from_millis(500));
    world.settle();
    world.assert_promises_kept();
    let repeated = |world: &World| {
        let of = |client| world.server.with_session(|session, _| session.statistics(client));
        let clients: Vec<_> = world.server.with_session(|session, _| session.clients().collect());
        clients.into_iter().filter_map(of).map(|it| it.datagrams_repeated).sum::<u64>()
    };
    assert_eq!(repeated(&world), 0, "QUIC has dropped them");
}

#[test]
fn mutated_and_random_packets_are_not_even_quic() {
    let (mut world, _) = besieged(b"fairpath/1");
    let (tap, client) = tapped(&mut world);
    let mut random = Random::from_seed(7);
    let socket = UdpSocket::bind(any_port()).expect("a socket");
    for packet in tap.kept() {
        for _ in 0..4 {
            let mut mutated = packet.clone();
            let at = random.below(8 * mutated.len() as u64) as usize;
            mutated[at / 8] ^= 1 << (at % 8);
            mutated.truncate(1 + random.below(mutated.len() as u64) as usize);
            let _ = tap.towards_server.send(&mutated);
            let _ = socket.send_to(&mutated, world.server.address());
        }
    }
    for _ in 0..500 {
        let length = random.below(1_400) as usize;
        let garbage: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
        let _ = socket.send_to(&garbage, world.server.address());
    }
    world.play_for(Duration::from_millis(300));
    assert!(client.with_session(|session, _| session.is_connected()), "the impersonated client plays on");
    assert_eq!(world.server.with_session(|session, _| session.clients().count()), 3);
    world.settle();
    world.assert_promises_kept();
}

#[test]
fn a_flood_of_first_packets_leaves_nothing_behind() {
    let (mut world, _) = besieged(b"fairpath/1");
    let (tap, _client) = tapped(&mut world);
    let first = tap.kept().swap_remove(0);
    let (before, admission) = (world.server.status().len(), world.server.admission_statistics());
    let mut sent = 0;
    world.until("many were asked to prove their address", |world| {
        // One socket each, like forged addresses.
        for _ in 0..40 {
            let socket = UdpSocket::bind(any_port()).expect("a socket");
            sent += usize::from(socket.send_to(&first, world.server.address()).is_ok());
        }
        world.server.admission_statistics().retried >= admission.retried + 400
    });
    assert!(sent >= 400);
    assert_eq!(world.server.status().len(), before, "nothing is kept of an unproven address");
    assert_eq!(world.server.admission_statistics().failed, admission.failed);
    world.settle();
    world.assert_promises_kept();
}

#[test]
fn a_flood_of_connections_from_one_address_is_refused() {
    let limits = Limits { per_address_max: 12, ..Limits::default() };
    let (mut world, impostor) = besieged_with(LinkConfig::default(), b"fairpath/1", limits);
    let mut open = Vec::new();
    for _ in 0..40 {
        open.extend(impostor.try_to_connect(&world));
    }
    world.until("most were refused", |world| world.server.admission_statistics().refused >= 20);
    assert!(open.len() <= 10 && !open.is_empty(), "{} got in beside two pilots", open.len());
    // The connections never send a greeting, and are closed for it.
    world.until("the admitted ones are gone", |world| world.server.status().len() == 2);
    world.settle();
    world.assert_promises_kept();
}

#[test]
fn an_address_that_breaks_the_protocol_repeatedly_must_wait() {
    let limits = Limits { per_address_burst: 60, ..Limits::default() };
    let (mut world, impostor) = besieged_with(LinkConfig::default(), b"fairpath/1", limits);
    world.until("the address is refused", |world| {
        if let Some(mut intrusion) = impostor.try_to_intrude(world) {
            impostor.write(&mut intrusion, &[0xFF; 40]);
            impostor.thrown_out(&intrusion);
        }
        world.server.admission_statistics().refused > 0
    });
    let admission = world.server.admission_statistics();
    assert!(admission.thrown_out >= 2, "{admission:?}");
    world.settle();
    world.assert_promises_kept();
}

/// Impostors are used from here, too.
impl Impostor {
    fn try_to_connect(&self, world: &World) -> Option<quinn::Connection> {
        self.runtime().block_on(async {
            let connecting = self.endpoint().connect(world.server.address(), "localhost").ok()?;
            tokio::time::timeout(Duration::from_secs(20), connecting).await.ok()?.ok()
        })
    }
}
