//! Player positions of the last second, for shots that are judged in the past.

use fairpath::vector::{Vec2, Vector};

/// The number of ticks stored: a little over a second. More delay is not playable anyway.
pub const HISTORY_TICKS: u32 = 64;

/// A ring buffer of the newest ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct History {
    players: usize,
    /// Tick by tick, and within a tick player by player.
    moments: Vec<PastPlayer>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PastPlayer {
    pub(super) position: Vec2,
    pub(super) life: u16,
    pub(super) is_alive: bool,
}

const NOWHERE: PastPlayer = PastPlayer { position: Vec2::ZERO, life: 0, is_alive: false };

impl History {
    pub(super) fn new(players: usize) -> Self {
        Self { players, moments: vec![NOWHERE; players * HISTORY_TICKS as usize] }
    }

    pub(super) fn remember(&mut self, tick: u64, moments: impl Iterator<Item = PastPlayer>) {
        let start = self.start_of(tick);
        for (slot, moment) in self.moments[start..start + self.players].iter_mut().zip(moments) {
            *slot = moment;
        }
    }

    /// Returns all players at `tick`, which must be one of the newest [`HISTORY_TICKS`].
    pub(super) fn at(&self, tick: u64) -> &[PastPlayer] {
        let start = self.start_of(tick);
        &self.moments[start..start + self.players]
    }

    fn start_of(&self, tick: u64) -> usize {
        (tick % u64::from(HISTORY_TICKS)) as usize * self.players
    }
}
