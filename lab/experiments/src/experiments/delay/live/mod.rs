//! Experiments over real sockets, through a middleman: few short runs, all at once.

pub(super) mod aiming;
pub(super) mod jet_car;
pub(super) mod sailing;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use fairpath::converge::Convergence;
use fairpath::time::{Now, SharedInstant, Span};
use fairpath_games::online::{HostedGame, Room, RoomStatistics};
use fairpath_net::middleman::{Middleman, MiddlemanConfig};
use fairpath_net::{Identity, Trust};
use fairpath_sim::LinkConfig;

use crate::experiment::{CannotRun, Progress, Settings};
use crate::judge;
use crate::online::{LOOK_EVERY, RemotePlayer, bind};
use crate::outcome::Claim;

/// How much longer than its length a run may take: greeting, slow machine, last state.
const END_WITHIN: Duration = Duration::from_secs(30);

struct LivePlan {
    rtts: Vec<Span>,
    runs: u64,
}

struct LiveRun<'a, H: HostedGame> {
    remote: RemotePlayer<H>,
    rtt: Span,
    is_compensated: bool,
    seed: u64,
    heard_per_sec: &'a mut f64,
}

struct LiveResults {
    /// Round trip, compensation, the runs' results, and states received per second.
    cells: Vec<(Span, bool, Vec<f64>, f64)>,
    statistics: RoomStatistics,
}

impl LivePlan {
    fn new(settings: &Settings, usual_ms: &[i64], runs: u64) -> Self {
        let rtts = match &settings.delays {
            Some(one_way) => one_way.iter().map(|delay| *delay + *delay).collect(),
            None => usual_ms.iter().copied().map(Span::from_millis).collect(),
        };
        Self { rtts, runs }
    }

