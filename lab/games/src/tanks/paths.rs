//! Motion that is the same for every method that is compared.

use std::time::Duration;

use fairpath::vector::{Vec2, Vector};
use fairpath::{Observation, State};

use super::{HALF_SIDE, Match, TANKS_MAX, TICK_RATE, TanksConfig};

/// A recording of tanks driven by bots, from a seed. The truth is known at any instant.
///
/// Each field of up to 64 tanks is a match of its own. Fields lie side by side.
#[derive(Clone, Debug)]
pub struct TankPaths {
    tanks: Vec<Vec<TankSample>>,
}

/// A tank at one tick, stored so that a thousand tanks for minutes fit into memory.
#[derive(Clone, Copy, Debug)]
struct TankSample {
    position: [f32; 2],
    velocity: [f32; 2],
    heading: f32,
    turn_rate: f32,
    /// The tank was moved here since the tick before.
    has_jumped: bool,
}

/// Distance between the centres of two fields.
pub const FIELD: f64 = 2.0 * HALF_SIDE + 50.0;
/// Time before the recording starts: tanks begin at home and need this long to spread out.
const WARM_UP: Duration = Duration::from_secs(20);
/// Shots fall short, so that no tank is destroyed and put elsewhere. A tank that jumps across the
/// field is wrong on every screen by so much that a mean would show nothing else.
const SHOT_RANGE: f64 = 1.0;
/// Below this speed a tank counts as standing, in units per second.
const STANDING: f64 = 0.5;

impl TankPaths {
    pub fn record(tanks: usize, lasting: Duration, seed: u64) -> Self {
        let (fields, side) = fields(tanks);
        let mut recorded = Vec::with_capacity(tanks);
        for field in 0..fields {
            let here = (tanks - recorded.len()).min(TANKS_MAX as usize) as u32;
            let at = |step: usize| (step as f64 - (side as f64 - 1.0) / 2.0) * FIELD;
            let middle = Vec2::new(at(field % side), at(field / side));
            recorded.extend(play(here, lasting, seed + field as u64, middle));
        }
        Self { tanks: recorded }
    }

    /// Returns how far from the centre of the world this many tanks can get, on each axis.
    pub fn reach(tanks: usize) -> f64 {
        fields(tanks).1 as f64 * FIELD / 2.0
    }

    pub fn len(&self) -> usize {
        self.tanks.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tanks.is_empty()
    }

    /// Returns the share of the time that a tank drives, on average.
    pub fn share_moving(&self) -> f64 {
        let samples = || self.tanks.iter().flatten();
        let moving = samples().filter(|sample| sample.state().velocity.length() > STANDING).count();
        moving as f64 / samples().count() as f64
    }

    /// Returns the state of a tank this long after the beginning. After the end it stands.
    pub fn truth(&self, tank: usize, at: Duration) -> State<Vec2> {
        let (tick, part) = split(at);
        let samples = &self.tanks[tank];
        let Some(sample) = samples.get(tick) else {
            let last = samples.last().expect("a recording has ticks").state();
            return State { velocity: Vec2::ZERO, ..last }.with_heading(0.0, 0.0);
        };
        let (state, dt) = (sample.state(), part / f64::from(TICK_RATE.as_hz()));
        let position = match samples.get(tick + 1) {
            Some(next) if !next.has_jumped => {
                state.position + (next.state().position - state.position) * part
            }
            _ => state.position + state.velocity * dt,
        };
        let turn = f64::from(sample.turn_rate) * dt;
        let (sin, cos) = (libm::sin(turn), libm::cos(turn));
        let Vec2 { x, y } = state.velocity;
        let velocity = Vec2::new(cos * x - sin * y, sin * x + cos * y);
        State { position, velocity, ..state }
            .with_heading(f64::from(sample.heading) + turn, f64::from(sample.turn_rate))
    }

