//! X16: tank bots aim at what their screens place.

use fairpath::place::Placement;
use fairpath::random::Random;
use fairpath::time::Span;

use crate::cells;
use crate::delay::arena::{Judge, Shots, Trial};
use crate::delay::{Summary, in_ms};
use crate::experiment::{CannotRun, Experiment, Progress, Settings, map_in_order};
use crate::figure::{Axis, Bars, Figure, Plot};
use crate::judge;
use crate::outcome::{Claim, Column, Outcome, Rows};

pub(super) struct X16;

/// One-way delays, as in the paper's test bed.
const DELAYS_MS: [i64; 3] = [100, 300, 800];
/// How many matches of each kind: some hundred shots each.
const MATCHES: u64 = 16;

impl Experiment for X16 {
    fn id(&self) -> &'static str {
        "X16"
    }

    fn title(&self) -> &'static str {
        "Tank bots aim at what their screens place"
    }

    fn source(&self) -> &'static str {
        "S0 2.3.1"
    }

    fn about(&self) -> &'static str {
        "Five bots against five, four minutes, on maps with boxes. What others do is heard one delay later as DR vectors (circular, threshold \
         0.3) and placed from the moment it arrives (local) or from its time stamp (global); the bots aim with lead at what is placed. \
         Shots are shown once they are heard of, where they really are, in both. A match counts a hit where the tank really is; \
         beside it every shot is judged once more with time warp, which rewinds everybody to what the shooter's screen was about."
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let fought = Fought::fight(settings, progress);
        let mut outcome = Outcome::new(fought.table());
        outcome.claims = fought.claims();
        outcome.figures = vec![fought.figure()];
        outcome.notes = vec![
            "Hit rate is hits per shot. A screen that shows the present has nothing to rewind, so time warp only applies to local placement: \
             there it rewinds by the delay. Warped hits are judged beside the match and change nothing in it."
                .into(),
            format!("{MATCHES} matches each, the same maps and bots for all; bands are 95 % bootstrap intervals over matches."),
        ];
        Ok(outcome)
    }
}

struct Cell {
    delay: Span,
    placement: Placement,
    shots: u32,
    hit_rate: Summary,
    warped_rate: Summary,
    /// How far tanks are shown from where they are.
    shown_off: f64,
}

struct Fought {
    delays: Vec<Span>,
    cells: Vec<Cell>,
}

const PLACEMENTS: [Placement; 2] = [Placement::Local, Placement::Global];

impl Fought {
    fn fight(settings: &Settings, progress: &dyn Progress) -> Self {
        let delays = settings.delays_or(&DELAYS_MS);
        let kinds: Vec<(Span, Placement)> =
            delays.iter().flat_map(|delay| PLACEMENTS.map(|placement| (*delay, placement))).collect();
        let dice = Random::from_seed(settings.seed).fork(16);
        let seeds: Vec<u64> = (0..MATCHES).map(|number| dice.fork(number).bits()).collect();
        let trials: Vec<Trial> = kinds
            .iter()
            .flat_map(|(delay, placement)| seeds.iter().map(|seed| Trial::new(*delay, *placement, *seed)))
            .collect();
        progress.begin("fighting", trials.len() as u64);
        let played = map_in_order(&trials, progress, Trial::run);
        let cells = kinds.iter().zip(played.chunks(seeds.len())).map(|(kind, matches)| Cell::new(*kind, matches));
        Self { delays, cells: cells.collect() }
    }

    fn cell(&self, delay: Span, placement: Placement) -> &Cell {
        let wanted = |cell: &&Cell| (cell.delay, cell.placement) == (delay, placement);
        self.cells.iter().find(wanted).expect("everything was played")
    }

    fn table(&self) -> Rows {
        let mut rows = Rows::new([
            Column::number("delay_ms", "delay", "ms").decimals(0),
            Column::text("placement", "placement"),
            Column::number("shots", "shots", ""),
            Column::number("shown_off", "tanks shown off by", "units").decimals(2),
            Column::number("hit_percent", "hit rate", "%").decimals(2),
            Column::number("hit_low_percent", "95 %, from", "%").decimals(2),
            Column::number("hit_high_percent", "to", "%").decimals(2),
            Column::number("warped_percent", "with time warp", "%").decimals(2),
            Column::number("warped_low_percent", "95 %, from", "%").decimals(2),
            Column::number("warped_high_percent", "to", "%").decimals(2),
        ]);
        for cell in &self.cells {
            rows.push(cells![
                cell.delay.as_millis_f64(),
                name(cell.placement),
                u64::from(cell.shots),
                cell.shown_off,
                100.0 * cell.hit_rate.mean,
                100.0 * cell.hit_rate.interval.0,
                100.0 * cell.hit_rate.interval.1,
                100.0 * cell.warped_rate.mean,
                100.0 * cell.warped_rate.interval.0,
                100.0 * cell.warped_rate.interval.1,
            ]);
        }
        rows
    }

