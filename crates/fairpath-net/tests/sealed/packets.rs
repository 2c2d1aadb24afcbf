//! Goal: a packet is opened once, as it was sealed, or dropped and counted. Method: laws over
//! contents, orders and changes of bytes.

use std::collections::BTreeSet;

use fairpath_laws::{law, proptest::prelude::*};
use fairpath_net::sealed::{
    Content, Direction, DropReason, OVERHEAD_TO_CLIENT, OVERHEAD_TO_SERVER, Opener, REPLAY_WINDOW, Sealer,
    Sorter,
};

use crate::exporter::FixedExporter;

const EXPORTER: FixedExporter = FixedExporter([7; 32]);
const TAG: [u8; 4] = [1, 2, 3, 4];

#[derive(Clone, Debug)]
enum Made {
    Datagram(Vec<u8>),
    Report(u16, Vec<u8>),
    Challenge([u8; 8]),
    Echo([u8; 8]),
}

impl Made {
    fn content(&self) -> Content<'_> {
        match self {
            Self::Datagram(bytes) => Content::Datagram(bytes),
            Self::Report(seen, bytes) => Content::Report(*seen, bytes),
            Self::Challenge(bytes) => Content::Challenge(*bytes),
            Self::Echo(bytes) => Content::Echo(*bytes),
        }
    }
}

fn any_content() -> impl Strategy<Value = Made> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..1_200);
    prop_oneof![
        bytes().prop_map(Made::Datagram),
        (any::<u16>(), bytes()).prop_map(|(seen, bytes)| Made::Report(seen, bytes)),
        any::<[u8; 8]>().prop_map(Made::Challenge),
        any::<[u8; 8]>().prop_map(Made::Echo),
    ]
}

/// A sealer and the opener of its packets, of either direction.
fn pair(to_server: bool) -> (Sealer, Opener) {
    if to_server {
        let opener = Opener::new(&EXPORTER, Direction::ToServer).expect("keys");
        (Sealer::to_server(&EXPORTER, TAG).expect("keys"), opener)
    } else {
        let opener = Opener::new(&EXPORTER, Direction::ToClient).expect("keys");
        (Sealer::to_client(&EXPORTER).expect("keys"), opener)
    }
}

fn sealed(sealer: &mut Sealer, content: &Content<'_>) -> Vec<u8> {
    let mut packet = Vec::new();
    sealer.seal(content, &mut packet).expect("a key");
    packet
}

#[test]
fn what_is_sealed_is_opened_as_it_was() {
    law!((any::<bool>(), prop::collection::vec(any_content(), 1..6)), |(to_server, contents)| {
        let (mut sealer, mut opener) = pair(to_server);
        for (nth, made) in contents.iter().enumerate() {
            let mut out = b"before".to_vec();
            let number = sealer.seal(&made.content(), &mut out).expect("a key");
            prop_assert_eq!(number, nth as u64);
            prop_assert_eq!(&out[..6], b"before", "appended");
            let mut packet = out.split_off(6);
            prop_assert!((128..192).contains(&packet[0]));
            let opened = opener.open(&mut packet).expect("authentic");
            prop_assert_eq!((opened.number, opened.is_newest), (number, true));
            prop_assert_eq!(opened.content, made.content());
        }
        prop_assert_eq!(opener.drops().total(), 0);
        Ok(())
    });
}

#[test]
fn a_packet_has_19_bytes_beside_its_datagram_to_the_client_and_23_to_the_server() {
    let datagram = [5; 100];
    for (to_server, overhead) in [(false, OVERHEAD_TO_CLIENT), (true, OVERHEAD_TO_SERVER)] {
        let packet = sealed(&mut pair(to_server).0, &Content::Datagram(&datagram));
        assert_eq!(packet.len(), datagram.len() + overhead);
    }
    assert_eq!((OVERHEAD_TO_CLIENT, OVERHEAD_TO_SERVER), (19, 23));
}

#[test]
fn a_packet_with_any_bit_changed_is_dropped_and_counted() {
    for to_server in [false, true] {
        let (mut sealer, mut opener) = pair(to_server);
        let packet = sealed(&mut sealer, &Content::Datagram(b"motion of a ship"));
        for bit in 0..packet.len() * 8 {
            let mut changed = packet.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            opener.open(&mut changed).expect_err("changed");
            assert_eq!(opener.drops().total(), bit as u64 + 1, "bit {bit}");
        }
        assert!(opener.open(&mut packet.clone()).is_ok(), "the packet itself is opened after all");
    }
}

#[test]
fn a_packet_cut_or_lengthened_is_dropped_and_counted() {
    for to_server in [false, true] {
        let (mut sealer, mut opener) = pair(to_server);
        let packet = sealed(&mut sealer, &Content::Report(7, b"motion of a ship"));
        for length in 0..packet.len() {
            opener.open(&mut packet[..length].to_vec()).expect_err("cut");
        }
        opener.open(&mut [&packet[..], &[0]].concat()).expect_err("lengthened");
        assert_eq!(opener.drops().total(), packet.len() as u64 + 1);
        let overhead = if to_server { OVERHEAD_TO_SERVER } else { OVERHEAD_TO_CLIENT };
        assert_eq!(opener.drops().of(DropReason::TooShort), overhead as u64);
        assert!(opener.open(&mut packet.clone()).is_ok());
    }
}

