//! The messages to and from a lobby, and their bytes: PROTOCOL.md, section 16.
//!
//! Every byte string decodes or is refused, and what decodes encodes to the same bytes.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use fairpath::session::MessageError;
use fairpath::session::codec::{Reader, put_bytes, put_varint};
use fairpath::session::message::SESSION_VERSION;

use crate::identity::Fingerprint;

/// Longest message: an entry with all attributes at their longest.
pub const MESSAGE_BYTES_MAX: usize = 4096;
/// Longest name, game, and key or value of an attribute.
pub const TEXT_BYTES_MAX: usize = 64;
/// Attributes of an entry, and conditions of a filter.
const ATTRIBUTES_MAX: usize = 16;
const _: () = assert!((ATTRIBUTES_MAX + 1) * 2 * (TEXT_BYTES_MAX + 1) + 128 < MESSAGE_BYTES_MAX);

/// The id of an entry. A lobby never uses an id twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub u64);

/// What a server or peer says of itself. The lobby adds address and certificate, which it sees.
///
/// ```
/// use fairpath_net::lobby::Announcement;
///
/// let tanks = Announcement::new("tanks", "Ann's server").with_attribute("map", "dunes");
/// assert!(tanks.check().is_ok());
/// assert!(Announcement::new("tanks", "").check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The game that is played.
    pub game: String,
    /// The name that players see.
    pub name: String,
    /// The version of the session protocol.
    pub protocol: u8,
    /// Players now.
    pub players: u32,
    /// Players at most.
    pub seats: u32,
    /// Whether peers may ask to be introduced. Peers set it, servers need not.
    pub wants_introductions: bool,
    /// Anything else that players choose by.
    pub attributes: BTreeMap<String, String>,
}

/// Why an announcement or a filter cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotAnnounceable {
    /// A text is empty, longer than [`TEXT_BYTES_MAX`], or contains control characters.
    Text(String),
    /// There are too many attributes.
    TooManyAttributes,
}

impl Announcement {
    /// An announcement without players, seats and attributes.
    pub fn new(game: &str, name: &str) -> Self {
        Self {
            game: game.into(),
            name: name.into(),
            protocol: SESSION_VERSION,
            players: 0,
            seats: 0,
            wants_introductions: false,
            attributes: BTreeMap::new(),
        }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with_attribute(mut self, key: &str, value: &str) -> Self {
        self.attributes.insert(key.into(), value.into());
        self
    }

    /// Whether a lobby would accept it.
    pub fn check(&self) -> Result<(), NotAnnounceable> {
        [&self.game, &self.name].into_iter().try_for_each(|text| check_text(text))?;
        check_attributes(&self.attributes)
    }

    /// Seats that are free.
    pub fn free_seats(&self) -> u32 {
        self.seats.saturating_sub(self.players)
    }
}

/// Which entries to list. The default lists all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only entries of this game.
    pub game: Option<String>,
    /// Only entries with at least this many free seats.
    pub free_seats_min: u32,
    /// Only entries with all these attributes.
    pub attributes: BTreeMap<String, String>,
}

impl Filter {
    /// Whether an announcement matches.
    pub fn matches(&self, announcement: &Announcement) -> bool {
        let has = |(key, value): (&String, &String)| announcement.attributes.get(key) == Some(value);
        self.game.as_ref().is_none_or(|game| *game == announcement.game)
            && announcement.free_seats() >= self.free_seats_min
            && self.attributes.iter().all(has)
    }

    /// Whether a lobby would accept it.
    pub fn check(&self) -> Result<(), NotAnnounceable> {
        self.game.iter().try_for_each(|game| check_text(game))?;
        check_attributes(&self.attributes)
    }
}

/// An entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The entry's id.
    pub entry: EntryId,
    /// The address, as the lobby sees it.
    pub address: SocketAddr,
    /// The fingerprint of the certificate whose key it has.
    pub fingerprint: Fingerprint,
    /// What the announcer says of itself.
    pub announcement: Announcement,
}

