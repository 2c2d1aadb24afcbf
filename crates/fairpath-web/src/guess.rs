//! Guess the future: where every predictor expects every player to be, and where they really went.
//!
//! A match of Ethereal, or a recording that somebody dropped onto the page, is walked through tick by tick as
//! `fairpath-eval` does it: predictors learn of each tick and answer from what was known then. Answers are kept, so
//! that one can go back and forth.

mod walker;
mod why;

use fairpath::vector::{Vec2, Vector};
use fairpath_eval::candidates::{Candidate, Stage, all};
use fairpath_eval::play::{Play, Run};
use fairpath_eval::recording::{self, Source};
use fairpath_games::ethereal::{EtherealConfig, Match};

use self::walker::Walker;
use crate::chart::{Chart, Series};
use crate::scene::{Knob, Scene, TICK_RATE};

/// How far ahead, in ticks: S2's horizons, 0.3 to 2.1 s.
pub(crate) const HORIZONS: [u32; 7] = [18, 36, 54, 72, 90, 108, 126];
/// Who is shown, by the evaluator's names. Those of S2, the best that learns, and the line that all are compared with.
pub const SHOWN: [&str; 6] = ["line", "tdm", "hm", "ekb", "oaekb", "adaptive"];
/// How much of a match is kept: answers of a minute of sixteen players take 20 MB.
pub const TICKS_MAX: usize = 60 * 60;
/// How many players of a recording are shown, for the same reason.
pub const PLAYERS_MAX: usize = 24;
/// How long a match of our own is. It is played to the end before it is shown.
const MATCH_TICKS: u32 = 40 * 60;

const KNOBS: &[Knob] = &[
    Knob::new("at", 0.0, TICKS_MAX as f64 / 60.0, 0.1, 0.0),
    Knob::new("horizon", 0.3, 2.1, 0.3, 1.2),
    Knob::choice("predictor", SHOWN.len() as u32 + 1, 0),
    Knob::new("players", 2.0, 8.0, 1.0, 4.0),
    Knob::new("player", 0.0, PLAYERS_MAX as f64 - 1.0, 1.0, 0.0),
];

/// The scene.
///
/// Its frame, in order: seconds; seconds there are; players; predictors; which horizon; hit radius; low x, low y, high x and high y of everything;
/// which player is looked at closely; then for each predictor whether it can answer here, its mean error, the share of hits in per cent and packets per
/// player and second so far; then for each player whether it is there, its team, x and y, where it really was at each horizon (or at the last that is
/// known), and where each predictor expects it to be.
pub struct Guess {
    seed: u64,
    players: u32,
    /// Whether somebody's file is shown.
    is_dropped: bool,
    play: Play,
    stage: Stage,
    corners: (Vec2, Vec2),
    walker: Walker,
    ticks: usize,
    now: usize,
    horizon: usize,
    chosen: usize,
    tally: Tally,
}

/// How predictors fared up to a tick, at one horizon.
#[derive(Clone, Debug, Default)]
struct Tally {
    horizon: usize,
    until: usize,
    sums: [f64; SHOWN.len()],
    hits: [u64; SHOWN.len()],
    counts: [u64; SHOWN.len()],
    /// Mean errors, twice a second, for the chart.
    written: Vec<[f64; SHOWN.len()]>,
}

/// How often means are written down for the chart.
const SAMPLE_TICKS: usize = 30;

impl Guess {
    /// A match of four against four, from its beginning.
    pub fn new(seed: u64) -> Self {
        Self::of(played(seed, 4), seed, 4)
    }

    fn of(play: Play, seed: u64, players: u32) -> Self {
        let mut play = play;
        play.players.truncate(PLAYERS_MAX);
        let stage = Stage::of(&play);
        let ends =
            play.players.iter().flat_map(|player| &player.runs).map(|run| run.first_tick + run.truth.len());
        let ticks = ends.max().unwrap_or(0).min(TICKS_MAX);
        Self {
            seed,
            players,
            is_dropped: false,
            corners: corners(&play),
            walker: Walker::new(&stage, play.players.len()),
            stage,
            play,
            ticks,
            now: 0,
            horizon: 3,
            chosen: 0,
            tally: Tally::default(),
        }
    }

    fn go_to(&mut self, tick: usize) {
        self.now = tick.min(self.ticks.saturating_sub(1));
        self.walker.walk_to(&self.play, self.now);
        self.count();
    }

    /// Brings the tally to the tick that is shown.
    fn count(&mut self) {
        if self.tally.until > self.now || self.tally.horizon != self.horizon {
            self.tally = Tally { horizon: self.horizon, ..Tally::default() };
        }
        while self.tally.until <= self.now {
            self.count_tick(self.tally.until);
            if self.tally.until.is_multiple_of(SAMPLE_TICKS) {
                let mean = |number: usize| self.tally.sums[number] / self.tally.counts[number].max(1) as f64;
                self.tally.written.push(std::array::from_fn(mean));
            }
            self.tally.until += 1;
        }
    }

