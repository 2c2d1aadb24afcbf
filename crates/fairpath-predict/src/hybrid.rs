//! When the hybrids of EKB trust a straight course: what its two forms share.

use super::tdm::tdm_position;
use super::{Body, EkbConfig, Known, Missing, Predictor, Reason};
use fairpath::vector::{Vec2, Vector};

/// Shi 2014's algorithm 3 for each tick asked for: Q ≤ x is left to `ekb`; beyond, who has kept the
/// direction for as long as one looks ahead is taken to keep it (TDM), and who has not is left to
/// `ekb`.
pub(super) fn predict_hybrid(
    config: &EkbConfig,
    ekb: &mut impl Predictor,
    subject: usize,
    known: &Known<'_>,
    ticks: &[u32],
    positions: &mut [Vec2],
) -> Result<(), Missing> {
    let farthest = ticks.last().copied().unwrap_or(0);
    let steady = steady_ticks(known.history, config.same_direction_within, farthest);
    let is_course = |tick: u32| tick > config.ekb_ticks && tick <= steady;
    // The ticks for TDM lie between those for EKB, or at the end: EKB runs no farther than it must.
    let ekb_len = ticks.iter().rposition(|tick| !is_course(*tick)).map_or(0, |last| last + 1);
    ekb.predict(subject, known, &ticks[..ekb_len], positions)?;
    let newest = known.newest();
    for (tick, position) in ticks.iter().zip(positions) {
        if is_course(*tick) {
            *position = tdm_position(&newest, *tick);
        }
    }
    Ok(())
}

/// What [`predict_hybrid`] goes by at one tick.
pub(super) fn hybrid_reason(
    config: &EkbConfig,
    ekb: &mut impl Predictor,
    subject: usize,
    known: &Known<'_>,
    ticks: u32,
) -> Reason {
    let steady = steady_ticks(known.history, config.same_direction_within, ticks);
    if ticks > config.ekb_ticks && ticks <= steady {
        let Body { velocity, acceleration, .. } = known.newest();
        return Reason::Acceleration { velocity, acceleration };
    }
    ekb.reason(subject, known, ticks)
}

/// For how many ticks before the newest one the direction was never more than `angle_max` from the
/// newest; as many as matter, at most. What is not known has not changed. Starting from rest or
/// stopping is a change, rest is none.
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