/// A request to a lobby.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LobbyRequest {
    /// Adds the sender to the list, or renews its entry.
    Announce(Announcement),
    /// Removes the sender's entry.
    Withdraw,
    /// Lists entries that match, after this one, one page at a time.
    Find(Filter, EntryId),
    /// Introduces the sender to this entry.
    Meet(EntryId),
    /// Relays packets between the sender and this peer. The lobby has introduced them, but they
    /// cannot reach each other.
    Relay(Fingerprint),
}

/// A response of a lobby.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LobbyResponse {
    /// The client is listed under this id, at this address.
    Announced(EntryId, SocketAddr),
    /// One entry of the list.
    Found(Listing),
    /// The end of a page. True if there are more entries.
    End(bool),
    /// Connect to this peer at this address, and let it in. The peer is told the same.
    Meet(Fingerprint, SocketAddr),
    /// Packets that the client sends to this port of the lobby reach this peer.
    Relay(Fingerprint, u16),
    /// The request is refused.
    Refused(LobbyRefusal),
}

/// Why a lobby refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LobbyRefusal {
    /// The list is full.
    Full,
    /// The client's address has as many entries as it may.
    TooManyOfYours,
    /// Announcements and introductions need a certificate.
    NoCertificate,
    /// There is no such entry (any more), or it is the client's own.
    NoSuchEntry,
    /// The entry does not want introductions.
    NotWanted,
    /// Too many requests of this kind at the moment.
    Busy,
    /// The lobby has no relay, or has not introduced the two.
    NoRelay,
}

impl LobbyRefusal {
    /// All refusals, in the order of their codes.
    pub const ALL: [Self; 7] = [
        Self::Full,
        Self::TooManyOfYours,
        Self::NoCertificate,
        Self::NoSuchEntry,
        Self::NotWanted,
        Self::Busy,
        Self::NoRelay,
    ];
}

// ── spelling

impl LobbyRequest {
    /// Returns the bytes of the request.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Announce(announcement) => {
                out.push(0);
                put_announcement(&mut out, announcement);
            }
            Self::Withdraw => out.push(1),
            Self::Find(filter, after) => {
                out.push(2);
                put_bytes(&mut out, filter.game.as_deref().unwrap_or_default().as_bytes());
                put_varint(&mut out, filter.free_seats_min.into());
                put_attributes(&mut out, &filter.attributes);
                put_varint(&mut out, after.0);
            }
            Self::Meet(entry) => {
                out.push(3);
                put_varint(&mut out, entry.0);
            }
            Self::Relay(peer) => {
                out.push(4);
                out.extend_from_slice(&peer.0);
            }
        }
        out
    }

    /// Reads a request from bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut reader = Reader::new(bytes);
        let request = match reader.u8()? {
            0 => Self::Announce(announcement(&mut reader)?),
            1 => Self::Withdraw,
            2 => {
                let game = reader.bytes(TEXT_BYTES_MAX)?;
                let filter = Filter {
                    game: if game.is_empty() { None } else { Some(as_text(game)?) },
                    free_seats_min: reader.varint_u32()?,
                    attributes: attributes(&mut reader)?,
                };
                Self::Find(filter, EntryId(reader.varint()?))
            }
            3 => Self::Meet(EntryId(reader.varint()?)),
            4 => Self::Relay(Fingerprint(reader.array()?)),
            kind => return Err(MessageError::UnknownKind(kind)),
        };
        reader.finish()?;
        Ok(request)
    }
}

