use crate::cells;
use crate::experiment::{CannotRun, Experiment, Progress, Recorded, Settings, map_in_order};
use crate::figure::{Axis, Bars, Figure, Plot};
use crate::judge;
use crate::outcome::{Claim, Column, Outcome, Rows};

/// What there is to run X1 on.
pub(super) struct X1;

impl Experiment for X1 {
    fn id(&self) -> &'static str {
        "X1"
    }

    fn title(&self) -> &'static str {
        "What motion is there to place?"
    }

    fn source(&self) -> &'static str {
        "S0 fig 2.2"
    }

    fn about(&self) -> &'static str {
        "Counts the clean stretches of every entity in a recording, and how long and how fast they are."
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let Some(motion) = &settings.motion else {
            let claim = Claim::new("X1.motion", "every entity has clean motion", judge::not_applicable());
            return Ok(Outcome::default().claim(claim.remark("No recording was given with --motion.")));
        };
        Ok(survey(motion, progress))
    }
}

fn survey(motion: &Recorded, progress: &dyn Progress) -> Outcome {
    let recording = &motion.recording;
    let unit = recording.unit();
    progress.begin("surveying", recording.entities.len() as u64);
    let indices: Vec<usize> = (0..recording.entities.len()).collect();
    let surveyed = map_in_order(&indices, progress, |&entity| {
        let own = recording.stretches.iter().filter(|stretch| stretch.entity == entity);
        let secs: Vec<f64> = own.map(|stretch| stretch.duration().as_secs_f64()).collect();
        (secs.len(), secs.iter().sum::<f64>(), secs.iter().copied().fold(0.0, f64::max))
    });
    let mut rows = Rows::new([
        Column::text("entity", "entity"),
        Column::number("stretches", "stretches", ""),
        Column::number("motion_s", "clean motion", "s"),
        Column::number("longest_s", "longest stretch", "s"),
    ]);
    for (entity, &(stretches, secs, longest)) in recording.entities.iter().zip(&surveyed) {
        rows.push(cells![entity.name.as_str(), stretches, secs, longest]);
    }
    let names: Vec<String> = recording.entities.iter().map(|entity| entity.name.clone()).collect();
    let bars = Bars::new(names)
        .series("all stretches", surveyed.iter().map(|each| each.1).collect::<Vec<_>>())
        .series("longest", surveyed.iter().map(|each| each.2).collect::<Vec<_>>());
    let figure = Figure::new(
        "x1-motion",
        "Clean motion of each entity",
        Axis::new("entity", ""),
        Axis::new("time", "s"),
        Plot::Bars(bars),
    );
    let least = surveyed.iter().map(|each| each.1).fold(f64::INFINITY, f64::min);
    Outcome::new(rows)
        .claim(Claim::new("X1.motion", "every entity has clean motion", judge::above(least, 0.0)).unit("s"))
        .figure(figure.caption("Motion is cut at gaps, deaths and jumps; nothing is scored across a cut."))
        .note(format!("Lengths in this recording are in {unit}."))
}
