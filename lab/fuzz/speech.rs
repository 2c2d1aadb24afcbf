//! Session messages drawn from bytes: mostly what an honest peer could send, with ids, numbers and
//! times near real ones, and now and then anything.

use fairpath::clock::{Reply, Request};
use fairpath::converge::{Algorithm, Convergence};
use fairpath::motion::{Circular, Dis, Hermite, Linear, Motion, Quadratic, Static, dis};
use fairpath::number::{EntityId, Generation, Life, PacketNumber, WirePacketNumber};
use fairpath::place::Placement;
use fairpath::rotation::Quat;
use fairpath::session::message::{
    Announcement, AnnouncementArrival, Call, Confirmation, Datagram, Group, Hello, Message, Outcome, Part, Received, Resume, SESSION_VERSION,
    Target, UnorderedMessage, Welcome,
};
use fairpath::session::{
    ClassId, ClassSettings, ClientId, Delivery, GameId, Party, Rates, Refusal, Settings, Token,
};
use fairpath::time::{SharedInstant, Span};
use fairpath::trigger::{AdaptiveThreshold, Trigger};
use fairpath::vector::{Planar, Vec2, Vec3};
use fairpath::wire::{
    Feedback, Header, Nonce, Precision, Receipt, StaleSet, encode_feedback, encode_updates,
};
use fairpath::{Attitude, DrVector, Observation, State};

use crate::{Entropy, game};

/// The epoch of the server.
pub const EPOCH: u64 = 1;

/// Returns whether the next value may be anything: one in eight.
fn is_wild(source: &mut Entropy<'_>) -> bool {
    source.take(1).is_multiple_of(8)
}

impl Entropy<'_> {
    /// Returns a number below `count`, which is at most 256.
    pub fn below(&mut self, count: u64) -> u64 {
        self.take(1) % count
    }

    /// Returns some bytes. The first byte of the source decides how many.
    pub fn bytes(&mut self) -> Vec<u8> {
        let length = match self.take(1) {
            length @ 0..=200 => length as usize % 24,
            201..=250 => self.take(1) as usize,
            _ => self.take(2) as usize % 20_000,
        };
        // The fuzzer chooses only the first four bytes.
        let mut bytes: Vec<u8> = (0..length.min(4)).map(|_| self.take(1) as u8).collect();
        bytes.resize(length, 7);
        bytes
    }

    /// Returns the id of an object that may exist.
    pub fn entity(&mut self) -> EntityId {
        EntityId(if is_wild(self) { self.take(4) as u32 } else { 1 + self.below(40) as u32 })
    }

    /// Returns a low count, or any number.
    pub fn count(&mut self) -> u64 {
        if is_wild(self) { self.take(8) } else { self.below(40) }
    }

    /// Returns an instant near now, or any instant.
    pub fn instant(&mut self, now: SharedInstant) -> SharedInstant {
        match self.take(1) {
            0..20 => SharedInstant::from_micros(self.take(8) as i64),
            20..60 => now,
            _ => now + Span::from_millis(self.take(2) as i64 - (1 << 15)).scaled(0.1),
        }
    }

    /// Returns a delivery class for a call.
    pub fn delivery(&mut self) -> Delivery {
        match self.below(5) {
            0 => Delivery::ReliableOrdered,
            1 => Delivery::ReliableUnordered,
            2 => Delivery::Unreliable,
            3 => Delivery::Newest,
            _ => Delivery::Quickest,
        }
    }

    /// Returns any state of an object.
    pub fn state(&mut self) -> State<Vec2> {
        State::moving(Vec2::from_3d(vector(self)), Vec2::from_3d(vector(self)))
    }

    /// Returns an observation of an owned object.
    pub fn observation(&mut self) -> Observation<Vec2> {
        let state = self.state();
        if self.below(8) == 0 { Observation::Jumped(state) } else { Observation::Moved(state) }
    }
}

/// Returns a greeting: a valid one, one that resumes, or a wrong one.
pub fn hello(source: &mut Entropy<'_>) -> Message {
    let resume = (source.below(3) == 0).then(|| Resume {
        token: Token([source.below(4) as u8; 16]),
        epoch: if is_wild(source) { source.take(8) } else { EPOCH },
        received: received(source),
    });
    let oddity = if is_wild(source) { source.take(1) as u8 } else { 0 };
    let is_odd = |bit: u8| oddity >> bit & 1;
    let GameId { mut name, version, fingerprint } = game().game_id();
    if is_odd(3) == 1 {
        name.push('s');
    }
    Message::Hello(Hello {
        version: SESSION_VERSION.wrapping_add(is_odd(0)),
        dimensions: 2 + is_odd(1),
        precision: Precision::default().fingerprint() ^ u32::from(is_odd(2)),
        game: GameId {
            name,
            version: version + u32::from(is_odd(4)),
            fingerprint: fingerprint ^ u64::from(is_odd(5)),
        },
        authentication: Vec::new(),
        clock: Request { id: source.below(4) as u32 },
        resume,
    })
}

