//! AB: what a budget does to ships and short-lived bullets, for every scheduler of a session.

use fairpath::schedule::{QueueOrder, SchedulerChoice, Weighting};
use fairpath::session::Budget;
use fairpath::time::Span;

use crate::budgets::{BudgetScene, BudgetScore, CopyReason, Opening, SceneScheduler};
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
                Each owns a ship and fires up to four bullets a second, which live for one or two seconds. Every client sees everything. The \
                orders of a live server have budgets of bytes per client, from a tenth of what broadcast takes to more than it takes. The \
                schedulers of the papers have budgets from a tenth of a DR vector per trigger and receiver to one, which is enough for all. \
                Errors are distances between where a client places an object and where it truly is, per class and receiver; bytes are all \
                that the server sends to a client.",
        options: &[RunOption::Seed],
        ..Declaration::EMPTY
    },
    run,
};

const PLAYERS: [usize; 3] = [3, 8, 32];
const LOSSES: [f64; 2] = [0.0, 0.05];
/// DR vectors per trigger and receiver.
const SHARES: [f64; 6] = [0.1, 0.2, 0.33, 0.5, 0.75, 1.0];
/// Budgets of bytes, as parts of what broadcast takes. The last is enough for all.
const BYTE_SHARES: [f64; 6] = [0.1, 0.2, 0.35, 0.5, 0.75, ENOUGH];
/// Twice what broadcast takes on average: it has busy seconds.
const ENOUGH: f64 = 2.0;
/// The budget of openings: a third of what broadcast takes.
const OPENING_SHARE: f64 = 0.33;
/// How long a game is measured; half as long with more than [`MANY`] players.
const LENGTH: Span = Span::from_secs(20);
/// How long it is measured after an opening.
const OPENING_LENGTH: Span = Span::from_secs(30);
const MANY: usize = 16;

const DETERMINISTIC: SchedulerChoice =
    SchedulerChoice::DeterministicBudget { weighting: Weighting::ACCUMULATED };

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let series = Series::all();
    progress.begin("games of broadcast", series.len() as u64);
    let scene = |series: &Series, scheduler| series.scene(scheduler, settings.seed);
    let broadcasts =
        map_in_order(&series, progress, |series| scene(series, SceneScheduler::BROADCAST).play());
    let planned: Vec<(usize, BudgetedGame)> = series
        .iter()
        .zip(&broadcasts)
        .enumerate()
        .flat_map(|(at, (series, broadcast))| planned(series, broadcast).into_iter().map(move |it| (at, it)))
        .collect();
    progress.begin("games within budgets", planned.len() as u64);
    let scores = map_in_order(&planned, progress, |(at, game)| scene(&series[*at], game.scheduler).play());
    let mut played: Vec<SeriesResults> = series
        .into_iter()
        .zip(broadcasts)
        .map(|(series, broadcast)| SeriesResults { series, broadcast, points: Vec::new() })
        .collect();
    for ((at, game), score) in planned.into_iter().zip(scores) {
        played[at].points.push((game, score));
    }
    let mut outcome = Outcome::new(table(&played)).headline(headline(&played));
    outcome.claims = played.iter().flat_map(claims).collect();
    outcome.figures = played.iter().filter(|results| results.series.is_main()).flat_map(figures).collect();
    outcome.notes = notes();
    Ok(outcome)
}

/// Games that differ only in scheduler and budget.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Series {
    players: usize,
    loss: f64,
    has_bullets: bool,
    opening: Opening,
}

/// A scheduler with its budget, as it is shown.
#[derive(Clone, Copy, Debug)]
struct BudgetedGame {
    scheduler: SceneScheduler,
    /// DR vectors per trigger and receiver, or the part of broadcast's bytes.
    share: f64,
}

struct SeriesResults {
    series: Series,
    broadcast: BudgetScore,
    points: Vec<(BudgetedGame, BudgetScore)>,
}

impl Series {
    fn all() -> Vec<Self> {
        let with = |players, loss| Self { players, loss, has_bullets: true, opening: Opening::Settled };
        let mut all: Vec<Self> =
            PLAYERS.into_iter().flat_map(|players| LOSSES.map(|loss| with(players, loss))).collect();
        all.insert(0, Self { has_bullets: false, ..with(PLAYERS[0], 0.0) });
        all.extend(
            [Opening::Fresh, Opening::Joiner].map(|opening| Self { opening, ..with(PLAYERS[1], 0.0) }),
        );
        all
    }

    /// Whether every scheduler plays it.
    fn is_main(&self) -> bool {
        self.has_bullets && self.opening == Opening::Settled
    }

