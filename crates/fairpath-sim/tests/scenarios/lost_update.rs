//! Goal: one lost update must not freeze a ship, and must be forgotten with the next one.
//! Method: drop exactly the 3rd packet, watch the error.

use fairpath::time::Span;
use fairpath_sim::{LinkConfig, LossCause};

use crate::ship::{OWNER, SEND_EVERY, ShipWorld, WATCHER, drift_after, secs};

const DELAY: Span = Span::from_millis(30);

#[test]
fn one_lost_update_heals_with_the_next() {
    let repro = fairpath_sim::repro!(1);
    let mut world = ShipWorld::new(repro.seed(), LinkConfig::default().delay(DELAY).drop_nth(3));
    world.run_until(secs(2.0));

    let usual = drift_after(SEND_EVERY + DELAY);
    let with_one_missing = drift_after(SEND_EVERY + SEND_EVERY + DELAY);
    // The 3rd leaves at 0.2 s and would have arrived at 0.23; the 4th arrives at 0.33.
    assert!(world.worst_error(secs(0.0)..secs(0.23)) <= usual);
    let while_missing = world.worst_error(secs(0.23)..secs(0.33));
    assert!(while_missing > usual, "the loss was not felt: {while_missing} m");
    assert!(while_missing <= with_one_missing, "it went on moving: {while_missing} m");
    assert!(world.worst_error(secs(0.34)..secs(2.0)) <= usual, "it healed");

    let link = world.network.link(OWNER, WATCHER).statistics();
    assert_eq!((link.lost.chosen, link.lost.total()), (1, 1), "{:?} and nothing else", LossCause::Chosen);
}

#[test]
fn duplicates_and_stragglers_do_not_move_it_back() {
    let repro = fairpath_sim::repro!(2);
    let messy = LinkConfig::default()
        .delay(DELAY)
        .duplicate_ratio(0.5)
        .jitter_uniform(Span::from_millis(30))
        .reorder(0.3, Span::from_millis(250));
    let mut world = ShipWorld::new(repro.seed(), messy);
    world.run_until(secs(30.0));
    let link = world.network.link(OWNER, WATCHER).statistics();
    assert!(link.duplicated > 0 && link.reordered > 0, "nothing was put to the test: {link:?}");
    // At worst everything within the detour's length is late.
    let oldest = SEND_EVERY + DELAY + Span::from_millis(30 + 250);
    let worst = world.worst_error(secs(0.0)..secs(30.0));
    assert!(worst <= drift_after(oldest), "{worst} m");
}
