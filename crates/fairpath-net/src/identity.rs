//! The certificate of a server, and the certificates that a client trusts.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use ring::digest::{SHA256, digest};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// A certificate and its private key.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    chain_pem: String,
    key: PrivateKeyDer<'static>,
    key_pem: String,
}

/// Why an identity cannot be loaded, saved or made.
#[derive(Debug)]
#[non_exhaustive]
pub enum IdentityError {
    /// A file cannot be read or written, or has the wrong content.
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The file contains no certificate.
    NoCertificate(PathBuf),
    /// Users other than the owner may read the file with the private key.
    Exposed(PathBuf),
    /// No certificate could be made.
    NotMade(String),
    /// A name of a stored identity is not 1 to 64 letters, digits, `-` and `_`.
    Name(String),
    /// The system names no folder for [`Identity::stored`].
    NoFolder,
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        let Self { chain, chain_pem, key, key_pem } = self;
        let (chain, chain_pem, key_pem) = (chain.clone(), chain_pem.clone(), key_pem.clone());
        Self { chain, chain_pem, key: key.clone_key(), key_pem }
    }
}

impl Identity {
    /// Validity of a [`local`](Self::local) certificate, in days. Browsers accept a pinned
    /// certificate only if it is valid for two weeks or less.
    pub const LOCAL_DAYS: u64 = 13;

    /// Makes a self-signed certificate for this machine. Clients pin its
    /// [`fingerprint`](Self::fingerprint).
    ///
    /// It is valid for `localhost`, the loopback addresses and these names, for
    /// [`LOCAL_DAYS`](Self::LOCAL_DAYS).
    pub fn local(names: &[&str]) -> Result<Self, IdentityError> {
        Self::made(names, SystemTime::now())
    }

