use std::fmt::{self, Write};
use std::str::FromStr;

use fairpath::random::Random;
use fairpath_games::ethereal::{self, EtherealConfig, Ground};
use fairpath_games::tanks::{self, TanksConfig};
use fairpath_predict::{Linear, TICK_SECS};

use super::common_path::CHOICES;
use super::network::WEIGHTS;
use super::rules::TERMS;
use super::{CommonPath, CommonPathConfig, HORIZONS, Lesson, Network, Rules, Seen};
use crate::evaluate::{Question, Summary, score, walk};
use crate::play::Play;
use crate::recording;

/// What the learned predictors know before a match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taught {
    pub networks: Network,
    pub rules: Rules,
    pub common_path: CommonPathConfig,
}

/// Ticks from one lesson of a player to the next: 0.1 s. Nearer ones are nearly the same.
pub const LESSON_TICKS: usize = 6;
/// The first line of the file.
const HEADING: &str = "fairpath taught predictors 1";

/// Why a text holds no taught predictors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotTaught {
    /// The line, from 1.
    pub line: usize,
}

impl std::error::Error for NotTaught {}

impl fmt::Display for NotTaught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} is not what `fairpath lab teach` writes: write the file again", self.line)
    }
}

/// Plays matches of our own bots to learn from: Ethereal's on its fixed map and on generated ones,
/// and tanks. `None` if a match cannot be played, which its tests rule out.
pub fn own_matches(seed: u64, matches: u64, secs: u32) -> Option<Vec<Play>> {
    let dice = Random::from_seed(seed);
    let mut plays = Vec::new();
    for number in 0..matches {
        let seed = dice.fork(number).bits();
        plays.push(if number % 3 == 2 { tanks(seed, secs)? } else { ethereal(seed, number, secs)? });
    }
    Some(plays)
}

fn ethereal(seed: u64, number: u64, secs: u32) -> Option<Play> {
    let ground = if number.is_multiple_of(3) { Ground::Crossing } else { Ground::Generated };
    let config = EtherealConfig { ground, ..EtherealConfig::default() };
    let mut game = ethereal::Match::of_bots(config, seed).ok()?.with_recording();
    for _ in 0..secs * ethereal::TICKS_PER_SECOND {
        game.step();
    }
    Play::from_ethereal(game.recording()?, None).ok()
}

fn tanks(seed: u64, secs: u32) -> Option<Play> {
    let mut game = tanks::Match::of_bots(TanksConfig::default(), seed).ok()?;
    let trace = game.record(u64::from(secs) * u64::from(tanks::TICK_RATE.as_hz()));
    let recording = recording::from_trace(&trace.metadata.title, &trace.metadata, &trace.states).ok()?;
    Some(Play::from_recording(&recording))
}

/// Returns the lessons of a match for each of [`HORIZONS`].
pub fn lessons_of(play: &Play) -> Vec<Vec<Lesson>> {
    let top_speed = play.top_speed();
    let mut lessons = vec![Vec::new(); HORIZONS.len()];
    if top_speed <= 0.0 {
        return lessons;
    }
    let walked = walk(play, &mut Linear, |_, known, step| {
        if step.index % LESSON_TICKS != 0 {
            return Ok(());
        }
        let seen = Seen::of(known, top_speed);
        let newest = known.newest();
        for (lessons, ticks) in lessons.iter_mut().zip(HORIZONS) {
            let Some(truth) = step.run.truth.get(step.index + ticks as usize) else { continue };
            let mean = (*truth - newest.position) * (1.0 / (f64::from(ticks) * TICK_SECS));
            let change = seen.turned(mean - newest.velocity);
            if change.iter().all(|change| change.is_finite()) {
                lessons.push(Lesson { inputs: seen.inputs, change });
            }
        }
        Ok(())
    });
    debug_assert!(walked.is_ok(), "the line lacks nothing");
    lessons
}

impl Taught {
    /// What this version was taught.
    pub fn shipped() -> Self {
        include_str!("taught.txt").parse().unwrap_or_default()
    }

    /// Teaches all predictors by matches. The same matches and seed teach the same.
    pub fn by(plays: &[Play], seed: u64) -> Self {
        let mut lessons = vec![Vec::new(); HORIZONS.len()];
        for play in plays {
            for (all, own) in lessons.iter_mut().zip(lessons_of(play)) {
                all.extend(own);
            }
        }
        let networks = Network::taught(&lessons, &Random::from_seed(seed).fork(1));
        let taught = Self { networks, rules: Rules::taught(&lessons), common_path: best_common_path(plays) };
        // Rounded as the file is, so that what was taught and what was read are equal.
        taught.to_string().parse().unwrap_or(taught)
    }
}

