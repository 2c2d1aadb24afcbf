//! Gauss–Legendre quadrature with twelve points.

/// How many places the rule looks at.
pub(super) const POINTS: usize = 2 * NODES.len();

/// Places in (0, 1), and what each of them and its mirror image weigh. The zeros of the twelfth Legendre polynomial
/// by Newton's method in 50 digits; the tests check what defines them.
const NODES: [(f64, f64); 6] = [
    (0.125_233_408_511_468_9, 0.249_147_045_813_402_77),
    (0.367_831_498_998_180_2, 0.233_492_536_538_354_8),
    (0.587_317_954_286_617_5, 0.203_167_426_723_065_92),
    (0.769_902_674_194_304_7, 0.160_078_328_543_346_22),
    (0.904_117_256_370_474_9, 0.106_939_325_995_318_43),
    (0.981_560_634_246_719_2, 0.047_175_336_386_511_83),
];

/// The mean of `f` over [−1, 1]; exact for polynomials up to degree 23.
pub(super) fn mean(f: impl Fn(f64) -> f64) -> f64 {
    0.5 * NODES.iter().map(|&(x, weight)| weight * (f(-x) + f(x))).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_up_to_23_are_exact() {
        for power in 0..24 {
            let truth = if power % 2 == 0 { 1.0 / f64::from(power + 1) } else { 0.0 };
            let mean = mean(|x| (0..power).fold(1.0, |product, _| product * x));
            assert!((mean - truth).abs() < 3e-16, "x^{power}: {mean} instead of {truth}");
        }
    }
}
