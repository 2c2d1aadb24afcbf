//! Goal: programs that nobody here wrote understand our PDUs, and we theirs. Method: PyPI's opendis
//! and npm's open-dis make and read Entity State PDUs; every field is compared.
//!
//! `cargo xtask test` installs opendis below the target folder, `cargo xtask test --full` open-dis
//! too, and both say where with a variable. Neither has dead reckoning of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use fairpath::Vec3;
use fairpath::motion::Dis;
use fairpath::motion::dis::Model;
use fairpath::random::Random;
use fairpath::rotation::{Euler, Quat};
use fairpath_dis::pdu::{Description, EntityState, Look, PARAMETER_BYTES, Pdu};
use fairpath_dis::stamp::Stamp;
use fairpath_dis::{DisId, EntityType};
use serde_json::{Value, json};

/// A program in another language that answers each line with a line.
struct Peer {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Peer {
    fn start(program: &str, script: &str, folder: &str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(script);
        let mut child = Command::new(program)
            .arg(script)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the interpreter was there when the library was installed");
        let (to, from) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        Self { child, to, from: BufReader::new(from) }
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.to, "{line}").expect("the peer listens");
        let mut answer = String::new();
        self.from.read_line(&mut answer).expect("the peer answers");
        assert!(!answer.is_empty(), "the peer ended; its error is above");
        answer.trim().to_owned()
    }

    fn make(&mut self, fields: &Value) -> Vec<u8> {
        from_hex(&self.ask(&format!("make {fields}")))
    }

    fn read(&mut self, bytes: &[u8]) -> Value {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        serde_json::from_str(&self.ask(&format!("read {hex}"))).expect("JSON")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the folder of an installed peer. Where it is missing the test is skipped, which on CI is
/// a failure.
fn installed(variable: &str, how: &str) -> Option<String> {
    let folder = std::env::var(variable).ok().filter(|folder| Path::new(folder).is_dir());
    if folder.is_none() {
        let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!is_ci, "{variable} names no folder: {how}");
        eprintln!("skipped: {variable} names no folder; {how}");
    }
    folder
}

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hex")).collect()
}

/// Random fields. Single precision where the standard has it, so that equality can be asked for.
fn fields(random: &mut Random, parameters: usize) -> Value {
    let single = |random: &mut Random, size: f64| f64::from(random.between(-size, size) as f32);
    let three = |random: &mut Random, size: f64| [(); 3].map(|()| single(random, size));
    json!({
        "exercise": 1 + random.below(255),
        "stamp": random.below(1 << 32),
        "length": 144 + 16 * parameters,
        "id": [random.below(65_536), random.below(65_536), random.below(65_536)],
        "force": random.below(4),
        "kind": [1, 2, random.below(300), random.below(256), random.below(256), random.below(256), random.below(256)],
        "velocity": three(random, 300.0),
        "position": [random.between(-6.4e6, 6.4e6), random.between(-6.4e6, 6.4e6), random.between(-6.4e6, 6.4e6)],
        "angles": [single(random, 3.1), single(random, 1.5), single(random, 3.1)],
        // Neither frozen nor deactivated.
        "appearance": random.below(1 << 32) & !(1 << 21 | 1 << 23),
        "capabilities": random.below(1 << 32),
        "model": 1 + random.below(9),
        "acceleration": three(random, 20.0),
        "angular_velocity": three(random, 1.0),
        "marking": "PEER 42",
        "parameters": parameters,
    })
}

fn numbers<const N: usize>(value: &Value) -> [f64; N] {
    std::array::from_fn(|at| value[at].as_f64().expect("a number"))
}

fn vector(value: &Value) -> Vec3 {
    let [x, y, z] = numbers(value);
    Vec3::new(x, y, z)
}

/// What our reader makes of a PDU with these fields.
fn expected(fields: &Value, parameters: Vec<u8>) -> EntityState {
    let whole = |name: &str| fields[name].as_u64().expect("a number");
    let [site, application, entity] = numbers(&fields["id"]).map(|number| number as u16);
    let [kind, domain, country, rest @ ..] = numbers::<7>(&fields["kind"]).map(|number| number as u16);
    let [high, low] = country.to_be_bytes();
    let [a, b, c, d] = rest.map(|number| number as u8);
    let [psi, theta, phi] = numbers(&fields["angles"]);
    let description = Description {
        version: 7,
        force: whole("force") as u8,
        kind: EntityType([kind as u8, domain as u8, high, low, a, b, c, d]),
        capabilities: whole("capabilities") as u32,
        ..Description::default()
    };
    EntityState {
        id: DisId::new(site, application, entity),
        motion: Dis {
            model: Model::from_number(whole("model") as u8).expect("1 to 9"),
            position: vector(&fields["position"]),
            velocity: vector(&fields["velocity"]),
            acceleration: vector(&fields["acceleration"]),
            orientation: Quat::from_euler(Euler { psi, theta, phi }),
            angular_velocity: vector(&fields["angular_velocity"]),
        },
        look: Look {
            description: description.with_marking(fields["marking"].as_str().expect("text")),
            appearance: whole("appearance") as u32,
            other: [0; 15],
            parameters,
        },
    }
}

fn is_understood_both_ways(peer: &mut Peer, version: u8) {
    let mut random = Random::from_seed(1278);
    for count in 0..40 {
        let fields = fields(&mut random, count % 3);
        // Theirs, read by us.
        let bytes = peer.make(&fields);
        let pdu = Pdu::split(&bytes).next().expect("a PDU").expect("a good header");
        assert_eq!((pdu.bytes().len(), pdu.version()), (bytes.len(), version), "one PDU, whole");
        assert_eq!(u64::from(pdu.stamp().0), fields["stamp"].as_u64().expect("a number"));
        let read = EntityState::read(pdu, Default::default()).expect("a good body");
        let mut wanted = expected(&fields, bytes[144..].to_vec());
        wanted.look.description.version = version;
        assert_eq!(bytes[144..].len(), count % 3 * PARAMETER_BYTES);
        assert_eq!(read, wanted);

        // Ours, read by them.
        let written = read.write(fields["exercise"].as_u64().expect("a number") as u8, Stamp(pdu.stamp().0));
        let mut theirs = peer.read(&written);
        // The angles went through a quaternion and back: within a rounding of single precision.
        let [ours, given] = [&theirs["angles"], &fields["angles"]].map(numbers::<3>);
        for (one, other) in ours.into_iter().zip(given) {
            assert!((one - other).abs() < 1e-6, "{one} {other}");
        }
        theirs["angles"] = fields["angles"].clone();
        assert_eq!(theirs, fields);
    }
}

#[test]
fn opendis_understands_us_and_we_opendis() {
    let Some(folder) = installed("FAIRPATH_OPENDIS", "`cargo xtask test` installs it with pip") else {
        return;
    };
    is_understood_both_ways(&mut Peer::start("python3", "opendis.py", &folder), 7);
}

#[test]
fn open_dis_understands_us_and_we_open_dis() {
    // Only the full run installs it, so its absence is no failure of the usual one.
    let Ok(folder) = std::env::var("FAIRPATH_OPEN_DIS") else {
        eprintln!("skipped: `cargo xtask test --full` installs open-dis with npm");
        return;
    };
    is_understood_both_ways(&mut Peer::start("node", "open_dis.cjs", &folder), 6);
}
