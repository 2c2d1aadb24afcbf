//! Beyond Buchheit 2004: convergence, contingency, guesses about others, and whose hit counts.

use fairpath::converge::Algorithm;
use fairpath::motion::MotionKind;
use fairpath::place::Placement;
use fairpath::random::Random;
use fairpath::time::Span;
use fairpath_games::jet_car::JetCarConfig;
use fairpath_games::sailing::{SailingConfig, Trim, Wind};

use super::DECLARATION;
use crate::cells;
use crate::delay::arena::{self, Judge, Shots};
use crate::delay::jet_car::{self, Sight};
use crate::delay::sailing::{OtherBoat, other_boat_off};
use crate::delay::{Smoothness, Summary, curve_name, in_ms};
use crate::experiment::{
    CannotRun, Declaration, DeclaredExperiment, Progress, RunOption, Settings, map_in_order,
};
use crate::figure::{Axis, Figure, Line, Plot};
use crate::judge;
use crate::outcome::{Claim, Column, Outcome, Rows};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "hidden-delay",
        alias: "DELAY",
        title: "Convergence, contingency, guesses about others, judging hits",
        source: "Buchheit 2004 5 (what it leaves open); ours",
        about: "Four questions that Buchheit 2004 leaves open. What does each way to bend a correction do to what is seen and to a player that \
                plays by it: the jet car in wind, and tanks at 300 ms? What does an order bring that the server holds for the player (while a \
                gust blows, thrust against it)? What do guesses about others add: tanks as heard, straight on, or on a circle, and the \
                opponent's boat in the wind? And of the hits that a shooter sees on its own screen, how many count without time warp, with it, \
                and with a cap of 250 ms, and how many of them strike a player that is no longer there?",
        options: &[RunOption::Seed],
        ..DECLARATION
    },
    run,
};

/// Round trips at which a gust is felt but the car still flies.
const JET_CAR_RTTS_MS: [i64; 2] = [200, 400];
const RUNS: u64 = 24;
/// At which delay corrections of tanks are looked at, and with which others are guessed.
const TANK_LAGS_MS: [i64; 3] = [100, 300, 800];
const CONVERGENCE_LAG_MS: i64 = 300;
/// Round trips for whose hit counts.
const FAIRNESS_RTTS_MS: [i64; 5] = [50, 100, 200, 400, 800];
const MATCHES: u64 = 6;
const BOAT_RTTS_MS: [i64; 4] = [100, 300, 700, 1500];

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let dice = Random::from_seed(settings.seed).fork(0xDE1A);
    let mut found = DelayFindings { rows: table(), claims: Vec::new(), figures: Vec::new() };
    found.jet_car(&dice, progress);
    found.tanks(&dice, progress);
    found.boats(&dice, progress);
    found.hits(&dice, progress);
    let mut outcome = Outcome::new(found.rows);
    outcome.claims = found.claims;
    outcome.figures = found.figures;
    outcome.notes = vec![
        "A visible error is the distance between drawn and simulated; a jump is what moves by more than a tenth of the car or tank in \
         one frame beyond what its drawn velocity explains. Corrections bend what is drawn and never what is simulated: here the \
         bots are made to play by what is drawn, as people must."
            .into(),
        "The contingency cancels a gust with what the thrusters can do (80 % of the strongest), from the tick after the gust began; the \
         client's screen plays it on as well. It needs a player that knows beforehand what to do: for obstructions no player does."
            .into(),
        "Whose hit counts: others are shown as old as the round trip (local placement), shots fly for each judge at once and change nothing \
         in the match. Elsewhere: the tank that is hit was not where the shot passed at that moment. Behind cover: and a box stood between \
         it and where the shot came from."
            .into(),
    ];
    Ok(outcome)
}

