//! A wrong clock is wrong in an orderly way.

use fairpath::time::{SharedInstant, Span};
use fairpath_laws::{law, proptest::prelude::*};
use fairpath_sim::{DRIFT_PPM_MAX, SimClock};

const YEAR_US: i64 = 366 * 86_400 * 1_000_000;
const TICK: Span = Span::from_micros(1);

fn instant() -> impl Strategy<Value = SharedInstant> {
    (-YEAR_US..YEAR_US).prop_map(SharedInstant::from_micros)
}

fn clock() -> impl Strategy<Value = SimClock> {
    let drift = prop_oneof![3 => -200.0..200.0, 1 => -DRIFT_PPM_MAX..DRIFT_PPM_MAX, 1 => Just(0.0)];
    (-YEAR_US..YEAR_US, drift).prop_map(|(offset, ppm)| SimClock::new(Span::from_micros(offset), ppm))
}

#[test]
fn it_never_runs_backwards_by_itself() {
    law!((clock(), instant(), 0i64..10_000_000), |(clock, t, micros)| {
        prop_assert!(clock.local(t + Span::from_micros(micros)) >= clock.local(t));
        Ok(())
    });
}

#[test]
fn the_way_back_finds_the_first_microsecond_that_shows_it() {
    law!((clock(), instant()), |(clock, t)| {
        let shown = clock.local(t);
        let first = clock.first_showing(shown);
        prop_assert!(clock.local(first) >= shown);
        prop_assert!(clock.local(first - TICK) < shown);
        prop_assert!((first - t).abs() <= TICK, "{:?} came back as {:?}", t, first);
        Ok(())
    });
}

#[test]
fn drift_is_what_it_says() {
    law!((clock(), instant(), -200.0..200.0f64), |(mut clock, t, ppm)| {
        clock.set_drift(t, ppm);
        let hour = Span::from_secs(3_600);
        let gained = clock.ahead(t + hour) - clock.ahead(t);
        prop_assert!((gained - hour.scaled(ppm * 1e-6)).abs() <= Span::from_micros(3));
        Ok(())
    });
}

#[test]
fn a_step_shows_at_once_and_a_change_of_drift_does_not() {
    law!((clock(), instant(), -1_000_000i64..1_000_000), |(clock, t, micros)| {
        let by = Span::from_micros(micros);
        let mut stepped = clock;
        stepped.step(t, by);
        prop_assert_eq!(stepped.local(t), clock.local(t) + by);
        let mut drifting = clock;
        drifting.set_drift(t, 77.0);
        prop_assert_eq!(drifting.local(t), clock.local(t));
        Ok(())
    });
}
