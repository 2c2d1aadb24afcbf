//! The table, as it stands in the README.

use std::fmt;

use crate::contest::MethodResult;

/// What was measured with so many tanks and receivers.
pub(crate) struct FanOutTable {
    pub(crate) tanks: usize,
    pub(crate) receivers: usize,
    /// How much of the time a tank drives.
    pub(crate) share_moving: f64,
    pub(crate) outcomes: Vec<MethodResult>,
}

impl fmt::Display for FanOutTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tanks, receivers, share_moving, outcomes } = self;
        let base = outcomes.first().map_or(f64::NAN, |first| first.nanos);
        let moving = share_moving * 100.0;
        writeln!(f, "{tanks} entities × {receivers} receivers, {moving:.0} % of the tanks moving;")?;
        writeln!(f, "for each entity, receiver and tick of 30 Hz\n")?;
        writeln!(f, "| | server CPU, ns | of the first | bytes | datagrams | error, RMS | error, p99 |")?;
        writeln!(f, "| --- | --- | --- | --- | --- | --- | --- |")?;
        for outcome in outcomes {
            let MethodResult { title, nanos, bytes, datagrams, rms, p99, .. } = outcome;
            let of_first = nanos / base;
            writeln!(
                f,
                "| {title} | {nanos:.0} | {of_first:.2} | {bytes:.2} | {datagrams:.4} | {rms:.3} | {p99:.2} |"
            )?;
        }
        writeln!(f)?;
        for outcome in outcomes {
            if let (Some(vectors), Some(nanos)) = (outcome.vectors, outcome.nanos_per_vector) {
                writeln!(
                    f,
                    "{}: {vectors:.4} DR vectors for each entity, receiver and tick, {nanos:.0} ns each",
                    outcome.title
                )?;
            }
            if outcome.unseen > 0 {
                writeln!(f, "{}: {} looks at tanks nobody had told of", outcome.title, outcome.unseen)?;
            }
            if outcome.late > 0 {
                writeln!(f, "{}: {} ticks came late: the machine was busy", outcome.title, outcome.late)?;
            }
        }
        Ok(())
    }
}
