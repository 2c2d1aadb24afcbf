//! Section 17: sealed datagrams. ring has AES-GCM, SHA-256 and HMAC; the rest is from the text.

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::{digest, hmac};

use crate::Rejected;
use crate::session::hex_of;

/// What the reader of a packet knows.
struct Known {
    secret: Vec<u8>,
    direction: u8,
    epoch: u32,
    newest: Option<u64>,
}

/// Returns the packet as text, one fact per line. `given` is the text beside the bytes, up to the
/// empty line.
pub fn decode_sealed(given: &str, hex: &str) -> Result<String, Rejected> {
    let known = Known::from_text(given);
    let packet = bytes_of(hex);
    let header = if known.direction == 0 { 3 } else { 7 };
    if packet.len() < header + 16 {
        return Err(Rejected("too short"));
    }
    let first = packet[0];
    if first >> 6 != 0b10 || first & 0b11 != 0 {
        return Err(Rejected("not a sealed packet of this version"));
    }
    let number = known.number(u16::from_le_bytes([packet[header - 2], packet[header - 1]]))?;
    let epoch = known.key_epoch(first >> 4 & 0b11)?;
    let plain = known.open(epoch, number, &packet[..header], &packet[header..])?;
    let mut text = String::new();
    if known.direction == 1 {
        text += &format!("tag {}\n", hex_of(&packet[1..5]));
    }
    text += &format!("number {number}\n");
    Ok(text + &content(first >> 2 & 0b11, &plain)?)
}

impl Known {
    fn from_text(given: &str) -> Self {
        let field = |name: &str| {
            let mut lines = given.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(key, _)| *key == name).unwrap_or_else(|| panic!("no {name} in {given:?}")).1
        };
        Self {
            secret: bytes_of(field("secret")),
            direction: field("direction").parse().expect("0 or 1"),
            epoch: field("epoch").parse().expect("an epoch"),
            newest: field("newest").parse().ok(),
        }
    }

    /// The number nearest to the one after the newest, the lower of two, not below 0.
    fn number(&self, low: u16) -> Result<u64, Rejected> {
        let expected = self.newest.map_or(0, |newest| i128::from(newest) + 1);
        let mut best: Option<i128> = None;
        let base = (expected >> 16) - 1;
        for high in base..base + 3 {
            let number = (high << 16) + i128::from(low);
            let is_nearer = best.is_none_or(|best| (number - expected).abs() < (best - expected).abs());
            if number >= 0 && is_nearer {
                best = Some(number);
            }
        }
        let number = best.expect("one is not negative") as u64;
        match self.newest {
            Some(newest) if newest == number => Err(Rejected("replayed")),
            Some(newest) if newest >= number + 256 => Err(Rejected("too old")),
            _ => Ok(number),
        }
    }

    fn key_epoch(&self, low: u8) -> Result<u32, Rejected> {
        let known = [Some(self.epoch), self.epoch.checked_add(1), self.epoch.checked_sub(1)];
        let found = known.into_iter().flatten().find(|epoch| epoch % 4 == u32::from(low));
        found.ok_or(Rejected("neither this epoch nor one beside it"))
    }

    fn open(&self, epoch: u32, number: u64, header: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Rejected> {
        let context = [&[self.direction], &epoch.to_le_bytes()[..]].concat();
        let material = export(&self.secret, b"EXPORTER-fairpath-sealed-1", &context);
        let mut nonce: [u8; 12] = material[16..28].try_into().expect("twelve bytes");
        for (at, byte) in number.to_be_bytes().into_iter().enumerate() {
            nonce[4 + at] ^= byte;
        }
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &material[..16]).expect("sixteen bytes"));
        let mut sealed = sealed.to_vec();
        let opened = key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(header), &mut sealed);
        opened.map(|plain| plain.to_vec()).map_err(|_| Rejected("not authentic"))
    }
}

fn content(kind: u8, plain: &[u8]) -> Result<String, Rejected> {
    match (kind, plain) {
        (0, bytes) => Ok(format!("datagram {}\n", hex_of(bytes))),
        (1, [low, high, bytes @ ..]) => {
            Ok(format!("report {}\ndatagram {}\n", u16::from_le_bytes([*low, *high]), hex_of(bytes)))
        }
        (2, bytes) if bytes.len() == 8 => Ok(format!("challenge {}\n", hex_of(bytes))),
        (3, bytes) if bytes.len() == 8 => Ok(format!("echo {}\n", hex_of(bytes))),
        _ => Err(Rejected("content of another length")),
    }
}

/// TLS-Exporter of RFC 8446, section 7.5, with SHA-256, for up to 32 bytes.
fn export(secret: &[u8], label: &[u8], context: &[u8]) -> Vec<u8> {
    let hash = |bytes: &[u8]| digest::digest(&digest::SHA256, bytes).as_ref().to_vec();
    let derived = expand_label(secret, label, &hash(b""), 32);
    expand_label(&derived, b"exporter", &hash(context), 28)
}

/// HKDF-Expand-Label of RFC 8446, section 7.1: one block of HKDF suffices.
fn expand_label(secret: &[u8], label: &[u8], context: &[u8], length: u8) -> Vec<u8> {
    let label = [b"tls13 ", label].concat();
    let info = [&[0, length, label.len() as u8], &label[..], &[context.len() as u8], context, &[1]].concat();
    let block = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), &info);
    block.as_ref()[..length.into()].to_vec()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}
