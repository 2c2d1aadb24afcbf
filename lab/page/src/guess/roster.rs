//! Every predictor there is, as the page shows it: in plain words, and with a line of its own.

use fairpath_eval::candidates::all;

use crate::chart::Stroke;

/// How many there are.
pub(crate) const COUNT: usize = 18;

/// Who is asked at first: Shi 2014's, the best that learns, and the line that all are compared
/// with.
const USUAL: [&str; 6] = ["line", "tdm", "hm", "ekb", "oaekb", "adaptive"];

/// One predictor on the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RosterEntry {
    /// As the evaluator calls it.
    pub(crate) name: &'static str,
    /// What it expects of players, for somebody who has never heard of it.
    pub(crate) words: &'static str,
    /// Which of the page's six colours.
    pub(crate) colour: u32,
    /// And which of three strokes: together no two are alike, whatever somebody's eyes can tell
    /// apart.
    pub(crate) stroke: Stroke,
    /// Whether it remembers what it has seen: others can be asked about any moment.
    pub(crate) learns: bool,
}

/// All of them, in the evaluator's order.
pub(crate) const ROSTER: [RosterEntry; COUNT] = {
    use Stroke::{Dashed, Dotted, Solid};
    const fn of(name: &'static str, words: &'static str, colour: u32, stroke: Stroke) -> RosterEntry {
        RosterEntry { name, words, colour, stroke, learns: false }
    }
    const fn learner(shown: RosterEntry) -> RosterEntry {
        RosterEntry { learns: true, ..shown }
    }
    [
        of("line", "keeps going at the same velocity", 0, Solid),
        of("tdm", "keeps speeding up, slowing down and turning as now", 1, Solid),
        of("is", "keeps its speed, drawn to friends and weak foes, away from strong ones", 2, Dashed),
        of("hm", "tdm for 0.3 s, then is", 2, Solid),
        of("ekb", "follows friends, and fights as strength allows", 3, Solid),
        of("oaekb", "ekb, but around walls", 4, Solid),
        of("hybrid-ekb", "ekb, but tdm for whoever has kept a straight course", 3, Dashed),
        of("hybrid-oaekb", "oaekb, but tdm for whoever has kept a straight course", 4, Dashed),
        of("constant-velocity", "the line, as those who compare input schemes count it", 0, Dashed),
        of("constant-acceleration", "tdm, as those who compare input schemes count it", 1, Dashed),
        of("constant-input-position", "keeps pressing the same keys, by the game's own rules", 0, Dotted),
        of("constant-input-velocity", "goes on changing what is pressed, by the game's own rules", 1, Dotted),
        of("constant-input-acceleration", "goes on changing that change, too", 2, Dotted),
        of("fading-0.3", "comes to rest: the velocity fades within 0.3 s", 3, Dotted),
        of("fading-1", "comes to rest: the velocity fades within 1 s", 4, Dotted),
        learner(of("ridge", "weighs the last second as this match has taught it", 5, Dashed)),
        learner(of(
            "adaptive",
            "ours: learns which of five guesses fits whom, for the least error",
            5,
            Solid,
        )),
        learner(of("adaptive-hits", "ours: the same, for the most hits", 5, Dotted)),
    ]
};

/// Who is asked, as a sum of powers of two: bit number n is predictor number n.
pub(crate) fn usual_mask() -> u32 {
    (0..).zip(all()).filter(|(_, one)| USUAL.contains(&one.name)).map(|(number, _)| 1u32 << number).sum()
}

/// One line for each: name, words, colour, stroke.
pub(crate) fn in_words() -> String {
    let line = |shown: &RosterEntry| {
        let RosterEntry { name, words, colour, stroke, .. } = shown;
        format!("{name}\t{words}\t{colour}\t{}", *stroke as u32)
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
