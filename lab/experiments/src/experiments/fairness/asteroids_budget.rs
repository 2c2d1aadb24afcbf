//! AB: what a budget does to ships and short-lived bullets, for every scheduler of a session.

use fairpath::schedule::{SchedulerChoice, Weighting};
use fairpath::time::Span;

use crate::budgets::{BudgetScene, BudgetScore, CopyReason, SceneScheduler};
use crate::cells;
use crate::experiment::{
    CannotRun, Declaration, DeclaredExperiment, ExperimentGroup, Progress, RunOption, Settings, map_in_order,
};
use crate::figure::{Axis, Figure, Line, Plot};
use crate::judge;
use crate::outcome::{Claim, Column, Outcome, Rows};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        group: ExperimentGroup::Fairness,
        name: "asteroids-budget",
        alias: "AB",
        title: "Which scheduler and which budget for ships and bullets?",
        source: "this project",
        about: "Asteroids through real sessions in virtual time: 3, 8 and 32 players, 20 to 400 ms from the server, without loss and with 5 %. \
                Each owns a ship and fires up to four bullets a second, which live for one or two seconds. Every client sees everything. Each \
                scheduler has budgets from a tenth of a DR vector per trigger and receiver to one, which is enough for all. Errors are \
                distances between where a client places an object and where it truly is, per class and receiver; bytes are all that the \
                server sends to a client.",
        options: &[RunOption::Seed],
        ..Declaration::EMPTY
    },
    run,
};

const PLAYERS: [usize; 3] = [3, 8, 32];
const LOSSES: [f64; 2] = [0.0, 0.05];
/// DR vectors per trigger and receiver.
const SHARES: [f64; 6] = [0.1, 0.2, 0.33, 0.5, 0.75, 1.0];
/// Session budgets, as parts of the bytes that broadcast takes.
const BYTE_SHARES: [f64; 5] = [0.1, 0.2, 0.35, 0.5, 0.75];
/// How long a game is measured; half as long with more than [`MANY`] players.
const LENGTH: Span = Span::from_secs(20);
const MANY: usize = 16;

const BROADCAST: SchedulerChoice = SchedulerChoice::Broadcast;
const DETERMINISTIC: SchedulerChoice =
    SchedulerChoice::DeterministicBudget { weighting: Weighting::ACCUMULATED };
const ERROR_INDEX: SchedulerChoice = SchedulerChoice::ErrorIndex { fairness: 1.0 };

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let series = Series::all();
    progress.begin("games of broadcast", series.len() as u64);
    let scene = |series: &Series, scheduler| series.scene(scheduler, settings.seed);
    let broadcasts =
        map_in_order(&series, progress, |series| scene(series, SceneScheduler::new(BROADCAST, 1.0)).play());
    let planned: Vec<(usize, SceneScheduler)> = broadcasts.iter().enumerate().flat_map(planned).collect();
    progress.begin("games within budgets", planned.len() as u64);
    let scores = map_in_order(&planned, progress, |(at, scheduler)| scene(&series[*at], *scheduler).play());
    let mut played: Vec<SeriesResults> = series
        .into_iter()
        .zip(broadcasts)
        .map(|(series, broadcast)| SeriesResults { series, broadcast, points: Vec::new() })
        .collect();
    for ((at, scheduler), score) in planned.into_iter().zip(scores) {
        played[at].points.push((scheduler, score));
    }
    let mut outcome = Outcome::new(table(&played)).headline(headline(&played));
    outcome.claims = played.iter().filter(|results| results.series.has_bullets).flat_map(claims).collect();
    outcome.figures = played.iter().filter(|results| results.series.has_bullets).flat_map(figures).collect();
    outcome.notes = notes();
    Ok(outcome)
}

/// Games that differ only in scheduler and budget.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Series {
    players: usize,
    loss: f64,
    has_bullets: bool,
}

struct SeriesResults {
    series: Series,
    broadcast: BudgetScore,
    points: Vec<(SceneScheduler, BudgetScore)>,
}

