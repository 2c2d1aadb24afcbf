//! Real paths to measure against: one entity's states, 60 times a second.

use fairpath::State;
use fairpath::number::EntityId;
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::vector::{Planar, Vec2};
use fairpath_eval::recording::Recording;
use fairpath_games::tanks::{Match, Script, TanksConfig};

/// How often a game looks at its entities: 60 times per second, as BZFlag does.
pub const RATE: TickRate = TickRate::hz(60);

/// What one entity really did, tick by tick.
#[derive(Clone, Debug)]
pub struct Truth<V: Planar> {
    /// When, and what was true then; at least one.
    pub ticks: Vec<(SharedInstant, State<V>)>,
}

impl Truth<Vec2> {
    /// A lone tank on an open field, driven by a script.
    pub fn scripted(script: &Script, seed: u64, length: Span) -> Self {
        let mut game = Match::of_scripts(TanksConfig::lone_tank(), script, seed)
            .expect("the configuration for a lone tank is sound");
        let mut ticks = Vec::new();
        while game.tanks().now() - SharedInstant::ZERO < length {
            let tank = game.tanks().tank(EntityId(0)).expect("there is one tank");
            ticks.push((game.tanks().now(), tank.state()));
            game.step();
        }
        Self { ticks }
    }
}

impl<V: Planar> Truth<V> {
    /// Every clean stretch of at least `length_min` in a recording, of everything but the ball.
    pub fn recorded(recording: &Recording, length_min: Span) -> Vec<Self> {
        recording
            .players()
            .filter(|stretch| stretch.duration() >= length_min)
            .map(|stretch| Self { ticks: stretch.ticks(RATE).collect() })
            .filter(|truth| !truth.ticks.is_empty())
            .collect()
    }

    pub fn length(&self) -> Span {
        self.ticks[self.ticks.len() - 1].0 - self.ticks[0].0
    }

    pub fn mean_speed(&self) -> f64 {
        self.ticks.iter().map(|(_, state)| state.velocity.length()).sum::<f64>() / self.ticks.len() as f64
    }
}