    /// Of the predictions for this tick at the horizon asked for: how far off were they?
    fn count_tick(&mut self, tick: usize) {
        let Some(asked_at) = tick.checked_sub(HORIZONS[self.horizon] as usize) else { return };
        for player in 0..self.play.players.len() {
            let Some((run, index)) = run_at(&self.play, player, asked_at) else { continue };
            let Some(truth) = run.truth.get(index + HORIZONS[self.horizon] as usize) else { continue };
            for predictor in 0..SHOWN.len() {
                let Some(answer) = self.walker.answer(asked_at, player, predictor) else { continue };
                let error = answer[self.horizon].distance(*truth);
                self.tally.sums[predictor] += error;
                self.tally.hits[predictor] += u64::from(error <= self.stage.hit_radius());
                self.tally.counts[predictor] += 1;
            }
        }
    }
}

/// What is known of a player at a tick, if it is there.
pub(crate) fn run_at(play: &Play, player: usize, tick: usize) -> Option<(&Run, usize)> {
    let runs = &play.players[player].runs;
    let begun = runs.partition_point(|run| run.first_tick <= tick);
    let run = &runs[begun.checked_sub(1)?];
    let index = tick - run.first_tick;
    (index < run.truth.len()).then_some((run, index))
}

fn played(seed: u64, players: u32) -> Play {
    let config = EtherealConfig { players: [players; 2], ..EtherealConfig::default() };
    let mut game = Match::of_bots(config, seed).expect("up to eight against eight is sound").with_recording();
    (0..MATCH_TICKS).for_each(|_| game.step());
    let recording = game.recording().expect("it was asked for");
    Play::from_ethereal(recording, None).expect("what was just played can be seen again")
}

/// The smallest box around everywhere that anybody was.
fn corners(play: &Play) -> (Vec2, Vec2) {
    let runs = play.players.iter().flat_map(|player| &player.runs);
    let mut places = runs.flat_map(|run| run.truth.iter().copied());
    let first = places.next().unwrap_or(Vec2::ZERO);
    places.fold((first, first), |(low, high), place| {
        (
            Vec2::new(low.x.min(place.x), low.y.min(place.y)),
            Vec2::new(high.x.max(place.x), high.y.max(place.y)),
        )
    })
}

/// Those that are shown, in order.
pub(crate) fn candidates() -> impl Iterator<Item = Candidate> {
    SHOWN.iter().filter_map(|name| all().iter().find(|candidate| candidate.name == *name).copied())
}

impl Scene for Guess {
    fn knobs(&self) -> &'static [Knob] {
        KNOBS
    }

    fn turn(&mut self, knob: &str, value: f64) {
        match knob {
            "at" => self.go_to((value * 60.0).round() as usize),
            "horizon" => {
                let ticks = (value * 60.0).round();
                self.horizon = HORIZONS
                    .iter()
                    .position(|horizon| f64::from(*horizon) >= ticks)
                    .unwrap_or(HORIZONS.len() - 1);
                self.count();
            }
            "players" if !self.is_dropped && value as u32 != self.players => {
                let players = value as u32;
                let (horizon, chosen, now) = (self.horizon, self.chosen, self.now);
                *self = Self { horizon, chosen, ..Self::of(played(self.seed, players), self.seed, players) };
                self.go_to(now);
            }
            "player" => self.chosen = value as usize,
            // Which of the predictors is drawn only the page needs to know.
            _ => {}
        }
    }

    /// At the end it begins again.
    fn tick(&mut self) {
        let next = self.now + 1;
        self.go_to(if next < self.ticks { next } else { 0 });
    }

    fn frame(&self, out: &mut Vec<f64>) {
        let (low, high) = self.corners;
        let secs = |ticks: usize| ticks as f64 * TICK_RATE.step_secs();
        out.extend([secs(self.now), secs(self.ticks), self.play.players.len() as f64, SHOWN.len() as f64]);
        out.extend([self.horizon as f64, self.stage.hit_radius(), low.x, low.y, high.x, high.y]);
        out.push(self.chosen as f64);
        let shown_secs = secs(self.now + 1) * self.play.players.len() as f64;
        for predictor in 0..SHOWN.len() {
            let Tally { sums, hits, counts, .. } = &self.tally;
            let count = counts[predictor].max(1) as f64;
            let packets = self.walker.packets(self.now, predictor) as f64;
            out.push(f64::from(u8::from(self.walker.can_answer(predictor))));
            out.extend([
                sums[predictor] / count,
                100.0 * hits[predictor] as f64 / count,
                packets / shown_secs,
            ]);
        }
        for player in 0..self.play.players.len() {
            self.frame_of(player, out);
        }
    }

    /// What a wall is: the outline of each cell that is one and has floor beside it would be too many lines, so these are
    /// the cells' middles, each a line of one point.
    fn ground(&self) -> Vec<Vec<Vec2>> {
        let Some(world) = &self.play.world else { return Vec::new() };
        let (columns, rows) = world.size();
        let half = Vec2::new(0.5, 0.5) * world.cell_size();
        let walls = (0..columns * rows).filter(|cell| world.is_wall(*cell));
        walls.map(|cell| vec![world.centre_of(cell) - half, world.centre_of(cell) + half]).collect()
    }

    fn chart(&self, _number: u32) -> Option<Chart> {
        let series =
            (0..SHOWN.len()).filter(|number| self.walker.can_answer(*number)).map(|number| {
                let points =
                    self.tally.written.iter().enumerate().map(|(at, means)| {
                        ((at * SAMPLE_TICKS) as f64 * TICK_RATE.step_secs(), means[number])
                    });
                Series { colour: number as u32, points: points.collect() }
            });
        Some(Chart {
            x: "seconds".into(),
            y: "mean error".into(),
            x_range: Some((0.0, self.ticks as f64 * TICK_RATE.step_secs())),
            y_least: self.stage.hit_radius(),
            series: series.collect(),
        })
    }

    fn read(&mut self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let recording = recording::read(Source { name, bytes }, None).map_err(|error| error.to_string())?;
        let play = Play::from_recording(&recording.without_height());
        if play.secs() <= 0.0 {
            return Err(format!("{name} has nobody in it who moves"));
        }
        *self = Self { is_dropped: true, horizon: self.horizon, ..Self::of(play, self.seed, self.players) };
        Ok(())
    }

    fn words(&self, about: &str) -> String {
        match about {
            "why" => why::why(self),
            "unit" => self.play.unit.to_string(),
            _ => String::new(),
        }
    }
}

