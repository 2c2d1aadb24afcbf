//! Servers that ask clients for a certificate: lobbies and peers.

#[cfg(feature = "peer")]
use std::collections::BTreeSet;
#[cfg(feature = "peer")]
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(feature = "peer")]
use rustls::CertificateError;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};

#[cfg(feature = "peer")]
use super::Fingerprint;
use super::provider;

/// Accepts clients without a certificate, and clients that have the key of the one they show.
#[derive(Debug)]
pub(crate) struct OptionalCertificate;

impl ClientCertVerifier for OptionalCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    verifies_signatures!();
}

/// Accepts only clients that have the key of a certificate on the list. The list changes while the
/// server runs.
#[cfg(feature = "peer")]
#[derive(Debug, Default)]
pub(crate) struct AllowList(Mutex<BTreeSet<Fingerprint>>);

#[cfg(feature = "peer")]
impl AllowList {
    pub(crate) fn add(&self, peer: Fingerprint) {
        self.lock().insert(peer);
    }

    pub(crate) fn remove(&self, peer: Fingerprint) {
        self.lock().remove(&peer);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Fingerprint>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(feature = "peer")]
impl ClientCertVerifier for AllowList {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        if self.lock().contains(&Fingerprint::of(end_entity)) {
            Ok(ClientCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    verifies_signatures!();
}
