use super::patterns::Patterns;
use super::rollout::roll_out;
use super::route::Routes;
use super::{EkbConfig, Known, Missing, Predictor, Reason};
use fairpath::vector::Vec2;

/// "Obstacle avoiding" EKB (Shi 2014): [`Ekb`](super::Ekb) with paths around walls.
///
/// A player that follows or fights aims at the next node of a shortest path. A path is searched
/// again only when its target cell changes. Where no path exists, the player moves as with EKB.
#[derive(Clone, Debug, Default)]
pub struct Oaekb {
    config: EkbConfig,
    routes: Routes,
}

impl Oaekb {
    /// Creates the predictor with these parameters.
    pub fn new(config: EkbConfig) -> Self {
        Self { config, routes: Routes::default() }
    }
}

impl Predictor for Oaekb {
    fn name(&self) -> &str {
        "OAEKB"
    }

    fn predict(
        &mut self,
        _subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        let mut way = self.routes.around(known.world.ok_or(Missing::World)?, self.config.aim);
        let patterns = Patterns::of_known(&self.config, known);
        roll_out(known.newest().position, ticks, positions, |tick, from| patterns.step(tick, from, &mut way));
        Ok(())
    }

    fn reason(&mut self, _subject: usize, known: &Known<'_>, _ticks: u32) -> Reason {
        let Some(world) = known.world else { return Reason::Untold };
        let mut way = self.routes.around(world, self.config.aim);
        let patterns = Patterns::of_known(&self.config, known);
        Reason::Patterns(patterns.seen(known.newest().position, &mut way))
    }
}
