//! Every predictor as the page shows it: a description, and a line style of its own.

use fairpath_eval::candidates::all;

use crate::chart::Stroke;

pub(crate) const COUNT: usize = 18;

/// The predictors selected at first: those of Shi 2014, the best learning one, and the baseline.
const USUAL: [&str; 6] = ["line", "tdm", "hm", "ekb", "oaekb", "adaptive"];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RosterEntry {
    /// The evaluator's name for it.
    pub(crate) name: &'static str,
    /// What it does, in a few words.
    pub(crate) title: &'static str,
    /// A description for a newcomer.
    pub(crate) words: &'static str,
    /// The number of the colour, of six.
    pub(crate) colour: u32,
    /// The stroke, of three. No two predictors share colour and stroke, for colour-blind users.
    pub(crate) stroke: Stroke,
    /// Whether it learns from what it has seen. Other predictors can be asked about any tick.
    pub(crate) learns: bool,
}

/// All predictors, in the evaluator's order.
pub(crate) const ROSTER: [RosterEntry; COUNT] = {
    use Stroke::{Dashed, Dotted, Solid};
    const fn of(
        name: &'static str,
        title: &'static str,
        words: &'static str,
        colour: u32,
        stroke: Stroke,
    ) -> RosterEntry {
        RosterEntry { name, title, words, colour, stroke, learns: false }
    }
    const fn learner(shown: RosterEntry) -> RosterEntry {
        RosterEntry { learns: true, ..shown }
    }
    [
        of("line", "Straight on", "keeps going at the same velocity", 0, Solid),
        of(
            "tdm",
            "Constant acceleration",
            "constant acceleration: keeps speeding up, slowing down and turning as now",
            1,
            Solid,
        ),
        of(
            "is",
            "Attraction and repulsion",
            "keeps its speed; friends and weak enemies attract it, strong ones repel it",
            2,
            Dashed,
        ),
        of("hm", "Acceleration, then attraction", "tdm for 0.3 s, then is", 2, Solid),
        of("ekb", "Follow friends, fight or flee", "follows friends; fights or flees by strength", 3, Solid),
        of("oaekb", "Friends and foes, around walls", "ekb, but around walls", 4, Solid),
        of(
            "hybrid-ekb",
            "Friends and foes, or acceleration",
            "ekb, but tdm for players on a straight course",
            3,
            Dashed,
        ),
        of(
            "hybrid-oaekb",
            "The same, around walls",
            "oaekb, but tdm for players on a straight course",
            4,
            Dashed,
        ),
        of("constant-velocity", "Same velocity", "the line, as the input schemes define it", 0, Dashed),
        of("constant-acceleration", "Same acceleration", "tdm, as the input schemes define it", 1, Dashed),
        of(
            "constant-input-position",
            "Same keys",
            "keeps the same keys pressed, by the game's own rules",
            0,
            Dotted,
        ),
        of(
            "constant-input-velocity",
            "Keys change steadily",
            "keeps changing its input, by the game's own rules",
            1,
            Dotted,
        ),
        of(
            "constant-input-acceleration",
            "Keys change faster",
            "keeps changing the rate of that, too",
            2,
            Dotted,
        ),
        of(
            "fading-0.3",
            "Fading in 0.3 s",
            "slows down: the velocity fades with a time constant of 0.3 s",
            3,
            Dotted,
        ),
        of(
            "fading-1",
            "Fading in 1 s",
            "slows down: the velocity fades with a time constant of 1 s",
            4,
            Dotted,
        ),
        learner(of(
            "ridge",
            "Regression, learned here",
            "regression on the last second, learned during this match",
            5,
            Dashed,
        )),
        learner(of(
            "adaptive",
            "Adaptive, least error",
            "learns which of five guesses fits each player, for the least error",
            5,
            Solid,
        )),
        learner(of("adaptive-hits", "Adaptive, most hits", "the same, for the most hits", 5, Dotted)),
    ]
};

/// Returns the default selection: bit n is predictor n.
pub(crate) fn usual_mask() -> u32 {
    (0..).zip(all()).filter(|(_, one)| USUAL.contains(&one.name)).map(|(number, _)| 1u32 << number).sum()
}

/// Returns one line per predictor: name, description, colour, stroke, title.
pub(crate) fn in_words() -> String {
    let line = |shown: &RosterEntry| {
        let RosterEntry { name, title, words, colour, stroke, .. } = shown;
        format!("{name}\t{words}\t{colour}\t{}\t{title}", *stroke as u32)
    };
    ROSTER.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_on_it_and_no_two_look_alike() {
        let names: Vec<&str> = all().iter().map(|candidate| candidate.name).collect();
        assert_eq!(names, ROSTER.map(|shown| shown.name), "the evaluator has others");
        for (place, one) in ROSTER.iter().enumerate() {
            for other in &ROSTER[..place] {
                assert_ne!((one.colour, one.stroke), (other.colour, other.stroke), "{one:?}, {other:?}");
            }
        }
        assert_eq!(usual_mask().count_ones() as usize, USUAL.len());
    }
}
