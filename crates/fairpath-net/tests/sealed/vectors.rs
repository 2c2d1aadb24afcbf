//! Goal: the bytes on the wire do not change by accident, and PROTOCOL.md describes them. Method:
//! golden packets in `lab/vectors/sealed`, which `lab/spec-check` reads too. `FAIRPATH_BLESS=1`
//! writes them anew.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use fairpath_net::sealed::{Content, Direction, Opener, Sealer};

use crate::exporter::FixedExporter;

const SECRET: [u8; 32] = *b"a secret of 32 bytes, not random";
const TAG: [u8; 4] = [0xC0, 0xFF, 0xEE, 0x01];

/// What the reader of a golden packet has opened before: the packet `newest`, with the key of
/// `epoch`.
struct Reader {
    direction: Direction,
    newest: Option<u64>,
    epoch: u32,
}

impl Reader {
    fn to_client(newest: Option<u64>) -> Self {
        Self { direction: Direction::ToClient, newest, epoch: 0 }
    }

    fn to_server(newest: Option<u64>) -> Self {
        Self { direction: Direction::ToServer, newest, epoch: 0 }
    }

    fn in_epoch(self, epoch: u32) -> Self {
        Self { epoch, ..self }
    }
}

#[test]
fn golden_packets_are_what_is_written_and_read() {
    let motion = Content::Datagram(b"motion");
    check("datagram_to_client", &Reader::to_client(None), &packet(Direction::ToClient, 0, 0, &motion));
    check("datagram_to_server", &Reader::to_server(Some(2)), &packet(Direction::ToServer, 0, 3, &motion));
    let report = Content::Report(0x1234, b"motion");
    check("report_to_client", &Reader::to_client(Some(7)), &packet(Direction::ToClient, 0, 8, &report));
    let alone = Content::Report(65_535, b"");
    check("report_alone_to_server", &Reader::to_server(None), &packet(Direction::ToServer, 0, 1, &alone));
    let challenge = Content::Challenge(*b"8 random");
    check("challenge_to_client", &Reader::to_client(None), &packet(Direction::ToClient, 0, 0, &challenge));
    let echo = Content::Echo(*b"8 random");
    check("echo_to_server", &Reader::to_server(None), &packet(Direction::ToServer, 0, 0, &echo));
    let wide = Reader::to_client(Some(65_530));
    check("number_above_two_bytes", &wide, &packet(Direction::ToClient, 0, 65_537, &motion));
    let late = Reader::to_client(Some(65_540));
    check("number_reordered", &late, &packet(Direction::ToClient, 0, 65_535, &motion));
    check("next_epoch", &Reader::to_client(Some(9)), &packet(Direction::ToClient, 1, 10, &motion));
    let after = Reader::to_client(Some(9)).in_epoch(1);
    check("previous_epoch", &after, &packet(Direction::ToClient, 0, 8, &motion));
    let fifth = Reader::to_server(Some(20)).in_epoch(5);
    check("epoch_modulo_four", &fifth, &packet(Direction::ToServer, 5, 21, &motion));
}

#[test]
fn golden_packets_that_must_be_dropped_are() {
    let motion = Content::Datagram(b"motion");
    let sound = packet(Direction::ToClient, 0, 10, &motion);
    let reader = || Reader::to_client(Some(9));
    check("refused_replayed", &Reader::to_client(Some(10)), &sound);
    check("refused_too_old", &Reader::to_client(Some(266)), &sound);
    check("refused_epoch", &reader(), &packet(Direction::ToClient, 2, 10, &motion));
    check("refused_direction", &reader(), &packet(Direction::ToServer, 0, 10, &motion));
    check("refused_cut", &reader(), &sound[..sound.len() - 1]);
    check("refused_short", &reader(), &sound[..18]);
    let changed = |at: usize, bit: u8| {
        let mut bytes = sound.clone();
        bytes[at] ^= bit;
        bytes
    };
    check("refused_reserved_bit", &reader(), &changed(0, 1));
    check("refused_kind", &reader(), &changed(0, 4));
    check("refused_number", &reader(), &changed(1, 1));
    check("refused_body", &reader(), &changed(5, 0x80));
}

fn packet(direction: Direction, epoch: u32, number: u64, content: &Content<'_>) -> Vec<u8> {
    let exporter = FixedExporter(SECRET);
    let sealer = match direction {
        Direction::ToClient => Sealer::to_client(&exporter),
        Direction::ToServer => Sealer::to_server(&exporter, TAG),
    };
    let mut sealer = sealer.expect("keys");
    let mut bytes = Vec::new();
    while sealer.next_number() < number {
        bytes.clear();
        sealer.seal(&Content::Datagram(b""), &mut bytes).expect("a key");
    }
    for _ in 0..epoch {
        sealer.change_key();
        sealer.refill(&exporter).expect("keys");
    }
    bytes.clear();
    sealer.seal(content, &mut bytes).expect("a key");
    bytes
}

fn check(name: &str, reader: &Reader, bytes: &[u8]) {
    let newest = reader.newest.map_or_else(|| "none".to_owned(), |number| number.to_string());
    let direction = u8::from(reader.direction == Direction::ToServer);
    let given = format!(
        "sealed\nsecret {}\ndirection {direction}\nepoch {}\nnewest {newest}\n",
        hex(&SECRET),
        reader.epoch
    );
    compare(name, "hex", &(hex(bytes) + "\n"));
    compare(name, "txt", &format!("{given}\n{}", found(reader, bytes)));
}

/// What the library finds in a packet.
fn found(reader: &Reader, bytes: &[u8]) -> String {
    let exporter = FixedExporter(SECRET);
    let mut opener = Opener::new(&exporter, reader.direction).expect("keys");
    // Follow the sender to the epoch and the number, both in steps that an opener can follow.
    for epoch in 0..=reader.epoch {
        if let Some(newest) = reader.newest {
            let number = if epoch == reader.epoch { newest } else { u64::from(epoch) };
            for near in (0..number).step_by(30_000).skip(1).chain([number]) {
                let mut before = packet(reader.direction, epoch, near, &Content::Datagram(b""));
                opener.open(&mut before).expect("authentic");
                opener.refill(&exporter).expect("keys");
            }
        }
    }
    let mut packet = bytes.to_vec();
    let Ok(opened) = opener.open(&mut packet) else { return "refused\n".to_owned() };
    let mut text = String::new();
    if reader.direction == Direction::ToServer {
        writeln!(text, "tag {}", hex(&Opener::tag_of(bytes).expect("a tag"))).expect("written");
    }
    writeln!(text, "number {}", opened.number).expect("written");
    text + &match opened.content {
        Content::Datagram(bytes) => format!("datagram {}\n", hex(bytes)),
        Content::Report(seen, bytes) => format!("report {seen}\ndatagram {}\n", hex(bytes)),
        Content::Challenge(bytes) => format!("challenge {}\n", hex(&bytes)),
        Content::Echo(bytes) => format!("echo {}\n", hex(&bytes)),
    }
}

/// Bytes in hexadecimal, and nothing as `-`, as in the other golden messages.
fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() { "-".to_owned() } else { bytes.iter().map(|byte| format!("{byte:02x}")).collect() }
}

fn compare(name: &str, extension: &str, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/vectors/sealed");
    let path = folder.join(name).with_extension(extension);
    if std::env::var_os("FAIRPATH_BLESS").is_some() {
        fs::create_dir_all(&folder).expect("the folder of golden packets");
        fs::write(&path, text).expect("a golden packet");
    }
    let kept = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(kept.replace('\r', ""), text, "{} is no longer what is written", path.display());
}
