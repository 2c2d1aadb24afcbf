use std::sync::Arc;

use super::TrendLine;
use crate::{Known, Missing, Predictor, SUBJECTS_MAX, TICK_SECS};
use fairpath::vector::Vec2;

/// Goes on along a [`TrendLine`]: turns as the line turns ahead, brakes as laps usually brake
/// there, and believes what was measured as far as that has proved right.
///
/// Whoever is not on the track, or drives against the laps, keeps its velocity.
#[derive(Clone, Debug)]
pub struct TrendLinePredictor {
    line: Arc<TrendLine>,
    /// Where along the line each subject was last.
    feet: Vec<Option<f64>>,
}

impl TrendLinePredictor {
    /// By this line.
    pub fn new(line: Arc<TrendLine>) -> Self {
        Self { line, feet: Vec::new() }
    }
}

impl Predictor for TrendLinePredictor {
    fn name(&self) -> &str {
        "trend line"
    }

    fn predict(
        &mut self,
        subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        let body = known.newest();
        let hint = self.feet.get(subject).copied().flatten();
        let outlook = self.line.outlook(known.history, hint);
        for (ticks, position) in ticks.iter().zip(positions) {
            *position = body.position
                + match &outlook {
                    Some(outlook) => self.line.weights.by_history.displacement(outlook, *ticks),
                    None => body.velocity * (f64::from(*ticks) * TICK_SECS),
                };
        }
        remember(&mut self.feet, subject, outlook.map(|outlook| outlook.along()));
        Ok(())
    }
}

/// Notes where a subject was last.
pub(super) fn remember(feet: &mut Vec<Option<f64>>, subject: usize, along: Option<f64>) {
    if subject >= SUBJECTS_MAX {
        return;
    }
    if feet.len() <= subject {
        feet.resize(subject + 1, None);
    }
    feet[subject] = along;
}
