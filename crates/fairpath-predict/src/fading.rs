use super::{Known, Missing, Predictor, Reason, TICK_SECS};
use fairpath::vector::Vec2;

/// Lets the velocity fade: after t it is v·e^(−t/τ), so the path comes to rest v·τ ahead.
///
/// Not from a paper: the simplest way to say that the last velocity means less the farther ahead a
/// prediction looks. Players of fast games need a short τ, heavy things a long one.
#[derive(Clone, Debug)]
pub struct Fading {
    name: String,
    secs: f64,
}

impl Fading {
    /// Creates the predictor with time constant τ in seconds, which must be finite.
    ///
    /// The usual baselines are 0.3 and 1. At 0 nothing moves; a very long one is
    /// [`Linear`](super::Linear). A player at 300 units/s with τ = 1 s stops 300 units ahead, and
    /// has covered 190 of them after a second.
    pub fn new(secs: f64) -> Self {
        Self { name: format!("fading {secs} s"), secs }
    }
}

impl Predictor for Fading {
    fn name(&self) -> &str {
        &self.name
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
            *position = body.position + body.velocity * faded_secs(self.secs, f64::from(*ticks) * TICK_SECS);
        }
        Ok(())
    }

    fn reason(&mut self, _subject: usize, known: &Known<'_>, _ticks: u32) -> Reason {
        Reason::Fading { velocity: known.newest().velocity, secs: self.secs }
    }
}

/// Returns the time in which the full velocity covers the same distance: τ·(1 − e^(−t/τ)).
fn faded_secs(tau: f64, secs: f64) -> f64 {
    if tau > 0.0 { -libm::expm1(-secs / tau) * tau } else { 0.0 }
}
