use super::{Tdm, Known, Missing, Predictor};
use crate::vector::Vec2;

/// The second of the schemes that Pantel and Wolf compare: the last known acceleration stays. The same as [`Tdm`]; here so
/// that all five can be asked for by name.
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
}
