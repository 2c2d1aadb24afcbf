use super::{Body, Known, Missing, Predictor, Reason, Tdm};
use fairpath::vector::Vec2;

/// The second of the schemes that Pantel and Wolf compare: the last known acceleration stays. The
/// same as [`Tdm`]; here so that all five can be asked for by name.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConstantAcceleration;

impl Predictor for ConstantAcceleration {
    fn name(&self) -> &str {
        "constant acceleration"
    }

    fn predict(
        &mut self,
        subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        Tdm.predict(subject, known, ticks, positions)
    }

    fn reason(&mut self, _subject: usize, known: &Known<'_>, _ticks: u32) -> Reason {
        let Body { velocity, acceleration, .. } = known.newest();
        Reason::Acceleration { velocity, acceleration }
    }
}
