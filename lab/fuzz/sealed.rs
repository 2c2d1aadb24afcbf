//! Sealed packets under a network that does as it likes.

use std::collections::BTreeSet;

use fairpath::time::LocalInstant;
use fairpath_net::sealed::{
    Content, Direction, Exporter, NoKey, Opener, PacketKind, SealedLink, Sealer, Sorter,
};

/// Keys that depend on label and context, and on nothing secret.
struct FuzzExporter;

impl Exporter for FuzzExporter {
    fn export(&self, output: &mut [u8], label: &[u8], context: &[u8]) -> Result<(), NoKey> {
        let mut state = 1_u8;
        for byte in output {
            for input in label.iter().chain(context) {
                state = state.rotate_left(3).wrapping_mul(31).wrapping_add(*input);
            }
            *byte = state;
        }
        Ok(())
    }
}

/// Plays a script of three bytes a step: packets are sealed, delivered in any order, repeated,
/// changed, cut and invented, while keys change. Each is opened once at most, as it was sealed, and
/// every other one is counted as dropped.
pub fn sealed_packets_are_opened_once(script: &[u8]) {
    let direction = if script.len().is_multiple_of(2) { Direction::ToClient } else { Direction::ToServer };
    let sealer = match direction {
        Direction::ToClient => Sealer::to_client(&FuzzExporter),
        Direction::ToServer => Sealer::to_server(&FuzzExporter, [7; 4]),
    };
    let mut sealer = sealer.expect("keys");
    let mut opener = Opener::new(&FuzzExporter, direction).expect("keys");
    let mut packets: Vec<Vec<u8>> = Vec::new();
    let (mut opened, mut dropped) = (BTreeSet::new(), 0);
    for step in script.chunks_exact(3) {
        let (what, a, b) = (step[0], step[1], step[2]);
        let nth = packets.len().saturating_sub(1 + usize::from(a));
        match what % 8 {
            0 => {
                sealer.change_key();
                sealer.refill(&FuzzExporter).expect("keys");
            }
            1..=3 => {
                let mut packet = Vec::new();
                let number = sealer.seal(&content(what, &[a, b]), &mut packet).expect("a key");
                assert_eq!(number, packets.len() as u64, "numbers count up");
                packets.push(packet);
            }
            4 => {
                let start = usize::from(a).min(script.len());
                dropped += u64::from(opener.open(&mut script[start..].to_vec()).is_err());
            }
            5 | 6 => {
                let Some(packet) = packets.get(nth) else { continue };
                let mut changed = packet.clone();
                if what % 8 == 5 {
                    let at = usize::from(b) % changed.len();
                    changed[at] ^= 1 << (what >> 3 & 7);
                } else {
                    changed.truncate(usize::from(b) % packet.len());
                }
                assert!(opener.open(&mut changed).is_err(), "a changed packet is never authentic");
                dropped += 1;
            }
            _ => {
                let Some(packet) = packets.get(nth) else { continue };
                match opener.open(&mut packet.clone()) {
                    Ok(packet) => {
                        assert_eq!(packet.number, nth as u64);
                        assert!(opened.insert(nth), "opened twice");
                    }
                    Err(_) => dropped += 1,
                }
            }
        }
        opener.refill(&FuzzExporter).expect("keys");
    }
    assert_eq!(opener.drops().total(), dropped, "every drop is counted");
}

fn content(what: u8, bytes: &[u8; 2]) -> Content<'_> {
    match what >> 3 & 3 {
        0 => Content::Datagram(bytes),
        1 => Content::Report(u16::from_le_bytes(*bytes), &bytes[..1]),
        2 => Content::Challenge([bytes[0]; 8]),
        _ => Content::Echo([bytes[1]; 8]),
    }
}

/// Sorts one receive buffer and gives what is sealed in it to a server's link: every packet is
/// sorted by its own first byte, QUIC's stay whole and in order, and invented sealed packets change
/// nothing but the counts.
pub fn packets_are_sorted(bytes: &[u8]) {
    let Some((stride, received)) = bytes.split_first() else { return };
    let stride = usize::from(*stride).max(1);
    let now = LocalInstant::from_micros(0);
    let client = ([127, 0, 0, 1], 1).into();
    let mut link = SealedLink::server(&FuzzExporter, client, now, || [3; 8]).expect("keys");
    let (mut sorter, mut buffer, mut sealed) = (Sorter::default(), received.to_vec(), 0);
    let kept = sorter.take_sealed(&mut buffer, stride, |packet| {
        assert_eq!(PacketKind::of(packet), PacketKind::Sealed);
        let _ = Opener::tag_of(packet);
        assert!(link.handle_packet(now, client, packet).is_none());
        sealed += 1;
    });
    let is_quic =
        |packet: &&[u8]| matches!(PacketKind::of(packet), PacketKind::QuicLong | PacketKind::QuicShort);
    let quic: Vec<u8> = received.chunks(stride).filter(is_quic).flatten().copied().collect();
    assert_eq!(buffer[..kept], quic);
    assert_eq!(sorter.sealed, sealed);
    assert_eq!(link.statistics().drops.total(), sealed);
    assert_eq!(sorter.quic + sorter.sealed + sorter.other, received.chunks(stride).count() as u64);
}
