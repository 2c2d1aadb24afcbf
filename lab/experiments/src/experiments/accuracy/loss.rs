//! LS: what loss does to what receivers show, and which further copies of DR vectors help.

use fairpath::schedule::CopyPlan;
use fairpath::session::LossProtection;
use fairpath::time::Span;

use crate::cells;
use crate::experiment::{
    CannotRun, Declaration, DeclaredExperiment, ExperimentGroup, Progress, RunOption, Settings, map_in_order,
};
use crate::figure::{Axis, Figure, Line, Plot};
use crate::judge;
use crate::loss::{LossPattern, LossScene, LossScore};
use crate::outcome::{Claim, Column, Outcome, Rows};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        group: ExperimentGroup::Accuracy,
        name: "loss",
        alias: "LS",
        title: "What does loss cost, and which copies help?",
        source: "this project",
        about: "64 tanks at 30 Hz through real sessions in virtual time, to eight receivers behind links that lose 0 to 30 % of the datagrams \
                both ways: each by itself, in runs of three, or all of them during outages of 100 ms. Beside them, over the same links, a \
                loop that sends every state of 18 bytes at every tick. Errors are distances between shown and true positions, 60 times a \
                second. Bytes are all that the server sends, with 19 bytes of sealing for each datagram; receipts are counted apart.",
        options: &[RunOption::Seed],
        ..Declaration::EMPTY
    },
    run,
};

const LOSSES: [f64; 5] = [0.0, 0.05, 0.1, 0.2, 0.3];
/// One way. The nearer is that of the loopback, over which other libraries are measured.
const DELAYS_MS: [i64; 2] = [1, 50];
const LENGTH: Span = Span::from_secs(30);
const COARSE: f64 = 0.3;
const FINE: f64 = 0.1;
/// A quarter of the raw loop's bytes, and 0.45 of them.
const FEW: f64 = 0.25;
const MANY: f64 = 0.45;

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let paths = LossScene::paths(settings.seed, LENGTH);
    let series = Series::all();
    let games: Vec<(Series, Way)> =
        series.iter().flat_map(|series| Way::all().into_iter().map(|way| (*series, way))).collect();
    progress.begin("games", games.len() as u64);
    let scores = map_in_order(&games, progress, |(series, way)| {
        let scene = series.scene(way, settings.seed);
        if *way == Way::Raw { scene.play_raw(&paths) } else { scene.play(&paths) }
    });
    let ways = Way::all();
    let played: Vec<SeriesResults> = series
        .into_iter()
        .zip(scores.chunks(ways.len()))
        .map(|(series, scores)| SeriesResults {
            series,
            scores: ways.iter().copied().zip(scores.iter().copied()).collect(),
        })
        .collect();
    let mut outcome = Outcome::new(table(&played));
    outcome.claims = played.iter().flat_map(claims).collect();
    outcome.figures = figures(&played);
    outcome.notes = notes();
    Ok(outcome)
}

/// A method, and for sessions threshold and protection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Raw,
    Session(f64, LossProtection),
}

impl Way {
    const PLAIN: Self = Self::Session(COARSE, LossProtection::Off);
    fn adaptive(threshold: f64) -> Self {
        Self::Session(threshold, LossProtection::default())
    }

    fn all() -> Vec<Self> {
        let fixed: [&[u16]; 7] = [
            &[17],
            &[36],
            &[17, 36],
            &[17, 36, 53],
            &[36, 69, 103],
            &[17, 36, 69, 136, 203],
            &[53, 103, 153, 203, 253, 303],
        ];
        let fixed =
            fixed.map(|after_ms| Self::Session(FINE, LossProtection::Fixed(CopyPlan::after_ms(after_ms))));
        let chosen = [Self::Raw, Self::PLAIN, Self::adaptive(COARSE), Self::adaptive(FINE)];
        let few = Self::Session(FINE, LossProtection::Adaptive { copies_max: 1 });
        chosen.into_iter().chain([few, Self::Session(FINE, LossProtection::Off)]).chain(fixed).collect()
    }

