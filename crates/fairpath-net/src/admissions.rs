//! Admits connections: how many one address has, how fast it opens more, and who must prove its
//! address first.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairpath::session::{Household, Shares};

use crate::incidents::{Incident, IncidentLog};
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
    /// Handshakes in progress at once, of all addresses. Default 128. One address may have all of
    /// them while no other wants one; then the address with the most gives up its oldest
    /// ([`Shares`]). Connections beyond this are refused and may try again.
    pub handshakes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { per_address_max: 64, per_address_per_sec: 20, per_address_burst: 128, handshakes_max: 128 }
    }
}

/// Decides whether a client may connect, and counts the connections that the server refused.
#[derive(Debug)]
pub(crate) struct Admissions {
    limiter: ConnectionLimiter,
    retries: RetryLimiter,
    statistics: AdmissionStatistics,
    log: IncidentLog,
}

/// What to do with a new connection.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// Ask the client to prove its address.
    Retry,
    /// Do not answer: it was asked too often, and has proven nothing.
    Ignore,
    Refuse,
    Accept(HandshakePlace),
}

/// The place of a handshake in progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandshakePlace(Arc<AtomicBool>);

impl HandshakePlace {
    /// Whether another household's newcomer has taken the place. Then the handshake ends, at its
    /// next packet or timer.
    pub(crate) fn is_lost(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Completes when the place is lost.
    #[cfg(feature = "lobby")]
    pub(crate) async fn lost(&self) {
        while !self.is_lost() {
            tokio::time::sleep(crate::background::CHECK_EVERY).await;
        }
    }
}

impl Admissions {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            retries: RetryLimiter::new(&limits),
            limiter: ConnectionLimiter::new(limits),
            statistics: AdmissionStatistics::default(),
            log: IncidentLog::default(),
        }
    }

    /// Decides whether a connection may start its handshake, and counts it.
    pub(crate) fn admit(&mut self, address: IpAddr, is_proven: bool, now: Instant) -> Verdict {
        if !is_proven {
            if self.retries.take(address, now) {
                self.statistics.retried += 1;
                return Verdict::Retry;
            }
            self.statistics.ignored += 1;
            self.log.note(Incident::FirstPackets, address, now);
            return Verdict::Ignore;
        }
        match self.limiter.admit(household(address), now) {
            Ok(place) => Verdict::Accept(place),
            Err(incident) => self.refuse(incident, address, now),
        }
    }

    /// Counts a connection that is refused.
    pub(crate) fn refuse(&mut self, incident: Incident, address: IpAddr, now: Instant) -> Verdict {
        self.statistics.refused += 1;
        match incident {
            Incident::TooManyConnections => self.statistics.refused_by_address += 1,
            Incident::TooFast => self.statistics.refused_by_rate += 1,
            _ => self.statistics.refused_by_handshakes += 1,
        }
        self.log.note(incident, address, now);
        Verdict::Refuse
    }

    /// The handshake and the greeting of a connection that was accepted from this address are over,
    /// or have failed.
    pub(crate) fn on_handshake_over(&mut self, address: IpAddr, place: &HandshakePlace, has_failed: bool) {
        self.limiter.on_handshake_over(place);
        if has_failed {
            self.statistics.failed += 1;
            self.log.note(Incident::Failed, address, Instant::now());
        }
    }

    /// A connection was closed because the client broke the protocol.
    pub(crate) fn on_thrown_out(&mut self, address: IpAddr) {
        self.statistics.thrown_out += 1;
        self.limiter.on_thrown_out(household(address));
        self.log.note(Incident::ThrownOut, address, Instant::now());
    }

    /// An accepted connection is gone.
    pub(crate) fn on_gone(&mut self, address: IpAddr) {
        self.limiter.on_gone(household(address));
    }

    pub(crate) fn statistics(&self) -> AdmissionStatistics {
        self.statistics
    }
}

/// Counts connections by household. It is given only proven addresses, so forged ones cannot fill
/// it.
#[derive(Debug)]
pub(crate) struct ConnectionLimiter {
    limits: Limits,
    households: BTreeMap<Household, HouseholdRecord>,
    /// In the order of their beginning.
    handshakes: VecDeque<(Household, HandshakePlace)>,
}

