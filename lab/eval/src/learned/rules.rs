use super::{Bank, HORIZONS, INPUTS, Lesson};

/// A fuzzy inference system (Takagi and Sugeno) with learned conclusions, after Hakiri 2010: "if
/// the player is slow and turns left, its velocity changes by this linear function of what is
/// seen".
///
/// A rule for each pair of a set of speeds and a set of turns, with Gaussian memberships. The
/// conclusions of all rules are learned together by least squares, and one width for all sets is
/// chosen on lessons that were kept back, where that of Hakiri 2010 learns every set by gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Width of all sets, as a multiple of the distance between their middles.
    pub(super) width: f64,
    /// Of each horizon: along and across, for each rule its linear function.
    pub(super) conclusions: Vec<[[f64; TERMS]; 2]>,
}

/// The middles of the sets of speeds (slow, medium, fast), in top speeds.
const SPEEDS: [f64; 3] = [0.0, 0.5, 1.0];
/// And of turns (right, straight, left): how far the mean velocity of the last half second lies
/// across the present one, in top speeds. The player turns to the other side.
const TURNS: [f64; 3] = [-0.5, 0.0, 0.5];
/// The inputs that conclusions are made of: all but the other players, and a constant.
const LINEAR: usize = INPUTS - 4 + 1;
const RULES: usize = SPEEDS.len() * TURNS.len();
pub(super) const TERMS: usize = RULES * LINEAR;
/// The input that measures the turn: across, over the third span.
const TURN: usize = 1 + 2 + 2 * 2 + 1;
const WIDTHS: [f64; 3] = [0.3, 0.5, 1.0];
/// The pull of conclusions towards no change, in lessons.
const PULL: f64 = 1.0;

impl Default for Rules {
    /// Untaught rules: no change.
    fn default() -> Self {
        Self { width: 0.5, conclusions: vec![[[0.0; TERMS]; 2]; HORIZONS.len()] }
    }
}

impl Rules {
    /// Teaches conclusions for each horizon, with the width that is best on every fourth lesson.
    pub(super) fn taught(lessons: &[Vec<Lesson>]) -> Self {
        let part = |kept_back: bool| -> Vec<Vec<Lesson>> {
            let is_meant = |number: usize| (number % 4 == 3) == kept_back;
            let of = |lessons: &Vec<Lesson>| {
                lessons.iter().enumerate().filter(|(n, _)| is_meant(*n)).map(|(_, lesson)| *lesson).collect()
            };
            lessons.iter().map(of).collect()
        };
        let (most, kept_back) = (part(false), part(true));
        let off = |width: f64| {
            let rules = Self::with_width(width, &most);
            let of = |(horizon, lessons): (usize, &Vec<Lesson>)| -> f64 {
                let off = |lesson: &Lesson| {
                    let change = rules.change(horizon, &lesson.inputs);
                    let off = [change[0] - lesson.change[0], change[1] - lesson.change[1]];
                    off[0] * off[0] + off[1] * off[1]
                };
                lessons.iter().map(off).sum()
            };
            kept_back.iter().enumerate().map(of).sum::<f64>()
        };
        let best = WIDTHS.into_iter().min_by(|one, other| off(*one).total_cmp(&off(*other)));
        Self::with_width(best.unwrap_or(WIDTHS[1]), lessons)
    }

    fn with_width(width: f64, lessons: &[Vec<Lesson>]) -> Self {
        Self { width, conclusions: lessons.iter().map(|lessons| conclude(width, lessons)).collect() }
    }
}

impl Bank for Rules {
    const NAME: &'static str = "fuzzy rules";

    fn change(&self, horizon: usize, inputs: &[f64; INPUTS]) -> [f64; 2] {
        let terms = terms(self.width, inputs);
        let of = |conclusions: &[f64; TERMS]| -> f64 {
            conclusions.iter().zip(&terms).map(|(weight, term)| weight * term).sum()
        };
        [of(&self.conclusions[horizon][0]), of(&self.conclusions[horizon][1])]
    }
}

