//! Goal: the bytes of sessions never change by accident. Method: as in `vectors.rs`, in
//! `lab/vectors/session`.
//!
//! After a change that is meant, `FAIRPATH_BLESS=1 cargo test -p fairpath --test session_vectors`
//! writes them anew; then raise the version of the session protocol.

use std::fs;
use std::path::{Path, PathBuf};

use fairpath::clock::{Reply, Request};
use fairpath::converge::{Algorithm, Convergence};
use fairpath::number::EntityId;
use fairpath::place::Placement;
use fairpath::session::message::{
    Announcement, AnnouncementArrival, Call, Confirmation, Datagram, Group, Hello, Message, Outcome, Part,
    Received, Resume, SESSION_VERSION, UnorderedMessage, Welcome,
};
use fairpath::session::{
    ClassId, ClassSettings, ClientId, GameId, MessageError, Party, Rates, Refusal, Settings, Target, Token,
};
use fairpath::time::{SharedInstant, Span};
use fairpath::trigger::{AdaptiveThreshold, Trigger};

/// Where it travels, and its bytes.
struct Golden {
    name: &'static str,
    room: Room,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Room {
    Stream,
    Unordered,
    Datagram,
}

#[test]
fn the_bytes_and_their_meaning_are_those_in_the_repository() {
    for golden in messages().iter().chain(&refused()) {
        compare(&folder().join(golden.name).with_extension("hex"), &lines_of_hex(&golden.bytes));
        compare(&folder().join(golden.name).with_extension("txt"), &golden.text());
    }
}

#[test]
fn every_message_in_the_repository_is_known() {
    let known: Vec<&str> = messages().iter().chain(&refused()).map(|golden| golden.name).collect();
    for entry in fs::read_dir(folder()).expect("the folder of golden messages").flatten() {
        let path = entry.path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name in ASCII");
        assert!(known.contains(&name), "{} is nobody's", path.display());
    }
}

#[test]
fn what_decodes_encodes_to_the_same_bytes_and_the_rest_is_refused() {
    for golden in messages() {
        assert!(golden.meaning().is_ok(), "{} is refused", golden.name);
        assert_eq!(golden.again(), golden.bytes, "{}", golden.name);
    }
    for golden in refused() {
        assert!(golden.meaning().is_err(), "{} decodes", golden.name);
    }
}

fn messages() -> Vec<Golden> {
    let received = Received { ordered: 300, unordered: 7, beyond: vec![8, 9, 200] };
    let arrival = |number, micros| AnnouncementArrival { number, at: SharedInstant::from_micros(micros) };
    // The second arrived with the first, the third after the reader's clock was put back.
    let arrivals = vec![arrival(290, 7_300_000), arrival(291, 7_300_000), arrival(299, 7_299_400)];
    let resume =
        Resume { token: Token([0xA5; 16]), epoch: 0x0102_0304_0506_0708, received: received.clone() };
    let hello = Hello {
        version: SESSION_VERSION,
        dimensions: 2,
        precision: 0x45E0_97ED,
        game: GameId { name: "tanks".into(), version: 300, fingerprint: 0x1122_3344_5566_7788 },
        authentication: b"who I am".to_vec(),
        clock: Request { id: 0 },
        resume: None,
    };
    let clock = Reply {
        id: 0,
        received: SharedInstant::from_micros(-5_000_000),
        sent: SharedInstant::from_micros(-4_999_990),
    };
    let tank_settings = ClassSettings {
        trigger: Trigger::AnyOf(vec![
            Trigger::Distance { threshold: 0.25 },
            Trigger::CrossTrack { threshold: 0.5 },
            Trigger::Angle { threshold: 0.125 },
            Trigger::Every(Span::from_secs(1)),
            Trigger::PreReckoning { angle: 0.5, speed_min: 2.0 },
            Trigger::Adaptive(AdaptiveThreshold { near: 0.25, per_distance: 0.0625, far: 2.0 }),
        ]),
        rates: Rates { interval_min: Span::from_millis(50), interval_max: Span::from_secs(3) },
        smoothing: Convergence::default(),
    };
    let welcome = Welcome {
        client: ClientId(5),
        token: Token([0x5A; 16]),
        epoch: 9,
        placement: Placement::Hop,
        settings: Settings { horizon: Span::from_secs(3), classes: vec![(ClassId(1), tank_settings)] },
        clock,
        outcome: Outcome::New(65, 32),
    };
    let resumed = Welcome {
        placement: Placement::Global,
        outcome: Outcome::Resumed(received.clone()),
        ..welcome.clone()
    };
    let (tank, ball) = (EntityId(70), EntityId(1));
    let group = |group, number, bytes: &[u8]| Group { group, number, bytes: bytes.to_vec() };
    let tank_made = Announcement {
        object: tank,
        class: ClassId(1),
        owner: Party::Client(ClientId(5)),
        term: 0,
        creation: b"red".to_vec(),
        motion: vec![],
        groups: vec![],
    };
    let ball_seen = Announcement {
        object: ball,
        class: ClassId(300),
        owner: Party::Server,
        term: 3,
        creation: vec![],
        motion: b"a DR vector".to_vec(),
        groups: vec![group(0, 1, &[9]), group(31, 130, b"full")],
    };
    let call = |target, bytes: &[u8]| Call {
        target,
        from: Party::Client(ClientId(5)),
        method: 17,
        bytes: bytes.to_vec(),
    };
    let parts = vec![
        Part::ClockRequest(Request { id: 400 }),
        Part::ClockReply(Reply { id: 400, ..clock }),
        Part::Feedback(vec![0x48, 0, 5]),
        Part::Quickest(3, call(Target::Owner(ball), b"hit")),
        Part::Unreliable(call(Target::Connection, b"")),
        Part::State(tank, group(4, 77, b"ammo 3")),
        Part::Newest(78, call(Target::Viewers(tank), b"horn")),
    ];
    vec![
        stream("hello", Message::Hello(hello.clone())),
        stream("hello_again", Message::Hello(Hello { resume: Some(resume), ..hello })),
        stream("welcome", Message::Welcome(welcome)),
        stream("welcome_back", Message::Welcome(resumed)),
        stream(
            "confirm",
            Message::Confirm(Confirmation { received: received.clone(), arrivals: Vec::new() }),
        ),
        stream("confirm_arrivals", Message::Confirm(Confirmation { received, arrivals })),
        stream("create", Message::Create(tank_made)),
        stream("destroy", Message::Destroy(tank)),
        stream("claim", Message::Claim(ball, 3)),
        stream("release", Message::Release(ball, 4)),
        stream("call", Message::Call(call(Target::Connection, b"hello there"))),
        stream("enter", Message::Enter(ball_seen)),
        stream("leave", Message::Leave(ball, true)),
        stream("owned", Message::Owned(ball, Party::Client(ClientId(5)), 4)),
        stream("ids", Message::Ids(97, 32)),
        stream("refused", Message::Refused(ball, Refusal::ClaimLost)),
        message("letter", UnorderedMessage { number: 200, call: call(Target::Owner(ball), &[1, 2, 3]) }),
        datagram("datagram_empty", vec![]),
        datagram("datagram_every_part", parts),
    ]
}

/// Messages that a decoder must not accept, each with one thing wrong.
fn refused() -> Vec<Golden> {
    let golden = |name, room, bytes: &[u8]| Golden { name, room, bytes: bytes.to_vec() };
    vec![
        golden("refused_kind", Room::Stream, &[7, 1]),
        golden("refused_cut", Room::Stream, &[10, 1]),
        golden("refused_trailing_byte", Room::Stream, &[9, 1, 0]),
        golden("refused_long_varint", Room::Stream, &[9, 0x81, 0]),
        golden("refused_object", Room::Stream, &[9, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F]),
        golden("refused_flag", Room::Stream, &[17, 1, 2]),
        golden("refused_reason", Room::Stream, &[20, 1, 99]),
        golden("refused_arrival", Room::Stream, &[2, 3, 0, 0, 1, 20, 3]),
        golden("refused_arrival_beyond", Room::Stream, &[2, 3, 0, 0, 2, 20, 0, 0, 0]),
        golden("refused_group_order", Room::Stream, &[16, 1, 1, 0, 0, 0, 2, 5, 1, 0, 5, 1, 0]),
        golden("refused_target", Room::Unordered, &[0, 3, 1, 0, 1, 0]),
        golden("refused_group", Room::Datagram, &[0, 5, 1, 32, 1, 0]),
        golden(
            "refused_quickest_length",
            Room::Datagram,
            &[&[0, 3, 0, 0, 0, 0, 0xC9, 1][..], &[0; 201]].concat(),
        ),
    ]
}

fn stream(name: &'static str, message: Message) -> Golden {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    Golden { name, room: Room::Stream, bytes }
}

fn message(name: &'static str, message: UnorderedMessage) -> Golden {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    Golden { name, room: Room::Unordered, bytes }
}

fn datagram(name: &'static str, parts: Vec<Part>) -> Golden {
    let mut bytes = Vec::new();
    Datagram { updates: &[0x40, 0, 1], parts }.encode(&mut bytes);
    Golden { name, room: Room::Datagram, bytes }
}

impl Golden {
    fn text(&self) -> String {
        let room = match self.room {
            Room::Stream => "stream",
            Room::Unordered => "message",
            Room::Datagram => "datagram",
        };
        format!("{room}\n\n{}", self.meaning().unwrap_or_else(|_| "refused\n".to_owned()))
    }

