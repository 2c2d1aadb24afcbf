//! Connect tokens: a service that shares the server's key, such as a matchmaker, admits players.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fairpath::session::limits::AUTHENTICATION_BYTES_MAX;
use fairpath::session::{Admission, Admitted, Household, Pass};
use ring::hmac;

use crate::admissions::household;
use crate::identity::{Fingerprint, unguessable};
use crate::lock;

/// Issues and checks connect tokens, which an HMAC-SHA256 signs: an expiry, a bearer, and if wanted
/// the address that may use it.
///
/// The service issues a token, the client sends it as its `authentication`, and the server's
/// [`Admission`] checks it. A token is valid for one server, or for all servers of one world. It
/// begins one session, within its time; a minute is enough for most games. A second use ends the
/// first session, and is possible only for [`REUSE_WITHIN`](Self::REUSE_WITHIN) and from the same
/// household (the server's answer may have been lost). After that the token only resumes its
/// session, also when it has expired.
///
/// ```
/// use std::time::Duration;
///
/// use fairpath_net::ConnectTokens;
///
/// let tokens = ConnectTokens::for_world(&[7; 32], "arena 5");
/// let token = tokens.issue(b"player 5", Duration::from_secs(60)).expect("a short name");
/// assert_eq!(tokens.bearer(&token), Some(&b"player 5"[..]));
/// assert_eq!(tokens.bearer(b"let me in"), None);
/// assert_eq!(ConnectTokens::for_world(&[7; 32], "arena 6").bearer(&token), None);
/// ```
#[derive(Clone)]
pub struct ConnectTokens {
    key: hmac::Key,
    /// The signature covers it, and the token does not have it.
    audience: Vec<u8>,
    /// Shared by clones, so that a token is used once on all threads and servers of a process.
    used: Arc<Mutex<BTreeMap<Pass, Use>>>,
}

/// The first use of a token.
#[derive(Clone, Copy, Debug)]
struct Use {
    from: Household,
    at: u64,
    expires: u64,
}

/// The bearer does not fit into a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BearerTooLong;

/// What a token says.
#[derive(Debug)]
struct Content<'a> {
    pass: Pass,
    expires: u64,
    household: Option<Household>,
    bearer: &'a [u8],
}

const TAG_BYTES: usize = 32;
/// Pass, expiry, and household.
const HEADER_BYTES: usize = 16 + 8 + 16;
const BEARER_BYTES_MAX: usize = AUTHENTICATION_BYTES_MAX - HEADER_BYTES - TAG_BYTES;
/// Says that a token is valid everywhere: no household has this number.
const ANYWHERE: u128 = u128::MAX;

impl ConnectTokens {
    /// A token may begin a session again for this long. 10 s: a client that missed the server's
    /// answer connects again within that.
    pub const REUSE_WITHIN: Duration = Duration::from_secs(10);

    /// Tokens that are remembered until they expire: 100 new players a second for ten minutes.
    /// While so many are valid, no others are accepted. Only genuine tokens count.
    pub const USED_MAX: usize = 1 << 16;

    /// Tokens for one server, which has this certificate. The key is known only to the issuing
    /// service and the server.
    pub fn for_server(key: &[u8; 32], server: Fingerprint) -> Self {
        Self::new(key, b"server", &server.0)
    }

    /// Tokens for every server of a world, such as all that a matchmaker may choose from. Each
    /// process remembers the used ones for itself.
    pub fn for_world(key: &[u8; 32], world: &str) -> Self {
        Self::new(key, b"world", world.as_bytes())
    }

