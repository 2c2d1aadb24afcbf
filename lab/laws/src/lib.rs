//! Property tests with a fixed seed. A failure prints the one line that replays it.
//!
//! ```
//! use fairpath_laws::{law, proptest::prelude::*};
//!
//! fn addition_commutes() {
//!     law!((any::<u32>(), any::<u32>()), |(a, b)| {
//!         prop_assert_eq!(a.wrapping_add(b), b.wrapping_add(a));
//!         Ok(())
//!     });
//! }
//! addition_commutes();
//! ```
//!
//! `FAIRPATH_SEED` chooses another seed, `FAIRPATH_CASES` another number of cases per law (default
//! 256).

pub use proptest;
use proptest::strategy::{Just, Strategy};
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestError, TestRunner};

/// The seed of every law. `FAIRPATH_SEED` overrides it.
pub const SEED: u64 = 0xFA12;
/// Cases per law. `FAIRPATH_CASES` overrides it. All laws together take seconds.
pub const CASES: u32 = 256;

/// Checks that a law holds for every value that a strategy draws. See the crate's documentation.
#[macro_export]
macro_rules! law {
    ($strategy:expr, $holds:expr $(,)?) => {
        $crate::law!($strategy, cases = $crate::CASES, $holds)
    };
    // Fewer cases, for a law whose cases are long.
    ($strategy:expr, cases = $cases:expr, $holds:expr $(,)?) => {
        $crate::check(env!("CARGO_PKG_NAME"), std::any::type_name_of_val(&|| {}), $cases, $strategy, $holds)
    };
}

/// Runs a law. [`law!`] calls it with the names for the replay line.
pub fn check<S: Strategy>(
    package: &str,
    enclosing: &str,
    cases: u32,
    strategy: S,
    holds: impl Fn(S::Value) -> TestCaseResult,
) {
    let seed = from_environment("FAIRPATH_SEED").unwrap_or(SEED);
    let cases = from_environment("FAIRPATH_CASES").unwrap_or(cases);
    let config =
        Config { cases, rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..Config::default() };
    let law = test_name(enclosing);
    match TestRunner::new(config).run(&strategy, holds) {
        Ok(()) => {}
        Err(TestError::Fail(reason, smallest)) => panic!(
            "the law does not hold: {reason}\nsmallest case: {smallest:#?}\n\
             replay: FAIRPATH_SEED={seed} FAIRPATH_CASES={cases} cargo test -p {package} {law}"
        ),
        Err(TestError::Abort(reason)) => panic!("{law} drew no valid case: {reason}"),
    }
}

/// Turns `crate::module::name::{{closure}}` into the name that libtest takes.
fn test_name(enclosing: &str) -> String {
    let path: Vec<&str> = enclosing.split("::").skip(1).take_while(|part| !part.starts_with("{{")).collect();
    path.join("::")
}

fn from_environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a whole number, not {text:?}")))
}

/// Draws a number within ±`limit`: ordinary most of the time, now and then zero or tiny, where
/// formulas divide by it.
pub fn number(limit: f64) -> impl Strategy<Value = f64> {
    proptest::prop_oneof![
        8 => -limit..limit,
        1 => Just(0.0),
        1 => -1e-9..1e-9f64,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    #[should_panic(expected = "cargo test -p fairpath-laws tests::a_broken_law_prints_its_replay_line")]
    fn a_broken_law_prints_its_replay_line() {
        law!(0u32..1000, |n| {
            prop_assert!(n < 990);
            Ok(())
        });
    }
}
