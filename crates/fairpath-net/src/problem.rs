//! Why a connection failed or ended.

use std::fmt;

use fairpath::session::CloseReason;

/// Why a connection could not be opened, or why it ended.
///
/// A client reconnects by itself after every problem that can pass, and
/// [`is_final`](Self::is_final) names the others. Its [`Display`](fmt::Display) text is a sentence
/// for a player or a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionProblem {
    /// No answer arrived within [`connect_within`](crate::NetClientConfig::connect_within): no
    /// server runs at this address, or a firewall drops the packets.
    NoAnswer,
    /// This machine has no route to the address: it is offline, or the address is invalid.
    Unreachable,
    /// The server's certificate is not the pinned one: the pin is wrong, the server has a new
    /// certificate, or another server answers.
    ///
    /// The client keeps trying. The right server may return, and an impostor that answers once must
    /// not end a session for good.
    WrongPin,
    /// The server's certificate is not among the trusted ones, has expired, or is not valid for
    /// [`server_name`](crate::NetClientConfig::server_name).
    UntrustedCertificate,
    /// The server does not accept this client's certificate: in a mesh, the other peer has not let
    /// this one in.
    CertificateRefused,
    /// The server's [`Limits`](crate::Limits) refused the connection: there are too many from this
    /// address, or too many at once.
    LimitReached,
    /// The server speaks another version of QUIC or of Fairpath, or no Fairpath at all.
    VersionMismatch,
    /// The server closed the connection before a session began or resumed, with this reason:
    /// [`Full`](CloseReason::Full), for example.
    Refused(CloseReason),
    /// One end closed the connection after the session had begun, with this reason. A peer that
    /// left gave [`Finished`](CloseReason::Finished).
    Closed(CloseReason),
    /// The other end has restarted without a word: it knows nothing of the connection any more.
    Restarted,
    /// The connection broke, or no data arrived for too long.
    Lost,
}

impl ConnectionProblem {
    /// Returns whether the client stops reconnecting: a proven server said that another attempt
    /// would end the same way. No other problem is final, because only a proven server can say so.
    pub fn is_final(self) -> bool {
        let (Self::Refused(reason) | Self::Closed(reason)) = self else { return false };
        matches!(
            reason,
            CloseReason::Finished
                | CloseReason::Dismissed
                | CloseReason::NotAdmitted
                | CloseReason::WrongVersion
                | CloseReason::WrongDimensions
                | CloseReason::WrongPrecision
                | CloseReason::WrongGame
                | CloseReason::WrongGameVersion
                | CloseReason::WrongProtocol
        )
    }

    /// The same problem of a connection on which no session began.
    pub(crate) fn before_session(self) -> Self {
        if let Self::Closed(reason) = self { Self::Refused(reason) } else { self }
    }

    /// Whether the server is about to return or has already.
    pub(crate) fn is_restart(self) -> bool {
        matches!(self, Self::Restarted | Self::Closed(CloseReason::Restarting))
    }

    /// Returns why a QUIC connection ended. `closed_for` is this end's own reason, `is_pinned`
    /// whether this end pins the other's certificate.
    pub(crate) fn of_quic(
        error: &quinn::ConnectionError,
        closed_for: Option<CloseReason>,
        is_pinned: bool,
    ) -> Self {
        use quinn::ConnectionError;
        match error {
            ConnectionError::VersionMismatch => Self::VersionMismatch,
            // An alert of our own TLS: it refuses the server's certificate.
            ConnectionError::TransportError(error) if is_about_certificate(error.code) => {
                Self::untrusted(is_pinned)
            }
            ConnectionError::ConnectionClosed(close) => Self::of_alert(close.error_code),
            ConnectionError::ApplicationClosed(close) => {
                let code = u8::try_from(close.error_code.into_inner()).ok();
                code.and_then(CloseReason::from_code).map_or(Self::Lost, Self::Closed)
            }
            ConnectionError::LocallyClosed => match closed_for.unwrap_or(CloseReason::Finished) {
                CloseReason::Silent => Self::Lost,
                reason => Self::Closed(reason),
            },
            ConnectionError::Reset => Self::Restarted,
            ConnectionError::TransportError(_)
            | ConnectionError::TimedOut
            | ConnectionError::CidsExhausted => Self::Lost,
        }
    }

