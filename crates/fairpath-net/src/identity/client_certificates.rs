//! Which certificates a server accepts of clients: for lobbies and peers.

use std::collections::BTreeSet;
use std::sync::Mutex;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, SignatureScheme};

use super::{Fingerprint, provider};
use crate::lock;

/// Accepts clients that have the key of the certificate they show. With a list, the certificate
/// must be on it; the list changes while the server runs. Without one, it is optional.
#[derive(Debug)]
pub(crate) struct ClientCertificates(Option<Mutex<BTreeSet<Fingerprint>>>);

impl ClientCertificates {
    pub(crate) fn optional() -> Self {
        Self(None)
    }

    #[cfg(feature = "peer")]
    pub(crate) fn listed() -> Self {
        Self(Some(Mutex::default()))
    }

    #[cfg(feature = "peer")]
    pub(crate) fn add(&self, peer: Fingerprint) {
        if let Some(listed) = &self.0 {
            lock(listed).insert(peer);
        }
    }

    #[cfg(feature = "peer")]
    pub(crate) fn remove(&self, peer: Fingerprint) {
        if let Some(listed) = &self.0 {
            lock(listed).remove(&peer);
        }
    }
}

impl ClientCertVerifier for ClientCertificates {
    fn client_auth_mandatory(&self) -> bool {
        self.0.is_some()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        match &self.0 {
            Some(listed) if !lock(listed).contains(&Fingerprint::of(end_entity)) => {
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
            _ => Ok(ClientCertVerified::assertion()),
        }
    }

    verifies_signatures!();
}
