//! Guess the future: where every predictor expects every player, and where the players really went.
//!
//! The scene walks tick by tick through a match of Ethereal, or through a recording that was
//! dropped onto the page, as `fairpath-eval` does: predictors learn each tick and answer with the
//! knowledge of that tick. Only selected predictors walk. Results are stored, for going back.

mod roster;
mod walker;
mod why;

use std::borrow::Cow;

use fairpath::vector::{Vec2, Vector};
use fairpath_eval::candidates::MatchSetup;
use fairpath_eval::play::Play;
use fairpath_games::ethereal::{EtherealConfig, Match};

use self::roster::{COUNT, ROSTER, usual_mask};
use self::walker::{Answer, SAMPLE_TICKS, Walker, run_at};
use crate::chart::{Chart, Series};
use crate::report::read_play;
use crate::scene::{File, Knob, Scene, TICK_RATE};

/// The horizons in ticks: those of Shi 2014, 0.3 to 2.1 s.
pub(crate) const HORIZONS: [u32; 7] = [18, 36, 54, 72, 90, 108, 126];
/// The most players that are shown. More would hide each other.
pub const PLAYERS_MAX: usize = 24;
/// The most pairs of player and tick that are shown. A learning predictor stores 56 bytes for each:
/// 250 MB for the three of them. Enough for eight players and 52 minutes.
pub const MOMENTS_MAX: usize = 1_500_000;
/// The length of a match, which is played to its end before it is shown.
const MATCH_TICKS: u32 = 40 * 60;
/// Predictions in one [`think`](Scene::think): about a millisecond.
const PREDICTIONS_AT_ONCE: usize = 100;
/// The most points of a chart line: more take time and cannot be seen.
const CHART_POINTS_MAX: usize = 240;

/// The scene.
///
/// Its frame, in order: seconds; length in seconds; players; predictors; number of the horizon; hit
/// radius; low x, low y, high x and high y of all positions; the player and the predictor that are
/// explained; then for each predictor its status (0 not selected, 1 it answers, 2 it needs more
/// than the recording contains), its mean error, the share of hits in per cent and packets per
/// player and second up to this tick, and the seconds it has been counted for; then for each player
/// whether it is present, its team, x and y, its true position at each horizon (or the last known
/// one), and for each predictor that answers whether it has an answer, and its predicted positions.
pub struct Guess {
    seed: u64,
    players: u32,
    /// Whether a user's file is shown.
    is_dropped: bool,
    play: Play,
    stage: MatchSetup,
    corners: (Vec2, Vec2),
    walker: Walker,
    mask: u32,
    ticks: usize,
    /// Seconds at the end of the recording that are not shown, because they do not fit into memory.
    secs_cut: f64,
    now: usize,
    horizon: usize,
    chosen: usize,
    focus: usize,
    fans: PredictionTable,
}

/// The predictions of all predictors about all players at one tick.
#[derive(Default)]
struct PredictionTable {
    /// The tick, and whether every selected predictor had walked there.
    of: Option<(usize, bool)>,
    /// By predictor, then by player.
    answers: Vec<Vec<Option<Answer>>>,
}

impl Guess {
    /// Creates the scene with a match of four against four, at its beginning.
    pub fn new(seed: u64) -> Self {
        Self::of(played(seed, 4), seed, 4)
    }

    fn of(play: Play, seed: u64, players: u32) -> Self {
        let mut play = play;
        play.players.truncate(PLAYERS_MAX);
        let stage = MatchSetup::of(&play);
        let ends =
            play.players.iter().flat_map(|player| &player.runs).map(|run| run.first_tick + run.truth.len());
        let all_ticks = ends.max().unwrap_or(0);
        let ticks = all_ticks.min(MOMENTS_MAX / play.players.len().max(1));
        let mut guess = Self {
            seed,
            players,
            is_dropped: false,
            corners: corners(&play),
            walker: Walker::new(&stage, play.players.len()),
            stage,
            play,
            mask: 0,
            ticks,
            secs_cut: secs(all_ticks - ticks),
            now: 0,
            horizon: 3,
            chosen: 0,
            focus: 0,
            fans: PredictionTable::default(),
        };
        guess.ask(usual_mask());
        guess
    }