    fn meaning(&self) -> Result<String, MessageError> {
        Ok(match self.room {
            Room::Stream => message_text(&Message::decode(&self.bytes)?),
            Room::Unordered => {
                let message = UnorderedMessage::decode(&self.bytes)?;
                format!("number {}\n{}", message.number, call_text(&message.call))
            }
            Room::Datagram => {
                let datagram = Datagram::decode(&self.bytes)?;
                let parts: String = datagram.parts.iter().map(part_text).collect();
                format!("updates {}\n{parts}", hex(datagram.updates))
            }
        })
    }

    fn again(&self) -> Vec<u8> {
        let mut again = Vec::new();
        match self.room {
            Room::Stream => Message::decode(&self.bytes).expect("sound").encode(&mut again),
            Room::Unordered => UnorderedMessage::decode(&self.bytes).expect("sound").encode(&mut again),
            Room::Datagram => Datagram::decode(&self.bytes).expect("sound").encode(&mut again),
        }
        again
    }
}

fn message_text(message: &Message) -> String {
    match message {
        Message::Hello(it) => {
            let resume = it.resume.as_ref().map_or_else(
                || "resume none\n".to_owned(),
                |it| {
                    format!(
                        "resume token {} epoch {} {}",
                        hex(&it.token.0),
                        it.epoch,
                        received_text(&it.received)
                    )
                },
            );
            format!(
                "hello version {} dimensions {} precision {:08x} authentication {} clock {}\n\
                 game {} version {} fingerprint {:016x}\n{resume}",
                it.version,
                it.dimensions,
                it.precision,
                hex(&it.authentication),
                it.clock.id,
                hex(it.game.name.as_bytes()),
                it.game.version,
                it.game.fingerprint,
            )
        }
        Message::Welcome(it) => {
            let placement = format!("{:?}", it.placement).to_lowercase();
            let outcome = match &it.outcome {
                Outcome::New(first, count) => format!("new ids {first} {count}\n"),
                Outcome::Resumed(received) => format!("resumed {}", received_text(received)),
            };
            format!(
                "welcome client {} token {} epoch {} placement {placement}\n{}{}{outcome}",
                it.client.0,
                hex(&it.token.0),
                it.epoch,
                settings_text(&it.settings),
                reply_text(&it.clock)
            )
        }
        Message::Confirm(it) => format!("confirm {}{}", received_text(&it.received), arrivals_text(it)),
        Message::Create(it) => format!("create {}", announcement_text(it)),
        Message::Destroy(object) => format!("destroy object {}\n", object.0),
        Message::Claim(object, term) => format!("claim object {} term {term}\n", object.0),
        Message::Release(object, term) => format!("release object {} term {term}\n", object.0),
        Message::Call(it) => call_text(it),
        Message::Enter(it) => format!("enter {}", announcement_text(it)),
        Message::Leave(object, destroyed) => format!("leave object {} destroyed {destroyed}\n", object.0),
        Message::Owned(object, owner, term) => {
            format!("owned object {} owner {} term {term}\n", object.0, party(*owner))
        }
        Message::Ids(first, count) => format!("ids {first} {count}\n"),
        Message::Refused(object, refusal) => {
            format!("refused object {} reason {}\n", object.0, refusal.code())
        }
    }
}

fn settings_text(it: &Settings) -> String {
    let micros = |span: Span| span.as_micros();
    let rule = |rule: &Trigger| match rule {
        Trigger::Distance { threshold } => format!("rule distance {threshold}\n"),
        Trigger::CrossTrack { threshold } => format!("rule cross-track {threshold}\n"),
        Trigger::Angle { threshold } => format!("rule angle {threshold}\n"),
        Trigger::Every(interval) => format!("rule every {}\n", micros(*interval)),
        Trigger::PreReckoning { angle, speed_min } => format!("rule pre-reckoning {angle} {speed_min}\n"),
        Trigger::Adaptive(it) => format!("rule adaptive {} {} {}\n", it.near, it.per_distance, it.far),
        Trigger::AnyOf(_) => unreachable!("rules are flat on the wire"),
    };
    let class = |(id, it): &(ClassId, ClassSettings)| {
        let Trigger::AnyOf(rules) = &it.trigger else { unreachable!("a list on the wire") };
        let (rates, smoothing) = (it.rates, it.smoothing);
        let algorithm = Algorithm::ALL.iter().position(|it| *it == smoothing.algorithm).expect("one of all");
        let rules: String = rules.iter().map(rule).collect();
        format!(
            "class {} interval {} {} smoothing {algorithm} {} {} {}\n{rules}",
            id.0,
            micros(rates.interval_min),
            micros(rates.interval_max),
            micros(smoothing.blend_min),
            micros(smoothing.blend),
            smoothing.snap_beyond
        )
    };
    let classes: String = it.classes.iter().map(class).collect();
    format!("horizon {}\n{classes}", micros(it.horizon))
}

fn part_text(part: &Part) -> String {
    match part {
        Part::ClockRequest(it) => format!("clock request {}\n", it.id),
        Part::ClockReply(it) => reply_text(it),
        Part::Feedback(bytes) => format!("feedback {}\n", hex(bytes)),
        Part::Quickest(number, call) => format!("quickest {number} {}", call_text(call)),
        Part::Unreliable(call) => format!("unreliable {}", call_text(call)),
        Part::State(object, group) => format!("state object {} {}", object.0, group_text(group)),
        Part::Newest(number, call) => format!("newest {number} {}", call_text(call)),
    }
}

fn reply_text(it: &Reply) -> String {
    format!("clock reply {} received {} sent {}\n", it.id, it.received.as_micros(), it.sent.as_micros())
}

fn received_text(it: &Received) -> String {
    let beyond: String = it.beyond.iter().map(|number| format!(" {number}")).collect();
    format!("received ordered {} unordered {} beyond{beyond}\n", it.ordered, it.unordered)
}

fn arrivals_text(it: &Confirmation) -> String {
    let text = |it: &AnnouncementArrival| format!("arrival {} at {}\n", it.number, it.at.as_micros());
    it.arrivals.iter().map(text).collect()
}

fn announcement_text(it: &Announcement) -> String {
    let groups: String = it.groups.iter().map(group_text).collect();
    format!(
        "object {} class {} owner {} term {} creation {} motion {}\n{groups}",
        it.object.0,
        it.class.0,
        party(it.owner),
        it.term,
        hex(&it.creation),
        hex(&it.motion)
    )
}

fn group_text(it: &Group) -> String {
    format!("group {} number {} bytes {}\n", it.group, it.number, hex(&it.bytes))
}

fn call_text(it: &Call) -> String {
    let target = match it.target {
        Target::Connection => "connection".to_owned(),
        Target::Owner(object) => format!("owner {}", object.0),
        Target::Viewers(object) => format!("viewers {}", object.0),
    };
    format!("call {target} from {} method {} bytes {}\n", party(it.from), it.method, hex(&it.bytes))
}

fn party(party: Party) -> String {
    match party {
        Party::Server => "server".to_owned(),
        Party::Client(client) => format!("client {}", client.0),
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if digits.is_empty() { "-".to_owned() } else { digits }
}

/// Sixteen bytes to the line.
fn lines_of_hex(bytes: &[u8]) -> String {
    let line =
        |chunk: &[u8]| chunk.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ") + "\n";
    bytes.chunks(16).map(line).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/vectors/session")
}

fn compare(path: &Path, text: &str) {
    if std::env::var_os("FAIRPATH_BLESS").is_some() {
        fs::create_dir_all(folder()).expect("the folder of golden messages");
        fs::write(path, text).expect("a golden message");
    }
    let kept = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(kept.replace('\r', ""), text, "{} is no longer what is written", path.display());
}