    fn label(&self) -> String {
        let Self::Session(_, protection) = self else { return "raw loop".into() };
        match protection {
            LossProtection::Off => "receipts only".into(),
            LossProtection::Adaptive { copies_max }
                if *self != Self::adaptive(FINE) && *self != Self::adaptive(COARSE) =>
            {
                format!("adaptive, at most {copies_max}")
            }
            LossProtection::Adaptive { .. } => "adaptive".into(),
            LossProtection::Fixed(plan) => format!("after {plan} ms"),
            _ => "other".into(),
        }
    }
}

/// Games over the same links.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Series {
    pattern: LossPattern,
    loss: f64,
    delay_ms: i64,
}

struct SeriesResults {
    series: Series,
    scores: Vec<(Way, LossScore)>,
}

type MakePattern = fn(f64) -> LossPattern;
const PATTERNS: [MakePattern; 3] = [
    LossPattern::Independent,
    |ratio| LossPattern::Bursts(ratio, 3.0),
    |ratio| LossPattern::Outages(ratio, 100.0),
];

impl Series {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for delay_ms in DELAYS_MS {
            for pattern in PATTERNS {
                all.extend(LOSSES.map(|loss| Self { pattern: pattern(loss), loss, delay_ms }));
            }
        }
        // Without loss all patterns are the same.
        all.retain(|series| series.loss > 0.0 || matches!(series.pattern, LossPattern::Independent(_)));
        all
    }

    fn scene(&self, way: &Way, seed: u64) -> LossScene {
        let (threshold, protection) = if let Way::Session(threshold, protection) = way {
            (*threshold, *protection)
        } else {
            (COARSE, LossProtection::Off)
        };
        let delay = Span::from_millis(self.delay_ms);
        LossScene { pattern: self.pattern, delay, threshold, protection, length: LENGTH, seed }
    }

    fn shown_pattern(&self) -> &'static str {
        match self.pattern {
            LossPattern::Independent(_) => "independent",
            LossPattern::Bursts(..) => "runs of 3",
            LossPattern::Outages(..) => "outages of 100 ms",
        }
    }

    fn is_independent(&self) -> bool {
        matches!(self.pattern, LossPattern::Independent(_))
    }

    fn id(&self) -> String {
        let pattern = self.shown_pattern().replace(' ', "-");
        format!("{pattern}-{}-percent-{}-ms", (100.0 * self.loss).round(), self.delay_ms)
    }
}

impl SeriesResults {
    fn score(&self, way: Way) -> LossScore {
        self.scores.iter().find(|(played, _)| *played == way).expect("it was played").1
    }

    /// The worse of root mean square and 99th percentile, and the bytes, all as shares of the raw
    /// loop's.
    fn ratios(&self, way: Way) -> (f64, f64) {
        let (score, raw) = (self.score(way), self.score(Way::Raw));
        ((score.rms / raw.rms).max(score.p99 / raw.p99), score.bytes / raw.bytes)
    }
}

fn claims(results: &SeriesResults) -> Vec<Claim> {
    let series = &results.series;
    let shown =
        format!("{} % lost, {}, {} ms away", 100.0 * series.loss, series.shown_pattern(), series.delay_ms);
    if series.loss == 0.0 {
        let (more, plain) = (results.score(Way::adaptive(COARSE)), results.score(Way::PLAIN));
        return vec![Claim::new(
            format!("LS.free-{}", series.id()),
            format!("{shown}: adaptive copies cost not a byte"),
            judge::at_most(more.bytes - plain.bytes, 0.0),
        )];
    }
    let limit = if series.is_independent() && series.loss < 0.25 { 1.05 } else { 1.1 };
    let (error, bytes) = results.ratios(Way::adaptive(COARSE));
    let mut claims = vec![
        Claim::new(
            format!("LS.error-{}", series.id()),
            format!("{shown}: with adaptive copies and a threshold of 0.3 root mean square and p99 are at most {limit} of the raw loop's"),
            judge::at_most(error, limit),
        )
        .unit("× the raw loop's"),
        Claim::new(
            format!("LS.bytes-{}", series.id()),
            format!("{shown}: within a quarter of its bytes"),
            judge::at_most(bytes, FEW),
        )
        .unit("× the raw loop's"),
    ];
    if series.is_independent() {
        let (error, bytes) = results.ratios(Way::adaptive(FINE));
        claims.push(
            Claim::new(
                format!("LS.better-{}", series.id()),
                format!("{shown}: with a threshold of 0.1 both are below the raw loop's, with at most 0.45 of its bytes"),
                judge::below(if bytes <= MANY { error } else { f64::NAN }, 1.0),
            )
            .unit("× the raw loop's"),
        );
    }
    claims
}

