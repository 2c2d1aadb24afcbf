//! Goal: the ships of the asteroids example are placed and drawn near the truth, on loopback and
//! through a bad link, at low and high frame rates. Method: the example's own game code, in virtual
//! time with many seeds, and then over real sockets.
//!
//! The truth is the path that the owner simulates, at the instant of the viewer's frame. A *jump*
//! is the part of what a ship moves on the screen between two frames that the true ship did not
//! move: |Δdrawn − Δtruth|. Without smoothing, a ship is drawn where it is placed.
//!
//! To see the tables:
//! `cargo test -p fairpath-net --features middleman --test asteroids -- --nocapture`

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use fairpath::prelude::*;
use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{Client, ClientConfig, Server, ServerConfig};
use fairpath::time::TickRate;
use fairpath_laws::{law, proptest::prelude::*};
use fairpath_net::middleman::{LinkConfig, Loss, Middleman, MiddlemanConfig};
use fairpath_net::{Identity, NetClient, NetServer};
use fairpath_sim::{PeerId, SessionWorld};

#[path = "../examples/04_asteroids.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod asteroids;

use asteroids::{Player, Ship, Steps, VIEW, asteroids, referee};

/// The steps of virtual time: a multiple of all frame rates.
const STEPS_PER_SEC: i64 = 720;
const SERVER_FRAMES_PER_SEC: i64 = 20;
const NAMES: [&str; 5] = ["Anna", "Ben", "Cleo", "Dan", "Eve"];
fn bad_link() -> LinkConfig {
    let link = LinkConfig::default().delay(Span::from_millis(150)).jitter_uniform(Span::from_millis(30));
    link.loss(Loss::each(0.05))
}

#[test]
fn ships_are_placed_and_drawn_near_the_truth() {
    law!(any::<u32>(), cases = 2, |seed| {
        let table = measure(&flights(seed.into(), None));
        print(&table);
        for (case, errors) in table {
            // An owner with 10 frames a second tells of a burst up to 100 ms later: 1.04 to 1.22 by
            // seed, so 1.2 does not hold for each.
            let is_slow = case.owner_frames_per_sec == 10;
            let bound = if !case.is_far {
                0.25
            } else if is_slow {
                1.35
            } else {
                1.2
            };
            prop_assert!(errors.placed <= bound && errors.drawn <= 1.3 * bound, "{case:?}: {errors:?}");
        }
        Ok(())
    });
}

/// Bursts follow each other so fast that 150 ms are too long for 1.2 units.
#[test]
fn ships_that_thrust_all_the_time_are_near_the_truth_on_loopback() {
    let table = measure(&flights(1, Some([[0.3, 1.5], [0.1, 0.8]])));
    print(&table);
    for (case, errors) in table {
        let bound = if case.is_far { 2.5 } else { 0.25 };
        assert!(errors.placed <= bound && errors.drawn <= 1.3 * bound, "{case:?}: {errors:?}");
    }
}

/// Flights of a minute, in virtual time. In half of them the far client has 144 frames a second, in
/// the others 10.
fn flights(seed: u64, rhythm: Option<[[f64; 2]; 2]>) -> Vec<Vec<Witness>> {
    let [slow, fast] = [10, 144];
    let near = [(fast, false), (slow, false), (fast, false), (slow, false)];
    let scenes = (0..12).map(|scene| (scene, [slow, fast][scene as usize % 2]));
    scenes.map(|(scene, far)| fly(12 * seed + scene, &[&near[..], &[(far, true)]].concat(), rhythm)).collect()
}

/// Lets players fly for a minute. The seats: frames a second, and whether the link is bad.
fn fly(seed: u64, seats: &[(i64, bool)], rhythm: Option<[[f64; 2]; 2]>) -> Vec<Witness> {
    let random = Random::from_seed(seed);
    let config = ServerConfig::new(asteroids(), 1);
    let server = Server::new(config, Box::new(Broadcast), random.fork(100)).with_scope(VIEW);
    let clients =
        (0..seats.len() as u64).map(|i| Client::new(ClientConfig::new(asteroids()), random.fork(i)));
    let near = LinkConfig::default().delay(Span::from_micros(100));
    let world = SessionWorld::new(seed, near, server, clients.collect());
    let mut world = world.with_tick_rate(TickRate::hz(STEPS_PER_SEC as u32));
    let mut witnesses = Vec::new();
    for (index, (frames_per_sec, is_far)) in seats.iter().enumerate() {
        if *is_far {
            world.network.connect(PeerId(0), PeerId(index as u32 + 1), bad_link());
        }
        let mut witness = Witness::new(index, 10 * seed + index as u64, *frames_per_sec, *is_far);
        witness.player.rhythm = rhythm.unwrap_or(witness.player.rhythm);
        witnesses.push(witness);
    }
    let mut step = 0;
    world.run_for(Span::from_secs(60), |world, now| {
        step += 1;
        if step % (STEPS_PER_SEC / SERVER_FRAMES_PER_SEC) == 0 {
            referee(&mut world.server_frame()).expect("no errors");
        }
        for (index, witness) in witnesses.iter_mut().enumerate() {
            // Clients do not draw at the same instants.
            if (step + 7 * index as i64) % (STEPS_PER_SEC / witness.frames_per_sec) == 0 {
                witness.play(&mut world.client_frame(index), now);
            }
        }
    });
    witnesses
}

