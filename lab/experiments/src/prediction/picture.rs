use fairpath::vector::{Vec2, Vector};
use fairpath_eval::candidates::{Candidate, MatchSetup};
use fairpath_eval::evaluate::{WalkStep, walk};
use fairpath_eval::play::Play;
use fairpath_predict::{Linear, Missing};

use super::Watched;
use crate::figure::{Axis, Figure, Path, Plot};

/// How long the play in a picture is: 5 s, about as much as one can follow with the eye.
const WINDOW_TICKS: usize = 300;
/// From one fan to the next: a third of a second.
const FAN_TICKS: usize = 20;
/// How far each fan reaches: Shi 2014's longest delay, 2.1 s.
const AHEAD_TICKS: u32 = 126;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The player: an index into the play's players.
    pub player: usize,
    pub first_tick: usize,
    pub ticks: usize,
}

impl Window {
    /// The seconds in which a line's error a second ahead is about average; none if runs are short.
    pub fn typical(play: &Play) -> Option<Self> {
        const LOOK_AHEAD: u32 = 60;
        let mut windows: Vec<(f64, Self)> = Vec::new();
        let mut errors: Vec<Vec<f64>> = vec![Vec::new(); play.players.len()];
        let mut position = [Vec2::ZERO];
        let walked = walk(play, &mut Linear, |line, known, WalkStep { subject, run, index }| {
            let errors = &mut errors[subject];
            if index == 0 {
                errors.clear();
            }
            line.predict(subject, known, &[LOOK_AHEAD], &mut position)?;
            if let Some(truth) = run.truth.get(index + LOOK_AHEAD as usize) {
                errors.push(position[0].distance(*truth));
            }
            let is_full = errors.len() == WINDOW_TICKS && index + 1 + AHEAD_TICKS as usize <= run.truth.len();
            if is_full {
                let mean = errors.iter().sum::<f64>() / WINDOW_TICKS as f64;
                let first_tick = run.first_tick + index + 1 - WINDOW_TICKS;
                windows.push((mean, Self { player: subject, first_tick, ticks: WINDOW_TICKS }));
                errors.clear();
            }
            Ok(())
        });
        debug_assert_eq!(walked, Ok(()), "a line needs nothing");
        let mean = windows.iter().map(|(error, _)| error).sum::<f64>() / windows.len() as f64;
        let off = |window: &(f64, Self)| (window.0 - mean).abs();
        windows.into_iter().min_by(|one, other| off(one).total_cmp(&off(other))).map(|(_, window)| window)
    }
}

/// A few seconds of play: where the player went, and where a predictor said it would, fanned out
/// from every third of a second. None if the predictor lacks something.
pub fn picture(
    id: &str,
    watched: &Watched,
    candidate: &Candidate,
    stage: &MatchSetup,
    window: Window,
) -> Option<Figure> {
    let mut fans = PictureFans::default();
    let ticks: Vec<u32> = (1..=AHEAD_TICKS).collect();
    let mut positions = vec![Vec2::ZERO; ticks.len()];
    let last_tick = window.first_tick + window.ticks;
    let walked: Result<(), Missing> = walk(
        &watched.play,
        &mut *candidate.make(stage),
        |predictor, known, WalkStep { subject, run, index }| {
            let tick = run.first_tick + index;
            if subject != window.player || tick < window.first_tick || tick >= last_tick {
                return Ok(());
            }
            fans.real.push((run.truth[index].x, run.truth[index].y));
            if (tick - window.first_tick).is_multiple_of(FAN_TICKS) {
                predictor.predict(window.player, known, &ticks, &mut positions)?;
                fans.add(known.newest().position, &positions);
            }
            Ok(())
        },
    );
    walked.ok()?;
    let unit = watched.play.unit.to_string();
    let name = candidate.name;
    let player = &watched.play.players[window.player].name;
    let paths = vec![Path::new("predicted, 2.1 s ahead", fans.predicted), Path::new("really", fans.real)];
    let figure = Figure::new(
        format!("{id}-picture-{name}"),
        format!("{name}: player {player}, 5 s of {}", watched.file),
        Axis::new("x", &unit),
        Axis::new("y", &unit),
        Plot::Paths(paths),
    );
    let from = show_secs(window.first_tick);
    Some(figure.caption(format!(
        "From {from} s on: {}. The nearer the fans stay to the path, the better.",
        candidate.about
    )))
}

fn show_secs(tick: usize) -> String {
    format!("{:.1}", tick as f64 / 60.0)
}

/// The real path, and one path of predictions that is interrupted between fans.
#[derive(Default)]
struct PictureFans {
    real: Vec<(f64, f64)>,
    predicted: Vec<(f64, f64)>,
}

impl PictureFans {
    fn add(&mut self, from: Vec2, positions: &[Vec2]) {
        self.predicted.push((from.x, from.y));
        self.predicted.extend(positions.iter().step_by(3).map(|place| (place.x, place.y)));
        self.predicted.push((f64::NAN, f64::NAN));
    }
}
