//! The cost of a prediction 0.3 to 2.1 s ahead, for each predictor; the trend line's with cars.

use std::sync::Arc;

use fairpath::random::Random;
use fairpath::vector::Vec2;
use fairpath_games::ethereal::{Keys, Map, TOP_SPEED};
use fairpath_games::race::{LapDice, Preset, RaceConfig, Track, record_laps};
use fairpath_predict::{
    Adaptive, Body, Condition, Ekb, Fading, Grid, Hm, Hybrid, InputScheme, Is, Known, LapPart, LapShape,
    Linear, Oaekb, Objective, Order, Other, Predictor, Relation, Ridge, SpeedRule, TICK_SECS,
    TICKS_AHEAD_MAX, TangentPredictor, Tdm, TrendLine, TrendLinePredictor,
};

use crate::measure::{BenchTable, Contender};

/// Shi 2014's delays: 300 to 2100 ms.
const HORIZONS: [u32; 7] = [18, 36, 54, 72, 90, 108, 126];
/// Players that are predicted in turn. Each has surroundings of its own.
const SUBJECTS: usize = 32;
const HISTORY: usize = 130;
const CROWDS: [usize; 2] = [16, 64];
/// Ticks that the adaptive predictor learns before it is measured: its farthest horizon.
const WARM_UP_TICKS: u32 = TICKS_AHEAD_MAX;
/// Predictors whose cost should grow no faster than the number of players.
const LINEAR_IN_PLAYERS: [&str; 6] = ["EKB", "OAEKB", "hybrid EKB", "hybrid OAEKB", "IS", "HM"];

pub(crate) fn bench() -> BenchTable {
    let map = Map::crossing();
    let grid = map.to_grid();
    let crowds = CROWDS.map(|players| {
        let mut random = Random::from_seed(players as u64);
        (0..SUBJECTS).map(|_| Situation::new(players, &map, &mut random)).collect::<Vec<_>>()
    });
    let drive = Drive::new();
    let mut contenders = Vec::new();
    for (players, situations) in CROWDS.into_iter().zip(&crowds) {
        for predictor in predictors(&map) {
            contenders.push(contender(predictor, players, situations, &grid));
        }
        contenders.push(adaptive_predicts(players, situations, &grid));
        contenders.push(adaptive_learns(players, situations, &grid));
    }
    contenders.extend(drive.contenders());
    let table = BenchTable::measure("Prediction: one query of 7 horizons, 300 to 2100 ms", contenders);
    LINEAR_IN_PLAYERS
        .into_iter()
        .fold(table, |table, name| {
            let ratio = table.ratio(&row(name, CROWDS[1]), &row(name, CROWDS[0]));
            table.note(format!("{name}: 64 players cost {ratio:.2} times as much as 16"))
        })
        .note("goal: at most 4 times, linear in players; the trend line below 1 µs")
        .note("adaptive: goal at most 1000 ns per query; it learns at every third tick, and the row is the mean over all ticks")
}

fn row(name: &str, players: usize) -> String {
    format!("{name}, {players} players")
}

fn contender<'a>(
    mut predictor: Box<dyn Predictor>,
    players: usize,
    situations: &'a [Situation],
    grid: &'a Grid,
) -> Contender<'a> {
    let name = row(predictor.name(), players);
    Contender::new(name, situations.len(), move || {
        let mut positions = [Vec2::default(); HORIZONS.len()];
        let mut sum = 0.0;
        for (subject, situation) in situations.iter().enumerate() {
            let known = situation.known(grid);
            predictor.learn(subject, &known);
            if predictor.predict(subject, &known, &HORIZONS, &mut positions).is_ok() {
                sum += positions[HORIZONS.len() - 1].x;
            }
        }
        sum
    })
}

/// The cost of a query. The predictor has learned before, and learns nothing now.
fn adaptive_predicts<'a>(players: usize, situations: &'a [Situation], grid: &'a Grid) -> Contender<'a> {
    let mut predictor = adaptive();
    for _ in 0..WARM_UP_TICKS {
        for (subject, situation) in situations.iter().enumerate() {
            predictor.learn(subject, &situation.known(grid));
        }
    }
    Contender::new(row("adaptive, predict", players), situations.len(), move || {
        let mut positions = [Vec2::default(); HORIZONS.len()];
        let mut sum = 0.0;
        for (subject, situation) in situations.iter().enumerate() {
            if predictor.predict(subject, &situation.known(grid), &HORIZONS, &mut positions).is_ok() {
                sum += positions[HORIZONS.len() - 1].x;
            }
        }
        sum
    })
}

/// The cost of learning at every tick of every player, with or without a query.
fn adaptive_learns<'a>(players: usize, situations: &'a [Situation], grid: &'a Grid) -> Contender<'a> {
    let mut predictor = adaptive();
    let learn = move || {
        for (subject, situation) in situations.iter().enumerate() {
            predictor.learn(subject, &situation.known(grid));
        }
        0.0
    };
    Contender::new(row("adaptive, learn", players), situations.len(), learn)
}

fn adaptive() -> Adaptive {
    Adaptive::new(TOP_SPEED, Objective::Mean)
}

