//! Measures the best of five rounds, in alternation, and prints the table.

use std::fmt;
use std::time::{Duration, Instant};

/// Rounds per contender. The best counts, because noise only adds time.
const ROUNDS: usize = 5;
/// Shortest duration of one measurement: long against the clock's resolution.
const ROUND_TIME: Duration = Duration::from_millis(60);

/// Empty measurements that calibrate the stopwatch. The quickest counts: never subtract too much.
const CALIBRATIONS: usize = 10_000;

/// A name and a closure to measure. It returns a number, so that its work is not optimised away.
pub(crate) struct Contender<'a> {
    name: String,
    /// Items that one call handles.
    items: usize,
    run: Box<dyn FnMut(&mut Stopwatch) -> f64 + 'a>,
}

/// Sums the time of the measured parts.
#[derive(Default)]
pub(crate) struct Stopwatch {
    total: Duration,
    presses: u32,
}

impl Stopwatch {
    /// Returns the time of an empty measurement: two clock readings are some 20 ns apart.
    pub(crate) fn own_cost() -> Duration {
        let nothing = || {
            let mut watch = Self::default();
            watch.time(|| ());
            watch.total
        };
        (0..CALIBRATIONS).map(|_| nothing()).min().unwrap_or_default()
    }

    /// Returns the measured time without the stopwatch's own cost.
    pub(crate) fn elapsed(&self, own_cost: Duration) -> Duration {
        self.total.saturating_sub(own_cost * self.presses)
    }

    pub(crate) fn time<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let answer = run();
        self.total += started.elapsed();
        self.presses += 1;
        answer
    }
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: impl Into<String>, items: usize, mut run: impl FnMut() -> f64 + 'a) -> Self {
        Self::in_part(name, items, move |watch| watch.time(&mut run))
    }

    /// Creates a contender of which only a part counts: what it passes to the stopwatch.
    pub(crate) fn in_part(
        name: impl Into<String>,
        items: usize,
        run: impl FnMut(&mut Stopwatch) -> f64 + 'a,
    ) -> Self {
        Self { name: name.into(), items, run: Box::new(run) }
    }

    /// Returns the seconds per item in one round, without the stopwatch's own cost.
    fn round(&mut self, own_cost: Duration) -> f64 {
        let started = Instant::now();
        let mut calls = 0u32;
        let mut watch = Stopwatch::default();
        while started.elapsed() < ROUND_TIME {
            std::hint::black_box((self.run)(&mut watch));
            calls += 1;
        }
        watch.elapsed(own_cost).as_secs_f64() / f64::from(calls) / self.items as f64
    }
}

/// Results of the contenders beside their baseline.
pub(crate) struct BenchTable {
    title: String,
    rows: Vec<TimingRow>,
    notes: Vec<String>,
}

struct TimingRow {
    name: String,
    ratio: f64,
    nanos: f64,
}

impl BenchTable {
    /// Measures all contenders in alternation. The first is the baseline.
    pub(crate) fn measure(title: &str, mut contenders: Vec<Contender<'_>>) -> Self {
        let mut best = vec![f64::INFINITY; contenders.len()];
        let own_cost = Stopwatch::own_cost();
        for _ in 0..ROUNDS {
            for (contender, best) in contenders.iter_mut().zip(&mut best) {
                *best = best.min(contender.round(own_cost));
            }
        }
        let rows = contenders
            .iter()
            .zip(&best)
            .map(|(contender, secs)| TimingRow {
                name: contender.name.clone(),
                ratio: secs / best[0],
                nanos: secs * 1e9,
            })
            .collect();
        Self { title: title.to_owned(), rows, notes: Vec::new() }
    }

    /// Creates a table without ratios: a title, and notes that are added later.
    pub(crate) fn of_notes(title: &str) -> Self {
        Self { title: title.to_owned(), rows: Vec::new(), notes: Vec::new() }
    }

    /// Returns the ratio of the times of two rows, or NaN if a row is missing.
    pub(crate) fn ratio(&self, name: &str, baseline: &str) -> f64 {
        let ratio_of = |name: &str| self.rows.iter().find(|row| row.name == name).map(|row| row.ratio);
        ratio_of(name).zip(ratio_of(baseline)).map_or(f64::NAN, |(one, other)| one / other)
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

impl fmt::Display for BenchTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows.is_empty() {
            writeln!(f, "{}", self.title)?;
        } else {
            writeln!(f, "{}   (best of {ROUNDS}, in alternation)", self.title)?;
            writeln!(f, "  {:<58} {:>7} {:>12}", "", "ratio", "ns per item")?;
        }
        for row in &self.rows {
            writeln!(f, "  {:<58} {:>7.2} {:>12.2}", row.name, row.ratio, row.nanos)?;
        }
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        Ok(())
    }
}
