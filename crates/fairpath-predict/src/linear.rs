use super::{Known, Missing, Predictor, Reason, TICK_SECS};
use fairpath::vector::Vec2;

/// Keeps the last known velocity.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linear;

impl Predictor for Linear {
    fn name(&self) -> &str {
        "linear"
    }

    fn predict(
        &mut self,
        _subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        let body = known.newest();
        for (ticks, position) in ticks.iter().zip(positions) {
            *position = body.position + body.velocity * (f64::from(*ticks) * TICK_SECS);
        }
        Ok(())
    }

    fn reason(&mut self, _subject: usize, known: &Known<'_>, _ticks: u32) -> Reason {
        Reason::Velocity(known.newest().velocity)
    }
}
