//! Gauss–Legendre quadrature with twelve points.

pub(super) const POINTS: usize = 2 * LANES;
/// Number of points evaluated side by side: half, because all twelve would not fit into registers.
pub(super) const LANES: usize = 6;

/// The points in (0, 1): the zeros of the twelfth Legendre polynomial, by Newton's method in 50
/// digits. The other six are their mirror images. The tests check the property that defines them.
const PLACES: [f64; LANES] = [
    0.125_233_408_511_468_9,
    0.367_831_498_998_180_2,
    0.587_317_954_286_617_5,
    0.769_902_674_194_304_7,
    0.904_117_256_370_474_9,
    0.981_560_634_246_719_2,
];
/// The weight of each point and of its mirror image.
const WEIGHTS: [f64; LANES] = [
    0.249_147_045_813_402_77,
    0.233_492_536_538_354_8,
    0.203_167_426_723_065_92,
    0.160_078_328_543_346_22,
    0.106_939_325_995_318_43,
    0.047_175_336_386_511_83,
];

/// The mean of `f` over [−1, 1]; exact for polynomials up to degree 23.
pub(super) fn mean(f: impl Fn([f64; LANES]) -> [f64; LANES]) -> f64 {
    let (left, right) = (f(PLACES.map(|x| -x)), f(PLACES));
    let mut sum = 0.0;
    for lane in 0..LANES {
        sum += WEIGHTS[lane] * (left[lane] + right[lane]);
    }
    0.5 * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_up_to_23_are_exact() {
        for power in 0..24 {
            let truth = if power % 2 == 0 { 1.0 / f64::from(power + 1) } else { 0.0 };
            let mean = mean(|places| places.map(|x| (0..power).fold(1.0, |product, _| product * x)));
            assert!((mean - truth).abs() < 3e-16, "x^{power}: {mean} instead of {truth}");
        }
    }
}
