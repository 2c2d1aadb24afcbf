//! Goal: the bytes never change by accident. Method: messages whose bytes (`lab/vectors/*.hex`) and
//! meaning (`lab/vectors/*.txt`) are kept in the repository. `lab/spec-check` reads the same files
//! without this library.
//!
//! After a change of the format that is meant, `FAIRPATH_BLESS=1 cargo test -p fairpath --test
//! vectors` writes them anew; then raise the version.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use fairpath::motion::{Circular, Dis, Hermite, Linear, Motion, Quadratic, Static, dis};
use fairpath::number::{EntityId, Generation, Life, PacketNumber, WirePacketNumber};
use fairpath::rotation::Quat;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Planar, Vec2, Vec3, Vector};
use fairpath::wire::{
    DecodeError, Feedback, Header, Kind, Nonce, Precision, PrecisionSettings, Receipt, StaleSet,
    decode_feedback, decode_updates, encode_feedback, encode_updates,
};
use fairpath::{Attitude, DrVector};

/// A message, and what its reader has to know beforehand.
struct Golden {
    name: &'static str,
    settings: PrecisionSettings,
    near: SharedInstant,
    newest_sent: PacketNumber,
    bytes: Vec<u8>,
}

#[test]
fn the_bytes_and_their_meaning_are_those_in_the_repository() {
    for golden in messages().iter().chain(&refused()) {
        compare(&folder().join(golden.name).with_extension("hex"), &hex(&golden.bytes));
        compare(&folder().join(golden.name).with_extension("txt"), &golden.text());
    }
}

#[test]
fn every_message_in_the_repository_is_known() {
    let known: Vec<&str> = messages().iter().chain(&refused()).map(|golden| golden.name).collect();
    for entry in fs::read_dir(folder()).expect("the folder of golden messages").flatten() {
        let path = entry.path();
        if path.is_dir() {
            // Those of sessions: `session_vectors.rs`.
            continue;
        }
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name in ASCII");
        assert!(known.contains(&name), "{} is nobody's", path.display());
    }
}

#[test]
fn what_must_be_refused_is() {
    for golden in refused() {
        assert!(golden.text().ends_with("refused\n"), "{} decodes", golden.name);
    }
}

fn messages() -> Vec<Golden> {
    let millimetres = PrecisionSettings {
        position_step: 0.001,
        world_min: Vec3::new(0.0, 0.0, -2.0),
        world_max: Vec3::new(64.0, 48.0, 10.0),
        velocity_step: 0.125,
        velocity_limit: 8.0,
        angle_steps: 720,
        time_step: Span::from_micros(16_667),
        ..PrecisionSettings::default()
    };
    let defaults = PrecisionSettings::default();
    let one = [linear(0, 5_000_000, Vec2::new(12.345, -60.0), Vec2::new(20.0, 15.0))];
    vec![
        updates("one_linear_2d", defaults, header(1, 5_000_250, None), &one),
        updates("sixteen_linear_2d", defaults, header(513, 90_000_412, Some(77)), &sixteen()),
        updates("every_model_2d", defaults, header(0xFFFF, -2_500, None), &every_model::<Vec2>(-2_500)),
        updates("every_model_3d", defaults, header(0x8000, 1 << 40, Some(0)), &every_model::<Vec3>(1 << 40)),
        updates("every_dis_model_3d", defaults, header(11, 60_000_000, None), &every_dis_model()),
        updates("escapes_2d", defaults, header(3, 1_000_000, None), &escapes()),
        updates("other_precision_3d", millimetres, header(4, 777_777, None), &every_model::<Vec3>(777_777)),
        updates(
            "parents_2d",
            defaults,
            header(12, 4_000_000, None),
            &attached::<Vec2>([None, Some(7), Some(900)]),
        ),
        updates("one_parent_3d", defaults, header(13, 4_000_000, Some(5)), &attached::<Vec3>([Some(40); 3])),
        updates::<Vec3>("empty_3d", defaults, header(9, 123_456_789, Some(65_535)), &[]),
        feedback_none(),
        feedback("feedback_one", header(6, 2_000_000, None), true, &receipts(1, 0)),
        feedback("feedback_steady", header(7, 9_000_000, None), true, &receipts(30, 0)),
        feedback("feedback_jitter", header(8, 9_000_000, Some(12)), false, &receipts(30, 1_500)),
        feedback("feedback_reordered", header(9, 9_000_000, Some(12)), true, &reordered()),
    ]
}

