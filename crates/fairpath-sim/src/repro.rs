//! A line that replays a failed test.

use std::fmt::Debug;

/// Prints how to replay a seeded test, if the test panics while this guard is alive.
///
/// Usually created by [`repro!`](crate::repro!), which knows the test's name and lets
/// `FAIRPATH_SEED` choose another seed:
///
/// ```
/// fn every_packet_arrives() {
///     let repro = fairpath_sim::repro!(7);
///     let network = fairpath_sim::Network::<()>::new(repro.seed(), 2);
///     // … a panic from here on also prints:
///     // replay: FAIRPATH_SEED=7 cargo test -p my-game every_packet_arrives
/// }
/// # every_packet_arrives();
/// ```
#[derive(Debug)]
#[must_use = "the guard prints when dropped: keep it in a variable until the test ends"]
pub struct Repro {
    package: &'static str,
    test: String,
    seed: u64,
}

impl Repro {
    /// Creates a guard for the test `test` of `package`, run with `seed`.
    pub fn new(package: &'static str, test: &str, seed: u64) -> Self {
        Self { package, test: test_name(test), seed }
    }

    /// Returns the seed to build the world from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the line that replays this run.
    pub fn replay_line(&self) -> String {
        format!("FAIRPATH_SEED={} cargo test -p {} {}", self.seed, self.package, self.test)
    }
}

impl Drop for Repro {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay: {}", self.replay_line());
        }
    }
}

/// Turns `crate::module::name::{{closure}}` into the name that libtest knows.
fn test_name(enclosing: &str) -> String {
    let path: Vec<&str> = enclosing.split("::").skip(1).take_while(|part| !part.starts_with("{{")).collect();
    path.join("::")
}

/// Creates a [`Repro`] for the enclosing test, with this seed unless `FAIRPATH_SEED` is set.
///
/// The macro reads the environment in your test; the crate itself never does.
#[macro_export]
macro_rules! repro {
    ($seed:expr) => {
        $crate::Repro::new(
            env!("CARGO_PKG_NAME"),
            std::any::type_name_of_val(&|| {}),
            match std::env::var("FAIRPATH_SEED") {
                Ok(text) => text.parse().expect("FAIRPATH_SEED must be a whole number below 2^64"),
                Err(_) => $seed,
            },
        )
    };
}

/// Runs a scenario twice from the same seed and panics if the outcomes differ.
///
/// This catches whatever makes a run unrepeatable: a clock, an order that differs, a global
/// generator. Return a [`Digest`](crate::Digest) of everything that happened.
pub fn run_twice<O: PartialEq + Debug>(seed: u64, mut scenario: impl FnMut(u64) -> O) -> O {
    let first = scenario(seed);
    let second = scenario(seed);
    assert_eq!(first, second, "two runs from seed {seed} differ: something besides the seed decides");
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_seed_package_and_test() {
        let repro = Repro::new("fairpath-sim", std::any::type_name_of_val(&|| {}), 42);
        assert_eq!(
            repro.replay_line(),
            "FAIRPATH_SEED=42 cargo test -p fairpath-sim \
             repro::tests::the_line_names_seed_package_and_test"
        );
    }

    #[test]
    #[should_panic(expected = "something besides the seed decides")]
    fn a_run_that_does_not_repeat_is_caught() {
        let mut runs = 0;
        run_twice(1, |_| {
            runs += 1;
            runs
        });
    }
}
