//! Whole games as [`fairpath_compensate`] plays them on.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use fairpath_compensate::Simulate;

use super::game::Game;

/// A whole game, dice included, whose input is what everybody's hands do in a tick: for those who
/// hold all of it, as machines do that keep copies of a world
/// ([`TrailingStates`](fairpath_compensate::TrailingStates)).
///
/// Commands are by seat; whoever gives none takes the hands off.
#[derive(Clone, Copy, Debug)]
pub struct Seats<G: Game> {
    count: u32,
    game: PhantomData<fn() -> G>,
}

impl<G: Game> Seats<G> {
    /// The seats of a game with these rules.
    pub fn of(config: &G::Config) -> Self {
        Self { count: G::seats(config), game: PhantomData }
    }
}

impl<G: Game> Simulate for Seats<G> {
    type State = G;
    type Input = BTreeMap<u32, G::Input>;

    fn step(&self, game: &mut G, commands: &BTreeMap<u32, G::Input>, ticks: u32) {
        let hands: Vec<G::Input> =
            (0..self.count).map(|seat| commands.get(&seat).copied().unwrap_or_default()).collect();
        for _ in 0..ticks {
            game.advance(&hands);
        }
    }
}
