use super::{Body, Known, Missing, Predictor, Reason, TICK_SECS, TICKS_AHEAD_MAX};
use fairpath::vector::{Vec2, Vector};

/// Linear ridge regression on the last second: the displacement is a weighted sum of mean
/// velocities over the last few ticks, the last few more, and so on.
///
/// There is one set of weights per horizon (6 to 300 ticks), shared by all players and both axes,
/// so a turned scene gives the turned answer. Between horizons the path is straight.
///
/// Weights are learned during the match through [`learn`](Predictor::learn), from each tick as soon
/// as its outcome is known; no weights are shipped. Regularisation pulls towards a straight line,
/// so a new predictor is [`Linear`](super::Linear). To test it on recordings it has not learned
/// from, let it learn from others and [`freeze`](Self::freeze) it.
#[derive(Clone, Debug)]
pub struct Ridge {
    horizons: [Horizon; HORIZONS.len()],
    subjects: Vec<Past>,
    ticks_learned: u32,
    is_frozen: bool,
}

/// Ticks ahead for which there are weights: those of Shi 2014, some nearer and some farther.
const HORIZONS: [u32; 12] = [6, 12, 18, 36, 54, 72, 90, 108, 126, 180, 240, TICKS_AHEAD_MAX];

/// Ticks over which velocities are averaged, besides the newest: up to a second.
const SPANS: [usize; 6] = [2, 5, 10, 20, 40, 60];

/// The newest velocity and one mean per span.
const FEATURES: usize = 1 + SPANS.len();

/// Strength of the pull towards the line, in samples of pure noise: one second of ten players.
/// Less, and the first minute is erratic; more, and learning takes minutes.
const PULL_SAMPLES: f64 = 600.0;

/// Learned ticks between two solutions, of a few microseconds each. One second changes little.
const TICKS_PER_SOLUTION: u32 = 60;

/// Ticks remembered per subject: until the farthest horizon has passed.
const PAST_LEN: usize = TICKS_AHEAD_MAX as usize + 1;

/// Maximum number of subjects to learn from. Bounds the memory.
const SUBJECTS_MAX: usize = 1 << 10;

impl Default for Ridge {
    fn default() -> Self {
        Self {
            horizons: HORIZONS.map(Horizon::new),
            subjects: Vec::new(),
            ticks_learned: 0,
            is_frozen: false,
        }
    }
}

impl Ridge {
    /// Stops learning for good.
    pub fn freeze(&mut self) {
        self.solve();
        self.is_frozen = true;
    }

    fn solve(&mut self) {
        for horizon in &mut self.horizons {
            horizon.solve();
        }
    }
}

impl Predictor for Ridge {
    fn name(&self) -> &str {
        "ridge"
    }

    fn learn(&mut self, subject: usize, known: &Known<'_>) {
        let newest = known.newest();
        if self.is_frozen || subject >= SUBJECTS_MAX || !newest.is_finite() {
            return;
        }
        if subject >= self.subjects.len() {
            self.subjects.resize_with(subject + 1, Past::default);
        }
        let past = &mut self.subjects[subject];
        past.go_on(known.history.len());
        let now = Moment { position: newest.position, features: features(known.history) };
        past.push(now);
        for horizon in &mut self.horizons {
            if let Some(then) = past.ago(horizon.ticks as usize) {
                horizon.learn(then, now.position);
            }
        }
        self.ticks_learned += 1;
        if self.ticks_learned == TICKS_PER_SOLUTION {
            self.ticks_learned = 0;
            self.solve();
        }
    }

    fn predict(
        &mut self,
        _subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        let start = known.newest().position;
        let features = features(known.history);
        let mut horizons = self.horizons.iter();
        let (mut near, mut far) = ((0, Vec2::ZERO), (0, Vec2::ZERO));
        for (tick, position) in ticks.iter().zip(positions) {
            while far.0 < *tick {
                let Some(horizon) = horizons.next() else { break };
                (near, far) = (far, (horizon.ticks, horizon.displacement(&features)));
            }
            *position = start + between(near, far, *tick);
        }
        Ok(())
    }

