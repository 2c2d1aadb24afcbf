use super::step::InputCourse;
use super::{Known, Missing, Predictor, Reason, Step};
use fairpath::vector::{Vec2, Vector};

/// The third of the schemes that Pantel and Wolf compare: the player goes on pressing what it
/// presses, and the game's own [`Step`] does the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConstantInputPosition<S> {
    game: S,
}

impl<S: Step> ConstantInputPosition<S> {
    /// With the step function of this game.
    pub const fn new(game: S) -> Self {
        Self { game }
    }
}

impl<S: Step> Predictor for ConstantInputPosition<S> {
    fn name(&self) -> &str {
        "constant input position"
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

/// What is kept of what the hands do.
fn course(known: &Known<'_>) -> Result<InputCourse, Missing> {
    Ok(InputCourse { velocity: Vec2::ZERO, acceleration: Vec2::ZERO, ..InputCourse::of_known(known)? })
}
