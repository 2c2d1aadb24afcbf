//! A hostile client.

use std::collections::VecDeque;

use fairpath::motion::{Linear, Motion};
use fairpath::number::{EntityId, Generation, Life, PacketNumber, WirePacketNumber};
use fairpath::random::Random;
use fairpath::session::message::{Call, Datagram, Group, Message, Part, Target};
use fairpath::session::{Class, ClassId, Client, ClientConfig, ClientEvent, Party};
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::wire::{Header, Precision, decode_updates, encode_updates};
use fairpath::{DrVector, Observation, State};

use crate::events::with_later_receipts;

/// A kind of attack. The attacker repeats it sixty times a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attack {
    /// No attack: the baseline.
    None,
    /// Random bytes, as datagrams, on the stream and in unordered messages.
    Garbage,
    /// Its own valid messages with a flipped bit.
    Mutations,
    /// Replays of its own recent and old datagrams.
    Replays,
    /// Connections that never send anything.
    HalfOpen,
    /// Never reads. It keeps sending clock requests, or its silence would be noticed.
    NeverReads,
    /// As many calls and datagrams as possible.
    Floods,
    /// Claims, moves, changes and destroys other clients' objects.
    Thief,
    /// Motion with NaN.
    NotNumbers,
    /// Motion of its own objects with huge numbers.
    Absurdities,
    /// Packet, call and state numbers far out of sequence.
    SequenceJumps,
    /// Send and generation times far in the past or future.
    TimeJumps,
    /// Receipts with later arrival times.
    LateReceipts,
    /// No receipts at all.
    NoReceipts,
    /// Creates and destroys as many objects as possible, and moves them erratically.
    ObjectStorm,
}

impl Attack {
    pub const ALL: [Self; 15] = [
        Self::None,
        Self::Garbage,
        Self::Mutations,
        Self::Replays,
        Self::HalfOpen,
        Self::NeverReads,
        Self::Floods,
        Self::Thief,
        Self::NotNumbers,
        Self::Absurdities,
        Self::SequenceJumps,
        Self::TimeJumps,
        Self::LateReceipts,
        Self::NoReceipts,
        Self::ObjectStorm,
    ];
}

/// One action of an attacker on its transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttackStep {
    Stream(Vec<u8>),
    Unordered(Vec<u8>),
    Datagram(Vec<u8>),
    /// Opens another connection and sends nothing on it.
    OpenSilently,
}

/// A real client that attacks. The caller drives it like a transport.
#[derive(Debug)]
pub struct Attacker {
    attack: Attack,
    client: Client<Vec2>,
    class: ClassId,
    random: Random,
    own: Vec<EntityId>,
    /// Datagrams added by [`Attack::Floods`].
    flooded: u16,
    kept: VecDeque<Vec<u8>>,
    /// Whether the server has sent anything on this transport.
    is_welcome: bool,
    gave_up: bool,
}

/// The half width of the attacker's area, in units; honest clients are in it too.
pub const WITHIN: f64 = 100.0;

/// Datagrams stored for replays: a second of them.
const KEPT_MAX: usize = 64;
/// Extra messages per turn: three thousand a second.
const EXTRA: usize = 50;
/// Calls in one datagram of a flood.
const CALLS_AT_ONCE: usize = 16;
/// Objects created per turn by [`Attack::ObjectStorm`].
const STORM: usize = 8;
/// The delay added to receipts.
const LATER: Span = Span::from_millis(400);

impl Attacker {
    /// Returns an attacker in a game of these classes; its own objects are of `class`.
    pub fn new(
        attack: Attack,
        classes: impl IntoIterator<Item = (ClassId, Class)>,
        class: ClassId,
        mut random: Random,
    ) -> Self {
        let client = Client::new(ClientConfig::new(classes), Random::from_seed(random.bits()));
        Self {
            attack,
            client,
            class,
            random,
            own: Vec::new(),
            kept: VecDeque::new(),
            flooded: 0,
            is_welcome: false,
            gave_up: false,
        }
    }

    pub fn on_connected(&mut self, now: LocalInstant) {
        self.client.handle_connected(now);
        (self.is_welcome, self.gave_up) = (false, false);
    }

    pub fn on_disconnected(&mut self, now: LocalInstant) {
        self.client.handle_disconnected(None, now);
    }

    /// Takes in bytes of the ordered stream. [`Attack::NeverReads`] reads only the greeting.
    pub fn on_stream(&mut self, bytes: &[u8], now: LocalInstant) {
        if self.attack != Attack::NeverReads || !self.is_welcome {
            self.client.handle_stream(bytes, now);
            self.is_welcome = true;
        }
    }

