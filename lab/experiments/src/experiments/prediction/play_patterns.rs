//! What X10, X11 and X12 share: matches in which play patterns may be found, the predictors that
//! look for them, and what Shi 2014 found.
//!
//! The matches are Ethereal's, on its fixed map and on generated ones in turn, with walls, health
//! and ammunition known; or a recording, where they are not. Nothing was tuned on them: their seeds
//! are drawn anew from the seed of the run, and Shi 2014's predictors have Shi 2014's parameters.
//!
//! Text, equations and results of Shi 2014 contradict each other in four places, and each decides
//! which predictor wins, so all are played: see [`Reading`].

use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_eval::candidates::{self, Candidate, MatchSetup};
use fairpath_eval::evaluate::{PlayerScore, Question, Summary, score};
use fairpath_eval::play::Play;
use fairpath_games::ethereal::{EtherealConfig, Ground, Match, TICKS_PER_SECOND};
use fairpath_predict::{Ekb, EkbConfig, Hybrid, HybridRule, Missing, Oaekb, Others, Predictor, TICK_SECS};

use crate::experiment::{CannotRun, Progress, Recorded, Settings, map_in_order};
use crate::figure::{Bars, Line, Plot};
use crate::judge::{self, Judgement, Verdict};
use crate::outcome::{Cell, Claim, Column, Rows};
use crate::prediction::{HORIZONS_MS, Watched, scale_note, stage};
use crate::{cells, show};

/// Shi 2014's delays, in ticks: 300 to 2100 ms.
pub(super) const HORIZONS: [u32; 7] = [18, 36, 54, 72, 90, 108, 126];

/// 12 minutes of play of eight: ratios between predictors move by 1 or 2 % from seed to seed.
const MATCHES: usize = 4;
const MATCH_SECS: u32 = 180;

/// The matches, as two kinds of receivers see them.
pub(super) struct Season {
    scenes: Vec<PlayedMatch>,
    is_recorded: bool,
}

struct PlayedMatch {
    watched: Watched,
    /// The same, but no acceleration is known.
    without_acceleration: Play,
    /// The same, and predictors may see where the others really are later on.
    replayed: Play,
    stage: MatchSetup,
}

/// How Shi 2014 is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) acceleration: Acceleration,
    pub(super) transition: Transition,
    /// Where the other players are while one is predicted: at their last known position, or where
    /// they really are at every tick, as the replay of a finished match knows.
    pub(super) others: Others,
    pub(super) hybrid: HybridRule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acceleration {
    /// None, so TDM is a line, as Shi 2014's column for it suggests.
    Unknown,
    /// That of the last tick or, in recordings, over 100 ms.
    Measured,
}

/// How fast EKB turns to its pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transition {
    /// Equation 17, without a factor: nearly always in a second.
    Printed,
    /// The text and table 1: in l = 0.1 ticks per pixel to the nearest player.
    Text,
}

/// One predictor, as Shi 2014 is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entrant {
    pub(super) name: &'static str,
    pub(super) reading: Reading,
}

/// How an entrant fared in all matches together, or what it lacked.
pub(super) struct EntrantScore {
    pub(super) entrant: Entrant,
    pub(super) summary: Result<Summary, Missing>,
}

pub(super) struct Field {
    pub(super) all: Vec<EntrantScore>,
    pub(super) unit: String,
    is_recorded: bool,
}

impl Season {
    /// The recording of the settings, or else new matches of Ethereal.
    pub(super) fn of(settings: &Settings, progress: &dyn Progress) -> Result<Self, CannotRun> {
        match &settings.motion {
            Some(recorded) => Self::recorded(recorded),
            None => Self::of_ethereal(settings.seed, MATCHES, MATCH_SECS, progress),
        }
    }

    pub(super) fn of_ethereal(
        seed: u64,
        matches: usize,
        secs: u32,
        progress: &dyn Progress,
    ) -> Result<Self, CannotRun> {
        let numbers: Vec<usize> = (0..matches).collect();
        progress.begin("playing matches", matches as u64);
        let scenes = map_in_order(&numbers, progress, |number| {
            let play = ethereal(seed, *number, secs)?;
            PlayedMatch::new(format!("Ethereal, match {}", number + 1), play)
        });
        Ok(Self { scenes: scenes.into_iter().collect::<Result<_, _>>()?, is_recorded: false })
    }

