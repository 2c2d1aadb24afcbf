use fairpath_eval::candidates::{self, MatchSetup};
use fairpath_eval::live::{self, LiveCandidate, Path};
use fairpath_eval::offline::{Point, fewest_free, fewest_pinned, greedy_pinned, points_of};

use super::{Watched, scale_note, stage};
use crate::experiment::{
    CannotRun, Declaration, Experiment, ExperimentGroup, Progress, Settings, map_in_order,
};
use crate::figure::{Axis, Bars, Figure, Plot};
use crate::outcome::{Cell, Column, Outcome, Rows};
use crate::{cells, show};

/// Counts packets under the live rule.
#[derive(Clone, Debug)]
pub struct Packets {
    pub watched: Vec<Watched>,
    /// How far receivers may be off; Shi 2014's 45 pixels, scaled, if not given.
    pub threshold: Option<f64>,
}

impl Experiment for Packets {
    fn declaration(&self) -> &Declaration {
        &Declaration {
            group: ExperimentGroup::Prediction,
            name: "packets",
            alias: "packets",
            title: "How few packets keep every receiver within the threshold?",
            source: "ours",
            about: "An owner that sees all paths sample by sample, as a server does, sends a DR vector whenever a player's last one is off by \
                    more than the threshold. What receivers place is a pure function of that one DR vector. Beside every model that has such a \
                    form stand the optima for lines: the fewest segments that stay within the threshold at every sample, found with knowledge of \
                    the future, with the start free or on the path. Respawns, teleports and gaps begin anew for all of them.",
            ..Declaration::EMPTY
        }
    }

    fn run(&self, _: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let (mut rows, mut headline) = (Rows::new(columns()), Rows::new(columns()));
        let mut outcome = Outcome::default();
        for (number, watched) in (1..).zip(&self.watched) {
            let stage = stage(watched)?;
            let threshold = self.threshold.unwrap_or_else(|| stage.hit_radius());
            let total = Counts::of(watched, &stage, threshold, progress);
            total.put(watched, &mut headline);
            total.put(watched, &mut rows);
            put_those_without(watched, &mut rows);
            outcome.figures.push(total.figure(number, watched));
            let threshold = format!("Threshold {} {}.", show(threshold), watched.play.unit);
            outcome.notes.push(format!("{} {threshold}", scale_note(watched, &stage)));
        }
        outcome.rows = rows;
        outcome.notes.push(format!("{}: {}.", NO_LIVE_FORM, without_live_form().join(", ")));
        Ok(outcome.headline(headline))
    }
}

#[derive(Clone, Debug)]
struct Counts {
    /// In the order of [`live::all`].
    live: Vec<usize>,
    free: usize,
    pinned: usize,
    greedy_pinned: usize,
    secs: f64,
}

impl Counts {
    /// A model that learns does so from all players' paths.
    fn of(watched: &Watched, stage: &MatchSetup, threshold: f64, progress: &dyn Progress) -> Self {
        let steps = live::all().len() + watched.paths.len();
        progress.begin(&watched.file, steps as u64);
        let live = map_in_order(live::all(), progress, |live| {
            live::packets(&watched.paths, &mut *live.make(stage, threshold), threshold)
        });
        let optima = map_in_order(&watched.paths, progress, |paths| Optima::of(paths, threshold));
        Self {
            live,
            free: optima.iter().map(|optima| optima.free).sum(),
            pinned: optima.iter().map(|optima| optima.pinned).sum(),
            greedy_pinned: optima.iter().map(|optima| optima.greedy_pinned).sum(),
            secs: watched.paths.iter().flatten().map(secs_of).sum(),
        }
    }

    /// Every model that has a number, with it.
    fn each(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let live = live::all().iter().map(|live| live.name).zip(self.live.iter().copied());
        live.chain([
            ("greedy, pinned start", self.greedy_pinned),
            ("optimum, pinned start", self.pinned),
            ("optimum, free start", self.free),
        ])
    }

    fn put(&self, watched: &Watched, rows: &mut Rows) {
        let line = self.live[0];
        for (name, packets) in self.each() {
            let ratio = |to: usize| packets as f64 / to as f64;
            let rate = packets as f64 / self.secs;
            rows.push(cells![
                watched.file.as_str(),
                name,
                packets,
                rate,
                ratio(line),
                ratio(self.pinned),
                ratio(self.free),
                Cell::Missing
            ]);
        }
    }

    fn figure(&self, number: usize, watched: &Watched) -> Figure {
        let bars = Bars::new(self.each().map(|(name, _)| name.to_owned()).collect::<Vec<_>>());
        let rates: Vec<f64> = self.each().map(|(_, packets)| packets as f64 / self.secs).collect();
        Figure::new(
            format!("packets-{number}"),
            format!("Packets: {}", watched.file),
            Axis::new("", ""),
            Axis::new("packets per player", "1/s"),
            Plot::Bars(bars.series("packets", rates)),
        )
        .caption("What it costs to keep every receiver within the threshold. The optima know the future; no sender of lines can send less.")
    }
}

/// How few lines would have done for one player.
struct Optima {
    free: usize,
    pinned: usize,
    greedy_pinned: usize,
}

impl Optima {
    fn of(paths: &[Path], threshold: f64) -> Self {
        let sum = |fewest: fn(&[Point], f64) -> usize| {
            paths.iter().map(|path| fewest(&points_of(&path.moments), threshold)).sum()
        };
        Self { free: sum(fewest_free), pinned: sum(fewest_pinned), greedy_pinned: sum(greedy_pinned) }
    }
}

fn secs_of(path: &Path) -> f64 {
    let (Some(first), Some(last)) = (path.moments.first(), path.moments.last()) else { return 0.0 };
    last.secs - first.secs
}

const NO_LIVE_FORM: &str = "n/a: what it places does not follow from one DR vector alone";

fn without_live_form() -> Vec<&'static str> {
    let names = candidates::all().iter().map(|candidate| candidate.name);
    names.filter(|name| LiveCandidate::by_name(name).is_none()).collect()
}

fn put_those_without(watched: &Watched, rows: &mut Rows) {
    for name in without_live_form() {
        let mut row = cells![watched.file.as_str(), name];
        row.extend(vec![Cell::Missing; 5]);
        row.push(NO_LIVE_FORM.into());
        rows.push(row);
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::text("recording", "recording"),
        Column::text("model", "model"),
        Column::number("packets", "packets", ""),
        Column::number("packets_per_s", "packets per player", "1/s").decimals(3),
        Column::number("ratio_to_line", "times the causal line's", "").decimals(3),
        Column::number("ratio_to_pinned_optimum", "times the pinned optimum", "").decimals(3),
        Column::number("ratio_to_free_optimum", "times the free optimum", "").decimals(3),
        Column::text("remark", "remark"),
    ]
}