    pub fn on_unordered(&mut self, bytes: &[u8], now: LocalInstant) {
        if self.attack != Attack::NeverReads {
            self.client.handle_unordered(bytes, now);
        }
    }

    /// Takes in a datagram. Even [`Attack::NeverReads`] reads them until it has a clock reply.
    pub fn on_datagram(&mut self, bytes: &[u8], now: LocalInstant) {
        if self.attack != Attack::NeverReads || !self.client.is_connected() {
            self.client.handle_datagram(bytes, now);
        }
    }

    /// Returns whether it reads. If not, the transport's flow control blocks the server.
    pub fn reads(&self) -> bool {
        self.attack != Attack::NeverReads || !self.is_welcome
    }

    /// Returns whether its client has closed the connection because of its own extra messages.
    pub fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// Returns its actions of one turn, a sixtieth of a second.
    pub fn turn(&mut self, now: LocalInstant) -> Vec<AttackStep> {
        self.client.handle_timeout(now);
        let shared = self.client.clock_now(now).map(|now| now.shared).filter(|_| self.client.is_connected());
        if let Some(shared) = shared {
            self.play(now, shared);
        }
        let mut shots = self.words(now);
        if let Some(shared) = shared {
            self.twist(&mut shots, shared);
            self.add(&mut shots, shared);
        }
        self.gave_up |= self.client.poll_close().is_some();
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::SessionLost { .. } => self.own.clear(),
                ClientEvent::Refused { object, .. } | ClientEvent::ObjectLeft { object, .. } => {
                    self.own.retain(|it| *it != object);
                }
                _ => {}
            }
        }
        shots
    }

    /// Moves its object, like a player.
    fn play(&mut self, now: LocalInstant, shared: SharedInstant) {
        if self.attack == Attack::ObjectStorm {
            return self.storm(now);
        }
        if self.own.is_empty() {
            self.own.extend(self.client.create(self.class, b"attacker", now));
        }
        let secs = (shared.as_micros() % 1_000_000_000) as f64 / 1e6;
        let ahead = Vec2::from_heading(0.7 * secs);
        let mut state = State::moving(ahead * 30.0, ahead.perpendicular() * 21.0);
        if self.attack == Attack::Absurdities {
            let huge = [1e9, 1e15, 9e29][self.random.below(3) as usize]
                * if self.random.chance(0.5) { -1.0 } else { 1.0 };
            state = State::moving(Vec2::new(huge, -huge), Vec2::new(-huge, huge));
        }
        for object in self.own.clone() {
            let _ = self.client.observe(object, Observation::Moved(state), now);
        }
    }

    /// Creates and destroys objects, and moves all of them randomly.
    fn storm(&mut self, now: LocalInstant) {
        for _ in 0..STORM {
            self.own.extend(self.client.create(self.class, &[7; 64], now));
        }
        for _ in 0..STORM / 2 {
            if !self.own.is_empty() && self.random.chance(0.5) {
                let object = self.own.swap_remove(self.random.below(self.own.len() as u64) as usize);
                let _ = self.client.destroy(object);
            }
        }
        for object in self.own.clone() {
            let mut any = || self.random.between(-WITHIN, WITHIN);
            let state = State::moving(Vec2::new(any(), any()), Vec2::new(any(), any()));
            let _ = self.client.observe(object, Observation::Jumped(state), now);
        }
    }

    /// Returns the messages of its client.
    fn words(&mut self, now: LocalInstant) -> Vec<AttackStep> {
        let client = &mut self.client;
        let mut shots: Vec<AttackStep> =
            std::iter::from_fn(|| client.poll_stream(now)).map(AttackStep::Stream).collect();
        shots.extend(std::iter::from_fn(|| client.poll_unordered()).map(AttackStep::Unordered));
        shots.extend(std::iter::from_fn(|| client.poll_datagram(now, 1_150)).map(AttackStep::Datagram));
        shots
    }

    /// Modifies the messages of its client.
    fn twist(&mut self, shots: &mut [AttackStep], now: SharedInstant) {
        for shot in shots {
            let AttackStep::Datagram(datagram) = shot else {
                if let (Attack::Mutations, AttackStep::Stream(bytes) | AttackStep::Unordered(bytes)) =
                    (self.attack, shot)
                    && self.random.chance(0.2)
                {
                    turn_a_bit(bytes, &mut self.random);
                }
                continue;
            };
            let twisted = match self.attack {
                Attack::Mutations if self.random.chance(0.2) => {
                    let mut mutated = datagram.clone();
                    turn_a_bit(&mut mutated, &mut self.random);
                    Some(mutated)
                }
                Attack::Replays => {
                    self.kept.push_back(datagram.clone());
                    // Some stay for good and become very old.
                    if self.kept.len() > KEPT_MAX {
                        self.kept.remove(KEPT_MAX / 2);
                    }
                    None
                }
                Attack::Thief => self.with_victims(datagram, now),
                Attack::SequenceJumps => self.with_far_numbers(datagram, now),
                Attack::TimeJumps => self.with_far_times(datagram, now),
                Attack::LateReceipts => with_later_receipts(datagram, now, LATER),
                Attack::NoReceipts => rewritten(datagram, now, |_, _, parts| {
                    parts.retain(|part| !matches!(part, Part::Feedback(_)));
                }),
                _ => None,
            };
            if let Some(twisted) = twisted {
                *datagram = twisted;
            }
        }
    }

    /// Adds messages that a real client would not send.
    fn add(&mut self, shots: &mut Vec<AttackStep>, now: SharedInstant) {
        match self.attack {
            // Not at once: the session must be established first.
            Attack::Garbage if self.random.chance(0.1) => {
                let garbage = self.garbage();
                let way_in = [AttackStep::Stream, AttackStep::Unordered, AttackStep::Datagram]
                    [self.random.below(3) as usize];
                shots.push(way_in(garbage));
            }
            Attack::Replays => {
                let again = (0..EXTRA).filter_map(|_| {
                    let at = self.random.below(self.kept.len().max(1) as u64) as usize;
                    self.kept.get(at).cloned()
                });
                shots.extend(again.map(AttackStep::Datagram));
            }
            Attack::HalfOpen => shots.push(AttackStep::OpenSilently),
            Attack::NeverReads => self.ask_for_answers(shots),
            Attack::Floods => self.flood(shots, now),
            Attack::Thief => self.steal(shots),
            Attack::NotNumbers if self.random.chance(0.2) => {
                let datagram = self.not_numbers(now);
                shots.extend(datagram.map(AttackStep::Datagram));
            }
            _ => {}
        }
    }

    fn garbage(&mut self) -> Vec<u8> {
        let length = self.random.below(300);
        (0..length).map(|_| self.random.bits() as u8).collect()
    }

    /// Sends messages that the server must answer on the stream.
    fn ask_for_answers(&mut self, shots: &mut Vec<AttackStep>) {
        for _ in 0..4 {
            let mut bytes = Vec::new();
            Message::Claim(EntityId(self.random.bits() as u32), 0).frame(&mut bytes);
            shots.push(AttackStep::Stream(bytes));
        }
    }

    fn flood(&mut self, shots: &mut Vec<AttackStep>, now: SharedInstant) {
        let Some(datagram) = shots.iter().find_map(|shot| match shot {
            AttackStep::Datagram(datagram) => Some(datagram.clone()),
            _ => None,
        }) else {
            return;
        };
        let call = Call { target: Target::Connection, from: Party::Server, method: 1, bytes: vec![0; 8] };
        let flooded = self.flooded.wrapping_add(1);
        self.flooded = self.flooded.wrapping_add(EXTRA as u16);
        for ahead in 0..EXTRA {
            let more = rewritten(&datagram, now, |header, _, parts| {
                // A number that the server has not seen.
                header.packet = WirePacketNumber(header.packet.0.wrapping_add(flooded + ahead as u16));
                // Past the limits of the client, which refuses to call so fast.
                parts.extend((0..CALLS_AT_ONCE).map(|_| Part::Unreliable(call.clone())));
            });
            shots.extend(more.map(AttackStep::Datagram));
        }
    }

    fn steal(&mut self, shots: &mut Vec<AttackStep>) {
        let victims: Vec<EntityId> =
            self.client.objects().filter(|object| !self.own.contains(object)).collect();
        for victim in victims.into_iter().take(EXTRA) {
            let call =
                Call { target: Target::Viewers(victim), from: Party::Server, method: 9, bytes: vec![] };
            for message in [
                Message::Claim(victim, 0),
                Message::Release(victim, 0),
                Message::Destroy(victim),
                Message::Call(call),
            ] {
                let mut bytes = Vec::new();
                message.frame(&mut bytes);
                shots.push(AttackStep::Stream(bytes));
            }
        }
    }

    /// Returns the datagram with updates and states of other clients' objects added.
    fn with_victims(&mut self, datagram: &[u8], now: SharedInstant) -> Option<Vec<u8>> {
        let victims: Vec<EntityId> =
            self.client.objects().filter(|object| !self.own.contains(object)).collect();
        rewritten(datagram, now, |_, vectors, parts| {
            for victim in victims.into_iter().take(EXTRA) {
                vectors.push(straight(victim, Vec2::new(999.0, 999.0), now));
                parts.push(Part::State(victim, Group { group: 0, number: u64::MAX, bytes: vec![1] }));
            }
            vectors.sort_by_key(|vector| vector.entity);
            vectors.dedup_by_key(|vector| vector.entity);
        })
    }

    fn with_far_numbers(&mut self, datagram: &[u8], now: SharedInstant) -> Option<Vec<u8>> {
        let far = self.random.bits();
        let own = self.own.first().copied();
        let is_rude = self.random.chance(0.05);
        rewritten(datagram, now, |header, _, parts| {
            header.packet = WirePacketNumber(far as u16);
            if let Some(own) = own {
                parts.push(Part::State(own, Group { group: 0, number: far, bytes: vec![0] }));
            }
            if is_rude {
                let call = Call { target: Target::Connection, from: Party::Server, method: 2, bytes: vec![] };
                parts.push(Part::Quickest(far, call));
            }
        })
    }

    fn with_far_times(&mut self, datagram: &[u8], now: SharedInstant) -> Option<Vec<u8>> {
        let by = Span::from_secs_f64(self.random.between(-120.0, 120.0));
        let sent_by = if self.random.chance(0.5) { by } else { Span::ZERO };
        rewritten(datagram, now, |header, vectors, _| {
            header.sent_at += sent_by;
            vectors.iter_mut().for_each(|vector| vector.generated_at += by);
        })
    }

    /// Returns motion with an infinite number: no encoder writes it, so it overwrites another one.
    fn not_numbers(&mut self, now: SharedInstant) -> Option<Vec<u8>> {
        const ELSE: f64 = 1e29;
        let header =
            Header { packet: PacketNumber(self.random.bits()).on_wire(), sent_at: now, ..Header::default() };
        let vector = straight(*self.own.first()?, Vec2::new(ELSE, 0.0), now);
        let mut updates = Vec::new();
        encode_updates(&Precision::default(), &header, &[vector], &mut updates).ok()?;
        let none = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN][self.random.below(3) as usize];
        let bits: String = updates.iter().map(|byte| format!("{byte:08b}")).collect();
        let forged = bits.replace(&format!("{:064b}", ELSE.to_bits()), &format!("{:064b}", none.to_bits()));
        let byte = |chunk: &[u8]| u8::from_str_radix(std::str::from_utf8(chunk).ok()?, 2).ok();
        let updates: Vec<u8> = forged.as_bytes().chunks(8).map(byte).collect::<Option<_>>()?;
        let mut datagram = Vec::new();
        Datagram { updates: &updates, parts: Vec::new() }.encode(&mut datagram);
        Some(datagram)
    }
}

