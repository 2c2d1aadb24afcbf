//! Plays one arm of the experiment: real programs, for so many seconds.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path as FilePath, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fairpath_bzflag::End;

use crate::measure::{Path, ShownError, compare};
use crate::programs::{self, BzflagClient, Running};
use crate::tap::{Passed, Said, Tap};

/// What stands between the clients and `bzfs`.
#[derive(Clone, Debug, PartialEq)]
pub enum Arm {
    /// Nothing: BZFlag as it is.
    Unmodified,
    /// The proxy, with these further options.
    Proxy(Vec<String>),
}

impl Arm {
    /// Returns the arms of [`ARMS`](crate::report::ARMS), for so many clients.
    pub fn all(clients: usize) -> [Self; 4] {
        let proxy = |options: &[&str]| Self::Proxy(options.iter().map(|&it| it.into()).collect());
        // An update has a receiver less than there are clients: a third of them.
        let budget = ((clients - 1) as f64 / 3.0).to_string();
        [
            Self::Unmodified,
            proxy(&[]),
            proxy(&["--scheduler", "every-nth:3"]),
            proxy(&["--scheduler", "error-index:4", "--budget", &budget]),
        ]
    }
}

/// The settings of one arm.
#[derive(Clone, Debug)]
pub struct ArmConfig {
    /// What stands in between.
    pub arm: Arm,
    /// The one-way delay of each client, in milliseconds, the same up and down. The first client is
    /// near.
    pub delays_ms: Vec<u32>,
    /// How long is measured, in seconds.
    pub seconds: f64,
    /// The `fairpath` program, for proxy and middlemen.
    pub executable: PathBuf,
}

/// The result of one arm.
#[derive(Clone, Debug, Default)]
pub struct ArmResult {
    /// How far off the tank of one client was shown to another: owner, receiver, error.
    pub pairs: Vec<(usize, usize, ShownError)>,
    /// Updates that clients sent about their tanks while it was measured, times receivers.
    pub offered: usize,
    /// Updates that clients were sent.
    pub delivered: usize,
    /// Shots and deaths of each client.
    pub shots: Vec<usize>,
    /// Deaths of each client.
    pub deaths: Vec<usize>,
    /// Kills by each client, as the server announced them to the first client.
    pub kills: Vec<usize>,
    /// Processor time of the proxy, in seconds.
    pub proxy_cpu_secs: Option<f64>,
}

impl ArmResult {
    /// Returns the mean error of the pairs that `includes` names by owner and receiver.
    pub fn error(&self, mut includes: impl FnMut(usize, usize) -> bool) -> ShownError {
        let mut total = ShownError::default();
        for (owner, receiver, error) in &self.pairs {
            if includes(*owner, *receiver) {
                total.add(*error);
            }
        }
        total
    }
}

/// How long clients may take to enter the game: software rendering on a busy machine.
const ENTER_MAX: Duration = Duration::from_secs(90);
/// Driven before anything is measured: round trips are known, and the first fights over.
const WARM_UP: Duration = Duration::from_secs(12);
const TEAMS: [&str; 4] = ["red", "green", "blue", "purple"];

/// A small world with a few boxes: tanks meet, and every run has the same map.
const WORLD: &str = "world\n  size 200\nend\n\
    box\n  position 60 60 0\n  size 15 15 10\nend\nbox\n  position -60 60 0\n  size 15 15 10\nend\n\
    box\n  position -60 -60 0\n  size 15 15 10\nend\nbox\n  position 60 -60 0\n  size 15 15 10\nend\n";

/// Plays one arm.
pub fn play(config: &ArmConfig) -> io::Result<ArmResult> {
    let folder = tempfile::tempdir()?;
    let world = folder.path().join("world.bzw");
    std::fs::write(&world, WORLD)?;
    let (_server, server) = programs::bzfs(&["-world", path(&world)?, "-ms", "3", "-mp", "40"])?;
    let (proxy, entry) = match &config.arm {
        Arm::Unmodified => (None, server),
        Arm::Proxy(options) => start_proxy(config, server, options).map(|(it, at)| (Some(it), at))?,
    };
    let began = Instant::now();
    let mut table = Table::set(config, entry, began)?;
    table.enter(began)?;
    let from = (began.elapsed() + WARM_UP).as_secs_f64();
    let to = from + config.seconds;
    while began.elapsed().as_secs_f64() < to {
        std::thread::sleep(Duration::from_secs(4).min(Duration::from_secs_f64(config.seconds)));
        table.revive()?;
    }
    let mut result = table.evaluate(config, from, to);
    result.proxy_cpu_secs = proxy.as_ref().and_then(|proxy| cpu_secs(proxy.id()));
    Ok(result)
}

fn start_proxy(
    config: &ArmConfig,
    server: SocketAddr,
    options: &[String],
) -> io::Result<(Running, SocketAddr)> {
    let listen = programs::free_address()?;
    let mut command = Command::new(&config.executable);
    command.args(["bzflag", "--listen", &listen.to_string(), "--to", &server.to_string()]).args(options);
    let running = Running::start(&mut command)?;
    programs::await_listening(listen, Duration::from_secs(20))?;
    Ok((running, listen))
}