#[derive(Debug)]
struct HouseholdRecord {
    connections: usize,
    tokens: f64,
    refilled_at: Instant,
}

/// Households that are remembered: a few bytes each, and more than a server has clients.
const HOUSEHOLDS_MAX: usize = 4096;

impl ConnectionLimiter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, households: BTreeMap::new(), handshakes: VecDeque::new() }
    }

    /// Gives a connection of this household a place for its handshake, if it may have one. Counts
    /// it if so.
    pub(crate) fn admit(&mut self, household: Household, now: Instant) -> Result<HandshakePlace, Incident> {
        self.forget_idle(now);
        let burst = f64::from(self.limits.per_address_burst);
        if self.households.len() >= HOUSEHOLDS_MAX && !self.households.contains_key(&household) {
            return Err(Incident::NoHandshake);
        }
        let fresh = HouseholdRecord { connections: 0, tokens: burst, refilled_at: now };
        let record = self.households.entry(household).or_insert(fresh);
        record.refill(&self.limits, now);
        if record.connections >= self.limits.per_address_max {
            return Err(Incident::TooManyConnections);
        }
        if record.tokens < 1.0 {
            return Err(Incident::TooFast);
        }
        if self.handshakes.len() >= self.limits.handshakes_max {
            self.end_handshake_for(household).ok_or(Incident::NoHandshake)?;
        }
        let record = self.households.get_mut(&household).ok_or(Incident::NoHandshake)?;
        record.tokens -= 1.0;
        record.connections += 1;
        let place = HandshakePlace::default();
        self.handshakes.push_back((household, place.clone()));
        Ok(place)
    }

    /// Takes the oldest handshake from the household with the most. `None` if none has to give one
    /// up.
    fn end_handshake_for(&mut self, newcomer: Household) -> Option<()> {
        let taken = self.handshakes.iter().map(|(household, _)| *household);
        let loser = Shares { kept: 0 }.loser(newcomer, taken)?;
        let oldest = self.handshakes.iter().position(|(household, _)| *household == loser)?;
        let (_, place) = self.handshakes.remove(oldest)?;
        place.0.store(true, Ordering::Relaxed);
        Some(())
    }

    pub(crate) fn on_handshake_over(&mut self, place: &HandshakePlace) {
        self.handshakes.retain(|(_, other)| !Arc::ptr_eq(&other.0, &place.0));
    }

    /// A connection from this address was closed for breaking the protocol. This costs as many
    /// tokens as the address gets in a second, so a client that repeats it reconnects once a second
    /// at most. Other clients at the same address wait too, but only to connect, and never for
    /// longer than a second, however many connections were closed.
    pub(crate) fn on_thrown_out(&mut self, household: Household) {
        if let Some(record) = self.households.get_mut(&household) {
            let in_a_second = f64::from(self.limits.per_address_per_sec);
            // One token is a connection.
            record.tokens = (record.tokens - in_a_second).max(1.0 - in_a_second);
        }
    }

    pub(crate) fn on_gone(&mut self, household: Household) {
        if let Some(record) = self.households.get_mut(&household) {
            record.connections -= 1;
        }
    }

    /// When the table is full, drops households without connections whose tokens are full again.
    fn forget_idle(&mut self, now: Instant) {
        if self.households.len() < HOUSEHOLDS_MAX {
            return;
        }
        let limits = self.limits;
        self.households.retain(|_, record| {
            record.refill(&limits, now);
            record.connections > 0 || record.tokens < f64::from(limits.per_address_burst)
        });
    }
}

impl HouseholdRecord {
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
        let place = self.places.hash_one(household(address)) as usize % PLACES;
        let is_answered = self.answered[place] < self.limit;
        self.answered[place] += u32::from(is_answered);
        is_answered
    }
}

