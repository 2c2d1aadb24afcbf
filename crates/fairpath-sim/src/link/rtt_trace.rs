use std::sync::Arc;

use fairpath::time::{SharedInstant, Span};

use crate::csv::{CsvError, CsvProblem, Reader};

/// Measured round trips, as the delay of a link.
///
/// A packet is delayed by half the round trip measured at the time of sending; while a lost ping is
/// the newest measurement, packets are lost. Each measurement holds until the next one:
/// interpolation would shave the peaks that make a recording worth using, and invent delays that
/// were not measured. Where that lets one packet overtake another,
/// [`keep_order`](crate::LinkConfig::keep_order) prevents it.
///
/// The recording's time zero is the simulation's; before the first sample the first one holds.
/// After the last one the recording starts over, unless [`held_at_end`](Self::held_at_end) lets the
/// last sample stay. The samples are shared between clones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RttTrace {
    samples: Arc<[RttSample]>,
    /// The length of one round of the recording; the last sample lasts as long as the mean one.
    period: Span,
    begin: Span,
    loops: bool,
}

/// One ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// When the ping was sent, from the recording's zero.
    pub at: Span,
    /// The round trip; `None` if there was no reply.
    pub rtt: Option<Span>,
}

/// Samples that do not make a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadRttTrace {
    /// There are no samples.
    Empty,
    /// The sample with this index is not later than the one before.
    NotIncreasing(usize),
    /// The round trip of the sample with this index is negative.
    Negative(usize),
}

impl RttTrace {
    /// Creates a trace from samples in the order of their times.
    pub fn from_samples(samples: Vec<(Span, Option<Span>)>) -> Result<Self, BadRttTrace> {
        let samples: Arc<[RttSample]> = samples.into_iter().map(|(at, rtt)| RttSample { at, rtt }).collect();
        if let Some(index) = samples.windows(2).position(|pair| pair[1].at <= pair[0].at) {
            return Err(BadRttTrace::NotIncreasing(index + 1));
        }
        let is_negative = |sample: &RttSample| sample.rtt.is_some_and(|rtt| rtt < Span::ZERO);
        if let Some(index) = samples.iter().position(is_negative) {
            return Err(BadRttTrace::Negative(index));
        }
        let period = period_of(&samples).ok_or(BadRttTrace::Empty)?;
        Ok(Self { samples, period, begin: Span::ZERO, loops: true })
    }

    /// Reads a trace from CSV text with the columns `t,rtt_ms`: seconds, and milliseconds or an
    /// empty cell for a lost ping.
    pub fn from_csv(bytes: &[u8]) -> Result<Self, CsvError> {
        let mut reader = Reader::new(bytes, &["t", "rtt_ms"])?;
        let mut samples = Vec::new();
        let mut last_row = 1;
        while let Some(mut cells) = reader.next_row()? {
            last_row = cells.row();
            let at = Span::from_secs_f64(cells.read()?);
            let rtt_ms: Option<f64> = cells.read()?;
            cells.finish()?;
            if samples.last().is_some_and(|(before, _)| at <= *before) {
                return Err(CsvError::new(last_row, "t", CsvProblem::NotIncreasing));
            }
            if rtt_ms.is_some_and(|millis| millis < 0.0) {
                return Err(CsvError::new(last_row, "rtt_ms", CsvProblem::Negative));
            }
            samples.push((at, rtt_ms.map(|millis| Span::from_secs_f64(millis * 1e-3))));
        }
        Self::from_samples(samples).map_err(|_| CsvError::new(last_row, "t", CsvProblem::NoRows))
    }

    /// Returns the same trace, begun at this point of the recording. Links that share a recording
    /// then do not stall together.
    #[must_use]
    pub fn begun_at(mut self, begin: Span) -> Self {
        self.begin = begin;
        self
    }

    /// Returns the same trace, but its last sample stays for ever instead of starting over.
    #[must_use]
    pub fn held_at_end(mut self) -> Self {
        self.loops = false;
        self
    }

    /// Returns the same trace without lost pings; `None` if every ping was lost.
    pub fn without_losses(&self) -> Option<Self> {
        let samples: Arc<[RttSample]> =
            self.samples.iter().filter(|sample| sample.rtt.is_some()).copied().collect();
        Some(Self { period: period_of(&samples)?, samples, ..self.clone() })
    }