/// Returns the answer to a greeting.
pub fn welcome(source: &mut Entropy<'_>, now: SharedInstant) -> Message {
    let outcome = if source.below(3) == 0 {
        Outcome::Resumed(received(source))
    } else {
        let (first, count) = ids(source);
        Outcome::New(first, count)
    };
    Message::Welcome(Welcome {
        client: ClientId(source.below(4) as u32),
        token: Token([source.below(4) as u8; 16]),
        epoch: EPOCH,
        placement: [Placement::Local, Placement::Global, Placement::Hop][source.below(3) as usize],
        clock: reply(source, now),
        outcome,
        settings: settings(source),
    })
}

/// Returns any message of the ordered stream.
pub fn message(source: &mut Entropy<'_>, now: SharedInstant) -> Message {
    match source.below(16) {
        0 => hello(source),
        1 => welcome(source, now),
        2 => Message::Confirm(confirmation(source, now)),
        3 | 4 => Message::Create(announcement(source, now)),
        5 => Message::Destroy(source.entity()),
        6 => Message::Claim(source.entity(), source.count()),
        7 => Message::Release(source.entity(), source.count()),
        8 | 9 => Message::Call(call(source)),
        10 | 11 => Message::Enter(announcement(source, now)),
        12 => Message::Leave(source.entity(), source.below(2) == 0),
        13 => Message::Owned(source.entity(), party(source), source.count()),
        14 => {
            let (first, count) = ids(source);
            Message::Ids(first, count)
        }
        _ => {
            Message::Refused(source.entity(), Refusal::ALL[source.below(Refusal::ALL.len() as u64) as usize])
        }
    }
}

/// Returns the bytes of an unordered message.
pub fn unordered(source: &mut Entropy<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    UnorderedMessage { number: source.count(), call: call(source) }.encode(&mut bytes);
    bytes
}

/// Returns the bytes of a datagram: the sender's next one, or one before or after it.
pub fn datagram(source: &mut Entropy<'_>, packet: &mut u64, now: SharedInstant) -> Vec<u8> {
    let precision = Precision::default();
    let number = match source.take(1) {
        0..16 => source.take(2),
        16..32 => packet.saturating_sub(source.below(8)),
        _ => *packet,
    };
    *packet += 1;
    let header = header(source, PacketNumber(number).on_wire(), now);
    let count = source.below(5);
    let mut vectors: Vec<DrVector<Vec2>> = (0..count).map(|_| dr_vector(source, header.sent_at)).collect();
    vectors.sort_by_key(|vector| vector.entity);
    vectors.dedup_by_key(|vector| vector.entity);
    let mut updates = Vec::new();
    if encode_updates(&precision, &header, &vectors, &mut updates).is_err() {
        let none: [DrVector<Vec2>; 0] = [];
        let header = Header { sent_at: now, ..header };
        encode_updates(&precision, &header, &none, &mut updates)
            .expect("a header with the current time encodes");
    }
    let parts = (0..source.below(4)).map(|_| part(source, now)).collect();
    let mut bytes = Vec::new();
    Datagram { updates: &updates, parts }.encode(&mut bytes);
    bytes
}

/// Returns the bytes with one changed, the end cut off, or a piece repeated.
pub fn mutated(source: &mut Entropy<'_>, mut bytes: Vec<u8>) -> Vec<u8> {
    let at = source.take(2) as usize % bytes.len().max(1);
    match source.below(4) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << source.below(8),
        1 if !bytes.is_empty() => bytes[at] = source.take(1) as u8,
        2 => bytes.truncate(at),
        _ => bytes.extend_from_within(at..),
    }
    bytes
}

/// Returns a DR vector, which the encoder may refuse.
pub fn dr_vector<V: Planar>(source: &mut Entropy<'_>, sent_at: SharedInstant) -> DrVector<V> {
    let entity = source.entity();
    DrVector {
        entity,
        life: Life::new(source.below(4) as u8),
        generation: Generation(source.take(1) as u8),
        generated_at: source.instant(sent_at),
        motion: motion(source),
        attitude: (source.below(8) == 0).then(|| Attitude {
            orientation: V::from_quat(orientation(source)),
            spin: V::spin_from_3d(vector(source)),
        }),
        parent: (source.below(8) == 0).then(|| source.entity()),
    }
}