    fn new(key: &[u8; 32], kind: &[u8], name: &[u8]) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        let audience = [b"fairpath connect token 2\0", kind, b"\0", name, b"\0"].concat();
        Self { key, audience, used: Arc::default() }
    }

    /// Issues a token for this bearer, which begins a session within this time.
    pub fn issue(&self, bearer: &[u8], valid_for: Duration) -> Result<Vec<u8>, BearerTooLong> {
        self.issue_to(bearer, valid_for, ANYWHERE)
    }

    /// Issues a token like [`issue`](Self::issue) that only a client at this address can use to
    /// begin a session: at this IPv4 address, or in the /64 network of this IPv6 address. A client
    /// that reaches the service and the server by different addresses (IPv4 and IPv6, for example)
    /// is refused.
    pub fn issue_for(
        &self,
        bearer: &[u8],
        valid_for: Duration,
        address: IpAddr,
    ) -> Result<Vec<u8>, BearerTooLong> {
        self.issue_to(bearer, valid_for, household(address).0)
    }

    fn issue_to(
        &self,
        bearer: &[u8],
        valid_for: Duration,
        household: u128,
    ) -> Result<Vec<u8>, BearerTooLong> {
        if bearer.len() > BEARER_BYTES_MAX {
            return Err(BearerTooLong);
        }
        let (pass, expires): ([u8; 16], u64) =
            (unguessable(), seconds_now().saturating_add(valid_for.as_secs()));
        let mut token = [&pass[..], &expires.to_le_bytes(), &household.to_le_bytes(), bearer].concat();
        let tag = hmac::sign(&self.key, &[&self.audience[..], &token].concat());
        token.extend_from_slice(tag.as_ref());
        Ok(token)
    }

    /// Returns the bearer of a token that is genuine and has not expired. Does not use it.
    pub fn bearer<'a>(&self, token: &'a [u8]) -> Option<&'a [u8]> {
        let content = self.open(token)?;
        (content.expires > seconds_now()).then_some(content.bearer)
    }

    fn open<'a>(&self, token: &'a [u8]) -> Option<Content<'a>> {
        let (content, tag) = token.split_at_checked(token.len().checked_sub(TAG_BYTES)?)?;
        hmac::verify(&self.key, &[&self.audience[..], content].concat(), tag).ok()?;
        let (pass, rest) = content.split_first_chunk()?;
        let (expires, rest) = rest.split_first_chunk()?;
        let (household, bearer) = rest.split_first_chunk()?;
        let household = u128::from_le_bytes(*household);
        let household = (household != ANYWHERE).then_some(Household(household));
        Some(Content { pass: Pass(*pass), expires: u64::from_le_bytes(*expires), household, bearer })
    }

    /// Uses a token to begin a session. Returns false if it may not.
    fn take(&self, token: &Content<'_>, from: Household, now: u64) -> bool {
        let is_elsewhere = token.household.is_some_and(|household| household != from);
        if token.expires <= now || is_elsewhere {
            return false;
        }
        let mut used = lock(&self.used);
        if let Some(first) = used.get(&token.pass) {
            return first.from == from && now.saturating_sub(first.at) <= Self::REUSE_WITHIN.as_secs();
        }
        if used.len() >= Self::USED_MAX {
            used.retain(|_, first| first.expires > now);
        }
        let has_room = used.len() < Self::USED_MAX;
        if has_room {
            used.insert(token.pass, Use { from, at: now, expires: token.expires });
        }
        has_room
    }
}

impl Admission for ConnectTokens {
    /// Checks a token without using it.
    fn admit(&mut self, authentication: &[u8]) -> Option<Vec<u8>> {
        self.bearer(authentication).map(<[u8]>::to_vec)
    }

    fn check(&mut self, authentication: &[u8], from: Household, resumes: bool) -> Option<Admitted> {
        let token = self.open(authentication)?;
        // A client that resumes has proven that the session is its own.
        let is_admitted = resumes || self.take(&token, from, seconds_now());
        is_admitted.then(|| Admitted { bearer: token.bearer.to_vec(), pass: Some(token.pass) })
    }
}

impl std::fmt::Debug for ConnectTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ConnectTokens(…)")
    }
}

impl std::fmt::Display for BearerTooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot issue a connect token: give the bearer at most {BEARER_BYTES_MAX} bytes")
    }
}

