//! The messages of a session and their encoding: PROTOCOL.md, sections 11 to 13.
//!
//! [`Message`]s travel on the ordered stream, [`UnorderedMessage`]s as independent messages,
//! [`Part`]s in datagrams behind the DR vectors. Any byte string decodes or returns an error; a
//! message that decodes encodes to the same bytes.

use super::codec::{MessageError, Reader, put_bytes, put_signed, put_varint};
use super::error::{CloseReason, Refusal};
use super::limits::{
    AUTHENTICATION_BYTES_MAX, CALL_BYTES_MAX, CREATION_BYTES_MAX, DATAGRAM_ITEM_BYTES_MAX,
    GAME_NAME_BYTES_MAX, GROUPS_MAX, MOTION_BYTES_MAX, OUTBOX_BYTES_MAX, QUICKEST_BYTES_MAX,
    STREAM_MESSAGE_BYTES_MAX, UNORDERED_WINDOW,
};
use super::protocol::GameId;
use super::settings::Settings;
use super::{ClassId, ClientId, Party, Token};
use crate::clock::{Reply, Request};
use crate::number::EntityId;
use crate::place::Placement;
use crate::time::SharedInstant;

/// The version of the session protocol.
pub const SESSION_VERSION: u8 = 3;

/// A message on the ordered stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// The client's first message: its identity, and the session to resume.
    Hello(Hello),
    /// The server's answer.
    Welcome(Welcome),
    /// Which reliable messages have arrived, and when the announcements among them did.
    Confirm(Confirmation),
    /// The client created an object.
    Create(Announcement),
    /// The client destroyed an object that it owns.
    Destroy(EntityId),
    /// The client claims an object; the number is the term of ownership that it knows.
    Claim(EntityId, u64),
    /// The client returns an object to the server; the number is the term that it knows.
    Release(EntityId, u64),
    /// A reliable, ordered call.
    Call(Call),
    /// The server shows an object.
    Enter(Announcement),
    /// The server no longer shows an object; the flag says whether it was destroyed.
    Leave(EntityId, bool),
    /// An object has a new owner, in this term of ownership.
    Owned(EntityId, Party, u64),
    /// Ids that the client may use for objects: the first, and their number.
    Ids(u32, u32),
    /// The server refused an action on this object.
    Refused(EntityId, Refusal),
}

/// The client's first message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The client's version of the session protocol.
    pub version: u8,
    /// Dimensions of the world, 2 or 3.
    pub dimensions: u8,
    /// Fingerprint of the precision of DR vectors.
    pub precision: u32,
    /// The game: the server's must be the same.
    pub game: GameId,
    /// Proof of the player's identity, for the server's [`Admission`](super::Admission).
    pub authentication: Vec<u8>,
    /// A request for the server's time.
    pub clock: Request,
    /// The session to resume, if there is one.
    pub resume: Option<Resume>,
}

/// A session that lost its transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The token from the server's [`Welcome`].
    pub token: Token,
    /// The server's epoch in the session to resume.
    pub epoch: u64,
    /// Reliable messages that the client has received.
    pub received: Received,
}

/// The server's answer to [`Hello`].
#[derive(Clone, Debug, PartialEq)]
pub struct Welcome {
    /// The client's id in this session.
    pub client: ClientId,
    /// Proves later that it is the same client.
    pub token: Token,
    /// The server's epoch, a number for this run.
    pub epoch: u64,
    /// How clients place updates.
    pub placement: Placement,
    /// The settings that clients take from the server.
    pub settings: Settings,
    /// The answer to the client's request for the time.
    pub clock: Reply,
    /// Whether the session is new.
    pub outcome: Outcome,
}

/// Whether a session is new or resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The session is new. The client may use these ids for objects: the first, and their number.
    New(u32, u32),
    /// The session is resumed; the server has received these messages.
    Resumed(Received),
}

/// Which reliable messages of a session have arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Number of ordered messages received.
    pub ordered: u64,
    /// All unordered messages below this number were received.
    pub unordered: u64,
    /// Unordered messages received above that number, ascending.
    pub beyond: Vec<u64>,
}

/// Which reliable messages of a session have arrived, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confirmation {
    /// The messages that have arrived.
    pub received: Received,
    /// When announcements with a motion arrived since the last confirmation, ascending by number.
    /// At most [`ARRIVALS_MAX`].
    pub arrivals: Vec<AnnouncementArrival>,
}

