//! X16: tank bots aim at what their screens place.

use fairpath::place::Placement;
use fairpath::random::Random;
use fairpath::time::Span;

use super::{DECLARATION, live};
use crate::cells;
use crate::delay::arena::{Judge, Shots, Targets, Trial};
use crate::delay::{Summary, in_ms};
use crate::experiment::{
    CannotRun, Declaration, DeclaredExperiment, Progress, RunOption, Settings, map_in_order,
};
use crate::figure::{Axis, Bars, Figure, Plot};
use crate::judge;
use crate::outcome::{Claim, Column, Outcome, Rows};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "aiming",
        alias: "X16",
        title: "Tank bots aim at what their screens show",
        source: "Banavar 2005 2.3.1",
        about: "A client hears of other tanks one delay later as DR vectors (circular, threshold 0.3) and places them from the moment they \
                arrive (local) or from their time stamp (global). Five bots aim with lead at what is placed. First at five drivers that go \
                straight on, in circles and at random and dodge nothing, on an open field; then at five other bots, which shoot back and dodge \
                the shots they see, on maps with boxes. Shots are shown where they really are, once they are heard of. A match counts a hit \
                where the tank really is; beside it every shot is judged once more with time warp, which rewinds all tanks to what the shooter's \
                screen was about.",
        options: &[RunOption::Seed, RunOption::Delays],
        live: Some(&live::aiming::EXPERIMENT),
        ..DECLARATION
    },
    run,
};

/// One-way delays, as in the paper's test bed.
const DELAYS_MS: [i64; 3] = [100, 300, 800];
/// How many matches of each kind: some hundred shots each against drivers, twice that against bots.
const fn matches(targets: Targets) -> u64 {
    match targets {
        Targets::Drivers => 24,
        Targets::Bots => 12,
    }
}

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let fought = Fought::fight(settings, progress);
    let mut outcome = Outcome::new(fought.table());
    outcome.claims = fought.claims();
    outcome.figures = TARGETS.map(|targets| fought.figure(targets)).into();
    outcome.notes = vec![
        "Hit rate is hits per shot. A screen that shows the present has nothing to rewind, so time warp only applies to local placement: \
         there it rewinds by the delay. Warped hits are judged beside the match and change nothing in it."
            .into(),
        format!(
            "{} matches each against drivers and {} against bots, the same maps and dice for all; bands are 95 % bootstrap intervals \
             over matches.",
            matches(Targets::Drivers),
            matches(Targets::Bots)
        ),
    ];
    Ok(outcome)
}

struct AimingCell {
    targets: Targets,
    delay: Span,
    placement: Placement,
    shots: u32,
    hit_rate: Summary,
    /// Of each match, in the order of seeds.
    rates: Vec<f64>,
    warped_rate: Summary,
    shown_off: f64,
}

struct Fought {
    delays: Vec<Span>,
    cells: Vec<AimingCell>,
}

const PLACEMENTS: [Placement; 2] = [Placement::Local, Placement::Global];
const TARGETS: [Targets; 2] = [Targets::Drivers, Targets::Bots];

impl Fought {
    fn fight(settings: &Settings, progress: &dyn Progress) -> Self {
        let delays = settings.delays_or(&DELAYS_MS);
        let mut kinds = Vec::new();
        for targets in TARGETS {
            for delay in &delays {
                kinds.extend(PLACEMENTS.map(|placement| (targets, *delay, placement)));
            }
        }
        let dice = Random::from_seed(settings.seed).fork(16);
        let trials: Vec<Trial> = kinds
            .iter()
            .flat_map(|(targets, delay, placement)| {
                (0..matches(*targets)).map(|number| Trial {
                    targets: *targets,
                    ..Trial::new(*delay, *placement, dice.fork(number).bits())
                })
            })
            .collect();
        progress.begin("fighting", trials.len() as u64);
        let mut played = map_in_order(&trials, progress, Trial::run).into_iter();
        let cells = kinds.iter().map(|kind| {
            AimingCell::new(*kind, &played.by_ref().take(matches(kind.0) as usize).collect::<Vec<Shots>>())
        });
        let cells = cells.collect();
        Self { delays, cells }
    }

    fn cell(&self, targets: Targets, delay: Span, placement: Placement) -> &AimingCell {
        let wanted =
            |cell: &&AimingCell| (cell.targets, cell.delay, cell.placement) == (targets, delay, placement);
        self.cells.iter().find(wanted).expect("everything was played")
    }

