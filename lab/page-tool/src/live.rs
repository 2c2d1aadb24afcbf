//! The page on the real network: Chromium drives a tank by WebTransport, through a middleman that
//! makes every packet late, and a native client watches it. Then the server is killed and comes
//! back. At last the games that the server plays.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairpath::motion::MotionKind;
use fairpath::schedule::Broadcast;
use fairpath::session::{Budget, Class, ClassId, Client, ClientConfig, Server, ServerConfig};
use fairpath::time::Span;
use fairpath::trigger::Trigger;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::online::{FairnessReport, GameRooms, SHOT, TANK};
use fairpath_net::middleman::{Middleman, MiddlemanConfig};
use fairpath_net::{
    Fingerprint, Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, PageFile, PageServer,
    Trust, new_epoch, unguessable_random,
};
use fairpath_sim::LinkConfig;
use serde_json::{Value, json};

use crate::build::files;
use crate::chromium::{Chromium, Tab, Viewport};
use crate::{Done, Failed};

/// How wrong others may be about a tank, in units.
const THRESHOLD: f64 = 0.3;
/// Two clocks are compared as well: at a tank's 25 units a second, 4 ms of difference are a tenth
/// of a unit.
const CLOCKS_APART: f64 = 0.1;
/// One way through the middleman: the round trip is 200 ms.
const DELAY: Span = Span::from_millis(100);
/// How long the tank is watched at a time, and how far it must have come in it to prove anything.
const WATCH: Duration = Duration::from_secs(2);
const WAY_MIN: f64 = 20.0;
/// How long all of it may take. Not a measure of anything: machines stall.
const PATIENCE: Duration = Duration::from_secs(180);
/// The witness looks so often.
const LOOK_EVERY: Duration = Duration::from_millis(2);

pub(crate) fn run(browser: &mut Chromium, folder: &Path) -> Done {
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut house = House::open(folder, anywhere, anywhere)?;
    let late =
        MiddlemanConfig::between(anywhere, house.served_at).both_ways(LinkConfig::default().delay(DELAY));
    let middleman = Middleman::start(late)?;
    let address =
        format!("http://{}/?scene=play&network=real&connect={}", house.shown_at, middleman.address());
    let tab = browser.open(&address, Viewport::DESKTOP)?;
    browser.wait_for(&tab, IS_CONNECTED)?;
    watch(browser, &tab, &house)?;
    // Nobody says goodbye: the process is killed, and the link stays where it is.
    house.kill()?;
    browser.wait_for(&tab, &says("The server is gone"))?;
    let house = House::open(folder, house.served_at, house.shown_at)?;
    browser.wait_for(&tab, &says("Connected again"))?;
    browser.wait_for(&tab, &says("By the server's ledger"))?;
    eprintln!("    the server was killed and started again, and the page said so and came back");
    // A browser writes down every connection that failed: here they were meant to.
    browser.complaints();
    browser.close(tab)?;
    play_hosted_games(browser, &house)?;
    drop(house);
    middleman.stop();
    Ok(())
}

const IS_CONNECTED: &str = "!!window.fairpath?.show?.view?.network?.session?.is_connected()";

fn says(words: &str) -> String {
    format!("document.querySelector('.verdict').textContent.includes({})", json!(words))
}

/// The jet car, the boat and the race car: the server plays them, and what the hands do moves them
/// there.
fn play_hosted_games(browser: &mut Chromium, house: &House) -> Done {
    const PLACE: &str = "[...fairpath.show.view.network.session.frame(performance.now()).slice(5, 7)]";
    for (game, name) in [(1, "jet car"), (2, "boat"), (3, "race car")] {
        let address =
            format!("http://{}/?scene=play&network=real&game={game}&compensation=1", house.shown_at);
        let tab = browser.open(&address, Viewport::PHONE)?;
        browser.wait_for(&tab, IS_CONNECTED)?;
        browser.wait_for(&tab, &says("Your screen is off by"))?;
        browser.evaluate(&tab, &format!("window.before = {PLACE}"))?;
        browser.key(&tab, "KeyW", true)?;
        let has_moved = format!("{PLACE}.some((place, axis) => Math.abs(place - before[axis]) > 3)");
        browser.wait_for(&tab, &has_moved)?;
        browser.key(&tab, "KeyW", false)?;
        let complaints = browser.complaints();
        if !complaints.is_empty() {
            return Err(Failed(format!("the {name} at the server complains: {}", complaints.join("\n"))));
        }
        browser.close(tab)?;
        eprintln!("    the {name} was driven at the server");
    }
    Ok(())
}

