//! The list itself, without a socket: who is on it, for how long, and how many.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use fairpath::time::{LocalInstant, Span};

use super::EXPIRES_AFTER;
use super::message::{Announcement, EntryId, Filter, Listing, LobbyRefusal};
use crate::connection_limiter::household;
use crate::identity::Fingerprint;

/// How much a lobby takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LobbyLimits {
    /// Entries on the list. Default 4096: at 2 kB each at worst 8 MB. Newcomers are refused beyond
    /// it.
    pub entries_max: usize,
    /// Entries of one household: an IPv4 address or an IPv6 /64. Default 32: a mesh behind one
    /// router. With fewer a school cannot play; with many more one household can fill the list.
    pub entries_per_household_max: usize,
    /// An entry that was not renewed for this long is taken off. Default [`EXPIRES_AFTER`].
    pub expires_after: Duration,
    /// Pairs that are relayed at once. Default 64; each takes two ports, and up to 128 kB/s each
    /// way. 0: no relay.
    pub relays_max: usize,
}

impl Default for LobbyLimits {
    fn default() -> Self {
        Self {
            entries_max: 4096,
            entries_per_household_max: 32,
            expires_after: EXPIRES_AFTER,
            relays_max: 64,
        }
    }
}

/// Who announces, as the lobby sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvenPeer {
    /// On which connection, as the lobby counts them.
    pub connection: u64,
    /// From where; QUIC has proven it.
    pub address: SocketAddr,
    /// Whose key it has; TLS has proven it.
    pub fingerprint: Fingerprint,
}

/// The list.
#[derive(Debug)]
pub struct Registry {
    limits: LobbyLimits,
    entries: BTreeMap<EntryId, Entry>,
    next: u64,
}

#[derive(Debug)]
struct Entry {
    seen: ProvenPeer,
    announcement: Announcement,
    renewed_at: LocalInstant,
}

impl Registry {
    /// An empty one.
    pub fn new(limits: LobbyLimits) -> Self {
        Self { limits, entries: BTreeMap::new(), next: 1 }
    }

    /// Puts somebody on the list or renews what it says. One connection, and one certificate, has
    /// one entry: who comes back on another connection takes its own place.
    pub fn announce(
        &mut self,
        seen: ProvenPeer,
        announcement: Announcement,
        now: LocalInstant,
    ) -> Result<EntryId, LobbyRefusal> {
        self.expire(now);
        let entry = Entry { seen, announcement, renewed_at: now };
        if let Some(known) = self.entry_of(seen.connection) {
            self.entries.insert(known, entry);
            return Ok(known);
        }
        self.entries.retain(|_, other| other.seen.fingerprint != seen.fingerprint);
        if self.entries.len() >= self.limits.entries_max {
            return Err(LobbyRefusal::Full);
        }
        let home = household(seen.address.ip());
        let neighbours = self.entries.values().filter(|other| household(other.seen.address.ip()) == home);
        if neighbours.count() >= self.limits.entries_per_household_max {
            return Err(LobbyRefusal::TooManyOfYours);
        }
        let id = EntryId(self.next);
        self.next += 1;
        self.entries.insert(id, entry);
        Ok(id)
    }

    /// Takes the entry of a connection off the list, if it has one.
    pub fn withdraw(&mut self, connection: u64) {
        self.entries.retain(|_, entry| entry.seen.connection != connection);
    }

    /// Takes off what was not renewed in time.
    pub fn expire(&mut self, now: LocalInstant) {
        let expires_after = Span::from_micros(self.limits.expires_after.as_micros() as i64);
        self.entries.retain(|_, entry| now - entry.renewed_at < expires_after);
    }

    /// Those that are asked for, after an entry, in the order of ids.
    pub fn find<'a>(&'a self, filter: &'a Filter, after: EntryId) -> impl Iterator<Item = Listing> + 'a {
        let first = EntryId(after.0.saturating_add(1));
        let matching = self.entries.range(first..).filter(|(_, entry)| filter.matches(&entry.announcement));
        matching.map(|(id, entry)| entry.listing(*id))
    }

    /// Who stands behind an entry, and whether it wants to be introduced.
    pub fn get(&self, entry: EntryId) -> Option<(ProvenPeer, bool)> {
        let entry = self.entries.get(&entry)?;
        Some((entry.seen, entry.announcement.wants_introductions))
    }

    /// How many are on it.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nobody is on it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn entry_of(&self, connection: u64) -> Option<EntryId> {
        self.entries.iter().find(|(_, entry)| entry.seen.connection == connection).map(|(id, _)| *id)
    }
}

