//! How many connections one address may have, and how fast it may ask for more.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// How many may come, from where and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections from one address at once, with and without a session. Default 64: a school
    /// behind one router, or a machine full of bots. An IPv6 address counts as its /64, which
    /// is what one household has.
    pub per_address_max: usize,
    /// Connections that one address may begin in a second, on average. Default 20; each costs a
    /// handshake, about a millisecond of the server's time.
    pub per_address_per_sec: u32,
    /// Connections that it may begin at once. Default 128: twice all that it may have.
    pub per_address_burst: u32,
    /// Handshakes under way at once, of all addresses. Default 128, and a quarter of them of one
    /// address; who comes meanwhile is refused and may try again.
    pub handshakes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { per_address_max: 64, per_address_per_sec: 20, per_address_burst: 128, handshakes_max: 128 }
    }
}

/// Counts connections by address. Only addresses that were proven come here, so nobody can fill it
/// with forged ones.
#[derive(Debug)]
pub(crate) struct ConnectionLimiter {
    limits: Limits,
    guests: BTreeMap<IpAddr, Guest>,
    handshakes: usize,
}

#[derive(Debug)]
struct Guest {
    connections: usize,
    handshakes: usize,
    tokens: f64,
    refilled_at: Instant,
}

/// Addresses that are remembered: a few bytes each, and more than a server has clients.
const GUESTS_MAX: usize = 4096;

impl ConnectionLimiter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, guests: BTreeMap::new(), handshakes: 0 }
    }

    /// Whether somebody from there may begin a handshake; it is counted then.
    pub(crate) fn admit(&mut self, address: IpAddr, now: Instant) -> bool {
        if self.handshakes >= self.limits.handshakes_max {
            return false;
        }
        self.forget_strangers(now);
        let burst = f64::from(self.limits.per_address_burst);
        if self.guests.len() >= GUESTS_MAX && !self.guests.contains_key(&household(address)) {
            return false;
        }
        let guest = self.guests.entry(household(address)).or_insert(Guest {
            connections: 0,
            handshakes: 0,
            tokens: burst,
            refilled_at: now,
        });
        guest.refill(&self.limits, now);
        // One address must not be able to keep everybody else waiting.
        let handshakes_max = (self.limits.handshakes_max / 4).max(1);
        let is_too_many =
            guest.connections >= self.limits.per_address_max || guest.handshakes >= handshakes_max;
        if is_too_many || guest.tokens < 1.0 {
            return false;
        }
        guest.tokens -= 1.0;
        guest.connections += 1;
        guest.handshakes += 1;
        self.handshakes += 1;
        true
    }

    /// A handshake that was admitted has ended, well or not.
    pub(crate) fn on_handshake_over(&mut self, address: IpAddr) {
        self.handshakes -= 1;
        if let Some(guest) = self.guests.get_mut(&household(address)) {
            guest.handshakes -= 1;
        }
    }

    /// Somebody from there was thrown out for what it said. It costs as many beginnings as its
    /// address has in a second, so whoever goes on like that comes back once a second and no
    /// more often; who shares its address waits with it, but only to come in.
    pub(crate) fn on_thrown_out(&mut self, address: IpAddr) {
        if let Some(guest) = self.guests.get_mut(&household(address)) {
            guest.tokens -= f64::from(self.limits.per_address_per_sec);
        }
    }

    /// A connection that was admitted is gone.
    pub(crate) fn on_gone(&mut self, address: IpAddr) {
        if let Some(guest) = self.guests.get_mut(&household(address)) {
            guest.connections -= 1;
        }
    }

    /// When there are many, those who are not here and have waited long enough are as good as new.
    fn forget_strangers(&mut self, now: Instant) {
        if self.guests.len() < GUESTS_MAX {
            return;
        }
        let limits = self.limits;
        self.guests.retain(|_, guest| {
            guest.refill(&limits, now);
            guest.connections > 0 || guest.tokens < f64::from(limits.per_address_burst)
        });
    }
}

impl Guest {
    fn refill(&mut self, limits: &Limits, now: Instant) {
        let elapsed = now.saturating_duration_since(self.refilled_at).min(Duration::from_secs(3600));
        let tokens = self.tokens + elapsed.as_secs_f64() * f64::from(limits.per_address_per_sec);
        self.tokens = tokens.min(limits.per_address_burst.into());
        self.refilled_at = now;
    }
}

/// What one household has: an IPv4 address, or the /64 of an IPv6 one.
pub(crate) fn household(address: IpAddr) -> IpAddr {
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
    fn one_address_has_so_many_and_no_more_and_others_do_not_suffer() {
        let limits = Limits { per_address_max: 3, ..Limits::default() };
        let mut door = ConnectionLimiter::new(limits);
        let now = Instant::now();
        assert_eq!((0..5).filter(|_| door.admit(address(1), now)).count(), 3);
        assert!(door.admit(address(2), now));
        door.on_gone(address(1));
        assert!(door.admit(address(1), now));
    }

    #[test]
    fn one_address_comes_no_faster_than_it_may() {
        let limits = Limits { per_address_per_sec: 2, per_address_burst: 4, ..Limits::default() };
        let mut door = ConnectionLimiter::new(limits);
        let begin = Instant::now();
        let mut come = |at: Instant| {
            let is_in = door.admit(address(1), at);
            if is_in {
                door.on_handshake_over(address(1));
                door.on_gone(address(1));
            }
            is_in
        };
        assert_eq!((0..10).filter(|_| come(begin)).count(), 4);
        assert_eq!((0..10).filter(|_| come(begin + Duration::from_secs(1))).count(), 2);
    }

    #[test]
    fn whoever_is_thrown_out_comes_back_once_a_second() {
        let limits = Limits { per_address_per_sec: 20, per_address_burst: 40, ..Limits::default() };
        let mut door = ConnectionLimiter::new(limits);
        let begin = Instant::now();
        let mut misbehave = |at: Instant| {
            let is_in = door.admit(address(1), at);
            if is_in {
                door.on_handshake_over(address(1));
                door.on_thrown_out(address(1));
                door.on_gone(address(1));
            }
            u32::from(is_in)
        };
        let in_ten_secs: u32 = (0..1_000).map(|it| misbehave(begin + Duration::from_millis(10 * it))).sum();
        assert!((10..=12).contains(&in_ten_secs), "{in_ten_secs} times");
        assert!(door.admit(address(2), begin), "others come in all the same");
    }

    #[test]
    fn handshakes_and_addresses_have_an_end() {
        let mut door = ConnectionLimiter::new(Limits { handshakes_max: 8, ..Limits::default() });
        let now = Instant::now();
        assert_eq!((0..5).filter(|_| door.admit(address(1), now)).count(), 2, "a quarter of one address");
        assert_eq!((2..20).filter(|last| door.admit(address(*last), now)).count(), 6);
        let mut door = ConnectionLimiter::new(Limits { handshakes_max: usize::MAX, ..Limits::default() });
        let many = 2 * GUESTS_MAX as u32;
        let admitted = (0..many).filter(|bits| door.admit(IpAddr::V4((*bits).into()), now)).count();
        assert_eq!((admitted, door.guests.len()), (GUESTS_MAX, GUESTS_MAX));
    }

    #[test]
    fn a_household_has_one_prefix() {
        let one: IpAddr = "2001:db8:1:2::1".parse().unwrap();
        let other: IpAddr = "2001:db8:1:2:ffff::1".parse().unwrap();
        assert_eq!(household(one), household(other));
        assert_eq!(household("::ffff:192.0.2.1".parse().unwrap()), address(1));
    }
}