    fn scene(&self, scheduler: SceneScheduler, seed: u64) -> BudgetScene {
        let Self { players, loss, has_bullets, opening } = *self;
        let length = match opening {
            Opening::Settled if players > MANY => LENGTH.scaled(0.5),
            Opening::Settled => LENGTH,
            Opening::Fresh | Opening::Joiner => OPENING_LENGTH,
        };
        BudgetScene { players, loss, has_bullets, scheduler, opening, length, seed }
    }

    /// For ids of claims and figures.
    fn id(&self) -> String {
        let bullets = if self.has_bullets { "" } else { "-no-bullets" };
        format!("{}-players{}{bullets}", self.players, if self.loss > 0.0 { "-loss" } else { "" })
    }

    fn shown(&self) -> String {
        format!("{} players, {} % loss", self.players, 100.0 * self.loss)
    }

    fn opening(&self) -> &'static str {
        match self.opening {
            Opening::Settled => "settled",
            Opening::Fresh => "fresh server",
            Opening::Joiner => "a joiner",
        }
    }
}

/// Plans the games of a series, whose bytes without a limit are known.
fn planned(series: &Series, broadcast: &BudgetScore) -> Vec<BudgetedGame> {
    let bytes = |order: QueueOrder, share: f64| {
        let budget = Budget::bytes_per_sec((share * broadcast.bytes_per_sec) as u32);
        BudgetedGame { scheduler: SceneScheduler::Bytes { order, budget }, share }
    };
    if series.opening != Opening::Settled {
        return QueueOrder::ALL.map(|order| bytes(order, OPENING_SHARE)).to_vec();
    }
    let mut all = Vec::new();
    for order in QueueOrder::ALL {
        all.extend(BYTE_SHARES.map(|share| bytes(order, share)));
    }
    let order = QueueOrder::default();
    all.extend([0.35, 0.5, 0.75].map(|share| BudgetedGame {
        scheduler: SceneScheduler::Bytes { order, budget: Budget::share_of_broadcast(share) },
        share,
    }));
    for choice in SchedulerChoice::ALL.into_iter().filter(|choice| *choice != SchedulerChoice::Broadcast) {
        let shares = if has_budget(choice) { &SHARES[..] } else { &SHARES[SHARES.len() - 1..] };
        all.extend(shares.iter().map(|share| BudgetedGame {
            scheduler: SceneScheduler::Counted { choice, share: *share },
            share: *share,
        }));
    }
    all
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
    match scheduler {
        SceneScheduler::Counted { choice: SchedulerChoice::Broadcast, .. } => "broadcast".into(),
        SceneScheduler::Counted { choice, .. } => format!("counted {}", choice.name()),
        SceneScheduler::Bytes { order, budget } if budget.share.is_some() => format!("{order}, share"),
        SceneScheduler::Bytes { order, .. } => order.to_string(),
    }
}

impl SeriesResults {
    fn with_broadcast(&self) -> impl Iterator<Item = (BudgetedGame, &BudgetScore)> {
        let broadcast = BudgetedGame { scheduler: SceneScheduler::BROADCAST, share: 1.0 };
        std::iter::once((broadcast, &self.broadcast))
            .chain(self.points.iter().map(|(game, score)| (*game, score)))
    }

    /// The part of broadcast's bytes that a game took.
    fn bytes_share(&self, score: &BudgetScore) -> f64 {
        score.bytes_per_sec / self.broadcast.bytes_per_sec
    }

    /// The games within a budget of bytes.
    fn in_bytes(&self) -> impl Iterator<Item = (QueueOrder, f64, &BudgetScore)> {
        self.points.iter().filter_map(|(game, score)| match game.scheduler {
            SceneScheduler::Bytes { order, budget } if budget.share.is_none() => {
                Some((order, game.share, score))
            }
            _ => None,
        })
    }

