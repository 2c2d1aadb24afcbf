//! What X10, X11 and X12 share: matches in which play patterns may be found, the predictors that
//! look for them, and what Shi 2014 found.
//!
//! The matches are Ethereal's, on its fixed map and on generated ones in turn, with walls, health
//! and ammunition known; or a recording, where they are not. Nothing was tuned on them: their seeds
//! are drawn anew from the seed of the run, and Shi 2014's predictors have Shi 2014's parameters.
//!
//! Shi 2014 leaves two things open, and both decide which predictor wins, so both are played: see
//! [`Version`].

use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_eval::candidates::{self, Candidate, MatchSetup};
use fairpath_eval::evaluate::{PlayerScore, Question, Summary, score};
use fairpath_eval::play::Play;
use fairpath_games::ethereal::{EtherealConfig, Ground, Match, TICKS_PER_SECOND};
use fairpath_predict::{Ekb, EkbConfig, Hybrid, Missing, Oaekb, Predictor, TICK_SECS};

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
    stage: MatchSetup,
}

/// How Shi 2014 is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// No acceleration is known, so TDM is a line, as Shi 2014's column for it suggests. EKB turns
    /// to its pattern in l = 0.1 ticks per pixel to the nearest player, as in its text and table 1.
    Usual,
    /// The same with known accelerations: of the last tick or, in recordings, over 100 ms.
    Measured,
    /// As usual, but EKB's transition is equation 17 as printed, without l: nearly always a second.
    AsPrinted,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entrant {
    pub(super) name: &'static str,
    /// Nothing where all versions are the same.
    pub(super) version: Option<Version>,
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
            "Shi 2014 leaves two things open. Whether TDM knew an acceleration: shown none it is the line, and so it looks in Shi 2014's tables, where its \
             error grows in proportion to the delay; shown the measured one, it keeps for two seconds what a key press causes for a tenth \
             of one. And how fast EKB turns to its pattern: by the text in 0.1 ticks per pixel to the nearest player, by equation 17 as \
             printed, which lacks that factor, nearly always in a second. Each is a version here, and claims are judged in all of them."
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
        Ok(Self { watched, without_acceleration, stage })
    }

    fn score(&self, entrant: Entrant, horizons: &[u32]) -> Result<Vec<PlayerScore>, Missing> {
        let play = match entrant.version {
            Some(Version::Usual | Version::AsPrinted) => &self.without_acceleration,
            Some(Version::Measured) | None => &self.watched.play,
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

/// Every predictor of Shi 2014's tables in all versions that differ, and ours.
fn entrants() -> Vec<Entrant> {
    let same = |name| [Entrant { name, version: None }].to_vec();
    let versions = |name, versions: &[Version]| {
        let entrant = |version: &Version| Entrant { name, version: Some(*version) };
        versions.iter().map(entrant).collect::<Vec<_>>()
    };
    [
        versions(TDM, &[Version::Usual, Version::Measured]),
        same(IS),
        versions(EKB, &[Version::Usual, Version::AsPrinted]),
        versions(OAEKB, &[Version::Usual, Version::AsPrinted]),
        versions(HYBRID_EKB, &Version::ALL),
        versions(HYBRID_OAEKB, &Version::ALL),
        same(ADAPTIVE),
        same(ADAPTIVE_HITS),
    ]
    .concat()
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

impl Version {
    pub(super) const ALL: [Self; 3] = [Self::Usual, Self::Measured, Self::AsPrinted];

    fn as_str(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Measured => "measured acceleration",
            Self::AsPrinted => "eq. 17 as printed",
        }
    }

    /// What the ids of claims and figures end in.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Usual => "",
            Self::Measured => "-measured",
            Self::AsPrinted => "-printed",
        }
    }

    /// What sentences begin with.
    pub(super) fn shown(self) -> &'static str {
        match self {
            Self::Usual => "no acceleration known:",
            Self::Measured => "measured acceleration:",
            Self::AsPrinted => "eq. 17 as printed:",
        }
    }
}

impl Entrant {
    pub(super) fn candidate(&self) -> &'static Candidate {
        let found = candidates::all().iter().find(|candidate| candidate.name == self.name);
        let Some(candidate) = found else { unreachable!("{} is a candidate", self.name) };
        candidate
    }

    fn make(&self, stage: &MatchSetup) -> Box<dyn Predictor> {
        if self.version != Some(Version::AsPrinted) {
            return self.candidate().make(stage);
        }
        let config = EkbConfig { transition_ticks_per_unit: 1.0, ..EkbConfig::default() };
        let config = config.for_top_speed(stage.top_speed);
        match self.name {
            EKB => Box::new(Ekb::new(config)),
            OAEKB => Box::new(Oaekb::new(config)),
            HYBRID_EKB => Box::new(Hybrid::new(Ekb::new(config), config)),
            HYBRID_OAEKB => Box::new(Hybrid::new(Oaekb::new(config), config)),
            name => unreachable!("{name} has no transition"),
        }
    }

    /// Whether Shi 2014's own numbers stand beside it.
    pub(super) fn is_usual(&self) -> bool {
        self.version.is_none_or(|version| version == Version::Usual)
    }

    fn version_cell(&self) -> Cell {
        self.version.map(Version::as_str).into()
    }
}

