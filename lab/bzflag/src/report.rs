//! From the runs of all arms to the numbers that are claimed, with intervals.

use std::fmt::Write as _;

use crate::run::ArmResult;

/// The arms that are compared, in the order in which each run plays them.
pub const ARMS: [&str; 4] = ["unmodified", "restated", "every third", "error-index"];
/// The client next to the server. All others are far.
const NEAR: usize = 0;

/// The results of one arm, run by run.
#[derive(Clone, Debug, Default)]
pub struct ArmRuns {
    /// One of [`ARMS`].
    pub name: String,
    /// A run each.
    pub runs: Vec<ArmResult>,
}

/// A number that was measured in several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean of the runs.
    pub mean: f64,
    /// Half the width of the 95 % interval by Student's t; `None` for a single run.
    pub half_width: Option<f64>,
}

/// Student's t for 95 % on both sides, by degrees of freedom from 1 on.
const STUDENT: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

impl Estimate {
    /// Returns the estimate from one number of each run; `None` without runs.
    pub fn of(numbers: &[f64]) -> Option<Self> {
        let count = numbers.len() as f64;
        if numbers.is_empty() {
            return None;
        }
        let mean = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|number| (number - mean) * (number - mean)).sum();
        let half_width = (numbers.len() > 1).then(|| {
            let student = STUDENT.get(numbers.len() - 2).copied().unwrap_or(1.96);
            student * (squares / (count - 1.0) / count).sqrt()
        });
        Some(Self { mean, half_width })
    }
}

impl std::fmt::Display for Estimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.half_width {
            Some(half_width) => write!(f, "{:.2} ± {half_width:.2}", self.mean),
            None => write!(f, "{:.2}", self.mean),
        }
    }
}

/// A number with the limit that it must keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// What is claimed.
    pub what: &'static str,
    /// What was measured.
    pub measured: Estimate,
    /// The greatest value that holds.
    pub at_most: f64,
}

impl Claim {
    /// Returns whether the mean keeps the limit.
    pub fn holds(&self) -> bool {
        self.measured.mean <= self.at_most
    }
}

/// Returns the mean error of the pairs whose messages travel to or from the near client: their
/// delays are the far clients' own.
pub fn error_to_and_from_near(run: &ArmResult) -> f64 {
    run.error(|owner, receiver| owner == NEAR || receiver == NEAR).mean()
}

/// Returns mean and spread (population standard deviation) over the far receivers, each by its mean
/// error over all tanks that it sees.
pub fn mean_and_spread(run: &ArmResult) -> (f64, f64) {
    let far: Vec<f64> =
        (1..run.shots.len()).map(|far| run.error(|_, receiver| receiver == far).mean()).collect();
    let mean = far.iter().sum::<f64>() / far.len() as f64;
    let variance = far.iter().map(|error| (error - mean) * (error - mean)).sum::<f64>() / far.len() as f64;
    (mean, variance.sqrt())
}

/// Returns the claims, each with the ratios of the runs. Arms that were not played have none.
pub fn claims(arms: &[ArmRuns]) -> Vec<Claim> {
    let ratio = |over: &str, under: &str, number: fn(&ArmResult) -> f64| {
        let runs = |name: &str| arms.iter().find(|arm| arm.name == name).map_or(&[][..], |arm| &arm.runs);
        let ratios = runs(over).iter().zip(runs(under)).map(|(over, under)| number(over) / number(under));
        Estimate::of(&ratios.collect::<Vec<_>>())
    };
    let [unmodified, restated, third, fair] = ARMS;
    let claims = [
        (
            "mean shown error, restated / unmodified",
            ratio(restated, unmodified, error_to_and_from_near),
            0.45,
        ),
        ("spread, error-index / every third", ratio(fair, third, |run| mean_and_spread(run).1), 0.3),
        ("mean error, error-index / every third", ratio(fair, third, |run| mean_and_spread(run).0), 1.0),
    ];
    let made =
        |(what, measured, at_most)| Option::map(measured, |measured| Claim { what, measured, at_most });
    claims.into_iter().filter_map(made).collect()
}