    pub(crate) fn untrusted(is_pinned: bool) -> Self {
        if is_pinned { Self::WrongPin } else { Self::UntrustedCertificate }
    }

    /// Returns what the other end's QUIC or TLS complains about.
    fn of_alert(code: quinn::TransportErrorCode) -> Self {
        if code == quinn::TransportErrorCode::CONNECTION_REFUSED {
            Self::LimitReached
        } else if code == quinn::TransportErrorCode::crypto(NO_APPLICATION_PROTOCOL) {
            Self::VersionMismatch
        } else if is_about_certificate(code) {
            Self::CertificateRefused
        } else {
            Self::Lost
        }
    }

    /// Returns why a WebTransport connection was not opened.
    #[cfg(feature = "web")]
    pub(crate) fn of_web(error: &wtransport::error::ConnectingError, is_pinned: bool) -> Self {
        use wtransport::error::{ConnectingError, ConnectionError};
        match error {
            ConnectingError::InvalidRemoteAddress(_) => Self::Unreachable,
            ConnectingError::ConnectionError(error) => match error {
                ConnectionError::TimedOut => Self::NoAnswer,
                // wtransport hides the code. In a handshake it is a certificate that is refused.
                ConnectionError::QuicProto(_) => Self::untrusted(is_pinned),
                ConnectionError::ConnectionClosed(close) => {
                    let refused = quinn::TransportErrorCode::CONNECTION_REFUSED.to_string();
                    if close.to_string().starts_with(&refused) {
                        Self::LimitReached
                    } else {
                        Self::VersionMismatch
                    }
                }
                ConnectionError::ApplicationClosed(close) => {
                    let code = u8::try_from(close.code().into_inner()).ok();
                    code.and_then(CloseReason::from_code).map_or(Self::Lost, Self::Refused)
                }
                _ => Self::Lost,
            },
            _ => Self::VersionMismatch,
        }
    }
}

/// TLS alert: the server offers no protocol that the client asks for.
const NO_APPLICATION_PROTOCOL: u8 = 120;

/// Whether a TLS alert is about a certificate: `bad_certificate` (42) to `certificate_unknown`
/// (46), `unknown_ca` (48), `access_denied` (49), `decrypt_error` (51, a signature that is not the
/// trusted issuer's) and `certificate_required` (116).
fn is_about_certificate(code: quinn::TransportErrorCode) -> bool {
    (42..=46).chain([48, 49, 51, 116]).any(|alert| code == quinn::TransportErrorCode::crypto(alert))
}

impl fmt::Display for ConnectionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAnswer => "no answer: check that the server runs at this address, and its firewall",
            Self::Unreachable => "no route to this address: check the address and this machine's network",
            Self::WrongPin => {
                "the server's certificate is not the pinned one: ask for the server's current fingerprint"
            }
            Self::UntrustedCertificate => {
                "the server's certificate is not trusted, has expired, or is for another name"
            }
            Self::CertificateRefused => "the other end does not accept this end's certificate",
            Self::LimitReached => "the server accepts no more connections from this address at the moment",
            Self::VersionMismatch => "the server speaks another protocol version: update the older end",
            Self::Refused(reason) => return write!(f, "the server refused the connection: {reason}"),
            Self::Closed(reason) => return write!(f, "the connection was closed: {reason}"),
            Self::Restarted => "the other end has restarted",
            Self::Lost => "the connection was lost: no data arrived for too long",
        })
    }
}

impl std::error::Error for ConnectionProblem {}
