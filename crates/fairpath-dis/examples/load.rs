//! Measures a gateway: bytes beside those of DIS, and processor time at 10 000 entities.
//!
//! `cargo xtask bench dis`, or `cargo run --release -p fairpath-dis --example load`

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fairpath::motion::Dis;
use fairpath::motion::dis::Model;
use fairpath::rotation::Quat;
use fairpath::time::{SharedInstant, Span};
use fairpath::{LocalInstant, Vec3};
use fairpath_dis::net::{DisSocket, SocketConfig, run, unix_us};
use fairpath_dis::pdu::{Description, EntityState, Look};
use fairpath_dis::stamp::{Instants, Stamp};
use fairpath_dis::{DisId, EntityType, Exchange, Fineness, Gateway, GatewayConfig, Passing};
use fairpath_net::sealed::{OVERHEAD_TO_CLIENT, OVERHEAD_TO_SERVER};
use fairpath_net::{Fingerprint, Identity, NetClient, NetServer, Trust};
use fairpath_sim::LinkConfig;

#[path = "../tests/exercise/fleet.rs"]
#[expect(dead_code, reason = "tests use the rest of it")]
mod fleet;
#[path = "../tests/exercise/world.rs"]
#[expect(dead_code, reason = "tests use the rest of it")]
mod world;

use fleet::Simulated;
use world::World;

/// Bytes of an IPv4 and a UDP header.
const HEADERS: u64 = 28;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["near", port] => near(port.parse()?),
        ["far", address, pin, port] => far(address, pin.parse()?, port.parse()?),
        ["bytes", entities] => {
            bytes(&[entities.parse()?]);
            Ok(())
        }
        ["load", entities] => load(entities.parse()?, 20),
        [] => {
            bytes(&[200, 2_000]);
            load(10_000, 20)
        }
        _ => Err("pass nothing, or `bytes ENTITIES`, or `load ENTITIES`".into()),
    }
}

// ── bytes, in virtual time ──

fn bytes(sizes: &[u16]) {
    println!("bytes/s of one link with headers, both directions, beside DIS with 1 m, 3° and 5 s");
    println!("{:<42} {:>9} {:>10} {:>9} {:>7}", "", "vectors/s", "PDUs/s", "bytes/s", "DIS = 1");
    for &entities in sizes {
        for (name, fineness, passing) in [
            ("one to one", Fineness::Exact, Passing::OneToOne),
            ("triggered anew", Fineness::Compact, Passing::Triggered),
        ] {
            let row = measure(entities, fineness, passing);
            println!("{:<42} {row}", format!("{entities} entities, {name}"));
        }
    }
}

fn measure(entities: u16, fineness: Fineness, passing: Passing) -> String {
    let link = LinkConfig::default().delay(Span::from_millis(20));
    let config = GatewayConfig { passing, ..GatewayConfig::default() };
    let mut world = World::new(link, fineness, vec![config; 2]);
    let mut fleet: Vec<Simulated> = (0..entities).map(|number| Simulated::new(number + 1, 40)).collect();
    let mut pdus = 0u64;
    let mut fly = |world: &mut World, seconds: i64| {
        let mut sent = 0u64;
        world.run_for(Span::from_secs(seconds), |world| {
            let now: SharedInstant = world.now();
            for entity in &mut fleet {
                if let Some((bytes, _)) = entity.step(now, world.noon_us) {
                    sent += 1;
                    world.hear(0, &bytes);
                }
            }
        });
        pdus = sent;
    };
    // The births of all at once are no part of it.
    fly(&mut world, 10);
    let before = [0, 1].map(|index| world.session.client(index).statistics());
    let vectors = world.gateways[0].counters().vectors;
    fly(&mut world, 30);
    let after = [0, 1].map(|index| world.session.client(index).statistics());
    let bytes_of = |index: usize| {
        let (b, a) = (&before[index], &after[index]);
        (a.bytes_sent - b.bytes_sent)
            + (a.bytes_received - b.bytes_received)
            + (a.datagrams_sent - b.datagrams_sent) * (HEADERS + OVERHEAD_TO_SERVER as u64)
            + (a.datagrams_received - b.datagrams_received) * (HEADERS + OVERHEAD_TO_CLIENT as u64)
    };
    let dis = pdus * (144 + HEADERS);
    let vectors = world.gateways[0].counters().vectors - vectors;
    let [near, far] = [bytes_of(0), bytes_of(1)].map(|bytes| bytes as f64 / 30.0);
    format!(
        "{:>9.1} {:>10.1} {:>9.0} {:>7.3}   (far link {:.3})",
        vectors as f64 / 30.0,
        pdus as f64 / 30.0,
        near,
        near * 30.0 / dis as f64,
        far * 30.0 / dis as f64,
    )
}

// ── processor time, over real sockets ──

/// Runs the serving gateway on a port of the loopback; prints address and pin.
fn near(port: u16) -> Result<(), Box<dyn Error>> {
    let exchange = exchange();
    let server = NetServer::builder(&exchange.protocol())
        .identity(Identity::local(&[])?)
        .session(|config| exchange.set_up_server(config))
        .listen("127.0.0.1:0")?;
    println!("{} {}", server.address(), server.fingerprint());
    gateway(&exchange, &server.address().to_string(), server.fingerprint(), Some(&server), port)
}

