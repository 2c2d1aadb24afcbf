//! Goal: the trials behind X13, X14, X16 and DELAY are exact, and show what they must whatever the
//! seed. Method: single trials, in virtual time; each is small enough to be played twice.

use fairpath::place::Placement;
use fairpath::time::Span;
use fairpath_experiments::delay::jet_car::{Sight, Trial};
use fairpath_experiments::delay::sailing::{OtherBoat, Race, other_boat_off};
use fairpath_experiments::delay::{Summary, arena};
use fairpath_games::jet_car::JetCarConfig;
use fairpath_games::sailing::{SailingConfig, Trim, Wind};

fn jet_car(rtt_ms: i64, sight: Sight, seed: u64) -> Trial {
    Trial {
        rules: JetCarConfig { secs: 40, ..JetCarConfig::windy() },
        rtt: Span::from_millis(rtt_ms),
        jitter: Span::from_millis(5),
        sight,
        seed,
    }
}

fn race(rtt_ms: i64, is_compensated: bool) -> Race {
    Race {
        rules: SailingConfig { wind: Wind::west_and_south(20.0), ..SailingConfig::default() },
        trim: Trim::Simple,
        rtt: Span::from_millis(rtt_ms),
        jitter: Span::ZERO,
        is_compensated,
        seed: 90_210,
    }
}

#[test]
fn a_trial_and_a_seed_give_the_same_numbers() {
    for sight in [Sight::Old, Sight::Prototype, Sight::Simulated, Sight::Guarded] {
        let [one, other] = [0, 1].map(|_| jet_car(200, sight, 4711).run());
        assert_eq!((one.score, one.cars_lost), (other.score, other.cars_lost), "{sight:?}");
    }
    let [one, other] = [0, 1].map(|_| race(300, true).run());
    assert_eq!((one.client_secs, one.server_secs), (other.client_secs, other.server_secs));
    let shots = || {
        arena::Trial { secs: 20, ..arena::Trial::new(Span::from_millis(300), Placement::Local, 4711) }.run()
    };
    let [one, other] = [0, 1].map(|_| shots());
    assert_eq!((one.fired, one.hits, one.granted), (other.fired, other.hits, other.granted));
}

#[test]
fn without_delay_far_is_near() {
    for is_compensated in [false, true] {
        let finish = race(0, is_compensated).run();
        assert_eq!(finish.client_secs, finish.server_secs, "compensated: {is_compensated}");
    }
}

#[test]
fn whoever_sees_late_gets_there_later_and_compensation_gives_most_of_it_back() {
    let [off, on] = [false, true].map(|is_compensated| race(700, is_compensated).run());
    assert!(off.is_home(), "nobody is stuck for ever: {off:?}");
    assert!(off.loss() > 0.2 && on.loss() < 0.3 * off.loss(), "{off:?} {on:?}");
}

#[test]
fn an_old_screen_costs_points_and_compensation_gives_them_back() {
    let score = |rtt_ms, sight| {
        let runs: Vec<f64> = (0..4).map(|seed| jet_car(rtt_ms, sight, 4711 + seed).run().score).collect();
        Summary::of(&runs).mean
    };
    let (near, old, on) = (score(20, Sight::Old), score(400, Sight::Old), score(400, Sight::Simulated));
    assert!(old + 20.0 < on && on < near + 20.0, "{near} near, {old} far, {on} compensated");
}

#[test]
fn a_guess_at_the_other_boat_is_better_than_its_past() {
    let rules = SailingConfig { wind: Wind::random(), ..SailingConfig::default() };
    let off = other_boat_off(&rules, Trim::Optimal, Span::from_millis(300), 4711);
    let [heard, .., physics] = off;
    assert!(
        physics < 0.5 * heard,
        "{:?}",
        OtherBoat::ALL.iter().map(|way| way.name()).zip(off).collect::<Vec<_>>()
    );
}