impl Series {
    fn all() -> Vec<Self> {
        let with = |players, loss| Self { players, loss, has_bullets: true };
        let mut all: Vec<Self> =
            PLAYERS.into_iter().flat_map(|players| LOSSES.map(|loss| with(players, loss))).collect();
        all.insert(0, Self { has_bullets: false, ..with(PLAYERS[0], 0.0) });
        all
    }

    fn scene(&self, scheduler: SceneScheduler, seed: u64) -> BudgetScene {
        let Self { players, loss, has_bullets } = *self;
        let length = if players > MANY { LENGTH.scaled(0.5) } else { LENGTH };
        BudgetScene { players, loss, has_bullets, scheduler, length, seed }
    }

    /// For ids of claims and figures.
    fn id(&self) -> String {
        let bullets = if self.has_bullets { "" } else { "-no-bullets" };
        format!("{}-players{}{bullets}", self.players, if self.loss > 0.0 { "-loss" } else { "" })
    }

    fn shown(&self) -> String {
        format!("{} players, {} % loss", self.players, 100.0 * self.loss)
    }
}

/// Plans the games of a series, whose bytes without a limit are known.
fn planned((at, broadcast): (usize, &BudgetScore)) -> Vec<(usize, SceneScheduler)> {
    let mut all = Vec::new();
    for choice in SchedulerChoice::ALL.into_iter().filter(|choice| *choice != BROADCAST) {
        let shares = if has_budget(choice) { &SHARES[..] } else { &SHARES[SHARES.len() - 1..] };
        all.extend(shares.iter().map(|share| SceneScheduler::new(choice, *share)));
    }
    all.extend(
        SHARES
            .map(|share| SceneScheduler { has_free_births: true, ..SceneScheduler::new(ERROR_INDEX, share) }),
    );
    all.extend(BYTE_SHARES.map(|share| SceneScheduler {
        bytes_per_sec: Some((share * broadcast.bytes_per_sec) as u32),
        ..SceneScheduler::new(BROADCAST, 1.0)
    }));
    all.into_iter().map(|scheduler| (at, scheduler)).collect()
}

fn has_budget(choice: SchedulerChoice) -> bool {
    matches!(
        choice,
        SchedulerChoice::EveryNth { .. }
            | SchedulerChoice::ProbabilisticBudget { .. }
            | SchedulerChoice::FixedProbability { .. }
            | SchedulerChoice::DeterministicBudget { .. }
            | SchedulerChoice::ErrorIndex { .. }
    )
}

fn label(scheduler: &SceneScheduler) -> String {
    let name = scheduler.choice.name();
    match (scheduler.has_free_births, scheduler.bytes_per_sec) {
        (true, _) => format!("{name}, births free"),
        (_, Some(_)) => format!("{name}, bytes limited"),
        _ => name.into(),
    }
}

impl SeriesResults {
    fn with_broadcast(&self) -> impl Iterator<Item = (SceneScheduler, &BudgetScore)> {
        let broadcast = (SceneScheduler::new(BROADCAST, 1.0), &self.broadcast);
        std::iter::once(broadcast).chain(self.points.iter().map(|(scheduler, score)| (*scheduler, score)))
    }

    /// The part of broadcast's bytes that a game took.
    fn bytes_share(&self, score: &BudgetScore) -> f64 {
        score.bytes_per_sec / self.broadcast.bytes_per_sec
    }

    fn of(&self, choice: SchedulerChoice) -> impl Iterator<Item = (&SceneScheduler, &BudgetScore)> {
        let is_plain =
            |scheduler: &SceneScheduler| !scheduler.has_free_births && scheduler.bytes_per_sec.is_none();
        let points = self.points.iter().map(|(scheduler, score)| (scheduler, score));
        points.filter(move |(scheduler, _)| scheduler.choice == choice && is_plain(scheduler))
    }