    fn table(&self) -> Rows {
        let mut rows = Rows::new([
            Column::text("targets", "shot at"),
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
                shot_at(cell.targets),
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

    /// How many more shots of a hundred hit with global placement than with local, match by match.
    fn gain(&self, targets: Targets, delay: Span) -> Summary {
        let [local, global] = PLACEMENTS.map(|placement| &self.cell(targets, delay, placement).rates);
        Summary::of(
            &global.iter().zip(local).map(|(global, local)| 100.0 * (global - local)).collect::<Vec<_>>(),
        )
    }

    fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for targets in TARGETS {
            claims.push(self.global_hits(targets));
            claims.push(self.the_more_so(targets));
        }
        let warped = self.delays.iter().map(|delay| {
            let cell = self.cell(Targets::Bots, *delay, Placement::Local);
            (cell.warped_rate.mean, cell.hit_rate.mean)
        });
        claims.push(
            Claim::new(
                "X16.warp",
                "ours, at bots: with local placement time warp raises the hit rate at every delay",
                judge::above_in_every(warped),
            )
            .remark(
                "it also takes from the victims what they did meanwhile: see DELAY for what that costs them",
            ),
        );
        claims
    }

    fn global_hits(&self, targets: Targets) -> Claim {
        let gains: Vec<(Span, Summary)> =
            self.delays.iter().map(|delay| (*delay, self.gain(targets, *delay))).collect();
        let surely = gains.iter().map(|(_, gain)| gain.interval.0).fold(f64::INFINITY, f64::min);
        let each: Vec<String> = gains
            .iter()
            .map(|(delay, gain)| format!("{:+.1} ± {:.1} at {}", gain.mean, gain.half_width(), in_ms(*delay)))
            .collect();
        let why = match targets {
            Targets::Drivers => {
                ". At 100 ms a tank is shown a third of its length behind, which a hit mostly forgives; two lengths at 800 ms it does not"
            }
            Targets::Bots => {
                ". Bots drive at each other, so most of what is shown late lies along the line of fire, and they dodge: what a victim does \
                 while the shot flies (up to 2.5 s) decides far more than where it was shown"
            }
        };
        Claim::new(
            format!("X16.global-hits-{}", id(targets)),
            format!(
                "at {}: the hit rate is higher with global placement at every delay, beyond chance",
                shot_at(targets)
            ),
            if gains.is_empty() { judge::not_applicable() } else { judge::above(surely, 0.0) },
        )
        .unit("more hits per 100 shots, at least (95 %)")
        .paper("better, particularly when the delay was high")
        .stricter("at every delay, and beyond chance")
        .remark(format!("{}{why}", each.join(", ")))
    }

    fn the_more_so(&self, targets: Targets) -> Claim {
        let (Some(shortest), Some(longest)) = (self.delays.iter().min(), self.delays.iter().max()) else {
            return Claim::new(format!("X16.the-more-so-{}", id(targets)), "", judge::not_applicable());
        };
        let ratio = |delay: Span| {
            let [local, global] =
                PLACEMENTS.map(|placement| self.cell(targets, delay, placement).hit_rate.mean);
            global / local
        };
        let judgement = if shortest == longest {
            judge::not_applicable()
        } else {
            judge::above(ratio(*longest) / ratio(*shortest), 1.0)
        };
        let mut delays = self.delays.clone();
        delays.sort();
        let each: Vec<String> =
            delays.iter().map(|delay| format!("{:.2} at {}", ratio(*delay), in_ms(*delay))).collect();
        Claim::new(
            format!("X16.the-more-so-{}", id(targets)),
            format!("at {}: the more so the longer the delay", shot_at(targets)),
            judgement,
        )
        .unit("× global over local at the shortest")
        .paper("particularly when the delay was high")
        .remark(format!("global over local: {}", each.join(", ")))
    }

    fn figure(&self, targets: Targets) -> Figure {
        let groups: Vec<String> = self.delays.iter().map(|delay| in_ms(*delay)).collect();
        let series = |of: &dyn Fn(Span) -> Summary| {
            let all: Vec<Summary> = self.delays.iter().map(|delay| of(*delay)).collect();
            let values: Vec<f64> = all.iter().map(|rate| 100.0 * rate.mean).collect();
            let ranges: Vec<(f64, f64)> =
                all.iter().map(|rate| (100.0 * rate.interval.0, 100.0 * rate.interval.1)).collect();
            (values, ranges)
        };
        let (local, local_ranges) = series(&|delay| self.cell(targets, delay, Placement::Local).hit_rate);
        let (global, global_ranges) = series(&|delay| self.cell(targets, delay, Placement::Global).hit_rate);
        let (warped, warped_ranges) =
            series(&|delay| self.cell(targets, delay, Placement::Local).warped_rate);
        let bars = Bars::new(groups)
            .series_with_ranges("local", local, local_ranges)
            .series_with_ranges("global", global, global_ranges)
            .series_with_ranges("local, time warp", warped, warped_ranges);
        Figure::new(
            format!("x16-hit-rate-{}", id(targets)),
            format!("Hits per shot at {}", shot_at(targets)),
            Axis::new("one-way delay", ""),
            Axis::new("hit rate", "%"),
            Plot::Bars(bars),
        )
        .caption("A bot that aims at where a tank was misses. Global placement shows the present as far as it can be known; time warp makes the past count.")
    }
}

impl AimingCell {
    fn new((targets, delay, placement): (Targets, Span, Placement), matches: &[Shots]) -> Self {
        let rate = |judge: Judge| {
            let part = |shots: &Shots| (f64::from(shots.hits[judge as usize]), f64::from(shots.fired));
            Summary::of_ratio(&matches.iter().map(part).collect::<Vec<_>>())
        };
        let off = matches
            .iter()
            .fold((0.0, 0), |sum, shots| (sum.0 + shots.shown_off.0, sum.1 + shots.shown_off.1));
        let hits = Judge::Present as usize;
        Self {
            targets,
            delay,
            placement,
            rates: matches.iter().map(|shots| f64::from(shots.hits[hits]) / f64::from(shots.fired)).collect(),
            shots: matches.iter().map(|shots| shots.fired).sum(),
            hit_rate: rate(Judge::Present),
            warped_rate: rate(Judge::Warped),
            shown_off: off.0 / off.1 as f64,
        }
    }
}

fn shot_at(targets: Targets) -> &'static str {
    match targets {
        Targets::Drivers => "drivers that do not dodge",
        Targets::Bots => "bots that dodge",
    }
}

fn id(targets: Targets) -> &'static str {
    match targets {
        Targets::Drivers => "drivers",
        Targets::Bots => "bots",
    }
}

fn name(placement: Placement) -> &'static str {
    match placement {
        Placement::Local => "local",
        Placement::Global => "global",
        Placement::Hop => "hop",
    }
}
