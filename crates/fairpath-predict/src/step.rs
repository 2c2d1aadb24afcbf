//! Predicting from what a player presses: what the three input schemes share.

use std::fmt::Debug;

use super::rollout::roll_out;
use super::{Body, Known, Missing, Reason};
use fairpath::vector::{Vec2, Vector};

/// A game's own step function: one tick of one body, walls and all.
pub trait Step: Debug + Send {
    /// Where the body is a tick later if the player presses `input`: a direction of at most unit
    /// length.
    fn step(&self, body: &Body, input: Vec2) -> Body;
}

impl<S: Step + ?Sized> Step for Box<S> {
    fn step(&self, body: &Body, input: Vec2) -> Body {
        (**self).step(body, input)
    }
}

impl<S: Step + Sync + ?Sized> Step for std::sync::Arc<S> {
    fn step(&self, body: &Body, input: Vec2) -> Body {
        (**self).step(body, input)
    }
}

/// How an input goes on: as it is, how fast it changes per tick, and how fast that changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct InputCourse {
    pub(super) position: Vec2,
    pub(super) velocity: Vec2,
    pub(super) acceleration: Vec2,
}

impl InputCourse {
    /// As the last three inputs say; what they are too few for is zero.
    pub(super) fn of_known(known: &Known<'_>) -> Result<Self, Missing> {
        let ago = |ticks: usize| known.inputs.iter().rev().nth(ticks).copied();
        let position = ago(0).ok_or(Missing::Input)?;
        let velocity = ago(1).map_or(Vec2::ZERO, |before| position - before);
        let velocity_before = ago(1).zip(ago(2)).map_or(velocity, |(late, early)| late - early);
        Ok(Self { position, velocity, acceleration: velocity - velocity_before })
    }

    /// The input at tick number `tick`, no longer than a hand can press.
    fn at(&self, tick: u32) -> Vec2 {
        let ticks = f64::from(tick);
        let change = self.velocity * ticks + self.acceleration * (0.5 * ticks * (ticks + 1.0));
        (self.position + change).clamp_length(1.0)
    }

    /// What is pressed now, and so many ticks ahead.
    pub(super) fn reason(&self, ticks: u32) -> Reason {
        Reason::Pressing { now: self.position, then: self.at(ticks) }
    }

    /// Runs the game with this input.
    pub(super) fn play(&self, game: &impl Step, start: Body, ticks: &[u32], positions: &mut [Vec2]) {
        let mut body = start;
        roll_out(start.position, ticks, positions, |tick, _| {
            body = game.step(&body, self.at(tick));
            body.position
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(inputs: &[Vec2]) -> Result<InputCourse, Missing> {
        InputCourse::of_known(&Known {
            history: &[],
            condition: super::super::Condition::default(),
            others: &[],
            world: None,
            inputs,
        })
    }

    #[test]
    fn a_parabola_of_inputs_goes_on_as_a_parabola() {
        let input = |tick: i32| Vec2::new(0.01 * f64::from(tick) * f64::from(tick), 0.1 * f64::from(tick));
        let course = course(&[input(-3), input(-2), input(-1), input(0)]).unwrap();
        for tick in 1..5 {
            assert!(course.at(tick).distance(input(tick as i32)) < 1e-12, "tick {tick}");
        }
        assert!((course.at(200).length() - 1.0).abs() < 1e-12, "no farther than a stick goes");
    }

    #[test]
    fn few_inputs_say_little() {
        let one = Vec2::new(1.0, 0.0);
        let two = course(&[one, -one]).unwrap();
        assert_eq!((two.velocity, two.acceleration), (one * -2.0, Vec2::ZERO));
        assert_eq!(course(&[one]).unwrap().velocity, Vec2::ZERO);
        assert_eq!(course(&[]), Err(Missing::Input));
    }
}
