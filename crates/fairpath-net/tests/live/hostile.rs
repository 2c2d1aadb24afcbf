//! Goal: a hostile client is refused with a reason and harms no other client. Method: a QUIC client
//! that breaks the protocol, while others fly.

use std::net::UdpSocket;
use std::time::Duration;

use fairpath::clock::Request;
use fairpath::motion::{Linear, Motion};
use fairpath::number::{Generation, Life, PacketNumber};
use fairpath::session::codec::Reader;
use fairpath::session::message::{Announcement, Datagram, Hello, Message, Outcome, SESSION_VERSION, Welcome};
use fairpath::session::{
    ClientId, CloseReason, Party, Protocol, Refusal, ServerEvent, SpeedCheck, TeleportCheck,
};
use fairpath::time::SharedInstant;
use fairpath::vector::{Vec2, Vector};
use fairpath::wire::{Header, Precision, encode_updates};
use fairpath::{DrVector, EntityId};
use fairpath_net::{Identity, Limits, Trust};
use fairpath_sim::LinkConfig;
use rustls::pki_types::CertificateDer;
use tokio::runtime::Runtime;

use super::arena::{SHIP, World, classes, server_session};
use fairpath_bench::assault::endpoint;

/// A client that breaks the protocol.
pub(crate) struct Impostor {
    runtime: Runtime,
    endpoint: quinn::Endpoint,
    certificates: Vec<CertificateDer<'static>>,
}

/// One of its connections.
pub(crate) struct Intrusion {
    connection: quinn::Connection,
    sending: quinn::SendStream,
    receiving: quinn::RecvStream,
    packet: u64,
}

/// How long it waits to be closed.
const PATIENCE: Duration = Duration::from_secs(60);

impl Impostor {
    fn new(trust: &Trust, alpn: &[u8]) -> Self {
        let Trust::Certificates(certificates) = trust else { panic!("certificates") };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a thread");
        let endpoint = endpoint(&runtime, certificates, alpn);
        Self { runtime, endpoint, certificates: certificates.clone() }
    }

    /// The certificates that it trusts.
    pub(crate) fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub(crate) fn endpoint(&self) -> &quinn::Endpoint {
        &self.endpoint
    }

    fn intrude(&self, world: &World) -> Intrusion {
        self.try_to_intrude(world).expect("a handshake")
    }

    /// `None` if it is not admitted.
    pub(crate) fn try_to_intrude(&self, world: &World) -> Option<Intrusion> {
        self.runtime.block_on(async {
            let connecting = self.endpoint.connect(world.server.address(), "localhost").expect("a name");
            let connection = connecting.await.ok()?;
            let (sending, receiving) = connection.open_bi().await.ok()?;
            Some(Intrusion { connection, sending, receiving, packet: 0 })
        })
    }

    /// Greets as an honest client does.
    fn greeted(&self, world: &World) -> (Intrusion, Welcome) {
        let mut intrusion = self.intrude(world);
        let hello = Hello {
            version: SESSION_VERSION,
            dimensions: 2,
            precision: Precision::default().fingerprint(),
            game: Protocol::<Vec2>::from(classes()).game_id(),
            authentication: Vec::new(),
            clock: Request { id: 0 },
            resume: None,
        };
        self.say(&mut intrusion, &Message::Hello(hello));
        let answer = self.runtime.block_on(intrusion.receiving.read_chunk(4096, true));
        let bytes = answer.expect("alive").expect("a welcome").bytes;
        let welcome = Reader::new(&bytes).bytes(bytes.len()).and_then(Message::decode).expect("sound");
        let Message::Welcome(welcome) = welcome else { panic!("{welcome:?}") };
        (intrusion, welcome)
    }

    fn say(&self, intrusion: &mut Intrusion, message: &Message) {
        let mut bytes = Vec::new();
        message.frame(&mut bytes);
        self.write(intrusion, &bytes);
    }

    pub(crate) fn write(&self, intrusion: &mut Intrusion, bytes: &[u8]) {
        let _ = self.runtime.block_on(intrusion.sending.write_all(bytes));
    }

    fn write_unordered(&self, intrusion: &Intrusion, bytes: &[u8]) {
        self.runtime.block_on(async {
            let mut message = intrusion.connection.open_uni().await.expect("a stream");
            let _ = message.write_all(bytes).await;
            let _ = message.finish();
        });
    }

    /// The reason for which the server closed the connection.
    pub(crate) fn thrown_out(&self, intrusion: &Intrusion) -> CloseReason {
        let closed = self.runtime.block_on(async {
            tokio::time::timeout(PATIENCE, intrusion.connection.closed()).await.expect("thrown out")
        });
        let quinn::ConnectionError::ApplicationClosed(close) = closed else { panic!("{closed:?}") };
        u8::try_from(close.error_code.into_inner()).ok().and_then(CloseReason::from_code).expect("a reason")
    }
}