fn table() -> Rows {
    Rows::new([
        Column::text("question", "question"),
        Column::number("lag_ms", "delay", "ms").decimals(0),
        Column::text("way", "way"),
        Column::number("visible_error", "visible error", "").decimals(2),
        Column::number("jumps_per_thousand", "jumps", "/1000 frames").decimals(2),
        Column::number("shown_off", "shown off by", "").decimals(2),
        Column::number("score", "score", "").decimals(1),
        Column::number("cars_lost", "cars lost", "").decimals(2),
        Column::number("hit_percent", "hit rate", "%").decimals(1),
        Column::number("granted_percent", "claims that count", "%").decimals(1),
        Column::number("elsewhere_percent", "hits elsewhere", "%").decimals(1),
        Column::number("behind_cover_percent", "hits behind cover", "%").decimals(1),
    ])
}

struct DelayFindings {
    rows: Rows,
    claims: Vec<Claim>,
    figures: Vec<Figure>,
}

#[derive(Default)]
struct DelayMeasurements {
    smoothness: Option<(f64, f64)>,
    shown_off: Option<f64>,
    score: Option<(f64, f64)>,
    hit_percent: Option<f64>,
    judged: Option<[f64; 3]>,
}

impl DelayFindings {
    fn row(&mut self, question: &str, lag: Span, way: &str, measured: &DelayMeasurements) {
        let (error, jumps) = measured.smoothness.unzip();
        let (score, cars) = measured.score.unzip();
        let judged = |index: usize| measured.judged.map(|percent| percent[index]);
        self.rows.push(cells![
            question,
            lag.as_millis_f64(),
            way,
            error,
            jumps,
            measured.shown_off,
            score,
            cars,
            measured.hit_percent,
            judged(0),
            judged(1),
            judged(2),
        ]);
    }

    /// Convergence and contingency in wind.
    fn jet_car(&mut self, dice: &Random, progress: &dyn Progress) {
        let sights: Vec<Sight> =
            Algorithm::ALL.map(Sight::Drawn).into_iter().chain([Sight::Simulated, Sight::Guarded]).collect();
        let mut kinds = Vec::new();
        for rtt in JET_CAR_RTTS_MS.map(Span::from_millis) {
            kinds.extend(sights.iter().map(|sight| (rtt, *sight)));
        }
        let seeds: Vec<u64> = (0..RUNS).map(|run| dice.fork(run).bits()).collect();
        let trials: Vec<jet_car::Trial> = kinds
            .iter()
            .flat_map(|(rtt, sight)| {
                seeds.iter().map(|seed| jet_car::Trial {
                    rules: JetCarConfig::windy(),
                    rtt: *rtt,
                    jitter: Span::from_millis(5),
                    sight: *sight,
                    seed: *seed,
                })
            })
            .collect();
        progress.begin("driving", trials.len() as u64);
        let runs = map_in_order(&trials, progress, jet_car::Trial::run);
        let mut scores = Vec::new();
        for ((rtt, sight), runs) in kinds.iter().zip(runs.chunks(seeds.len())) {
            let mut smoothness = Smoothness::default();
            runs.iter().for_each(|run| smoothness.merge(&run.smoothness));
            let score = Summary::of(&runs.iter().map(|run| run.score).collect::<Vec<_>>());
            let cars = runs.iter().map(|run| run.cars_lost).sum::<f64>() / runs.len() as f64;
            let question = if *sight == Sight::Guarded {
                "contingency, jet car in wind"
            } else {
                "convergence, jet car in wind"
            };
            let measured = DelayMeasurements {
                smoothness: matches!(sight, Sight::Drawn(_))
                    .then(|| (smoothness.mean_error(), smoothness.jumps_per_thousand())),
                score: Some((score.mean, cars)),
                ..DelayMeasurements::default()
            };
            self.row(question, *rtt, sight.name(), &measured);
            scores.push((*rtt, *sight, score, smoothness.jumps_per_thousand()));
        }
        let of =
            |rtt: Span, wanted: Sight| scores.iter().find(|(at, sight, ..)| (*at, *sight) == (rtt, wanted));
        let gain = JET_CAR_RTTS_MS.map(Span::from_millis).map(|rtt| {
            let mean = |sight| of(rtt, sight).map_or(f64::NAN, |(.., score, _)| score.mean);
            mean(Sight::Guarded) - mean(Sight::Simulated)
        });
        self.claims.push(
            Claim::new(
                "DELAY.contingency",
                "in wind an order that the server holds for the player scores more than compensation alone",
                judge::above(gain.iter().copied().fold(f64::INFINITY, f64::min), 0.0),
            )
            .unit("points more, at least")
            .remark("Buchheit 2004 names this as open"),
        );
        let far = Span::from_millis(400);
        let score =
            |algorithm| of(far, Sight::Drawn(algorithm)).map_or(f64::NAN, |(_, _, score, _)| score.mean);
        let bent = Algorithm::ALL.into_iter().filter(|algorithm| *algorithm != Algorithm::Snap).map(score);
        self.claims.push(
            Claim::new(
                "DELAY.smooth-is-free",
                "in wind at 400 ms a bot that steers by a bent picture scores as much as by one that snaps",
                judge::at_least(bent.fold(f64::NEG_INFINITY, f64::max), score(Algorithm::Snap)),
            )
            .unit("points, with the best curve")
            .remark(
                "a curve shows the place nearly right and the velocity wrong: 40 pixels bent away in 200 ms look like 200 pixels a second, and a bot \
                 that takes them for the car's own steers against a motion that is not there. Snapping jumps, but shows the true velocity. In \
                 tanks, where the shooter's own hands are not in the loop, curves cost at most the noise between matches",
            ),
        );
        let jumps = |sight| of(far, sight).map_or(f64::NAN, |(.., jumps)| *jumps);
        self.claims.push(
            Claim::new(
                "DELAY.smooth",
                "in wind at 400 ms the cubic curve shows far fewer jumps than snapping",
                judge::far_below(jumps(Sight::Drawn(Algorithm::Cubic)), jumps(Sight::Drawn(Algorithm::Snap))),
            )
            .unit("jumps per 1000 frames"),
        );
    }

