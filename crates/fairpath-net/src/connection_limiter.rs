//! Admits connections: how many one address has, how fast it opens more, and who must prove its
//! address first.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use crate::server::AdmissionStatistics;

/// Limits of connections by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections from one address at once, with and without a session. Default 64: a school
    /// behind one router, or a machine full of bots. An IPv6 address counts as its /64 prefix,
    /// which is what one household has.
    pub per_address_max: usize,
    /// Connections that one address may open per second, on average. Default 20. Each costs a
    /// handshake, about a millisecond of the server's time.
    pub per_address_per_sec: u32,
    /// Connections that one address may open at once. Default 128: twice all that it may have.
    pub per_address_burst: u32,
    /// Handshakes in progress at once, of all addresses. Default 128, a quarter of them for one
    /// address. Connections beyond this are refused and may try again.
    pub handshakes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { per_address_max: 64, per_address_per_sec: 20, per_address_burst: 128, handshakes_max: 128 }
    }
}

/// Decides about new connections, and counts those that it did not admit.
#[derive(Debug)]
pub(crate) struct Admissions {
    limiter: ConnectionLimiter,
    retries: RetryLimiter,
    statistics: AdmissionStatistics,
}

/// What to do with a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Ask the client to prove its address.
    Retry,
    /// Do not answer: it was asked too often, and has proven nothing.
    Ignore,
    Refuse,
    Accept,
}

impl Admissions {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            retries: RetryLimiter::new(&limits),
            limiter: ConnectionLimiter::new(limits),
            statistics: AdmissionStatistics::default(),
        }
    }

    /// Decides whether a connection may start its handshake, and counts it.
    pub(crate) fn admit(&mut self, address: IpAddr, is_proven: bool, now: Instant) -> Verdict {
        if !is_proven {
            let is_asked = self.retries.take(address, now);
            self.statistics.retried += u64::from(is_asked);
            self.statistics.ignored += u64::from(!is_asked);
            return if is_asked { Verdict::Retry } else { Verdict::Ignore };
        }
        if self.limiter.admit(address, now) { Verdict::Accept } else { self.refuse() }
    }

    /// Counts a connection that is refused for another reason than the limits.
    pub(crate) fn refuse(&mut self) -> Verdict {
        self.statistics.refused += 1;
        Verdict::Refuse
    }

    /// The handshake and the greeting of an accepted connection are over, or have failed.
    pub(crate) fn on_handshake_over(&mut self, address: IpAddr, has_failed: bool) {
        self.limiter.on_handshake_over(address);
        self.statistics.failed += u64::from(has_failed);
    }

    /// A connection was closed because the client broke the protocol.
    pub(crate) fn on_thrown_out(&mut self, address: IpAddr) {
        self.statistics.thrown_out += 1;
        self.limiter.on_thrown_out(address);
    }

    /// An accepted connection is gone.
    pub(crate) fn on_gone(&mut self, address: IpAddr) {
        self.limiter.on_gone(address);
    }

    pub(crate) fn statistics(&self) -> AdmissionStatistics {
        self.statistics
    }
}

/// Counts connections by address. It is given only proven addresses, so forged ones cannot fill it.
#[derive(Debug)]
pub(crate) struct ConnectionLimiter {
    limits: Limits,
    addresses: BTreeMap<IpAddr, AddressRecord>,
    handshakes: usize,
}

#[derive(Debug)]
struct AddressRecord {
    connections: usize,
    handshakes: usize,
    tokens: f64,
    refilled_at: Instant,
}

/// Addresses that are remembered: a few bytes each, and more than a server has clients.
const ADDRESSES_MAX: usize = 4096;