/// The choice with the least mean error, as a multiple of the line's, over matches and horizons.
fn best_common_path(plays: &[Play]) -> CommonPathConfig {
    let question = Question::new(HORIZONS[1..8].to_vec(), 1.0, 1.0);
    let Ok(question) = question else { unreachable!("the horizons are constants") };
    let mean = |play: &Play, predictor: &mut dyn fairpath_predict::Predictor| {
        let scores = score(play, predictor, &question).unwrap_or_default();
        if scores.is_empty() {
            return f64::NAN;
        }
        let horizons = Summary::of(&scores).horizons;
        horizons.iter().map(|at| at.mean).sum::<f64>()
    };
    let off = |config: CommonPathConfig| -> f64 {
        let of = |play: &Play| {
            mean(play, &mut CommonPath::new(config, play.top_speed())) / mean(play, &mut Linear)
        };
        plays.iter().map(of).filter(|ratio| ratio.is_finite()).sum()
    };
    let offs = CHOICES.map(|config| (off(config), config));
    let best = offs.into_iter().min_by(|one, other| one.0.total_cmp(&other.0));
    best.map_or_else(CommonPathConfig::default, |(_, config)| config)
}

/// The file: a heading, the parameters of the common path, the width of fuzzy sets, and a line of
/// weights for each network and for each axis of each horizon's rules.
impl fmt::Display for Taught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CommonPathConfig { cell_secs, visits_min, spread_max } = self.common_path;
        writeln!(f, "{HEADING}\n{cell_secs} {visits_min} {spread_max}\n{}", self.rules.width)?;
        let networks = self.networks.weights.iter().map(|weights| weights.as_slice());
        let rules = self.rules.conclusions.iter().flatten().map(|weights| weights.as_slice());
        for weights in networks.chain(rules) {
            let mut line = String::new();
            for weight in weights {
                // Three digits, which keeps the file short.
                write!(line, "{weight:.2e} ")?;
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

impl FromStr for Taught {
    type Err = NotTaught;

    fn from_str(text: &str) -> Result<Self, NotTaught> {
        let mut lines = (1..).zip(text.lines());
        let mut next = |wanted: usize| -> Result<Vec<f64>, NotTaught> {
            let (line, text) = lines.next().ok_or(NotTaught { line: 0 })?;
            let numbers: Option<Vec<f64>> = text
                .split_whitespace()
                .map(|word| word.parse().ok().filter(|number: &f64| number.is_finite()))
                .collect();
            numbers.filter(|numbers| numbers.len() == wanted).ok_or(NotTaught { line })
        };
        if text.lines().next() != Some(HEADING) {
            return Err(NotTaught { line: 1 });
        }
        let _ = next(0);
        let [cell_secs, visits_min, spread_max] = exactly(next(3)?);
        let [width] = exactly(next(1)?);
        let common_path = CommonPathConfig { cell_secs, visits_min: visits_min as u32, spread_max };
        let mut weights = Vec::with_capacity(HORIZONS.len());
        for _ in HORIZONS {
            weights.push(exactly::<WEIGHTS>(next(WEIGHTS)?));
        }
        let mut conclusions = Vec::with_capacity(HORIZONS.len());
        for _ in HORIZONS {
            conclusions.push([exactly::<TERMS>(next(TERMS)?), exactly::<TERMS>(next(TERMS)?)]);
        }
        Ok(Self { networks: Network { weights }, rules: Rules { width, conclusions }, common_path })
    }
}

/// As many numbers as were counted.
fn exactly<const N: usize>(numbers: Vec<f64>) -> [f64; N] {
    let mut all = [0.0; N];
    all.copy_from_slice(&numbers);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learned::BankPredictor;

    #[test]
    fn the_same_matches_and_seed_teach_the_same_and_another_seed_something_else() {
        let plays = own_matches(3, 3, 6).expect("bots play");
        let taught = Taught::by(&plays, 3);
        assert_eq!(taught, Taught::by(&plays, 3));
        assert_ne!(taught.networks, Taught::by(&plays, 4).networks);
        assert_eq!(taught.to_string().parse(), Ok(taught));
    }

    #[test]
    fn what_is_no_lesson_is_refused_with_its_line() {
        let text = Taught::default().to_string();
        let with = |line: usize, new: &str| {
            let mut lines: Vec<&str> = text.lines().collect();
            lines[line - 1] = new;
            lines.join("\n").parse::<Taught>()
        };
        assert_eq!(text.parse(), Ok(Taught::default()));
        assert_eq!(with(1, "fairpath taught predictors 2"), Err(NotTaught { line: 1 }));
        assert_eq!(with(2, "0.3 5"), Err(NotTaught { line: 2 }));
        assert_eq!(with(7, "1 2 3"), Err(NotTaught { line: 7 }));
        assert_eq!(with(3, "NaN"), Err(NotTaught { line: 3 }));
    }

    /// The shipped predictors were taught at all, and are ahead of the line on a match that they
    /// were not taught by.
    #[test]
    fn what_is_shipped_beats_the_line_on_a_match_of_our_own() {
        let play = own_matches(0xFACE, 1, 30).expect("bots play").remove(0);
        let question = Question::new(vec![36, 108], 1.0, 1.0).unwrap();
        let mean = |predictor: &mut dyn fairpath_predict::Predictor| {
            let summary = Summary::of(&score(&play, predictor, &question).unwrap());
            summary.horizons.iter().map(|at| at.mean).sum::<f64>()
        };
        let (taught, line) = (Taught::shipped(), mean(&mut Linear));
        let networks = mean(&mut BankPredictor::new(taught.networks, play.top_speed()));
        let rules = mean(&mut BankPredictor::new(taught.rules, play.top_speed()));
        assert!(networks < 0.95 * line && rules < 0.95 * line, "{networks} {rules} {line}");
    }
}
