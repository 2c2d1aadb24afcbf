//! The table of results, in Markdown.

use std::fmt;

use crate::contest::MethodResult;

/// The results of one number of tanks and receivers.
pub(crate) struct FanOutTable {
    pub(crate) tanks: usize,
    pub(crate) receivers: usize,
    /// Runs of each method, of which the one with the least processor time is shown.
    pub(crate) rounds: usize,
    /// The share of the time that a tank drives.
    pub(crate) share_moving: f64,
    pub(crate) outcomes: Vec<MethodResult>,
}

impl fmt::Display for FanOutTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tanks, receivers, rounds, share_moving, outcomes } = self;
        let base = outcomes.first().map_or(f64::NAN, |first| first.nanos);
        let moving = share_moving * 100.0;
        writeln!(f, "{tanks} entities × {receivers} receivers, {moving:.0} % of the tanks moving;")?;
        writeln!(f, "per entity, receiver and tick of 30 Hz; best of {rounds}\n")?;
        writeln!(f, "| | server CPU, ns | ratio to first | bytes | datagrams | error, RMS | error, p99 |")?;
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
                    "{}: {vectors:.4} DR vectors per entity, receiver and tick, {nanos:.0} ns each",
                    outcome.title
                )?;
            }
            if outcome.unseen > 0 {
                writeln!(f, "{}: {} samples of tanks without an update yet", outcome.title, outcome.unseen)?;
            }
            if outcome.late > 0 {
                writeln!(f, "{}: {} ticks late: the machine was busy", outcome.title, outcome.late)?;
            }
        }
        Ok(())
    }
}