impl Intrusion {
    fn send(&mut self, vectors: &[DrVector<Vec2>], now: SharedInstant) -> Vec<u8> {
        let header =
            Header { packet: PacketNumber(self.packet).on_wire(), sent_at: now, ..Header::default() };
        self.packet += 1;
        let (mut updates, mut datagram) = (Vec::new(), Vec::new());
        encode_updates(&Precision::default(), &header, vectors, &mut updates).expect("sound");
        Datagram { updates: &updates, parts: Vec::new() }.encode(&mut datagram);
        self.connection.send_datagram(datagram.clone().into()).expect("room");
        datagram
    }
}

fn at(entity: EntityId, position: Vec2, velocity: Vec2, now: SharedInstant) -> DrVector<Vec2> {
    DrVector {
        entity,
        life: Life::default(),
        generation: Generation::default(),
        generated_at: now,
        motion: Motion::Linear(Linear { position, velocity }),
        attitude: None,
        parent: None,
    }
}

/// Two honest pilots, and an impostor that uses this protocol. All have one address, so the limits
/// are wide.
pub(crate) fn besieged(alpn: &[u8]) -> (World, Impostor) {
    let limits = Limits { per_address_max: 256, per_address_burst: 100_000, ..Limits::default() };
    besieged_with(LinkConfig::default(), alpn, limits)
}

pub(crate) fn besieged_with(link: LinkConfig, alpn: &[u8], limits: Limits) -> (World, Impostor) {
    let teleport = TeleportCheck { speed_max: 2_000.0, slack: 500.0, allows_jumps: false };
    let session =
        server_session().with_interceptor(SpeedCheck { speed_max: 100.0 }).with_interceptor(teleport);
    let identity = Identity::local(&[]).expect("made");
    let unique = identity.fingerprint();
    let path = std::env::temp_dir().join(format!("fairpath-hostile-{}-{unique}.pem", std::process::id()));
    identity.save_certificates(&path).expect("written");
    let trust = Trust::load(&path).expect("as written");
    std::fs::remove_file(&path).expect("removed");
    let mut world = World::with(link, session, |config| {
        (config.identity, config.limits) = (identity, limits);
    });
    world.join();
    world.join();
    world.until("all clients have a ship", |world| world.pilots.iter().all(|pilot| pilot.ship.is_some()));
    world.pilots.iter_mut().for_each(|pilot| pilot.calls = true);
    (world, Impostor::new(&trust, alpn))
}

#[test]
fn garbage_closes_the_connection_with_a_reason() {
    let (mut world, impostor) = besieged(b"fairpath/1");
    for garbage in [&[0xFF; 40][..], &[3, 99, 0, 0], &[0]] {
        let mut stream = impostor.intrude(&world);
        impostor.write(&mut stream, garbage);
        assert_eq!(impostor.thrown_out(&stream), CloseReason::Malformed, "{garbage:?} as a greeting");
        let (mut stream, _) = impostor.greeted(&world);
        impostor.write(&mut stream, garbage);
        assert_eq!(impostor.thrown_out(&stream), CloseReason::Malformed, "{garbage:?} on the stream");
        let (datagram, _) = impostor.greeted(&world);
        datagram.connection.send_datagram(garbage.to_vec().into()).expect("room");
        assert_eq!(impostor.thrown_out(&datagram), CloseReason::Malformed, "{garbage:?} as a datagram");
        let (message, _) = impostor.greeted(&world);
        impostor.write_unordered(&message, garbage);
        assert_eq!(impostor.thrown_out(&message), CloseReason::Malformed, "{garbage:?} as a message");
    }
    let (message, _) = impostor.greeted(&world);
    impostor.write_unordered(&message, &[0; 20_000]);
    assert_eq!(impostor.thrown_out(&message), CloseReason::Malformed, "a message without end");
    let (mut finished, _) = impostor.greeted(&world);
    finished.sending.finish().expect("open");
    assert_eq!(impostor.thrown_out(&finished), CloseReason::OutOfPlace, "a stream that ends");
    let (mut silent, _) = impostor.greeted(&world);
    impostor.write(&mut silent, &[]);
    assert_eq!(impostor.thrown_out(&silent), CloseReason::Silent, "its seat is free after four seconds");
    world.settle();
    world.assert_promises_kept();
}

/// A slow or lossy link can delay the greeting for longer than the server waits. The reason must
/// let
/// the client try again: code 0 would tell it that the session is finished for good.
#[test]
fn a_connection_without_a_greeting_is_closed_with_that_reason() {
    let (world, impostor) = besieged(b"fairpath/1");
    let silent = impostor.intrude(&world);
    assert_eq!(impostor.thrown_out(&silent), CloseReason::NoGreeting);
}