/// A server and the page that leads to it, in a process of their own that can be killed.
struct House {
    child: Child,
    served_at: SocketAddr,
    shown_at: SocketAddr,
    fingerprint: Fingerprint,
}

impl House {
    fn open(folder: &Path, served_at: SocketAddr, shown_at: SocketAddr) -> Done<Self> {
        let (served_at, shown_at) = (served_at.to_string(), shown_at.to_string());
        let mut child = Command::new(std::env::current_exe()?)
            .arg("house")
            .arg(folder)
            .args([served_at, shown_at])
            // It ends when this is closed: neither an error nor Ctrl-C leaves one behind.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line)?;
        let about: Value = serde_json::from_str(&line)?;
        let word = |name: &str| about[name].as_str().unwrap_or_default();
        Ok(Self {
            served_at: word("address").parse()?,
            shown_at: word("page").parse()?,
            fingerprint: word("fingerprint").parse()?,
            child,
        })
    }

    /// At once, as `kill -9` does.
    fn kill(&mut self) -> Done {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// The process: tanks and all games at one address, the page at another, until standard input is
/// closed.
pub(crate) fn keep_house(folder: &Path, served_at: &str, shown_at: &str) -> Done {
    let config = ServerConfig { budget: BUDGET, ..ServerConfig::new(classes(), new_epoch()) };
    let session = Server::<Vec2>::new(config, Box::new(Broadcast), unguessable_random());
    let mut config = NetServerConfig::new(served_at.parse()?, Identity::local(&[])?);
    config.budget = BUDGET;
    let server = NetServer::bind(config, session)?;
    let mut about = json!({
        "address": server.address().to_string(),
        "fingerprint": server.fingerprint().to_string(),
        "threshold": THRESHOLD,
        "model": "circular",
        "seed": SEED,
    });
    let mut files = files(folder)?;
    files.retain(|file| file.path != "server.json");
    files.push(PageFile { path: "server.json".into(), bytes: about.to_string().into_bytes().into() });
    let page = PageServer::bind(shown_at.parse()?, files)?;
    about["page"] = json!(page.address().to_string());
    println!("{about}");
    std::io::stdout().flush()?;
    let is_over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_over);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        told.store(true, Ordering::Relaxed);
    });
    let mut hall = GameRooms::new(SEED);
    let mut told_at = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        server.frame(|session, now| {
            while let Some(event) = session.poll_event() {
                hall.handle_event(session, &event, now);
            }
            hall.play(session, now);
            if told_at.elapsed() > Duration::from_millis(500) {
                told_at = Instant::now();
                FairnessReport::send_to_all(session);
            }
        });
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Fields, roads and winds follow from it.
const SEED: u64 = 1;
/// What each side may send: a race of four cars is 700 bytes, sixty times a second, and room for
/// the rest.
const BUDGET: Budget = Budget { bytes_per_sec: 96_000, burst_bytes: 8_000 };

fn classes() -> [(ClassId, Class); 2] {
    let class = || Class::new(Trigger::within(THRESHOLD));
    [(TANK, class().with_model(MotionKind::Circular)), (SHOT, class())]
}

