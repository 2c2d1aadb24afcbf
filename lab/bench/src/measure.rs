//! Best of five, in turns, and the table that shows it.

use std::fmt;
use std::time::{Duration, Instant};

/// How often each contender is measured; the best counts, because noise only ever adds.
const ROUNDS: usize = 5;
/// How long one measurement lasts at least: long against the clock's grain, short against a
/// person's patience.
const ROUND_TIME: Duration = Duration::from_millis(60);

/// How often the stopwatch is pressed for nothing; the quickest counts, so that never too much is
/// taken off.
const CALIBRATIONS: usize = 10_000;

/// Something to measure: a name, and what to do once. It answers with something, so that nothing is
/// optimised away.
pub(crate) struct Contender<'a> {
    name: String,
    /// How many items one call handles.
    items: usize,
    run: Box<dyn FnMut(&mut Stopwatch) -> f64 + 'a>,
}

/// Runs while something is measured.
#[derive(Default)]
pub(crate) struct Stopwatch {
    total: Duration,
    presses: u32,
}

impl Stopwatch {
    /// What it measures when nothing is done: two looks at the clock are some twenty nanoseconds
    /// apart.
    fn own_cost() -> Duration {
        let nothing = || {
            let mut watch = Self::default();
            watch.time(|| ());
            watch.total
        };
        (0..CALIBRATIONS).map(|_| nothing()).min().unwrap_or_default()
    }

    /// What was done while it ran took so long in all.
    fn elapsed(&self, own_cost: Duration) -> Duration {
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

    /// Something of which only a part counts: what is done while the stopwatch runs.
    pub(crate) fn in_part(
        name: impl Into<String>,
        items: usize,
        run: impl FnMut(&mut Stopwatch) -> f64 + 'a,
    ) -> Self {
        Self { name: name.into(), items, run: Box::new(run) }
    }

    /// Seconds per item in one round, without what the stopwatch itself takes.
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

/// Contenders beside their baseline.
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
    /// Measures all contenders in turns; the first is the baseline.
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

    /// For what is no ratio: a title, and notes to come.
    pub(crate) fn of_notes(title: &str) -> Self {
        Self { title: title.to_owned(), rows: Vec::new(), notes: Vec::new() }
    }

    /// How many times as long the first of two rows takes; NaN if there is no such row.
    pub(crate) fn ratio(&self, name: &str, baseline: &str) -> f64 {
        let ratio_of = |name: &str| self.rows.iter().find(|row| row.name == name).map(|row| row.ratio);
        ratio_of(name).zip(ratio_of(baseline)).map_or(f64::NAN, |(one, other)| one / other)
    }

    /// Adds a line below the table.
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
            writeln!(f, "{}   (best of {ROUNDS}, in turns)", self.title)?;
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
