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

use fairpath::DrVector;
use fairpath::converge::{Algorithm, Convergence};
use fairpath::place::{Arrival, Placement, Replica};
use fairpath::prelude::*;
use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{Client, ClientConfig, Server, ServerConfig};
use fairpath::time::{Now, TickRate};
use fairpath_laws::{law, proptest::prelude::*};
use fairpath_net::middleman::{LinkConfig, Loss, Middleman, MiddlemanConfig};
use fairpath_net::{Clock, Identity, NetClient, NetServer, Trust};
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
        let flights = flights(seed.into(), None);
        print_clocks(&flights);
        let table = measure(&flights);
        print(&table);
        for (_, error) in first_readings(&flights) {
            // At worst one way has all of the jitter and the other has none.
            prop_assert!(
                error.abs() <= Span::from_millis(31),
                "a session began with its clock {error:?} off"
            );
        }
        for (case, errors) in table {
            let bound = if case.is_far { 1.2 } else { 0.25 };
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
            witness.follow(&mut world.client_frame(index), now);
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
    /// The sessions' clocks, by when each session began: the error at every frame.
    clocks: Vec<Vec<(SharedInstant, Span)>>,
    is_connected: bool,
    /// Of every ship: the DR vectors that the client follows, and since when.
    followed: BTreeMap<String, Vec<(SharedInstant, DrVector<Vec2>)>>,
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
        Self {
            player,
            steps: Steps::hz(60),
            frames_per_sec,
            is_far,
            path: Vec::new(),
            seen: BTreeMap::new(),
            clocks: Vec::new(),
            is_connected: false,
            followed: BTreeMap::new(),
        }
    }

    /// Plays a frame at `now`, which is true time and the server's.
    fn play(&mut self, game: &mut ClientFrame<'_, Vec2>, now: SharedInstant) {
        self.read_clock(game, now);
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

    /// Notes which DR vectors the client follows now.
    fn follow(&mut self, game: &mut ClientFrame<'_, Vec2>, now: SharedInstant) {
        for ship in game.objects_of::<Ship>() {
            let Some(Ship(name)) = game.creation(ship) else { continue };
            let Some(vector) = game.session().followed(ship).copied() else { continue };
            let followed = self.followed.entry(name).or_default();
            if followed.last().is_none_or(|(_, last)| last.generated_at != vector.generated_at) {
                followed.push((now, vector));
            }
        }
    }

    fn read_clock(&mut self, game: &mut ClientFrame<'_, Vec2>, now: SharedInstant) {
        let is_connected = game.is_connected();
        if is_connected && !std::mem::replace(&mut self.is_connected, is_connected) {
            self.clocks.push(Vec::new());
        }
        self.is_connected = is_connected;
        if let (true, Some(shared), Some(session)) = (is_connected, game.shared_now(), self.clocks.last_mut())
        {
            session.push((now, shared - now));
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
    for (viewer, owner) in pairs(flights) {
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

/// The frontier of smoothing: the longer a correction is blended, the farther a ship is drawn from
/// the truth, and the less it jumps. "Truth alone" is what ships move off the path that receivers
/// follow, before any correction: no smoothing can jump less.
#[test]
fn no_smoothing_is_both_near_and_calm() {
    let flights: Vec<Vec<Witness>> = flights(1, None).into_iter().take(8).collect();
    let smoothings = smoothings();
    for is_far in [false, true] {
        let link = if is_far { "bad" } else { "loopback" };
        for frames_per_sec in [60, 144] {
            let see = |smoothing| Screen::new(&flights, is_far, frames_per_sec, smoothing);
            let snap = see(Convergence::default().with_algorithm(Algorithm::Snap));
            println!("\n{link}, {frames_per_sec} frames a second\n");
            println!(
                "| smoothing | drawn ÷ placed, owners of 10 | 144 fps | jump ÷ snap | after corrections |"
            );
            println!("| --- | ---: | ---: | ---: | ---: |");
            let [alone, alone_after] = [snap.alone / snap.jump, snap.alone_after / snap.jump_after];
            println!("| truth alone | | | {alone:.2} | {alone_after:.2} |");
            for (name, smoothing) in &smoothings {
                let seen = see(*smoothing);
                let [slow, fast] = [0, 1].map(|owner| seen.drawn[owner] / snap.placed[owner]);
                let [jump, after] = [seen.jump / snap.jump, seen.jump_after / snap.jump_after];
                println!("| {name} | {slow:.2} | {fast:.2} | {jump:.2} | {after:.2} |");
                if is_far {
                    assert!(alone > 0.25, "the truth alone jumps more than a quarter: {alone}");
                    assert!(slow.max(fast) > 1.3 || jump > 0.25, "{name} is both: improve the default");
                }
            }
        }
    }
}

fn smoothings() -> Vec<(String, Convergence)> {
    let of = |algorithm, min, max| {
        let [blend_min, blend] = [min, max].map(Span::from_millis);
        let name = if min == max { format!("{min} ms") } else { format!("{min} to {max} ms") };
        (
            format!("{algorithm:?}, {name}"),
            Convergence { algorithm, blend_min, blend, ..Convergence::smooth() },
        )
    };
    let linear = [(50, 50), (50, 75), (75, 75), (100, 100), (150, 150), (200, 200), (300, 300)];
    let linear = linear.into_iter().map(|(min, max)| of(Algorithm::Linear, min, max));
    let curved = [Algorithm::Cubic, Algorithm::ProjectiveVelocityBlending, Algorithm::CriticallyDamped];
    let curved = curved.into_iter().flat_map(|curve| [of(curve, 100, 100), of(curve, 200, 200)]);
    let smooth = ("`Convergence::smooth`: linear, 50 to 100 ms".into(), Convergence::smooth());
    std::iter::once(smooth).chain(linear).chain(curved).collect()
}

/// Errors (p95) by owners of 10 and of 144 frames a second, and jumps (p99): of all frames, and of
/// those in the second after a correction of at least 0.1.
struct Screen {
    placed: [f64; 2],
    drawn: [f64; 2],
    jump: f64,
    jump_after: f64,
    alone: f64,
    alone_after: f64,
}

impl Screen {
    /// Draws what all clients with such a link followed, with another smoothing and frame rate.
    fn new(flights: &[Vec<Witness>], is_far: bool, frames_per_sec: i64, smoothing: Convergence) -> Self {
        let (mut placed, mut drawn) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
        let [mut jumps, mut jumps_after, mut alone, mut alone_after] = [const { Vec::new() }; 4];
        for (viewer, owner) in
            pairs(flights).filter(|(viewer, owner)| (viewer.is_far || owner.is_far) == is_far)
        {
            let fast = usize::from(owner.frames_per_sec > 10);
            let mut replica = Replica::new(Placement::Global).with_convergence(smoothing);
            let mut arrivals = viewer.followed.get(owner.player.name).into_iter().flatten().peekable();
            let (mut last, mut corrected_at) = (None, None);
            // A little slower than it says, so that frames drift through all phases of the ticks.
            let frame_secs = 1.0037 / frames_per_sec as f64;
            for at in
                (0..59 * frames_per_sec).map(|frame| SharedInstant::from_secs_f64(frame as f64 * frame_secs))
            {
                let mut moved = Vec2::ZERO;
                while let Some((arrived, vector)) = arrivals.next_if(|(arrived, _)| *arrived <= at) {
                    let now = Now::synchronised(*arrived);
                    let before = replica.position(now);
                    replica.accept(vector, &Arrival::at(now));
                    let gap = before.zip(replica.position(now)).map_or(Vec2::ZERO, |(from, to)| to - from);
                    moved += gap;
                    corrected_at = if gap.length() >= 0.1 { Some(*arrived) } else { corrected_at };
                }
                let now = Now::synchronised(at);
                let (Some(truth), Some(place), Some(draw)) =
                    (owner.truth_at(at), replica.position(now), replica.draw(now))
                else {
                    last = None;
                    continue;
                };
                placed[fast].push(place.distance(truth));
                drawn[fast].push(draw.position.distance(truth));
                let Some((was, placed_at, drawn_at)) = last.replace((truth, place, draw.position)) else {
                    continue;
                };
                let jump = (draw.position - drawn_at).distance(truth - was);
                let unforeseen = (place - moved - placed_at).distance(truth - was);
                jumps.push(jump);
                alone.push(unforeseen);
                if corrected_at.is_some_and(|corrected| at - corrected < Span::from_secs(1)) {
                    jumps_after.push(jump);
                    alone_after.push(unforeseen);
                }
            }
        }
        let [jump, jump_after, alone, alone_after] =
            [jumps, jumps_after, alone, alone_after].map(|mut numbers| quantile(&mut numbers, 0.99));
        let p95 = |numbers: [Vec<f64>; 2]| numbers.map(|mut numbers| quantile(&mut numbers, 0.95));
        Self { placed: p95(placed), drawn: p95(drawn), jump, jump_after, alone, alone_after }
    }
}

/// All viewers, each with all owners of other ships.
fn pairs(flights: &[Vec<Witness>]) -> impl Iterator<Item = (&Witness, &Witness)> {
    let viewers = flights.iter().flat_map(|flight| flight.iter().map(move |viewer| (flight, viewer)));
    viewers.flat_map(|(flight, viewer)| {
        let others = flight.iter().filter(|owner| owner.player.name != viewer.player.name);
        others.map(move |owner| (viewer, owner))
    })
}

fn quantile(numbers: &mut [f64], part: f64) -> f64 {
    let place = (part * numbers.len() as f64) as usize;
    if place >= numbers.len() {
        return 0.0;
    }
    *numbers.select_nth_unstable_by(place, f64::total_cmp).1
}

/// Prints by how many milliseconds the clocks of far clients are wrong, by seconds of the session.
fn print_clocks(flights: &[Vec<Witness>]) {
    for witness in flights.iter().flatten().filter(|witness| witness.is_far) {
        for session in &witness.clocks {
            let begin = session[0].0;
            let error = |secs: f64| {
                let at = begin + Span::from_secs_f64(secs);
                let (_, error) =
                    session[session.partition_point(|(now, _)| *now < at).min(session.len() - 1)];
                format!("{:+.1}", error.as_millis_f64())
            };
            let errors = [0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0].map(error).join(" ");
            println!("{} from {:.2} s: {errors}", witness.player.name, begin.since_zero().as_secs_f64());
        }
    }
}

/// Returns when sessions began, and by how much their clocks were wrong then.
fn first_readings(flights: &[Vec<Witness>]) -> impl Iterator<Item = (SharedInstant, Span)> {
    flights.iter().flatten().flat_map(|witness| witness.clocks.iter().map(|session| session[0]))
}

/// Sleeps for a millisecond again and again while `goes_on`. Returns by how much it overslept at
/// most, and when it overslept by more than [`LATE`].
fn watch_the_machine(clock: Clock, goes_on: impl Fn() -> bool) -> (Span, Vec<SharedInstant>) {
    let (mut worst, mut late) = (Span::ZERO, Vec::new());
    while goes_on() {
        let begin = clock.shared();
        sleep(Duration::from_millis(1));
        let overslept = clock.shared() - begin - Span::from_millis(1);
        worst = worst.max(overslept);
        if overslept > LATE {
            late.push(begin);
        }
    }
    (worst, late)
}

/// When a machine counts as late: at 60 u/s this is 0.6 units.
const LATE: Span = Span::from_millis(10);
/// How long a delay of the machine shows: until the next DR vector through the bad link.
const LATE_SHOWS: Span = Span::from_millis(500);

/// Judges the clocks, and prints the errors: the bounds are those in virtual time. Here 20 s are so
/// few bursts that two lost packets decide the 95th percentile, and other processes disturb.
#[test]
fn all_play_on_after_a_restart_over_real_sockets() {
    let (game, identity) = (&asteroids(), Identity::local(&[]).expect("a certificate"));
    // One clock for all: a client's own time is the truth that its session's clock is compared
    // with.
    let clock = Clock::showing(0);
    let builder = || {
        let builder = NetServer::builder(game).identity(identity.clone()).scope(VIEW);
        builder.network(move |network| network.clock = clock)
    };
    let mut server = builder().listen("127.0.0.1:0").expect("a free port");
    let (near, pin, begin) = (server.address(), server.fingerprint(), Instant::now());
    let link = MiddlemanConfig::between("127.0.0.1:0".parse().expect("valid"), near).both_ways(bad_link());
    let middleman = Middleman::start(link).expect("a free port");
    let seats = [(144, near), (10, near), (144, middleman.address())];
    // How many clients saw all ships after the restart.
    let (is_restarted, content) = (&AtomicBool::new(false), &AtomicUsize::new(0));
    let lasting = flight_over_sockets();
    let goes_on = || content.load(Relaxed) < seats.len() || begin.elapsed() < lasting;
    let (flight, (worst, late)) = scope(|threads| {
        let machine = threads.spawn(move || watch_the_machine(clock, goes_on));
        let clients = [0, 1, 2].map(|index| {
            threads.spawn(move || {
                let (frames_per_sec, address) = seats[index];
                let client = NetClient::builder(game).network(move |network| network.clock = clock);
                let client = client.join(address, Trust::Pinned(vec![pin])).expect("a socket");
                let mut witness = Witness::new(index, index as u64, frames_per_sec, address != near);
                let mut is_content = false;
                while goes_on() {
                    let is_late = is_restarted.load(Relaxed);
                    let ships = client.frame(|game| {
                        witness.play(game, SharedInstant::ZERO + game.now().since_zero());
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
            if !is_restarted.load(Relaxed) && begin.elapsed() > lasting / 2 {
                server.shutdown_for_restart(Duration::from_secs(1));
                server = builder().listen(near).expect("the same address");
                is_restarted.store(true, Relaxed);
            }
            server.frame(referee).expect("no errors");
            sleep(Duration::from_secs(1) / SERVER_FRAMES_PER_SEC as u32);
        }
        (clients.map(|client| client.join().expect("no panic")), machine.join().expect("no panic"))
    });
    let mut flights = [Vec::from(flight)];
    print_clocks(&flights);
    for (began_at, error) in first_readings(&flights) {
        // Half of the jitter, and half of what the machine may have added one way.
        let bound = Span::from_millis(31) + worst;
        assert!(error.abs() <= bound, "the session of {began_at:?} began with its clock {error:?} off");
    }
    print(&measure(&flights));
    for sights in flights.iter_mut().flatten().flat_map(|witness| witness.seen.values_mut()) {
        let is_late = |sight: &Sight| {
            late.iter().any(|at| (*at - Span::from_millis(1)..*at + LATE_SHOWS).contains(&sight.at))
        };
        sights.retain(|sight| !is_late(sight));
    }
    println!("The machine was late {} times, by at most {worst:?}. Without the frames after it:", late.len());
    print(&measure(&flights));
}

/// The length of the flight over sockets: 20 s, or as many as `ASTEROIDS_SECS` says. A ship has some
/// seven bursts of thrust in 20 s, so that p95 of such a flight scatters; that of minutes does not.
fn flight_over_sockets() -> Duration {
    let secs = std::env::var("ASTEROIDS_SECS").ok().and_then(|secs| secs.parse().ok());
    Duration::from_secs(secs.unwrap_or(20))
}