    fn recorded(recorded: &Recorded) -> Result<Self, CannotRun> {
        let scene = PlayedMatch::new(recorded.file.clone(), Play::from_recording(&recorded.recording))?;
        Ok(Self { scenes: vec![scene], is_recorded: true })
    }

    /// Lets all entrants predict every player, so many ticks ahead.
    pub(super) fn field(&self, horizons: &[u32], progress: &dyn Progress) -> Field {
        let entrants = entrants();
        let tasks: Vec<(Entrant, &PlayedMatch)> =
            entrants.iter().flat_map(|entrant| self.scenes.iter().map(|scene| (*entrant, scene))).collect();
        progress.begin("predicting", tasks.len() as u64);
        let scores = map_in_order(&tasks, progress, |(entrant, scene)| scene.score(*entrant, horizons));
        let mut scores = scores.into_iter();
        let all = entrants.into_iter().map(|entrant| {
            let of_all_matches: Result<Vec<Vec<PlayerScore>>, Missing> =
                scores.by_ref().take(self.scenes.len()).collect();
            EntrantScore { entrant, summary: of_all_matches.map(|scores| Summary::of(&scores.concat())) }
        });
        let unit = self.scenes[0].watched.play.unit.to_string();
        Field { all: all.collect(), unit, is_recorded: self.is_recorded }
    }

    pub(super) fn first(&self) -> (&Watched, &MatchSetup) {
        (&self.scenes[0].watched, &self.scenes[0].stage)
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let [first, ..] = &self.scenes[..] else { return Vec::new() };
        let unit = first.watched.play.unit;
        let played = if self.is_recorded {
            format!(
                "{} Where the walls are is not known: OAEKB and hybrid OAEKB take no part, and what is claimed of both hybrids is judged by hybrid EKB.",
                scale_note(&first.watched, &first.stage)
            )
        } else {
            let secs: f64 = self.scenes.iter().map(|scene| scene.watched.play.secs()).sum();
            format!(
                "{} matches of {} bots on Ethereal's fixed map and on generated ones in turn, {} s of motion. Seeds are drawn from the \
                 run's: nothing was tuned on them.",
                self.scenes.len(),
                first.watched.play.players.len(),
                show(secs)
            )
        };
        vec![
            format!("{played} Hit radius and packet threshold: {} {unit}.", show(first.stage.hit_radius())),
            "Text, equations and results of Shi 2014 contradict each other. Whether TDM knew an acceleration: shown none it is the line, and so it \
             looks in Shi 2014's tables, where its error grows in proportion to the delay; shown the measured one, it keeps for two seconds what a key \
             press causes for a tenth of one. How fast EKB turns to its pattern: by equation 17 nearly always in a second, which Shi 2014's own errors \
             of EKB need, and by text and table in 0.1 ticks per pixel to the nearest player. Where the others are meanwhile: where they were last \
             known, or, as the replay of a recorded match can tell, where they really are at every tick. And when a hybrid is TDM: by algorithm 3 if \
             the direction was kept for as long as the prediction looks ahead, by section 4.3 (ii) if it was kept for no longer. Claims are judged \
             one by one in four readings; the grid counts them in all."
                .into(),
        ]
    }
}

impl PlayedMatch {
    fn new(file: String, play: Play) -> Result<Self, CannotRun> {
        let watched = Watched { file, play, paths: Vec::new() };
        let stage = stage(&watched)?;
        let mut without_acceleration = watched.play.clone();
        let runs = without_acceleration.players.iter_mut().flat_map(|player| &mut player.runs);
        for body in runs.flat_map(|run| &mut run.bodies) {
            body.acceleration = Vec2::ZERO;
        }
        let replayed = Play { replays_others: true, ..without_acceleration.clone() };
        Ok(Self { watched, without_acceleration, replayed, stage })
    }

