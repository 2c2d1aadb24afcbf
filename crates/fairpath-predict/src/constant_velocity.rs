use super::{Known, Linear, Missing, Predictor, Reason};
use fairpath::vector::Vec2;

/// The first of the schemes that Pantel and Wolf compare: the last known velocity stays. The same
/// as [`Linear`]; here so that all five can be asked for by name.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConstantVelocity;

impl Predictor for ConstantVelocity {
    fn name(&self) -> &str {
        "constant velocity"
    }

    fn predict(
        &mut self,
        subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        Linear.predict(subject, known, ticks, positions)
    }

    fn reason(&mut self, _subject: usize, known: &Known<'_>, _ticks: u32) -> Reason {
        Reason::Velocity(known.newest().velocity)
    }
}
