//! The byte encoding of a race, and a client's prediction of it.

use std::sync::Arc;

use fairpath::number::EntityId;
use fairpath::time::{SharedInstant, Span};
use fairpath_compensate::Simulate;

use super::car::CarMotion;
use super::config::{CARS_MAX, RaceConfig};
use super::input::Input;
use super::track::{Place, Track};
use super::world::{Car, Condition, Race};
use crate::online::{BadMessage, Reader, WireState, Writer};
use crate::shared::PlayerInput;

/// The state of a race that a client is sent: everything but the track, which both ends have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RaceScene {
    pub tick: u64,
    pub cars: Vec<Car>,
}

/// A client's prediction of a race. Other cars keep their last inputs.
#[derive(Clone, Debug)]
pub struct RacePredictor {
    pub track: Arc<Track>,
    pub config: RaceConfig,
    /// The client's own car.
    pub car: EntityId,
}

impl RaceScene {
    pub fn of(race: &Race) -> Self {
        Self { tick: race.tick(), cars: race.cars().to_vec() }
    }

    /// Returns the race that continues from this scene.
    pub fn resume(&self, track: &Arc<Track>, config: RaceConfig) -> Race {
        Race::resumed(Arc::clone(track), config, self.tick, self.cars.clone())
    }
}

impl Simulate for RacePredictor {
    type State = RaceScene;
    type Input = Input;

    fn step(&self, grid: &mut RaceScene, input: &Input, ticks: u32) {
        let mut inputs: Vec<Input> = grid.cars.iter().map(Car::input).collect();
        if let Some(own) = inputs.get_mut(self.car.0 as usize) {
            *own = *input;
        }
        let mut race = grid.resume(&self.track, self.config);
        (0..ticks).for_each(|_| race.step(&inputs));
        *grid = RaceScene::of(&race);
    }
}