    /// Global over local, without time warp.
    fn ratio(&self, delay: Span) -> f64 {
        let [local, global] = PLACEMENTS.map(|placement| self.cell(delay, placement).hit_rate.mean);
        global / local
    }

    fn claims(&self) -> Vec<Claim> {
        let rates = self.delays.iter().map(|delay| {
            let [local, global] = PLACEMENTS.map(|placement| self.cell(*delay, placement).hit_rate.mean);
            (global, local)
        });
        let mut sorted = self.delays.clone();
        sorted.sort();
        let ratios: Vec<f64> = sorted.iter().map(|delay| self.ratio(*delay)).collect();
        let each: Vec<String> = sorted
            .iter()
            .zip(&ratios)
            .map(|(delay, ratio)| format!("{ratio:.2} times at {}", in_ms(*delay)))
            .collect();
        let growth = match (ratios.first(), ratios.last()) {
            (Some(first), Some(last)) if ratios.len() > 1 => judge::above(last / first, 1.0),
            _ => judge::not_applicable(),
        };
        let warped = self.delays.iter().map(|delay| {
            let cell = self.cell(*delay, Placement::Local);
            (cell.warped_rate.mean, cell.hit_rate.mean)
        });
        vec![
            Claim::new(
                "X16.global-hits",
                "the hit rate is higher with global placement at every delay",
                judge::above_in_every(rates),
            )
            .paper("better, particularly when the delay was high")
            .remark(each.join(", ")),
            Claim::new("X16.the-more-so", "the more so the longer the delay: global over local, longest against shortest", growth)
                .unit("× the ratio at the shortest")
                .paper("particularly when the delay was high"),
            Claim::new(
                "X16.warp",
                "ours: with local placement time warp raises the hit rate at every delay",
                judge::above_in_every(warped),
            ),
        ]
    }

    fn figure(&self) -> Figure {
        let groups: Vec<String> = self.delays.iter().map(|delay| in_ms(*delay)).collect();
        let series = |of: &dyn Fn(Span) -> Summary| {
            let all: Vec<Summary> = self.delays.iter().map(|delay| of(*delay)).collect();
            let values: Vec<f64> = all.iter().map(|rate| 100.0 * rate.mean).collect();
            let ranges: Vec<(f64, f64)> =
                all.iter().map(|rate| (100.0 * rate.interval.0, 100.0 * rate.interval.1)).collect();
            (values, ranges)
        };
        let (local, local_ranges) = series(&|delay| self.cell(delay, Placement::Local).hit_rate);
        let (global, global_ranges) = series(&|delay| self.cell(delay, Placement::Global).hit_rate);
        let (warped, warped_ranges) = series(&|delay| self.cell(delay, Placement::Local).warped_rate);
        let bars = Bars::new(groups)
            .series_with_ranges("local", local, local_ranges)
            .series_with_ranges("global", global, global_ranges)
            .series_with_ranges("local, time warp", warped, warped_ranges);
        Figure::new(
            "x16-hit-rate",
            "Hits per shot, by how others are placed",
            Axis::new("one-way delay", ""),
            Axis::new("hit rate", "%"),
            Plot::Bars(bars),
        )
        .caption("Who aims at where somebody was misses. Global placement shows the present as far as it can be known; time warp makes the past count.")
    }
}

impl Cell {
    fn new((delay, placement): (Span, Placement), matches: &[Shots]) -> Self {
        let rate = |judge: Judge| {
            let index = Judge::ALL.iter().position(|one| *one == judge).expect("it is one of them");
            let parts: Vec<(f64, f64)> =
                matches.iter().map(|shots| (f64::from(shots.hits[index]), f64::from(shots.fired))).collect();
            Summary::of_ratio(&parts)
        };
        let off = matches.iter().fold((0.0, 0), |sum, shots| (sum.0 + shots.shown_off.0, sum.1 + shots.shown_off.1));
        Self {
            delay,
            placement,
            shots: matches.iter().map(|shots| shots.fired).sum(),
            hit_rate: rate(Judge::Present),
            warped_rate: rate(Judge::Warped),
            shown_off: off.0 / off.1 as f64,
        }
    }
}

fn name(placement: Placement) -> &'static str {
    match placement {
        Placement::Local => "local",
        Placement::Global => "global",
        Placement::Hop => "hop",
    }
}
