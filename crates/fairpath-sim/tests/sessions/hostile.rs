//! Goal: a hostile client is refused with a reason and does no harm. Method: a client that writes
//! its own bytes.

use fairpath::clock::Request;
use fairpath::motion::{Linear, Motion};
use fairpath::number::{EntityId, Generation, Life, PacketNumber};
use fairpath::session::message::{
    Announcement, Call, Datagram, Group, Hello, Message, Part, SESSION_VERSION, UnorderedMessage,
};
use fairpath::session::{
    Admission, ClassId, ClientId, CloseReason, ConnectionId, GameId, Interceptor, Party, Protocol, Refusal,
    Scope, ScopeObject, Server, ServerEvent, SpeedCheck, Target, TeleportCheck, Token, Update,
};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::wire::{Header, Precision, encode_updates};
use fairpath::{DrVector, Observation, State};

use super::arena::{BALL, SHIP, classes, server};

/// A client without any manners.
struct Impostor {
    server: Server<Vec2>,
    connection: ConnectionId,
    packet: u64,
    now: SharedInstant,
}

impl Impostor {
    fn new(mut server: Server<Vec2>) -> Self {
        let now = SharedInstant::from_millis(5_000);
        let connection = server.handle_connected(Token([7; 16]), now).expect("room");
        Self { server, connection, packet: 0, now }
    }

    /// Well-behaved so far.
    fn greeted(server: Server<Vec2>) -> Self {
        let mut impostor = Self::new(server);
        impostor.say(&Message::Hello(hello()));
        while impostor.server.poll_stream(impostor.connection, impostor.now).is_some() {}
        assert!(matches!(
            impostor.server.poll_event(),
            Some(ServerEvent::Joined { client: ClientId(0), .. })
        ));
        impostor
    }

    fn say(&mut self, message: &Message) {
        let mut bytes = Vec::new();
        message.frame(&mut bytes);
        self.server.handle_stream(self.connection, &bytes, self.now);
    }

    fn send(&mut self, vectors: &[DrVector<Vec2>], parts: Vec<Part>) {
        let packet = PacketNumber(self.packet).on_wire();
        self.packet += 1;
        let header = Header { packet, sent_at: self.now, ..Header::default() };
        let (mut updates, mut datagram) = (Vec::new(), Vec::new());
        encode_updates(&Precision::default(), &header, vectors, &mut updates).expect("sound");
        Datagram { updates: &updates, parts }.encode(&mut datagram);
        self.server.handle_datagram(self.connection, &datagram, self.now);
    }

    fn closed(&mut self) -> Option<CloseReason> {
        self.server.poll_close().map(|(_, reason)| reason)
    }

    fn refusals(&mut self) -> Vec<Refusal> {
        let refusal = |event| match event {
            ServerEvent::Refused { refusal, .. } => Some(refusal),
            _ => None,
        };
        std::iter::from_fn(|| self.server.poll_event()).filter_map(refusal).collect()
    }

    /// A ship of its own, which the server believes to be at the origin.
    fn launched(server: Server<Vec2>) -> Self {
        let mut impostor = Self::greeted(server);
        impostor.say(&Message::Create(announcement(EntityId(1), SHIP)));
        impostor.now += Span::from_secs(1);
        let first = at(&impostor, EntityId(1), Vec2::ZERO, Vec2::ZERO);
        impostor.send(&[first], vec![]);
        assert_eq!(impostor.refusals(), []);
        impostor.now += Span::from_millis(100);
        impostor
    }
}

fn hello() -> Hello {
    Hello {
        version: SESSION_VERSION,
        dimensions: 2,
        precision: Precision::default().fingerprint(),
        game: Protocol::<Vec2>::from(classes()).game_id(),
        authentication: Vec::new(),
        clock: Request { id: 0 },
        resume: None,
    }
}

fn with_game(change: impl FnOnce(&mut GameId)) -> Hello {
    let mut hello = hello();
    change(&mut hello.game);
    hello
}

fn announcement(object: EntityId, class: ClassId) -> Announcement {
    let owner = Party::Client(ClientId(0));
    Announcement {
        object,
        class,
        owner,
        term: 0,
        creation: Vec::new(),
        motion: Vec::new(),
        groups: Vec::new(),
    }
}

fn at(impostor: &Impostor, entity: EntityId, position: Vec2, velocity: Vec2) -> DrVector<Vec2> {
    DrVector {
        entity,
        life: Life::default(),
        generation: Generation::default(),
        generated_at: impostor.now,
        motion: Motion::Linear(Linear { position, velocity }),
        attitude: None,
        parent: None,
    }
}