    /// Shows another match with the same settings.
    fn show(&mut self, play: Play, players: u32) {
        let Self { seed, mask, horizon, chosen, focus, .. } = *self;
        *self = Self { horizon, chosen, focus, ..Self::of(play, seed, players) };
        self.ask(mask);
    }

    fn ask(&mut self, mask: u32) {
        self.mask = mask;
        self.walker.ask(mask, &self.stage);
        self.fans = PredictionTable::default();
    }

    fn go_to(&mut self, tick: usize) {
        self.now = tick.min(self.ticks.saturating_sub(1));
    }

    /// Computes the predictions for the tick that is shown.
    fn spread(&mut self) {
        let of = (self.now, self.walker.has_reached(self.now));
        if self.fans.of == Some(of) {
            return;
        }
        let mut answers = Vec::with_capacity(COUNT);
        for predictor in 0..COUNT {
            let said = (0..self.play.players.len())
                .map(|player| self.walker.answer(&self.play, self.now, player, predictor));
            answers.push(said.collect());
        }
        self.fans = PredictionTable { of: Some(of), answers };
    }

    /// Returns a predictor's answer about a player at this tick, if it is computed.
    fn answer(&self, player: usize, predictor: usize) -> Option<Answer> {
        let is_of_now = self.fans.of.is_some_and(|(tick, _)| tick == self.now);
        *self.fans.answers.get(predictor)?.get(player).filter(|_| is_of_now)?
    }

    /// Returns the tick of the predictions that come due now.
    fn asked_at(&self) -> usize {
        self.now.saturating_sub(HORIZONS[self.horizon] as usize)
    }

    fn chosen(&self) -> usize {
        self.chosen.min(self.play.players.len().saturating_sub(1))
    }
}

fn secs(ticks: usize) -> f64 {
    ticks as f64 * TICK_RATE.step_secs()
}

fn played(seed: u64, players: u32) -> Play {
    let config = EtherealConfig { players: [players; 2], ..EtherealConfig::default() };
    let mut game =
        Match::of_bots(config, seed).expect("up to eight against eight is a valid match").with_recording();
    (0..MATCH_TICKS).for_each(|_| game.step());
    let recording = game.recording().expect("the match has a recording");
    Play::from_ethereal(recording, None).expect("a match that was just played can be read")
}

/// Returns the smallest box around all positions.
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