#[test]
fn false_claims_are_refused_with_a_reason() {
    let (mut world, impostor) = besieged(b"fairpath/1");
    let (mut intrusion, welcome) = impostor.greeted(&world);
    let Outcome::New(first, _) = welcome.outcome else { panic!("{welcome:?}") };
    let (mine, theirs) = (EntityId(first), world.pilots[0].ship.expect("launched"));
    let announcement = Announcement {
        object: mine,
        class: SHIP,
        owner: Party::Client(welcome.client),
        term: 0,
        creation: Vec::new(),
        motion: Vec::new(),
        groups: Vec::new(),
    };
    impostor.say(&mut intrusion, &Message::Create(announcement));
    world.until("its ship is there", |world| {
        let is_it = |event: &ServerEvent| {
            matches!(event, ServerEvent::Created { object, by, .. } if (*object, *by) == (mine, welcome.client))
        };
        world.events.iter().any(is_it)
    });
    let now = world.server.now();
    let honest = at(mine, Vec2::new(1.0, 0.0), Vec2::ZERO, now);
    let packet = intrusion.send(&[honest], now);
    world.until("it is believed", |world| {
        world.server.with_session(|session, now| session.place(mine, now)).is_some()
    });

    let refused = |object, refusal| ServerEvent::Refused { client: welcome.client, object, refusal };
    let lies: [(EntityId, Vec2, Vec2, Refusal); 3] = [
        (theirs, Vec2::new(1.0, 1.0), Vec2::ZERO, Refusal::NotOwner),
        (mine, Vec2::ZERO, Vec2::new(9_000.0, 0.0), Refusal::TooFastMotion),
        (mine, Vec2::new(1e7, 0.0), Vec2::ZERO, Refusal::Teleported),
    ];
    for (entity, position, velocity, refusal) in lies {
        world.until("it is refused", |world| {
            // Datagrams may be lost even here.
            let now = world.server.now();
            intrusion.send(&[at(entity, position, velocity, now)], now);
            world.events.contains(&refused(entity, refusal))
        });
    }
    impostor.say(&mut intrusion, &Message::Destroy(theirs));
    world.until("that is refused too", |world| {
        let said = |event: &&ServerEvent| **event == refused(theirs, Refusal::NotOwner);
        world.events.iter().filter(said).count() >= 2
    });
    // A repeated datagram has no effect.
    world.until("the copy is counted", |world| {
        intrusion.connection.send_datagram(packet.clone().into()).expect("room");
        let statistics = world.server.with_session(|session, _| session.statistics(welcome.client));
        statistics.expect("it may stay").datagrams_repeated > 0
    });
    let placed = world.server.with_session(|session, now| session.place(mine, now)).expect("there");
    assert!(placed.position.distance(Vec2::new(1.0, 0.0)) < 0.1, "{placed:?}");

    // A number that is not finite closes the connection.
    let far = at(mine, Vec2::new(1e29, 0.0), Vec2::ZERO, world.server.now());
    let datagram = forged(&mut intrusion, far);
    world.until("it is thrown out", |world| {
        let _ = intrusion.connection.send_datagram(datagram.clone().into());
        let closed = ServerEvent::Closed { client: Some(welcome.client), reason: CloseReason::Malformed };
        world.events.contains(&closed)
    });
    assert_eq!(impostor.thrown_out(&intrusion), CloseReason::Malformed);
    world.settle();
    world.assert_promises_kept();
}

/// Encodes a vector with infinity in place of one number, bit by bit.
fn forged(intrusion: &mut Intrusion, vector: DrVector<Vec2>) -> Vec<u8> {
    let header = Header {
        packet: PacketNumber(intrusion.packet).on_wire(),
        sent_at: vector.generated_at,
        ..Header::default()
    };
    let mut updates = Vec::new();
    encode_updates(&Precision::default(), &header, &[vector], &mut updates).expect("sound");
    let bits: String = updates.iter().map(|byte| format!("{byte:08b}")).collect();
    let exact = format!("{:064b}", 1e29f64.to_bits());
    assert!(bits.contains(&exact), "the number is there to be replaced");
    let bits = bits.replace(&exact, &format!("{:064b}", f64::INFINITY.to_bits()));
    let byte =
        |chunk: &[u8]| u8::from_str_radix(std::str::from_utf8(chunk).expect("digits"), 2).expect("bits");
    let updates: Vec<u8> = bits.as_bytes().chunks(8).map(byte).collect();
    let mut datagram = Vec::new();
    Datagram { updates: &updates, parts: Vec::new() }.encode(&mut datagram);
    datagram
}

#[test]
fn garbage_over_webtransport_harms_no_client() {
    let (mut world, impostor) = besieged(b"h3");
    for garbage in [&[0xFF; 40][..], &[0; 5_000], b"GET / HTTP/1.1\r\n\r\n"] {
        let mut intrusion = impostor.intrude(&world);
        impostor.write(&mut intrusion, garbage);
        impostor.write_unordered(&intrusion, garbage);
        let _ = intrusion.connection.send_datagram(garbage[..40.min(garbage.len())].to_vec().into());
    }
    // Packets that are not QUIC.
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for length in [0, 1, 20, 1_200] {
        socket.send_to(&vec![0xC3; length], world.server.address()).expect("sent");
    }
    world.until("all of them are gone", |world| world.server.admission_statistics().failed >= 3);
    assert_eq!(world.server.with_session(|session, _| session.clients().count()), 2);
    assert!(world.server.with_session(|session, _| session.clients().all(|client| client <= ClientId(1))));
    world.settle();
    world.assert_promises_kept();
}
