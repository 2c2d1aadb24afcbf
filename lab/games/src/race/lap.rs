//! Recorded laps: the training and evaluation data of a trend line.

use std::fmt::Write;
use std::sync::Arc;

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;

use super::bot::{Bot, DrivingPlan, Style};
use super::config::RaceConfig;
use super::heat::{Driver, Heat};
use super::track::{Shape, Track};
use super::world::{Race, RaceEvent};
use crate::shared::OutOfRange;

/// One lap of one car, from line to line; on a stage one run from start to finish.
#[derive(Clone, Debug, PartialEq)]
pub struct Lap {
    pub car: EntityId,
    /// The style of the bot that drove; `None` if no bot did.
    pub style: Option<Style>,
    /// The number of the car's lap, counted from one. The first one begins slowly, from the grid.
    pub number: u32,
    /// The lap time, interpolated between ticks.
    pub time: Span,
    /// The car's position at every tick of the lap.
    pub samples: Vec<LapSample>,
    /// The number of collisions. Sliding along a wall counts in every tick.
    pub hits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LapSample {
    /// The time since the car crossed the line.
    pub at: Span,
    /// The position, in metres.
    pub position: Vec2,
}

/// The longest stored lap, in samples: ten minutes. A longer one is not a real lap.
pub const LAP_SAMPLES_MAX: usize = 10 * 60 * 60;

/// Observes a race and stores every complete lap.
#[derive(Clone, Debug, Default)]
pub struct LapRecorder {
    begun: Vec<Option<BegunLap>>,
    laps: Vec<Lap>,
}

#[derive(Clone, Debug)]
struct BegunLap {
    at: SharedInstant,
    samples: Vec<LapSample>,
    hits: u32,
}

impl BegunLap {
    fn new(at: SharedInstant) -> Self {
        Self { at, samples: Vec::new(), hits: 0 }
    }
}

impl LapRecorder {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the last tick. Call it after every tick.
    pub fn observe(&mut self, race: &Race) {
        self.begun.resize_with(race.cars().len(), || None);
        for event in race.events() {
            self.note(event);
        }
        for (car, begun) in race.cars().iter().zip(&mut self.begun) {
            if let Some(lap) = begun.as_mut().filter(|_| car.is_racing()) {
                lap.samples.push(LapSample { at: race.now() - lap.at, position: car.motion().position });
                if lap.samples.len() > LAP_SAMPLES_MAX {
                    *begun = None;
                }
            }
        }
    }

    fn note(&mut self, event: &RaceEvent) {
        match *event {
            RaceEvent::Started { car, at } => self.begun[car.0 as usize] = Some(BegunLap::new(at)),
            RaceEvent::LapDone { car, lap, time, at } => {
                let done = self.begun[car.0 as usize].replace(BegunLap::new(at));
                self.laps.extend(done.map(|BegunLap { samples, hits, .. }| Lap {
                    car,
                    style: None,
                    number: lap,
                    time,
                    samples,
                    hits,
                }));
            }
            RaceEvent::HitWall { car, .. } => self.hit(car),
            RaceEvent::Bumped { one, other, .. } => {
                self.hit(one);
                self.hit(other);
            }
            RaceEvent::Finished { .. } => {}
        }
    }

    fn hit(&mut self, car: EntityId) {
        if let Some(lap) = &mut self.begun[car.0 as usize] {
            lap.hits += 1;
        }
    }

    /// Returns the complete laps, in the order of completion.
    pub fn laps(&self) -> &[Lap] {
        &self.laps
    }

    pub fn into_laps(self) -> Vec<Lap> {
        self.laps
    }
}

/// The random stream of recorded drivers. The two kinds never share a stream, whatever their seeds:
/// a trend line must not be evaluated on its training laps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LapDice {
    /// The seed of training laps.
    Learning(u64),
    /// The seed of evaluation laps.
    Judging(u64),
}

impl LapDice {
    fn random(self) -> Random {
        match self {
            Self::Learning(seed) => Random::from_seed(seed).fork(0),
            Self::Judging(seed) => Random::from_seed(seed).fork(1),
        }
    }
}

/// Laps per heat. Then all cars restart from the grid, so that fast ones rarely lap slow ones.
const HEAT_LAPS: u32 = 5;
/// The slowest average before a heat is stopped, in seconds per metre: 2 m/s.
const SECS_PER_METRE_MAX: f64 = 0.5;

/// Records `laps_each` laps of each of the four [`Style`]s on one track, in heats of a few laps
/// with a random grid order. Jawad 2017's fifty runs of four drivers are `record_laps(track,
/// config, 50, …)`.
///
/// The numbers of cars and laps in `config` are ignored. Returns the laps by style.
pub fn record_laps(
    track: &Arc<Track>,
    config: RaceConfig,
    laps_each: u32,
    dice: LapDice,
) -> Result<Vec<Lap>, OutOfRange> {
    let plans = Style::ALL.map(|style| Arc::new(DrivingPlan::new(track, &config.car, style)));
    let dice = dice.random();
    let mut laps = Vec::new();
    let mut missing = laps_each;
    let mut heat_number = 0;
    while missing > 0 {
        let heat_laps = if track.shape() == Shape::Stage { 1 } else { missing.min(HEAT_LAPS) };
        let config = RaceConfig { cars: plans.len() as u32, laps: Some(heat_laps), ..config };
        laps.extend(record_heat(track, config, &plans, dice.fork(heat_number))?);
        missing -= heat_laps;
        heat_number += 1;
    }
    // A stable sort keeps each driver's laps in order.
    laps.sort_by_key(|lap| lap.style);
    Ok(laps)
}

fn record_heat(
    track: &Arc<Track>,
    config: RaceConfig,
    plans: &[Arc<DrivingPlan>],
    mut dice: Random,
) -> Result<Vec<Lap>, OutOfRange> {
    let mut grid: Vec<&Arc<DrivingPlan>> = plans.iter().collect();
    for place in (1..grid.len()).rev() {
        grid.swap(place, dice.below(place as u64 + 1) as usize);
    }
    let mut heat = Heat::new(Arc::clone(track), config, |id| {
        Driver::Bot(Bot::new(Arc::clone(grid[id.0 as usize]), config.car, dice.fork(id.0.into())))
    })?;
    let laps = f64::from(config.laps.unwrap_or(1));
    let patience = Span::from_secs_f64(60.0 + SECS_PER_METRE_MAX * track.length() * laps);
    let mut recorder = LapRecorder::new();
    while !heat.race().is_over() && heat.race().now().since_zero() < patience {
        heat.step();
        recorder.observe(heat.race());
    }
    let named = |lap: Lap| Lap { style: Some(grid[lap.car.0 as usize].style()), ..lap };
    Ok(recorder.into_laps().into_iter().map(named).collect())
}

/// Returns laps as a CSV table `lap,t,x,y`: the lap's number in the order given, from one, seconds
/// since the line, metres. Numbers are restored bit for bit.
pub fn laps_to_csv(laps: &[Lap]) -> String {
    let mut text = String::from("lap,t,x,y\n");
    for (number, lap) in (1u32..).zip(laps) {
        for LapSample { at, position } in &lap.samples {
            let (secs, Vec2 { x, y }) = (at.as_secs_f64(), *position);
            writeln!(text, "{number},{secs:?},{x:?},{y:?}").expect("a string takes everything");
        }
    }
    text
}
