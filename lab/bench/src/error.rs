//! The error integral, which a scheduler computes for every receiver at every trigger.

use fairpath::State;
use fairpath::error::{self, Path};
use fairpath::motion::MotionKind;
use fairpath::random::Random;
use fairpath::time::SharedInstant;
use fairpath::vector::{Vec2, Vector};

use crate::measure::{BenchTable, Contender};

const PAIRS: usize = 256;

pub(crate) fn bench() -> BenchTable {
    let linear = pairs(MotionKind::Linear, MotionKind::Linear);
    let mixed = pairs(MotionKind::Circular, MotionKind::Linear);
    let circular = pairs(MotionKind::Circular, MotionKind::Circular);
    let (from, to) = (SharedInstant::ZERO, SharedInstant::from_millis(500));
    let sum = |pairs: &[(Path<Vec2>, Path<Vec2>)]| -> f64 {
        pairs.iter().map(|(one, other)| error::accumulated(one, other, from, to).value).sum()
    };
    let inverse = |pairs: &[(Path<Vec2>, Path<Vec2>)]| -> f64 {
        let far = SharedInstant::from_millis(5_000);
        pairs
            .iter()
            .filter_map(|(one, other)| error::when_reaches(one, other, from, 1.0, far))
            .map(SharedInstant::as_secs_f64)
            .sum()
    };
    BenchTable::measure(
        "Export error: distance between two paths, integrated over half a second",
        vec![
            Contender::new("twelve samples of the distance (no bound, 1e-3 off at a kink)", PAIRS, || {
                linear.iter().map(|(one, other)| sampled(one, other)).sum()
            }),
            Contender::new("exact, two lines", PAIRS, || sum(&linear)),
            Contender::new("to 1e-9, circle and line", PAIRS, || sum(&mixed)),
            Contender::new("to 1e-9, two circles", PAIRS, || sum(&circular)),
            Contender::new("when does it reach 1, two lines", PAIRS, || inverse(&linear)),
            Contender::new("when does it reach 1, two circles", PAIRS, || inverse(&circular)),
        ],
    )
}

/// Pairs of paths just after a trigger: close together, with different velocities.
fn pairs(one: MotionKind, other: MotionKind) -> Vec<(Path<Vec2>, Path<Vec2>)> {
    let mut random = Random::from_seed(3);
    let mut path = |kind: MotionKind| {
        let mut draw = |limit: f64| random.between(-limit, limit);
        let state = State::moving(Vec2::new(draw(0.5), draw(0.5)), Vec2::new(draw(25.0), draw(25.0)));
        Path::new(kind.from_state(&state.with_heading(draw(3.0), draw(0.8))), SharedInstant::ZERO)
    };
    (0..PAIRS).map(|_| (path(one), path(other))).collect()
}

fn sampled(one: &Path<Vec2>, other: &Path<Vec2>) -> f64 {
    let distance = |sample: i64| {
        let at = SharedInstant::from_micros((2 * sample + 1) * 500_000 / 24);
        one.position_at(at).distance(other.position_at(at))
    };
    (0..12).map(distance).sum::<f64>() * (0.5 / 12.0)
}
