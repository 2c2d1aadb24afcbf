//! Keys, from the TLS session of the QUIC connection.

use std::fmt;

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use super::AEAD_TAG_BYTES;

/// The exporter label of all keys (RFC 8446, section 7.5). Another format takes another label.
pub const LABEL: &[u8] = b"EXPORTER-fairpath-sealed-1";

/// A key seals this many packets, then the sender takes the next epoch's. 2^22: nine hours at 120
/// packets a second, and half of [`EPOCH_PACKETS_MAX`].
pub const EPOCH_PACKETS: u64 = 1 << 22;
/// No key seals more packets than this. 2^23 is QUIC's own limit for AES-128-GCM (RFC 9001,
/// section 6.6), which was reasoned for packets that are longer than ours.
pub const EPOCH_PACKETS_MAX: u64 = 1 << 23;

const _: () = assert!(EPOCH_PACKETS < EPOCH_PACKETS_MAX);

/// The way that a packet goes. Each way has keys of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the server to the client.
    ToClient,
    /// From the client to the server.
    ToServer,
}

/// Exports secrets from a TLS session. Both ends get the same bytes for the same arguments, and no
/// other machine can.
pub trait Exporter {
    /// Fills `output` with the secret of this label and context.
    fn export(&self, output: &mut [u8], label: &[u8], context: &[u8]) -> Result<(), NoKey>;
}

/// The TLS session exports no keys: its handshake is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoKey;

/// The key of one direction and epoch.
///
/// AES-128-GCM: with AES instructions ring seals 60 to 1200 bytes in 116 to 379 ns, and with
/// ChaCha20-Poly1305 in 213 to 762 ns (one run on the same machine). The protocol has no other.
pub struct PacketKey {
    key: LessSafeKey,
    /// Combined with the packet's number into the nonce, as in TLS 1.3 and QUIC.
    iv: [u8; NONCE_LEN],
}

const KEY_BYTES: usize = 16;

impl PacketKey {
    /// Derives the key of an epoch: the secret of [`LABEL`] and the context direction ‖ epoch.
    pub fn derive(
        exporter: &(impl Exporter + ?Sized),
        direction: Direction,
        epoch: u32,
    ) -> Result<Self, NoKey> {
        let mut context = [direction.code(), 0, 0, 0, 0];
        context[1..].copy_from_slice(&epoch.to_le_bytes());
        let mut secret = [0; KEY_BYTES + NONCE_LEN];
        exporter.export(&mut secret, LABEL, &context)?;
        let (key, iv) = secret.split_at(KEY_BYTES);
        let key = UnboundKey::new(&AES_128_GCM, key).expect("16 bytes are a key of AES-128");
        Ok(Self { key: LessSafeKey::new(key), iv: iv.try_into().expect("12 bytes are left") })
    }

    /// Encrypts in place and returns the tag. The caller never passes a number twice.
    pub(super) fn seal(&self, number: u64, header: &[u8], plain: &mut [u8]) -> [u8; AEAD_TAG_BYTES] {
        let sealed = self.key.seal_in_place_separate_tag(self.nonce(number), Aad::from(header), plain);
        let tag = sealed.expect("a packet is shorter than AES-GCM's limit");
        tag.as_ref().try_into().expect("tags of AES-GCM have 16 bytes")
    }

    /// Decrypts in place. `None` if the packet is not authentic; then `sealed` holds nothing useful.
    pub(super) fn open<'a>(&self, number: u64, header: &[u8], sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        let opened = self.key.open_in_place(self.nonce(number), Aad::from(header), sealed);
        opened.ok().map(|plain| &*plain)
    }

    fn nonce(&self, number: u64) -> Nonce {
        let mut nonce = self.iv;
        for (byte, of_number) in nonce[NONCE_LEN - 8..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= of_number;
        }
        Nonce::assume_unique_for_key(nonce)
    }
}

impl Direction {
    fn code(self) -> u8 {
        match self {
            Self::ToClient => 0,
            Self::ToServer => 1,
        }
    }
}

impl Exporter for quinn::Connection {
    fn export(&self, output: &mut [u8], label: &[u8], context: &[u8]) -> Result<(), NoKey> {
        self.export_keying_material(output, label, context).map_err(|_| NoKey)
    }
}

impl Exporter for dyn quinn_proto::crypto::Session + '_ {
    fn export(&self, output: &mut [u8], label: &[u8], context: &[u8]) -> Result<(), NoKey> {
        self.export_keying_material(output, label, context).map_err(|_| NoKey)
    }
}

impl fmt::Debug for PacketKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PacketKey(secret)")
    }
}

impl fmt::Display for NoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot export keys for sealed datagrams: the TLS handshake is not complete")
    }
}

impl std::error::Error for NoKey {}