fn call(target: Target) -> Call {
    Call { target, from: Party::Server, method: 1, bytes: vec![1] }
}

#[test]
fn greetings_that_do_not_fit_are_turned_away_with_a_reason() {
    #[derive(Debug)]
    struct Password;
    impl Admission for Password {
        fn admit(&mut self, authentication: &[u8]) -> Option<Vec<u8>> {
            (authentication == b"sesame").then(|| b"Ali".to_vec())
        }
    }
    let cases = [
        (Hello { version: 9, ..hello() }, Some(CloseReason::WrongVersion)),
        (Hello { dimensions: 3, ..hello() }, Some(CloseReason::WrongDimensions)),
        (Hello { precision: 1, ..hello() }, Some(CloseReason::WrongPrecision)),
        (with_game(|game| game.name.push('s')), Some(CloseReason::WrongGame)),
        (with_game(|game| game.version += 1), Some(CloseReason::WrongGameVersion)),
        (with_game(|game| game.fingerprint ^= 1), Some(CloseReason::WrongProtocol)),
        (hello(), Some(CloseReason::NotAdmitted)),
        (Hello { authentication: b"sesame".to_vec(), ..hello() }, None),
    ];
    for (hello, reason) in cases {
        let mut impostor = Impostor::new(server(1).with_admission(Password));
        impostor.say(&Message::Hello(hello));
        assert_eq!(impostor.closed(), reason);
        assert_eq!(impostor.server.clients().count(), usize::from(reason.is_none()));
    }
}

#[test]
fn who_does_not_greet_or_greets_twice_is_closed() {
    let mut silent = Impostor::new(server(1));
    silent.server.handle_timeout(silent.now + Span::from_secs(6));
    assert_eq!(silent.closed(), Some(CloseReason::NoGreeting));
    let mut hasty = Impostor::new(server(1));
    hasty.say(&Message::Destroy(EntityId(1)));
    assert_eq!(hasty.closed(), Some(CloseReason::OutOfPlace));
    let mut twice = Impostor::greeted(server(1));
    twice.say(&Message::Hello(hello()));
    assert_eq!(twice.closed(), Some(CloseReason::OutOfPlace));
}

#[test]
fn garbage_closes_the_connection() {
    for garbage in [&[0xFF; 40][..], &[3, 99, 0, 0], &[0]] {
        let mut impostor = Impostor::greeted(server(1));
        impostor.server.handle_stream(impostor.connection, garbage, impostor.now);
        assert_eq!(impostor.closed(), Some(CloseReason::Malformed), "{garbage:?}");
        let mut impostor = Impostor::greeted(server(1));
        impostor.server.handle_datagram(impostor.connection, garbage, impostor.now);
        assert_eq!(impostor.closed(), Some(CloseReason::Malformed), "{garbage:?}");
        let mut impostor = Impostor::greeted(server(1));
        impostor.server.handle_unordered(impostor.connection, garbage, impostor.now);
        assert_eq!(impostor.closed(), Some(CloseReason::Malformed), "{garbage:?}");
    }
}

#[test]
fn numbers_that_are_not_finite_close_the_connection() {
    // Entity 1, linear, its x as it is: an escape, and then the bits of an infinity.
    let mut impostor = Impostor::launched(server(1));
    let mut updates = Vec::new();
    let far = at(&impostor, EntityId(1), Vec2::new(1e29, 0.0), Vec2::ZERO);
    let header = Header { packet: PacketNumber(9).on_wire(), sent_at: impostor.now, ..Header::default() };
    encode_updates(&Precision::default(), &header, &[far], &mut updates).expect("sound");
    let exact = 1e29f64.to_bits();
    let bits: String = updates.iter().map(|byte| format!("{byte:08b}")).collect();
    let forged = bits.replace(&format!("{exact:064b}"), &format!("{:064b}", f64::INFINITY.to_bits()));
    assert_ne!(forged, bits, "the number is there to be replaced");
    let byte =
        |chunk: &[u8]| u8::from_str_radix(std::str::from_utf8(chunk).expect("digits"), 2).expect("bits");
    let updates: Vec<u8> = forged.as_bytes().chunks(8).map(byte).collect();
    let mut datagram = Vec::new();
    Datagram { updates: &updates, parts: vec![] }.encode(&mut datagram);
    impostor.server.handle_datagram(impostor.connection, &datagram, impostor.now);
    assert_eq!(impostor.closed(), Some(CloseReason::Malformed));
}

