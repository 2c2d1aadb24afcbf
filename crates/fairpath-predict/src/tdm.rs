use super::{Body, Known, Missing, Predictor, Reason, TICK_SECS};
use fairpath::vector::Vec2;

/// Keeps the last known acceleration: the quadratic formula of IEEE 1278.1, called "traditional
/// dead-reckoning model" by Shi 2014. Where no acceleration is known, it is
/// [`Linear`](super::Linear).
#[derive(Clone, Copy, Debug, Default)]
pub struct Tdm;

impl Predictor for Tdm {
    fn name(&self) -> &str {
        "TDM"
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
            *position = tdm_position(&body, *ticks);
        }
        Ok(())
    }

    fn reason(&mut self, _subject: usize, known: &Known<'_>, _ticks: u32) -> Reason {
        let Body { velocity, acceleration, .. } = known.newest();
        Reason::Acceleration { velocity, acceleration }
    }
}

pub(super) fn tdm_position(body: &Body, ticks: u32) -> Vec2 {
    let secs = f64::from(ticks) * TICK_SECS;
    body.position + body.velocity * secs + body.acceleration * (0.5 * secs * secs)
}