impl ConnectionLimiter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, addresses: BTreeMap::new(), handshakes: 0 }
    }

    /// Whether a connection from this address may start its handshake. Counts it if so.
    pub(crate) fn admit(&mut self, address: IpAddr, now: Instant) -> bool {
        if self.handshakes >= self.limits.handshakes_max {
            return false;
        }
        self.forget_idle(now);
        let burst = f64::from(self.limits.per_address_burst);
        if self.addresses.len() >= ADDRESSES_MAX && !self.addresses.contains_key(&address_block(address)) {
            return false;
        }
        let record = self.addresses.entry(address_block(address)).or_insert(AddressRecord {
            connections: 0,
            handshakes: 0,
            tokens: burst,
            refilled_at: now,
        });
        record.refill(&self.limits, now);
        // One address must not use up the handshakes of all others.
        let handshakes_max = (self.limits.handshakes_max / 4).max(1);
        let is_too_many =
            record.connections >= self.limits.per_address_max || record.handshakes >= handshakes_max;
        if is_too_many || record.tokens < 1.0 {
            return false;
        }
        record.tokens -= 1.0;
        record.connections += 1;
        record.handshakes += 1;
        self.handshakes += 1;
        true
    }

    pub(crate) fn on_handshake_over(&mut self, address: IpAddr) {
        self.handshakes -= 1;
        if let Some(record) = self.addresses.get_mut(&address_block(address)) {
            record.handshakes -= 1;
        }
    }

    /// A connection from this address was closed for breaking the protocol. This costs as many
    /// tokens as the address gets in a second, so a client that repeats it reconnects once a second
    /// at most. Other clients at the same address wait too, but only to connect, and never for
    /// longer than a second, however many connections were closed.
    pub(crate) fn on_thrown_out(&mut self, address: IpAddr) {
        if let Some(record) = self.addresses.get_mut(&address_block(address)) {
            let in_a_second = f64::from(self.limits.per_address_per_sec);
            // One token is a connection.
            record.tokens = (record.tokens - in_a_second).max(1.0 - in_a_second);
        }
    }

    pub(crate) fn on_gone(&mut self, address: IpAddr) {
        if let Some(record) = self.addresses.get_mut(&address_block(address)) {
            record.connections -= 1;
        }
    }

    /// When the table is full, drops addresses without connections whose tokens are full again.
    fn forget_idle(&mut self, now: Instant) {
        if self.addresses.len() < ADDRESSES_MAX {
            return;
        }
        let limits = self.limits;
        self.addresses.retain(|_, record| {
            record.refill(&limits, now);
            record.connections > 0 || record.tokens < f64::from(limits.per_address_burst)
        });
    }
}

impl AddressRecord {
    fn refill(&mut self, limits: &Limits, now: Instant) {
        let elapsed = now.saturating_duration_since(self.refilled_at).min(Duration::from_secs(3600));
        let tokens = self.tokens + elapsed.as_secs_f64() * f64::from(limits.per_address_per_sec);
        self.tokens = tokens.min(limits.per_address_burst.into());
        self.refilled_at = now;
    }
}

/// Limits how many first packets of one address are answered in a second.
///
/// These addresses are not proven: anybody can claim any. So nothing is kept for an address. It is
/// counted in one of a fixed number of places, which no client can predict. Addresses that share
/// a place share its limit, for a second at most.
#[derive(Debug)]
pub(crate) struct RetryLimiter {
    answered: Box<[u32]>,
    since: Instant,
    places: RandomState,
    limit: u32,
}

/// 16 KiB. Two that share a place notice it only if both ask as often as a household can.
const PLACES: usize = 4096;
/// How many times the burst of an address is answered in a second. Too few would let an attacker
/// who claims a player's address keep that player out with little traffic: at 8 it takes a megabyte
/// a second by default. Too many would let it direct more answers to that address: at 8 these are a
/// tenth of what the attacker sends.
const RETRIES_PER_BURST: u32 = 8;

impl RetryLimiter {
    pub(crate) fn new(limits: &Limits) -> Self {
        let (answered, places) = (vec![0; PLACES].into_boxed_slice(), RandomState::new());
        let limit = limits.per_address_burst.saturating_mul(RETRIES_PER_BURST).max(1);
        Self { answered, since: Instant::now(), places, limit }
    }

    /// Whether a first packet from this address is answered. Counts it if so.
    pub(crate) fn take(&mut self, address: IpAddr, now: Instant) -> bool {
        if now.saturating_duration_since(self.since) >= Duration::from_secs(1) {
            self.answered.fill(0);
            self.since = now;
        }
        let place = self.places.hash_one(address_block(address)) as usize % PLACES;
        let is_answered = self.answered[place] < self.limit;
        self.answered[place] += u32::from(is_answered);
        is_answered
    }
}