/// Drives until the witness has seen a stretch of real driving within the threshold.
fn watch(browser: &mut Chromium, tab: &Tab, house: &House) -> Done {
    let trust = Trust::Pinned(vec![house.fingerprint]);
    let session = Client::<Vec2>::new(ClientConfig::new(classes()), unguessable_random());
    let witness = NetClient::connect(house.served_at, NetClientConfig::new(trust), session)?;
    browser.key(tab, "KeyW", true)?;
    see_a_shot(browser, tab, &witness)?;
    let begun = Instant::now();
    // Boxes stand in the way, and whoever drives into one stops at once, which nobody can foresee: a
    // tank that turns the same way for a while comes free of any corner, and drives circles then.
    for hand in ["KeyA", "KeyA", "KeyA", "KeyA", "KeyD", "KeyD", "KeyD"].into_iter().cycle() {
        browser.key(tab, hand, true)?;
        let seen = look(&witness);
        let truths = browser.evaluate(tab, "fairpath.show.view.network.truths")?;
        browser.key(tab, hand, false)?;
        let errors = compare(&truths, &seen);
        let worst = errors.iter().copied().fold(0.0, f64::max);
        if errors.len() >= 30 && way(&seen) >= WAY_MIN && worst <= THRESHOLD + CLOCKS_APART {
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            eprintln!(
                "    a native client saw the browser's tank {mean:.3} units off on average, {worst:.3} at worst"
            );
            break;
        }
        if begun.elapsed() > PATIENCE {
            let count = errors.len();
            return Err(Failed(format!(
                "the tank is seen {worst:.2} units off at worst ({count} comparisons)"
            )));
        }
    }
    browser.key(tab, "KeyW", false)
}

/// The browser fires, and the witness sees what flies.
fn see_a_shot(browser: &mut Chromium, tab: &Tab, witness: &NetClient<Vec2>) -> Done {
    browser.key(tab, "Space", true)?;
    let begun = Instant::now();
    let flies = || {
        witness.frame(|session, now| {
            let objects: Vec<_> = session.objects().collect();
            objects
                .into_iter()
                .any(|one| session.class(one) == Some(SHOT) && session.place(one, now).is_some())
        })
    };
    while !flies() {
        if begun.elapsed() > PATIENCE {
            return Err(Failed("the browser fires, and nobody sees a shot".into()));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    browser.key(tab, "Space", false)
}

/// Where the witness places the tank: microseconds on the shared clock, and the place.
fn look(witness: &NetClient<Vec2>) -> VecDeque<(i64, Vec2)> {
    let mut seen = VecDeque::new();
    let begun = Instant::now();
    while begun.elapsed() < WATCH {
        let placed = witness.frame(|session, now| {
            let at = session.clock_now(now)?.shared;
            let object = session.objects().find(|one| session.class(*one) == Some(TANK))?;
            Some((at.as_micros(), session.place(object, now)?.position))
        });
        seen.extend(placed);
        std::thread::sleep(LOOK_EVERY);
    }
    seen
}

/// How far the tank came before the witness's eyes.
fn way(seen: &VecDeque<(i64, Vec2)>) -> f64 {
    seen.iter().zip(seen.iter().skip(1)).map(|(one, next)| one.1.distance(next.1)).sum()
}

/// Each of the page's truths against what the witness had then, between two looks that were close
/// together.
fn compare(truths: &Value, seen: &VecDeque<(i64, Vec2)>) -> Vec<f64> {
    const LOOKS_APART_US_MAX: i64 = 20_000;
    let truths = truths.as_array().map(Vec::as_slice).unwrap_or_default();
    let numbers = |truth: &Value| Some([truth[0].as_f64()?, truth[1].as_f64()?, truth[2].as_f64()?]);
    let error = |[at, x, y]: [f64; 3]| {
        let after = seen.partition_point(|(look, _)| (*look as f64) < at);
        let ((before_at, before), (after_at, after)) = (*seen.get(after.checked_sub(1)?)?, *seen.get(after)?);
        let part = (at - before_at as f64) / (after_at - before_at).max(1) as f64;
        let placed = before + (after - before) * part;
        (after_at - before_at <= LOOKS_APART_US_MAX).then(|| placed.distance(Vec2::new(x, y)))
    };
    truths.iter().filter_map(numbers).filter_map(error).collect()
}