fn far(address: &str, pin: Fingerprint, port: u16) -> Result<(), Box<dyn Error>> {
    gateway(&exchange(), address, pin, None, port)
}

fn exchange() -> Exchange {
    Exchange { origin: "48.1,11.6,520".parse().expect("a place"), fineness: Fineness::Exact }
}

/// Runs until its standard input ends, and prints what it holds once a second.
fn gateway(
    exchange: &Exchange,
    address: &str,
    pin: Fingerprint,
    server: Option<&NetServer<Vec3>>,
    port: u16,
) -> Result<(), Box<dyn Error>> {
    let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port + 100);
    let socket = DisSocket::open(&SocketConfig { port, to, interface: Ipv4Addr::LOCALHOST, ttl: 1 })?;
    let client = NetClient::builder(&exchange.protocol())
        .session(|config| exchange.set_up_client(config))
        .join(address, Trust::Pinned(vec![pin]))?;
    let mut gateway = Gateway::new(GatewayConfig::default(), exchange);
    let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    std::thread::spawn({
        let over = std::sync::Arc::clone(&over);
        move || {
            let _ = std::io::stdin().read_line(&mut String::new());
            over.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    let is_over = || over.load(std::sync::atomic::Ordering::Relaxed);
    run(&mut gateway, &client, server, &socket, is_over, |gateway| {
        let ((here, there), it) = (gateway.entities(), gateway.counters());
        println!("{here} here, {there} there, {} in, {} out, {} vectors", it.received, it.sent, it.vectors);
    });
    Ok(())
}

fn load(entities: u16, seconds: u64) -> Result<(), Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let child = |words: &[&str]| {
        Command::new(&program).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
    };
    let mut near = child(&["near", "33000"])?;
    let mut lines = std::io::BufReader::new(near.stdout.take().ok_or("no output")?);
    let mut first = String::new();
    std::io::BufRead::read_line(&mut lines, &mut first)?;
    let (address, pin) = first.trim().split_once(' ').ok_or("the gateway printed no address")?;
    let mut far = child(&["far", address, pin, "33001"])?;
    let far_lines = std::io::BufReader::new(far.stdout.take().ok_or("no output")?);
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let send = |from: u64, ticks: u64| -> Result<(), Box<dyn Error>> {
        let start = Instant::now();
        for tick in from..from + ticks {
            // A fiftieth of the entities in each frame: 1 PDU/s each.
            for number in (1..=entities).filter(|number| u64::from(number % 50) == tick % 50) {
                socket.send_to(&pdu(number, tick), "127.0.0.1:33000")?;
            }
            let next = start + Duration::from_millis(20 * (tick - from + 1));
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        Ok(())
    };
    // All are created first: the session takes 200 a second after the first 8 000.
    send(0, 50 * 25)?;
    let before = [processor_secs(&near)?, processor_secs(&far)?];
    send(50 * 25, 50 * seconds)?;
    let after = [processor_secs(&near)?, processor_secs(&far)?];
    for (name, index) in [("near gateway, with the session's server", 0), ("far gateway", 1)] {
        let secs = after[index] - before[index];
        println!(
            "{name}: {:.1} % of a core, {:.1} µs per PDU, at {entities} PDUs/s",
            100.0 * secs / seconds as f64,
            1e6 * secs / (f64::from(entities) * seconds as f64),
        );
    }
    drop((near.stdin.take(), far.stdin.take()));
    for (name, lines) in [("near", lines), ("far", far_lines)] {
        let last = std::io::BufRead::lines(lines).map_while(Result::ok).last().unwrap_or_default();
        println!("{name}: {last}");
    }
    near.wait()?;
    far.wait()?;
    Ok(())
}

/// An aircraft on a circle, in model 4.
fn pdu(number: u16, tick: u64) -> Vec<u8> {
    let angle = f64::from(number) + tick as f64 * 0.02 * 0.05;
    let (sin, cos) = angle.sin_cos();
    let radius = 1_000.0 + f64::from(number);
    let motion = Dis {
        model: Model::Rvw,
        position: Vec3::new(radius * cos, radius * sin, 3_000.0),
        velocity: Vec3::new(-sin, cos, 0.0) * (radius * 0.05),
        acceleration: Vec3::new(-cos, -sin, 0.0) * (radius * 0.0025),
        orientation: Quat::about_z(angle + std::f64::consts::FRAC_PI_2),
        angular_velocity: Vec3::new(0.0, 0.0, 0.05),
    };
    let description = Description {
        version: 7,
        force: 1,
        kind: EntityType([1, 2, 0, 225, 1, 0, 0, 0]),
        ..Description::default()
    };
    let look = Look { description: description.with_marking("LOAD"), ..Look::default() };
    let now = unix_us();
    let stamp = Stamp::of(Instants { local: LocalInstant::from_micros(now), unix_us: now }, true).0;
    let motion = exchange().frame().motion_to_geocentric(&motion);
    EntityState { id: DisId::new(17, 1, number), motion, look }.write(1, stamp)
}

/// Returns the processor time of a child so far, kernel time included.
fn processor_secs(child: &Child) -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
    let after_name = stat.rsplit(')').next().ok_or("no stat")?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
    // Linux counts in hundredths of a second, whatever the kernel's own tick.
    Ok(ticks / 100.0)
}