    /// A quantity of the deterministic budget at so many bytes: read off between the two nearest
    /// budgets. Its highest budget beyond that.
    fn deterministic_at(&self, bytes_per_sec: f64, of: impl Fn(&BudgetScore) -> f64) -> f64 {
        let scores = self.of(DETERMINISTIC).map(|(_, score)| (score.bytes_per_sec, of(score)));
        let mut points: Vec<(f64, f64)> = scores.collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let above = points.iter().position(|(bytes, _)| *bytes >= bytes_per_sec);
        match above {
            Some(0) => points[0].1,
            Some(at) => {
                let ((low, from), (high, to)) = (points[at - 1], points[at]);
                from + (to - from) * (bytes_per_sec - low) / (high - low)
            }
            None => points.last().map_or(f64::NAN, |(_, value)| *value),
        }
    }
}

fn claims(results: &SeriesResults) -> [Claim; 2] {
    let worst = |score: &BudgetScore| score.ships.worst_p95();
    let excess = results
        .of(ERROR_INDEX)
        .map(|(_, score)| worst(score) / results.deterministic_at(score.bytes_per_sec, worst));
    let enough = results.points.iter().filter(|(scheduler, _)| {
        scheduler.share >= 1.0 && has_budget(scheduler.choice) && scheduler.bytes_per_sec.is_none()
    });
    let off = enough.map(|(_, score)| score.ships.mean() / results.broadcast.ships.mean());
    let shown = results.series.shown();
    [
        Claim::new(
            format!("AB.graceful-{}", results.series.id()),
            format!(
                "error-index, {shown}: at every budget the worst receiver's p95 of ships is at most twice that of the deterministic \
                 budget at the same bytes"
            ),
            judge::at_most(excess.fold(0.0, f64::max), 2.0),
        )
        .unit("× the deterministic budget's"),
        Claim::new(
            format!("AB.enough-{}", results.series.id()),
            format!("{shown}: with a DR vector per trigger and receiver every scheduler's mean error of ships is broadcast's, within 2 %"),
            judge::at_most(off.fold(0.0, f64::max), 1.02),
        )
        .unit("× broadcast's"),
    ]
}

fn table(played: &[SeriesResults]) -> Rows {
    let unit = "u";
    let mut columns = vec![
        Column::number("players", "players", ""),
        Column::number("loss_percent", "loss", "%"),
        Column::text("bullets", "bullets"),
        Column::text("scheduler", "scheduler"),
        Column::number("share", "DR vectors per trigger and receiver", "").decimals(2),
        Column::number("bytes_per_sec", "bytes per client", "B/s").decimals(0),
        Column::number("bytes_share", "of broadcast's bytes", "").decimals(2),
        Column::number("datagram_bytes_per_sec", "in datagrams", "B/s").decimals(0),
    ];
    for class in ["ship", "bullet"] {
        let number = |key: &str, label: &str, unit: &str| {
            Column::number(format!("{class}_{key}"), format!("{class}: {label}"), unit)
        };
        columns.extend([
            number("mean", "mean", unit).decimals(3),
            number("p95", "p95", unit).decimals(2),
            number("p95_best", "best receiver's p95", unit).decimals(2),
            number("p95_worst", "worst receiver's p95", unit).decimals(2),
            number("spread", "spread", unit).decimals(3),
            number("missing_percent", "unknown", "%").decimals(1),
        ]);
        for reason in CopyReason::ALL {
            let name = format!("{reason:?}").to_lowercase();
            let key = format!("{name}_per_sec");
            columns.push(number(&key, &format!("copies by {name}"), "/s").decimals(2));
        }
    }
    let mut rows = Rows::new(columns);
    for results in played {
        for (scheduler, score) in results.with_broadcast() {
            rows.push(row(results, &scheduler, score));
        }
    }
    rows
}

fn row(
    results: &SeriesResults,
    scheduler: &SceneScheduler,
    score: &BudgetScore,
) -> Vec<crate::outcome::Cell> {
    let Series { players, loss, has_bullets } = results.series;
    let mut row = cells![
        players,
        100.0 * loss,
        if has_bullets { "yes" } else { "no" },
        label(scheduler),
        scheduler.share,
        score.bytes_per_sec,
        results.bytes_share(score),
        score.datagram_bytes_per_sec,
    ];
    for (at, class) in [&score.ships, &score.bullets].into_iter().enumerate() {
        row.extend(cells![
            class.mean(),
            class.p95(),
            class.best_p95(),
            class.worst_p95(),
            class.spread(),
            100.0 * class.missing_ratio,
        ]);
        row.extend(CopyReason::ALL.map(|reason| score.copies_per_sec(reason)[at].into()));
    }
    row
}