fn feedback_none() -> Golden {
    feedback("feedback_none", header(5, 2_000_000, None), true, &[])
}

/// Messages that a decoder must not accept, each with one thing wrong.
fn refused() -> Vec<Golden> {
    let one = || messages().swap_remove(0);
    let with = |name, change: fn(&mut Vec<u8>)| {
        let mut golden = Golden { name, ..one() };
        change(&mut golden.bytes);
        golden
    };
    // Sent at time zero with nonce zero. Two dimensions: packet 1, one DR vector of entity 0, lag
    // 0.
    let (sent, nonce) = ("0".repeat(28), "0".repeat(8));
    let plane = format!("010 000 0 0 0000000000000001 {sent} {nonce} 00000001 1000000 100");
    let space = plane.replacen(" 000", " 001", 1);
    let linear = format!("{plane} 1 100 10001 00000000");
    let (zero, speed_zero, escape) = ("0".repeat(16), "0".repeat(12), "1".repeat(17));
    let rest = format!("{zero} {speed_zero} {speed_zero}");
    let exact = |number: f64| format!("{linear} {escape} 1 {:064b} {rest}", number.to_bits());
    let feedback =
        format!("010 010 0 0 0000000000000001 {sent} {nonce} 1 00000001 0000000000000001 10000000000");
    // As `plane`, but with a table of parents, and without the rest of the DR vector.
    let attached = plane.replacen(" 0 0 ", " 0 1 ", 1) + " 1 100 10001";
    let mut reserved = Golden { name: "refused_reserved_bit", ..feedback_none() };
    reserved.bytes[0] |= 1;
    vec![
        reserved,
        spelt("refused_parents_of_nothing", &format!("010 000 0 1 0000000000000001 {sent} {nonce} 00000000")),
        spelt("refused_too_many_parents", &format!("{attached} 0 010 1000000 1 00000000 {zero} {rest}")),
        spelt("refused_unused_no_parent", &format!("{attached} 1 1 1000001 1 00000000 {zero} {rest}")),
        with("refused_version", |bytes| bytes[0] ^= 0b0110_0000),
        with("refused_kind", |bytes| bytes[0] |= 0b0001_1100),
        with("refused_padding", |bytes| *bytes.last_mut().expect("bytes") |= 1),
        with("refused_trailing_byte", |bytes| bytes.push(0)),
        with("refused_cut", |bytes| bytes.truncate(19)),
        with("refused_count", |bytes| bytes[7] |= 0b0000_1100),
        spelt("refused_model", &format!("{plane} 1 100 10110 00000000 {zero} {rest}")),
        spelt(
            "refused_golomb",
            &format!("{} {}", &plane[..plane.len() - 11], "0".repeat(43) + &"1".repeat(200)),
        ),
        spelt("refused_ages", &format!("{plane} 010 10000 100 10001 00000000 {zero} {rest}")),
        spelt("refused_unused_life", &format!("{plane} 1 0100 10001 0 00000000 {zero} {rest}")),
        spelt("refused_needless_steps", &format!("{linear} {escape} 0 1{:023b} {rest}", 0)),
        spelt("refused_needless_exact", &exact(1.0)),
        spelt("refused_not_finite", &exact(f64::INFINITY)),
        spelt(
            "refused_quaternion_tie",
            &format!("{space} 1 100 10000 00000000 {zero} {zero} {zero} 00 {}", "1".repeat(39)),
        ),
        spelt("refused_column_order", &format!("{feedback} 100000000000000 00000 1 0")),
        spelt(
            "refused_stale_place",
            &format!("{feedback} 100000000000000 11111 1 11111111 {}", "0".repeat(255)),
        ),
    ]
}

