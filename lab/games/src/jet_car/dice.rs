//! The random events of a run: obstructions and gusts. Only the server knows them.

use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_sim::Digest;

use super::config::{Gusts, JetCarConfig, TICK_RATE};
use super::scene::{Gust, JetCarScene, OBSTRUCTIONS_MAX, Obstruction, Pace, Size};
use crate::shared::add_random;

/// Obstructions and wind have separate streams: the same obstructions with and without wind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dice {
    spawns: Random,
    wind: Random,
    spawn_at: u64,
    spawned: u32,
    gust_at: u64,
}

impl Dice {
    pub(super) fn new(rules: &JetCarConfig, seed: u64) -> Self {
        let dice = Random::from_seed(seed);
        let mut new = Self { spawns: dice.fork(0), wind: dice.fork(1), spawn_at: 0, spawned: 0, gust_at: 0 };
        new.spawn_at = new.next_spawn(rules);
        new.gust_at = rules.wind.map_or(u64::MAX, |gusts| new.next_gust(&gusts));
        new
    }

    /// Adds the obstruction and gust that appear in the next tick.
    pub(super) fn throw(&mut self, rules: &JetCarConfig, scene: &mut JetCarScene) {
        if scene.tick >= self.spawn_at {
            let obstruction = self.spawn(rules);
            if scene.obstructions.len() < OBSTRUCTIONS_MAX {
                scene.obstructions.push(obstruction);
            }
            self.spawn_at = scene.tick + self.next_spawn(rules);
        }
        if let Some(gusts) = rules.wind.filter(|_| scene.tick >= self.gust_at) {
            scene.gust = Some(self.gust(&gusts));
            self.gust_at = scene.tick + self.next_gust(&gusts);
        }
    }

    fn spawn(&mut self, rules: &JetCarConfig) -> Obstruction {
        self.spawned += 1;
        let size = Size::ALL[self.spawns.below(3) as usize];
        let pace = Pace::ALL[self.spawns.below(3) as usize];
        let mut obstruction = Obstruction { number: self.spawned, size, pace, position: Vec2::ZERO };
        let half = obstruction.extent(rules) * 0.5;
        obstruction.position = Vec2::new(self.spawns.between(half.x, rules.width - half.x), -half.y);
        obstruction
    }

    fn gust(&mut self, gusts: &Gusts) -> Gust {
        let strength = gusts.push_max * self.wind.between(1.0 / 3.0, 1.0);
        let secs = gusts.secs_max * self.wind.between(1.0 / 3.0, 1.0);
        let heading = self.wind.between(0.0, std::f64::consts::TAU);
        Gust { push: Vec2::from_heading(heading) * strength, ticks_left: ticks(secs) as u32 }
    }

    fn next_spawn(&mut self, rules: &JetCarConfig) -> u64 {
        ticks(rules.spawn_secs * self.spawns.between(0.5, 1.5))
    }

    fn next_gust(&mut self, gusts: &Gusts) -> u64 {
        ticks(gusts.gap_secs * self.wind.exponential())
    }

    pub(super) fn digest(&self, digest: &mut Digest) {
        add_random(&self.spawns, digest);
        add_random(&self.wind, digest);
        digest.u64(self.spawn_at).u32(self.spawned).u64(self.gust_at);
    }
}

/// Returns `secs` in whole ticks, at least one.
fn ticks(secs: f64) -> u64 {
    ((secs * f64::from(TICK_RATE.as_hz())).round() as u64).max(1)
}
