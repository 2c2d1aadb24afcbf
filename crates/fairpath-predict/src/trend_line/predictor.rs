use std::sync::Arc;

use super::TrendLine;
use crate::{Known, Missing, Predictor, SUBJECTS_MAX, TICK_SECS};
use fairpath::vector::Vec2;

/// Continues along a [`TrendLine`]: turns as the line turns ahead, brakes as laps usually brake
/// there, and weighs the measured motion by how much it has helped.
///
/// A car that is off the track or drives against the laps keeps its velocity.
#[derive(Clone, Debug)]
pub struct TrendLinePredictor {
    line: Arc<TrendLine>,
    /// Last foot of each subject, as distance along the line.
    feet: Vec<Option<f64>>,
}

impl TrendLinePredictor {
    /// Creates the predictor for this line.
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

pub(super) fn remember(feet: &mut Vec<Option<f64>>, subject: usize, along: Option<f64>) {
    if subject >= SUBJECTS_MAX {
        return;
    }
    if feet.len() <= subject {
        feet.resize(subject + 1, None);
    }
    feet[subject] = along;
}