    fn score(&self, entrant: Entrant, horizons: &[u32]) -> Result<Vec<PlayerScore>, Missing> {
        let Reading { acceleration, others, .. } = entrant.reading;
        let play = match (entrant.is_ours() || acceleration == Acceleration::Measured, others) {
            (true, _) => &self.watched.play,
            (false, Others::Replayed) => &self.replayed,
            (false, Others::Stay | Others::KeepVelocity) => &self.without_acceleration,
        };
        let length = self.stage.hit_radius();
        let Ok(question) = Question::new(horizons.to_vec(), length, length) else {
            unreachable!("a player moves, and the horizons are constants")
        };
        score(play, &mut *entrant.make(&self.stage), &question)
    }
}

fn ethereal(seed: u64, number: usize, secs: u32) -> Result<Play, CannotRun> {
    let seed = Random::from_seed(seed).fork(number as u64).bits();
    let ground = if number.is_multiple_of(2) { Ground::Crossing } else { Ground::Generated };
    let config = EtherealConfig { ground, ..EtherealConfig::default() };
    let cannot_be_played = |error: String| CannotRun {
        what: format!("match {} cannot be played ({error})", number + 1),
        fix: "try another --seed".into(),
    };
    let mut game =
        Match::of_bots(config, seed).map_err(|error| cannot_be_played(error.to_string()))?.with_recording();
    for _ in 0..secs * TICKS_PER_SECOND {
        game.step();
    }
    let Some(recording) = game.recording() else { unreachable!("one is kept") };
    Play::from_ethereal(recording, None).map_err(|error| cannot_be_played(error.to_string()))
}

/// Every predictor of Shi 2014's tables in all readings that differ, and ours.
fn entrants() -> Vec<Entrant> {
    let mut entrants: Vec<Entrant> = Vec::new();
    for name in EVERYBODY {
        for reading in Reading::grid() {
            let entrant = Entrant::new(name, reading);
            if !entrants.contains(&entrant) {
                entrants.push(entrant);
            }
        }
    }
    entrants
}

pub(super) const TDM: &str = "tdm";
pub(super) const IS: &str = "is";
pub(super) const EKB: &str = "ekb";
pub(super) const OAEKB: &str = "oaekb";
pub(super) const HYBRID_EKB: &str = "hybrid-ekb";
pub(super) const HYBRID_OAEKB: &str = "hybrid-oaekb";
const ADAPTIVE: &str = "adaptive";
const ADAPTIVE_HITS: &str = "adaptive-hits";
/// Shi 2014's six.
pub(super) const PAPERS: [&str; 6] = [TDM, IS, EKB, OAEKB, HYBRID_EKB, HYBRID_OAEKB];
/// They and ours, in the order of figures.
pub(super) const EVERYBODY: [&str; 8] =
    [TDM, IS, EKB, OAEKB, HYBRID_EKB, HYBRID_OAEKB, ADAPTIVE, ADAPTIVE_HITS];
pub(super) const HYBRIDS: [&str; 2] = [HYBRID_EKB, HYBRID_OAEKB];

impl Reading {
    /// The reading that Shi 2014's own numbers need for plain EKB, and its algorithm 3.
    pub(super) const USUAL: Self = Self {
        acceleration: Acceleration::Unknown,
        transition: Transition::Printed,
        others: Others::Stay,
        hybrid: HybridRule::Algorithm,
    };
    /// With l, as in the text and table 1.
    pub(super) const TEXT: Self = Self { transition: Transition::Text, ..Self::USUAL };
    pub(super) const MEASURED: Self = Self { acceleration: Acceleration::Measured, ..Self::USUAL };
    /// Equation 17 as printed, others as a replay knows them, and section 4.3 (ii) as written.
    pub(super) const TOGETHER: Self =
        Self { others: Others::Replayed, hybrid: HybridRule::Text, ..Self::USUAL };
    /// Those in which claims are judged one by one. The grid counts them in all.
    pub(super) const JUDGED: [Self; 4] = [Self::USUAL, Self::TEXT, Self::MEASURED, Self::TOGETHER];