impl LobbyResponse {
    /// Returns the bytes of the response.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Announced(entry, seen) => {
                out.push(16);
                put_varint(&mut out, entry.0);
                put_address(&mut out, *seen);
            }
            Self::Found(listing) => {
                out.push(17);
                put_varint(&mut out, listing.entry.0);
                put_address(&mut out, listing.address);
                out.extend_from_slice(&listing.fingerprint.0);
                put_announcement(&mut out, &listing.announcement);
            }
            Self::End(has_more) => out.extend([18, u8::from(*has_more)]),
            Self::Meet(peer, address) => {
                out.push(19);
                out.extend_from_slice(&peer.0);
                put_address(&mut out, *address);
            }
            Self::Relay(peer, port) => {
                out.push(20);
                out.extend_from_slice(&peer.0);
                out.extend_from_slice(&port.to_le_bytes());
            }
            Self::Refused(refusal) => {
                let code = LobbyRefusal::ALL.iter().position(|it| it == refusal);
                out.extend([21, code.expect("all are there") as u8]);
            }
        }
        out
    }

    /// Reads a response from bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut reader = Reader::new(bytes);
        let response = match reader.u8()? {
            16 => Self::Announced(EntryId(reader.varint()?), address(&mut reader)?),
            17 => Self::Found(Listing {
                entry: EntryId(reader.varint()?),
                address: address(&mut reader)?,
                fingerprint: Fingerprint(reader.array()?),
                announcement: announcement(&mut reader)?,
            }),
            18 => Self::End(reader.flag()?),
            19 => Self::Meet(Fingerprint(reader.array()?), address(&mut reader)?),
            20 => Self::Relay(Fingerprint(reader.array()?), u16::from_le_bytes(reader.array()?)),
            21 => {
                let code = reader.u8()?;
                let refusal = LobbyRefusal::ALL.get(usize::from(code)).copied();
                Self::Refused(refusal.ok_or(MessageError::UnknownKind(code))?)
            }
            kind => return Err(MessageError::UnknownKind(kind)),
        };
        reader.finish()?;
        Ok(response)
    }
}

fn put_announcement(out: &mut Vec<u8>, announcement: &Announcement) {
    put_bytes(out, announcement.game.as_bytes());
    put_bytes(out, announcement.name.as_bytes());
    out.push(announcement.protocol);
    put_varint(out, announcement.players.into());
    put_varint(out, announcement.seats.into());
    out.push(announcement.wants_introductions.into());
    put_attributes(out, &announcement.attributes);
}

fn announcement(reader: &mut Reader<'_>) -> Result<Announcement, MessageError> {
    Ok(Announcement {
        game: text(reader)?,
        name: text(reader)?,
        protocol: reader.u8()?,
        players: reader.varint_u32()?,
        seats: reader.varint_u32()?,
        wants_introductions: reader.flag()?,
        attributes: attributes(reader)?,
    })
}

fn put_attributes(out: &mut Vec<u8>, attributes: &BTreeMap<String, String>) {
    out.push(attributes.len() as u8);
    for (key, value) in attributes {
        put_bytes(out, key.as_bytes());
        put_bytes(out, value.as_bytes());
    }
}

/// In ascending order of keys, each once.
fn attributes(reader: &mut Reader<'_>) -> Result<BTreeMap<String, String>, MessageError> {
    let count = usize::from(reader.u8()?);
    if count > ATTRIBUTES_MAX {
        return Err(MessageError::OutOfRange);
    }
    let mut attributes = BTreeMap::new();
    for _ in 0..count {
        let (key, value) = (text(reader)?, text(reader)?);
        if attributes.last_key_value().is_some_and(|(last, _)| *last >= key) {
            return Err(MessageError::NotCanonical);
        }
        attributes.insert(key, value);
    }
    Ok(attributes)
}

fn text(reader: &mut Reader<'_>) -> Result<String, MessageError> {
    as_text(reader.bytes(TEXT_BYTES_MAX)?)
}

fn as_text(bytes: &[u8]) -> Result<String, MessageError> {
    let text = std::str::from_utf8(bytes).map_err(|_| MessageError::OutOfRange)?;
    check_text(text).map_err(|_| MessageError::OutOfRange)?;
    Ok(text.to_owned())
}

fn put_address(out: &mut Vec<u8>, address: SocketAddr) {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => {
            out.push(4);
            out.extend(ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(6);
            out.extend(ip.octets());
        }
    }
    out.extend(address.port().to_le_bytes());
}

fn address(reader: &mut Reader<'_>) -> Result<SocketAddr, MessageError> {
    let ip: IpAddr = match reader.u8()? {
        4 => reader.array::<4>()?.into(),
        6 => reader.array::<16>()?.into(),
        kind => return Err(MessageError::UnknownKind(kind)),
    };
    if ip != ip.to_canonical() {
        return Err(MessageError::NotCanonical);
    }
    Ok((ip, u16::from_le_bytes(reader.array()?)).into())
}

