//! Tests the page on the real network: Chromium drives a tank over WebTransport, through a
//! middleman that delays every packet, and a native client observes it. Then the server is killed
//! and restarted. Last come the games that run at the server.

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
    Fingerprint, Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, Trust, new_epoch,
    unguessable_random,
};
use fairpath_page_server::{PageFile, PageServer};
use fairpath_sim::LinkConfig;
use serde_json::{Value, json};

use crate::build::files;
use crate::chromium::{Chromium, Tab, Viewport};
use crate::{Done, Failed};

/// The largest error of other clients about a tank, in units.
const THRESHOLD: f64 = 0.3;
/// Allowance for two clocks: at 25 units per second, 4 ms of difference are a tenth of a unit.
const CLOCKS_APART: f64 = 0.1;
/// The one-way delay of the middleman. The round trip is 200 ms.
const DELAY: Span = Span::from_millis(100);
/// Duration of one observation, and how far the tank must drive in it to prove anything.
const WATCH: Duration = Duration::from_secs(2);
const WAY_MIN: f64 = 20.0;
/// The time limit. It is generous, because machines stall.
const PATIENCE: Duration = Duration::from_secs(180);
/// The interval of the observer's samples.
const LOOK_EVERY: Duration = Duration::from_millis(2);

pub(crate) fn run(browser: &mut Chromium, folder: &Path) -> Done {
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut server = ServerProcess::open(folder, anywhere, anywhere)?;
    let late =
        MiddlemanConfig::between(anywhere, server.served_at).both_ways(LinkConfig::default().delay(DELAY));
    let middleman = Middleman::start(late)?;
    let address =
        format!("http://{}/?scene=play&network=real&connect={}", server.shown_at, middleman.address());
    let tab = browser.open(&address, Viewport::DESKTOP)?;
    browser.wait_for(&tab, IS_CONNECTED)?;
    watch(browser, &tab, &server)?;
    compensate(browser, &tab)?;
    // The process is killed without a goodbye, and the link stays open.
    server.kill()?;
    browser.wait_for(&tab, &says("The server is gone"))?;
    let server = ServerProcess::open(folder, server.served_at, server.shown_at)?;
    browser.wait_for(&tab, &says("Connected again"))?;
    browser.wait_for(&tab, &says("By the server's ledger"))?;
    eprintln!("    the server was killed and restarted, and the page reported it and reconnected");
    // The browser logs every failed connection. Here they are expected.
    browser.complaints.clear();
    browser.close(tab)?;
    play_hosted_games(browser, &server)?;
    drop(server);
    middleman.stop();
    Ok(())
}

const IS_CONNECTED: &str = "!!window.fairpath?.show?.view?.network?.session?.is_connected()";

fn says(words: &str) -> String {
    format!("document.querySelector('.verdict').textContent.includes({})", json!(words))
}

/// Plays jet car, boat and race car: the browser's input must move them at the server.
fn play_hosted_games(browser: &mut Chromium, server: &ServerProcess) -> Done {
    const PLACE: &str = "[...fairpath.show.view.network.session.frame(performance.now()).slice(5, 7)]";
    for (game, name) in [(1, "jet car"), (2, "boat"), (3, "race car")] {
        let address = format!("http://{}/?scene=play&network=real&game={game}&prediction=1", server.shown_at);
        let tab = browser.open(&address, Viewport::PHONE)?;
        browser.wait_for(&tab, IS_CONNECTED)?;
        browser.wait_for(&tab, &says("Your screen is off by"))?;
        browser.evaluate(&tab, &format!("window.before = {PLACE}"))?;
        browser.key(&tab, "KeyW", true)?;
        let has_moved = format!("{PLACE}.some((place, axis) => Math.abs(place - before[axis]) > 3)");
        browser.wait_for(&tab, &has_moved)?;
        browser.key(&tab, "KeyW", false)?;
        browser.expect_no_complaints(&format!("the {name} at the server"))?;
        browser.close(tab)?;
        eprintln!("    the {name} was driven at the server");
    }
    Ok(())
}

/// A server and its page, in a process of their own that can be killed.
struct ServerProcess {
    child: Child,
    served_at: SocketAddr,
    shown_at: SocketAddr,
    fingerprint: Fingerprint,
}