#[test]
fn keys_of_directions_and_connections_differ() {
    let (mut down, mut opens_down) = pair(false);
    let (mut up, mut opens_up) = pair(true);
    let mut other = Opener::new(&FixedExporter([8; 32]), Direction::ToClient).expect("keys");
    let packet = sealed(&mut down, &Content::Datagram(b"down"));
    assert_eq!(other.open(&mut packet.clone()), Err(DropReason::NotAuthentic));
    assert_eq!(opens_up.open(&mut packet.clone()), Err(DropReason::NotAuthentic));
    let upward = sealed(&mut up, &Content::Datagram(b"up"));
    assert_eq!(opens_down.open(&mut upward.clone()), Err(DropReason::NotAuthentic));
    assert_eq!(Opener::tag_of(&upward), Ok(TAG));
    assert_eq!(Opener::tag_of(&upward[..OVERHEAD_TO_SERVER - 1]), Err(DropReason::TooShort));
}

/// What a plain list of all opened numbers would do is what the window does.
#[test]
fn packets_in_any_order_are_opened_once_each_unless_they_are_too_old() {
    let order = prop::collection::vec((0_usize..700, any::<bool>()), 1..400);
    law!((order, prop::collection::vec(0_usize..700, 0..3)), cases = 64, |(order, changes)| {
        let (mut sealer, mut opener) = pair(false);
        let mut packets = Vec::new();
        for nth in 0_usize..700 {
            if changes.contains(&nth) {
                sealer.change_key();
                sealer.refill(&EXPORTER).expect("keys");
            }
            packets.push((sealer.epoch(), sealed(&mut sealer, &Content::Datagram(&nth.to_le_bytes()))));
        }
        let (mut opened, mut epoch) = (BTreeSet::new(), 0);
        for (nth, is_near) in order {
            // Near the newest half of the time, anywhere otherwise.
            let newest = opened.last().copied().unwrap_or(0);
            let nth = if is_near { (newest + nth % 20).saturating_sub(10).min(699) } else { nth };
            let (its_epoch, packet) = &packets[nth];
            let result = opener.open(&mut packet.clone()).map(|it| it.number);
            opener.refill(&EXPORTER).expect("keys");
            match result {
                Ok(number) => {
                    prop_assert_eq!(number, nth as u64);
                    prop_assert!(opened.insert(nth), "{} was opened twice", nth);
                    epoch = epoch.max(*its_epoch);
                }
                Err(DropReason::Replayed) => prop_assert!(opened.contains(&nth)),
                Err(DropReason::TooOld) => prop_assert!((nth as u64) + REPLAY_WINDOW <= newest as u64),
                Err(DropReason::WrongEpoch) => {
                    let apart = its_epoch.abs_diff(epoch);
                    let is_late = *its_epoch < epoch && nth + 1 < newest.max(1);
                    prop_assert!(apart >= 2 || is_late, "epoch {} at {}", its_epoch, epoch);
                }
                Err(other) => prop_assert!(false, "{:?}", other),
            }
        }
        Ok(())
    });
}

#[test]
fn packets_reordered_across_a_change_of_keys_are_opened_for_a_while() {
    let (mut sealer, mut opener) = pair(true);
    let late = sealed(&mut sealer, &Content::Datagram(b"late"));
    let too_late = sealed(&mut sealer, &Content::Datagram(b"too late"));
    sealer.change_key();
    let mut after = sealed(&mut sealer, &Content::Datagram(b"after"));
    assert!(opener.open(&mut after).is_ok(), "the first packet of the next epoch");
    assert!(opener.open(&mut late.clone()).is_ok(), "the previous key is kept");
    assert_eq!(opener.open(&mut late.clone()), Err(DropReason::Replayed), "and so is the window");
    for _ in 0..REPLAY_WINDOW {
        opener.open(&mut sealed(&mut sealer, &Content::Datagram(b""))).expect("authentic");
    }
    assert_eq!(opener.open(&mut too_late.clone()), Err(DropReason::WrongEpoch), "the key is forgotten");
}

#[test]
fn a_copy_from_another_address_does_not_make_the_original_a_replay() {
    let (mut sealer, mut opener) = pair(true);
    let packet = sealed(&mut sealer, &Content::Datagram(b"motion"));
    for _ in 0..3 {
        assert!(opener.inspect(&mut packet.clone()).is_ok_and(|it| it.is_newest));
    }
    assert!(opener.open(&mut packet.clone()).is_ok());
    assert_eq!(opener.inspect(&mut packet.clone()), Err(DropReason::Replayed));
}

#[test]
fn any_bytes_are_dropped_and_counted() {
    law!((any::<bool>(), prop::collection::vec(any::<u8>(), 0..64)), |(to_server, bytes)| {
        let (_, mut opener) = pair(to_server);
        prop_assert!(opener.open(&mut bytes.clone()).is_err());
        prop_assert_eq!(opener.drops().total(), 1);
        Ok(())
    });
}

#[test]
fn sorting_keeps_quic_and_hands_over_sealed_packets_each_in_order() {
    let buffer = prop::collection::vec(any::<u8>(), 0..2_000);
    law!((buffer, 1_usize..300), |(buffer, stride)| {
        let mut sorted = buffer.clone();
        let (mut sorter, mut handed) = (Sorter::default(), Vec::new());
        let kept = sorter.take_sealed(&mut sorted, stride, |packet| handed.push(packet.to_vec()));
        let of_form = |form: &'static [u8]| {
            let segments = buffer.chunks(stride).map(<[u8]>::to_vec);
            segments.filter(move |segment| form.contains(&(segment[0] >> 6))).collect::<Vec<_>>()
        };
        prop_assert_eq!(
            sorted[..kept].chunks(stride).map(<[u8]>::to_vec).collect::<Vec<_>>(),
            of_form(&[1, 3])
        );
        prop_assert_eq!(&handed, &of_form(&[2]));
        let counted = [sorter.quic, sorter.sealed, sorter.other].iter().sum::<u64>();
        prop_assert_eq!(counted, buffer.chunks(stride).count() as u64);
        Ok(())
    });
}