    /// Every combination, with a measured acceleration only once: it is far off in all of them.
    pub(super) fn grid() -> Vec<Self> {
        let mut all = Vec::new();
        for transition in [Transition::Printed, Transition::Text] {
            for others in [Others::Stay, Others::Replayed] {
                for hybrid in [HybridRule::Algorithm, HybridRule::Text] {
                    all.push(Self { transition, others, hybrid, ..Self::USUAL });
                }
            }
        }
        all.push(Self::MEASURED);
        all
    }

    /// What the ids of claims and figures end in. Claims that are only counted end alike.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::USUAL => "",
            Self::TEXT => "-l",
            Self::MEASURED => "-measured",
            Self::TOGETHER => "-together",
            _ => "-grid",
        }
    }

    /// What sentences begin with, and the legend of figures.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::USUAL => "eq. 17 as printed",
            Self::TEXT => "l = 0.1",
            Self::MEASURED => "measured acceleration",
            Self::TOGETHER => "replayed, section 4.3 (ii)",
            _ => "another reading",
        }
    }

    /// All of it, in words.
    pub(super) fn shown(self) -> String {
        let [transition, others, hybrid, acceleration] = self.words();
        format!("{transition}, others {others}, hybrids by {hybrid}, acceleration {acceleration}")
    }

    /// The transition, the others, the hybrids and the acceleration.
    pub(super) fn words(self) -> [&'static str; 4] {
        [
            match self.transition {
                Transition::Printed => "eq. 17 as printed",
                Transition::Text => "l = 0.1",
            },
            match self.others {
                Others::Stay | Others::KeepVelocity => "as last known",
                Others::Replayed => "as replayed",
            },
            match self.hybrid {
                HybridRule::Algorithm => "algorithm 3",
                HybridRule::Text => "section 4.3 (ii)",
            },
            match self.acceleration {
                Acceleration::Unknown => "unknown",
                Acceleration::Measured => "measured",
            },
        ]
    }

    /// The same, as usual in all that makes no difference to a predictor.
    fn as_seen_by(self, name: &str) -> Self {
        let is_hybrid = HYBRIDS.contains(&name);
        let has_patterns = is_hybrid || [EKB, OAEKB].contains(&name);
        let usual = Self::USUAL;
        Self {
            acceleration: if is_hybrid || name == TDM { self.acceleration } else { usual.acceleration },
            transition: if has_patterns { self.transition } else { usual.transition },
            others: if has_patterns { self.others } else { usual.others },
            hybrid: if is_hybrid { self.hybrid } else { usual.hybrid },
        }
    }
}

impl Entrant {
    fn new(name: &'static str, reading: Reading) -> Self {
        Self { name, reading: reading.as_seen_by(name) }
    }

    pub(super) fn candidate(&self) -> &'static Candidate {
        let found = candidates::all().iter().find(|candidate| candidate.name == self.name);
        let Some(candidate) = found else { unreachable!("{} is a candidate", self.name) };
        candidate
    }

    fn make(&self, stage: &MatchSetup) -> Box<dyn Predictor> {
        let Reading { transition, others, hybrid, .. } = self.reading;
        let transition_ticks_per_unit = match transition {
            Transition::Printed => EkbConfig::default().transition_ticks_per_unit,
            Transition::Text => EkbConfig::TICKS_PER_UNIT_IN_THE_TEXT,
        };
        let config = EkbConfig { transition_ticks_per_unit, others, hybrid, ..EkbConfig::default() };
        let config = config.for_top_speed(stage.top_speed);
        match self.name {
            EKB => Box::new(Ekb::new(config)),
            OAEKB => Box::new(Oaekb::new(config)),
            HYBRID_EKB => Box::new(Hybrid::new(Ekb::new(config), config)),
            HYBRID_OAEKB => Box::new(Hybrid::new(Oaekb::new(config), config)),
            _ => self.candidate().make(stage),
        }
    }

    /// Whether it is not Shi 2014's.
    fn is_ours(&self) -> bool {
        !PAPERS.contains(&self.name)
    }

    /// Whether Shi 2014's own numbers stand beside it.
    pub(super) fn is_usual(&self) -> bool {
        self.reading == Reading::USUAL
    }
}