impl Scene for Guess {
    fn knobs(&self) -> Cow<'static, [Knob]> {
        let every = f64::from((1u32 << COUNT) - 1);
        // Whole tenths of a second, the steps of the slider.
        let last = (self.ticks.saturating_sub(1) / SAMPLE_TICKS).max(1) as f64 / 10.0;
        vec![
            Knob::new("at", 0.0, last, 0.1, 0.0),
            Knob::new("horizon", 0.3, 2.1, 0.3, 1.2),
            Knob::new("predictors", 0.0, every, 1.0, usual_mask().into()),
            Knob::choice("focus", COUNT as u32, 0),
            Knob::new("player", 0.0, PLAYERS_MAX as f64 - 1.0, 1.0, 0.0),
            Knob::new("players", 2.0, 8.0, 1.0, 4.0),
        ]
        .into()
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
            }
            "predictors" => self.ask(value as u32),
            "focus" => self.focus = value as usize,
            "player" => self.chosen = value as usize,
            "players" if !self.is_dropped && value as u32 != self.players => {
                let now = self.now;
                self.show(played(self.seed, value as u32), value as u32);
                self.go_to(now);
            }
            _ => {}
        }
    }

    /// Advances one tick. After the last tick it starts again.
    fn tick(&mut self) {
        let next = self.now + 1;
        self.go_to(if next < self.ticks { next } else { 0 });
    }

    fn think(&mut self) -> bool {
        let mut made = 0;
        while made < PREDICTIONS_AT_ONCE {
            match self.walker.walk(&self.play, &self.stage, self.now) {
                0 => break,
                predictions => made += predictions,
            }
        }
        self.spread();
        !self.walker.has_reached(self.now)
    }

    fn frame(&self, out: &mut Vec<f64>) {
        let (low, high) = self.corners;
        out.extend([secs(self.now), secs(self.ticks), self.play.players.len() as f64, COUNT as f64]);
        out.extend([self.horizon as f64, self.stage.hit_radius(), low.x, low.y, high.x, high.y]);
        out.extend([self.chosen() as f64, self.focus as f64]);
        for predictor in 0..COUNT {
            let score = self.walker.standing(self.asked_at(), predictor).horizons[self.horizon];
            let standing = self.walker.standing(self.now, predictor);
            let is_able = self.walker.missing(predictor).is_none();
            out.push(match (self.walker.is_asked(predictor), is_able) {
                (false, _) => 0.0,
                (true, true) => 1.0,
                (true, false) => 2.0,
            });
            let per_sec = 1.0 / TICK_RATE.step_secs() / f64::from(standing.moments.max(1));
            out.extend([
                score.mean(),
                100.0 * f64::from(score.hits) / f64::from(score.count.max(1)),
                f64::from(standing.packets) * per_sec,
                secs(self.walker.walked(predictor).min(self.now + 1)),
            ]);
        }
        for player in 0..self.play.players.len() {
            self.frame_of(player, out);
        }
    }

    /// Returns the wall cells, each as a line from its lowest to its highest corner.
    fn ground(&self) -> Vec<Vec<Vec2>> {
        let Some(world) = &self.play.world else { return Vec::new() };
        let (columns, rows) = world.size();
        let half = Vec2::new(0.5, 0.5) * world.cell_size();
        let walls = (0..columns * rows).filter(|cell| world.is_wall(*cell));
        walls.map(|cell| vec![world.centre_of(cell) - half, world.centre_of(cell) + half]).collect()
    }

    fn chart(&self, _number: u32) -> Option<Chart> {
        let horizon = HORIZONS[self.horizon] as usize;
        let last = self.asked_at() / SAMPLE_TICKS;
        let every = last / CHART_POINTS_MAX + 1;
        let asked = (0..COUNT).filter(|predictor| {
            self.walker.is_asked(*predictor) && self.walker.missing(*predictor).is_none()
        });
        let series = asked.map(|predictor| {
            let shown = ROSTER[predictor];
            let last = last.min(self.walker.walked(predictor).saturating_sub(1) / SAMPLE_TICKS);
            let point = |sample: usize| {
                let score = self.walker.standing(sample * SAMPLE_TICKS, predictor).horizons[self.horizon];
                (secs(sample * SAMPLE_TICKS + horizon), score.mean())
            };
            // Before the first prediction comes due there is nothing to draw.
            let points = (1..=last).filter(|sample| sample.is_multiple_of(every)).map(point).collect();
            Series { colour: shown.colour, stroke: shown.stroke, points }
        });
        Some(Chart {
            x: "seconds".into(),
            y: format!("mean error, {}", self.play.unit),
            x_range: Some((0.0, secs(self.ticks))),
            y_least: self.stage.hit_radius(),
            series: series.collect(),
        })
    }

    fn read(&mut self, file: File<'_>, breaks: Option<File<'_>>) -> Result<(), String> {
        let play = read_play(file, breaks)?;
        self.show(play, self.players);
        self.is_dropped = true;
        Ok(())
    }

    fn words(&mut self, about: &str) -> String {
        match about {
            "why" => why::why(self),
            "unit" => self.play.unit.to_string(),
            "predictors" => roster::in_words(),
            "player" => self.name_of(self.chosen()),
            "jumps" if self.is_dropped => self.jumps().join("\n"),
            "missing" => self.walker.missing(self.focus).map_or_else(String::new, |what| what.to_string()),
            "cut" if self.secs_cut > 0.0 => {
                let (shown, whole) = (secs(self.ticks), secs(self.ticks) + self.secs_cut);
                format!(
                    "Only the first {shown:.0} of {whole:.0} s are shown: the rest does not fit into memory."
                )
            }
            _ => String::new(),
        }
    }
}

/// A step this many times longer than the mean is a jump, not a run.
const JUMP_TIMES: f64 = 10.0;

