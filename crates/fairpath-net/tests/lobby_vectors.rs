//! Goal: the bytes of a lobby never change by accident. Method: golden messages in
//! `lab/vectors/lobby`, which `lab/spec-check` reads too.
//!
//! After an intended change, `FAIRPATH_BLESS=1 cargo test -p fairpath-net --all-features --test
//! lobby_vectors` writes them anew; then raise the number in the lobby's ALPN.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use fairpath::session::MessageError;
use fairpath_net::Fingerprint;
use fairpath_net::lobby::{
    Announcement, EntryId, Filter, Listing, LobbyRefusal, LobbyRequest, LobbyResponse,
};

/// A name, its bytes and their meaning.
type Golden = (&'static str, Vec<u8>, String);

#[test]
fn the_bytes_and_their_meaning_are_those_in_the_repository() {
    for (name, bytes, text) in messages().iter().chain(&refused()) {
        compare(&folder().join(name).with_extension("hex"), &lines_of_hex(bytes));
        compare(&folder().join(name).with_extension("txt"), &format!("lobby\n\n{text}"));
    }
    let known = messages().len() + refused().len();
    assert_eq!(fs::read_dir(folder()).expect("a folder").count(), 2 * known, "and no others");
}

#[test]
fn malformed_messages_are_refused() {
    for (name, bytes, _) in refused() {
        let meaning: Result<(), MessageError> =
            LobbyRequest::decode(&bytes).map(drop).or_else(|_| LobbyResponse::decode(&bytes).map(drop));
        assert!(meaning.is_err(), "{name} decodes");
    }
}

fn tanks() -> Announcement {
    let mut tanks = Announcement::new("tanks", "Ann’s dunes")
        .with_attribute("map", "dunes")
        .with_attribute("mode", "capture the flag");
    (tanks.players, tanks.seats) = (3, 300);
    tanks
}

fn someone() -> Fingerprint {
    Fingerprint(std::array::from_fn(|at| at as u8))
}

fn messages() -> Vec<Golden> {
    let (v4, v6): (SocketAddr, SocketAddr) =
        ("192.0.2.7:7777".parse().expect("one"), "[2001:db8::7]:65535".parse().expect("one"));
    let peer = Announcement { wants_introductions: true, ..Announcement::new("ships", "Bob") };
    let filter = Filter {
        game: Some("tanks".into()),
        free_seats_min: 2,
        attributes: [("map".to_owned(), "dunes".to_owned())].into(),
    };
    let listing = Listing { entry: EntryId(300), address: v6, fingerprint: someone(), announcement: tanks() };
    let asks = [
        ("announce", LobbyRequest::Announce(tanks())),
        ("announce_peer", LobbyRequest::Announce(peer)),
        ("withdraw", LobbyRequest::Withdraw),
        ("find", LobbyRequest::Find(filter, EntryId(128))),
        ("find_any", LobbyRequest::Find(Filter::default(), EntryId(0))),
        ("meet", LobbyRequest::Meet(EntryId(u64::MAX))),
        ("relay", LobbyRequest::Relay(someone())),
    ];
    let answers = [
        ("announced", LobbyResponse::Announced(EntryId(1), v4)),
        ("found", LobbyResponse::Found(listing)),
        ("end", LobbyResponse::End(true)),
        ("meeting", LobbyResponse::Meet(someone(), v4)),
        ("relayed", LobbyResponse::Relay(someone(), 40_000)),
        ("refused", LobbyResponse::Refused(LobbyRefusal::NoRelay)),
    ];
    let asks = asks.into_iter().map(|(name, ask)| (name, ask.encode(), ask_text(&ask)));
    asks.chain(answers.into_iter().map(|(name, answer)| (name, answer.encode(), answer_text(&answer))))
        .collect()
}

/// Messages with encodings that are not allowed.
fn refused() -> Vec<Golden> {
    let announce = LobbyRequest::Announce(Announcement::new("a", "b").with_attribute("k", "v")).encode();
    let changed = |at: usize, byte: u8| {
        let mut bytes = announce.clone();
        bytes[at] = byte;
        bytes
    };
    let mut unordered = announce.clone();
    unordered[9] = 2;
    unordered.extend(b"\x01j\x01v");
    let mut mapped = vec![16, 1, 6];
    mapped.extend("::ffff:192.0.2.7".parse::<std::net::Ipv6Addr>().expect("one").octets());
    mapped.extend([0x61, 0x1e]);
    [
        ("refused_control", changed(4, 7)),
        ("refused_flag", changed(8, 2)),
        ("refused_order", unordered),
        ("refused_too_many", changed(9, 17)),
        ("refused_mapped", mapped),
        ("refused_reason", vec![21, 7]),
        ("refused_kind", vec![5]),
        ("refused_cut", vec![3]),
        ("refused_trailing_byte", vec![1, 0]),
    ]
    .into_iter()
    .map(|(name, bytes)| (name, bytes, "refused\n".to_owned()))
    .collect()
}

fn ask_text(ask: &LobbyRequest) -> String {
    match ask {
        LobbyRequest::Announce(it) => format!("announce\n{}", announcement_text(it)),
        LobbyRequest::Withdraw => "withdraw\n".into(),
        LobbyRequest::Find(filter, after) => format!(
            "find game {} free {}\n{}after {}\n",
            filter.game.as_ref().map_or_else(|| "any".into(), |game| format!("{game:?}")),
            filter.free_seats_min,
            attributes_text(&filter.attributes),
            after.0
        ),
        LobbyRequest::Meet(entry) => format!("meet entry {}\n", entry.0),
        LobbyRequest::Relay(peer) => format!("relay {peer}\n"),
    }
}

fn answer_text(answer: &LobbyResponse) -> String {
    match answer {
        LobbyResponse::Announced(entry, seen) => {
            format!("announced entry {} address {}\n", entry.0, address_text(*seen))
        }
        LobbyResponse::Found(it) => format!(
            "found entry {} address {} fingerprint {}\n{}",
            it.entry.0,
            address_text(it.address),
            it.fingerprint,
            announcement_text(&it.announcement)
        ),
        LobbyResponse::End(more) => format!("end more {more}\n"),
        LobbyResponse::Meet(peer, address) => format!("meet {peer} address {}\n", address_text(*address)),
        LobbyResponse::Relay(peer, port) => format!("relay {peer} port {port}\n"),
        LobbyResponse::Refused(refusal) => {
            let code = LobbyRefusal::ALL.iter().position(|it| it == refusal).expect("all are there");
            format!("refused reason {code}\n")
        }
    }
}

fn announcement_text(it: &Announcement) -> String {
    format!(
        "game {:?} name {:?} protocol {} players {} seats {} introductions {}\n{}",
        it.game,
        it.name,
        it.protocol,
        it.players,
        it.seats,
        it.wants_introductions,
        attributes_text(&it.attributes)
    )
}

fn attributes_text(attributes: &std::collections::BTreeMap<String, String>) -> String {
    attributes.iter().map(|(key, value)| format!("attribute {key:?} {value:?}\n")).collect()
}

fn address_text(address: SocketAddr) -> String {
    let bytes = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{digits} port {}", address.port())
}

/// Sixteen bytes per line.
fn lines_of_hex(bytes: &[u8]) -> String {
    let line =
        |chunk: &[u8]| chunk.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ") + "\n";
    bytes.chunks(16).map(line).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/vectors/lobby")
}

fn compare(path: &Path, text: &str) {
    if std::env::var_os("FAIRPATH_BLESS").is_some() {
        fs::create_dir_all(folder()).expect("the folder of golden messages");
        fs::write(path, text).expect("a golden message");
    }
    let kept = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(kept.replace('\r', ""), text, "{} is no longer what is written", path.display());
}
