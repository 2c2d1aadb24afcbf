//! The list of entries, without a socket.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use fairpath::time::{LocalInstant, Span};

use super::EXPIRES_AFTER;
use super::message::{Announcement, EntryId, Filter, Listing, LobbyRefusal};
use crate::admissions::household;
use crate::identity::Fingerprint;

/// Limits of a lobby.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LobbyLimits {
    /// Entries on the list. Default 4096: at most 2 kB each, 8 MB. A full list refuses newcomers.
    pub entries_max: usize,
    /// Entries of one IPv4 address or IPv6 /64 prefix. Default 32: a mesh behind one router. With
    /// fewer a school cannot play; with many more one household can fill the list.
    pub entries_per_address_max: usize,
    /// An entry that was not renewed for this long is removed. Default [`EXPIRES_AFTER`].
    pub expires_after: Duration,
    /// Pairs that are relayed at once. Default 64. Each takes two ports, and up to 128 kB/s each
    /// way. 0 turns relays off.
    pub relays_max: usize,
    /// Relays that one address keeps when all are in use and another address asks for one. Default
    /// 4. Beyond them, the address that has asked for the most loses the newest one
    /// ([`Shares`](fairpath::session::Shares)); its peers may ask again. While relays are free, an
    /// address may have any number. Raise it where many players behind one router need relays.
    pub relays_kept_per_address: usize,
}

impl Default for LobbyLimits {
    fn default() -> Self {
        Self {
            entries_max: 4096,
            entries_per_address_max: 32,
            expires_after: EXPIRES_AFTER,
            relays_max: 64,
            relays_kept_per_address: 4,
        }
    }
}

/// An announcer, as the lobby sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvenPeer {
    /// The connection's number at this lobby.
    pub connection: u64,
    /// The address, proven by QUIC.
    pub address: SocketAddr,
    /// The fingerprint of the certificate whose key it has, proven by TLS.
    pub fingerprint: Fingerprint,
}

/// The list of a lobby.
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
    /// An empty list.
    pub fn new(limits: LobbyLimits) -> Self {
        Self { limits, entries: BTreeMap::new(), next: 1 }
    }

    /// Adds an entry, or renews the one of this connection. One connection and one certificate have
    /// one entry: an announcer that reconnects replaces its old entry.
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
        if neighbours.count() >= self.limits.entries_per_address_max {
            return Err(LobbyRefusal::TooManyOfYours);
        }
        let id = EntryId(self.next);
        self.next += 1;
        self.entries.insert(id, entry);
        Ok(id)
    }

    /// Removes the entry of a connection, if it has one.
    pub fn withdraw(&mut self, connection: u64) {
        self.entries.retain(|_, entry| entry.seen.connection != connection);
    }

    /// Removes entries that were not renewed in time.
    pub fn expire(&mut self, now: LocalInstant) {
        let expires_after = Span::from_micros(self.limits.expires_after.as_micros() as i64);
        self.entries.retain(|_, entry| now - entry.renewed_at < expires_after);
    }

    /// The entries after `after` that match the filter, in the order of ids.
    pub fn find<'a>(&'a self, filter: &'a Filter, after: EntryId) -> impl Iterator<Item = Listing> + 'a {
        let first = EntryId(after.0.saturating_add(1));
        let matching = self.entries.range(first..).filter(|(_, entry)| filter.matches(&entry.announcement));
        matching.map(|(id, entry)| entry.listing(*id))
    }

    /// The announcer of an entry, and whether it wants introductions.
    pub fn get(&self, entry: EntryId) -> Option<(ProvenPeer, bool)> {
        let entry = self.entries.get(&entry)?;
        Some((entry.seen, entry.announcement.wants_introductions))
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the list is empty.
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

    fn names(registry: &Registry) -> Vec<String> {
        let filter = Filter::default();
        registry.find(&filter, EntryId(0)).map(|listing| listing.announcement.name).collect()
    }

    #[test]
    fn entries_that_are_not_renewed_are_removed() {
        let mut registry = Registry::new(LobbyLimits::default());
        let one = registry.announce(seen(1), tanks("one"), at(0)).unwrap();
        registry.announce(seen(2), tanks("two"), at(0)).unwrap();
        assert_eq!(registry.announce(seen(1), tanks("one, renewed"), at(20)), Ok(one));
        registry.expire(at(29));
        assert_eq!(names(&registry), ["one, renewed", "two"]);
        registry.expire(at(31));
        assert_eq!(names(&registry), ["one, renewed"]);
        registry.withdraw(1);
        assert!(registry.is_empty());
    }

    #[test]
    fn a_full_list_refuses_newcomers_and_keeps_its_entries() {
        let limits = LobbyLimits { entries_max: 3, ..LobbyLimits::default() };
        let mut registry = Registry::new(limits);
        let answers: Vec<_> =
            (0..5).map(|number| registry.announce(seen(number), tanks("it"), at(0)).is_ok()).collect();
        assert_eq!(answers, [true, true, true, false, false]);
        assert!(registry.announce(seen(2), tanks("renewed"), at(1)).is_ok());
        assert_eq!(registry.announce(seen(9), tanks("new"), at(1)), Err(LobbyRefusal::Full));
        assert!(registry.announce(seen(9), tanks("new"), at(31)).is_ok(), "expired entries make room");
    }

    #[test]
    fn entries_of_one_address_are_limited() {
        let limits = LobbyLimits { entries_per_address_max: 2, ..LobbyLimits::default() };
        let mut registry = Registry::new(limits);
        let neighbour =
            |number| ProvenPeer { address: ([192, 0, 2, 1], number as u16).into(), ..seen(number) };
        assert!(registry.announce(neighbour(1), tanks("one"), at(0)).is_ok());
        assert!(registry.announce(neighbour(2), tanks("two"), at(0)).is_ok());
        assert_eq!(registry.announce(neighbour(3), tanks("three"), at(0)), Err(LobbyRefusal::TooManyOfYours));
        assert!(registry.announce(seen(4), tanks("from elsewhere"), at(0)).is_ok());
    }

    #[test]
    fn an_announcer_that_reconnects_replaces_its_entry() {
        let mut registry = Registry::new(LobbyLimits::default());
        let before = registry.announce(seen(1), tanks("it"), at(0)).unwrap();
        let back = ProvenPeer { connection: 77, ..seen(1) };
        let after = registry.announce(back, tanks("it"), at(1)).unwrap();
        assert_ne!(before, after, "ids are never used again");
        assert_eq!(names(&registry), ["it"]);
        // The lobby notices later that the old connection is dead.
        registry.withdraw(1);
        assert_eq!(names(&registry), ["it"]);
    }

    #[test]
    fn lists_are_read_in_pages() {
        let mut registry = Registry::new(LobbyLimits::default());
        for number in 0..10 {
            registry.announce(seen(number), tanks(&number.to_string()), at(0)).unwrap();
        }
        let filter = Filter::default();
        let first: Vec<Listing> = registry.find(&filter, EntryId(0)).take(4).collect();
        let rest = registry.find(&filter, first[3].entry);
        let names: Vec<String> = rest.map(|listing| listing.announcement.name).collect();
        assert_eq!(names, ["4", "5", "6", "7", "8", "9"]);
        assert_eq!(registry.find(&filter, EntryId(u64::MAX)).count(), 0);
    }
}
