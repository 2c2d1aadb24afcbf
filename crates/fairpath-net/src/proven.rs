//! Which addresses of a client are proven, and how much may be sent to others.

use std::net::SocketAddr;

/// The addresses of one client of a server.
///
/// An address is *proven* when its client has shown that it receives what is sent there: it came
/// back with the token of a Retry packet, or echoed a challenge of QUIC or of the sealed path. QUIC
/// moves a connection to the address of the newest packet *before* that, and anybody can write any
/// address on a packet. So [`may_send`](Self::may_send) is asked for every packet that leaves, and
/// only proven addresses are shown to the game.
#[derive(Debug)]
pub(crate) struct ClientAddress {
    current: SocketAddr,
    /// QUIC returns there if a later address is not proven.
    before: Option<SocketAddr>,
    claimed: Option<Claimed>,
}

/// An address from which packets came, and which is not proven. There is only the newest: a client
/// that claims several begins with each anew.
#[derive(Debug)]
struct Claimed {
    address: SocketAddr,
    bytes_received: u64,
    bytes_sent: u64,
}

/// Bytes sent to an unproven address for each byte that came from there (RFC 9000, section 8.1).
const AMPLIFICATION_MAX: u64 = 3;

impl ClientAddress {
    /// `address` is proven: QUIC accepts a client only after a Retry.
    pub(crate) fn proven(address: SocketAddr) -> Self {
        Self { current: address, before: None, claimed: None }
    }

    /// The address that was proven last.
    pub(crate) fn current(&self) -> SocketAddr {
        self.current
    }

    pub(crate) fn is_proven(&self, address: SocketAddr) -> bool {
        address == self.current || self.before == Some(address)
    }

    /// The client has shown that it receives what is sent to this address.
    pub(crate) fn prove(&mut self, address: SocketAddr) {
        if address != self.current {
            self.before = Some(std::mem::replace(&mut self.current, address));
            self.claimed = None;
        }
    }

    /// A packet of the client's connection came from this address.
    pub(crate) fn on_received(&mut self, from: SocketAddr, bytes: usize) {
        if self.is_proven(from) {
            return;
        }
        let known = self.claimed.take().filter(|claimed| claimed.address == from);
        let mut claimed = known.unwrap_or(Claimed { address: from, bytes_received: 0, bytes_sent: 0 });
        claimed.bytes_received += bytes as u64;
        self.claimed = Some(claimed);
    }

    /// Whether a packet of this size may leave for this address. Counts it if so.
    pub(crate) fn may_send(&mut self, to: SocketAddr, bytes: usize) -> bool {
        if self.is_proven(to) {
            return true;
        }
        let Some(claimed) = self.claimed.as_mut().filter(|claimed| claimed.address == to) else {
            return false;
        };
        let bytes_sent = claimed.bytes_sent + bytes as u64;
        let is_allowed = bytes_sent <= AMPLIFICATION_MAX * claimed.bytes_received;
        if is_allowed {
            claimed.bytes_sent = bytes_sent;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> SocketAddr {
        ([192, 0, 2, 1], port).into()
    }

    #[test]
    fn an_unproven_address_gets_three_times_its_bytes_and_a_proven_one_everything() {
        let mut address = ClientAddress::proven(at(1));
        assert!(address.may_send(at(1), 1_000_000));
        assert!(!address.may_send(at(2), 1), "nothing came from there");
        address.on_received(at(2), 41);
        assert!(!address.may_send(at(2), 1200));
        assert!(address.may_send(at(2), 100) && !address.may_send(at(2), 24) && address.may_send(at(2), 23));
        assert!(!address.may_send(at(3), 1), "another one's bytes count for nothing");
        address.on_received(at(2), 400);
        assert!(address.may_send(at(2), 1200));
        assert_eq!(address.current(), at(1), "it is not shown yet");
        address.prove(at(2));
        assert!(address.may_send(at(2), 1_000_000) && address.may_send(at(1), 1_000_000));
        assert_eq!(address.current(), at(2));
    }

    #[test]
    fn addresses_that_take_turns_gain_nothing() {
        let mut address = ClientAddress::proven(at(1));
        let mut sent = 0;
        for turn in 0..1_000 {
            let victim = at(2 + turn % 2);
            address.on_received(victim, 40);
            while address.may_send(victim, 30) {
                sent += 30;
            }
        }
        assert!(sent <= 3 * 40 * 1_000, "{sent} bytes");
        address.prove(at(2));
        address.prove(at(3));
        assert!(!address.may_send(at(1), 1), "two are remembered");
    }
}