    fn reason(&mut self, _subject: usize, _known: &Known<'_>, ticks: u32) -> Reason {
        let after = HORIZONS.partition_point(|horizon| *horizon < ticks).min(HORIZONS.len() - 1);
        Reason::Regression { lessons: self.horizons[after].samples as u64 }
    }
}

/// Returns the displacement at `tick`, interpolated linearly between two horizons.
fn between(near: (u32, Vec2), far: (u32, Vec2), tick: u32) -> Vec2 {
    if far.0 == near.0 {
        return near.1;
    }
    let share = f64::from(tick.saturating_sub(near.0)) / f64::from(far.0 - near.0);
    near.1 * (1.0 - share) + far.1 * share
}

/// Returns the newest velocity and the mean velocities over [`SPANS`], or over the whole history.
fn features(history: &[Body]) -> [Vec2; FEATURES] {
    let Some((newest, past)) = history.split_last() else { return [Vec2::ZERO; FEATURES] };
    let mut features = [newest.velocity; FEATURES];
    for (feature, span) in features[1..].iter_mut().zip(SPANS) {
        let span = span.min(past.len());
        if span > 0 {
            let before = past[past.len() - span].position;
            *feature = (newest.position - before) * (1.0 / (span as f64 * TICK_SECS));
        }
    }
    features
}

/// A tick of a subject, as it was when it was the newest.
#[derive(Clone, Copy, Debug)]
struct Moment {
    position: Vec2,
    features: [Vec2; FEATURES],
}

/// The last ticks of one subject, in a ring.
#[derive(Clone, Debug, Default)]
struct Past {
    ring: Vec<Moment>,
    /// Index of the next write.
    next: usize,
    /// Number of entries without a break.
    len: usize,
    /// Length of the history at the last call.
    history_len: usize,
}

impl Past {
    /// Starts again if the history did. A history only grows, or keeps its length, until it breaks.
    fn go_on(&mut self, history_len: usize) {
        if history_len <= 1 || history_len < self.history_len {
            self.len = 0;
        }
        self.history_len = history_len;
    }

    fn push(&mut self, moment: Moment) {
        if self.ring.len() < PAST_LEN {
            self.ring.reserve_exact(PAST_LEN - self.ring.len());
            self.ring.resize(PAST_LEN, moment);
        }
        self.ring[self.next] = moment;
        self.next = (self.next + 1) % PAST_LEN;
        self.len = (self.len + 1).min(PAST_LEN);
    }

    /// Returns the entry `ticks` before the newest, if it belongs to the same stretch.
    fn ago(&self, ticks: usize) -> Option<&Moment> {
        (ticks < self.len).then(|| &self.ring[(self.next + PAST_LEN - 1 - ticks) % PAST_LEN])
    }
}

/// The regression for one horizon: Σ f·fᵀ, Σ f·y, and the resulting weights. y is the mean velocity
/// up to the horizon minus the newest velocity.
#[derive(Clone, Copy, Debug)]
struct Horizon {
    ticks: u32,
    samples: f64,
    moments: [[f64; FEATURES]; FEATURES],
    products: [f64; FEATURES],
    /// Σ y·y.
    target_energy: f64,
    weights: [f64; FEATURES],
}

impl Horizon {
    const fn new(ticks: u32) -> Self {
        Self {
            ticks,
            samples: 0.0,
            moments: [[0.0; FEATURES]; FEATURES],
            products: [0.0; FEATURES],
            target_energy: 0.0,
            weights: [0.0; FEATURES],
        }
    }

    fn secs(&self) -> f64 {
        f64::from(self.ticks) * TICK_SECS
    }

    fn learn(&mut self, then: &Moment, position: Vec2) {
        let features = &then.features;
        let target = (position - then.position) * (1.0 / self.secs()) - features[0];
        self.samples += 1.0;
        self.target_energy += target.length_squared();
        for row in 0..FEATURES {
            self.products[row] += features[row].dot(target);
            for column in 0..=row {
                self.moments[row][column] += features[row].dot(features[column]);
            }
        }
    }

    fn displacement(&self, features: &[Vec2; FEATURES]) -> Vec2 {
        let mut velocity = features[0];
        for (feature, weight) in features.iter().zip(&self.weights) {
            velocity += *feature * *weight;
        }
        velocity * self.secs()
    }