/// For each rule how far it applies, times each input of its conclusion.
fn terms(width: f64, inputs: &[f64; INPUTS]) -> [f64; TERMS] {
    let is_in = |value: f64, middle: f64| {
        let off = (value - middle) / (0.5 * width);
        libm::exp(-0.5 * off * off)
    };
    let mut applies = [0.0; RULES];
    for (number, applies) in applies.iter_mut().enumerate() {
        let (speed, turn) = (SPEEDS[number / TURNS.len()], TURNS[number % TURNS.len()]);
        *applies = is_in(inputs[0].clamp(0.0, 1.0), speed) * is_in(inputs[TURN].clamp(-0.5, 0.5), turn);
    }
    let sum: f64 = applies.iter().sum();
    let mut terms = [0.0; TERMS];
    for (rule, applies) in applies.iter().enumerate() {
        let share = applies / sum;
        let own = &mut terms[rule * LINEAR..(rule + 1) * LINEAR];
        own[0] = share;
        for (term, input) in own[1..].iter_mut().zip(inputs) {
            *term = share * input;
        }
    }
    terms
}

/// Least squares for both axes: solves (Σ t·tᵀ + pull)·w = Σ t·y by Cholesky.
fn conclude(width: f64, lessons: &[Lesson]) -> [[f64; TERMS]; 2] {
    let mut moments = vec![[0.0; TERMS]; TERMS];
    let mut products = [[0.0; TERMS]; 2];
    for lesson in lessons {
        let terms = terms(width, &lesson.inputs);
        for (row, one) in terms.iter().enumerate().filter(|(_, one)| **one != 0.0) {
            for (moment, other) in moments[row][..=row].iter_mut().zip(&terms) {
                *moment += one * other;
            }
            for (products, change) in products.iter_mut().zip(lesson.change) {
                products[row] += one * change;
            }
        }
    }
    for (row, moments) in moments.iter_mut().enumerate() {
        moments[row] += PULL;
    }
    for column in 0..TERMS {
        for row in column..TERMS {
            let (upper, lower) = (&moments[column][..column], &moments[row][..column]);
            let rest = moments[row][column] - upper.iter().zip(lower).map(|(a, b)| a * b).sum::<f64>();
            moments[row][column] = if row == column {
                rest.max(f64::MIN_POSITIVE).sqrt()
            } else {
                rest / moments[column][column]
            };
        }
    }
    products.map(|mut solution| {
        for row in 0..TERMS {
            let known: f64 = moments[row][..row].iter().zip(&solution).map(|(a, b)| a * b).sum();
            solution[row] = (solution[row] - known) / moments[row][row];
        }
        for row in (0..TERMS).rev() {
            let known: f64 = (row + 1..TERMS).map(|below| moments[below][row] * solution[below]).sum();
            solution[row] = (solution[row] - known) / moments[row][row];
        }
        solution
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath::random::Random;

    /// Two straight laws, one for slow players and one for fast ones.
    #[test]
    fn rules_learn_one_law_for_the_slow_and_one_for_the_fast() {
        let law = |inputs: &[f64; INPUTS]| {
            let is_fast = inputs[0] > 0.5;
            [if is_fast { -0.5 * inputs[1] } else { 0.8 * inputs[1] }, 0.1]
        };
        let mut random = Random::from_seed(5);
        let mut lesson = |speed: f64| {
            let mut inputs = [0.0; INPUTS];
            inputs[0] = speed;
            inputs[1] = random.between(-1.0, 1.0);
            Lesson { inputs, change: law(&inputs) }
        };
        let lessons: Vec<Lesson> = (0..2000).map(|n| lesson(if n % 2 == 0 { 0.05 } else { 0.95 })).collect();
        let rules = Rules::taught(&[lessons]);
        for speed in [0.05, 0.95] {
            let mut inputs = [0.0; INPUTS];
            (inputs[0], inputs[1]) = (speed, 0.7);
            let (said, wanted) = (rules.change(0, &inputs), law(&inputs));
            let off = (said[0] - wanted[0]).abs().max((said[1] - wanted[1]).abs());
            assert!(off < 0.02, "{speed}: {said:?} instead of {wanted:?}");
        }
        assert_eq!(Rules::default().change(0, &[1.0; INPUTS]), [0.0, 0.0]);
    }

    #[test]
    fn the_turn_is_measured_across_over_half_a_second() {
        let mut inputs = [0.0; INPUTS];
        inputs[TURN] = 0.5;
        let left = terms(0.3, &inputs);
        // The rule "slow and left" is the third.
        assert!(left[2 * LINEAR] > 0.99, "{:?}", left[2 * LINEAR]);
    }
}
