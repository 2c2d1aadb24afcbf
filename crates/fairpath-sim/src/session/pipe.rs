//! A transport such as QUIC, for sessions: datagrams, an ordered stream and unordered messages.

use std::collections::{BTreeMap, BTreeSet};

use fairpath::session::CloseReason;
use fairpath::time::{SharedInstant, Span};

use super::Reason;

/// A packet between a server and a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub(super) connection: u64,
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Datagram(Vec<u8>),
    Item(Name, Vec<u8>),
    Confirm(Name),
    Close(Reason),
}

/// A piece of the stream, or an unordered message, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Stream(u64),
    Unordered(u64),
}

impl Packet {
    pub(super) fn close(connection: u64, reason: Option<CloseReason>) -> Self {
        Self { connection, content: Content::Close(reason) }
    }

    /// Returns whether a connection can begin with this packet.
    pub(super) fn is_first(&self) -> bool {
        matches!(self.content, Content::Item(Name::Stream(0), _))
    }

    /// Returns its size as a UDP packet.
    pub fn size_bytes(&self) -> u32 {
        const OVERHEAD: usize = 28 + 25;
        let content = match &self.content {
            Content::Datagram(bytes) | Content::Item(_, bytes) => bytes.len(),
            Content::Confirm(_) | Content::Close(_) => 8,
        };
        (OVERHEAD + content) as u32
    }
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub(super) struct Pipe {
    connection: u64,
    next: [u64; 2],
    unconfirmed: BTreeMap<Name, (Vec<u8>, Option<SharedInstant>)>,
    seen: BTreeSet<Name>,
    /// Pieces of the stream that arrived too early, and the number of the next piece.
    ahead: BTreeMap<u64, Vec<u8>>,
    turn: u64,
}

/// The content of a packet, and the replies to it.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    pub(super) streams: Vec<Vec<u8>>,
    pub(super) unordered: Vec<Vec<u8>>,
    pub(super) datagrams: Vec<Vec<u8>>,
    pub(super) replies: Vec<Packet>,
    pub(super) closed: Option<Reason>,
}

impl Pipe {
    /// How long to wait for a confirmation before sending again. A real transport measures the
    /// round trip; this is a little more than the longest of the scenarios.
    const RETRY: Span = Span::from_millis(300);

    pub(super) fn new(connection: u64) -> Self {
        Self {
            connection,
            next: [0; 2],
            unconfirmed: BTreeMap::new(),
            seen: BTreeSet::new(),
            ahead: BTreeMap::new(),
            turn: 0,
        }
    }

    pub(super) fn connection(&self) -> u64 {
        self.connection
    }

    pub(super) fn push_stream(&mut self, bytes: Vec<u8>) {
        self.unconfirmed.insert(Name::Stream(self.next[0]), (bytes, None));
        self.next[0] += 1;
    }

    pub(super) fn push_unordered(&mut self, bytes: Vec<u8>) {
        self.unconfirmed.insert(Name::Unordered(self.next[1]), (bytes, None));
        self.next[1] += 1;
    }

    pub(super) fn datagram(&self, bytes: Vec<u8>) -> Packet {
        self.packet(Content::Datagram(bytes))
    }

    /// Returns the packets to send, for the first time or again.
    pub(super) fn poll(&mut self, now: SharedInstant) -> Vec<Packet> {
        let connection = self.connection;
        let due = self
            .unconfirmed
            .iter_mut()
            .filter(|(_, (_, sent))| sent.is_none_or(|at| now - at >= Self::RETRY));
        due.map(|(name, (bytes, sent))| {
            *sent = Some(now);
            Packet { connection, content: Content::Item(*name, bytes.clone()) }
        })
        .collect()
    }

    pub(super) fn handle(&mut self, packet: Packet) -> Arrived {
        let mut arrived = Arrived::default();
        match packet.content {
            Content::Datagram(bytes) => arrived.datagrams.push(bytes),
            Content::Confirm(name) => {
                self.unconfirmed.remove(&name);
            }
            Content::Close(reason) => arrived.closed = Some(reason),
            Content::Item(name, bytes) => {
                arrived.replies.push(self.packet(Content::Confirm(name)));
                if self.seen.insert(name) {
                    match name {
                        Name::Unordered(_) => arrived.unordered.push(bytes),
                        Name::Stream(number) => {
                            self.ahead.insert(number, bytes);
                        }
                    }
                }
                while let Some(bytes) = self.ahead.remove(&self.turn) {
                    self.turn += 1;
                    arrived.streams.push(bytes);
                }
            }
        }
        arrived
    }

    fn packet(&self, content: Content) -> Packet {
        Packet { connection: self.connection, content }
    }
}