/// Lists are shown in terminals, so texts have no control characters.
fn check_text(text: &str) -> Result<(), NotAnnounceable> {
    let is_good = !text.is_empty() && text.len() <= TEXT_BYTES_MAX && !text.contains(char::is_control);
    if is_good { Ok(()) } else { Err(NotAnnounceable::Text(text.to_owned())) }
}

fn check_attributes(attributes: &BTreeMap<String, String>) -> Result<(), NotAnnounceable> {
    if attributes.len() > ATTRIBUTES_MAX {
        return Err(NotAnnounceable::TooManyAttributes);
    }
    attributes.iter().flat_map(|(key, value)| [key, value]).try_for_each(|text| check_text(text))
}

impl fmt::Display for NotAnnounceable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => {
                write!(f, "{text:?}: give 1 to {TEXT_BYTES_MAX} bytes without control characters")
            }
            Self::TooManyAttributes => write!(f, "too many attributes: give at most {ATTRIBUTES_MAX}"),
        }
    }
}

impl std::error::Error for NotAnnounceable {}

impl fmt::Display for LobbyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the list is full",
            Self::TooManyOfYours => "there are too many entries from this address",
            Self::NoCertificate => "this request needs a certificate",
            Self::NoSuchEntry => "there is no such entry",
            Self::NotWanted => "the entry does not want introductions",
            Self::Busy => "too many requests at the moment; try again later",
            Self::NoRelay => "no relay is available for this pair",
        })
    }
}

impl std::error::Error for LobbyRefusal {}

#[cfg(test)]
mod tests {
    use fairpath_laws::{law, proptest::prelude::*};

    use super::*;

    fn texts() -> impl Strategy<Value = String> {
        "[a-zäß€0-9 ]{1,16}".prop_map(String::from)
    }

    fn announcements() -> impl Strategy<Value = Announcement> {
        let attributes = prop::collection::btree_map(texts(), texts(), 0..ATTRIBUTES_MAX);
        (texts(), texts(), any::<(u8, u32, u32, bool)>(), attributes).prop_map(
            |(game, name, (protocol, players, seats, wants_introductions), attributes)| Announcement {
                game,
                name,
                protocol,
                players,
                seats,
                wants_introductions,
                attributes,
            },
        )
    }

