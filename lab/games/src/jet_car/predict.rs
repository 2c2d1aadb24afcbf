//! The jet car as [`fairpath_compensate`] predicts it.

use fairpath::vector::Vec2;
use fairpath_compensate::{PositionOffset, Simulate};

use super::config::{JetCarConfig, TICK_RATE};
use super::input::Input;
use super::scene::JetCarScene;
use crate::shared::PlayerInput;

/// Advances a scene as the server does, without random events.
impl Simulate for JetCarConfig {
    type State = JetCarScene;
    type Input = Input;

    fn step(&self, scene: &mut JetCarScene, input: &Input, ticks: u32) {
        scene.step(self, *input, ticks);
    }
}

/// Buchheit 2004's prototype: thrust as an offset of the position, as if there were no walls.
impl PositionOffset for JetCarConfig {
    fn idle(&self) -> Input {
        Input::IDLE
    }

    fn shift(&self, scene: &mut JetCarScene, input: &Input, ago: u32, ticks: u32) {
        let per_tick = input.limited().stick() * (self.thrust / 10.0);
        // A tick moves the car, then accelerates it: thrust n ticks ago has moved it in n − 1.
        let moved_ticks: u64 = (0..ticks.min(ago)).map(|tick| u64::from(ago - tick - 1)).sum();
        scene.car.position += per_tick * (moved_ticks as f64 * TICK_RATE.step_secs());
        let half = 0.5 * self.car_size;
        let Vec2 { x, y } = scene.car.position;
        scene.car.position = Vec2::new(x.clamp(half, self.width - half), y.clamp(half, self.height - half));
    }
}
