use fairpath_eval::laps::{Contender, HorizonSummary};
use fairpath_predict::TICK_RATE;

use super::drives::{Drives, LapScores};
use crate::judge;
use crate::outcome::{Cell, Claim, Column, Rows};
use crate::{cells, show};

/// One row per track, predictor and horizon for machines, one per track and predictor for people.
pub(crate) struct LapTables {
    pub(crate) rows: Rows,
    pub(crate) headline: Rows,
    horizons: Vec<u32>,
}

impl LapTables {
    pub(crate) fn new(horizons: &[u32]) -> Self {
        let mut headline = vec![Column::text("laps", "laps"), Column::text("predictor", "predictor")];
        headline.extend(horizons.iter().map(|ticks| {
            let millis = show(millis(*ticks));
            Column::number(format!("mean_at_{millis}_ms"), format!("{millis} ms"), "").decimals(3)
        }));
        headline.push(Column::text("unit", "mean error in"));
        Self { rows: Rows::new(columns()), headline: Rows::new(headline), horizons: horizons.to_vec() }
    }

    pub(crate) fn add(&mut self, drives: &Drives, fared: &[LapScores]) {
        for LapScores { contender, summary } in fared {
            for (place, at) in summary.horizons.iter().enumerate() {
                self.rows.push(row(drives, *contender, at, fared, place));
            }
            let means: Vec<f64> = summary.horizons.iter().map(|at| at.mean).collect();
            self.add_headline(&drives.name, contender.name(), &means, "m");
        }
    }

    /// Printed numbers of a paper, at these milliseconds ahead.
    pub(crate) fn add_printed(&mut self, laps: &str, predictor: &str, means: &[(f64, f64)], unit: &str) {
        let at = |ticks: &u32| {
            let printed = means.iter().find(|(ahead, _)| (ahead - millis(*ticks)).abs() < 1.0);
            printed.map_or(f64::NAN, |(_, mean)| *mean)
        };
        let means: Vec<f64> = self.horizons.iter().map(at).collect();
        self.add_headline(laps, predictor, &means, unit);
        for (ticks, mean) in self.horizons.clone().iter().zip(means).filter(|(_, mean)| mean.is_finite()) {
            let mut row = cells![laps, predictor, millis(*ticks), mean];
            row.resize(self.rows.columns().len() - 1, Cell::Missing);
            row.push(unit.into());
            self.rows.push(row);
        }
    }

    fn add_headline(&mut self, laps: &str, predictor: &str, means: &[f64], unit: &str) {
        let mut row = cells![laps, predictor];
        row.extend(means.iter().map(|mean| Cell::from(*mean)));
        row.push(unit.into());
        self.headline.push(row);
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::text("laps", "laps"),
        Column::text("predictor", "predictor"),
        Column::number("horizon_ms", "horizon", "ms").decimals(0),
        Column::number("mean", "mean error", "").decimals(4),
        Column::number("mean_low", "from", "").decimals(4),
        Column::number("mean_high", "to", "").decimals(4),
        Column::number("median", "median error", "").decimals(4),
        Column::number("ratio_to_linear", "times the line's", "").decimals(3),
        Column::number("ratio_to_linear_low", "from", "").decimals(3),
        Column::number("ratio_to_linear_high", "to", "").decimals(3),
        Column::number("ratio_to_tdm", "times TDM's", "").decimals(3),
        Column::number("ratio_to_tdm_low", "from", "").decimals(3),
        Column::number("ratio_to_tdm_high", "to", "").decimals(3),
        Column::number("judged_laps", "laps judged", ""),
        Column::number("predictions", "predictions", ""),
        Column::text("unit", "unit"),
    ]
}

fn row(
    drives: &Drives,
    contender: Contender,
    at: &HorizonSummary,
    fared: &[LapScores],
    place: usize,
) -> Vec<Cell> {
    let ratio_to = |other: Contender| {
        let (ratio, interval) = at.ratio_to(of(fared, other, place));
        cells![ratio, interval.map(|ends| ends.0), interval.map(|ends| ends.1)]
    };
    let mut row = cells![
        drives.name.as_str(),
        contender.name(),
        millis(at.ticks),
        at.mean,
        at.interval.map(|ends| ends.0),
        at.interval.map(|ends| ends.1),
        at.median,
    ];
    row.extend(ratio_to(Contender::Linear));
    row.extend(ratio_to(Contender::Tdm));
    row.extend(cells![drives.judged().len(), at.predictions, "m"]);
    row
}

/// Whether one mean error is below another at every horizon up to this many milliseconds.
pub(crate) fn claim_below(
    id: &str,
    drives: &Drives,
    fared: &[LapScores],
    (one, other): (Contender, Contender),
    millis_max: f64,
) -> Claim {
    let is_asked = |ticks: u32| millis(ticks) <= millis_max + 0.5;
    let horizons = fared[0].summary.horizons.iter().enumerate();
    let pairs = horizons
        .filter(|(_, at)| is_asked(at.ticks))
        .map(|(place, _)| (of(fared, one, place).mean, of(fared, other, place).mean));
    let text = format!(
        "{}: {} is nearer than {} at every horizon up to {} ms",
        drives.name,
        one.name(),
        other.name(),
        show(millis_max)
    );
    Claim::new(id, text, judge::below_in_every(pairs)).unit(format!("× {}, at most", other.name()))
}

fn of(fared: &[LapScores], contender: Contender, place: usize) -> &HorizonSummary {
    let fared = fared.iter().find(|fared| fared.contender == contender);
    &fared.expect("every predictor took part").summary.horizons[place]
}

pub(crate) fn millis(ticks: u32) -> f64 {
    f64::from(ticks) * 1e3 / f64::from(TICK_RATE.as_hz())
}
