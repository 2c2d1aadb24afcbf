//! What peers of a session say to each other, and how it is spelt: PROTOCOL.md, sections 11 to 13.
//!
//! [`Message`]s travel on the ordered stream, [`UnorderedMessage`]s as independent messages,
//! [`Part`]s in datagrams behind the DR vectors. Everything decodes or is refused; what decodes,
//! encodes to the same bytes.

use super::codec::{MessageError, Reader, put_bytes, put_signed, put_varint};
use super::error::{CloseReason, Refusal};
use super::limits::{
    AUTHENTICATION_BYTES_MAX, CALL_BYTES_MAX, CREATION_BYTES_MAX, DATAGRAM_ITEM_BYTES_MAX, GROUPS_MAX,
    OUTBOX_BYTES_MAX, QUICKEST_BYTES_MAX, STREAM_MESSAGE_BYTES_MAX, UNORDERED_WINDOW,
};
use super::{ClassId, ClientId, Party, Token};
use crate::clock::{Reply, Request};
use crate::number::EntityId;
use crate::place::Placement;
use crate::time::SharedInstant;

/// The version of the session protocol that this library speaks.
pub const SESSION_VERSION: u8 = 1;

/// A message on the ordered stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The client's first: who it is, and which session it wants to go on with.
    Hello(Hello),
    /// The server's answer.
    Welcome(Welcome),
    /// Which reliable messages have arrived.
    Confirm(Received),
    /// The client made an object.
    Create(Announcement),
    /// The client destroys an object of its own.
    Destroy(EntityId),
    /// The client wants to own an object, which it last knew in this term of ownership.
    Claim(EntityId, u64),
    /// The client gives an object back to the server.
    Release(EntityId, u64),
    /// A call that is reliable and in order.
    Call(Call),
    /// The server shows an object.
    Enter(Announcement),
    /// The server shows an object no more; whether it is destroyed.
    Leave(EntityId, bool),
    /// An object has another owner, in this term.
    Owned(EntityId, Party, u64),
    /// Ids that the client may use for objects: the first, and how many.
    Ids(u32, u32),
    /// Something the client did was refused: about which object, and why.
    Refused(EntityId, Refusal),
}

/// The client's first message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The session protocol it speaks.
    pub version: u8,
    /// 2 or 3.
    pub dimensions: u8,
    /// Of the precision of DR vectors.
    pub fingerprint: u32,
    /// Proves who it is, to whom it concerns.
    pub authentication: Vec<u8>,
    /// "What time is it?"
    pub clock: Request,
    /// The session to go on with, if there is one.
    pub resume: Option<Resume>,
}

/// A session that lost its transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// What the server gave the client at the beginning.
    pub token: Token,
    /// Which run of the server that was.
    pub epoch: u64,
    /// What the client has received.
    pub received: Received,
}

/// The server's answer to [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// What the client is called from now on.
    pub client: ClientId,
    /// Proves, later, that it is the same client.
    pub token: Token,
    /// Which run of the server this is.
    pub epoch: u64,
    /// How updates are to be placed.
    pub placement: Placement,
    /// The answer to the client's question.
    pub clock: Reply,
    /// How it begins.
    pub outcome: Outcome,
}

/// Whether a session goes on or begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is a new one. The client may use these ids for objects: the first, and how many.
    New(u32, u32),
    /// It goes on; this is what the server has received in it.
    Resumed(Received),
}

/// Which reliable messages of a session have arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// How many of the ordered ones.
    pub ordered: u64,
    /// All unordered ones below this number.
    pub unordered: u64,
    /// And these above it, ascending.
    pub beyond: Vec<u64>,
}

/// An object that somebody must learn of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// What it is called.
    pub object: EntityId,
    /// What it is.
    pub class: ClassId,
    /// Whose it is.
    pub owner: Party,
    /// How often that has changed.
    pub term: u64,
    /// What it was created with.
    pub creation: Vec<u8>,
    /// The state groups that have a value, ascending.
    pub groups: Vec<Group>,
}

/// The value of a state group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Which: 0 to 31.
    pub group: u8,
    /// Of two values the one with the higher number is newer.
    pub number: u64,
    /// The value.
    pub bytes: Vec<u8>,
}

/// A remote call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// On whom or what.
    pub target: Target,
    /// Who calls. Only the server's word counts: what a client says here is not looked at.
    pub from: Party,
    /// What to do, as the game numbers it.
    pub method: u32,
    /// With what.
    pub bytes: Vec<u8>,
}

/// On whom or what a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The peer at the other end.
    Connection,
    /// Whoever owns this object.
    Owner(EntityId),
    /// Everybody who sees this object, except its owner.
    Viewers(EntityId),
}

impl Target {
    /// The object it is about.
    pub fn object(self) -> Option<EntityId> {
        match self {
            Self::Connection => None,
            Self::Owner(object) | Self::Viewers(object) => Some(object),
        }
    }
}

/// An independent message: a call that is reliable, in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnorderedMessage {
    /// Counts the unordered messages of one direction of a session.
    pub number: u64,
    /// What it says.
    pub call: Call,
}