    /// Returns the round trip at this instant; `None` while pings are lost.
    pub fn rtt_at(&self, t: SharedInstant) -> Option<Span> {
        let first = self.samples[0].at;
        let mut into = t.since_zero() + self.begin - first;
        if self.loops && into >= self.period {
            into = Span::from_micros(into.as_micros() % self.period.as_micros());
        }
        let later = self.samples.partition_point(|sample| sample.at <= first + into);
        self.samples[later.saturating_sub(1)].rtt
    }

    /// Returns half the round trip, as the delay of one direction.
    pub fn one_way_at(&self, t: SharedInstant) -> Option<Span> {
        self.rtt_at(t).map(|rtt| Span::from_micros(rtt.as_micros() / 2))
    }

    /// Returns every ping, in the order of time.
    pub fn samples(&self) -> &[RttSample] {
        &self.samples
    }
}

/// From the first sample to the end of the last, which lasts as long as the mean one. A single
/// sample lasts a second. `None` without samples.
fn period_of(samples: &[RttSample]) -> Option<Span> {
    let (first, last) = (samples.first()?, samples.last()?);
    let gaps = samples.len() as i64 - 1;
    let between = last.at - first.at;
    Some(if gaps == 0 { Span::from_secs(1) } else { between + Span::from_micros(between.as_micros() / gaps) })
}

impl std::fmt::Display for BadRttTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => write!(f, "a trace of round trips needs at least one sample"),
            Self::NotIncreasing(index) => write!(f, "sample {index} is not later than the one before"),
            Self::Negative(index) => write!(f, "the round trip of sample {index} is negative"),
        }
    }
}

impl std::error::Error for BadRttTrace {}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> SharedInstant {
        SharedInstant::from_millis(millis)
    }

    fn three_pings() -> RttTrace {
        RttTrace::from_csv(b"t,rtt_ms\n0.0,48.0\n0.1,\n0.2,25.5\n").unwrap()
    }

    #[test]
    fn each_sample_holds_until_the_next() {
        let trace = three_pings();
        assert_eq!(trace.rtt_at(at(99)), Some(Span::from_millis(48)));
        assert_eq!(trace.rtt_at(at(100)), None, "a lost ping loses packets until the next ping");
        assert_eq!(trace.rtt_at(at(250)), Some(Span::from_micros(25_500)));
        assert_eq!(trace.one_way_at(at(250)), Some(Span::from_micros(12_750)));
        assert_eq!(trace.rtt_at(at(-5_000)), Some(Span::from_millis(48)), "before the recording");
    }

    #[test]
    fn it_starts_over_or_stays() {
        let trace = three_pings();
        assert_eq!(trace.rtt_at(at(299)), Some(Span::from_micros(25_500)), "the last lasts as the others do");
        assert_eq!(trace.rtt_at(at(300)), Some(Span::from_millis(48)));
        assert_eq!(trace.rtt_at(at(3_100)), None);
        assert_eq!(trace.held_at_end().rtt_at(at(3_100)), Some(Span::from_micros(25_500)));
    }

    #[test]
    fn it_can_begin_elsewhere_and_forget_its_losses() {
        let trace = three_pings();
        assert_eq!(
            trace.clone().begun_at(Span::from_millis(200)).rtt_at(at(0)),
            Some(Span::from_micros(25_500))
        );
        let answered = trace.without_losses().unwrap();
        assert_eq!(answered.rtt_at(at(100)), Some(Span::from_millis(48)));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_row() {
        let complaint = |text: &str| RttTrace::from_csv(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(complaint(""), "row 1: the table is empty");
        assert_eq!(complaint("t,rtt_ms\n"), "row 1, column t: the table has a header and no rows");
        assert_eq!(
            complaint("t,rtt\n0,1\n"),
            "row 1, column rtt_ms: the header does not name this column here"
        );
        assert_eq!(complaint("t,rtt_ms\n0,1\n1,fast\n"), "row 3, column rtt_ms: not a number that fits");
        assert_eq!(complaint("t,rtt_ms\n0,1\n1,NaN\n"), "row 3, column rtt_ms: not finite");
        assert_eq!(complaint("t,rtt_ms\n0,-1\n"), "row 2, column rtt_ms: must not be negative");
        assert_eq!(complaint("t,rtt_ms\n1,1\n1,1\n"), "row 3, column t: not after the row before");
        assert_eq!(complaint("t,rtt_ms\n1\n"), "row 2, column rtt_ms: the cell is missing");
        assert_eq!(complaint("t,rtt_ms\n1,2,3\n"), "row 2: more cells than columns");
    }
}