/// Returns the report as a table and the claims.
pub fn as_text(arms: &[ArmRuns], delays_ms: &[u32]) -> String {
    let mut text = format!("{:<12} {:>4}", "arm", "runs");
    for delay in &delays_ms[1..] {
        let _ = write!(text, " {:>16}", format!("near tank at {delay}"));
    }
    text += "    to/from near  sent/offered  shots near  kills/shot near   far  proxy cpu/client\n";
    for arm in arms.iter().filter(|arm| !arm.runs.is_empty()) {
        let _ = write!(text, "{:<12} {:>4}", arm.name, arm.runs.len());
        for far in 1..delays_ms.len() {
            let error =
                |run: &ArmResult| run.error(|owner, receiver| owner == NEAR && receiver == far).mean();
            let _ = write!(text, " {:>16}", cell(arm, error));
        }
        let shots = |run: &ArmResult, far: bool| sum(&run.shots, far).max(1.0);
        let per_shot = |far: bool| {
            let (kills, fired) = (arm.runs.iter()).fold((0.0, 0.0), |(kills, fired), run| {
                (kills + sum(&run.kills, far), fired + shots(run, far))
            });
            kills / fired
        };
        let near_shots: f64 = arm.runs.iter().map(|run| sum(&run.shots, false)).sum();
        let _ = writeln!(
            text,
            " {:>15} {:>13} {near_shots:>11} {:>16.3} {:>5.3} {:>17}",
            cell(arm, error_to_and_from_near),
            cell(arm, |run| run.delivered as f64 / run.offered.max(1) as f64),
            per_shot(false),
            per_shot(true),
            cell(arm, |run| run.proxy_cpu_secs.unwrap_or(f64::NAN) / run.shots.len() as f64),
        );
    }
    for claim in claims(arms) {
        let verdict = if claim.holds() { "held" } else { "NOT HELD" };
        let _ = writeln!(text, "{verdict:<9} {}: {} (at most {})", claim.what, claim.measured, claim.at_most);
    }
    text
}

fn cell(arm: &ArmRuns, number: impl Fn(&ArmResult) -> f64) -> String {
    let numbers: Vec<f64> = arm.runs.iter().map(number).filter(|number| number.is_finite()).collect();
    Estimate::of(&numbers).map_or_else(|| "–".into(), |estimate| estimate.to_string())
}

/// The sum over the near client, or over all far ones.
fn sum(counts: &[usize], far: bool) -> f64 {
    let chosen = if far { counts.get(1..) } else { counts.get(..1) };
    chosen.unwrap_or_default().iter().sum::<usize>() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::ShownError;

    /// One sample of each pair: near to far, and back.
    fn run(errors: [f64; 3]) -> ArmResult {
        let pairs = (1..4).map(|far| (NEAR, far, ShownError { sum: errors[far - 1], samples: 1 }));
        ArmResult { pairs: pairs.collect(), shots: vec![0; 4], kills: vec![0; 4], ..ArmResult::default() }
    }

    #[test]
    fn claims_are_ratios_of_runs() {
        let arms = [("unmodified", [12.0, 9.0, 3.0]), ("restated", [5.0, 3.0, 1.0])];
        let arms = [
            arms.map(|(name, errors)| ArmRuns { name: name.into(), runs: vec![run(errors); 3] }),
            [("every third", [9.0, 6.0, 3.0]), ("error-index", [6.0, 5.5, 5.0])]
                .map(|(name, errors)| ArmRuns { name: name.into(), runs: vec![run(errors); 3] }),
        ]
        .concat();
        let claims = claims(&arms);
        let measured: Vec<f64> = claims.iter().map(|claim| claim.measured.mean).collect();
        let expected = [9.0 / 24.0, 1.0 / 6.0, 5.5 / 6.0];
        assert!(
            measured.iter().zip(expected).all(|(it, expected)| (it - expected).abs() < 1e-12),
            "{measured:?}"
        );
        assert!(claims.iter().all(Claim::holds));
        assert!(as_text(&arms, &[0, 800, 500, 200]).contains("held      spread"));
    }

    #[test]
    fn an_interval_needs_two_runs() {
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[2.0]), Some(Estimate { mean: 2.0, half_width: None }));
        let half_width = Estimate::of(&[1.0, 2.0, 3.0]).and_then(|it| it.half_width).unwrap_or_default();
        assert!((half_width - 4.303 / 3.0_f64.sqrt()).abs() < 1e-9);
    }
}