    /// A quantity of the counted deterministic budget at so many bytes: read off between the two
    /// nearest budgets. That of its lowest or highest budget beyond them.
    fn deterministic_at(&self, bytes_per_sec: f64, of: impl Fn(&BudgetScore) -> f64) -> f64 {
        let is_it = |game: &BudgetedGame| matches!(game.scheduler, SceneScheduler::Counted { choice, .. } if choice == DETERMINISTIC);
        let scores = self.points.iter().filter(|(game, _)| is_it(game));
        let mut points: Vec<(f64, f64)> = scores.map(|(_, score)| (score.bytes_per_sec, of(score))).collect();
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

fn claims(results: &SeriesResults) -> Vec<Claim> {
    match results.series.opening {
        Opening::Settled if results.series.has_bullets => settled_claims(results).to_vec(),
        Opening::Settled => Vec::new(),
        Opening::Fresh | Opening::Joiner => vec![opening_claim(results)],
    }
}

fn settled_claims(results: &SeriesResults) -> [Claim; 2] {
    let excess = [
        excess(results, |score| score.ships.worst_p95()),
        excess(results, |score| score.bullets.worst_p95()),
    ];
    let off = results
        .in_bytes()
        .filter(|(_, share, _)| *share == ENOUGH)
        .map(|(_, _, score)| score.ships.mean() / results.broadcast.ships.mean());
    let shown = results.series.shown();
    [
        Claim::new(
            format!("AB.graceful-{}", results.series.id()),
            format!(
                "error-index within bytes, {shown}: at every budget the worst receiver's p95 of ships and of the bullets that it knows is \
                 at most twice that of the deterministic budget at the same bytes"
            ),
            judge::at_most(excess.into_iter().fold(0.0, f64::max), 2.0),
        )
        .unit("× the deterministic budget's"),
        Claim::new(
            format!("AB.enough-{}", results.series.id()),
            format!("{shown}: with enough bytes every order's mean error of ships is broadcast's, within 2 %"),
            judge::at_most(off.fold(0.0, f64::max), 1.02),
        )
        .unit("× broadcast's"),
    ]
}

/// Returns the largest ratio of an error within bytes to the deterministic budget's at the same
/// bytes.
fn excess(results: &SeriesResults, of: fn(&BudgetScore) -> f64) -> f64 {
    let ratios = results
        .in_bytes()
        .filter(|(order, ..)| *order == QueueOrder::default())
        .map(|(_, _, score)| of(score) / results.deterministic_at(score.bytes_per_sec, of));
    ratios.fold(0.0, f64::max)
}

/// Rounds within bytes are the papers' "1/3 base": all objects alike, every n-th time.
fn opening_claim(results: &SeriesResults) -> Claim {
    let mean = |wanted: QueueOrder| {
        let found = results.in_bytes().find(|(order, ..)| *order == wanted);
        found.map_or(f64::NAN, |(_, _, score)| score.ships.mean_of_others())
    };
    let id = if results.series.opening == Opening::Fresh { "fresh" } else { "joiner" };
    Claim::new(
        format!("AB.{id}"),
        format!(
            "error-index within a third of the bytes, {}, {}: in the first 30 s the mean error of all but the last player is at most \
             that of rounds",
            results.series.shown(),
            results.series.opening(),
        ),
        judge::at_most(mean(QueueOrder::ErrorIndex) / mean(QueueOrder::Rounds), 1.0),
    )
    .unit("× that of rounds")
}

fn table(played: &[SeriesResults]) -> Rows {
    let unit = "u";
    let mut columns = vec![
        Column::number("players", "players", ""),
        Column::number("loss_percent", "loss", "%"),
        Column::text("bullets", "bullets"),
        Column::text("opening", "opening"),
        Column::text("scheduler", "scheduler"),
        Column::number(
            "share",
            "part of broadcast's bytes; DR vectors per trigger and receiver if counted",
            "",
        )
        .decimals(2),
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
        for (game, score) in results.with_broadcast() {
            rows.push(row(results, &game, score));
        }
    }
    rows
}

fn row(results: &SeriesResults, game: &BudgetedGame, score: &BudgetScore) -> Vec<crate::outcome::Cell> {
    let Series { players, loss, has_bullets, .. } = results.series;
    let mut row = cells![
        players,
        100.0 * loss,
        if has_bullets { "yes" } else { "no" },
        results.series.opening(),
        label(&game.scheduler),
        game.share,
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
        Column::text("opening", "opening"),
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
        let Series { players, loss, has_bullets, .. } = results.series;
        for (game, score) in results.with_broadcast() {
            let copies = CopyReason::ALL.map(|reason| score.copies_per_sec(reason).iter().sum::<f64>());
            rows.push(cells![
                players,
                100.0 * loss,
                if has_bullets { "yes" } else { "no" },
                results.series.opening(),
                label(&game.scheduler),
                game.share,
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
    for (game, score) in results.with_broadcast() {
        let (label, point) = (label(&game.scheduler), (results.bytes_share(score), of(score)));
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
         session sent a newer DR vector without a claim, a repeat if the receiver was sent the same one before. An object's announcement \
         carries its first DR vector: it is the birth. Its removal travels on the stream, too, and is not a copy."
            .into(),
        "error-index, turns, rounds and arrival are the orders of a live server within a budget of bytes per second and client; \"share\" \
         is a budget of a part of what broadcast would cost, which the session measures. \"counted\" are the schedulers of the papers, \
         whose budget is in DR vectors per trigger, with more bytes than they need."
            .into(),
        "Schedulers without a budget are one point. \"unknown\" is the part of an object's life in which a receiver does not know it; a \
         bullet needs two one-way delays to be known."
            .into(),
    ]
}