    /// Convergence, and guesses about others, in tanks.
    fn tanks(&mut self, dice: &Random, progress: &dyn Progress) {
        let convergence = Algorithm::ALL.map(|algorithm| {
            let lag = Span::from_millis(CONVERGENCE_LAG_MS);
            (
                "convergence, tanks",
                lag,
                Placement::Global,
                MotionKind::Circular,
                Some(algorithm),
                curve_name(algorithm),
            )
        });
        let guesses = TANK_LAGS_MS.map(Span::from_millis).into_iter().flat_map(|lag| {
            let guess = |placement, model, name| ("others, tanks", lag, placement, model, None, name);
            [
                guess(Placement::Local, MotionKind::Circular, "as heard"),
                guess(Placement::Global, MotionKind::Linear, "straight on"),
                guess(Placement::Global, MotionKind::Circular, "on a circle"),
            ]
        });
        let kinds: Vec<_> = convergence.into_iter().chain(guesses).collect();
        let seeds: Vec<u64> = (0..MATCHES).map(|number| dice.fork(1_000 + number).bits()).collect();
        let trials: Vec<arena::Trial> = kinds
            .iter()
            .flat_map(|(_, lag, placement, model, convergence, _)| {
                seeds.iter().map(|seed| arena::Trial {
                    model: *model,
                    convergence: *convergence,
                    ..arena::Trial::new(*lag, *placement, *seed)
                })
            })
            .collect();
        progress.begin("fighting", trials.len() as u64);
        let matches = map_in_order(&trials, progress, arena::Trial::run);
        let mut off = Vec::new();
        for ((question, lag, _, _, convergence, way), matches) in
            kinds.iter().zip(matches.chunks(seeds.len()))
        {
            let all = HitTally::of(matches);
            let measured = DelayMeasurements {
                smoothness: convergence
                    .map(|_| (all.smoothness.mean_error(), all.smoothness.jumps_per_thousand())),
                shown_off: Some(all.shown_off),
                hit_percent: Some(all.hit_percent(Judge::Present)),
                ..DelayMeasurements::default()
            };
            self.row(question, *lag, way, &measured);
            if convergence.is_none() {
                off.push((*lag, *way, all.shown_off));
            }
        }
        let pairs = TANK_LAGS_MS.map(Span::from_millis).map(|lag| {
            let of = |wanted: &str| {
                off.iter()
                    .find(|(at, way, _)| (*at, *way) == (lag, wanted))
                    .map_or(f64::NAN, |(.., off)| *off)
            };
            (of("on a circle"), of("as heard"))
        });
        self.claims.push(
            Claim::new(
                "DELAY.others-tanks",
                "tanks are shown nearer to where they are when their motion is guessed than as they were heard of",
                judge::below_in_every(pairs),
            )
            .unit("× the distance as heard, at most"),
        );
    }