/// A player, the true path of its ship, and where it saw the others.
struct Witness {
    player: Player,
    steps: Steps,
    frames_per_sec: i64,
    is_far: bool,
    /// At every tick: the ship, and whether its client is connected.
    path: Vec<(SharedInstant, State<Vec2>, bool)>,
    seen: BTreeMap<String, Vec<Sight>>,
}

/// A ship in a frame of a viewer.
#[derive(Clone, Copy)]
struct Sight {
    at: SharedInstant,
    placed: Vec2,
    drawn: Vec2,
}

impl Witness {
    fn new(index: usize, seed: u64, frames_per_sec: i64, is_far: bool) -> Self {
        let player = Player::new(NAMES[index], seed);
        Self { player, steps: Steps::hz(60), frames_per_sec, is_far, path: Vec::new(), seen: BTreeMap::new() }
    }

    /// Plays a frame at `now`, on the clock that all witnesses share.
    fn play(&mut self, game: &mut ClientFrame<'_, Vec2>, now: SharedInstant) {
        let (mut twin, mut steps) = (self.player.clone(), self.steps);
        for tick in steps.until(game.now()) {
            twin.step(tick.secs());
            self.path.push((now + (tick.at() - game.now()), twin.ship, game.is_connected()));
        }
        self.player.play(game, &mut self.steps).expect("no errors");
        for ship in game.objects_of::<Ship>() {
            let (Some(placed), Some(drawn)) = (game.place(ship), game.draw(ship)) else { continue };
            if let Some(Ship(name)) = game.creation(ship)
                && game.is_connected()
            {
                let sight = Sight { at: now, placed: placed.position, drawn: drawn.position };
                self.seen.entry(name).or_default().push(sight);
            }
        }
    }

