use std::fmt::Debug;

use super::rollout::roll_out;
use super::{Body, Known, Linear, Missing, Predictor, Reason, Tdm};
use fairpath::vector::{Vec2, Vector};

/// Holds one derivative of the motion or of the player's input constant.
///
/// Pantel and Wolf compare these five schemes (quoted in Shi 2014, section 2.4). The input schemes
/// run the game's own [`Step`] function with the input they expect.
///
/// An input scheme without a game, or without a known input, returns [`Missing::Input`].
#[derive(Clone, Copy, Debug)]
pub struct InputScheme<S> {
    /// What stays constant.
    pub order: Order,
    /// The game's step function. Only the input schemes use it.
    pub game: Option<S>,
}

/// What an [`InputScheme`] holds constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The velocity, as [`Linear`] does.
    Velocity,
    /// The acceleration, as [`Tdm`] does.
    Acceleration,
    /// The input: the player keeps pressing the same.
    InputPosition,
    /// The change of the input per tick, until the stick reaches its end. Keys change in jumps:
    /// there the last pressed key stays pressed.
    InputVelocity,
    /// The change of that change per tick, as the last two ticks show it.
    InputAcceleration,
}

/// A game's own step function: one tick of one body, walls included.
pub trait Step: Debug + Send {
    /// Returns the body one tick later with this `input`, a direction of at most unit length.
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

impl<S: Step> Predictor for InputScheme<S> {
    fn name(&self) -> &str {
        match self.order {
            Order::Velocity => "constant velocity",
            Order::Acceleration => "constant acceleration",
            Order::InputPosition => "constant input position",
            Order::InputVelocity => "constant input velocity",
            Order::InputAcceleration => "constant input acceleration",
        }
    }

    fn predict(
        &mut self,
        subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        match self.order {
            Order::Velocity => Linear.predict(subject, known, ticks, positions),
            Order::Acceleration => Tdm.predict(subject, known, ticks, positions),
            order => {
                let game = self.game.as_ref().ok_or(Missing::Input)?;
                InputCourse::of_known(known, order)?.play(game, known.newest(), ticks, positions);
                Ok(())
            }
        }
    }

    fn reason(&mut self, subject: usize, known: &Known<'_>, ticks: u32) -> Reason {
        match self.order {
            Order::Velocity => Linear.reason(subject, known, ticks),
            Order::Acceleration => Tdm.reason(subject, known, ticks),
            _ if self.game.is_none() => Reason::Untold,
            order => {
                InputCourse::of_known(known, order).map_or(Reason::Untold, |course| course.reason(ticks))
            }
        }
    }
}

/// An input and its first two derivatives per tick.
#[derive(Clone, Copy, Debug, PartialEq)]
struct InputCourse {
    position: Vec2,
    velocity: Vec2,
    acceleration: Vec2,
}

impl InputCourse {
    /// Takes from the last three inputs what `order` holds constant. Unknown derivatives are zero.
    fn of_known(known: &Known<'_>, order: Order) -> Result<Self, Missing> {
        let ago = |ticks: usize| known.inputs.iter().rev().nth(ticks).copied();
        let position = ago(0).ok_or(Missing::Input)?;
        let velocity = ago(1).map_or(Vec2::ZERO, |before| position - before);
        let velocity_before = ago(1).zip(ago(2)).map_or(velocity, |(late, early)| late - early);
        let acceleration = velocity - velocity_before;
        Ok(match order {
            Order::InputAcceleration => Self { position, velocity, acceleration },
            Order::InputVelocity => Self { position, velocity, acceleration: Vec2::ZERO },
            _ => Self { position, velocity: Vec2::ZERO, acceleration: Vec2::ZERO },
        })
    }

    /// Returns the input at tick number `tick`, clamped to unit length.
    fn at(&self, tick: u32) -> Vec2 {
        let ticks = f64::from(tick);
        let change = self.velocity * ticks + self.acceleration * (0.5 * ticks * (ticks + 1.0));
        (self.position + change).clamp_length(1.0)
    }

    fn reason(&self, ticks: u32) -> Reason {
        Reason::Pressing { now: self.position, then: self.at(ticks) }
    }

    fn play(&self, game: &impl Step, start: Body, ticks: &[u32], positions: &mut [Vec2]) {
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
        let known = Known { inputs, ..Known::default() };
        InputCourse::of_known(&known, Order::InputAcceleration)
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