/// The numbers that a game programmer chooses by.
fn headline(played: &[SeriesResults]) -> Rows {
    let mut rows = Rows::new([
        Column::number("players", "players", ""),
        Column::number("loss_percent", "loss", "%"),
        Column::text("bullets", "bullets"),
        Column::text("scheduler", "scheduler"),
        Column::number("share", "budget", "").decimals(2),
        Column::number("bytes_per_sec", "bytes", "B/s").decimals(0),
        Column::number("ship_mean", "ship mean", "u").decimals(2),
        Column::number("ship_p95", "p95", "u").decimals(2),
        Column::number("ship_p95_worst", "worst p95", "u").decimals(2),
        Column::number("ship_spread", "spread", "u").decimals(2),
        Column::number("bullet_p95", "bullet p95", "u").decimals(2),
        Column::number("bullet_missing_percent", "unknown", "%").decimals(0),
        Column::text("copies", "births, claims, liveness, repeats /s"),
    ]);
    for results in played {
        let Series { players, loss, has_bullets } = results.series;
        for (scheduler, score) in results.with_broadcast() {
            let copies = CopyReason::ALL.map(|reason| score.copies_per_sec(reason).iter().sum::<f64>());
            rows.push(cells![
                players,
                100.0 * loss,
                if has_bullets { "yes" } else { "no" },
                label(&scheduler),
                scheduler.share,
                score.bytes_per_sec,
                score.ships.mean(),
                score.ships.p95(),
                score.ships.worst_p95(),
                score.ships.spread(),
                score.bullets.p95(),
                100.0 * score.bullets.missing_ratio,
                copies.map(|count| format!("{count:.1}")).join(", "),
            ]);
        }
    }
    rows
}

fn figures(results: &SeriesResults) -> [Figure; 2] {
    let id = results.series.id();
    let shown = results.series.shown();
    let bytes = || Axis::new("bytes per client, as a part of broadcast's", "").logarithmic();
    [
        Figure::new(
            format!("ab-ships-{id}"),
            format!("Ships: {shown}"),
            bytes(),
            Axis::new("worst receiver's p95", "u").logarithmic(),
            Plot::Lines(lines(results, |score| score.ships.worst_p95())),
        )
        .caption("Lower and farther left is better. A line is a scheduler, a point is a budget."),
        Figure::new(
            format!("ab-bullets-{id}"),
            format!("Bullets: {shown}"),
            bytes(),
            Axis::new("worst receiver's p95", "u").logarithmic(),
            Plot::Lines(lines(results, |score| score.bullets.worst_p95())),
        )
        .caption("Of the bullets that a receiver knows; the table says how many it does not know."),
    ]
}

fn lines(results: &SeriesResults, of: impl Fn(&BudgetScore) -> f64) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (scheduler, score) in results.with_broadcast() {
        let (label, point) = (label(&scheduler), (results.bytes_share(score), of(score)));
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.points.push(point),
            None => lines.push(Line::new(label, [point])),
        }
    }
    for line in &mut lines {
        line.points.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    lines
}

fn notes() -> Vec<String> {
    vec![
        "A copy is a birth if it is the receiver's first about the object, a claim if the scheduler asked for it, liveness if dispatcher or \
         session sent a newer DR vector without a claim, a repeat if the receiver was sent the same one before. An object's announcement, \
         which carries its first DR vector too, and its removal travel on the stream and are not copies."
            .into(),
        "\"births free\" is error-index whose budget does not pay for births: it shows what paying for them does. \"bytes limited\" is \
         broadcast within the session's budget of bytes, set to 0.1 to 0.75 of what broadcast takes."
            .into(),
        "Schedulers without a budget are one point. \"unknown\" is the part of an object's life in which a receiver does not know it; a \
         bullet needs two one-way delays to be known."
            .into(),
    ]
}