impl Field {
    /// The score of `name` in a version, or else as usual. Nothing if it lacked something.
    pub(super) fn of(&self, name: &str, version: Version) -> Option<&Summary> {
        self.exactly(name, version).or_else(|| self.exactly(name, Version::Usual))
    }

    fn exactly(&self, name: &str, version: Version) -> Option<&Summary> {
        let is_meant = |entrant: &Entrant| {
            entrant.name == name
                && (entrant.version == Some(version) || version == Version::Usual && entrant.is_usual())
        };
        self.all.iter().find(|fared| is_meant(&fared.entrant))?.summary.as_ref().ok()
    }

    pub(super) fn among(&self, names: &[&str], version: Version) -> Vec<&Summary> {
        names.iter().filter_map(|name| self.of(name, version)).collect()
    }

    pub(super) fn scored(&self) -> impl Iterator<Item = (Entrant, &Summary)> {
        self.all.iter().filter_map(|fared| Some((fared.entrant, fared.summary.as_ref().ok()?)))
    }

    /// A claim, judged if its predictors have scores. `why` is the remark if our matches refute it.
    pub(super) fn claim(
        &self,
        id: String,
        text: String,
        why: &str,
        judge: impl FnOnce(&Self) -> Option<Judgement>,
    ) -> Claim {
        let judgement = judge(self);
        let lacks = judgement.is_none();
        let claim = Claim::new(id, text, judgement.unwrap_or_else(judge::not_applicable));
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
            Column::text("version", "version"),
            Column::text("whose", "numbers of"),
        ];
        columns.extend(HORIZONS_MS.iter().map(|millis| {
            Column::number(format!("at_{millis}_ms"), format!("{millis} ms"), "").decimals(what.decimals)
        }));
        columns.extend(what.total.map(|total| Column::number("total", total, "").decimals(what.decimals)));
        columns.push(Column::text("unit", "unit"));
        let mut rows = Rows::new(columns);
        let mut push = |entrant: &Entrant, whose: &str, numbers: Option<Vec<f64>>, unit: &str| {
            let mut row = cells![entrant.name, entrant.version_cell(), whose];
            let missing = || vec![Cell::Missing; HORIZONS.len() + usize::from(what.total.is_some())];
            row.extend(numbers.map_or_else(missing, |numbers| numbers.into_iter().map(Cell::from).collect()));
            row.push(unit.into());
            rows.push(row);
        };
        for EntrantScore { entrant, summary } in &self.all {
            push(entrant, "ours", summary.as_ref().ok().map(&own), what.unit);
            if entrant.is_usual()
                && let Some(numbers) = PaperNumbers::of(entrant.name)
            {
                push(entrant, "Shi 2014", Some(paper(numbers)), what.paper_unit);
            }
        }
        rows
    }

    /// A line over the delays for every predictor in one version.
    pub(super) fn lines(&self, version: Version, value: impl Fn(&Summary) -> Vec<f64>) -> Plot {
        let line = |name: &&str| {
            let values = value(self.of(name, version)?);
            Some(Line::new(*name, HORIZONS_MS.into_iter().zip(values).collect::<Vec<_>>()))
        };
        Plot::Lines(EVERYBODY.iter().filter_map(line).collect())
    }

    /// A group of bars per predictor, one bar per version: the value, and where it may lie.
    pub(super) fn bars(&self, value: impl Fn(&Summary) -> (f64, (f64, f64))) -> Bars {
        let nothing = (f64::NAN, (f64::NAN, f64::NAN));
        let names: Vec<String> = EVERYBODY.iter().map(|name| (*name).to_owned()).collect();
        Version::ALL.into_iter().fold(Bars::new(names), |bars, version| {
            let of = |name: &&str| self.exactly(name, version).map_or(nothing, &value);
            let (values, ranges): (Vec<_>, Vec<_>) = EVERYBODY.iter().map(of).unzip();
            bars.series_with_ranges(version.as_str(), values, ranges)
        })
    }

    /// The first columns of a row for machines.
    pub(super) fn row_begin(&self, entrant: &Entrant) -> Vec<Cell> {
        cells![entrant.name, entrant.version_cell()]
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
    vec![Column::text("predictor", "predictor"), Column::text("version", "version")]
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
        let scored = |name, version| {
            Summary::of(&season.scenes[0].score(Entrant { name, version }, &[18, 60]).unwrap())
        };
        let tdm = |version| field.of(TDM, version).unwrap();
        assert_eq!(tdm(Version::Usual), &scored("line", None));
        assert_eq!(tdm(Version::AsPrinted), tdm(Version::Usual), "it has no transition");
        let overshot = tdm(Version::Measured).horizons[1].mean > tdm(Version::Usual).horizons[1].mean;
        assert!(overshot, "every turn");
        for name in [IS, EKB, OAEKB, ADAPTIVE] {
            assert_eq!(scored(name, Some(Version::Usual)), scored(name, Some(Version::Measured)), "{name}");
        }
    }

    #[test]
    fn a_slow_transition_begins_as_the_line_does() {
        let season = Season::of_ethereal(6, 1, 20, &Silent).unwrap();
        let field = season.field(&[6], &Silent);
        let mean = |name, version| field.of(name, version).unwrap().horizons[0].mean;
        let line = mean(TDM, Version::Usual);
        let off_the_line = |version| mean(EKB, version) - line;
        assert!(off_the_line(Version::AsPrinted).abs() < 0.5 * off_the_line(Version::Usual).abs());
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