/// When an announcement arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnnouncementArrival {
    /// The number of the announcement among all counted messages of its direction.
    pub number: u64,
    /// When its reader began to follow the motion in it.
    pub at: SharedInstant,
}

/// Most arrivals in one confirmation: more announcements than [`PAGE_BYTES`](super::limits::PAGE_BYTES)
/// of them unconfirmed can be.
pub const ARRIVALS_MAX: usize = 1024;

/// An object that a peer must learn of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The object.
    pub object: EntityId,
    /// Its class.
    pub class: ClassId,
    /// Its owner.
    pub owner: Party,
    /// Changes of ownership so far.
    pub term: u64,
    /// The bytes it was created with.
    pub creation: Vec<u8>,
    /// Its newest DR vector, as a message of one DR vector; empty if it has none.
    pub motion: Vec<u8>,
    /// The state groups with a value, ascending.
    pub groups: Vec<Group>,
}

/// The value of a state group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The number of the group, 0 to 31.
    pub group: u8,
    /// The number of the value: a higher number is newer.
    pub number: u64,
    /// The value.
    pub bytes: Vec<u8>,
}

/// A remote call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The target.
    pub target: Target,
    /// The caller. The server sets it; a client's value is ignored.
    pub from: Party,
    /// The method, as the game numbers it.
    pub method: u32,
    /// The arguments.
    pub bytes: Vec<u8>,
}

/// The target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The peer at the other end of the connection.
    Connection,
    /// The owner of this object.
    Owner(EntityId),
    /// Every peer that sees this object, except its owner.
    Viewers(EntityId),
}

impl Target {
    /// Returns the object of the target, if there is one.
    pub fn object(self) -> Option<EntityId> {
        match self {
            Self::Connection => None,
            Self::Owner(object) | Self::Viewers(object) => Some(object),
        }
    }
}

/// An independent message: a reliable call without an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnorderedMessage {
    /// The number of the message in its direction of the session.
    pub number: u64,
    /// The call.
    pub call: Call,
}

/// A part of a datagram besides the DR vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A request for the server's time.
    ClockRequest(Request),
    /// The server's time.
    ClockReply(Reply),
    /// A feedback message.
    Feedback(Vec<u8>),
    /// A quickest call and its number.
    Quickest(u64, Call),
    /// An unreliable call.
    Unreliable(Call),
    /// A state group of an object.
    State(EntityId, Group),
    /// A newest-state call and its number: of two with equal target and method the higher is newer.
    Newest(u64, Call),
}

impl Part {
    /// Returns whether the sender needs a receipt for this part. A clock reply wants one, so that a
    /// server with nothing else to send still measures the round trip.
    pub fn wants_receipt(&self) -> bool {
        matches!(self, Self::ClockReply(_) | Self::Quickest(..) | Self::State(..) | Self::Newest(..))
    }
}

/// A datagram, split into DR vectors and parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// A message of DR vectors, possibly none.
    pub updates: &'a [u8],
    /// The parts.
    pub parts: Vec<Part>,
}

impl Message {
    /// Returns whether the message is counted, confirmed and repeated.
    pub fn is_counted(&self) -> bool {
        !matches!(self, Self::Hello(_) | Self::Welcome(_) | Self::Confirm(_))
    }

    /// Returns the announcement of an object, if the message is one.
    pub fn announcement(&self) -> Option<&Announcement> {
        match self {
            Self::Create(announcement) | Self::Enter(announcement) => Some(announcement),
            _ => None,
        }
    }