    /// Returns where the ship was: thrust is constant within a tick. `None` while its client was
    /// not connected, or if its machine stalled.
    fn truth_at(&self, at: SharedInstant) -> Option<Vec2> {
        let next = self.path.partition_point(|(tick, ..)| *tick <= at);
        let [(begin, from, is_connected), (end, to, _)] =
            self.path.get(next.checked_sub(1)?..)?.first_chunk()?;
        let (secs, step_secs) = ((at - *begin).as_secs_f64(), (*end - *begin).as_secs_f64());
        let gained = (to.velocity - from.velocity) * (0.5 * secs / step_secs);
        (*is_connected && step_secs < 0.02).then(|| from.position + (from.velocity + gained) * secs)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    /// Whether viewer or owner is behind the bad link.
    is_far: bool,
    owner_frames_per_sec: i64,
    viewer_frames_per_sec: i64,
}

/// Errors (p50 and p95) and jumps (p99), in units.
#[derive(Debug)]
struct Errors {
    placed_median: f64,
    placed: f64,
    drawn: f64,
    jump: f64,
    jump_of_snap: f64,
    count: usize,
}

fn measure(flights: &[Vec<Witness>]) -> Vec<(Case, Errors)> {
    let mut cases: BTreeMap<Case, [Vec<f64>; 4]> = BTreeMap::new();
    let viewers = flights.iter().flat_map(|flight| flight.iter().map(move |viewer| (flight, viewer)));
    for (flight, viewer) in viewers {
        for owner in flight.iter().filter(|owner| owner.player.name != viewer.player.name) {
            let case = Case {
                is_far: viewer.is_far || owner.is_far,
                owner_frames_per_sec: owner.frames_per_sec,
                viewer_frames_per_sec: viewer.frames_per_sec,
            };
            let [placed, drawn, jumps, jumps_of_snap] = cases.entry(case).or_default();
            let mut last: Option<(Sight, Vec2)> = None;
            for sight in viewer.seen.get(owner.player.name).into_iter().flatten() {
                let Some(truth) = owner.truth_at(sight.at) else { continue };
                placed.push(sight.placed.distance(truth));
                drawn.push(sight.drawn.distance(truth));
                let frame_secs = 1.0 / viewer.frames_per_sec as f64;
                if let Some((before, was)) = last.replace((*sight, truth))
                    && (sight.at - before.at).as_secs_f64() < 1.5 * frame_secs
                {
                    jumps.push((sight.drawn - before.drawn).distance(truth - was));
                    jumps_of_snap.push((sight.placed - before.placed).distance(truth - was));
                }
            }
        }
    }
    let quantile = |numbers: &mut Vec<f64>, part: f64| {
        numbers.sort_by(f64::total_cmp);
        numbers.get((part * numbers.len() as f64) as usize).copied().unwrap_or(0.0)
    };
    let errors = |[mut placed, mut drawn, mut jump, mut jump_of_snap]: [Vec<f64>; 4]| Errors {
        placed_median: quantile(&mut placed, 0.5),
        placed: quantile(&mut placed, 0.95),
        drawn: quantile(&mut drawn, 0.95),
        jump: quantile(&mut jump, 0.99),
        jump_of_snap: quantile(&mut jump_of_snap, 0.99),
        count: placed.len(),
    };
    cases.into_iter().map(|(case, numbers)| (case, errors(numbers))).collect()
}

fn print(table: &[(Case, Errors)]) {
    println!(
        "| link | owner, fps | viewer, fps | placed p50 | p95 | drawn p95 | drawn ÷ placed | jump p99 | snap | frames |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (Case { is_far, owner_frames_per_sec, viewer_frames_per_sec }, errors) in table {
        let Errors { placed_median, placed, drawn, jump, jump_of_snap, count } = errors;
        let link = if *is_far { "bad" } else { "loopback" };
        println!(
            "| {link} | {owner_frames_per_sec} | {viewer_frames_per_sec} | {placed_median:.3} | {placed:.3} | {drawn:.3} | {:.2} | {jump:.3} | {jump_of_snap:.3} | {count} |",
            drawn / placed
        );
    }
}

/// Prints the errors, and does not judge them: the machine may stall.
#[test]
fn all_play_on_after_a_restart_over_real_sockets() {
    let (game, identity) = (&asteroids(), Identity::local(&[]).expect("a certificate"));
    let builder = || NetServer::builder(game).identity(identity.clone()).scope(VIEW);
    let mut server = builder().listen("127.0.0.1:0").expect("a free port");
    let (near, pin, begin) = (server.address(), server.fingerprint(), Instant::now());
    let link = MiddlemanConfig::between("127.0.0.1:0".parse().expect("valid"), near).both_ways(bad_link());
    let middleman = Middleman::start(link).expect("a free port");
    let seats = [(144, near), (10, near), (144, middleman.address())];
    // How many clients saw all ships after the restart.
    let (is_restarted, content) = (&AtomicBool::new(false), &AtomicUsize::new(0));
    let goes_on = || content.load(Relaxed) < seats.len() || begin.elapsed() < Duration::from_secs(20);
    let flight = scope(|threads| {
        let clients = [0, 1, 2].map(|index| {
            threads.spawn(move || {
                let (frames_per_sec, address) = seats[index];
                let client = NetClient::join(address, pin, game).expect("a socket");
                let mut witness = Witness::new(index, index as u64, frames_per_sec, address != near);
                let mut is_content = false;
                while goes_on() {
                    let is_late = is_restarted.load(Relaxed);
                    let ships = client.frame(|game| {
                        let now = begin.elapsed().as_micros() as i64;
                        witness.play(game, SharedInstant::from_micros(now));
                        if game.is_connected() { game.objects_of::<Ship>().len() } else { 0 }
                    });
                    if is_late && ships == seats.len() && !is_content {
                        is_content = true;
                        content.fetch_add(1, Relaxed);
                    }
                    sleep(Duration::from_secs(1) / frames_per_sec as u32);
                }
                witness
            })
        });
        while goes_on() {
            if !is_restarted.load(Relaxed) && begin.elapsed() > Duration::from_secs(10) {
                server.shutdown_for_restart(Duration::from_secs(1));
                server = builder().listen(near).expect("the same address");
                is_restarted.store(true, Relaxed);
            }
            server.frame(referee).expect("no errors");
            sleep(Duration::from_secs(1) / SERVER_FRAMES_PER_SEC as u32);
        }
        clients.map(|client| client.join().expect("no panic"))
    });
    print(&measure(&[Vec::from(flight)]));
}