fn table(played: &[SeriesResults]) -> Rows {
    let mut rows = Rows::new([
        Column::text("pattern", "losses"),
        Column::number("loss_percent", "lost", "%"),
        Column::number("delay_ms", "one way", "ms"),
        Column::text("way", "copies"),
        Column::number("threshold", "threshold", "u").decimals(1),
        Column::number("rms", "error, root mean square", "u").decimals(3),
        Column::number("rms_ratio", "of the raw loop's", "").decimals(2),
        Column::number("p99", "p99", "u").decimals(2),
        Column::number("p99_ratio", "of the raw loop's", "").decimals(2),
        Column::number("bytes", "bytes per tank and tick", "B").decimals(2),
        Column::number("bytes_ratio", "of the raw loop's", "").decimals(3),
        Column::number("bytes_back", "bytes back", "B").decimals(2),
        Column::number("repeats_percent", "further copies", "%").decimals(0),
    ]);
    for results in played {
        let raw = results.score(Way::Raw);
        for (way, score) in &results.scores {
            let threshold = if let Way::Session(threshold, _) = way { *threshold } else { f64::NAN };
            rows.push(cells![
                results.series.shown_pattern(),
                100.0 * results.series.loss,
                results.series.delay_ms as f64,
                way.label(),
                threshold,
                score.rms,
                score.rms / raw.rms,
                score.p99,
                score.p99 / raw.p99,
                score.bytes,
                score.bytes / raw.bytes,
                score.bytes_back,
                100.0 * score.repeats,
            ]);
        }
    }
    rows
}

fn figures(played: &[SeriesResults]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for delay_ms in DELAYS_MS {
        let here =
            |results: &&SeriesResults| results.series.delay_ms == delay_ms && results.series.is_independent();
        let line = |way: Way, label: &str| {
            let points = played.iter().filter(here).map(|it| (100.0 * it.series.loss, it.score(way).rms));
            Line::new(label, points.collect::<Vec<_>>())
        };
        let lines = vec![
            line(Way::Raw, "raw loop, every state"),
            line(Way::PLAIN, "Fairpath, receipts only"),
            line(Way::adaptive(COARSE), "Fairpath, adaptive, threshold 0.3"),
            line(Way::adaptive(FINE), "Fairpath, adaptive, threshold 0.1"),
        ];
        figures.push(Figure::new(
            format!("ls-error-{delay_ms}-ms"),
            format!("Error by loss, {delay_ms} ms one way"),
            Axis::new("datagrams lost", "%"),
            Axis::new("error, root mean square", "u"),
            Plot::Lines(lines),
        ));
    }
    figures
}

fn notes() -> Vec<String> {
    vec![
        "\"Receipts only\" sends a lost DR vector again once receipts show that it is missing, and all others do that too. \"After 17 36 ms\" \
         sends every DR vector again after 17 and 36 ms, whatever is lost, unless a newer one exists or a receipt has come."
            .into(),
        "Runs are counted in datagrams, so a method that sends more of them gets through a run sooner. Outages are counted in time and are the \
         same for all methods."
            .into(),
        "Samples from 0.1 s before to 1 s after a tank is put elsewhere do not count: it is hundreds of units off on every screen until the \
         datagram arrives."
            .into(),
    ]
}