    /// Appends the message, without its length on the stream.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello(hello) => hello.encode(out),
            Self::Welcome(welcome) => welcome.encode(out),
            Self::Confirm(confirmation) => {
                out.push(CONFIRM);
                confirmation.encode(out);
            }
            Self::Create(announcement) => announcement.encode(CREATE, out),
            Self::Destroy(object) => put(out, DESTROY, &[object.0.into()]),
            Self::Claim(object, term) => put(out, CLAIM, &[object.0.into(), *term]),
            Self::Release(object, term) => put(out, RELEASE, &[object.0.into(), *term]),
            Self::Call(call) => {
                out.push(CALL);
                call.encode(out);
            }
            Self::Enter(announcement) => announcement.encode(ENTER, out),
            Self::Leave(object, destroyed) => put(out, LEAVE, &[object.0.into(), u64::from(*destroyed)]),
            Self::Owned(object, owner, term) => put(out, OWNED, &[object.0.into(), owner.code(), *term]),
            Self::Ids(first, count) => put(out, IDS, &[(*first).into(), (*count).into()]),
            Self::Refused(object, refusal) => {
                put(out, REFUSED, &[object.0.into(), u64::from(refusal.code())]);
            }
        }
    }

    /// Reads a message, without its length on the stream.
    pub fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut reader = Reader::new(bytes);
        let message = match reader.u8()? {
            HELLO => Self::Hello(Hello::decode(&mut reader)?),
            WELCOME => Self::Welcome(Welcome::decode(&mut reader)?),
            CONFIRM => Self::Confirm(Confirmation::decode(&mut reader)?),
            CREATE => Self::Create(Announcement::decode(&mut reader)?),
            DESTROY => Self::Destroy(object(&mut reader)?),
            CLAIM => Self::Claim(object(&mut reader)?, reader.varint()?),
            RELEASE => Self::Release(object(&mut reader)?, reader.varint()?),
            CALL => Self::Call(Call::decode(&mut reader, CALL_BYTES_MAX)?),
            ENTER => Self::Enter(Announcement::decode(&mut reader)?),
            LEAVE => Self::Leave(object(&mut reader)?, reader.flag()?),
            OWNED => Self::Owned(object(&mut reader)?, party(&mut reader)?, reader.varint()?),
            IDS => {
                let (first, count) = ids(&mut reader)?;
                Self::Ids(first, count)
            }
            REFUSED => Self::Refused(object(&mut reader)?, refusal(&mut reader)?),
            other => return Err(MessageError::UnknownKind(other)),
        };
        reader.finish()?;
        Ok(message)
    }

    /// Appends the message with its length, as on the stream.
    pub fn frame(&self, out: &mut Vec<u8>) {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        debug_assert!(bytes.len() <= STREAM_MESSAGE_BYTES_MAX, "every message is bounded");
        put_bytes(out, &bytes);
    }
}

impl UnorderedMessage {
    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.number);
        self.call.encode(out);
    }

    /// Reads a message.
    pub fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut reader = Reader::new(bytes);
        let message = Self { number: reader.varint()?, call: Call::decode(&mut reader, CALL_BYTES_MAX)? };
        reader.finish()?;
        Ok(message)
    }
}

impl Part {
    /// Appends the part.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::ClockRequest(request) => put(out, CLOCK_REQUEST, &[request.id.into()]),
            Self::ClockReply(reply) => {
                out.push(CLOCK_REPLY);
                encode_reply(reply, out);
            }
            Self::Feedback(bytes) => {
                out.push(FEEDBACK);
                put_bytes(out, bytes);
            }
            Self::Quickest(number, call) => encode_numbered(QUICKEST, *number, call, out),
            Self::Unreliable(call) => {
                out.push(UNRELIABLE);
                call.encode(out);
            }
            Self::State(object, group) => {
                put(out, STATE, &[object.0.into()]);
                group.encode(out);
            }
            Self::Newest(number, call) => encode_numbered(NEWEST, *number, call, out),
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, MessageError> {
        Ok(match reader.u8()? {
            CLOCK_REQUEST => Self::ClockRequest(Request { id: reader.varint_u32()? }),
            CLOCK_REPLY => Self::ClockReply(decode_reply(reader)?),
            FEEDBACK => Self::Feedback(reader.bytes(usize::MAX)?.to_vec()),
            QUICKEST => Self::Quickest(reader.varint()?, Call::decode(reader, QUICKEST_BYTES_MAX)?),
            UNRELIABLE => Self::Unreliable(Call::decode(reader, DATAGRAM_ITEM_BYTES_MAX)?),
            STATE => Self::State(object(reader)?, Group::decode(reader)?),
            NEWEST => Self::Newest(reader.varint()?, Call::decode(reader, DATAGRAM_ITEM_BYTES_MAX)?),
            other => return Err(MessageError::UnknownKind(other)),
        })
    }
}

impl<'a> Datagram<'a> {
    /// Appends a datagram of these encoded DR vectors and parts.
    pub(super) fn join(updates: &[u8], parts: &[u8], out: &mut Vec<u8>) {
        put_bytes(out, updates);
        out.extend_from_slice(parts);
    }