/// A message written down as zeros and ones, with fill bits after it.
fn spelt(name: &'static str, bits: &str) -> Golden {
    let bits: Vec<u8> = bits.bytes().filter(|byte| *byte != b' ').map(|byte| byte - b'0').collect();
    let byte = |chunk: &[u8]| (0..8).fold(0, |byte, at| byte << 1 | chunk.get(at).copied().unwrap_or(0));
    let bytes = bits.chunks(8).map(byte).collect();
    let settings = PrecisionSettings::default();
    Golden { name, settings, near: SharedInstant::ZERO, newest_sent: PacketNumber(0), bytes }
}

#[test]
fn hand_spelt_messages_differ_from_sound_ones_in_one_thing_only() {
    let (sent, nonce) = ("0".repeat(28), "0".repeat(8));
    let sound = format!(
        "010 000 0 0 0000000000000001 {sent} {nonce} 00000001 1000000 100 1 100 10001 00000000 {} {}",
        "0".repeat(32),
        "0".repeat(24)
    );
    let nothing = linear(0, 0, Vec2::ZERO, Vec2::ZERO);
    let header = Header { nonce: Nonce(0), ..header(1, 0, None) };
    let expected = updates("sound", PrecisionSettings::default(), header, &[nothing]);
    assert_eq!(spelt("sound", &sound).bytes, expected.bytes);
}

fn linear(entity: u32, generated_us: i64, position: Vec2, velocity: Vec2) -> DrVector<Vec2> {
    DrVector {
        entity: EntityId(entity),
        life: Life::default(),
        generation: Generation(entity as u8),
        generated_at: SharedInstant::from_micros(generated_us),
        motion: Motion::Linear(Linear { position, velocity }),
        attitude: None,
        parent: None,
    }
}

/// What an ordinary tick of an ordinary game sends.
fn sixteen() -> Vec<DrVector<Vec2>> {
    let ids = [1, 4, 5, 9, 12, 17, 18, 19, 30, 31, 37, 44, 45, 52, 60, 63];
    let vector = |(at, id): (usize, u32)| {
        let turn = f64::from(id);
        let position = Vec2::from_heading(turn) * (7.5 * turn);
        let velocity = Vec2::from_heading(2.0 * turn) * 25.0;
        let life = Life::new(if at % 5 == 0 { 2 } else { 1 });
        DrVector { life, ..linear(id, 90_000_000 - 16_667 * (at as i64 % 3), position, velocity) }
    };
    ids.into_iter().enumerate().map(vector).collect()
}

fn every_model<V: Planar>(sent_us: i64) -> Vec<DrVector<V>> {
    let position = V::from_3d(Vec3::new(33.333, 12.0, 1.5));
    let velocity = V::from_3d(Vec3::new(-3.21, 4.0, 0.25));
    let acceleration = V::from_3d(Vec3::new(0.5, 0.0, -9.81));
    let orientation = Quat::from_rotation_vector(Vec3::new(0.3, -1.2, 2.0));
    let attitude = Attitude {
        orientation: V::from_quat(orientation),
        spin: V::spin_from_3d(Vec3::new(0.0, 0.125, -1.75)),
    };
    let circular = |turn_rate| Circular {
        position,
        heading: -2.5,
        speed: -7.5,
        turn_rate,
        climb_rate: 1.25,
        climb_acceleration: -9.81,
    };
    let dis = Dis {
        model: dis::Model::Static,
        position: Vec3::new(1.0, 2.0, 3.0),
        velocity: Vec3::ZERO,
        acceleration: Vec3::new(0.0, -1.0, 0.02),
        orientation: Quat { w: 0.5, v: Vec3::new(-0.5, 0.5, 0.5) },
        angular_velocity: Vec3::ZERO,
    };
    let hermite = Hermite {
        start: position,
        start_velocity: velocity,
        end: V::from_3d(Vec3::new(30.0, 20.0, 0.0)),
        end_velocity: V::ZERO,
        secs: 1.75,
    };
    let facing_left = V::level(std::f64::consts::FRAC_PI_2);
    let motions = [
        (Motion::Static(Static { position, orientation: facing_left }), None),
        (Motion::Linear(Linear { position, velocity }), Some(attitude)),
        (Motion::Quadratic(Quadratic { position, velocity, acceleration }), None),
        (Motion::Circular(circular(0.785)), None),
        (Motion::Circular(circular(0.0)), Some(Attitude::default())),
        (Motion::Hermite(hermite), None),
        (Motion::Dis(dis), None),
    ];
    let vector = |(at, (motion, attitude)): (usize, _)| DrVector {
        entity: EntityId(1 << (4 * at)),
        life: Life::new(at as u8),
        generation: Generation(255 - at as u8),
        generated_at: SharedInstant::from_micros(sent_us - 250_000 * (at as i64 / 2)),
        motion,
        attitude,
        parent: None,
    };
    motions.into_iter().enumerate().map(vector).collect()
}