impl Field {
    /// The score of `name` in a reading. Nothing if it lacked something.
    pub(super) fn of(&self, name: &str, reading: Reading) -> Option<&Summary> {
        let reading = reading.as_seen_by(name);
        let is_meant = |entrant: &Entrant| entrant.name == name && entrant.reading == reading;
        self.all.iter().find(|fared| is_meant(&fared.entrant))?.summary.as_ref().ok()
    }

    pub(super) fn among(&self, names: &[&str], reading: Reading) -> Vec<&Summary> {
        names.iter().filter_map(|name| self.of(name, reading)).collect()
    }

    pub(super) fn scored(&self) -> impl Iterator<Item = (Entrant, &Summary)> {
        self.all.iter().filter_map(|fared| Some((fared.entrant, fared.summary.as_ref().ok()?)))
    }

    /// A claim, judged if its predictors have scores. `why` is the remark if our matches refute it.
    pub(super) fn claim(
        &self,
        id: String,
        text: String,
        (why, reading): (&str, Reading),
        judge: impl FnOnce(&Self) -> Option<Judgement>,
    ) -> Claim {
        let judgement = judge(self);
        let lacks = judgement.is_none();
        let claim = Claim::new(id, text, judgement.unwrap_or_else(judge::not_applicable));
        let claim = claim.reading(reading.shown());
        if lacks {
            claim.remark("Where the walls are is not known here")
        } else if claim.judgement.verdict == Verdict::NotHeld && !self.is_recorded && !why.is_empty() {
            claim.remark(why)
        } else {
            claim
        }
    }

    /// One row per entrant, a number per delay (ours above Shi 2014's), and the total if any.
    pub(super) fn beside_the_paper(
        &self,
        what: Beside<'_>,
        own: impl Fn(&Summary) -> Vec<f64>,
        paper: impl Fn(&PaperNumbers) -> Vec<f64>,
    ) -> Rows {
        let mut columns = vec![
            Column::text("predictor", "predictor"),
            Column::text("reading", "reading"),
            Column::text("whose", "numbers of"),
        ];
        columns.extend(HORIZONS_MS.iter().map(|millis| {
            Column::number(format!("at_{millis}_ms"), format!("{millis} ms"), "").decimals(what.decimals)
        }));
        columns.extend(what.total.map(|total| Column::number("total", total, "").decimals(what.decimals)));
        columns.push(Column::text("unit", "unit"));
        let mut rows = Rows::new(columns);
        let mut push = |entrant: &Entrant, whose: &str, numbers: Option<Vec<f64>>, unit: &str| {
            let mut row = cells![entrant.name, entrant.reading.shown(), whose];
            let missing = || vec![Cell::Missing; HORIZONS.len() + usize::from(what.total.is_some())];
            row.extend(numbers.map_or_else(missing, |numbers| numbers.into_iter().map(Cell::from).collect()));
            row.push(unit.into());
            rows.push(row);
        };
        let is_shown = |entrant: &Entrant| {
            Reading::JUDGED.iter().any(|reading| Entrant::new(entrant.name, *reading) == *entrant)
        };
        for EntrantScore { entrant, summary } in self.all.iter().filter(|each| is_shown(&each.entrant)) {
            push(entrant, "ours", summary.as_ref().ok().map(&own), what.unit);
            if entrant.is_usual()
                && let Some(numbers) = PaperNumbers::of(entrant.name)
            {
                push(entrant, "Shi 2014", Some(paper(numbers)), what.paper_unit);
            }
        }
        rows
    }

    /// A line over the delays for every predictor in one reading.
    pub(super) fn lines(&self, reading: Reading, value: impl Fn(&Summary) -> Vec<f64>) -> Plot {
        let line = |name: &&str| {
            let values = value(self.of(name, reading)?);
            Some(Line::new(*name, HORIZONS_MS.into_iter().zip(values).collect::<Vec<_>>()))
        };
        Plot::Lines(EVERYBODY.iter().filter_map(line).collect())
    }