fn path(file: &FilePath) -> io::Result<&str> {
    file.to_str().ok_or_else(|| io::Error::other("the temporary folder has no plain name"))
}

/// Processor time of a process, user and system, on Linux.
fn cpu_secs(process: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let behind_name = stat.rsplit_once(')')?.1;
    let fields: Vec<&str> = behind_name.split_whitespace().collect();
    // utime and stime, in ticks of a hundredth of a second.
    Some((fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?) / 100.0)
}

/// The clients of one arm, each with its tap and its middleman.
struct Table {
    clients: Vec<BzflagClient>,
    taps: Vec<Tap>,
    _middlemen: Vec<Running>,
}

impl Table {
    fn set(config: &ArmConfig, entry: SocketAddr, began: Instant) -> io::Result<Self> {
        let (mut clients, mut taps, mut middlemen) = (Vec::new(), Vec::new(), Vec::new());
        for (number, delay) in config.delays_ms.iter().enumerate() {
            let mut to = entry;
            if *delay > 0 {
                to = programs::free_address()?;
                let mut command = Command::new(&config.executable);
                command
                    .args(["middleman", "--tcp", "--listen", &to.to_string(), "--to", &entry.to_string()])
                    .args(["--delay", &delay.to_string()]);
                middlemen.push(Running::start(&mut command)?);
                programs::await_listening(to, Duration::from_secs(20))?;
            }
            let tap = Tap::start(to, began)?;
            let (name, team) = (format!("{delay}ms{number}"), TEAMS[number % TEAMS.len()]);
            clients.push(BzflagClient::start(tap.address(), &name, team)?);
            taps.push(tap);
        }
        Ok(Self { clients, taps, _middlemen: middlemen })
    }

    /// Waits until every client is in the game, and starts the autopilots.
    fn enter(&mut self, began: Instant) -> io::Result<()> {
        let mut is_playing = vec![false; self.clients.len()];
        while is_playing.contains(&false) {
            self.check()?;
            if began.elapsed() > ENTER_MAX {
                return Err(io::Error::other("a client did not enter the game; is the machine too busy?"));
            }
            std::thread::sleep(Duration::from_secs(2));
            for (number, client) in self.clients.iter().enumerate() {
                let passed = self.taps[number].passed();
                let has = |wanted: fn(&Passed) -> bool| passed.iter().any(wanted);
                if !is_playing[number] && has(|it| matches!(it.said, Said::Chat)) {
                    if has(|it| it.from == End::Client && matches!(it.said, Said::Update(_))) {
                        is_playing[number] = true;
                    } else {
                        client.play()?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Fails if a client has ended by itself.
    fn check(&mut self) -> io::Result<()> {
        for (number, client) in self.clients.iter_mut().enumerate() {
            if let Some(words) = client.last_words() {
                return Err(io::Error::other(format!("client {number} has ended: {words}")));
            }
        }
        Ok(())
    }

    fn revive(&mut self) -> io::Result<()> {
        self.check()?;
        self.clients.iter().try_for_each(BzflagClient::revive)
    }

    fn evaluate(&self, config: &ArmConfig, from: f64, to: f64) -> ArmResult {
        let passed: Vec<Vec<Passed>> = self.taps.iter().map(Tap::passed).collect();
        let players: Vec<u8> = passed.iter().map(|log| player_of(log)).collect();
        let truth: Vec<Path> =
            players.iter().zip(&passed).map(|(player, log)| Path::told(*player, log)).collect();
        let mut result = ArmResult::default();
        for owner in 0..players.len() {
            for receiver in (0..players.len()).filter(|receiver| *receiver != owner) {
                let shown = Path::shown(players[owner], &passed[receiver]);
                let delay_ms = config.delays_ms[owner] + config.delays_ms[receiver];
                let error = compare(&truth[owner], &shown, f64::from(delay_ms) / 1e3, from, to);
                result.offered += truth[owner].count_between(from, to);
                result.delivered += shown.count_between(from, to);
                result.pairs.push((owner, receiver, error));
            }
        }
        let own = |log: &[Passed], wanted: &Said| {
            log.iter().filter(|it| it.from == End::Client && it.at >= from && it.said == *wanted).count()
        };
        result.shots = passed.iter().map(|log| own(log, &Said::Shot)).collect();
        result.deaths = passed.iter().map(|log| own(log, &Said::Killed(None))).collect();
        let mut kills: BTreeMap<u8, usize> = BTreeMap::new();
        for it in passed.iter().flatten().filter(|it| it.from == End::Client && it.at >= from) {
            if let Said::KilledBy(killer) = it.said {
                *kills.entry(killer).or_default() += 1;
            }
        }
        result.kills = players.iter().map(|player| kills.get(player).copied().unwrap_or(0)).collect();
        result
    }
}

fn player_of(passed: &[Passed]) -> u8 {
    let mut greetings = passed.iter().filter_map(|it| match it.said {
        Said::Greeting(player) => Some(player),
        _ => None,
    });
    greetings.next_back().unwrap_or(u8::MAX)
}
