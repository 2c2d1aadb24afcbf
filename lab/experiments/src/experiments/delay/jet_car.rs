//! X13: the jet car, far away from its server.

use fairpath::random::Random;
use fairpath::time::Span;
use fairpath_games::jet_car::JetCarConfig;

use super::{DECLARATION, live};
use crate::cells;
use crate::delay::jet_car::{Sight, Trial, TrialResult};
use crate::delay::{Summary, in_ms};
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, Settings, map_in_order};
use crate::figure::{Axis, Figure, Line, Plot};
use crate::judge;
use crate::outcome::{Claim, Column, Outcome, Rows};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "jet-car",
        alias: "X13",
        title: "Drive a car without brakes, far from its server",
        source: "Buchheit 2004 fig 7–8",
        about: "A bot with a person's reaction time drives for two minutes: an obstruction that passes is worth a point, a hit costs four, a \
                wall costs one of three cars. The server runs in ticks of 10 ms without waiting and answers each input; half of the round trip \
                lies each way, ±5 ms. Off: the bot sees what arrives, and has learnt to steer as gently as that needs, as Buchheit 2004's \
                experienced player had; beside it a bot that has not. On: the bot sees the server's scene simulated on with its own inputs that \
                the server had not seen; beside it Buchheit 2004's own prototype, which extrapolates everything by one round trip and adds the \
                inputs to the position only.",
        live: Some(&live::jet_car::EXPERIMENT),
        ..DECLARATION
    },
    run,
};

/// Buchheit 2004's round trips.
const RTTS_MS: [i64; 7] = [20, 40, 100, 200, 400, 800, 1600];
/// What Buchheit 2004's middleman kept to: ±5 ms.
const JITTER: Span = Span::from_millis(5);
/// Runs of each kind. Buchheit 2004 had four by a person; 24 make a band of some ±10 points.
const RUNS: u64 = 24;
/// Up to this share of runs may end early for their mean score to say something.
const EARLY_MAX: f64 = 0.1;
const SIGHTS: [Sight; 4] = [Sight::Old, Sight::UsedTo, Sight::Prototype, Sight::Simulated];
const UNAWARE: usize = 0;
const OFF: usize = 1;
const PROTOTYPE: usize = 2;
const ON: usize = 3;

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let played = JetCarRuns::play(settings, progress);
    let mut outcome = Outcome::new(played.table());
    outcome.claims = played.claims();
    outcome.figures = Air::BOTH.map(|weather| played.figure(weather)).into();
    outcome.notes = played.notes();
    Ok(outcome)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Air {
    Calm,
    Windy,
}

impl Air {
    const BOTH: [Self; 2] = [Self::Calm, Self::Windy];

    fn rules(self) -> JetCarConfig {
        match self {
            Self::Calm => JetCarConfig::default(),
            Self::Windy => JetCarConfig::windy(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Windy => "random wind",
        }
    }
}

struct JetCarCell {
    weather: Air,
    rtt: Span,
    sight: Sight,
    score: Summary,
    cars_lost: f64,
    /// The share of runs whose last car was lost before the time was up.
    lost_share: f64,
}

struct JetCarRuns {
    rtts: Vec<Span>,
    parked: f64,
    cells: Vec<JetCarCell>,
}

impl JetCarRuns {
    fn play(settings: &Settings, progress: &dyn Progress) -> Self {
        let one_way = settings.delays_or(&RTTS_MS.map(|rtt| rtt / 2));
        let rtts: Vec<Span> = one_way.iter().map(|delay| *delay + *delay).collect();
        let jitter = settings.jitter.map_or(JITTER, |each_way| each_way + each_way);
        let mut kinds = Vec::new();
        for weather in Air::BOTH {
            for &rtt in &rtts {
                kinds.extend(SIGHTS.map(|sight| (weather, rtt, sight)));
            }
        }
        let dice = Random::from_seed(settings.seed).fork(13);
        // The same courses, gusts and links for every bot.
        let seeds: Vec<u64> = (0..RUNS).map(|run| dice.fork(run).bits()).collect();
        let trial = |(weather, rtt, sight): &(Air, Span, Sight), seed: u64| Trial {
            rules: weather.rules(),
            rtt: *rtt,
            jitter,
            sight: *sight,
            seed,
        };
        let trials: Vec<Trial> =
            kinds.iter().flat_map(|kind| seeds.iter().map(move |seed| trial(kind, *seed))).collect();
        progress.begin("driving", trials.len() as u64);
        let runs = map_in_order(&trials, progress, Trial::run);
        let cells =
            kinds.iter().zip(runs.chunks(seeds.len())).map(|(kind, runs)| JetCarCell::new(*kind, runs));
        let parked = seeds.iter().map(|seed| parked(*seed)).sum::<f64>() / seeds.len() as f64;
        Self { rtts, parked, cells: cells.collect() }
    }