    /// A group of bars per predictor, one bar per reading: the value, and where it may lie.
    pub(super) fn bars(&self, value: impl Fn(&Summary) -> (f64, (f64, f64))) -> Bars {
        let nothing = (f64::NAN, (f64::NAN, f64::NAN));
        let names: Vec<String> = EVERYBODY.iter().map(|name| (*name).to_owned()).collect();
        Reading::JUDGED.into_iter().fold(Bars::new(names), |bars, reading| {
            // One bar where the reading makes no difference.
            let differs =
                |name: &str| reading == Reading::USUAL || reading.as_seen_by(name) != Reading::USUAL;
            let of = |name: &&str| self.of(name, reading).filter(|_| differs(name)).map_or(nothing, &value);
            let (values, ranges): (Vec<_>, Vec<_>) = EVERYBODY.iter().map(of).unzip();
            bars.series_with_ranges(reading.label(), values, ranges)
        })
    }

    /// The first columns of a row for machines.
    pub(super) fn row_begin(&self, entrant: &Entrant) -> Vec<Cell> {
        let [transition, others, hybrid, acceleration] = entrant.reading.words();
        cells![entrant.name, transition, others, hybrid, acceleration]
    }
}

#[derive(Clone, Copy)]
pub(super) struct Beside<'a> {
    pub(super) unit: &'a str,
    pub(super) paper_unit: &'a str,
    pub(super) decimals: usize,
    pub(super) total: Option<&'a str>,
}

pub(super) fn columns_begin() -> Vec<Column> {
    let mut columns = vec![Column::text("predictor", "predictor")];
    columns.extend(reading_columns());
    columns
}

/// The columns of [`Reading::words`].
pub(super) fn reading_columns() -> [Column; 4] {
    [
        Column::text("transition", "turn to the pattern"),
        Column::text("others", "others"),
        Column::text("hybrid", "hybrids by"),
        Column::text("acceleration", "acceleration"),
    ]
}

pub(super) fn millis(ticks: u32) -> f64 {
    f64::from(ticks) * TICK_SECS * 1e3
}

/// One predictor's line in Shi 2014's tables 5 and 6.
pub(super) struct PaperNumbers {
    pub(super) name: &'static str,
    /// Mean error in pixels at each delay.
    pub(super) mean: [f64; 7],
    /// Hits in per cent at each delay.
    pub(super) hits: [f64; 7],
    /// Their mean, as Shi 2014 gives it.
    pub(super) hits_total: f64,
}

impl PaperNumbers {
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        SHI_2014.iter().find(|numbers| numbers.name == name)
    }
}

