use super::step::InputCourse;
use super::{Known, Missing, Predictor, Reason, Step};
use fairpath::vector::Vec2;

/// The fifth of the schemes that Pantel and Wolf compare: the change of what the player presses
/// goes on changing as in the last two ticks, as far as a stick goes, and the game's own [`Step`]
/// does the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConstantInputAcceleration<S> {
    game: S,
}

impl<S: Step> ConstantInputAcceleration<S> {
    /// With the step function of this game.
    pub const fn new(game: S) -> Self {
        Self { game }
    }
}

impl<S: Step> Predictor for ConstantInputAcceleration<S> {
    fn name(&self) -> &str {
        "constant input acceleration"
    }

    fn predict(
        &mut self,
        _subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        let course = course(known)?;
        course.play(&self.game, known.newest(), ticks, positions);
        Ok(())
    }

    fn reason(&mut self, _subject: usize, known: &Known<'_>, ticks: u32) -> Reason {
        course(known).map_or(Reason::Untold, |course| course.reason(ticks))
    }
}

/// What is kept of what the hands do: all of it.
fn course(known: &Known<'_>) -> Result<InputCourse, Missing> {
    InputCourse::of_known(known)
}
