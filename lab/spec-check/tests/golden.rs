//! Goal: PROTOCOL.md suffices to write a decoder, and the library's bytes follow it. Method: a
//! decoder written from that document reads every golden message and must find what the file beside
//! it says.

use std::path::Path;

use spec_check::{Bits, Given, Rejected, decode, decode_sealed, decode_session};

#[test]
fn every_golden_message_means_what_the_file_beside_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of golden messages").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "hex") {
            continue;
        }
        let hex = std::fs::read_to_string(&path).expect("bytes");
        let text =
            std::fs::read_to_string(path.with_extension("txt")).expect("their meaning").replace('\r', "");
        let (given, expected) = text.split_once("\n\n").expect("an empty line");
        let reader = Given::from_text(given);
        assert!(given.ends_with(&format!("fingerprint {:08x}", reader.fingerprint())), "{}", path.display());
        let found = decode(&mut Bits::from_hex(&hex), &reader).unwrap_or_else(|_| "refused\n".to_owned());
        assert_eq!(found, expected, "{}", path.display());
        checked += 1;
    }
    assert!(checked >= 15, "only {checked} messages");
}

#[test]
fn every_golden_message_of_sessions_means_what_the_file_beside_it_says() {
    check_bytes("session", 25, decode_session);
}

#[test]
fn every_golden_message_of_a_lobby_means_what_the_file_beside_it_says() {
    check_bytes("lobby", 20, decode_session);
}

#[test]
fn every_golden_sealed_packet_means_what_the_file_beside_it_says() {
    check_bytes("sealed", 20, decode_sealed);
}

/// Checks the messages of whole bytes in a folder of their own.
fn check_bytes(folder: &str, least: usize, decode: fn(&str, &str) -> Result<String, Rejected>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors").join(folder);
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of golden messages").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "hex") {
            continue;
        }
        let hex = std::fs::read_to_string(&path).expect("bytes");
        let text =
            std::fs::read_to_string(path.with_extension("txt")).expect("their meaning").replace('\r', "");
        let (room, expected) = text.split_once("\n\n").expect("an empty line");
        let found = decode(room, &hex).unwrap_or_else(|_| "refused\n".to_owned());
        assert_eq!(found, expected, "{}", path.display());
        checked += 1;
    }
    assert!(checked >= least, "only {checked} messages");
}
