//! Sailing as [`fairpath_compensate`] predicts it.

use fairpath_compensate::Simulate;

use super::config::SailingConfig;
use super::input::Input;
use super::scene::SailingScene;

/// A client's prediction of a race: others keep sheet and rudder, wind and current do not change.
#[derive(Clone, Debug, PartialEq)]
pub struct SailingPredictor {
    pub rules: SailingConfig,
    pub seat: usize,
}

impl Simulate for SailingPredictor {
    type State = SailingScene;
    type Input = Input;

    fn step(&self, scene: &mut SailingScene, input: &Input, ticks: u32) {
        scene.step(&self.rules, |seat| (seat == self.seat).then_some(*input), ticks);
    }
}