    fn cell(&self, weather: Air, rtt: Span, sight: usize) -> &JetCarCell {
        let wanted =
            |cell: &&JetCarCell| (cell.weather, cell.rtt, cell.sight) == (weather, rtt, SIGHTS[sight]);
        self.cells.iter().find(wanted).expect("everything was played")
    }

    fn score(&self, weather: Air, rtt: Span, sight: usize) -> f64 {
        self.cell(weather, rtt, sight).score.mean
    }

    fn table(&self) -> Rows {
        let mut rows = Rows::new([
            Column::text("wind", "weather"),
            Column::number("rtt_ms", "round trip", "ms").decimals(0),
            Column::text("compensation", "compensation"),
            Column::number("score", "mean score", "").decimals(1),
            Column::number("score_low", "95 %, from", "").decimals(1),
            Column::number("score_high", "to", "").decimals(1),
            Column::number("cars_lost", "cars lost", "of 3").decimals(2),
            Column::number("lost_percent", "runs that lost all three", "%").decimals(0),
        ]);
        for cell in &self.cells {
            rows.push(cells![
                cell.weather.name(),
                cell.rtt.as_millis_f64(),
                cell.sight.name(),
                cell.score.mean,
                cell.score.interval.0,
                cell.score.interval.1,
                cell.cars_lost,
                100.0 * cell.lost_share,
            ]);
        }
        rows
    }

    fn between(&self, from_ms: i64, to_ms: i64) -> impl Iterator<Item = Span> {
        let range = Span::from_millis(from_ms)..=Span::from_millis(to_ms);
        self.rtts.iter().copied().filter(move |rtt| range.contains(rtt))
    }

    fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for weather in Air::BOTH {
            claims.push(self.good_when_near(weather));
            claims.push(self.on_loses_far_less(weather));
        }
        claims.push(self.off_is_like_parking());
        claims.push(self.wind_hurts());
        claims.push(self.wind_cannot_be_played());
        claims.push(self.on_suffers_too());
        claims.push(self.prototype_is_worse());
        claims
    }

    fn good_when_near(&self, weather: Air) -> Claim {
        let near = self.between(0, 40);
        let scores: Vec<f64> =
            near.flat_map(|rtt| [OFF, ON].map(|sight| self.score(weather, rtt, sight))).collect();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        let is_calm = weather == Air::Calm;
        let judgement = match is_calm {
            _ if scores.is_empty() => judge::not_applicable(),
            true => judge::about(mean, 100.0),
            false => judge::above(mean, 0.0),
        };
        let text = if is_calm {
            "about 100 points up to 40 ms, on and off"
        } else {
            "playable up to 40 ms, on and off"
        };
        let claim =
            Claim::new(format!("X13.near-{}", id(weather)), format!("{}: {text}", weather.name()), judgement)
                .unit("points, mean");
        if !is_calm {
            return claim;
        }
        claim.paper("≈ 100").remark(
            "not an independent finding: the bot's skill was set so that it scores what Buchheit 2004's player did without delay. Another seed's courses make it \
             some five points better or worse",
        )
    }

    /// Points lost to delay, against the nearest round trip.
    fn lost(&self, weather: Air, rtt: Span, sight: usize) -> f64 {
        let nearest = self.rtts.iter().min().copied().unwrap_or(rtt);
        self.score(weather, nearest, sight) - self.score(weather, rtt, sight)
    }

    fn on_loses_far_less(&self, weather: Air) -> Claim {
        // Where most runs end early there is no score to compare, as Buchheit 2004 found.
        let far: Vec<Span> = self
            .between(100, 800)
            .filter(|rtt| self.cell(weather, *rtt, OFF).lost_share < judge::MOST)
            .collect();
        let ratio = |rtt: &Span| self.lost(weather, *rtt, OFF) / self.lost(weather, *rtt, ON).max(1.0);
        let least = far.iter().map(ratio).fold(f64::INFINITY, f64::min);
        let judgement = if far.is_empty() { judge::not_applicable() } else { judge::multifold(least, 1.0) };
        let ratios: Vec<String> =
            far.iter().map(|rtt| format!("{:.1} at {}", ratio(rtt), in_ms(*rtt))).collect();
        Claim::new(
            format!("X13.on-{}", id(weather)),
            format!("{}: from 100 to 800 ms, wherever most runs without compensation last, delay costs them a multiple of what it costs with it",
                weather.name()
            ),
            judgement,
        )
        .unit("× the points lost with it, at least")
        .paper(if weather == Air::Calm { "≈ 100 against ≈ −165" } else { "better throughout" })
        .remark(format!(
            "{}; runs that lose their last car at 800 ms: {:.0} % off, {:.0} % on. A bot that loses it early loses no more points: where that \
             happens, off looks better than it is",
            ratios.join(", "),
            self.lost_percent(weather, 800, OFF),
            self.lost_percent(weather, 800, ON)
        ))
    }

