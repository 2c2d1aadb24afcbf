use super::hybrid::{hybrid_reason, predict_hybrid};
use super::{Ekb, EkbConfig, Known, Missing, Predictor, Reason};
use fairpath::vector::Vec2;

/// [`Ekb`] up to x = 350 ms; beyond, [`Tdm`](super::Tdm) for who has not turned by more than h =
/// 40° for as long as one looks ahead, and EKB for who has (Shi 2014's algorithm 3).
#[derive(Clone, Copy, Debug, Default)]
pub struct HybridEkb {
    config: EkbConfig,
    ekb: Ekb,
}

impl HybridEkb {
    /// With these parameters.
    pub const fn new(config: EkbConfig) -> Self {
        Self { config, ekb: Ekb::new(config) }
    }
}

impl Predictor for HybridEkb {
    fn name(&self) -> &str {
        "hybrid EKB"
    }

    fn predict(
        &mut self,
        subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        predict_hybrid(&self.config, &mut self.ekb, subject, known, ticks, positions)
    }

    fn reason(&mut self, subject: usize, known: &Known<'_>, ticks: u32) -> Reason {
        hybrid_reason(&self.config, &mut self.ekb, subject, known, ticks)
    }
}