    /// Returns when a tank is put elsewhere, in order.
    pub fn jumps(&self, tank: usize) -> impl Iterator<Item = Duration> + '_ {
        let at = |tick: usize| Duration::from_secs_f64(tick as f64 / f64::from(TICK_RATE.as_hz()));
        let jumped = self.tanks[tank].iter().enumerate().filter(|(_, sample)| sample.has_jumped);
        jumped.map(move |(tick, _)| at(tick))
    }

    /// Returns the same state as the observation of an owner that last looked at `before`.
    pub fn observe(&self, tank: usize, before: Duration, at: Duration) -> Observation<Vec2> {
        let truth = self.truth(tank, at);
        let since = (split(before).0 + 1).min(self.tanks[tank].len());
        let until = (split(at).0 + 1).clamp(since, self.tanks[tank].len());
        let has_jumped = self.tanks[tank][since..until].iter().any(|sample| sample.has_jumped);
        if has_jumped { Observation::Jumped(truth) } else { Observation::Moved(truth) }
    }
}

impl TankSample {
    fn state(&self) -> State<Vec2> {
        let vector = |[x, y]: [f32; 2]| Vec2::new(x.into(), y.into());
        State::moving(vector(self.position), vector(self.velocity))
            .with_heading(self.heading.into(), self.turn_rate.into())
    }
}

/// Returns the number of fields that this many tanks need, and how many lie side by side.
fn fields(tanks: usize) -> (usize, usize) {
    let fields = tanks.div_ceil(TANKS_MAX as usize);
    (fields, (fields as f64).sqrt().ceil() as usize)
}

/// Returns the tick that contains an instant, and how far into the tick it is.
fn split(at: Duration) -> (usize, f64) {
    let ticks = at.as_secs_f64() * f64::from(TICK_RATE.as_hz());
    (ticks as usize, ticks.fract())
}

/// Plays one match and returns every tank's samples.
fn play(tanks: u32, lasting: Duration, seed: u64, middle: Vec2) -> Vec<Vec<TankSample>> {
    let tanks_each = [tanks.div_ceil(2), tanks / 2];
    let config = TanksConfig { tanks: tanks_each, shot_range: SHOT_RANGE, ..TanksConfig::default() };
    let mut game = Match::of_bots(config, seed).expect("the default rules are valid");
    let ticks = |time: Duration| split(time).0;
    (0..ticks(WARM_UP)).for_each(|_| game.step());
    let mut recorded = vec![Vec::with_capacity(ticks(lasting)); tanks as usize];
    for _ in 0..=ticks(lasting) {
        for (tank, samples) in game.tanks().tanks().iter().zip(&mut recorded) {
            let state = tank.state();
            let velocity = if tank.is_alive() { state.velocity } else { Vec2::ZERO };
            let position = state.position + middle;
            samples.push(TankSample {
                position: [position.x as f32, position.y as f32],
                velocity: [velocity.x as f32, velocity.y as f32],
                heading: state.orientation as f32,
                turn_rate: if tank.is_alive() { state.spin as f32 } else { 0.0 },
                has_jumped: matches!(tank.observation(), Some(Observation::Jumped(_))),
            });
        }
        game.step();
    }
    recorded
}

#[cfg(test)]
mod tests {
    use super::*;

    const LASTING: Duration = Duration::from_secs(20);

    #[test]
    fn the_same_seed_gives_the_same_motion_and_most_of_it_moves() {
        let paths = TankPaths::record(64, LASTING, 7);
        let again = TankPaths::record(64, LASTING, 7);
        let at = Duration::from_millis(4_321);
        for tank in 0..paths.len() {
            assert_eq!(paths.truth(tank, at), again.truth(tank, at));
        }
        assert!(paths.share_moving() >= 0.9, "only {} move", paths.share_moving());
    }

    #[test]
    fn what_moves_does_not_leap_between_ticks_and_what_leaps_says_so() {
        let paths = TankPaths::record(16, LASTING, 7);
        let step = Duration::from_millis(5);
        for tank in 0..paths.len() {
            let mut before = paths.truth(tank, Duration::ZERO);
            for look in 1..3_000 {
                let at = step * look;
                let observed = paths.observe(tank, at - step, at);
                let far = before.position.distance(observed.state().position);
                let is_far = far > 2.0 * 25.0 * step.as_secs_f64() + 1e-3;
                let has_jumped = matches!(observed, Observation::Jumped(_));
                assert!(has_jumped || !is_far, "tank {tank} leaps {far} at {at:?}");
                before = *observed.state();
            }
        }
    }
}