impl Guess {
    fn frame_of(&self, player: usize, out: &mut Vec<f64>) {
        let Some((run, index)) = run_at(&self.play, player, self.now) else {
            out.extend(std::iter::repeat_n(0.0, 4 + 2 * HORIZONS.len() * (1 + SHOWN.len())));
            return;
        };
        let place = run.truth[index];
        out.extend([1.0, f64::from(run.team), place.x, place.y]);
        for horizon in HORIZONS {
            let there = run
                .truth
                .get(index + horizon as usize)
                .or_else(|| run.truth.last())
                .copied()
                .unwrap_or(place);
            out.extend([there.x, there.y]);
        }
        for predictor in 0..SHOWN.len() {
            let answer = self.walker.answer(self.now, player, predictor).unwrap_or([place; HORIZONS.len()]);
            out.extend(answer.iter().flat_map(|place| [place.x, place.y]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{digest, turn};
    use fairpath_eval::evaluate::{Question, score};

    fn guess() -> Guess {
        Guess::of(played(1, 2), 1, 2)
    }

    #[test]
    fn its_table_is_the_evaluators() {
        let mut scene = guess();
        scene.go_to(scene.ticks - 1);
        let question = Question::new(HORIZONS.to_vec(), scene.stage.hit_radius(), scene.stage.hit_radius())
            .expect("a question as S2 asks it");
        for (number, candidate) in candidates().enumerate() {
            let expected =
                score(&scene.play, candidate.make(&scene.stage).as_mut(), &question).expect("all is known");
            let errors: usize = expected.iter().map(|player| player.horizons[3].errors.len()).sum();
            let sum: f64 = expected.iter().map(|player| player.horizons[3].sum).sum();
            let hits: u64 = expected.iter().map(|player| player.horizons[3].hits).sum();
            let packets: u64 = expected.iter().map(|player| player.packets).sum();
            assert_eq!(scene.tally.counts[number], errors as u64, "{}", candidate.name);
            assert_eq!(scene.walker.packets(scene.now, number), packets, "{}", candidate.name);
            let close = |ours: f64, theirs: f64| (ours - theirs).abs() <= 1e-4 * theirs.max(1.0);
            assert!(close(scene.tally.sums[number], sum), "{}", candidate.name);
            assert!(
                scene.tally.hits[number].abs_diff(hits) <= 2,
                "answers are kept as f32: {}",
                candidate.name
            );
        }
    }

    #[test]
    fn going_back_shows_what_was_shown() {
        let mut scene = guess();
        (0..200).for_each(|_| scene.tick());
        let before = digest(&scene);
        (0..300).for_each(|_| scene.tick());
        turn(&mut scene, "at", 200.0 / 60.0);
        assert_eq!(digest(&scene), before);
    }

    #[test]
    fn somebody_elses_recording_is_shown_and_nonsense_is_not() {
        let mut rows = String::from("t,entity,team,x,y\n");
        for sample in 0..300 {
            let secs = f64::from(sample) * 0.05;
            for (entity, y) in [("ann", 0.0), ("bob", 5.0)] {
                rows += &format!("{secs},{entity},1,{},{y}\n", 4.0 * secs);
            }
        }
        let mut scene = guess();
        scene.read("walk.csv", rows.as_bytes()).expect("a recording");
        turn(&mut scene, "at", 8.0);
        assert_eq!(scene.play.players.len(), 2);
        assert!(scene.tally.sums[0] / (scene.tally.counts[0].max(1) as f64) < 0.05, "a line predicts a line");
        assert!(!scene.walker.can_answer(4), "nobody knows where the walls are");
        assert!(scene.read("nonsense.csv", b"hello").is_err());
        assert!(!scene.words("why").is_empty());
    }
}