    fn play<H: HostedGame + Send>(
        &self,
        game: impl Fn() -> H,
        seed: u64,
        progress: &dyn Progress,
        run: impl Fn(LiveRun<'_, H>) -> Option<f64> + Sync,
    ) -> Result<LiveResults, CannotRun>
    where
        H::Run: Send,
        H::Input: Send,
        H::Scene: Send,
        H::Rules: Send,
    {
        let identity = Identity::local(&[]).map_err(cannot)?;
        let server = bind(any_port(), identity, 64).map_err(cannot)?;
        let middlemen: Vec<Middleman> = self
            .rtts
            .iter()
            .map(|rtt| middleman(server.address(), rtt.scaled(0.5)))
            .collect::<Result<_, _>>()?;
        let first = game();
        let scene = first.begin(seed).map(|run| H::scene(&run).clone()).map_err(cannot)?;
        let mut room = Room::new(first, seed);
        let trust = Trust::Pinned(vec![server.fingerprint()]);
        let mut jobs = Vec::new();
        for (rtt, middleman) in self.rtts.iter().zip(&middlemen) {
            for is_compensated in [false, true] {
                for number in 0..self.runs {
                    let remote = RemotePlayer::<H>::connect(
                        middleman.address(),
                        trust.clone(),
                        scene.clone(),
                        Convergence::default(),
                    );
                    jobs.push((*rtt, is_compensated, number, remote.map_err(cannot)?));
                }
            }
        }
        progress.begin("live", jobs.len() as u64);
        let left = AtomicUsize::new(jobs.len());
        let results: Vec<(Span, bool, Option<f64>, f64)> = scope(|threads| {
            let hands: Vec<_> = jobs
                .into_iter()
                .map(|(rtt, is_compensated, number, remote)| {
                    let (left, run) = (&left, &run);
                    threads.spawn(move || {
                        let mut heard = 0.0;
                        let live = LiveRun {
                            remote,
                            rtt,
                            is_compensated,
                            seed: seed + number,
                            heard_per_sec: &mut heard,
                        };
                        let result = run(live);
                        left.fetch_sub(1, Ordering::Relaxed);
                        progress.step();
                        (rtt, is_compensated, result, heard)
                    })
                })
                .collect();
            while left.load(Ordering::Relaxed) > 0 {
                server.with_session(|session, now| room.frame(session, now));
                sleep(LOOK_EVERY);
            }
            hands.into_iter().filter_map(|hand| hand.join().ok()).collect()
        });
        Ok(LiveResults { cells: self.gather(&results), statistics: room.statistics() })
    }

    fn gather(&self, results: &[(Span, bool, Option<f64>, f64)]) -> Vec<(Span, bool, Vec<f64>, f64)> {
        let mut cells = Vec::new();
        for rtt in &self.rtts {
            for is_compensated in [false, true] {
                let of = || results.iter().filter(|result| (result.0, result.1) == (*rtt, is_compensated));
                let runs: Vec<f64> = of().filter_map(|result| result.2).collect();
                let heard = of().map(|result| result.3).sum::<f64>() / of().count() as f64;
                cells.push((*rtt, is_compensated, runs, heard));
            }
        }
        cells
    }
}

impl LiveResults {
    /// Round trip, and the means without and with compensation.
    fn pairs(&self) -> Vec<(Span, f64, f64)> {
        let mean = |runs: &[f64]| runs.iter().sum::<f64>() / runs.len() as f64;
        self.cells.chunks(2).map(|pair| (pair[0].0, mean(&pair[0].2), mean(&pair[1].2))).collect()
    }
}

impl<H: HostedGame> LiveRun<'_, H> {
    /// Plays until the run is over on this screen; returns the last scene, `None` if it never ends.
    fn play(
        &mut self,
        rules: &H::Rules,
        length: Duration,
        mut act: impl FnMut(&H::Scene, SharedInstant) -> H::Input,
        is_over: impl Fn(&H::Scene) -> bool,
    ) -> Option<H::Scene> {
        let frame = Duration::from_secs_f64(H::TICK_RATE.step_secs());
        let begun = Instant::now();
        let mut clock_began = None;
        let mut last = None;
        while last.is_none() && begun.elapsed() < length + END_WITHIN {
            let is_compensated = self.is_compensated;
            self.remote.frame(rules, |remote, now: Now| {
                let heard = remote.shown(rules, now, false);
                if remote.heard() > 0 && is_over(&heard) {
                    last = Some(heard);
                }
                // By the player's own clock, from its first look on.
                let since = now.shared - *clock_began.get_or_insert(now.shared);
                act(&remote.shown(rules, now, is_compensated), SharedInstant::ZERO + since)
            });
            sleep(frame);
        }
        *self.heard_per_sec = self.remote.heard() as f64 / begun.elapsed().as_secs_f64();
        last
    }
}

fn answered(statistics: &RoomStatistics, id: &str) -> Claim {
    Claim::new(
        format!("{id}.live-answered"),
        "live: the server answers nearly every input with a state",
        judge::at_least(statistics.answers as f64 / statistics.inputs as f64, 0.9),
    )
    .unit("states per input")
    .remark("two inputs that arrive within one tick have one answer, and missing input is answered too")
}

fn on_or_off(is_compensated: bool) -> &'static str {
    if is_compensated { "on" } else { "off" }
}

fn real_time_note() -> &'static str {
    "Real time: the machine's own delays add to the others, runs are few and short, and numbers differ from run to run. What is \
     judged exactly is judged in virtual time."
}

fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn middleman(server: SocketAddr, one_way: Span) -> Result<Middleman, CannotRun> {
    let link = LinkConfig::default().delay(one_way);
    let config = MiddlemanConfig::between(any_port(), server).both_ways(link);
    Middleman::start(config).map_err(cannot)
}

fn cannot(error: impl std::fmt::Display) -> CannotRun {
    CannotRun {
        what: error.to_string(),
        fix: "sockets on 127.0.0.1 are needed; or run it without --live".into(),
    }
}
