use super::{Known, Missing, Predictor, Reason, TICK_SECS};
use fairpath::vector::Vec2;

/// A velocity that fades: after t it is v·e^(−t/τ), so the path comes to rest v·τ ahead.
///
/// Nobody's paper: the simplest way to say that the farther ahead one looks, the less the last
/// velocity means. Players of fast games need a short τ, heavy things a long one.
#[derive(Clone, Debug)]
pub struct Fading {
    name: String,
    secs: f64,
}

impl Fading {
    /// With the time constant τ in seconds, finite: 0.3 and 1 are the usual baselines. At 0 nothing
    /// moves; a very long one is the line. A player at 300 units/s and τ = 1 s stops 300 units
    /// ahead, and has come 190 of them after a second.
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

/// For how long the full velocity would have to last to come as far: τ·(1 − e^(−t/τ)).
fn faded_secs(tau: f64, secs: f64) -> f64 {
    if tau > 0.0 { -libm::expm1(-secs / tau) * tau } else { 0.0 }
}