impl Guess {
    /// Returns the jumps within runs, such as respawns that no break marks, as lines of a breaks
    /// file: seconds, player, reason.
    fn jumps(&self) -> Vec<String> {
        let runs =
            || self.play.players.iter().flat_map(|player| player.runs.iter().map(move |run| (player, run)));
        let step = |pair: &[Vec2]| pair[0].distance(pair[1]);
        let steps = || runs().flat_map(|(_, run)| run.truth.windows(2).map(step));
        let running = steps().sum::<f64>() / steps().count().max(1) as f64;
        let mut jumps = Vec::new();
        for (player, run) in runs() {
            let is_jump = |at: usize| step(&run.truth[at..at + 2]) > JUMP_TIMES * running;
            let ends = run.truth.len().saturating_sub(1);
            let mut at = 0;
            while at < ends {
                // Between two samples a jump takes several ticks of equal steps.
                let length = (at..ends).take_while(|at| is_jump(*at)).count();
                if length > 0 {
                    let middle = run.first_tick as f64 + at as f64 + 0.5 * length as f64;
                    let secs = middle * TICK_RATE.step_secs();
                    jumps.push(format!("{secs:.4},{},teleport", player.name));
                }
                at += length.max(1);
            }
        }
        jumps
    }

    fn name_of(&self, player: usize) -> String {
        match self.play.players.get(player) {
            Some(one) if self.is_dropped => one.name.clone(),
            Some(_) => format!("player {player}"),
            None => "no player".into(),
        }
    }