    fn boats(&mut self, dice: &Random, progress: &dyn Progress) {
        const RACES: u64 = 4;
        let rules = SailingConfig { wind: Wind::random(), ..SailingConfig::default() };
        let jobs: Vec<(Span, u64)> = BOAT_RTTS_MS
            .map(Span::from_millis)
            .into_iter()
            .flat_map(|rtt| (0..RACES).map(move |race| (rtt, race)))
            .collect();
        progress.begin("racing", jobs.len() as u64);
        let off = map_in_order(&jobs, progress, |(rtt, race)| {
            other_boat_off(&rules, Trim::Optimal, *rtt, dice.fork(2_000 + race).bits())
        });
        let mut pairs = Vec::new();
        for (rtt, races) in BOAT_RTTS_MS.map(Span::from_millis).iter().zip(off.chunks(RACES as usize)) {
            let mean = |way: usize| races.iter().map(|off| off[way]).sum::<f64>() / races.len() as f64;
            for (way, other) in OtherBoat::ALL.iter().enumerate() {
                let measured =
                    DelayMeasurements { shown_off: Some(mean(way)), ..DelayMeasurements::default() };
                self.row("others, boats in random wind", *rtt, other.name(), &measured);
            }
            pairs.push((mean(3), mean(1)));
        }
        self.claims.push(
            Claim::new(
                "DELAY.others-boats",
                "the opponent's boat is nearer to the truth when its own physics plays it on than straight on",
                judge::below_in_every(pairs),
            )
            .unit("× the distance straight on, at most"),
        );
    }

    fn hits(&mut self, dice: &Random, progress: &dyn Progress) {
        let rtts = FAIRNESS_RTTS_MS.map(Span::from_millis);
        let seeds: Vec<u64> = (0..MATCHES).map(|number| dice.fork(3_000 + number).bits()).collect();
        let trials: Vec<arena::Trial> = rtts
            .iter()
            .flat_map(|rtt| seeds.iter().map(|seed| arena::Trial::new(*rtt, Placement::Local, *seed)))
            .collect();
        progress.begin("judging", trials.len() as u64);
        let matches = map_in_order(&trials, progress, arena::Trial::run);
        let judges = [Judge::Present, Judge::Warped, Judge::Capped];
        let mut lines = judges.map(|judge| Line::new(judge.name(), Vec::new()));
        let mut elsewhere = judges.map(|judge| Line::new(judge.name(), Vec::new()));
        let mut granted = Vec::new();
        let mut covered = Vec::new();
        for (rtt, matches) in rtts.iter().zip(matches.chunks(seeds.len())) {
            let all = HitTally::of(matches);
            for (number, judge) in judges.into_iter().enumerate() {
                let judged = all.judged(judge);
                let measured = DelayMeasurements {
                    hit_percent: Some(all.hit_percent(judge)),
                    judged: Some(judged),
                    ..DelayMeasurements::default()
                };
                self.row("whose hit counts, tanks", *rtt, judge.name(), &measured);
                lines[number].points.push((rtt.as_millis_f64(), judged[0]));
                elsewhere[number].points.push((rtt.as_millis_f64(), judged[1]));
            }
            granted.push((*rtt, all.judged(Judge::Warped)[0], all.judged(Judge::Present)[0]));
            covered.push((*rtt, all.judged(Judge::Warped), all.judged(Judge::Capped)));
        }
        self.claim_fairness(&granted, &covered);
        self.figures.push(
            Figure::new(
                "delay-claims-that-count",
                "Hits on the shooter's screen that count",
                Axis::new("round trip", "ms"),
                Axis::new("of the hits that the shooter sees", "%"),
                Plot::Lines(lines.into()),
            )
            .caption("Without time warp a shooter must aim ahead of what is shown. With a cap, those beyond it must do so for the rest."),
        );
        self.figures.push(
            Figure::new(
                "delay-elsewhere",
                "Hits on a tank that was elsewhere by then",
                Axis::new("round trip", "ms"),
                Axis::new("of the hits that count", "%"),
                Plot::Lines(elsewhere.into()),
            )
            .caption("What time warp takes from the victims grows with the shooter's round trip; the cap bounds it."),
        );
    }