/// Three straight movers with these parents.
fn attached<V: Planar>(parents: [Option<u32>; 3]) -> Vec<DrVector<V>> {
    let vector = |(at, parent): (usize, Option<u32>)| DrVector {
        entity: EntityId(20 + at as u32),
        life: Life::new(1),
        generation: Generation(at as u8),
        generated_at: SharedInstant::from_micros(3_999_000),
        motion: Motion::Linear(Linear {
            position: V::from_3d(Vec3::new(at as f64, -2.5, 1.0)),
            velocity: V::from_3d(Vec3::new(0.0, 1.25, 0.0)),
        }),
        attitude: None,
        parent: parent.map(EntityId),
    };
    parents.into_iter().enumerate().map(vector).collect()
}

fn every_dis_model() -> Vec<DrVector<Vec3>> {
    let vector = |(at, model): (usize, dis::Model)| {
        let turn = at as f64;
        let dis = Dis {
            model,
            position: Vec3::new(10.0 * turn, -5.0 * turn, 2.5),
            velocity: if model.moves() { Vec3::new(turn, 0.5, -0.25) } else { Vec3::ZERO },
            acceleration: if model.accelerates() { Vec3::new(0.0, turn, 1.0) } else { Vec3::ZERO },
            orientation: Quat::from_rotation_vector(Vec3::new(turn, 0.5, -0.25)),
            angular_velocity: if model.axes_turn() { Vec3::new(0.0, 0.0, 0.5) } else { Vec3::ZERO },
        };
        DrVector {
            entity: EntityId(at as u32),
            life: Life::default(),
            generation: Generation(at as u8),
            generated_at: SharedInstant::from_micros(60_000_000),
            motion: Motion::Dis(dis),
            attitude: None,
            parent: None,
        }
    };
    dis::Model::ALL.into_iter().enumerate().map(vector).collect()
}

/// Just in the world, just outside, far away, and farther than any grid.
fn escapes() -> Vec<DrVector<Vec2>> {
    let edge = Vec2::new(500.0, -500.0);
    vec![
        linear(7, 999_000, edge, Vec2::new(40.0, -40.0)),
        linear(8, 999_000, Vec2::new(500.01, -500.01), Vec2::new(40.01, -100.0)),
        linear(9, 999_000, Vec2::new(83_886.06, -83_886.06), Vec2::ZERO),
        linear(10, 999_000, Vec2::new(6_378_137.25, -1e300), Vec2::new(83_886.07, -7.9e4)),
    ]
}

/// A datagram every 33 ms over a link of about 50 ms.
fn receipts(count: i64, jitter_us: i64) -> Vec<Receipt> {
    let receipt = |i: i64| {
        let jitter = jitter_us * (i * i % 7) / 7;
        Receipt {
            packet: PacketNumber(70_000 + i as u64),
            received_at: SharedInstant::from_micros(1_000_000 + 33_333 * i + jitter),
            delay: Span::from_micros(50_000 + jitter),
            stale: StaleSet::NONE,
        }
    };
    (0..count).map(receipt).collect()
}

/// A link that loses and reorders, to a receiver whose clock is behind.
fn reordered() -> Vec<Receipt> {
    let receipt = |(packet, received_us, delay_us, stale): (u64, i64, i64, &[usize])| Receipt {
        packet: PacketNumber(packet),
        received_at: SharedInstant::from_micros(received_us),
        delay: Span::from_micros(delay_us),
        stale: stale.iter().copied().collect(),
    };
    let all: [(u64, i64, i64, &[usize]); 5] = [
        (65_530, 8_900_000, -20_500, &[]),
        (65_531, 8_990_000, 36_167, &[0, 2, 15]),
        (65_535, 8_950_001, -70_499, &[]),
        (65_540, 8_960_000, -143_835, &[0]),
        (65_541, 8_960_000, -160_502, &[254]),
    ];
    all.into_iter().map(receipt).collect()
}