#[test]
fn finite_numbers_that_lead_to_where_nothing_is_finite_are_refused() {
    let mut impostor = Impostor::launched(server(1));
    let (ship, unborn) = (EntityId(1), EntityId(2));
    let edge = at(&impostor, ship, Vec2::new(1e30, 0.0), Vec2::new(-1e30, 0.0));
    impostor.send(&[edge], vec![]);
    assert_eq!(impostor.refusals(), [], "as far as numbers go");
    let far = at(&impostor, ship, Vec2::new(1e308, 0.0), Vec2::new(1e308, 0.0));
    impostor.now += Span::from_millis(100);
    let fast = at(&impostor, ship, Vec2::ZERO, Vec2::new(0.0, 2e30));
    let early = at(&impostor, unborn, Vec2::new(1e308, 0.0), Vec2::new(1e308, 0.0));
    for lie in [far, fast, early] {
        impostor.send(&[lie], vec![]);
    }
    assert_eq!(impostor.refusals(), [Refusal::TooFastMotion; 3]);
    impostor.say(&Message::Create(announcement(unborn, SHIP)));
    for ahead in [0, 1, 10, 100_000] {
        let now = impostor.now + Span::from_secs(ahead);
        assert!(impostor.server.place(ship, now).expect("launched").is_finite(), "after {ahead} s");
        assert_eq!(impostor.server.place(unborn, now), None);
    }
}

#[test]
fn replayed_datagrams_are_dropped() {
    let mut impostor = Impostor::launched(server(1));
    impostor.packet = 0;
    let again = at(&impostor, EntityId(1), Vec2::new(9.0, 9.0), Vec2::ZERO);
    impostor.send(&[again], vec![Part::Quickest(0, call(Target::Connection))]);
    assert_eq!(impostor.server.statistics(ClientId(0)).expect("a session").datagrams_repeated, 1);
    let placed = impostor.server.place(EntityId(1), impostor.now).expect("launched");
    assert_eq!(placed.position, Vec2::ZERO, "packet 0 was there before");
}

#[test]
fn somebody_elses_object_is_not_to_be_moved_destroyed_or_changed() {
    let mut impostor = Impostor::launched(server(1));
    let ball = impostor.server.create(BALL, b"", impostor.now).expect("room");
    let rock = impostor.server.create(SHIP, b"", impostor.now).expect("room");
    let now = impostor.now;
    let still = Observation::Moved(State::moving(Vec2::ZERO, Vec2::ZERO));
    impostor.server.observe(ball, still, now).expect("its own");
    impostor.server.observe(rock, still, now).expect("its own");
    let stolen = at(&impostor, ball, Vec2::new(50.0, 0.0), Vec2::ZERO);
    impostor.send(&[stolen], vec![Part::State(ball, Group { group: 0, number: 1, bytes: vec![1] })]);
    impostor.say(&Message::Destroy(ball));
    impostor.say(&Message::Claim(rock, 0));
    impostor.say(&Message::Claim(EntityId(9_999), 0));
    impostor.say(&Message::Call(call(Target::Viewers(ball))));
    let expected = [
        Refusal::NotOwner,
        Refusal::NotOwner,
        Refusal::NotOwner,
        Refusal::NotClaimable,
        Refusal::UnknownObject,
        Refusal::NotOwner,
    ];
    assert_eq!(impostor.refusals(), expected);
    assert_eq!(impostor.closed(), None);
    assert_eq!(impostor.server.place(ball, now).expect("there").position, Vec2::ZERO);
    assert_eq!(impostor.server.state(ball, 0), None);
}

#[test]
fn absurd_speeds_jumps_and_times_are_refused_with_a_reason() {
    let teleport = TeleportCheck { speed_max: 30.0, slack: 1.0, allows_jumps: false };
    let guarded = server(1).with_interceptor(SpeedCheck { speed_max: 30.0 }).with_interceptor(teleport);
    let mut impostor = Impostor::launched(guarded);
    let ship = EntityId(1);
    let fast = at(&impostor, ship, Vec2::ZERO, Vec2::new(1_000.0, 0.0));
    let far = at(&impostor, ship, Vec2::new(400.0, 0.0), Vec2::ZERO);
    let jumped = DrVector { life: Life::new(1), ..far };
    let early = DrVector {
        generated_at: impostor.now + Span::from_secs(100),
        ..at(&impostor, ship, Vec2::ZERO, Vec2::ZERO)
    };
    for lie in [fast, far, jumped, early] {
        impostor.send(&[lie], vec![]);
    }
    let expected =
        [Refusal::TooFastMotion, Refusal::Teleported, Refusal::Teleported, Refusal::ImpossibleTime];
    assert_eq!(impostor.refusals(), expected);
    let placed = impostor.server.place(ship, impostor.now).expect("launched");
    assert_eq!(placed.position, Vec2::ZERO, "and nothing of it was believed");
    let honest = at(&impostor, ship, Vec2::new(2.0, 0.0), Vec2::new(20.0, 0.0));
    impostor.send(&[honest], vec![]);
    assert_eq!(impostor.refusals(), []);
    assert_eq!(impostor.server.place(ship, impostor.now).expect("launched").position.x, 2.0);
}