fn straight(entity: EntityId, position: Vec2, now: SharedInstant) -> DrVector<Vec2> {
    let motion = Motion::Linear(Linear { position, velocity: Vec2::new(5.0, 0.0) });
    let (life, generation) = (Life::default(), Generation::default());
    DrVector { entity, life, generation, generated_at: now, motion, attitude: None, parent: None }
}

fn turn_a_bit(bytes: &mut [u8], random: &mut Random) {
    if !bytes.is_empty() {
        let at = random.below(8 * bytes.len() as u64) as usize;
        bytes[at / 8] ^= 1 << (at % 8);
    }
}

/// Returns the datagram after `change`; `None` if it cannot be encoded any more.
fn rewritten(
    datagram: &[u8],
    now: SharedInstant,
    edit: impl FnOnce(&mut Header, &mut Vec<DrVector<Vec2>>, &mut Vec<Part>),
) -> Option<Vec<u8>> {
    let precision = Precision::default();
    let taken_apart = Datagram::decode(datagram).ok()?;
    let mut updates = decode_updates::<Vec2>(&precision, now, taken_apart.updates).ok()?;
    let mut parts = taken_apart.parts;
    edit(&mut updates.header, &mut updates.vectors, &mut parts);
    let (mut vectors, mut bytes) = (Vec::new(), Vec::new());
    encode_updates(&precision, &updates.header, &updates.vectors, &mut vectors).ok()?;
    Datagram { updates: &vectors, parts }.encode(&mut bytes);
    Some(bytes)
}