fn header(packet: u16, sent_us: i64, confirmed: Option<u16>) -> Header {
    Header {
        packet: WirePacketNumber(packet),
        sent_at: SharedInstant::from_micros(sent_us),
        nonce: Nonce(0xA5 ^ packet as u8),
        confirmed: confirmed.map(WirePacketNumber),
    }
}

fn updates<V: Planar>(
    name: &'static str,
    settings: PrecisionSettings,
    header: Header,
    vectors: &[DrVector<V>],
) -> Golden {
    let precision = Precision::new(settings).expect("sound settings");
    let mut bytes = Vec::new();
    encode_updates(&precision, &header, vectors, &mut bytes).expect("a sound message");
    let near = header.sent_at + Span::from_secs(120);
    Golden { name, settings, near, newest_sent: PacketNumber(0), bytes }
}

fn feedback(name: &'static str, header: Header, is_complete: bool, receipts: &[Receipt]) -> Golden {
    let mut bytes = Vec::new();
    let feedback = Feedback { header, is_complete, receipts: receipts.to_vec() };
    encode_feedback(&feedback, &mut bytes).expect("a sound message");
    let near = header.sent_at - Span::from_secs(120);
    let newest_sent = PacketNumber(70_100);
    Golden { name, settings: PrecisionSettings::default(), near, newest_sent, bytes }
}

impl Golden {
    /// What the reader is given, an empty line, and what it finds.
    fn text(&self) -> String {
        let s = &self.settings;
        let spaced = |v: Vec3| format!("{:?} {:?} {:?}", v.x, v.y, v.z);
        let precision = Precision::new(*s).expect("sound settings");
        let mut text = format!(
            "near {}\nnewest_sent {}\nposition_step {:?}\nworld_min {}\nworld_max {}\nvelocity_step {:?}\n\
             velocity_limit {:?}\nacceleration_step {:?}\nacceleration_limit {:?}\nangle_steps {}\n\
             turn_rate_step {:?}\nturn_rate_limit {:?}\ntime_step {}\nfingerprint {:08x}\n\n",
            self.near.as_micros(),
            self.newest_sent.0,
            s.position_step,
            spaced(s.world_min),
            spaced(s.world_max),
            s.velocity_step,
            s.velocity_limit,
            s.acceleration_step,
            s.acceleration_limit,
            s.angle_steps,
            s.turn_rate_step,
            s.turn_rate_limit,
            s.time_step.as_micros(),
            precision.fingerprint(),
        );
        match self.meaning(&precision) {
            Ok(meaning) => text.push_str(&meaning),
            Err(_) => text.push_str("refused\n"),
        }
        text
    }

    fn meaning(&self, precision: &Precision) -> Result<String, DecodeError> {
        match Kind::of(&self.bytes)? {
            Kind::Updates2d => {
                let updates = decode_updates::<Vec2>(precision, self.near, &self.bytes)?;
                Ok(updates_text("updates 2d", &updates.header, &updates.vectors))
            }
            Kind::Updates3d => {
                let updates = decode_updates::<Vec3>(precision, self.near, &self.bytes)?;
                Ok(updates_text("updates 3d", &updates.header, &updates.vectors))
            }
            Kind::Feedback => {
                let feedback = decode_feedback(self.near, self.newest_sent, &self.bytes)?;
                let mut text = header_text("feedback", &feedback.header);
                line(&mut text, format!("complete {}", if feedback.is_complete { "yes" } else { "no" }));
                for receipt in &feedback.receipts {
                    let stale: String = receipt.stale.iter().map(|place| format!(" {place}")).collect();
                    let (received, delay) = (receipt.received_at.as_micros(), receipt.delay.as_micros());
                    let packet = receipt.packet.0;
                    line(
                        &mut text,
                        format!("receipt packet {packet} received {received} delay {delay} stale{stale}"),
                    );
                }
                Ok(text)
            }
        }
    }
}