    fn claim_fairness(&mut self, granted: &[(Span, f64, f64)], covered: &[(Span, [f64; 3], [f64; 3])]) {
        let least = granted.iter().map(|(_, warped, _)| *warped).fold(f64::INFINITY, f64::min);
        let without: Vec<String> =
            granted.iter().map(|(rtt, _, present)| format!("{present:.0} % at {}", in_ms(*rtt))).collect();
        self.claims.push(
            Claim::new(
                "DELAY.warp-grants",
                "with time warp most hits that a shooter sees count, at every round trip",
                judge::most(least / 100.0),
            )
            .unit("of the claims, at least")
            .remark(format!("without it {}", without.join(", "))),
        );
        let far: Vec<(f64, f64)> = covered
            .iter()
            .filter(|(rtt, ..)| *rtt > Span::from_millis(250))
            .map(|(_, warped, capped)| (capped[1], warped[1]))
            .collect();
        let cover: Vec<String> = covered
            .iter()
            .map(|(rtt, warped, capped)| format!("{} {:.1} and {:.1} %", in_ms(*rtt), warped[2], capped[2]))
            .collect();
        self.claims.push(
            Claim::new(
                "DELAY.cap-protects",
                "beyond the cap of 250 ms fewer of the hits strike a tank that is elsewhere by then",
                judge::below_in_every(far),
            )
            .unit("× that without the cap, at most")
            .remark(format!("behind cover, without the cap and with it: {}", cover.join(", "))),
        );
    }
}

struct HitTally {
    all: Shots,
    shown_off: f64,
    smoothness: Smoothness,
}

impl HitTally {
    fn of(matches: &[Shots]) -> Self {
        let mut all = Shots::default();
        let mut smoothness = Smoothness::default();
        for shots in matches {
            all.fired += shots.fired;
            for judge in 0..Judge::ALL.len() {
                all.hits[judge] += shots.hits[judge];
                all.granted[judge] += shots.granted[judge];
                all.elsewhere[judge] += shots.elsewhere[judge];
                all.behind_cover[judge] += shots.behind_cover[judge];
            }
            all.shown_off.0 += shots.shown_off.0;
            all.shown_off.1 += shots.shown_off.1;
            smoothness.merge(&shots.smoothness);
        }
        let shown_off = all.shown_off.0 / all.shown_off.1 as f64;
        Self { all, shown_off, smoothness }
    }

    fn hit_percent(&self, judge: Judge) -> f64 {
        percent(self.all.hits[judge as usize], self.all.fired)
    }

    /// Claims that count, and of the hits those elsewhere and those behind cover, in per cent.
    fn judged(&self, judge: Judge) -> [f64; 3] {
        let index = judge as usize;
        [
            percent(self.all.granted[index], self.all.hits[Judge::Screen as usize]),
            percent(self.all.elsewhere[index], self.all.hits[index]),
            percent(self.all.behind_cover[index], self.all.hits[index]),
        ]
    }
}

fn percent(part: u32, whole: u32) -> f64 {
    100.0 * f64::from(part) / f64::from(whole)
}