    fn lost_percent(&self, weather: Air, rtt_ms: i64, sight: usize) -> f64 {
        self.between(rtt_ms, rtt_ms)
            .map(|rtt| 100.0 * self.cell(weather, rtt, sight).lost_share)
            .next()
            .unwrap_or(f64::NAN)
    }

    fn off_is_like_parking(&self) -> Claim {
        let far: Vec<f64> = self.between(400, 1600).map(|rtt| self.score(Air::Calm, rtt, OFF)).collect();
        let least = far.iter().copied().fold(f64::INFINITY, f64::min);
        Claim::new(
            "X13.parked",
            "calm: without compensation a long way brings the score down to that of a parked car",
            if far.is_empty() { judge::not_applicable() } else { judge::at_most(least, self.parked + 20.0) },
        )
        .unit("points, the least from 400 ms on")
        .paper("−165, like parking")
        .stricter("like parking is within 20 points of it")
        .remark(format!(
            "a parked car ends at {:.0} here; Buchheit 2004's number was used to set how much comes down",
            self.parked
        ))
    }

    fn wind_hurts(&self) -> Claim {
        let pairs = self.rtts.iter().flat_map(|rtt| {
            [OFF, ON]
                .map(|sight| (*rtt, self.score(Air::Windy, *rtt, sight), self.score(Air::Calm, *rtt, sight)))
        });
        // A bot that is out after half a minute has hardly lost points: there the score says
        // nothing.
        let lasts = |rtt: Span, sight: &usize| self.cell(Air::Windy, rtt, *sight).lost_share <= EARLY_MAX;
        let counted: Vec<(f64, f64)> = { pairs }
            .filter(|(rtt, ..)| [OFF, ON].iter().all(|sight| lasts(*rtt, sight)))
            .map(|(_, windy, calm)| (calm, windy))
            .collect();
        let least = counted.iter().map(|(calm, windy)| calm - windy).fold(f64::INFINITY, f64::min);
        let judgement = if counted.is_empty() { judge::not_applicable() } else { judge::above(least, 0.0) };
        Claim::new("X13.wind", "wind costs points, with and without compensation", judgement)
            .unit("points, at least")
            .paper("much more rapid loss in both")
            .remark(format!(
                "over {} cells; round trips at which more than a tenth of the runs in wind lose all three cars are left out, because \
                 they end early",
                counted.len()
            ))
    }

    fn wind_cannot_be_played(&self) -> Claim {
        let far: Vec<Span> = self.between(800, i64::MAX / 2_000).collect();
        let least =
            far.iter().map(|rtt| self.cell(Air::Windy, *rtt, OFF).lost_share).fold(f64::INFINITY, f64::min);
        let highest =
            far.iter().map(|rtt| self.score(Air::Windy, *rtt, OFF)).fold(f64::NEG_INFINITY, f64::max);
        let judgement = if far.is_empty() { judge::not_applicable() } else { judge::most(least) };
        Claim::new(
            "X13.wind-unplayable",
            "with wind and without compensation most runs from 800 ms on lose all three cars before the time is up",
            judgement,
        )
        .unit("share of runs, at least")
        .paper("could not be measured")
        .remark(format!("the best mean score there is {highest:.0}: at most 0 is unplayable"))
    }

    fn on_suffers_too(&self) -> Claim {
        let (near, far) = (self.rtts.iter().min(), self.rtts.iter().max());
        let judgement = match near.zip(far) {
            Some((near, far)) if *far >= Span::from_millis(1600) => {
                judge::well_below(self.score(Air::Calm, *far, ON), self.score(Air::Calm, *near, ON))
            }
            _ => judge::not_applicable(),
        };
        Claim::new("X13.on-far", "calm: at 1600 ms compensated play suffers too", judgement)
            .unit("points")
            .paper("new obstructions seem to begin at the bottom")
    }