    /// Reads a datagram.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, MessageError> {
        let mut reader = Reader::new(bytes);
        let updates = reader.bytes(usize::MAX)?;
        let mut parts = Vec::new();
        while !reader.is_empty() {
            parts.push(Part::decode(&mut reader)?);
        }
        Ok(Self { updates, parts })
    }

    /// Appends the datagram.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut parts = Vec::new();
        self.parts.iter().for_each(|part| part.encode(&mut parts));
        Self::join(self.updates, &parts, out);
    }
}

const HELLO: u8 = 0;
const WELCOME: u8 = 1;
const CONFIRM: u8 = 2;
const CREATE: u8 = 8;
const DESTROY: u8 = 9;
const CLAIM: u8 = 10;
const RELEASE: u8 = 11;
const CALL: u8 = 12;
const ENTER: u8 = 16;
const LEAVE: u8 = 17;
const OWNED: u8 = 18;
const IDS: u8 = 19;
const REFUSED: u8 = 20;

const CLOCK_REQUEST: u8 = 0;
const CLOCK_REPLY: u8 = 1;
const FEEDBACK: u8 = 2;
const QUICKEST: u8 = 3;
const UNRELIABLE: u8 = 4;
const STATE: u8 = 5;
const NEWEST: u8 = 6;

/// Appends a kind and some numbers.
fn put(out: &mut Vec<u8>, kind: u8, numbers: &[u64]) {
    out.push(kind);
    numbers.iter().for_each(|number| put_varint(out, *number));
}

fn object(reader: &mut Reader<'_>) -> Result<EntityId, MessageError> {
    Ok(EntityId(reader.varint_u32()?))
}

fn party(reader: &mut Reader<'_>) -> Result<Party, MessageError> {
    Party::from_code(reader.varint()?).ok_or(MessageError::OutOfRange)
}

fn refusal(reader: &mut Reader<'_>) -> Result<Refusal, MessageError> {
    let code = reader.u8()?;
    Refusal::from_code(code).ok_or(MessageError::UnknownKind(code))
}

fn ids(reader: &mut Reader<'_>) -> Result<(u32, u32), MessageError> {
    let (first, count) = (reader.varint_u32()?, reader.varint_u32()?);
    first.checked_add(count).ok_or(MessageError::OutOfRange)?;
    Ok((first, count))
}

fn encode_numbered(kind: u8, number: u64, call: &Call, out: &mut Vec<u8>) {
    put(out, kind, &[number]);
    call.encode(out);
}

/// Appends a reply. Its second stamp is not before its first.
fn encode_reply(reply: &Reply, out: &mut Vec<u8>) {
    put_varint(out, reply.id.into());
    put_signed(out, reply.received.as_micros());
    put_varint(out, (reply.sent - reply.received).as_micros().max(0) as u64);
}

fn decode_reply(reader: &mut Reader<'_>) -> Result<Reply, MessageError> {
    let (id, received, held) = (reader.varint_u32()?, reader.signed()?, reader.varint()?);
    let sent = i64::try_from(held).ok().and_then(|held| received.checked_add(held));
    let sent = SharedInstant::from_micros(sent.ok_or(MessageError::OutOfRange)?);
    Ok(Reply { id, received: SharedInstant::from_micros(received), sent })
}