    fn addresses() -> impl Strategy<Value = SocketAddr> {
        let ip =
            prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)];
        (ip, any::<u16>()).prop_map(|(ip, port)| (ip.to_canonical(), port).into())
    }

    fn requests() -> impl Strategy<Value = LobbyRequest> {
        let filter = (prop::option::of(texts()), any::<u32>(), announcements()).prop_map(
            |(game, free_seats_min, it)| Filter { game, free_seats_min, attributes: it.attributes },
        );
        prop_oneof![
            announcements().prop_map(LobbyRequest::Announce),
            Just(LobbyRequest::Withdraw),
            (filter, any::<u64>()).prop_map(|(filter, after)| LobbyRequest::Find(filter, EntryId(after))),
            any::<u64>().prop_map(|entry| LobbyRequest::Meet(EntryId(entry))),
            any::<[u8; 32]>().prop_map(|peer| LobbyRequest::Relay(Fingerprint(peer))),
        ]
    }

    fn responses() -> impl Strategy<Value = LobbyResponse> {
        let listing = (any::<u64>(), addresses(), any::<[u8; 32]>(), announcements()).prop_map(
            |(entry, address, fingerprint, announcement)| Listing {
                entry: EntryId(entry),
                address,
                fingerprint: Fingerprint(fingerprint),
                announcement,
            },
        );
        prop_oneof![
            (any::<u64>(), addresses())
                .prop_map(|(entry, seen)| LobbyResponse::Announced(EntryId(entry), seen)),
            listing.prop_map(LobbyResponse::Found),
            any::<bool>().prop_map(LobbyResponse::End),
            (any::<[u8; 32]>(), addresses())
                .prop_map(|(peer, at)| LobbyResponse::Meet(Fingerprint(peer), at)),
            any::<([u8; 32], u16)>().prop_map(|(peer, port)| LobbyResponse::Relay(Fingerprint(peer), port)),
            prop::sample::select(LobbyRefusal::ALL.to_vec()).prop_map(LobbyResponse::Refused),
        ]
    }

    #[test]
    fn encoded_messages_decode_and_fit() {
        law!((requests(), responses()), |(request, response)| {
            prop_assert_eq!(LobbyRequest::decode(&request.encode()), Ok(request.clone()));
            prop_assert_eq!(LobbyResponse::decode(&response.encode()), Ok(response.clone()));
            prop_assert!(request.encode().len().max(response.encode().len()) <= MESSAGE_BYTES_MAX);
            Ok(())
        });
    }

    #[test]
    fn the_longest_fits_into_a_message() {
        let long = |first: usize| format!("{first:02}{}", "x".repeat(TEXT_BYTES_MAX - 2));
        let mut announcement = Announcement::new(&long(0), &long(0));
        for which in 0..ATTRIBUTES_MAX {
            announcement = announcement.with_attribute(&long(which), &long(which));
        }
        announcement.check().expect("as long as may be");
        let (entry, address) = (EntryId(u64::MAX), "[ff::ff]:65535".parse().unwrap());
        let listing = Listing { entry, address, fingerprint: Fingerprint([9; 32]), announcement };
        assert!(LobbyResponse::Found(listing).encode().len() <= MESSAGE_BYTES_MAX);
    }

    /// Random bytes, and messages with a byte changed, cut off or added: no panic, and no second
    /// encoding of one message.
    #[test]
    fn every_byte_string_is_refused_or_has_one_meaning() {
        let noise = prop::collection::vec(any::<u8>(), 0..200);
        law!((requests(), responses(), noise, any::<(usize, u8)>()), |(
            request,
            response,
            noise,
            (at, byte),
        )| {
            let mut cases = vec![noise.clone()];
            for good in [request.encode(), response.encode()] {
                let at = at % good.len();
                let mut bad = good.clone();
                bad[at] ^= byte;
                cases.extend([bad, good[..at].to_vec(), [good, vec![byte]].concat()]);
            }
            for case in cases {
                if let Ok(request) = LobbyRequest::decode(&case) {
                    prop_assert_eq!(&request.encode(), &case);
                }
                if let Ok(response) = LobbyResponse::decode(&case) {
                    prop_assert_eq!(&response.encode(), &case);
                }
            }
            Ok(())
        });
    }

    #[test]
    fn names_with_control_characters_are_refused() {
        for bad in ["", "a\nb", "\u{1b}[2J", &"x".repeat(TEXT_BYTES_MAX + 1)] {
            let announcement = Announcement::new("tanks", bad);
            assert!(announcement.check().is_err(), "{bad:?}");
            let bytes = LobbyRequest::Announce(announcement).encode();
            assert_eq!(LobbyRequest::decode(&bytes), Err(MessageError::OutOfRange), "{bad:?}");
        }
    }

    #[test]
    fn filters_choose_by_game_seats_and_attributes() {
        let mut dunes = Announcement::new("tanks", "one").with_attribute("map", "dunes");
        (dunes.players, dunes.seats) = (6, 8);
        let filter = |game: Option<&str>, free_seats_min, map: Option<&str>| Filter {
            game: game.map(String::from),
            free_seats_min,
            attributes: map.into_iter().map(|map| ("map".into(), map.into())).collect(),
        };
        assert!(filter(None, 0, None).matches(&dunes));
        assert!(filter(Some("tanks"), 2, Some("dunes")).matches(&dunes));
        assert!(!filter(Some("boats"), 0, None).matches(&dunes));
        assert!(!filter(None, 3, None).matches(&dunes));
        assert!(!filter(None, 0, Some("ice")).matches(&dunes));
        dunes.players = 9;
        assert_eq!(dunes.free_seats(), 0, "more players than seats leave none free");
    }
}
