//! Goal: the library does what PROTOCOL.md says of sessions, beyond the golden messages. Method:
//! the document's examples, and the decoder written from it, are compared with the library. Only
//! this test knows both.

use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use fairpath::Vec2;
use fairpath::session::message::{Datagram, Message, UnorderedMessage};
use fairpath::session::{Class, Delivery, Protocol};
use serde::Serialize;
use spec_check::{decode_session, game_fingerprint};

#[test]
fn the_fingerprint_of_the_example_is_that_of_the_library() {
    let document = document();
    let (_, example) = document.split_once("The strings are\n").expect("the example");
    let (table, after) = example.split_once("and the fingerprint is `").expect("its result");
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    let strings: Vec<Vec<u8>> = rows.map(|row| bytes_of(row.split('|').nth(2).expect("bytes"))).collect();
    let stated = u64::from_str_radix(&after[..16], 16).expect("16 digits");
    assert_eq!(strings.len(), 5);
    assert_eq!(game_fingerprint(strings.iter().map(Vec::as_slice)), stated, "by the rules of the text");
    let game = Protocol::<Vec2>::new("any", 1)
        .class::<String>("ship", Class::within(0.2).circular().server_state::<u32>("score"))
        .call::<String>("chat", Delivery::ReliableOrdered);
    assert_eq!(game.game_id().fingerprint, stated, "by the library");
}

#[test]
fn the_values_of_the_examples_are_spelt_as_postcard_spells_them() {
    let document = document();
    let check = |says: &str, spelt: Vec<u8>| {
        let row = format!("| {says}: `{}` |", hex_of(&spelt));
        assert!(document.contains(&row), "PROTOCOL.md does not say {row}");
    };
    check("−2 as i8", postcard(&-2i8));
    check("some 7 as u8", postcard(&Some(7u8)));
    check("300", postcard(&300u16));
    check("−3 as i32", postcard(&-3i32));
    check("1.5 as f32", postcard(&1.5f32));
    check("\"Ann\"", postcard(&"Ann"));
    check("(\"Ann\", 300)", postcard(&("Ann", 300u32)));
    check("the third, with 7", postcard(&Bound::Excluded(7u8)));
}

#[test]
fn both_decoders_accept_and_refuse_the_same_bytes() {
    let mut checked = 0;
    for entry in fs::read_dir(root().join("lab/vectors/session")).expect("golden messages").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "hex") {
            continue;
        }
        let text = fs::read_to_string(path.with_extension("txt")).expect("their meaning").replace('\r', "");
        let (room, _) = text.split_once("\n\n").expect("an empty line");
        let golden = bytes_of(&fs::read_to_string(&path).expect("bytes"));
        for bytes in neighbours(&golden) {
            let is_message = match room {
                "stream" => Message::decode(&bytes).is_ok(),
                "message" => UnorderedMessage::decode(&bytes).is_ok(),
                _ => Datagram::decode(&bytes).is_ok(),
            };
            let found = decode_session(room, &hex_of(&bytes));
            assert_eq!(found.is_ok(), is_message, "{}: {}, {found:?}", path.display(), hex_of(&bytes));
            checked += 1;
        }
    }
    assert!(checked > 10_000, "only {checked} messages");
}

/// Returns the messages that differ in one byte, end early, or go on.
fn neighbours(golden: &[u8]) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = (0..golden.len()).map(|length| golden[..length].to_vec()).collect();
    all.push([golden, &[0]].concat());
    for at in 0..golden.len() {
        let around = [golden[at].wrapping_add(1), golden[at].wrapping_sub(1), 0, 13, 16, 0x7F, 0x80, 0xFF];
        for byte in (0..8).map(|bit| golden[at] ^ 1 << bit).chain(around) {
            let mut changed = golden.to_vec();
            changed[at] = byte;
            all.push(changed);
        }
    }
    all
}

fn postcard(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).expect("a plain value")
}

fn document() -> String {
    fs::read_to_string(root().join("PROTOCOL.md")).expect("PROTOCOL.md").replace('\r', "")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