#[test]
fn ids_and_classes_that_were_not_granted_are_refused() {
    let mut impostor = Impostor::greeted(server(1));
    impostor.say(&Message::Create(announcement(EntityId(5_000), SHIP)));
    impostor.say(&Message::Create(announcement(EntityId(2), ClassId(77))));
    impostor.say(&Message::Create(announcement(EntityId(3), SHIP)));
    impostor.say(&Message::Create(announcement(EntityId(3), SHIP)));
    impostor.say(&Message::Create(announcement(EntityId(2), SHIP)));
    let unknown = Refusal::UnknownId;
    assert_eq!(impostor.refusals(), [unknown, Refusal::UnknownClass, unknown, unknown], "an id serves once");
    assert_eq!(impostor.server.objects().count(), 1);
}

#[test]
fn floods_are_cut_off() {
    let mut calls = Impostor::greeted(server(1));
    let flood = std::iter::repeat_n(call(Target::Connection), 50);
    let parts: Vec<Part> = flood.map(Part::Unreliable).collect();
    for _ in 0..400 {
        calls.send(&[], parts.clone());
        while calls.server.poll_event().is_some() {}
    }
    assert_eq!(calls.closed(), Some(CloseReason::TooFast));
    let mut unordered = Impostor::greeted(server(1));
    let mut bytes = Vec::new();
    UnorderedMessage { number: 1 << 40, call: call(Target::Connection) }.encode(&mut bytes);
    unordered.server.handle_unordered(unordered.connection, &bytes, unordered.now);
    assert_eq!(unordered.closed(), Some(CloseReason::OutOfPlace), "no honest peer has got so far");
    let mut refused = Impostor::greeted(server(1));
    for _ in 0..1_000 {
        refused.say(&Message::Claim(EntityId(9_999), 0));
    }
    assert!(refused.refusals().len() <= 40, "nonsense is not answered without end");
}

#[test]
fn a_stolen_token_of_another_run_is_worth_nothing() {
    let mut impostor = Impostor::new(server(1));
    let resume = fairpath::session::message::Resume {
        token: Token([9; 16]),
        epoch: 1,
        received: fairpath::session::message::Received { ordered: 1 << 50, unordered: 3, beyond: vec![5] },
    };
    impostor.say(&Message::Hello(Hello { resume: Some(resume), ..hello() }));
    assert_eq!(impostor.closed(), None);
    assert!(matches!(impostor.server.poll_event(), Some(ServerEvent::Joined { .. })), "it is somebody new");
}

/// Wants names in capitals, no bombs, and no more than nine lives.
#[derive(Debug)]
struct HouseRules;

impl Interceptor<Vec2> for HouseRules {
    fn check_state(&mut self, _: &Update<'_, Vec2>, group: u8, value: &mut Vec<u8>) -> Result<(), Refusal> {
        match group {
            0 => value.make_ascii_uppercase(),
            1 if value.first() > Some(&9) => return Err(Refusal::Vetoed),
            _ => value.extend([0; 500]),
        }
        Ok(())
    }

    fn check_creation(&mut self, _: &Update<'_, Vec2>, creation: &mut Vec<u8>) -> Result<(), Refusal> {
        creation.push(b'!');
        if creation == b"bomb!" { Err(Refusal::Vetoed) } else { Ok(()) }
    }
}