/// Returns any motion with any numbers.
pub fn motion<V: Planar>(source: &mut Entropy<'_>) -> Motion<V> {
    let model = source.below(6);
    let position = V::from_3d(vector(source));
    match model {
        0 => Motion::Static(Static { position, orientation: V::from_quat(orientation(source)) }),
        1 => Motion::Linear(Linear { position, velocity: V::from_3d(vector(source)) }),
        2 => Motion::Quadratic(Quadratic {
            position,
            velocity: V::from_3d(vector(source)),
            acceleration: V::from_3d(vector(source)),
        }),
        3 => Motion::Circular(Circular {
            position,
            heading: source.number(),
            speed: source.number(),
            turn_rate: source.number(),
            climb_rate: source.number(),
            climb_acceleration: source.number(),
        }),
        4 => Motion::Hermite(Hermite {
            start: position,
            start_velocity: V::from_3d(vector(source)),
            end: V::from_3d(vector(source)),
            end_velocity: V::from_3d(vector(source)),
            secs: source.number(),
        }),
        _ => Motion::Dis(Dis {
            model: dis::Model::ALL[source.below(dis::Model::ALL.len() as u64) as usize],
            position: position.to_3d(),
            velocity: vector(source),
            acceleration: vector(source),
            orientation: orientation(source),
            angular_velocity: vector(source),
        }),
    }
}

/// Returns any three numbers.
pub fn vector(source: &mut Entropy<'_>) -> Vec3 {
    Vec3::new(source.number(), source.number(), source.number())
}

/// Returns any four numbers, which seldom have length one.
pub fn orientation(source: &mut Entropy<'_>) -> Quat {
    Quat { w: source.number(), v: vector(source) }
}

fn header(source: &mut Entropy<'_>, packet: WirePacketNumber, now: SharedInstant) -> Header {
    Header {
        packet,
        sent_at: source.instant(now),
        nonce: Nonce(source.take(1) as u8),
        confirmed: (source.below(2) == 0).then(|| PacketNumber(source.count()).on_wire()),
    }
}

fn part(source: &mut Entropy<'_>, now: SharedInstant) -> Part {
    match source.below(7) {
        0 => Part::ClockRequest(Request { id: source.count() as u32 }),
        1 => Part::ClockReply(reply(source, now)),
        2 => Part::Feedback(feedback(source, now)),
        3 => Part::Quickest(source.count(), short(call(source), 200)),
        4 => Part::Unreliable(short(call(source), 900)),
        5 => Part::State(source.entity(), group(source)),
        _ => Part::Newest(source.count(), short(call(source), 900)),
    }
}

/// Returns receipts for some packets that the peer may have sent. The proof is a guess, right one
/// time in 256 at best.
fn feedback(source: &mut Entropy<'_>, now: SharedInstant) -> Vec<u8> {
    let packet = PacketNumber(source.count()).on_wire();
    let header = header(source, packet, now);
    let mut number = source.below(16);
    let mut receipts = Vec::new();
    for _ in 0..source.below(6) {
        receipts.push(Receipt {
            packet: PacketNumber(number),
            received_at: source.instant(now),
            delay: Span::from_millis(source.below(200) as i64 - 20),
            stale: if is_wild(source) {
                [source.below(4) as usize].into_iter().collect()
            } else {
                StaleSet::NONE
            },
        });
        number += 1 + source.below(4);
    }
    let mut bytes = Vec::new();
    let is_complete = source.below(2) == 0;
    // If it cannot be encoded the bytes stay empty, which decoders refuse as well.
    let _ = encode_feedback(&Feedback { header, is_complete, receipts }, &mut bytes);
    bytes
}

fn reply(source: &mut Entropy<'_>, now: SharedInstant) -> Reply {
    let id = source.below(16) as u32;
    let received = source.instant(now);
    Reply { id, received, sent: if is_wild(source) { source.instant(now) } else { received } }
}

fn received(source: &mut Entropy<'_>) -> Received {
    let unordered = source.count() >> 1;
    let beyond = (0..source.below(3)).scan(unordered, |before, _| {
        *before += 1 + source.below(8);
        Some(*before)
    });
    let beyond = beyond.collect();
    Received { ordered: source.count(), unordered, beyond }
}

fn confirmation(source: &mut Entropy<'_>, now: SharedInstant) -> Confirmation {
    let received = received(source);
    // Numbers are below the count of received messages.
    let first = received.ordered.saturating_sub(source.below(8));
    let numbers = (first..received.ordered).filter(|_| source.below(2) == 0).collect::<Vec<_>>();
    let end = SharedInstant::from_micros(1 << 60);
    let arrival = |number| AnnouncementArrival { number, at: source.instant(now).max(SharedInstant::from_micros(-1 << 60)).min(end) };
    Confirmation { received, arrivals: numbers.into_iter().map(arrival).collect() }
}

