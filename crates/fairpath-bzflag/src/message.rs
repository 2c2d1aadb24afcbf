//! BZFlag's messages: a length, a code and a payload, over TCP and UDP alike.

use std::fmt;

/// The bytes before a payload: its length and the code, 16 bits each, the most significant first.
pub const HEADER_LEN: usize = 4;

/// What a message is about: two letters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code(pub u16);

impl Code {
    /// A client asks to enter the game, with its player's name.
    pub const ENTER: Self = Self::of(b"en");
    /// The server accepts a player.
    pub const ACCEPT: Self = Self::of(b"ac");
    /// A player exists. Begins with its id.
    pub const ADD_PLAYER: Self = Self::of(b"ap");
    /// A player is gone. Begins with its id.
    pub const REMOVE_PLAYER: Self = Self::of(b"rp");
    /// A tank comes to life. Begins with the player's id.
    pub const ALIVE: Self = Self::of(b"al");
    /// A tank was destroyed. From the server it begins with the ids of victim and killer.
    pub const KILLED: Self = Self::of(b"kl");
    /// A shot is fired.
    pub const SHOT_BEGIN: Self = Self::of(b"sb");
    /// A shot has ended.
    pub const SHOT_END: Self = Self::of(b"se");
    /// Where a tank is and how it moves, in 32-bit numbers.
    pub const PLAYER_UPDATE: Self = Self::of(b"pu");
    /// Where a tank is and how it moves, in 16-bit numbers.
    pub const PLAYER_UPDATE_SMALL: Self = Self::of(b"ps");
    /// A number that the client returns unchanged.
    pub const LAG_PING: Self = Self::of(b"pi");
    /// Values of the server's variables, such as gravity.
    pub const SET_VARIABLE: Self = Self::of(b"sv");
    /// Asks for updates over UDP. From a client its payload is the player's id.
    pub const UDP_LINK_REQUEST: Self = Self::of(b"of");
    /// UDP works.
    pub const UDP_LINK_ESTABLISHED: Self = Self::of(b"og");
    /// A team flag was captured.
    pub const CAPTURE_FLAG: Self = Self::of(b"cf");
    /// Chat.
    pub const CHAT: Self = Self::of(b"mg");

    const fn of(letters: &[u8; 2]) -> Self {
        Self(u16::from_be_bytes(*letters))
    }

    /// Returns whether the message is a [`PlayerUpdate`](crate::update::PlayerUpdate).
    pub fn is_player_update(self) -> bool {
        self == Self::PLAYER_UPDATE || self == Self::PLAYER_UPDATE_SMALL
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_be_bytes().escape_ascii().to_string())
    }
}

/// One message, without a copy of its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it is about.
    pub code: Code,
    /// Everything behind the header.
    pub payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// Splits the first message off `bytes`; `None` if it is not complete. Also returns the rest.
    pub fn split_first(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_LEN>()?;
        let length = usize::from(u16::from_be_bytes([header[0], header[1]]));
        let (payload, rest) = rest.split_at_checked(length)?;
        Some((Self { code: Code(u16::from_be_bytes([header[2], header[3]])), payload }, rest))
    }

    /// Splits a datagram into its messages; `None` unless they fill it to the last byte.
    pub fn split_all(mut datagram: &'a [u8]) -> Option<Vec<Self>> {
        let mut messages = Vec::new();
        while !datagram.is_empty() {
            let (message, rest) = Self::split_first(datagram)?;
            messages.push(message);
            datagram = rest;
        }
        Some(messages)
    }

    /// Appends the message with its header. A payload beyond 65 535 bytes is our own mistake.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let length = u16::try_from(self.payload.len()).expect("a payload has at most 65 535 bytes");
        bytes.extend(length.to_be_bytes());
        bytes.extend(self.code.0.to_be_bytes());
        bytes.extend(self.payload);
    }

    /// Returns the length with the header.
    pub fn encoded_len(&self) -> usize {
        HEADER_LEN + self.payload.len()
    }

    /// Returns the number of a lag ping; `None` for other messages.
    pub fn ping_number(&self) -> Option<u16> {
        (self.code == Code::LAG_PING).then(|| self.payload.try_into().ok().map(u16::from_be_bytes)).flatten()
    }

    /// Returns the value of one of the server's variables, if this message sets it.
    pub fn variable(&self, name: &str) -> Option<f64> {
        if self.code != Code::SET_VARIABLE {
            return None;
        }
        let mut rest = self.payload.get(2..)?;
        let mut found = None;
        while !rest.is_empty() {
            let (key, behind) = split_text(rest)?;
            let (value, behind) = split_text(behind)?;
            if key == name.as_bytes() {
                found = std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok());
            }
            rest = behind;
        }
        found.filter(|value: &f64| value.is_finite())
    }
}

