//! The evaluator for recordings that are dropped onto the page: `fairpath lab eval` in a browser.

use fairpath_eval::budget::Budget;
use fairpath_eval::candidates::{MatchSetup, all};
use fairpath_eval::evaluate::{Question, Summary, score};
use fairpath_eval::play::Play;
use fairpath_eval::recording::{self, Problem};

use crate::guess::HORIZONS;
use crate::scene::File;

/// What a recording may take in the page, beside its text, and how much text there may be. 192 MiB:
/// 25 minutes of ten tanks at 60 Hz, or of eight players on a telephone.
const MEMORY_BYTES_MAX: u64 = 192 << 20;
const WORK_BYTES_MAX: u64 = 256 << 20;

/// A recording, and the question that predictors answer about it.
pub struct RecordingEvaluation {
    play: Play,
    stage: MatchSetup,
    question: Question,
}

impl RecordingEvaluation {
    /// Reads a recording and its breaks. The error says what is wrong with the files.
    pub fn of(file: File<'_>, breaks: Option<File<'_>>) -> Result<Self, String> {
        let play = read_play(file, breaks)?;
        let stage = MatchSetup::of(&play);
        let question = Question::new(HORIZONS.to_vec(), stage.hit_radius(), stage.hit_radius())
            .map_err(|_| nobody_moves(file.name))?;
        Ok(Self { play, stage, question })
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        all().iter().map(|candidate| candidate.name)
    }

    /// Returns the number of players, the seconds in which they move together, and the hit radius.
    pub fn size(&self) -> [f64; 3] {
        [self.play.players.len() as f64, self.play.secs(), self.stage.hit_radius()]
    }

    pub fn unit(&self) -> String {
        self.play.unit.to_string()
    }

    /// Returns the score of a predictor: the mean error at each horizon, the share of hits in per
    /// cent, packets per player and second, then the mean error of each scored player at the last
    /// horizon. `None` if it needs more data.
    pub fn score(&self, number: usize) -> Option<Vec<f64>> {
        let mut predictor = all().get(number)?.make(&self.stage);
        let players = score(&self.play, predictor.as_mut(), &self.question).ok()?;
        let summary = Summary::of(&players);
        let means = summary.horizons.iter().map(|horizon| horizon.mean);
        let players = summary.horizons.iter().last().into_iter().flat_map(|last| &last.player_means);
        let players = players.copied().filter(|mean| mean.is_finite());
        Some(means.chain([summary.hits_total, summary.packets_per_sec]).chain(players).collect())
    }
}

/// Reads a recording for predictors. The error says what is wrong, where, and how to fix it.
pub(crate) fn read_play(file: File<'_>, breaks: Option<File<'_>>) -> Result<Play, String> {
    let budget = Budget::new(MEMORY_BYTES_MAX, WORK_BYTES_MAX);
    let recording = match recording::read_within(file, breaks, &budget) {
        // A recording of a watcher, or of a server's last minute: it knows only where things were
        // placed.
        Err(error) if error.problem == Problem::NoRows => recording::read_placed_within(file, &budget),
        read => read,
    };
    let recording = recording.map_err(|error| error.to_string())?;
    Play::check(&recording, &budget).map_err(|error| format!("{}: {error}", file.name))?;
    let play = Play::from_recording(&recording.without_height());
    // Half a second of motion sets the scale of all numbers.
    if play.top_speed() > 0.0 { Ok(play) } else { Err(nobody_moves(file.name)) }
}

fn nobody_moves(name: &str) -> String {
    format!("{name}: no player moves for half a second without a break; record some motion first")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file<'a>(name: &'a str, text: &'a str) -> File<'a> {
        File { name, bytes: text.as_bytes() }
    }

    #[test]
    fn it_scores_a_recording_and_refuses_nonsense() {
        let mut rows = String::from("t,entity,team,x,y\n");
        for sample in 0..400 {
            let secs = f64::from(sample) * 0.05;
            rows += &format!("{secs},ann,1,{},0\n", 4.0 * secs);
        }
        let evaluation = RecordingEvaluation::of(file("walk.csv", &rows), None).expect("a recording");
        let line = evaluation.score(0).expect("a line needs nothing");
        assert!(line[..HORIZONS.len()].iter().all(|mean| *mean < 0.05), "a line predicts a line: {line:?}");
        let oaekb = RecordingEvaluation::names().position(|name| name == "oaekb").expect("it is there");
        assert_eq!(evaluation.score(oaekb), None, "the recording has no walls");
        let rows: String =
            (0..40).map(|sample| format!("{},ann,1,0,0\n", f64::from(sample) * 0.05)).collect();
        let still = format!("t,entity,team,x,y\n{rows}");
        let placed: String = (0..400)
            .map(|sample| {
                let secs = f64::from(sample) * 0.05;
                let row = |viewer| {
                    format!("{},7,0,placed,{viewer},{},0,0,4,0,0,1,0,0,0,0\n", sample * 50_000, 4.0 * secs)
                };
                row(0) + &row(3)
            })
            .collect();
        let header = "t_us,entity,life,kind,viewer,x,y,z,vx,vy,vz,qw,qx,qy,qz,break\n";
        let seen = RecordingEvaluation::of(file("flight.csv", &format!("{header}{placed}")), None);
        assert_eq!(seen.expect("the first viewer's").size()[0], 1.0);
        for (text, said) in [
            ("hello", "unknown header"),
            ("t,entity,team,x,y\n0,ann,1,zero,0\n", "row 2, column x: `zero` is not a number"),
            (&still, "no player moves"),
        ] {
            let wrong = RecordingEvaluation::of(file("bad.csv", text), None).err().expect("it is");
            assert!(wrong.starts_with("bad.csv: ") && wrong.contains(said), "{wrong}");
        }
    }
}