    fn made(names: &[&str], now: SystemTime) -> Result<Self, IdentityError> {
        let not_made = |error: rcgen::Error| IdentityError::NotMade(error.to_string());
        let usual = ["localhost", "127.0.0.1", "::1"];
        let names = usual.iter().chain(names).map(ToString::to_string);
        let mut params = CertificateParams::new(names.collect::<Vec<_>>()).map_err(not_made)?;
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "fairpath local");
        let day = Duration::from_secs(24 * 3600);
        let begin = now - day / 24;
        params.not_before = begin.into();
        params.not_after = (begin + day * Self::LOCAL_DAYS as u32).into();
        // P-256 with SHA-256, which browsers require of a pinned certificate.
        let key = KeyPair::generate().map_err(not_made)?;
        let certificate = params.self_signed(&key).map_err(not_made)?;
        let (chain_pem, key_pem) = (certificate.pem(), key.serialize_pem());
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        Ok(Self { chain: vec![certificate.der().clone()], chain_pem, key: key.into(), key_pem })
    }

    /// Loads the identity of this name, or makes a [`local`](Self::local) one and stores it. A
    /// server that restarts keeps its fingerprint, and its clients their pins.
    ///
    /// The file is `fairpath/NAME/identity.pem`, with the certificate and the private key:
    ///
    /// | system | in the folder |
    /// | --- | --- |
    /// | any, if the variable `FAIRPATH_IDENTITY_DIR` is set | `$FAIRPATH_IDENTITY_DIR`, without `fairpath` |
    /// | Linux and other Unix | `$XDG_STATE_HOME`, or else `~/.local/state` |
    /// | macOS | `~/Library/Application Support` |
    /// | Windows | `%LOCALAPPDATA%` |
    ///
    /// On Unix only the user may read the file. With the feature `web` it is replaced when the
    /// certificate has expired, after [`LOCAL_DAYS`](Self::LOCAL_DAYS), because browsers refuse it
    /// then. **The fingerprint changes with it.** Native clients with [`Trust::Pinned`] accept a
    /// certificate of any age: for a pin that lasts beside browsers, [`save`](Self::save) an
    /// identity once and [`load`](Self::load) it.
    ///
    /// A player gets the pin by another way than the connection that it protects: in the game's
    /// files, from a lobby, or as the text that [`Fingerprint`] displays and parses.
    pub fn stored(name: &str) -> Result<Self, IdentityError> {
        Self::stored_in(&stored::folder()?, name)
    }

    /// Loads or makes an identity like [`stored`](Self::stored), as `NAME/identity.pem` in this
    /// folder.
    pub fn stored_in(folder: &Path, name: &str) -> Result<Self, IdentityError> {
        stored::load_or_make(folder, name, SystemTime::now())
    }

    /// Loads a certificate and key from PEM files. The chain's first is the server's.
    pub fn load(chain: &Path, key: &Path) -> Result<Self, IdentityError> {
        let (chain, chain_pem) = load_certificates(chain)?;
        let key_pem = std::fs::read_to_string(key).map_err(file_error(key))?;
        let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes()).map_err(file_error(key))?;
        Ok(Self { chain, chain_pem, key, key_pem })
    }

    /// Writes the certificates as PEM, for clients that trust them.
    pub fn save_certificates(&self, path: &Path) -> Result<(), IdentityError> {
        std::fs::write(path, &self.chain_pem).map_err(file_error(path))
    }

    /// Writes certificates and key as PEM, for [`load`](Self::load). On Unix only the user may read
    /// the key file.
    pub fn save(&self, chain: &Path, key: &Path) -> Result<(), IdentityError> {
        self.save_certificates(chain)?;
        write_secret(key, &self.key_pem).map_err(file_error(key))
    }

    /// The fingerprint that clients pin.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.chain[0])
    }

    /// The key of stateless resets, derived from the private key: a restarted server tells clients
    /// that their connections are gone.
    pub(crate) fn reset_key(&self) -> ring::hmac::Key {
        ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &self.derived(b"fairpath stateless reset"))
    }

    /// The key of connection ids, derived from the private key: a restarted server recognises the
    /// ids of its last run, and answers them with a reset.
    pub(crate) fn connection_id_key(&self) -> u64 {
        let secret = self.derived(b"fairpath connection id");
        u64::from_le_bytes(*secret.first_chunk().expect("a digest has 32 bytes"))
    }

    fn derived(&self, purpose: &[u8]) -> [u8; 32] {
        let secret = digest(&SHA256, &[purpose, self.key.secret_der()].concat());
        secret.as_ref().try_into().expect("a digest has 32 bytes")
    }

    /// The TLS settings of a server for these protocols. A verifier asks clients for a certificate.
    pub(crate) fn tls(
        &self,
        alpn: &[&[u8]],
        verifier: Option<ClientVerifier>,
    ) -> Result<rustls::ServerConfig, rustls::Error> {
        let builder = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?;
        let asks = verifier.is_some();
        let builder = match verifier {
            None => builder.with_no_client_auth(),
            Some(verifier) => builder.with_client_cert_verifier(verifier),
        };
        let mut tls = builder.with_single_cert(self.chain.clone(), self.key.clone_key())?;
        if asks {
            // A resumption ticket would admit a peer that has been removed from the list in the
            // meantime: require the certificate every time.
            tls.session_storage = Arc::new(NoServerSessionStorage {});
            tls.send_tls13_tickets = 0;
        }
        tls.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        Ok(tls)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.fingerprint())
    }
}

/// The SHA-256 of a certificate. Displayed as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAFingerprint;

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    /// Accepts 64 hexadecimal digits. Colons are skipped.
    fn from_str(text: &str) -> Result<Self, NotAFingerprint> {
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b':').collect();
        if digits.len() != 64 {
            return Err(NotAFingerprint);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16).ok_or(NotAFingerprint);
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for NotAFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a fingerprint: give 64 hexadecimal digits")
    }
}

impl std::error::Error for NotAFingerprint {}

/// The servers that a client trusts.
#[derive(Clone, Debug)]
pub enum Trust {
    /// A server with a certificate of such a fingerprint, whatever its name and expiry.
    Pinned(Vec<Fingerprint>),
    /// A server whose certificate is one of these or signed by one, and valid for the name.
    Certificates(Vec<CertificateDer<'static>>),
}

impl Trust {
    /// Trusts the certificates in a PEM file.
    pub fn load(path: &Path) -> Result<Self, IdentityError> {
        load_certificates(path).map(|(certificates, _)| Self::Certificates(certificates))
    }

    pub(crate) fn is_pinned(&self) -> bool {
        matches!(self, Self::Pinned(_))
    }

