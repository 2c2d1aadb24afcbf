use super::hybrid::{hybrid_reason, predict_hybrid};
use super::{EkbConfig, Known, Missing, Oaekb, Predictor, Reason};
use fairpath::vector::Vec2;

/// [`HybridEkb`](super::HybridEkb) with [`Oaekb`] in the place of EKB.
#[derive(Clone, Debug, Default)]
pub struct HybridOaekb {
    config: EkbConfig,
    oaekb: Oaekb,
}

impl HybridOaekb {
    /// With these parameters.
    pub fn new(config: EkbConfig) -> Self {
        Self { config, oaekb: Oaekb::new(config) }
    }
}

impl Predictor for HybridOaekb {
    fn name(&self) -> &str {
        "hybrid OAEKB"
    }

    fn predict(
        &mut self,
        subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        predict_hybrid(&self.config, &mut self.oaekb, subject, known, ticks, positions)
    }

    fn reason(&mut self, subject: usize, known: &Known<'_>, ticks: u32) -> Reason {
        hybrid_reason(&self.config, &mut self.oaekb, subject, known, ticks)
    }
}