impl WireState for RaceScene {
    fn write(&self, out: &mut Writer) {
        out.u64(self.tick).u8(self.cars.len() as u8);
        self.cars.iter().for_each(|car| write_car(car, out));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, BadMessage> {
        let (tick, count) = (from.u64()?, from.u8()?);
        if tick > TICKS_MAX || u32::from(count) > CARS_MAX {
            return Err(BadMessage::Unknown(count));
        }
        let cars = (0..count.into()).map(|number| read_car(number, from)).collect::<Result<_, _>>()?;
        Ok(Self { tick, cars })
    }
}

/// The most ticks of a received race: three years. More would overflow instants.
const TICKS_MAX: u64 = 60 * 100_000_000;
/// The most rounds of a received car.
const ROUNDS_MAX: u32 = 1 << 20;

fn write_car(car: &Car, out: &mut Writer) {
    let Car { id: _, motion, place, rounds, input, laps_begun, lap_began_at, last_lap, best_lap, condition } =
        car;
    let CarMotion { position, velocity, acceleration, heading, turn_rate, steer } = motion;
    out.vector(*position).vector(*velocity).vector(*acceleration);
    out.f64(*heading).f64(*turn_rate).f64(*steer).f64(place.along).f64(place.offset);
    out.u32(rounds.cast_unsigned()).u32(*laps_begun);
    for axis in input.axes() {
        out.f64(axis);
    }
    write_instant(*lap_began_at, out);
    for lap in [last_lap, best_lap] {
        write_instant(lap.map(|lap| SharedInstant::ZERO + lap), out);
    }
    match condition {
        Condition::OnGrid => out.u8(0),
        Condition::Racing => out.u8(1),
        Condition::Finished { at } => {
            out.u8(2);
            write_instant(Some(*at), out);
            out
        }
    };
}

fn read_car(number: u32, from: &mut Reader<'_>) -> Result<Car, BadMessage> {
    let motion = CarMotion {
        position: from.vector()?,
        velocity: from.vector()?,
        acceleration: from.vector()?,
        heading: from.f64()?,
        turn_rate: from.f64()?,
        steer: from.f64()?,
    };
    let place = Place { along: from.f64()?, offset: from.f64()? };
    let (rounds, laps_begun) = (from.u32()?.cast_signed(), from.u32()?);
    if rounds.unsigned_abs() > ROUNDS_MAX || laps_begun > ROUNDS_MAX {
        return Err(BadMessage::NotFinite);
    }
    let axes = [from.f64()?, from.f64()?, from.f64()?, from.f64()?];
    let lap_began_at = read_instant(from)?;
    let mut lap = || read_instant(from).map(|at| at.map(SharedInstant::since_zero));
    let (last_lap, best_lap): (Option<Span>, Option<Span>) = (lap()?, lap()?);
    let condition = match from.u8()? {
        0 => Condition::OnGrid,
        1 => Condition::Racing,
        2 => Condition::Finished { at: read_instant(from)?.ok_or(BadMessage::Truncated)? },
        other => return Err(BadMessage::Unknown(other)),
    };
    let input = Input::from_axes(axes, 0).limited();
    let id = EntityId(number);
    Ok(Car { id, motion, place, rounds, input, laps_begun, lap_began_at, last_lap, best_lap, condition })
}

fn write_instant(at: Option<SharedInstant>, out: &mut Writer) {
    out.option(at, |out, at| {
        out.u64(at.as_micros().cast_unsigned());
    });
}

/// Reads an instant within the longest race.
fn read_instant(from: &mut Reader<'_>) -> Result<Option<SharedInstant>, BadMessage> {
    const MICROS_MAX: u64 = TICKS_MAX / 60 * 1_000_000;
    from.option(|from| match from.u64()? {
        micros if micros <= MICROS_MAX => Ok(SharedInstant::from_micros(micros.cast_signed())),
        _ => Err(BadMessage::NotFinite),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::Heat;
    use fairpath::random::Random;

    fn heat() -> Heat {
        let track = Arc::new(Track::generated(3));
        let config = RaceConfig { laps: None, ..RaceConfig::default() };
        Heat::of_bots(track, config, 3).expect("sound rules")
    }

    fn through_bytes(grid: &RaceScene) -> RaceScene {
        let mut out = Writer::default();
        grid.write(&mut out);
        let bytes = out.into_bytes();
        let mut from = Reader::new(&bytes);
        let read = RaceScene::read(&mut from).expect("what was written");
        from.end().expect("all of it");
        read
    }

    #[test]
    fn a_race_that_travelled_goes_on_as_if_it_had_not() {
        let mut heat = heat();
        // Past the line: there are laps to remember.
        (0..60 * 60).for_each(|_| heat.step());
        let grid = through_bytes(&RaceScene::of(heat.race()));
        let config = *heat.race().config();
        let mut resumed = grid.resume(heat.race().track(), config);
        assert_eq!(resumed.digest(), heat.race().digest());
        for _ in 0..300 {
            heat.step();
            let inputs: Vec<Input> = heat.race().cars().iter().map(Car::input).collect();
            resumed.step(&inputs);
            assert_eq!(resumed.digest(), heat.race().digest());
        }
    }

    #[test]
    fn a_client_predicts_with_the_races_own_step() {
        let mut heat = heat();
        (0..600).for_each(|_| heat.step());
        let wheel = RacePredictor {
            track: Arc::clone(heat.race().track()),
            config: *heat.race().config(),
            car: EntityId(0),
        };
        let mut grid = RaceScene::of(heat.race());
        let mut race = heat.race().clone();
        let mut inputs: Vec<Input> = race.cars().iter().map(Car::input).collect();
        inputs[0] = Input { throttle: 1.0, brake: 0.0, steer: 0.3 };
        wheel.step(&mut grid, &inputs[0], 30);
        (0..30).for_each(|_| race.step(&inputs));
        assert_eq!(grid, RaceScene::of(&race));
    }

    #[test]
    fn strangers_bytes_are_refused_or_played_and_nothing_panics() {
        let mut heat = heat();
        (0..120).for_each(|_| heat.step());
        let mut out = Writer::default();
        RaceScene::of(heat.race()).write(&mut out);
        let bytes = out.into_bytes();
        let wheel = RacePredictor {
            track: Arc::clone(heat.race().track()),
            config: *heat.race().config(),
            car: EntityId(0),
        };
        let mut random = Random::from_seed(9);
        for _ in 0..2_000 {
            let mut forged = bytes.clone();
            for _ in 0..=random.below(4) {
                let at = random.below(forged.len() as u64) as usize;
                forged[at] = random.bits() as u8;
            }
            forged.truncate(forged.len() - random.below(2) as usize);
            if let Ok(mut grid) = RaceScene::read(&mut Reader::new(&forged)) {
                wheel.step(&mut grid, &Input::IDLE, 2);
            }
        }
    }
}
