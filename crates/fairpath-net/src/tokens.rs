//! Connect tokens: a service that shares the server's key, such as a matchmaker, admits players.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fairpath::session::Admission;
use fairpath::session::limits::AUTHENTICATION_BYTES_MAX;
use ring::hmac;

/// Issues and checks connect tokens: an expiry, a bearer, and an HMAC-SHA256 signature.
///
/// The service issues a token, the client sends it as its `authentication`, and the server's
/// [`Admission`] checks it. A token is valid until it expires, also for resuming a session: make it
/// last as long as a match.
///
/// ```
/// use std::time::Duration;
///
/// use fairpath::session::Admission;
/// use fairpath_net::ConnectTokens;
///
/// let mut tokens = ConnectTokens::new(&[7; 32]);
/// let token = tokens.issue(b"player 5", Duration::from_secs(3600)).expect("a short name");
/// assert_eq!(tokens.admit(&token).as_deref(), Some(&b"player 5"[..]));
/// assert_eq!(tokens.bearer(&token), Some(&b"player 5"[..]));
/// assert_eq!(tokens.admit(b"let me in"), None);
/// ```
#[derive(Clone)]
pub struct ConnectTokens {
    key: hmac::Key,
}

/// The bearer does not fit into a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BearerTooLong;

const EXPIRY_BYTES: usize = 8;
const TAG_BYTES: usize = 32;
const BEARER_BYTES_MAX: usize = AUTHENTICATION_BYTES_MAX - EXPIRY_BYTES - TAG_BYTES;

impl ConnectTokens {
    /// Uses a key that only the issuing service and the server know.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, key) }
    }

    /// Issues a token for this bearer, valid for this long.
    pub fn issue(&self, bearer: &[u8], valid_for: Duration) -> Result<Vec<u8>, BearerTooLong> {
        if bearer.len() > BEARER_BYTES_MAX {
            return Err(BearerTooLong);
        }
        let expires = seconds_now().saturating_add(valid_for.as_secs());
        let mut token = [&expires.to_le_bytes(), bearer].concat();
        let tag = hmac::sign(&self.key, &token);
        token.extend_from_slice(tag.as_ref());
        Ok(token)
    }

    /// Returns the bearer of a token that is genuine and has not expired.
    pub fn bearer<'a>(&self, token: &'a [u8]) -> Option<&'a [u8]> {
        let (content, tag) = token.split_at_checked(token.len().checked_sub(TAG_BYTES)?)?;
        hmac::verify(&self.key, content, tag).ok()?;
        let (expires, bearer) = content.split_first_chunk::<EXPIRY_BYTES>()?;
        (u64::from_le_bytes(*expires) > seconds_now()).then_some(bearer)
    }
}

impl Admission for ConnectTokens {
    fn admit(&mut self, authentication: &[u8]) -> Option<Vec<u8>> {
        self.bearer(authentication).map(<[u8]>::to_vec)
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

    #[test]
    fn only_genuine_tokens_that_have_not_expired_are_valid() {
        let tokens = ConnectTokens::new(&[1; 32]);
        let token = tokens.issue(b"ann", Duration::from_secs(60)).unwrap();
        assert_eq!(tokens.bearer(&token), Some(&b"ann"[..]));
        for at in 0..token.len() {
            let mut forged = token.clone();
            forged[at] ^= 1;
            assert_eq!(tokens.bearer(&forged), None, "byte {at} may not be changed");
            assert_eq!(tokens.bearer(&token[..at]), None);
        }
        assert_eq!(ConnectTokens::new(&[2; 32]).bearer(&token), None, "another key");
        let expired = tokens.issue(b"ann", Duration::ZERO).unwrap();
        assert_eq!(tokens.bearer(&expired), None);
        assert_eq!(tokens.issue(&[0; 2000], Duration::ZERO), Err(BearerTooLong));
    }
}