/// Splits off a text with one byte of length before it.
fn split_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(*length))
}

/// Cuts a TCP stream into messages. Feed it with [`push`](Self::push), drain
/// [`next_piece`](Self::next_piece).
#[derive(Debug)]
pub struct StreamCutter {
    buffer: Vec<u8>,
    /// How many bytes at the front of the buffer were returned.
    used: usize,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The greeting, whose first bytes must be these and which has so many.
    Greeting(&'static [u8], usize),
    Messages,
    /// Not BZFlag 2.4: everything passes as it is.
    Opaque,
}

/// A piece of a TCP stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The bytes that a peer greets with.
    Greeting(&'a [u8]),
    /// A message.
    Message(Message<'a>),
    /// Bytes of a stream that is not BZFlag 2.4's.
    Opaque(&'a [u8]),
}

impl StreamCutter {
    /// What a client greets with.
    const CLIENT_GREETING: &'static [u8] = b"BZFLAG\r\n\r\n";
    /// What a server greets with: the protocol's version, and behind it the player's id.
    const SERVER_GREETING: &'static [u8] = b"BZFS0221";

    /// Returns a cutter for what a client sends.
    pub fn of_client() -> Self {
        Self::new(Self::CLIENT_GREETING, Self::CLIENT_GREETING.len())
    }

    /// Returns a cutter for what a server sends.
    pub fn of_server() -> Self {
        Self::new(Self::SERVER_GREETING, Self::SERVER_GREETING.len() + 1)
    }

    fn new(greeting: &'static [u8], length: usize) -> Self {
        Self { buffer: Vec::new(), used: 0, stage: Stage::Greeting(greeting, length) }
    }

    /// Adds bytes as they were received.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.used);
        self.used = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next piece, or `None` until more bytes come.
    pub fn next_piece(&mut self) -> Option<Piece<'_>> {
        let from = self.used;
        let rest = &self.buffer[from..];
        if let Stage::Greeting(start, _) = self.stage {
            let known = rest.len().min(start.len());
            if rest[..known] != start[..known] {
                self.stage = Stage::Opaque;
            }
        }
        match self.stage {
            Stage::Greeting(_, length) => {
                let greeting = rest.get(..length)?;
                self.stage = Stage::Messages;
                self.used += length;
                Some(Piece::Greeting(greeting))
            }
            Stage::Messages => {
                let (message, _) = Message::split_first(rest)?;
                self.used += message.encoded_len();
                Some(Piece::Message(message))
            }
            Stage::Opaque => {
                self.used = self.buffer.len();
                Some(Piece::Opaque(rest)).filter(|_| !rest.is_empty())
            }
        }
    }

    /// Returns the bytes that do not make a whole message: what is left when a stream ends.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.used..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> Vec<u8> {
        let mut bytes = b"BZFS0221\x03".to_vec();
        Message { code: Code::LAG_PING, payload: &[0x80, 1] }.write(&mut bytes);
        Message { code: Code::CHAT, payload: b"hello" }.write(&mut bytes);
        bytes
    }

    #[test]
    fn a_stream_is_cut_alike_however_it_arrives() {
        for step in 1..frames().len() {
            let (mut cutter, mut seen, mut bytes) = (StreamCutter::of_server(), 0, Vec::new());
            for chunk in frames().chunks(step) {
                cutter.push(chunk);
                while let Some(piece) = cutter.next_piece() {
                    seen += 1;
                    match piece {
                        Piece::Greeting(greeting) => bytes.extend_from_slice(greeting),
                        Piece::Message(message) => message.write(&mut bytes),
                        Piece::Opaque(_) => panic!("the stream is BZFlag's"),
                    }
                }
            }
            assert_eq!((seen, bytes), (3, frames()), "in steps of {step}");
        }
    }

    #[test]
    fn another_protocol_is_passed_on_as_it_is() {
        let mut cutter = StreamCutter::of_client();
        cutter.push(b"BZF");
        assert_eq!(cutter.next_piece(), None);
        cutter.push(b"GET / HTTP/1.1");
        assert_eq!(cutter.next_piece(), Some(Piece::Opaque(b"BZFGET / HTTP/1.1")));
        assert_eq!(cutter.next_piece(), None);
    }

    #[test]
    fn variables_are_found_and_nonsense_is_not() {
        let mut payload = vec![0, 2];
        for text in ["_a", "1", "_gravity", "-9.81"] {
            payload.push(text.len() as u8);
            payload.extend(text.bytes());
        }
        let message = Message { code: Code::SET_VARIABLE, payload: &payload };
        assert_eq!(message.variable("_gravity"), Some(-9.81));
        assert_eq!(message.variable("_speed"), None);
        let cut = Message { payload: &payload[..payload.len() - 1], ..message };
        assert_eq!(cut.variable("_gravity"), None);
    }
}