#[test]
fn the_game_may_veto_or_change_states_and_creations_too() {
    let mut impostor = Impostor::greeted(server(1).with_interceptor(HouseRules));
    let group = |group, number, bytes: &[u8]| Group { group, number, bytes: bytes.to_vec() };
    let made = |id, creation: &[u8], groups| Announcement {
        creation: creation.to_vec(),
        groups,
        ..announcement(EntityId(id), SHIP)
    };
    impostor.say(&Message::Create(made(1, b"ship", vec![group(0, 1, b"anna")])));
    impostor.say(&Message::Create(made(2, b"bomb", vec![])));
    impostor.say(&Message::Create(made(3, b"ship", vec![group(1, 1, &[10])])));
    assert_eq!(impostor.refusals(), [Refusal::NotCreated, Refusal::NotCreated]);
    assert_eq!(impostor.server.objects().collect::<Vec<_>>(), [EntityId(1)]);
    assert_eq!(impostor.server.creation(EntityId(1)), Some(&b"ship!"[..]));
    assert_eq!(impostor.server.state(EntityId(1), 0), Some(&b"ANNA"[..]));

    let state = |value| vec![Part::State(EntityId(1), value)];
    impostor.send(&[], state(group(0, 2, b"otto")));
    impostor.send(&[], state(group(1, 3, &[10])));
    impostor.send(&[], state(group(2, 4, &[1; 900])));
    assert_eq!(impostor.refusals(), [Refusal::Vetoed, Refusal::Vetoed], "the last is too long by now");
    assert_eq!(impostor.server.state(EntityId(1), 0), Some(&b"OTTO"[..]));
    assert_eq!(impostor.server.state(EntityId(1), 1), None);
    assert_eq!(impostor.server.state(EntityId(1), 2), None);
    assert_eq!(impostor.closed(), None);
}

#[test]
fn whoever_is_refused_does_not_run_out_of_ids() {
    let mut impostor = Impostor::greeted(server(1));
    let mut granted = 0;
    for id in 1..=200 {
        impostor.now += Span::from_millis(100);
        impostor.say(&Message::Create(announcement(EntityId(id), ClassId(77))));
        assert_eq!(impostor.refusals(), [Refusal::UnknownClass], "id {id} is known");
        while impostor.server.poll_stream(impostor.connection, impostor.now).is_some() {
            granted += 1;
        }
    }
    assert!(granted > 200, "every refusal is told, and now and then there are more ids: {granted}");
}

#[test]
fn parents_that_cannot_be_are_refused() {
    /// Hides everything.
    #[derive(Debug)]
    struct Fog;
    impl Scope<Vec2> for Fog {
        fn sees(
            &mut self,
            _: ClientId,
            _: &ScopeObject<'_, Vec2>,
            _: &[ScopeObject<'_, Vec2>],
            _: bool,
        ) -> bool {
            false
        }
    }
    let mut impostor = Impostor::launched(server(1).with_scope(Fog));
    let hidden = impostor.server.create(BALL, b"", impostor.now).expect("room");
    (2..=12).for_each(|ship| impostor.say(&Message::Create(announcement(EntityId(ship), SHIP))));
    let refusals = |impostor: &mut Impostor, ship, parent| {
        impostor.now += Span::from_millis(10);
        let vector = at(impostor, EntityId(ship), Vec2::new(1.0, 0.0), Vec2::ZERO);
        impostor.send(&[DrVector { parent: Some(parent), ..vector }], vec![]);
        impostor.refusals()
    };
    for parent in [EntityId(9_999), EntityId(1), hidden] {
        assert_eq!(refusals(&mut impostor, 1, parent), [Refusal::BadParent], "{parent:?}");
    }
    assert!(!impostor.server.sees(ClientId(0), hidden));
    for ship in 2..=9 {
        assert_eq!(refusals(&mut impostor, ship, EntityId(ship - 1)), []);
    }
    assert_eq!(impostor.server.place(EntityId(9), impostor.now).expect("placed").position.x, 8.0);
    assert_eq!(refusals(&mut impostor, 10, EntityId(9)), [Refusal::BadParent], "nine parents");
    assert_eq!(refusals(&mut impostor, 1, EntityId(9)), [Refusal::BadParent], "a cycle");
    assert_eq!(refusals(&mut impostor, 1, EntityId(11)), [Refusal::BadParent], "nine above the last");
    // The parent's creation is under way: the vector waits for it, and is not kept for ever.
    for ship in [11, 12] {
        assert_eq!(refusals(&mut impostor, ship, EntityId(15)), []);
    }
    impostor.say(&Message::Destroy(EntityId(12)));
    let kept = |impostor: &Impostor| impostor.server.queues(ClientId(0)).expect("a session").early;
    assert_eq!(kept(&impostor), 1);
    impostor.say(&Message::Create(announcement(EntityId(15), SHIP)));
    assert_eq!((kept(&impostor), impostor.server.parent(EntityId(11))), (0, Some(EntityId(15))));
    assert_eq!(impostor.refusals(), []);
    assert_eq!(impostor.closed(), None);
}