impl Entry {
    fn listing(&self, entry: EntryId) -> Listing {
        let ProvenPeer { address, fingerprint, .. } = self.seen;
        Listing { entry, address, fingerprint, announcement: self.announcement.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(number: u32) -> ProvenPeer {
        let mut name = [0; 32];
        name[..4].copy_from_slice(&number.to_le_bytes());
        let address = (std::net::Ipv4Addr::from_bits(0x0A00_0000 + number), 7777).into();
        ProvenPeer { connection: number.into(), address, fingerprint: Fingerprint(name) }
    }

    fn tanks(name: &str) -> Announcement {
        Announcement::new("tanks", name)
    }

    fn at(secs: i64) -> LocalInstant {
        LocalInstant::ZERO + Span::from_secs(secs)
    }

    fn names(book: &Registry) -> Vec<String> {
        let filter = Filter::default();
        book.find(&filter, EntryId(0)).map(|listing| listing.announcement.name).collect()
    }

    #[test]
    fn entries_that_are_not_renewed_fall_off_the_list() {
        let mut book = Registry::new(LobbyLimits::default());
        let one = book.announce(seen(1), tanks("one"), at(0)).unwrap();
        book.announce(seen(2), tanks("two"), at(0)).unwrap();
        assert_eq!(book.announce(seen(1), tanks("one, renewed"), at(20)), Ok(one));
        book.expire(at(29));
        assert_eq!(names(&book), ["one, renewed", "two"]);
        book.expire(at(31));
        assert_eq!(names(&book), ["one, renewed"]);
        book.withdraw(1);
        assert!(book.is_empty());
    }

    #[test]
    fn a_full_list_refuses_newcomers_and_keeps_who_is_on_it() {
        let limits = LobbyLimits { entries_max: 3, ..LobbyLimits::default() };
        let mut book = Registry::new(limits);
        let answers: Vec<_> =
            (0..5).map(|who| book.announce(seen(who), tanks("it"), at(0)).is_ok()).collect();
        assert_eq!(answers, [true, true, true, false, false]);
        assert!(book.announce(seen(2), tanks("renewed"), at(1)).is_ok());
        assert_eq!(book.announce(seen(9), tanks("new"), at(1)), Err(LobbyRefusal::Full));
        assert!(book.announce(seen(9), tanks("new"), at(31)).is_ok(), "who did not renew makes room");
    }

    #[test]
    fn one_household_has_so_many_entries_and_no_more() {
        let limits = LobbyLimits { entries_per_household_max: 2, ..LobbyLimits::default() };
        let mut book = Registry::new(limits);
        let neighbour =
            |number| ProvenPeer { address: ([192, 0, 2, 1], number as u16).into(), ..seen(number) };
        assert!(book.announce(neighbour(1), tanks("one"), at(0)).is_ok());
        assert!(book.announce(neighbour(2), tanks("two"), at(0)).is_ok());
        assert_eq!(book.announce(neighbour(3), tanks("three"), at(0)), Err(LobbyRefusal::TooManyOfYours));
        assert!(book.announce(seen(4), tanks("from elsewhere"), at(0)).is_ok());
    }

    #[test]
    fn who_comes_back_on_another_connection_takes_its_own_place() {
        let mut book = Registry::new(LobbyLimits::default());
        let before = book.announce(seen(1), tanks("it"), at(0)).unwrap();
        let back = ProvenPeer { connection: 77, ..seen(1) };
        let after = book.announce(back, tanks("it"), at(1)).unwrap();
        assert_ne!(before, after, "ids are never used again");
        assert_eq!(names(&book), ["it"]);
        // The old connection is found to be dead, later.
        book.withdraw(1);
        assert_eq!(names(&book), ["it"]);
    }

    #[test]
    fn lists_are_read_some_at_a_time() {
        let mut book = Registry::new(LobbyLimits::default());
        for who in 0..10 {
            book.announce(seen(who), tanks(&who.to_string()), at(0)).unwrap();
        }
        let filter = Filter::default();
        let first: Vec<Listing> = book.find(&filter, EntryId(0)).take(4).collect();
        let rest = book.find(&filter, first[3].entry);
        let names: Vec<String> = rest.map(|listing| listing.announcement.name).collect();
        assert_eq!(names, ["4", "5", "6", "7", "8", "9"]);
        assert_eq!(book.find(&filter, EntryId(u64::MAX)).count(), 0);
    }
}