/// Something in a datagram besides DR vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// "What time is it?"
    ClockRequest(Request),
    /// The answer.
    ClockReply(Reply),
    /// A feedback message.
    Feedback(Vec<u8>),
    /// A quickest call, and which one.
    Quickest(u64, Call),
    /// A call that may be lost.
    Unreliable(Call),
    /// A state group of an object.
    State(EntityId, Group),
    /// A newest-state call, and its number: of two with the same target and method the higher is
    /// newer.
    Newest(u64, Call),
}

impl Part {
    /// Whether its sender needs to know that it arrived. Of a clock reply, so that a server that
    /// has nothing else to say still knows how far away its client is.
    pub fn wants_receipt(&self) -> bool {
        matches!(self, Self::ClockReply(_) | Self::Quickest(..) | Self::State(..) | Self::Newest(..))
    }
}

/// A datagram, taken apart as far as whole bytes go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// A message of DR vectors, possibly none.
    pub updates: &'a [u8],
    /// What comes with it.
    pub parts: Vec<Part>,
}

impl Message {
    /// Whether it is one of those that are counted, confirmed and repeated.
    pub fn is_counted(&self) -> bool {
        !matches!(self, Self::Hello(_) | Self::Welcome(_) | Self::Confirm(_))
    }

    /// Appends the message, without the length that goes before it on the stream.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello(hello) => hello.encode(out),
            Self::Welcome(welcome) => welcome.encode(out),
            Self::Confirm(received) => {
                out.push(CONFIRM);
                received.encode(out);
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

    /// Reads a message, without the length that goes before it on the stream.
    pub fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut reader = Reader::new(bytes);
        let message = match reader.u8()? {
            HELLO => Self::Hello(Hello::decode(&mut reader)?),
            WELCOME => Self::Welcome(Welcome::decode(&mut reader)?),
            CONFIRM => Self::Confirm(Received::decode(&mut reader)?),
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

    /// Appends the message as it stands on the stream.
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

    /// Takes a datagram apart.
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

/// A kind and some numbers.
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

/// A reply's second stamp is not before its first.
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
        out.extend(self.fingerprint.to_le_bytes());
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
        let [version, dimensions] = reader.array()?;
        let fingerprint = u32::from_le_bytes(reader.array()?);
        let authentication = reader.bytes(AUTHENTICATION_BYTES_MAX)?.to_vec();
        let clock = Request { id: reader.varint_u32()? };
        let resume = if reader.flag()? {
            let (token, epoch) = (Token(reader.array()?), u64::from_le_bytes(reader.array()?));
            Some(Resume { token, epoch, received: Received::decode(reader)? })
        } else {
            None
        };
        Ok(Self { version, dimensions, fingerprint, authentication, clock, resume })
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
        let clock = decode_reply(reader)?;
        let outcome = if reader.flag()? {
            Outcome::Resumed(Received::decode(reader)?)
        } else {
            let (first, count) = ids(reader)?;
            Outcome::New(first, count)
        };
        Ok(Self { client, token, epoch, placement, clock, outcome })
    }
}

impl Received {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.ordered);
        put_varint(out, self.unordered);
        put_varint(out, self.beyond.len() as u64);
        let mut before = self.unordered;
        for number in &self.beyond {
            // The number after all that arrived is one that did not: differences are at least one.
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

impl Announcement {
    fn encode(&self, kind: u8, out: &mut Vec<u8>) {
        put(out, kind, &[self.object.0.into(), u64::from(self.class.0), self.owner.code(), self.term]);
        put_bytes(out, &self.creation);
        out.push(self.groups.len() as u8);
        self.groups.iter().for_each(|group| group.encode(out));
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, MessageError> {
        let (object, class) = (object(reader)?, ClassId(reader.varint_u32()?));
        let (owner, term) = (party(reader)?, reader.varint()?);
        let creation = reader.bytes(CREATION_BYTES_MAX)?.to_vec();
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
        Ok(Self { object, class, owner, term, creation, groups })
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

/// Bytes of a stream that wait to be cut into messages: an outbox full, with its lengths.
const FRAMES_BYTES_MAX: usize = 2 * OUTBOX_BYTES_MAX;

/// The bytes of an ordered stream, cut into messages again.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames {
    buffered: Vec<u8>,
}

impl Frames {
    /// Takes in what came, in pieces of any size. More than a full outbox is never under way.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        if self.buffered.len() + bytes.len() > FRAMES_BYTES_MAX {
            return Err(CloseReason::Malformed);
        }
        self.buffered.extend_from_slice(bytes);
        Ok(())
    }

    /// The next message that is complete.
    pub(super) fn next(&mut self) -> Result<Option<Message>, CloseReason> {
        let mut reader = Reader::new(&self.buffered);
        let bytes = match reader.bytes(STREAM_MESSAGE_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(MessageError::Truncated) => return Ok(None),
            Err(_) => return Err(CloseReason::Malformed),
        };
        let message = Message::decode(bytes).map_err(|_| CloseReason::Malformed)?;
        let used = self.buffered.len() - reader.left();
        self.buffered.drain(..used);
        Ok(Some(message))
    }
}