fn predictors(map: &Map) -> Vec<Box<dyn Predictor>> {
    vec![
        Box::new(Linear),
        Box::new(Tdm),
        Box::new(Fading::new(0.3)),
        Box::new(Ridge::default()),
        Box::new(InputScheme { order: Order::InputPosition, game: Some(map.clone()) }),
        Box::new(InputScheme { order: Order::InputVelocity, game: Some(map.clone()) }),
        Box::new(InputScheme { order: Order::InputAcceleration, game: Some(map.clone()) }),
        Box::new(Is::default()),
        Box::new(Hm::default()),
        Box::new(Ekb::default()),
        Box::new(Oaekb::default()),
        Box::new(Hybrid::<Ekb>::default()),
        Box::new(Hybrid::<Oaekb>::default()),
    ]
}

/// Cars all around a track, and the trend line of their laps.
struct Drive {
    line: Arc<TrendLine>,
    laps: Vec<Vec<Body>>,
}

impl Drive {
    fn new() -> Self {
        let track = Arc::new(Track::preset(Preset::Harbour));
        let laps = record_laps(&track, RaceConfig::default(), 2, LapDice::Learning(1)).unwrap_or_default();
        let laps: Vec<Vec<Body>> = laps
            .iter()
            .map(|lap| {
                let pairs = lap.samples.windows(2).map(|pair| (pair[0].position, pair[1].position));
                let body = |(from, to): (Vec2, Vec2)| Body {
                    position: to,
                    velocity: (to - from) * (1.0 / TICK_SECS),
                    ..Body::default()
                };
                pairs.map(body).collect()
            })
            .collect();
        let places: Vec<Vec<Vec2>> =
            laps.iter().map(|lap| lap.iter().map(|body| body.position).collect()).collect();
        let parts = laps.iter().zip(&places).map(|(known, places)| vec![LapPart { known, places }]);
        let parts: Vec<Vec<LapPart<'_>>> = parts.collect();
        let line = TrendLine::from_laps(&parts, LapShape::Circuit, TrendLine::SMOOTHING);
        Self { line: Arc::new(line.expect("the laps make a trend line")), laps }
    }

    /// Each car is one tick farther at every query, as in a race.
    fn contenders(&self) -> Vec<Contender<'_>> {
        let predictors: [Box<dyn Predictor>; 2] = [
            Box::new(TrendLinePredictor::new(Arc::clone(&self.line))),
            Box::new(TangentPredictor::new(Arc::clone(&self.line), SpeedRule::Differences)),
        ];
        let contender = |mut predictor: Box<dyn Predictor>| {
            let mut ticks: Vec<usize> = (0..SUBJECTS).map(|subject| 60 * (subject + 1)).collect();
            Contender::new(predictor.name().to_owned(), SUBJECTS, move || {
                let mut positions = [Vec2::default(); HORIZONS.len()];
                let mut sum = 0.0;
                for (subject, tick) in ticks.iter_mut().enumerate() {
                    let lap = &self.laps[subject % self.laps.len()];
                    *tick = if *tick < lap.len() { *tick + 1 } else { 61 };
                    let known = Known { history: &lap[..(*tick).min(lap.len())], ..Known::default() };
                    if predictor.predict(subject, &known, &HORIZONS, &mut positions).is_ok() {
                        sum += positions[HORIZONS.len() - 1].x;
                    }
                }
                sum
            })
        };
        predictors.into_iter().map(contender).collect()
    }
}

/// What a predictor knows: a player that turns now and then, among others on Ethereal's map.
struct Situation {
    history: Vec<Body>,
    inputs: Vec<Vec2>,
    others: Vec<Other>,
}

impl Situation {
    fn new(players: usize, map: &Map, random: &mut Random) -> Self {
        let others = (1..players).map(|number| Other {
            relation: if number % 2 == 0 { Relation::Friend } else { Relation::Enemy },
            body: body(map, random),
            ticks_ago: 0,
            condition: Condition { health: random.between(0.1, 1.0), ammo: random.between(0.0, 1.0) },
        });
        let others = others.collect();
        let mut at = body(map, random);
        let mut inputs = Vec::new();
        let history = (0..HISTORY).map(|_| {
            if random.chance(0.02) {
                at.velocity = way(random) * 360.0;
            }
            at.position += at.velocity * TICK_SECS;
            inputs.push(at.velocity * (1.0 / 360.0));
            at
        });
        Self { history: history.collect(), inputs, others }
    }

    fn known<'a>(&'a self, grid: &'a Grid) -> Known<'a> {
        Known {
            history: &self.history,
            others: &self.others,
            world: Some(grid),
            inputs: &self.inputs,
            ..Known::default()
        }
    }
}

/// Returns a player at a random free place of the map.
fn body(map: &Map, random: &mut Random) -> Body {
    let high = map.bounds().high;
    let position = loop {
        let place = Vec2::new(random.between(-high.x, high.x), random.between(-high.y, high.y));
        if map.is_clear(place) {
            break place;
        }
    };
    Body { position, velocity: way(random) * 360.0, ..Body::default() }
}

fn way(random: &mut Random) -> Vec2 {
    Keys::WAYS[random.below(8) as usize].direction()
}