fn announcement(source: &mut Entropy<'_>, now: SharedInstant) -> Announcement {
    let mut groups: Vec<Group> = (0..source.below(4)).map(|_| group(source)).collect();
    groups.sort_by_key(|group| group.group);
    groups.dedup_by_key(|group| group.group);
    let mut creation = source.bytes();
    creation.truncate(1024);
    let (object, class) = (source.entity(), ClassId(source.below(6) as u32));
    if class == ClassId(4) && !is_wild(source) {
        // The text "hi", as the class's type wants it.
        creation = vec![2, b'h', b'i'];
    }
    let (owner, term) = (party(source), source.count());
    Announcement { object, class, owner, term, creation, motion: first_motion(source, object, now), groups }
}

/// Returns the motion of an announcement: a DR vector of the object most often, else none, two, one
/// of another object, or any bytes.
fn first_motion(source: &mut Entropy<'_>, object: EntityId, now: SharedInstant) -> Vec<u8> {
    let how = source.below(8);
    let mut bytes = match how {
        0 => Vec::new(),
        1 => source.bytes(),
        _ => {
            let header = header(source, WirePacketNumber(0), now);
            let mut vectors = vec![dr_vector::<Vec2>(source, header.sent_at)];
            match how {
                2 => vectors.push(DrVector { entity: object, ..vectors[0] }),
                3 => {}
                _ => vectors[0].entity = object,
            }
            let mut bytes = Vec::new();
            // What cannot be encoded leaves no bytes: an announcement without motion.
            let _ = encode_updates(&Precision::default(), &header, &vectors, &mut bytes);
            bytes
        }
    };
    bytes.truncate(512);
    bytes
}

/// Returns the settings of a welcome: those of the client's own game, or any.
fn settings(source: &mut Entropy<'_>) -> Settings {
    if source.below(2) == 0 {
        return Settings { horizon: Span::from_secs(3), classes: Vec::new() };
    }
    let horizon = span(source);
    let classes = (0..source.below(7)).map(|id| (ClassId(id as u32), class_settings(source))).collect();
    Settings { horizon, classes }
}

fn class_settings(source: &mut Entropy<'_>) -> ClassSettings {
    ClassSettings {
        trigger: Trigger::AnyOf((0..source.below(4)).map(|_| rule(source)).collect()),
        rates: Rates { interval_min: span(source), interval_max: span(source) },
        smoothing: Convergence {
            algorithm: Algorithm::ALL[source.below(Algorithm::ALL.len() as u64) as usize],
            blend_min: span(source),
            blend: span(source),
            snap_beyond: limit(source),
        },
    }
}

fn rule(source: &mut Entropy<'_>) -> Trigger {
    match source.below(6) {
        0 => Trigger::Distance { threshold: limit(source) },
        1 => Trigger::CrossTrack { threshold: limit(source) },
        2 => Trigger::Angle { threshold: limit(source) },
        3 => Trigger::Every(span(source)),
        4 => Trigger::PreReckoning { angle: limit(source), speed_min: limit(source) },
        _ => Trigger::Adaptive(AdaptiveThreshold {
            near: limit(source),
            per_distance: limit(source),
            far: limit(source),
        }),
    }
}

/// Returns a time span of up to ten seconds, or any that can be sent.
fn span(source: &mut Entropy<'_>) -> Span {
    if is_wild(source) {
        Span::from_micros(source.take(8) as i64 & i64::MAX)
    } else {
        Span::from_millis(source.take(2) as i64 % 10_000)
    }
}

/// Returns a number from zero, infinity included.
fn limit(source: &mut Entropy<'_>) -> f64 {
    let number = source.number().abs();
    if number.is_nan() { f64::INFINITY } else { number }
}

fn group(source: &mut Entropy<'_>) -> Group {
    let mut bytes = source.bytes();
    bytes.truncate(900);
    Group { group: source.below(32) as u8, number: source.count(), bytes }
}

fn call(source: &mut Entropy<'_>) -> Call {
    let target = match source.below(3) {
        0 => Target::Connection,
        1 => Target::Owner(source.entity()),
        _ => Target::Viewers(source.entity()),
    };
    Call { target, from: party(source), method: source.below(4) as u32, bytes: source.bytes() }
}

fn short(mut call: Call, bytes_max: usize) -> Call {
    call.bytes.truncate(bytes_max);
    call
}

fn party(source: &mut Entropy<'_>) -> Party {
    match source.below(4) {
        0 => Party::Server,
        client => Party::Client(ClientId(client as u32 - 1)),
    }
}

fn ids(source: &mut Entropy<'_>) -> (u32, u32) {
    if is_wild(source) {
        (source.take(4) as u32, source.take(2) as u32)
    } else {
        (1 + source.below(8) as u32 * 32, 32)
    }
}