    /// The pull is scaled by the features or the targets, whichever are larger. Otherwise players
    /// that stand still before a kick-off would teach that the slightest motion means a sprint.
    fn solve(&mut self) {
        let energy: f64 = (0..FEATURES).map(|row| self.moments[row][row]).sum();
        if energy <= 0.0 || !energy.is_finite() {
            return;
        }
        let pull = PULL_SAMPLES * (energy / FEATURES as f64).max(self.target_energy) / self.samples;
        let mut matrix = self.moments;
        for (row, line) in matrix.iter_mut().enumerate() {
            line[row] += pull;
        }
        if let Some(weights) = solve_symmetric(matrix, self.products) {
            self.weights = weights;
        }
    }
}

/// Solves a positive definite system (lower half) by Cholesky; `None` if rounding errors dominate.
fn solve_symmetric(
    mut matrix: [[f64; FEATURES]; FEATURES],
    mut right: [f64; FEATURES],
) -> Option<[f64; FEATURES]> {
    for row in 0..FEATURES {
        for column in 0..=row {
            let known: f64 = (0..column).map(|k| matrix[row][k] * matrix[column][k]).sum();
            let rest = matrix[row][column] - known;
            if column < row {
                matrix[row][column] = rest / matrix[column][column];
            } else if rest > 0.0 {
                matrix[row][row] = rest.sqrt();
            } else {
                return None;
            }
        }
        let known: f64 = (0..row).map(|k| matrix[row][k] * right[k]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    for row in (0..FEATURES).rev() {
        let known: f64 = (row + 1..FEATURES).map(|k| matrix[k][row] * right[k]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right.iter().all(|weight| weight.is_finite()).then_some(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath::random::Random;

    #[test]
    fn a_system_is_solved() {
        let mut random = Random::from_seed(5);
        let rows: Vec<[f64; FEATURES]> =
            (0..20).map(|_| std::array::from_fn(|_| random.between(-1.0, 1.0))).collect();
        let expected: [f64; FEATURES] = std::array::from_fn(|_| random.between(-2.0, 2.0));
        let mut matrix = [[0.0; FEATURES]; FEATURES];
        let mut right = [0.0; FEATURES];
        for row in &rows {
            let answer: f64 = row.iter().zip(&expected).map(|(one, other)| one * other).sum();
            for i in 0..FEATURES {
                right[i] += row[i] * answer;
                for j in 0..=i {
                    matrix[i][j] += row[i] * row[j];
                }
            }
        }
        let solved = solve_symmetric(matrix, right).expect("definite");
        for (one, other) in solved.iter().zip(&expected) {
            assert!((one - other).abs() < 1e-9, "{solved:?} is not {expected:?}");
        }
        assert_eq!(solve_symmetric([[0.0; FEATURES]; FEATURES], right), None);
    }

    #[test]
    fn who_stands_before_a_sprint_teaches_no_miracles() {
        let mut horizon = Horizon::new(60);
        let barely = [Vec2::new(1e-9, 0.0); FEATURES];
        for _ in 0..600 {
            horizon.learn(&Moment { position: Vec2::ZERO, features: barely }, Vec2::new(5.0, 0.0));
        }
        horizon.solve();
        let running = horizon.displacement(&[Vec2::new(10.0, 0.0); FEATURES]);
        assert!(running.distance(Vec2::new(10.0, 0.0)) < 1.0, "{running:?}");
    }

    #[test]
    fn a_break_is_never_learned_across() {
        let at = |x: f64| Moment { position: Vec2::new(x, 0.0), features: [Vec2::ZERO; FEATURES] };
        let mut past = Past::default();
        for tick in 0..400 {
            past.go_on(1 + tick);
            past.push(at(tick as f64));
        }
        assert_eq!(past.ago(300).map(|then| then.position.x), Some(99.0));
        past.go_on(1);
        past.push(at(1000.0));
        past.go_on(2);
        past.push(at(1001.0));
        assert_eq!(past.ago(1).map(|then| then.position.x), Some(1000.0));
        assert!(past.ago(2).is_none());
    }
}
