//! Goal: a seed is a run, today, tomorrow and on every platform.
//! Method: run it twice and compare; compare with a number that was written down.

use fairpath_sim::{Digest, LinkConfig, run_twice};

use crate::ship::{ShipWorld, secs};

fn a_minute_at_sea(seed: u64) -> Digest {
    let mut world = ShipWorld::new(seed, LinkConfig::wifi_bad());
    world.run_until(secs(60.0));
    world.trace.digest()
}

#[test]
fn a_minute_at_sea_repeats_bit_for_bit() {
    let repro = fairpath_sim::repro!(5);
    run_twice(repro.seed(), a_minute_at_sea);
}

#[test]
fn a_minute_at_sea_is_the_one_we_remember() {
    // If this changes, so does what every seed means: say so in the changelog.
    assert_eq!(a_minute_at_sea(7).to_string(), "7f2db9fc326620ed");
}