    fn prototype_is_worse(&self) -> Claim {
        let far: Vec<Span> = self
            .between(200, 1600)
            .filter(|rtt| self.cell(Air::Calm, *rtt, PROTOTYPE).lost_share < judge::MOST)
            .collect();
        let pairs = far.iter().map(|rtt| {
            let [prototype, on] = [PROTOTYPE, ON].map(|sight| self.score(Air::Calm, *rtt, sight));
            on - prototype
        });
        let least = pairs.fold(f64::INFINITY, f64::min);
        Claim::new(
            "X13.prototype",
            "calm, ours: from 200 ms on, wherever most of its runs last, Buchheit 2004's prototype scores less than replaying the inputs through \
             the physics",
            if far.is_empty() { judge::not_applicable() } else { judge::above(least, 0.0) },
        )
        .unit("points less, at least")
        .remark("it moves the car but not its velocity: a player that brakes sees the car go on")
    }

    fn notes(&self) -> Vec<String> {
        let ahead: Vec<String> = self
            .between(0, 40)
            .map(|rtt| {
                let [off, on] = [OFF, ON].map(|sight| self.cell(Air::Calm, rtt, sight).score);
                format!("{}: {:.1} on, {:.1} off (±{:.1})", in_ms(rtt), on.mean, off.mean, off.half_width())
            })
            .collect();
        let unaware: Vec<String> = self
            .between(400, 1600)
            .map(|rtt| {
                let cell = self.cell(Air::Calm, rtt, UNAWARE);
                format!("{} {:.0} points, {:.1} cars", in_ms(rtt), cell.score.mean, cell.cars_lost)
            })
            .collect();
        vec![
            "The bot's behaviour under delay was partly shaped by Buchheit 2004's numbers: how it loses its nerve when the car does not do what \
             its hands did, and how gently a player steers that is used to a delay, were chosen so that uncompensated play ends near a \
             parked car's score rather than in the walls. The curve without compensation is therefore a reconstruction of Buchheit 2004's player and \
             not evidence about people. What compensation and wind do to that player was not tuned."
                .into(),
            format!("At low round trips, calm: {}. No difference beyond the bands.", ahead.join("; ")),
            format!(
                "A bot that is not used to the delay drives into the walls instead of parking: {}. A run that ends early ends with few \
                 points lost, so its score must be read with the cars.",
                unaware.join(", ")
            ),
            format!("{RUNS} runs each, the same courses for all. Bands are 95 % bootstrap intervals of the mean."),
        ]
    }

    fn figure(&self, weather: Air) -> Figure {
        let line = |sight: &Sight| {
            let cells: Vec<&JetCarCell> =
                self.cells.iter().filter(|cell| (cell.weather, cell.sight) == (weather, *sight)).collect();
            // A score of runs that ended early says nothing: Buchheit 2004 left it out as well.
            let drawn =
                |cell: &JetCarCell| if cell.lost_share < judge::MOST { cell.score.mean } else { f64::NAN };
            let points: Vec<(f64, f64)> =
                cells.iter().map(|cell| (cell.rtt.as_millis_f64(), drawn(cell))).collect();
            let band: Vec<(f64, f64)> = cells.iter().map(|cell| cell.score.interval).collect();
            Line::new(sight.name(), points).band(band)
        };
        let (number, caption) = match weather {
            Air::Calm => (
                7,
                "Without compensation the score falls to that of a parked car; with it the car stays under control until new \
                 obstructions cannot be seen in time. Lines end where most runs lose all three cars.",
            ),
            Air::Windy => (
                8,
                "No player can foresee a gust: both suffer. Lines end where most runs lose all three cars before the time is up.",
            ),
        };
        Figure::new(
            format!("x13-{}", id(weather)),
            format!("Score after two minutes, {} (Buchheit 2004's figure {number})", weather.name()),
            Axis::new("round trip", "ms").logarithmic(),
            Axis::new("mean score", "points"),
            Plot::Lines(SIGHTS.iter().map(line).collect()),
        )
        .caption(caption)
    }
}

impl JetCarCell {
    fn new((weather, rtt, sight): (Air, Span, Sight), runs: &[TrialResult]) -> Self {
        let count = runs.len() as f64;
        Self {
            weather,
            rtt,
            sight,
            score: Summary::of(&runs.iter().map(|run| run.score).collect::<Vec<_>>()),
            cars_lost: runs.iter().map(|run| run.cars_lost).sum::<f64>() / count,
            lost_share: runs.iter().filter(|run| run.is_lost).count() as f64 / count,
        }
    }
}

fn id(weather: Air) -> &'static str {
    match weather {
        Air::Calm => "calm",
        Air::Windy => "wind",
    }
}

/// The score of a car without a driver.
fn parked(seed: u64) -> f64 {
    use fairpath_games::jet_car::{Input, JetCar};
    let mut game = JetCar::new(JetCarConfig::default(), seed).expect("the usual rules are sound");
    game.step(Input::IDLE, game.config().ticks() as u32);
    f64::from(game.scene().score)
}