impl Hello {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend([HELLO, self.version, self.dimensions]);
        out.extend(self.precision.to_le_bytes());
        put_bytes(out, self.game.name.as_bytes());
        put_varint(out, self.game.version.into());
        out.extend(self.game.fingerprint.to_le_bytes());
        put_bytes(out, &self.authentication);
        put_varint(out, self.clock.id.into());
        out.push(u8::from(self.resume.is_some()));
        if let Some(resume) = &self.resume {
            out.extend(resume.token.0);
            out.extend(resume.epoch.to_le_bytes());
            resume.received.encode(out);
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, MessageError> {
        let version = reader.u8()?;
        if version != SESSION_VERSION {
            // What follows is written in another way.
            return Err(MessageError::OtherVersion(version));
        }
        let dimensions = reader.u8()?;
        let precision = u32::from_le_bytes(reader.array()?);
        let name = std::str::from_utf8(reader.bytes(GAME_NAME_BYTES_MAX)?);
        let name = name.map_err(|_| MessageError::NotCanonical)?.to_owned();
        let game_version = reader.varint_u32()?;
        let fingerprint = u64::from_le_bytes(reader.array()?);
        let game = GameId { name, version: game_version, fingerprint };
        let authentication = reader.bytes(AUTHENTICATION_BYTES_MAX)?.to_vec();
        let clock = Request { id: reader.varint_u32()? };
        let resume = if reader.flag()? {
            let (token, epoch) = (Token(reader.array()?), u64::from_le_bytes(reader.array()?));
            Some(Resume { token, epoch, received: Received::decode(reader)? })
        } else {
            None
        };
        Ok(Self { version, dimensions, precision, game, authentication, clock, resume })
    }
}

impl Welcome {
    fn encode(&self, out: &mut Vec<u8>) {
        put(out, WELCOME, &[self.client.0.into()]);
        out.extend(self.token.0);
        out.extend(self.epoch.to_le_bytes());
        out.push(match self.placement {
            Placement::Local => 0,
            Placement::Global => 1,
            Placement::Hop => 2,
        });
        self.settings.encode(out);
        encode_reply(&self.clock, out);
        match &self.outcome {
            Outcome::New(first, count) => put(out, 0, &[(*first).into(), (*count).into()]),
            Outcome::Resumed(received) => {
                out.push(1);
                received.encode(out);
            }
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, MessageError> {
        let client = ClientId(reader.varint_u32()?);
        let (token, epoch) = (Token(reader.array()?), u64::from_le_bytes(reader.array()?));
        let placement = match reader.u8()? {
            0 => Placement::Local,
            1 => Placement::Global,
            2 => Placement::Hop,
            other => return Err(MessageError::UnknownKind(other)),
        };
        let settings = Settings::decode(reader)?;
        let clock = decode_reply(reader)?;
        let outcome = if reader.flag()? {
            Outcome::Resumed(Received::decode(reader)?)
        } else {
            let (first, count) = ids(reader)?;
            Outcome::New(first, count)
        };
        Ok(Self { client, token, epoch, placement, settings, clock, outcome })
    }
}

impl Received {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.ordered);
        put_varint(out, self.unordered);
        put_varint(out, self.beyond.len() as u64);
        let mut before = self.unordered;
        for number in &self.beyond {
            // The first number above `unordered` did not arrive, so differences are at least one.
            put_varint(out, number - before - 1);
            before = *number;
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, MessageError> {
        let (ordered, unordered, count) = (reader.varint()?, reader.varint()?, reader.varint()?);
        if count > UNORDERED_WINDOW {
            return Err(MessageError::OutOfRange);
        }
        let mut beyond = Vec::new();
        let mut before = unordered;
        for _ in 0..count {
            let number = before.checked_add(reader.varint()?).and_then(|number| number.checked_add(1));
            before = number.ok_or(MessageError::OutOfRange)?;
            beyond.push(before);
        }
        Ok(Self { ordered, unordered, beyond })
    }
}

impl Confirmation {
    fn encode(&self, out: &mut Vec<u8>) {
        self.received.encode(out);
        put_varint(out, self.arrivals.len() as u64);
        let Some(first) = self.arrivals.first() else { return };
        put_signed(out, first.at.as_micros());
        put_varint(out, self.received.ordered - first.number - 1);
        for [before, next] in self.arrivals.array_windows() {
            put_varint(out, next.number - before.number - 1);
            put_signed(out, (next.at - before.at).as_micros());
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, MessageError> {
        let received = Received::decode(reader)?;
        let count = reader.varint()?;
        if count > ARRIVALS_MAX as u64 {
            return Err(MessageError::OutOfRange);
        }
        let mut arrivals: Vec<AnnouncementArrival> = Vec::new();
        for _ in 0..count {
            let (number, micros) = match arrivals.last() {
                None => {
                    let micros = reader.signed()?;
                    let back = reader.varint()?.checked_add(1);
                    (back.and_then(|back| received.ordered.checked_sub(back)), Some(micros))
                }
                Some(before) => {
                    let number = before.number.checked_add(1);
                    let number =
                        number.zip(Some(reader.varint()?)).and_then(|(next, by)| next.checked_add(by));
                    (number, before.at.as_micros().checked_add(reader.signed()?))
                }
            };
            let number = number.filter(|number| *number < received.ordered);
            let micros = micros.filter(|micros| micros.unsigned_abs() <= INSTANT_MAX);
            let (number, micros) = number.zip(micros).ok_or(MessageError::OutOfRange)?;
            arrivals.push(AnnouncementArrival { number, at: SharedInstant::from_micros(micros) });
        }
        Ok(Self { received, arrivals })
    }
}

/// Instants beyond ±2^60 µs are refused, as in DR vectors and feedback.
const INSTANT_MAX: u64 = 1 << 60;

impl Announcement {
    fn encode(&self, kind: u8, out: &mut Vec<u8>) {
        put(out, kind, &[self.object.0.into(), u64::from(self.class.0), self.owner.code(), self.term]);
        put_bytes(out, &self.creation);
        put_bytes(out, &self.motion);
        out.push(self.groups.len() as u8);
        self.groups.iter().for_each(|group| group.encode(out));
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, MessageError> {
        let (object, class) = (object(reader)?, ClassId(reader.varint_u32()?));
        let (owner, term) = (party(reader)?, reader.varint()?);
        let creation = reader.bytes(CREATION_BYTES_MAX)?.to_vec();
        let motion = reader.bytes(MOTION_BYTES_MAX)?.to_vec();
        let count = usize::from(reader.u8()?);
        if count > GROUPS_MAX {
            return Err(MessageError::OutOfRange);
        }
        let mut groups: Vec<Group> = Vec::new();
        for _ in 0..count {
            let group = Group::decode(reader)?;
            if groups.last().is_some_and(|last| last.group >= group.group) {
                return Err(MessageError::NotCanonical);
            }
            groups.push(group);
        }
        Ok(Self { object, class, owner, term, creation, motion, groups })
    }
}

impl Group {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.group);
        put_varint(out, self.number);
        put_bytes(out, &self.bytes);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, MessageError> {
        let group = reader.u8()?;
        if usize::from(group) >= GROUPS_MAX {
            return Err(MessageError::OutOfRange);
        }
        let number = reader.varint()?;
        Ok(Self { group, number, bytes: reader.bytes(DATAGRAM_ITEM_BYTES_MAX)?.to_vec() })
    }
}

impl Call {
    fn encode(&self, out: &mut Vec<u8>) {
        match self.target {
            Target::Connection => out.push(0),
            Target::Owner(object) => put(out, 1, &[object.0.into()]),
            Target::Viewers(object) => put(out, 2, &[object.0.into()]),
        }
        put_varint(out, self.from.code());
        put_varint(out, self.method.into());
        put_bytes(out, &self.bytes);
    }

    fn decode(reader: &mut Reader<'_>, bytes_max: usize) -> Result<Self, MessageError> {
        let target = match reader.u8()? {
            0 => Target::Connection,
            1 => Target::Owner(object(reader)?),
            2 => Target::Viewers(object(reader)?),
            other => return Err(MessageError::UnknownKind(other)),
        };
        let (from, method) = (party(reader)?, reader.varint_u32()?);
        Ok(Self { target, from, method, bytes: reader.bytes(bytes_max)?.to_vec() })
    }
}

/// Most stream bytes that wait for a complete message: a full outbox with its lengths.
const FRAMES_BYTES_MAX: usize = 2 * OUTBOX_BYTES_MAX;

/// Splits the bytes of an ordered stream into messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames {
    buffered: Vec<u8>,
}

impl Frames {
    /// Adds received bytes in any pieces. An honest peer has at most a full outbox in flight.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        if self.buffered.len() + bytes.len() > FRAMES_BYTES_MAX {
            return Err(CloseReason::Malformed);
        }
        self.buffered.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn next(&mut self) -> Result<Option<Message>, CloseReason> {
        let mut reader = Reader::new(&self.buffered);
        let bytes = match reader.bytes(STREAM_MESSAGE_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(MessageError::Truncated) => return Ok(None),
            Err(_) => return Err(CloseReason::Malformed),
        };
        let message = Message::decode(bytes).map_err(|error| match error {
            MessageError::OtherVersion(_) => CloseReason::WrongVersion,
            _ => CloseReason::Malformed,
        })?;
        let used = self.buffered.len() - reader.left();
        self.buffered.drain(..used);
        Ok(Some(message))
    }
}
