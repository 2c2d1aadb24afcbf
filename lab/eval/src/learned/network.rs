use fairpath::random::Random;

use super::{Bank, HORIZONS, INPUTS, Lesson};

/// A bank of neural networks, one for each horizon, that predict the change of a player's velocity,
/// after McCoy 2007. Each has one hidden layer of twelve units.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Of each horizon: for each hidden unit its weights and bias, then for each output its own.
    pub(super) weights: Vec<[f64; WEIGHTS]>,
}

/// Small and quick to teach; other numbers were not tried.
const HIDDEN: usize = 12;
const PER_UNIT: usize = INPUTS + 1;
const PER_OUTPUT: usize = HIDDEN + 1;
pub(super) const WEIGHTS: usize = HIDDEN * PER_UNIT + 2 * PER_OUTPUT;

/// How often every lesson is repeated.
const EPOCHS: usize = 8;
/// Step of the first epoch; it falls to a tenth of that in the last.
const STEP: f64 = 0.02;

impl Default for Network {
    /// Untaught networks: no change.
    fn default() -> Self {
        Self { weights: vec![[0.0; WEIGHTS]; HORIZONS.len()] }
    }
}

impl Network {
    /// Teaches a network for each horizon, by stochastic gradient descent on the squared error.
    pub(super) fn taught(lessons: &[Vec<Lesson>], random: &Random) -> Self {
        let weights = lessons.iter().zip(0..).map(|(lessons, horizon)| teach(lessons, random.fork(horizon)));
        Self { weights: weights.collect() }
    }
}

impl Bank for Network {
    const NAME: &'static str = "neural networks";

    fn change(&self, horizon: usize, inputs: &[f64; INPUTS]) -> [f64; 2] {
        let weights = &self.weights[horizon];
        let hidden = hidden(weights, inputs);
        [0, 1].map(|output| conclude(weights, output, &hidden))
    }
}

fn teach(lessons: &[Lesson], mut random: Random) -> [f64; WEIGHTS] {
    let spread = 1.0 / (INPUTS as f64).sqrt();
    let mut weights = [0.0; WEIGHTS];
    for weight in &mut weights[..HIDDEN * PER_UNIT] {
        *weight = random.between(-spread, spread);
    }
    if lessons.is_empty() {
        return weights;
    }
    for epoch in 0..EPOCHS {
        let step = STEP * (1.0 - 0.9 * epoch as f64 / (EPOCHS - 1) as f64);
        for _ in 0..lessons.len() {
            learn(&mut weights, &lessons[random.below(lessons.len() as u64) as usize], step);
        }
    }
    weights
}

fn learn(weights: &mut [f64; WEIGHTS], lesson: &Lesson, step: f64) {
    let hidden = hidden(weights, &lesson.inputs);
    let mut blame = [0.0; HIDDEN];
    for output in 0..2 {
        let off = conclude(weights, output, &hidden) - lesson.change[output];
        let begin = HIDDEN * PER_UNIT + output * PER_OUTPUT;
        for (unit, weight) in weights[begin..begin + HIDDEN].iter_mut().enumerate() {
            blame[unit] += off * *weight;
            *weight -= step * off * hidden[unit];
        }
        weights[begin + HIDDEN] -= step * off;
    }
    for (unit, blame) in blame.into_iter().enumerate() {
        let slope = step * blame * (1.0 - hidden[unit] * hidden[unit]);
        let own = &mut weights[unit * PER_UNIT..(unit + 1) * PER_UNIT];
        for (weight, input) in own.iter_mut().zip(lesson.inputs) {
            *weight -= slope * input;
        }
        own[INPUTS] -= slope;
    }
}

fn hidden(weights: &[f64; WEIGHTS], inputs: &[f64; INPUTS]) -> [f64; HIDDEN] {
    std::array::from_fn(|unit| {
        let own = &weights[unit * PER_UNIT..(unit + 1) * PER_UNIT];
        let sum: f64 = own.iter().zip(inputs).map(|(weight, input)| weight * input).sum();
        libm::tanh(sum + own[INPUTS])
    })
}

fn conclude(weights: &[f64; WEIGHTS], output: usize, hidden: &[f64; HIDDEN]) -> f64 {
    let own = &weights[HIDDEN * PER_UNIT + output * PER_OUTPUT..][..PER_OUTPUT];
    own.iter().zip(hidden).map(|(weight, unit)| weight * unit).sum::<f64>() + own[HIDDEN]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bend that no straight line fits: the square of the first input.
    #[test]
    fn a_network_learns_what_no_line_fits() {
        let mut random = Random::from_seed(3);
        let mut lesson = || {
            let mut inputs = [0.0; INPUTS];
            inputs[0] = random.between(-1.0, 1.0);
            Lesson { inputs, change: [inputs[0] * inputs[0], -inputs[0]] }
        };
        let lessons: Vec<Lesson> = (0..4000).map(|_| lesson()).collect();
        let network = Network::taught(&[lessons], &Random::from_seed(7));
        let off = |x: f64| {
            let mut inputs = [0.0; INPUTS];
            inputs[0] = x;
            let [square, minus] = network.change(0, &inputs);
            (square - x * x).abs().max((minus + x).abs())
        };
        let worst = [-0.9, -0.5, 0.0, 0.3, 0.8].map(off).into_iter().fold(0.0, f64::max);
        assert!(worst < 0.12, "{worst}");
        let untaught = Network::default().change(0, &[1.0; INPUTS]);
        assert_eq!(untaught, [0.0, 0.0]);
    }
}
