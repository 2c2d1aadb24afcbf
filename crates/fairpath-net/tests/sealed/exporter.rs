//! The exporter of a TLS 1.3 session with SHA-256 whose exporter secret is given (RFC 8446, 7.5).

use fairpath_net::sealed::{Exporter, NoKey};
use ring::digest;
use ring::hkdf::{HKDF_SHA256, KeyType, Prk};

pub(crate) struct FixedExporter(pub(crate) [u8; 32]);

impl Exporter for FixedExporter {
    fn export(&self, output: &mut [u8], label: &[u8], context: &[u8]) -> Result<(), NoKey> {
        let mut secret = [0; 32];
        expand_label(&self.0, label, &hash(&[]), &mut secret);
        expand_label(&secret, b"exporter", &hash(context), output);
        Ok(())
    }
}

struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

fn expand_label(secret: &[u8; 32], label: &[u8], context: &[u8], output: &mut [u8]) {
    let length = u16::try_from(output.len()).expect("short").to_be_bytes();
    let label_length = [u8::try_from(6 + label.len()).expect("short")];
    let info = [&length[..], &label_length, b"tls13 ", label, &[32], context];
    let prk = Prk::new_less_safe(HKDF_SHA256, secret);
    prk.expand(&info, Bytes(output.len())).and_then(|okm| okm.fill(output)).expect("short enough");
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    digest::digest(&digest::SHA256, bytes).as_ref().try_into().expect("SHA-256 has 32 bytes")
}