/// The household of an address: all clients at one IPv4 address, or in one IPv6 /64, which is what
/// a provider gives to a home.
pub(crate) fn household(address: IpAddr) -> Household {
    Household(match address.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => Ipv6Addr::to_bits(address) >> 64 << 64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    fn home(last: u8) -> Household {
        household(address(last))
    }

    #[test]
    fn connections_of_one_address_are_limited_and_others_are_not_affected() {
        let limits = Limits { per_address_max: 3, ..Limits::default() };
        let mut limiter = ConnectionLimiter::new(limits);
        let now = Instant::now();
        assert_eq!((0..5).filter(|_| limiter.admit(home(1), now).is_ok()).count(), 3);
        assert!(limiter.admit(home(2), now).is_ok());
        limiter.on_gone(home(1));
        assert!(limiter.admit(home(1), now).is_ok());
    }

    #[test]
    fn the_rate_of_one_address_is_limited() {
        let limits = Limits { per_address_per_sec: 2, per_address_burst: 4, ..Limits::default() };
        let mut limiter = ConnectionLimiter::new(limits);
        let begin = Instant::now();
        let mut connect = |at: Instant| {
            let place = limiter.admit(home(1), at);
            if let Ok(place) = &place {
                limiter.on_handshake_over(place);
                limiter.on_gone(home(1));
            }
            place.is_ok()
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
            let place = limiter.admit(home(1), at);
            if let Ok(place) = &place {
                limiter.on_handshake_over(place);
                limiter.on_thrown_out(home(1));
                limiter.on_gone(home(1));
            }
            u32::from(place.is_ok())
        };
        let in_ten_secs: u32 = (0..1_000).map(|it| misbehave(begin + Duration::from_millis(10 * it))).sum();
        assert!((10..=12).contains(&in_ten_secs), "{in_ten_secs} times");
        assert!(limiter.admit(home(2), begin).is_ok(), "other addresses are not affected");
    }

    #[test]
    fn many_who_break_the_protocol_lock_their_household_out_for_a_second_at_most() {
        let mut limiter = ConnectionLimiter::new(Limits::default());
        let begin = Instant::now();
        for _ in 0..64 {
            let place = limiter.admit(home(1), begin).expect("within the limits");
            limiter.on_handshake_over(&place);
        }
        for _ in 0..64 {
            limiter.on_thrown_out(home(1));
            limiter.on_gone(home(1));
        }
        assert!(limiter.admit(home(1), begin + Duration::from_millis(900)).is_err());
        assert!(limiter.admit(home(1), begin + Duration::from_millis(1001)).is_ok());
    }

    #[test]
    fn handshakes_and_households_are_bounded() {
        let limits = Limits { handshakes_max: usize::MAX, ..Limits::default() };
        let (mut limiter, now) = (ConnectionLimiter::new(limits), Instant::now());
        let many = 2 * HOUSEHOLDS_MAX as u128;
        let admitted = (0..many).filter(|home| limiter.admit(Household(*home), now).is_ok()).count();
        assert_eq!((admitted, limiter.households.len()), (HOUSEHOLDS_MAX, HOUSEHOLDS_MAX));
    }

    /// Four addresses with a quarter of the handshakes each kept all others out.
    #[test]
    fn handshakes_that_are_held_keep_no_other_household_out() {
        let limits = Limits { handshakes_max: 32, ..Limits::default() };
        let (mut limiter, now) = (ConnectionLimiter::new(limits), Instant::now());
        let held: Vec<_> =
            (0..32).map(|nth| limiter.admit(home(nth % 4), now).expect("a free place")).collect();
        let refused = limiter.admit(home(0), now).err();
        assert_eq!(refused, Some(Incident::NoHandshake), "full, and it has as many as the others");
        let mut honest = Vec::new();
        for last in 10..10 + 28 {
            honest.push(limiter.admit(home(last), now).expect("of one that holds several"));
        }
        assert_eq!(held.iter().filter(|place| place.is_lost()).count(), 28);
        assert!(held[..28].iter().all(HandshakePlace::is_lost), "the oldest ones");
        assert!(honest.iter().all(|place| !place.is_lost()));
        assert!(limiter.admit(home(99), now).is_err(), "every household has one");
        limiter.on_handshake_over(&honest[0]);
        assert!(limiter.admit(home(99), now).is_ok());
        // The end of a handshake that has lost its place frees nothing.
        limiter.on_handshake_over(&held[0]);
        assert_eq!(limiter.handshakes.len(), 32);
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
        assert_eq!(household(one), household(other));
        assert_ne!(household(one), household("2001:db8:1:3::1".parse().unwrap()));
        assert_eq!(household("::ffff:192.0.2.1".parse().unwrap()), home(1));
        assert_ne!(home(1), home(2));
    }
}
