//! Keys of rooms: strangers who read a lobby's list take no place in a mesh.

use std::fmt;
use std::str::FromStr;

use ring::hmac;

use crate::identity::{Fingerprint, unguessable};
use crate::lobby::Listing;

/// The secret of a closed room. Players give it to each other by other means than the lobby, as the
/// 64 hexadecimal digits that it is displayed as.
///
/// A peer with a key lists a proof beside its announcement: an HMAC-SHA256 over the fingerprint of
/// its certificate, which the lobby and every peer see proven by TLS. So a copy of the proof is
/// worth nothing to another certificate. A peer connects to no peer without a proof. The lobby
/// learns who is in the room, and not the key. There is no way to make a key from a password: the
/// list is public, and passwords can be guessed.
///
/// ```
/// use fairpath_net::mesh::RoomKey;
///
/// let key = RoomKey::random();
/// let invitation = key.to_string();
/// assert_eq!(invitation.parse(), Ok(key));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RoomKey([u8; 32]);

/// The text is not a key: give 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotARoomKey;

/// The attribute that has the proof: 64 digits, the longest that an attribute may be.
pub(super) const PROOF: &str = "room proof";

impl RoomKey {
    /// Returns a key that no one can guess.
    pub fn random() -> Self {
        Self(unguessable())
    }

    /// The proof that the owner of this certificate has the key.
    pub(super) fn proof(&self, peer: Fingerprint) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let tag = hmac::sign(&key, &[b"fairpath room 1\0", &peer.0[..]].concat());
        tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether the announcer of an entry has the key.
    pub(super) fn is_proven(&self, listing: &Listing) -> bool {
        listing.announcement.attributes.get(PROOF) == Some(&self.proof(listing.fingerprint))
    }
}

impl fmt::Debug for RoomKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RoomKey(…)")
    }
}

impl fmt::Display for RoomKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for RoomKey {
    type Err = NotARoomKey;

    fn from_str(text: &str) -> Result<Self, NotARoomKey> {
        text.parse().map(|Fingerprint(bytes)| Self(bytes)).map_err(|_| NotARoomKey)
    }
}

impl fmt::Display for NotARoomKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a room key: give 64 hexadecimal digits")
    }
}

impl std::error::Error for NotARoomKey {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lobby::{Announcement, EntryId};

    fn listing(peer: u8, proof: Option<String>) -> Listing {
        let mut announcement = Announcement::new("ships", "it");
        announcement.attributes.extend(proof.map(|proof| (PROOF.to_owned(), proof)));
        assert!(announcement.check().is_ok(), "a lobby takes it");
        let address = ([192, 0, 2, 1], 7777).into();
        Listing { entry: EntryId(1), address, fingerprint: Fingerprint([peer; 32]), announcement }
    }

    #[test]
    fn a_proof_is_worth_nothing_to_another_certificate_or_room() {
        let (key, other) = (RoomKey([1; 32]), RoomKey([2; 32]));
        let proof = key.proof(Fingerprint([5; 32]));
        assert!(key.is_proven(&listing(5, Some(proof.clone()))));
        assert!(!key.is_proven(&listing(6, Some(proof.clone()))));
        assert!(!other.is_proven(&listing(5, Some(proof))));
        assert!(!key.is_proven(&listing(5, None)));
    }
}
