use super::is::Course;
use super::rollout::roll_out;
use super::tdm::tdm_position;
use super::{Body, IsConfig, Known, Missing, Predictor, Reason, TICK_SECS};
use fairpath::vector::Vec2;

/// The hybrid method of Li and Chen: constant acceleration for a fixed time, then the [interest
/// scheme](super::Is) from there. A reconstruction, as that one is.
#[derive(Clone, Copy, Debug)]
pub struct Hm {
    config: IsConfig,
    tdm_ticks: u32,
}

impl Hm {
    /// Default time of constant acceleration: 18 ticks, 300 ms, (near) best in Shi 2014.
    pub const TDM_TICKS: u32 = 18;

    /// Creates the predictor with these weights, after `tdm_ticks` of constant acceleration.
    pub const fn new(config: IsConfig, tdm_ticks: u32) -> Self {
        Self { config, tdm_ticks }
    }

    /// Returns the body at the end of constant acceleration.
    fn handed_over(&self, start: &Body) -> Body {
        Body {
            position: tdm_position(start, self.tdm_ticks),
            velocity: start.velocity + start.acceleration * (f64::from(self.tdm_ticks) * TICK_SECS),
            acceleration: start.acceleration,
        }
    }
}

impl Default for Hm {
    fn default() -> Self {
        Self::new(IsConfig::default(), Self::TDM_TICKS)
    }
}

impl Predictor for Hm {
    fn name(&self) -> &str {
        "HM"
    }

    fn predict(
        &mut self,
        _subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        let start = known.newest();
        let handed_over = self.handed_over(&start);
        let mut course = Course::new(&self.config, &handed_over, known);
        roll_out(start.position, ticks, positions, |tick, from| match tick.checked_sub(self.tdm_ticks) {
            None | Some(0) => tdm_position(&start, tick),
            Some(tick) => course.step(tick, from),
        });
        Ok(())
    }

    fn reason(&mut self, _subject: usize, known: &Known<'_>, ticks: u32) -> Reason {
        let start = known.newest();
        if ticks <= self.tdm_ticks {
            return Reason::Acceleration { velocity: start.velocity, acceleration: start.acceleration };
        }
        let handed_over = self.handed_over(&start);
        Course::new(&self.config, &handed_over, known).reason(&handed_over)
    }
}
