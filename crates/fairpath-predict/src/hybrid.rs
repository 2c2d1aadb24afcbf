use super::tdm::tdm_position;
use super::{Body, EkbConfig, HybridRule, Known, Missing, Predictor, Reason};
use fairpath::vector::{Vec2, Vector};

/// Switches between a play-pattern predictor and constant acceleration (Shi 2014, algorithm 3).
///
/// Up to [`ekb_ticks`](EkbConfig::ekb_ticks) (350 ms) `P` answers: [`Ekb`](super::Ekb) for hybrid
/// EKB, [`Oaekb`](super::Oaekb) for hybrid OAEKB. Farther ahead [`Tdm`](super::Tdm) answers for a
/// subject that has kept its direction within
/// [`same_direction_within`](EkbConfig::same_direction_within) (40°) for as long as the prediction
/// looks ahead, and `P` for a subject that has turned. [`HybridRule::Text`] is the contrary.
#[derive(Clone, Debug)]
pub struct Hybrid<P> {
    name: String,
    inner: P,
    config: EkbConfig,
}

impl<P: Predictor> Hybrid<P> {
    /// Creates a hybrid of `inner` and constant acceleration.
    ///
    /// Reads `ekb_ticks`, `same_direction_within` and `hybrid` from `config` and nothing else.
    pub fn new(inner: P, config: EkbConfig) -> Self {
        Self { name: format!("hybrid {}", inner.name()), inner, config }
    }

    /// Returns whether the acceleration is kept at each number of ticks ahead, up to `farthest`.
    fn course(&self, known: &Known<'_>, farthest: u32) -> impl Fn(u32) -> bool + use<P> {
        // One tick more than any prediction looks ahead tells longer from equally long.
        let steady = steady_ticks(known.history, self.config.same_direction_within, farthest + 1);
        let EkbConfig { ekb_ticks, hybrid, .. } = self.config;
        move |ticks| {
            ticks > ekb_ticks
                && match hybrid {
                    HybridRule::Algorithm => ticks <= steady,
                    HybridRule::Text => ticks >= steady,
                }
        }
    }
}

impl<P: Predictor + Default> Default for Hybrid<P> {
    fn default() -> Self {
        Self::new(P::default(), EkbConfig::default())
    }
}

impl<P: Predictor> Predictor for Hybrid<P> {
    fn name(&self) -> &str {
        &self.name
    }

    fn predict(
        &mut self,
        subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        let farthest = ticks.last().copied().unwrap_or(0);
        let is_course = self.course(known, farthest);
        // Constant acceleration lies in the middle or at the end, which `inner` need not reach.
        let inner_len = ticks.iter().rposition(|tick| !is_course(*tick)).map_or(0, |last| last + 1);
        self.inner.predict(subject, known, &ticks[..inner_len], positions)?;
        let newest = known.newest();
        for (tick, position) in ticks.iter().zip(positions) {
            if is_course(*tick) {
                *position = tdm_position(&newest, *tick);
            }
        }
        Ok(())
    }

    fn reason(&mut self, subject: usize, known: &Known<'_>, ticks: u32) -> Reason {
        if self.course(known, ticks)(ticks) {
            let Body { velocity, acceleration, .. } = known.newest();
            return Reason::Acceleration { velocity, acceleration };
        }
        self.inner.reason(subject, known, ticks)
    }
}

/// Returns for how many ticks before the newest one the direction was within `angle_max` of the
/// newest; at most `ticks_max`. Ticks before the history count as kept. Starting or stopping is a
/// change of direction; standing still is not.
fn steady_ticks(history: &[Body], angle_max: f64, ticks_max: u32) -> u32 {
    let Some((newest, past)) = history.split_last() else { return ticks_max };
    let cosine = libm::cos(angle_max);
    let speed = newest.velocity.length();
    let has_kept = |past: &Body| {
        let past_speed = past.velocity.length();
        if speed == 0.0 || past_speed == 0.0 {
            return speed == past_speed;
        }
        newest.velocity.dot(past.velocity) >= cosine * (speed * past_speed)
    };
    let turned = past.iter().rev().take(ticks_max as usize).position(|past| !has_kept(past));
    turned.map_or(ticks_max, |ago| ago as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moving(heading_degrees: f64) -> Body {
        Body { velocity: Vec2::from_heading(heading_degrees.to_radians()) * 300.0, ..Body::default() }
    }

    #[test]
    fn a_direction_is_kept_until_it_was_another() {
        let history = [moving(50.0), moving(41.0), moving(39.0), moving(-39.0), moving(0.0)];
        let within = 40f64.to_radians();
        assert_eq!(steady_ticks(&history, within, 100), 2, "the tick three ago was 41° off");
        assert_eq!(steady_ticks(&history[2..], within, 100), 100, "what is not known has not changed");
        assert_eq!(steady_ticks(&history, within, 1), 1);
    }

    #[test]
    fn starting_is_a_change_and_standing_is_none() {
        let still = Body::default();
        assert_eq!(steady_ticks(&[still, moving(0.0)], 1.0, 9), 0);
        assert_eq!(steady_ticks(&[moving(0.0), still], 1.0, 9), 0);
        assert_eq!(steady_ticks(&[still, still], 1.0, 9), 9);
    }
}