    fn frame_of(&self, player: usize, out: &mut Vec<f64>) {
        let able = (0..COUNT).filter(|predictor| {
            self.walker.is_asked(*predictor) && self.walker.missing(*predictor).is_none()
        });
        let Some((run, index)) = run_at(&self.play, player, self.now) else {
            let per_predictor = 1 + 2 * HORIZONS.len();
            out.extend(std::iter::repeat_n(0.0, 4 + 2 * HORIZONS.len() + per_predictor * able.count()));
            return;
        };
        let place = run.truth[index];
        out.extend([1.0, f64::from(run.team), place.x, place.y]);
        for horizon in HORIZONS {
            let there = run.truth.get(index + horizon as usize).or_else(|| run.truth.last());
            let there = there.copied().unwrap_or(place);
            out.extend([there.x, there.y]);
        }
        for predictor in able {
            let answer = self.answer(player, predictor);
            out.push(f64::from(u8::from(answer.is_some())));
            out.extend(answer.unwrap_or([place; HORIZONS.len()]).iter().flat_map(|place| [place.x, place.y]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{digest, finish_thinking, turn};

    fn guess() -> Guess {
        Guess::of(played(1, 2), 1, 2)
    }

    fn number_of(name: &str) -> usize {
        ROSTER.iter().position(|shown| shown.name == name).expect("it is on the roster")
    }

    #[test]
    fn jumps_of_a_recording_without_breaks_are_found_and_can_be_cut() {
        let mut rows = String::from("t,entity,team,x,y\n");
        for sample in 0..400 {
            let secs = f64::from(sample) * 0.05;
            // Ann respawns 60 units away after 10 s.
            let respawned = if sample >= 200 { 60.0 } else { 0.0 };
            rows += &format!("{secs},ann,1,{},0\n{secs},bob,2,{},5\n", 4.0 * secs + respawned, 3.0 * secs);
        }
        let mut scene = Guess::new(1);
        let file = File { name: "walk.csv", bytes: rows.as_bytes() };
        assert_eq!(scene.words("jumps"), "", "the match of bots has none");
        scene.read(file, None).expect("a recording");
        let jumps = scene.words("jumps");
        assert_eq!(jumps.lines().count(), 1, "{jumps}");
        assert!(jumps.ends_with(",ann,teleport"), "{jumps}");
        let breaks = format!("t,entity,reason\n{jumps}\n");
        scene.read(file, Some(File { name: "walk.breaks.csv", bytes: breaks.as_bytes() })).expect("both");
        assert_eq!(scene.words("jumps"), "", "the run is cut there");
    }

    #[test]
    fn going_back_shows_the_same_for_learning_predictors_too() {
        let mut scene = guess();
        scene.ask((1 << COUNT) - 1);
        (0..200).for_each(|_| scene.tick());
        finish_thinking(&mut scene);
        let before = digest(&scene);
        (0..300).for_each(|_| scene.tick());
        finish_thinking(&mut scene);
        turn(&mut scene, "at", 200.0 / 60.0);
        finish_thinking(&mut scene);
        // How far each predictor has been counted may differ.
        let mut fresh = guess();
        fresh.ask((1 << COUNT) - 1);
        turn(&mut fresh, "at", 200.0 / 60.0);
        finish_thinking(&mut fresh);
        assert_eq!(digest(&scene), before);
        assert_eq!(digest(&fresh), before, "a jump to that tick shows the same");
    }

    #[test]
    fn a_predictor_that_is_selected_late_answers_the_same() {
        let mut early = guess();
        early.ask(usual_mask() | 1 << number_of("ridge"));
        let mut late = guess();
        for scene in [&mut early, &mut late] {
            (0..400).for_each(|_| scene.tick());
            finish_thinking(scene);
        }
        assert_ne!(digest(&early), digest(&late));
        late.ask(usual_mask() | 1 << number_of("ridge"));
        finish_thinking(&mut late);
        assert_eq!(digest(&early), digest(&late));
    }

    fn file<'a>(name: &'a str, text: &'a str) -> File<'a> {
        File { name, bytes: text.as_bytes() }
    }

    #[test]
    fn a_dropped_recording_is_shown_and_nonsense_is_not() {
        let mut rows = String::from("t,entity,team,x,y\n");
        for sample in 0..300 {
            let secs = f64::from(sample) * 0.05;
            for (entity, y) in [("ann", 0.0), ("bob", 5.0)] {
                rows += &format!("{secs},{entity},1,{},{y}\n", 4.0 * secs);
            }
        }
        let mut scene = guess();
        scene.ask((1 << COUNT) - 1);
        scene.read(file("walk.csv", &rows), None).expect("a recording");
        turn(&mut scene, "at", 8.0);
        finish_thinking(&mut scene);
        assert_eq!(scene.play.players.len(), 2);
        assert!(scene.walker.standing(scene.now, 0).horizons[3].mean() < 0.05, "a line predicts a line");
        assert!(scene.walker.missing(number_of("oaekb")).is_some(), "the recording has no walls");
        assert!(scene.words("why").contains("ann"));
        assert!(scene.read(file("nonsense.csv", "hello"), None).is_err());
        assert_eq!(scene.play.players.len(), 2, "what was there is still there");
    }

    #[test]
    fn how_often_it_thinks_does_not_matter() {
        let mut rows = String::from("t,entity,team,x,y\n");
        // So many players that a tick takes several calls of `think`, none present in the first.
        for sample in 0..100 {
            for player in 0..PLAYERS_MAX {
                rows += &format!("{},{player},1,{},{player}\n", f64::from(sample) * 0.05, sample % 70);
            }
        }
        let [mut once, mut often] = [guess(), guess()];
        for scene in [&mut once, &mut often] {
            scene.read(file("crowd.csv", &rows), None).expect("a recording");
            turn(scene, "at", 4.0);
        }
        for count in 0..=COUNT {
            often.ask((1 << count) - 1);
            often.think();
        }
        once.ask((1 << COUNT) - 1);
        for scene in [&mut once, &mut often] {
            finish_thinking(scene);
        }
        assert_eq!(digest(&once), digest(&often));
    }

    #[test]
    fn breaks_cut_a_recording() {
        let mut rows = String::from("t,entity,team,x,y\n");
        for sample in 0..200 {
            let x = 0.2 * f64::from(sample) + f64::from(sample / 100 * 500);
            rows += &format!("{},ann,1,{x},0\n", f64::from(sample) * 0.05);
        }
        let mut scene = guess();
        scene.read(file("jump.csv", &rows), None).expect("a recording");
        assert_eq!(scene.play.players[0].runs.len(), 1);
        let breaks = "t,entity,reason\n5,ann,teleport\n";
        scene.read(file("jump.csv", &rows), Some(file("jump.breaks.csv", breaks))).expect("a recording");
        assert_eq!(scene.play.players[0].runs.len(), 2);
    }
}
