//! The page on the real network: Chromium drives a tank by WebTransport, through a middleman that makes every packet late, and a
//! native client watches it. Then the server dies and comes back.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use fairpath::motion::MotionKind;
use fairpath::schedule::Broadcast;
use fairpath::session::{Class, ClassId, Client, ClientConfig, Server, ServerConfig};
use fairpath::time::Span;
use fairpath::trigger::Trigger;
use fairpath::vector::{Vec2, Vector};
use fairpath_net::middleman::{Middleman, MiddlemanConfig};
use fairpath_net::{
    Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, PageFile, PageServer, Trust, new_epoch,
    unguessable_random,
};
use fairpath_sim::LinkConfig;
use serde_json::{Value, json};

use crate::chromium::{Chromium, Tab, Viewport};
use crate::{Done, Failed};

/// How wrong others may be about a tank, in units.
const THRESHOLD: f64 = 0.3;
/// Two clocks are compared as well: at a tank's 25 units a second, 4 ms of difference are a tenth of a unit.
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

pub(crate) fn run(browser: &mut Chromium, files: &[PageFile]) -> Done {
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let house = House::open(files, anywhere, anywhere)?;
    let late = MiddlemanConfig::between(anywhere, house.server.address())
        .both_ways(LinkConfig::default().delay(DELAY));
    let middleman = Middleman::start(late)?;
    let address =
        format!("http://{}/?scene=play&network=real&connect={}", house.page.address(), middleman.address());
    let tab = browser.open(&address, Viewport::DESKTOP)?;
    browser.wait_for(&tab, "!!window.fairpath?.show?.view?.network?.session?.is_connected()")?;
    watch(browser, &tab, &house)?;
    let (served_at, shown_at) = (house.server.address(), house.page.address());
    drop(house);
    browser
        .wait_for(&tab, "document.querySelector('.verdict').textContent.includes('The server is gone')")?;
    let house = House::open(files, served_at, shown_at)?;
    browser.wait_for(&tab, "document.querySelector('.verdict').textContent.includes('Connected again')")?;
    eprintln!("    the server died and came back, and the page said so");
    // A browser writes down every connection that failed: here they were meant to.
    browser.complaints();
    browser.close(tab)?;
    drop(house);
    middleman.stop();
    Ok(())
}

/// A tank server, and the page that leads to it.
struct House {
    server: NetServer<Vec2>,
    page: PageServer,
}

fn classes() -> [(ClassId, Class); 2] {
    let class = || Class::new(Trigger::within(THRESHOLD));
    [(ClassId(0), class().with_model(MotionKind::Circular)), (ClassId(1), class())]
}

impl House {
    fn open(files: &[PageFile], served_at: SocketAddr, shown_at: SocketAddr) -> Done<Self> {
        let config = ServerConfig::new(classes(), new_epoch());
        let session = Server::<Vec2>::new(config, Box::new(Broadcast), unguessable_random());
        let server = NetServer::bind(NetServerConfig::new(served_at, Identity::local(&[])?), session)?;
        let about = json!({
            "address": server.address().to_string(),
            "fingerprint": server.fingerprint().to_string(),
            "threshold": THRESHOLD,
            "model": "circular",
            "seed": 1,
        });
        let mut files: Vec<PageFile> =
            files.iter().filter(|file| file.path != "server.json").cloned().collect();
        files.push(PageFile { path: "server.json".into(), bytes: about.to_string().into_bytes().into() });
        Ok(Self { page: PageServer::bind(shown_at, files)?, server })
    }
}

/// Drives until the witness has seen a stretch of real driving within the threshold.
fn watch(browser: &mut Chromium, tab: &Tab, house: &House) -> Done {
    let trust = Trust::Pinned(vec![house.server.fingerprint()]);
    let session = Client::<Vec2>::new(ClientConfig::new(classes()), unguessable_random());
    let witness = NetClient::connect(house.server.address(), NetClientConfig::new(trust), session)?;
    browser.key(tab, "KeyW", true)?;
    let begun = Instant::now();
    // Boxes stand in the way: whoever meets one turns the other way.
    for hand in ["KeyA", "KeyD"].into_iter().cycle() {
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

/// Where the witness places the tank: microseconds on the shared clock, and the place.
fn look(witness: &NetClient<Vec2>) -> VecDeque<(i64, Vec2)> {
    let mut seen = VecDeque::new();
    let begun = Instant::now();
    while begun.elapsed() < WATCH {
        let placed = witness.frame(|session, now| {
            let at = session.clock_now(now)?.shared;
            let object = session.objects().next()?;
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

/// Each of the page's truths against what the witness had then, between two looks that were close together.
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
