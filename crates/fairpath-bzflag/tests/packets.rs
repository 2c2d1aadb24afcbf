//! Goal: the proxy understands what the real programs send. Method: messages recorded from BZFlag
//! 2.4.26 (`bzfs` and two clients on autopilot) on the loopback interface.

use fairpath::vector::Vector as _;
use fairpath_bzflag::message::{Code, Message, Piece, StreamCutter};
use fairpath_bzflag::update::PlayerUpdate;

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("two hexadecimal digits");
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn lines(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines().filter(|line| !line.starts_with('#'))
}

fn update(hex: &str) -> PlayerUpdate {
    let bytes = bytes(hex);
    let (message, rest) = Message::split_first(&bytes).expect("a whole message");
    assert!(rest.is_empty());
    PlayerUpdate::decode(&message).expect("an update")
}

#[test]
fn updates_encode_to_the_bytes_they_came_in() {
    let recorded = include_str!("packets/updates.hex");
    for line in lines(recorded) {
        let mut encoded = Vec::new();
        update(line).after(0.0, -9.81).encode(&mut encoded);
        assert_eq!(encoded, bytes(line), "{line}");
    }
    assert_eq!(lines(recorded).count(), 6);
}

/// A client sends an update when its tank is 0.09 units off the path that others compute from the
/// last one, or after a second. So the path must lead to the next update, up to what a tank drives
/// off it within one frame of 50 ms.
#[test]
fn the_motion_rule_leads_from_one_update_to_the_next() {
    for line in lines(include_str!("packets/pairs.hex")) {
        let (first, second) = line.split_once(' ').expect("two updates");
        let (first, second) = (update(first), update(second));
        let secs = f64::from(second.stamp) - f64::from(first.stamp);
        assert!(secs > 0.3, "{line}");
        let off = first.after(secs, -9.81).position.distance(second.position);
        let driven = first.position.distance(second.position);
        assert!(off < 0.5 && off < 0.1 * driven, "{off} units off after {driven} in {secs} s: {line}");
    }
}

#[test]
fn datagrams_split_to_the_last_byte() {
    let mut codes = Vec::new();
    for line in lines(include_str!("packets/datagrams.hex")) {
        let (_, hex) = line.split_once(' ').expect("a direction and bytes");
        let datagram = bytes(hex);
        codes.extend(Message::split_all(&datagram).expect("whole messages").iter().map(|it| it.code));
    }
    for code in
        [Code::UDP_LINK_REQUEST, Code::UDP_LINK_ESTABLISHED, Code::LAG_PING, Code::PLAYER_UPDATE_SMALL]
    {
        assert!(codes.contains(&code), "{code:?}");
    }
}

#[test]
fn a_join_is_cut_into_messages() {
    let join = |file: &'static str, mut cutter: StreamCutter| {
        let stream: Vec<u8> = lines(file).flat_map(bytes).collect();
        let (mut codes, mut gravity) = (Vec::new(), None);
        for chunk in stream.chunks(100) {
            cutter.push(chunk);
            while let Some(piece) = cutter.next_piece() {
                match piece {
                    Piece::Greeting(_) => assert!(codes.is_empty(), "the greeting comes first"),
                    Piece::Message(message) => {
                        codes.push(message.code);
                        gravity = gravity.or_else(|| message.variable("_gravity"));
                    }
                    Piece::Opaque(bytes) => panic!("not understood: {bytes:?}"),
                }
            }
        }
        assert!(cutter.rest().is_empty());
        (codes, gravity)
    };
    let (codes, gravity) = join(include_str!("packets/join_server.hex"), StreamCutter::of_server());
    assert!(
        [Code::ACCEPT, Code::ADD_PLAYER, Code::ALIVE].iter().all(|code| codes.contains(code)),
        "{codes:?}"
    );
    assert_eq!(gravity, Some(-9.8));
    let (codes, _) = join(include_str!("packets/join_client.hex"), StreamCutter::of_client());
    assert!([Code::ENTER, Code::LAG_PING].iter().all(|code| codes.contains(code)), "{codes:?}");
}
