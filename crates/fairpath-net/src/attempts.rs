//! Attempts to connect that were given up fall silent.
//!
//! QUIC answers every packet that still arrives for a connection that was dropped in the middle of
//! its handshake with a close. A server that was stopped for a while answers every first packet
//! that waited in its socket with a Retry. Each of these Retries would be answered with a close,
//! and each close, which comes from an address that is not proven, with another Retry. So the
//! socket drops all packets of attempts that were given up, in both directions.

use std::collections::VecDeque;

/// The connection ids that a client has chosen for its attempts to connect.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    current: Vec<ChosenId>,
    is_answered: bool,
    given_up: VecDeque<ChosenId>,
}

/// A connection id: at most 20 bytes in this version of QUIC.
type ChosenId = Vec<u8>;

/// Ids of attempts that were given up. With the longest pauses between attempts these are more than
/// packets can wait in a socket.
const GIVEN_UP_MAX: usize = 32;
/// Ids of the current attempt. It has one; QUIC may choose others later.
const CURRENT_MAX: usize = 8;

impl Attempts {
    /// Takes in a packet that is about to leave. Returns whether it may.
    pub(crate) fn may_leave(&mut self, packet: &[u8]) -> bool {
        let Some(header) = LongHeader::parse(packet) else { return true };
        if self.has_given_up(header.source) {
            return false;
        }
        if self.current.len() < CURRENT_MAX && !self.current.iter().any(|id| id == header.source) {
            self.current.push(header.source.to_vec());
        }
        true
    }

    /// Takes in a packet that has arrived. Returns whether it is for an attempt that was given up.
    pub(crate) fn is_for_none(&mut self, packet: &[u8]) -> bool {
        if self.current.is_empty() && self.given_up.is_empty() {
            return false;
        }
        let Some(header) = LongHeader::parse(packet) else { return false };
        self.is_answered |= self.current.iter().any(|id| id == header.destination);
        self.has_given_up(header.destination)
    }

    /// Whether the server has answered the current attempt, with whatever packet.
    pub(crate) fn is_answered(&self) -> bool {
        self.is_answered
    }

    /// The current attempt has become a connection.
    pub(crate) fn on_connected(&mut self) {
        self.current.clear();
        self.is_answered = false;
    }

    /// The current attempt has failed, or takes too long.
    pub(crate) fn give_up(&mut self) {
        self.is_answered = false;
        self.given_up.extend(self.current.drain(..));
        let too_many = self.given_up.len().saturating_sub(GIVEN_UP_MAX);
        self.given_up.drain(..too_many);
    }

    fn has_given_up(&self, id: &[u8]) -> bool {
        self.given_up.iter().any(|given_up| given_up == id)
    }
}

/// The connection ids in a packet with a long header (RFC 9000, section 17.2).
struct LongHeader<'a> {
    destination: &'a [u8],
    source: &'a [u8],
}

impl<'a> LongHeader<'a> {
    fn parse(packet: &'a [u8]) -> Option<Self> {
        let (first, rest) = packet.split_first()?;
        let rest = rest.get(4..).filter(|_| first & 0x80 != 0)?;
        let (destination, rest) = split_id(rest)?;
        let (source, _) = split_id(rest)?;
        Some(Self { destination, source })
    }
}

/// Splits off an id, which begins with its length.
fn split_id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(*length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(destination: &[u8], source: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xc3, 0, 0, 0, 1, destination.len() as u8];
        bytes.extend(destination);
        bytes.push(source.len() as u8);
        bytes.extend(source);
        bytes.extend([9; 40]);
        bytes
    }

    #[test]
    fn an_attempt_that_was_given_up_says_and_hears_nothing() {
        let mut attempts = Attempts::default();
        assert!(attempts.may_leave(&packet(b"server", b"first")));
        assert!(!attempts.is_answered());
        assert!(!attempts.is_for_none(&packet(b"first", b"server")) && attempts.is_answered());
        attempts.give_up();
        assert!(!attempts.is_answered());
        assert!(!attempts.may_leave(&packet(b"server", b"first")), "no close");
        assert!(attempts.is_for_none(&packet(b"first", b"server")), "no Retry");
        // The next one is not affected, and goes on when it has become a connection.
        assert!(attempts.may_leave(&packet(b"server", b"second")));
        attempts.on_connected();
        attempts.give_up();
        assert!(attempts.may_leave(&packet(b"server", b"second")));
        assert!(!attempts.is_for_none(&packet(b"second", b"server")));
    }

    #[test]
    fn other_packets_pass_and_memory_is_bounded() {
        let mut attempts = Attempts::default();
        for nth in 0..1_000u32 {
            assert!(attempts.may_leave(&packet(b"server", &nth.to_be_bytes())));
            if nth % 3 == 0 {
                attempts.give_up();
            }
            assert!(attempts.current.len() <= CURRENT_MAX && attempts.given_up.len() <= GIVEN_UP_MAX);
        }
        let whole = packet(b"server", b"client");
        for end in 0..whole.len() {
            assert!(attempts.may_leave(&whole[..end]));
        }
        // A short header, and a sealed packet.
        assert!(attempts.may_leave(&[0x43, 1, 2, 3, 4, 5, 6, 7, 8]));
        assert!(!attempts.is_for_none(&[0x81, 0xff, 0xff, 0xff, 0xff, 0xff]));
    }
}