    /// The TLS settings of a client for this protocol. Shows `identity` to servers that ask.
    pub(crate) fn tls(
        &self,
        alpn: &[&[u8]],
        identity: Option<&Identity>,
    ) -> Result<rustls::ClientConfig, rustls::Error> {
        let builder = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?;
        let builder = match self {
            Self::Pinned(pins) => {
                let verifier = PinnedVerifier { pins: pins.clone() };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
            Self::Certificates(certificates) => {
                let mut roots = RootCertStore::empty();
                certificates.iter().try_for_each(|certificate| roots.add(certificate.clone()))?;
                builder.with_root_certificates(roots)
            }
        };
        let mut tls = match identity {
            Some(identity) => {
                builder.with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())?
            }
            None => builder.with_no_client_auth(),
        };
        tls.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        Ok(tls)
    }
}

pub(crate) type ClientVerifier = Arc<dyn ClientCertVerifier>;

/// The methods that all verifiers share: the peer must have signed with the key of its certificate.
macro_rules! verifies_signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            let algorithms = &provider().signature_verification_algorithms;
            verify_tls12_signature(message, certificate, signature, algorithms)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            let algorithms = &provider().signature_verification_algorithms;
            verify_tls13_signature(message, certificate, signature, algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            provider().signature_verification_algorithms.supported_schemes()
        }
    };
}

#[cfg(feature = "lobby")]
pub(crate) mod client_certificates;
mod stored;

/// Accepts a server that has the key of a pinned certificate.
#[derive(Debug)]
struct PinnedVerifier {
    pins: Vec<Fingerprint>,
}

impl ServerCertVerifier for PinnedVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.pins.contains(&Fingerprint::of(end_entity)) {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    verifies_signatures!();
}

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, why } => write!(f, "cannot use {}: {why}", path.display()),
            Self::NoCertificate(path) => {
                write!(f, "cannot use {}: the file contains no PEM certificate", path.display())
            }
            Self::Exposed(path) => {
                let path = path.display();
                write!(f, "cannot use {path}: other users may read the private key; run chmod 600 {path}")
            }
            Self::NotMade(why) => write!(f, "cannot make a certificate: {why}"),
            Self::Name(name) => {
                write!(f, "cannot store an identity as {name:?}: give 1 to 64 letters, digits, - and _")
            }
            Self::NoFolder => {
                f.write_str("cannot store an identity: no home folder is known; set FAIRPATH_IDENTITY_DIR")
            }
        }
    }
}

impl std::error::Error for IdentityError {}

/// Random bytes from the operating system.
pub(crate) fn unguessable<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let filled = provider().secure_random.fill(&mut bytes);
    filled.expect("the operating system provides random numbers");
    bytes
}

fn file_error<E: ToString>(path: &Path) -> impl Fn(E) -> IdentityError {
    move |error| IdentityError::File { path: path.into(), why: error.to_string() }
}

fn write_secret(path: &Path, text: &str) -> std::io::Result<()> {
    open_secret(std::fs::OpenOptions::new().write(true).create(true).truncate(true), path)?
        .write_all(text.as_bytes())
}

fn new_secret_file(path: &Path) -> std::io::Result<std::fs::File> {
    open_secret(std::fs::OpenOptions::new().write(true).create_new(true), path)
}

/// Opens a file. A new one is readable by the user only, on Unix.
fn open_secret(options: &mut std::fs::OpenOptions, path: &Path) -> std::io::Result<std::fs::File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The certificates in a PEM file, and the file's text.
fn load_certificates(path: &Path) -> Result<(Vec<CertificateDer<'static>>, String), IdentityError> {
    let text = std::fs::read_to_string(path).map_err(file_error(path))?;
    let certificates = CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(file_error(path))?;
    if certificates.is_empty() {
        return Err(IdentityError::NoCertificate(path.into()));
    }
    Ok((certificates, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_certificate_loads_unchanged() {
        let identity = Identity::local(&["example.test"]).unwrap();
        let back = CertificateDer::from_pem_slice(identity.chain_pem.as_bytes()).unwrap();
        assert_eq!(Fingerprint::of(&back), identity.fingerprint());
    }

    #[test]
    fn fingerprints_parse_as_displayed_and_other_texts_do_not() {
        let fingerprint = Identity::local(&[]).unwrap().fingerprint();
        assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
        let pairs: Vec<String> = fingerprint.0.iter().map(|byte| format!("{byte:02X}")).collect();
        assert_eq!(pairs.join(":").parse(), Ok(fingerprint));
        for bad in ["", "12", &"g".repeat(64), &"0".repeat(65), &"é".repeat(32)] {
            assert_eq!(bad.parse::<Fingerprint>(), Err(NotAFingerprint), "{bad}");
        }
    }
}