impl ServerProcess {
    fn open(folder: &Path, served_at: SocketAddr, shown_at: SocketAddr) -> Done<Self> {
        let (served_at, shown_at) = (served_at.to_string(), shown_at.to_string());
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .arg(folder)
            .args([served_at, shown_at])
            // The process ends when its stdin is closed: no error or Ctrl-C leaves it behind.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().expect("stdout is piped");
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

    /// Kills the process at once, like `kill -9`.
    fn kill(&mut self) -> Done {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// Runs tanks and all games at one address and the page at another, until stdin is closed.
pub(crate) fn run_server(folder: &Path, served_at: &str, shown_at: &str) -> Done {
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
        server.with_session(|session, now| {
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

/// The seed of fields, roads and winds.
const SEED: u64 = 1;
/// The budget of each side: four race cars take 700 bytes sixty times a second, and others some.
const BUDGET: Budget = Budget { bytes_per_sec: 96_000, burst_bytes: 8_000, share: None };

fn classes() -> [(ClassId, Class); 2] {
    let class = || Class::new(Trigger::within(THRESHOLD));
    [(TANK, class().with_model(MotionKind::Circular)), (SHOT, class())]
}

/// Drives until the observer has seen a stretch of driving within the threshold.
fn watch(browser: &mut Chromium, tab: &Tab, server: &ServerProcess) -> Done {
    let trust = Trust::Pinned(vec![server.fingerprint]);
    let session = Client::<Vec2>::new(ClientConfig::new(classes()), unguessable_random());
    let observer = NetClient::connect(server.served_at, NetClientConfig::new(trust), session)?;
    browser.key(tab, "KeyW", true)?;
    see_a_shot(browser, tab, &observer)?;
    let begun = Instant::now();
    // A tank that drives into a box stops at once, which no receiver can predict. A tank that turns
    // the same way for a while gets free of any corner, and then drives circles.
    for hand in ["KeyA", "KeyA", "KeyA", "KeyA", "KeyD", "KeyD", "KeyD"].into_iter().cycle() {
        browser.key(tab, hand, true)?;
        let seen = look(&observer);
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

/// Fires in the browser, and waits until the observer sees the shot.
fn see_a_shot(browser: &mut Chromium, tab: &Tab, observer: &NetClient<Vec2>) -> Done {
    browser.key(tab, "Space", true)?;
    let begun = Instant::now();
    let flies = || {
        observer.with_session(|session, now| {
            let objects: Vec<_> = session.objects().collect();
            objects
                .into_iter()
                .any(|one| session.class(one) == Some(SHOT) && session.place(one, now).is_some())
        })
    };
    while !flies() {
        if begun.elapsed() > PATIENCE {
            return Err(Failed("the browser fires, but the observer sees no shot".into()));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    browser.key(tab, "Space", false)
}

/// Switches the tank's compensation off and on, and pauses: at the server, all three count.
fn compensate(browser: &mut Chromium, tab: &Tab) -> Done {
    const OFF_BY: &str = "fairpath.show.view.network.session.frame(performance.now())[8]";
    let hidden = browser.evaluate(tab, "document.querySelector('[name=lag]').closest('.control').hidden")?;
    if hidden != json!(true) {
        return Err(Failed("the simulated round trip is offered at the server".into()));
    }
    browser.evaluate(tab, "fairpath.show.controls.set('prediction', 0)")?;
    // In a circle, so that no wall stops the tank. 200 ms at 25 units a second are 5 units.
    browser.key(tab, "KeyW", true)?;
    browser.key(tab, "KeyA", true)?;
    browser.wait_for(tab, &format!("{OFF_BY} > 2.5"))?;
    browser.evaluate(tab, "fairpath.show.controls.set('prediction', 1)")?;
    browser.wait_for(tab, &format!("{OFF_BY} === 0"))?;
    browser.evaluate(tab, "fairpath.show.controls.togglePause()")?;
    browser.wait_for(tab, "fairpath.show.isPaused && fairpath.show.hands.ahead === 1")?;
    // The picture stands, and the tank stops: its true place does not change any more.
    const TRUE_X: &str = "fairpath.show.view.network.session.truth(performance.now())[1]";
    browser.wait_for(
        tab,
        &format!("(async () => {{ const before = {TRUE_X}; await new Promise(done => setTimeout(done, 300)); return before === {TRUE_X}; }})()"),
    )?;
    browser.evaluate(tab, "fairpath.show.controls.togglePause()")?;
    browser.key(tab, "KeyW", false)?;
    browser.key(tab, "KeyA", false)?;
    eprintln!("    compensation and pause count for the tank at the server");
    Ok(())
}

/// Returns where the observer places the tank: microseconds on the shared clock, and the position.
fn look(observer: &NetClient<Vec2>) -> VecDeque<(i64, Vec2)> {
    let mut seen = VecDeque::new();
    let begun = Instant::now();
    while begun.elapsed() < WATCH {
        let placed = observer.with_session(|session, now| {
            let at = session.clock_now(now)?.shared;
            let object = session.objects().find(|one| session.class(*one) == Some(TANK))?;
            Some((at.as_micros(), session.place(object, now)?.position))
        });
        seen.extend(placed);
        std::thread::sleep(LOOK_EVERY);
    }
    seen
}

/// Returns how far the tank drove, as the observer saw it.
fn way(seen: &VecDeque<(i64, Vec2)>) -> f64 {
    seen.iter().zip(seen.iter().skip(1)).map(|(one, next)| one.1.distance(next.1)).sum()
}

/// Compares the page's true positions with the observer's, interpolated between close samples.
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