fn header_text(kind: &str, header: &Header) -> String {
    let confirmed = header.confirmed.map_or_else(|| "none".to_owned(), |number| number.0.to_string());
    let (packet, sent, nonce) = (header.packet.0, header.sent_at.as_micros(), header.nonce.0);
    format!("{kind}\npacket {packet}\nsent {sent}\nnonce {nonce}\nconfirmed {confirmed}\n")
}

fn updates_text<V: Planar>(kind: &str, header: &Header, vectors: &[DrVector<V>]) -> String {
    let mut text = header_text(kind, header);
    for vector in vectors {
        let (entity, life, generation) = (vector.entity.0, vector.life.number(), vector.generation.0);
        let at = vector.generated_at.as_micros();
        let parent = vector.parent.map_or_else(String::new, |parent| format!(" parent {}", parent.0));
        line(
            &mut text,
            format!("vector entity {entity} life {life} generation {generation} at {at}{parent}"),
        );
        line(&mut text, motion_text(&vector.motion));
        if let Some(attitude) = vector.attitude {
            let orientation = orientation_text::<V>(attitude.orientation);
            let spin = if V::DIMENSIONS == 2 {
                format!("{:?}", V::turn_rate(attitude.spin))
            } else {
                components(V::spin_to_3d(attitude.spin))
            };
            line(&mut text, format!("attitude orientation {orientation} spin {spin}"));
        }
    }
    text
}

fn motion_text<V: Planar>(motion: &Motion<V>) -> String {
    match motion {
        Motion::Static(it) => format!(
            "static position {} orientation {}",
            components(it.position),
            orientation_text::<V>(it.orientation)
        ),
        Motion::Linear(it) => {
            format!("linear position {} velocity {}", components(it.position), components(it.velocity))
        }
        Motion::Quadratic(it) => format!(
            "quadratic position {} velocity {} acceleration {}",
            components(it.position),
            components(it.velocity),
            components(it.acceleration)
        ),
        Motion::Circular(it) => {
            let Circular { heading, speed, turn_rate, climb_rate, climb_acceleration, .. } = it;
            let vertical = if V::DIMENSIONS == 2 {
                String::new()
            } else {
                format!(" climb_rate {climb_rate:?} climb_acceleration {climb_acceleration:?}")
            };
            let position = components(it.position);
            format!(
                "circular position {position} heading {heading:?} speed {speed:?} turn_rate {turn_rate:?}{vertical}"
            )
        }
        Motion::Hermite(it) => format!(
            "hermite start {} start_velocity {} end {} end_velocity {} secs {:?}",
            components(it.start),
            components(it.start_velocity),
            components(it.end),
            components(it.end_velocity),
            it.secs
        ),
        Motion::Dis(it) => format!(
            "dis {:?} position {} velocity {} acceleration {} orientation {} angular_velocity {}",
            it.model,
            components(it.position),
            components(it.velocity),
            components(it.acceleration),
            quaternion_text(it.orientation),
            components(it.angular_velocity)
        ),
    }
}

fn components<V: Planar>(vector: V) -> String {
    let all: Vec<String> = (0..V::DIMENSIONS).map(|axis| format!("{:?}", vector.component(axis))).collect();
    all.join(" ")
}

fn orientation_text<V: Planar>(orientation: V::Orientation) -> String {
    if V::DIMENSIONS == 2 {
        format!("{:?}", V::heading(orientation))
    } else {
        quaternion_text(V::to_quat(orientation))
    }
}

fn quaternion_text(q: Quat) -> String {
    format!("{:?} {:?} {:?} {:?}", q.w, q.v.x, q.v.y, q.v.z)
}

fn line(text: &mut String, line: String) {
    writeln!(text, "{line}").expect("writing to a string");
}

/// Sixteen bytes to the line.
fn hex(bytes: &[u8]) -> String {
    let lines = bytes.chunks(16).map(|chunk| {
        let pairs: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
        pairs.join(" ") + "\n"
    });
    lines.collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/vectors")
}

fn compare(path: &Path, text: &str) {
    if std::env::var_os("FAIRPATH_BLESS").is_some() {
        fs::create_dir_all(folder()).expect("the folder of golden messages");
        fs::write(path, text).expect("a golden message");
    }
    let kept = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(kept.replace('\r', ""), text, "{} is no longer what is written", path.display());
}
