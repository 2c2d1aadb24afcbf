//! Sailing as [`fairpath_compensate`] plays it on.

use fairpath_compensate::Simulate;

use super::config::SailingConfig;
use super::input::Input;
use super::scene::SailingScene;

/// The hands of one seat under these rules: all that a client knows. Other boats keep sheet and
/// rudder as they are, wind and current hold.
#[derive(Clone, Debug, PartialEq)]
pub struct SailingPredictor {
    /// The rules.
    pub rules: SailingConfig,
    /// Whose hands.
    pub seat: usize,
}

impl Simulate for SailingPredictor {
    type State = SailingScene;
    type Input = Input;

    fn step(&self, scene: &mut SailingScene, input: &Input, ticks: u32) {
        scene.step(&self.rules, |seat| (seat == self.seat).then_some(*input), ticks);
    }
}