pub(super) const SHI_2014: [PaperNumbers; 6] = [
    PaperNumbers {
        name: TDM,
        mean: [35.6, 109.1, 198.7, 293.3, 388.8, 484.2, 579.5],
        hits: [61.9, 26.3, 13.4, 7.6, 4.6, 2.9, 1.9],
        hits_total: 16.9,
    },
    PaperNumbers {
        name: IS,
        mean: [38.2, 110.0, 191.7, 271.8, 345.7, 413.8, 477.7],
        hits: [66.1, 19.0, 5.3, 2.3, 1.4, 1.1, 0.8],
        hits_total: 13.7,
    },
    PaperNumbers {
        name: EKB,
        mean: [37.8, 106.9, 178.9, 241.6, 293.6, 337.3, 374.9],
        hits: [62.6, 15.9, 4.8, 2.5, 1.7, 1.4, 1.2],
        hits_total: 12.9,
    },
    PaperNumbers {
        name: OAEKB,
        mean: [36.9, 104.8, 175.2, 235.8, 285.7, 327.8, 364.5],
        hits: [67.7, 17.7, 5.3, 2.8, 2.0, 1.7, 1.4],
        hits_total: 14.1,
    },
    PaperNumbers {
        name: HYBRID_EKB,
        mean: [44.1, 112.6, 192.2, 267.1, 334.7, 395.2, 449.4],
        hits: [67.2, 25.8, 13.1, 7.5, 4.6, 3.0, 2.1],
        hits_total: 17.6,
    },
    PaperNumbers {
        name: HYBRID_OAEKB,
        mean: [42.3, 112.5, 192.2, 266.9, 334.0, 394.1, 448.5],
        hits: [67.7, 26.0, 13.3, 7.4, 4.5, 3.0, 2.1],
        hits_total: 17.7,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Silent;

    /// A slip of the pen in the table would show.
    #[test]
    fn the_papers_totals_are_means_of_its_hits() {
        for numbers in &SHI_2014 {
            let mean = numbers.hits.iter().sum::<f64>() / 7.0;
            assert!((mean - numbers.hits_total).abs() < 0.06, "{}: {mean}", numbers.name);
        }
    }

    #[test]
    fn without_an_acceleration_tdm_is_the_line_and_nobody_else_changes() {
        let season = Season::of_ethereal(5, 1, 20, &Silent).unwrap();
        let field = season.field(&[18, 60], &Silent);
        assert_eq!(field.scored().count(), entrants().len(), "everything is known on Ethereal");
        let tdm = |reading| field.of(TDM, reading).unwrap();
        let line = Entrant { name: "line", reading: Reading::USUAL };
        assert_eq!(tdm(Reading::USUAL), &Summary::of(&season.scenes[0].score(line, &[18, 60]).unwrap()));
        assert_eq!(tdm(Reading::TEXT), tdm(Reading::USUAL), "it has no transition");
        let overshot = tdm(Reading::MEASURED).horizons[1].mean > tdm(Reading::USUAL).horizons[1].mean;
        assert!(overshot, "every turn");
        for name in [IS, EKB, OAEKB, ADAPTIVE] {
            assert_eq!(field.of(name, Reading::USUAL), field.of(name, Reading::MEASURED), "{name}");
        }
    }

    #[test]
    fn a_slow_transition_begins_as_the_line_does() {
        let season = Season::of_ethereal(6, 1, 20, &Silent).unwrap();
        let field = season.field(&[6], &Silent);
        let mean = |name, reading| field.of(name, reading).unwrap().horizons[0].mean;
        let line = mean(TDM, Reading::USUAL);
        let off_the_line = |reading| mean(EKB, reading) - line;
        assert!(off_the_line(Reading::USUAL).abs() < 0.5 * off_the_line(Reading::TEXT).abs());
    }

    /// Others that are shown where they really are help; only the replayed play shows them.
    #[test]
    fn only_a_replay_shows_where_the_others_will_be() {
        let season = Season::of_ethereal(7, 1, 30, &Silent).unwrap();
        let field = season.field(&[126], &Silent);
        let mean = |reading| field.of(EKB, reading).unwrap().horizons[0].mean;
        let replayed = Reading { others: Others::Replayed, ..Reading::USUAL };
        assert!(mean(replayed) < 0.95 * mean(Reading::USUAL), "{} {}", mean(replayed), mean(Reading::USUAL));
        let blind = PlayedMatch {
            replayed: season.scenes[0].without_acceleration.clone(),
            ..PlayedMatch::new(String::new(), season.scenes[0].watched.play.clone()).unwrap()
        };
        let blind = Summary::of(&blind.score(Entrant::new(EKB, replayed), &[126]).unwrap());
        assert_eq!(blind.horizons[0].mean, mean(Reading::USUAL), "without the future they stay");
    }

    #[test]
    fn the_hybrids_of_text_and_algorithm_agree_up_to_350_ms_and_not_beyond() {
        let season = Season::of_ethereal(8, 1, 20, &Silent).unwrap();
        let field = season.field(&[18, 60], &Silent);
        let text = Reading { hybrid: HybridRule::Text, ..Reading::USUAL };
        let means = |reading| {
            let summary = field.of(HYBRID_EKB, reading).unwrap();
            [summary.horizons[0].mean, summary.horizons[1].mean]
        };
        assert_eq!(means(text)[0], means(Reading::USUAL)[0]);
        assert_ne!(means(text)[1], means(Reading::USUAL)[1]);
    }

    #[test]
    fn other_seeds_are_other_matches_and_the_same_seed_the_same() {
        let means = |seed| {
            let season = Season::of_ethereal(seed, 2, 8, &Silent).unwrap();
            let field = season.field(&[30], &Silent);
            field.scored().map(|(_, summary)| summary.horizons[0].mean).collect::<Vec<_>>()
        };
        assert_eq!(means(3), means(3));
        assert_ne!(means(3), means(4));
    }
}
