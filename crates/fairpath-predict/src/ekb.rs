use super::patterns::{Patterns, Straight};
use super::rollout::roll_out;
use super::{EkbConfig, Known, Missing, Predictor, Reason};
use fairpath::vector::Vec2;

/// "Experience knows best" (Shi 2014): predicts from play patterns.
///
/// Players follow their friends, move the way their friends move, and in battle advance or retreat
/// as strength allows. The predicted velocity passes smoothly from the last known one into that.
///
/// Where the text of Shi 2014 contradicts its algorithms and equations, this code follows the
/// latter: bravery counts in battle, alignment outside it, and equation 17 has no factor l
/// ([`EkbConfig::transition_ticks_per_unit`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct Ekb {
    config: EkbConfig,
}

impl Ekb {
    /// Creates the predictor with these parameters.
    pub const fn new(config: EkbConfig) -> Self {
        Self { config }
    }
}

impl Predictor for Ekb {
    fn name(&self) -> &str {
        "EKB"
    }

    fn predict(
        &mut self,
        _subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        let patterns = Patterns::of_known(&self.config, known);
        roll_out(known.newest().position, ticks, positions, |tick, from| {
            patterns.step(tick, from, &mut Straight)
        });
        Ok(())
    }

    fn reason(&mut self, _subject: usize, known: &Known<'_>, _ticks: u32) -> Reason {
        let patterns = Patterns::of_known(&self.config, known);
        Reason::Patterns(patterns.seen(known.newest().position, &mut Straight))
    }
}
