//! Whole games as [`fairpath_compensate`] simulates them.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use fairpath_compensate::Simulate;

use super::game::Game;

/// Simulates a whole game, random generators included, from the inputs of all players.
///
/// For peers that each hold a full copy of the world
/// ([`TrailingStates`](fairpath_compensate::TrailingStates)). Commands are keyed by seat; a seat
/// without a command gets the default input.
#[derive(Clone, Copy, Debug)]
pub struct WholeGame<G: Game> {
    seats: u32,
    game: PhantomData<fn() -> G>,
}

impl<G: Game> WholeGame<G> {
    pub fn of(config: &G::Config) -> Self {
        Self { seats: G::seats(config), game: PhantomData }
    }
}

impl<G: Game> Simulate for WholeGame<G> {
    type State = G;
    type Input = BTreeMap<u32, G::Input>;

    fn step(&self, game: &mut G, commands: &BTreeMap<u32, G::Input>, ticks: u32) {
        let inputs: Vec<G::Input> =
            (0..self.seats).map(|seat| commands.get(&seat).copied().unwrap_or_default()).collect();
        for _ in 0..ticks {
            game.advance(&inputs);
        }
    }
}