/// The addresses that are counted as one: an IPv4 address, or the /64 prefix of an IPv6 address.
pub(crate) fn address_block(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn connections_of_one_address_are_limited_and_others_are_not_affected() {
        let limits = Limits { per_address_max: 3, ..Limits::default() };
        let mut limiter = ConnectionLimiter::new(limits);
        let now = Instant::now();
        assert_eq!((0..5).filter(|_| limiter.admit(address(1), now)).count(), 3);
        assert!(limiter.admit(address(2), now));
        limiter.on_gone(address(1));
        assert!(limiter.admit(address(1), now));
    }

    #[test]
    fn the_rate_of_one_address_is_limited() {
        let limits = Limits { per_address_per_sec: 2, per_address_burst: 4, ..Limits::default() };
        let mut limiter = ConnectionLimiter::new(limits);
        let begin = Instant::now();
        let mut connect = |at: Instant| {
            let is_in = limiter.admit(address(1), at);
            if is_in {
                limiter.on_handshake_over(address(1));
                limiter.on_gone(address(1));
            }
            is_in
        };
        assert_eq!((0..10).filter(|_| connect(begin)).count(), 4);
        assert_eq!((0..10).filter(|_| connect(begin + Duration::from_secs(1))).count(), 2);
    }

    #[test]
    fn an_address_that_breaks_the_protocol_returns_once_a_second() {
        let limits = Limits { per_address_per_sec: 20, per_address_burst: 40, ..Limits::default() };
        let mut limiter = ConnectionLimiter::new(limits);
        let begin = Instant::now();
        let mut misbehave = |at: Instant| {
            let is_in = limiter.admit(address(1), at);
            if is_in {
                limiter.on_handshake_over(address(1));
                limiter.on_thrown_out(address(1));
                limiter.on_gone(address(1));
            }
            u32::from(is_in)
        };
        let in_ten_secs: u32 = (0..1_000).map(|it| misbehave(begin + Duration::from_millis(10 * it))).sum();
        assert!((10..=12).contains(&in_ten_secs), "{in_ten_secs} times");
        assert!(limiter.admit(address(2), begin), "other addresses are not affected");
    }

    #[test]
    fn many_who_break_the_protocol_lock_their_household_out_for_a_second_at_most() {
        let mut limiter = ConnectionLimiter::new(Limits::default());
        let begin = Instant::now();
        for _ in 0..64 {
            assert!(limiter.admit(address(1), begin));
            limiter.on_handshake_over(address(1));
        }
        for _ in 0..64 {
            limiter.on_thrown_out(address(1));
            limiter.on_gone(address(1));
        }
        assert!(!limiter.admit(address(1), begin + Duration::from_millis(900)));
        assert!(limiter.admit(address(1), begin + Duration::from_millis(1001)));
    }

    #[test]
    fn handshakes_and_addresses_are_bounded() {
        let mut limiter = ConnectionLimiter::new(Limits { handshakes_max: 8, ..Limits::default() });
        let now = Instant::now();
        assert_eq!((0..5).filter(|_| limiter.admit(address(1), now)).count(), 2, "a quarter of one address");
        assert_eq!((2..20).filter(|last| limiter.admit(address(*last), now)).count(), 6);
        let mut limiter = ConnectionLimiter::new(Limits { handshakes_max: usize::MAX, ..Limits::default() });
        let many = 2 * ADDRESSES_MAX as u32;
        let admitted = (0..many).filter(|bits| limiter.admit(IpAddr::V4((*bits).into()), now)).count();
        assert_eq!((admitted, limiter.addresses.len()), (ADDRESSES_MAX, ADDRESSES_MAX));
    }

    #[test]
    fn first_packets_of_one_address_are_answered_so_often_in_a_second() {
        let mut limiter = RetryLimiter::new(&Limits { per_address_burst: 2, ..Limits::default() });
        let now = limiter.since;
        assert_eq!((0..500).filter(|_| limiter.take(address(1), now)).count(), 16);
        let later = now + Duration::from_secs(1);
        assert_eq!((0..500).filter(|_| limiter.take(address(1), later)).count(), 16);
        let others: u32 = (0..200).map(|last| u32::from(limiter.take(address(last), later))).sum();
        assert!(others > 150, "nearly all other addresses are answered");
    }

    #[test]
    fn an_ipv6_prefix_counts_as_one_address() {
        let one: IpAddr = "2001:db8:1:2::1".parse().unwrap();
        let other: IpAddr = "2001:db8:1:2:ffff::1".parse().unwrap();
        assert_eq!(address_block(one), address_block(other));
        assert_eq!(address_block("::ffff:192.0.2.1".parse().unwrap()), address(1));
    }
}