impl std::error::Error for BearerTooLong {}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn tokens() -> ConnectTokens {
        ConnectTokens::for_server(&[1; 32], Fingerprint([5; 32]))
    }

    #[test]
    fn only_genuine_tokens_that_have_not_expired_are_valid() {
        let tokens = tokens();
        let token = tokens.issue(b"ann", MINUTE).unwrap();
        assert_eq!(tokens.bearer(&token), Some(&b"ann"[..]));
        for at in 0..token.len() {
            let mut forged = token.clone();
            forged[at] ^= 1;
            assert_eq!(tokens.bearer(&forged), None, "byte {at} may not be changed");
            assert_eq!(tokens.bearer(&token[..at]), None);
        }
        let expired = tokens.issue(b"ann", Duration::ZERO).unwrap();
        assert_eq!(tokens.bearer(&expired), None);
        assert_eq!(tokens.issue(&[0; 2000], Duration::ZERO), Err(BearerTooLong));
    }

    #[test]
    fn a_token_of_another_key_server_or_world_is_not_valid() {
        let token = tokens().issue(b"ann", MINUTE).unwrap();
        let other_key = ConnectTokens::for_server(&[2; 32], Fingerprint([5; 32]));
        let other_server = ConnectTokens::for_server(&[1; 32], Fingerprint([6; 32]));
        let world = ConnectTokens::for_world(&[1; 32], "arena");
        for others in [other_key, other_server, world.clone()] {
            assert_eq!(others.bearer(&token), None);
        }
        let token = world.issue(b"ann", MINUTE).unwrap();
        assert!(world.bearer(&token).is_some());
        assert_eq!(ConnectTokens::for_world(&[1; 32], "arena 2").bearer(&token), None);
        assert_eq!(tokens().bearer(&token), None);
    }

    #[test]
    fn a_token_begins_one_session_and_resumes_it() {
        let (mut server, home, elsewhere) = (tokens(), Household(1), Household(2));
        let token = server.issue(b"ann", MINUTE).unwrap();
        let admitted = server.check(&token, home, false).expect("its first use");
        assert_eq!((&admitted.bearer[..], admitted.pass.is_some()), (&b"ann"[..], true));
        // The answer may have been lost.
        assert_eq!(server.check(&token, home, false), Some(admitted.clone()));
        assert_eq!(server.check(&token, elsewhere, false), None, "somebody has a copy");
        assert_eq!(server.clone().check(&token, elsewhere, false), None);
        assert_eq!(server.check(&token, elsewhere, true), Some(admitted), "the session proves who it is");
        let now = seconds_now();
        let content = server.open(&token).expect("genuine");
        assert!(server.take(&content, home, now + 5) && !server.take(&content, home, now + 15));
        let expired = server.issue(b"ann", Duration::ZERO).unwrap();
        assert_eq!(server.check(&expired, home, false), None);
        assert!(server.check(&expired, home, true).is_some(), "a session may outlast its token");
        assert_eq!(server.check(b"let me in", home, true), None);
    }

    #[test]
    fn a_token_for_an_address_is_valid_in_its_household_only() {
        let mut server = tokens();
        let [home, neighbour, elsewhere] =
            ["2001:db8::1", "2001:db8::ffff:7", "2001:db8:0:1::1"].map(|it| it.parse::<IpAddr>().unwrap());
        let token = server.issue_for(b"ann", MINUTE, home).unwrap();
        assert_eq!(server.check(&token, household(elsewhere), false), None);
        assert!(server.check(&token, household(neighbour), false).is_some());
    }

    #[test]
    fn the_memory_of_used_tokens_is_bounded_and_freed_when_they_expire() {
        let (server, home, now) = (tokens(), Household(1), 1_000);
        let token = |number: usize, expires: u64| {
            let mut pass = [0; 16];
            pass[..8].copy_from_slice(&(number as u64).to_le_bytes());
            Content { pass: Pass(pass), expires, household: None, bearer: b"" }
        };
        let taken = (0..ConnectTokens::USED_MAX + 10)
            .filter(|number| server.take(&token(*number, now + 60), home, now))
            .count();
        assert_eq!(taken, ConnectTokens::USED_MAX);
        assert!(server.take(&token(usize::MAX, now + 120), home, now + 61));
        assert_eq!(lock(&server.used).len(), 1);
    }
}
