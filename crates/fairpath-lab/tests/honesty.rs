//! Goal: lies reach the sender as they are meant, and the safeguards take from a liar what they would have gained it.
//! Method: the same short game with the same dice, honest and lying, with the safeguards and without.

use fairpath::schedule::{DispatcherConfig, Trust};
use fairpath::time::{SharedInstant, Span};
use fairpath_lab::experiment::Silent;
use fairpath_lab::fairness::{Arena, Contender, Jitter, Lie, Motion, Receiver, Report, Score, Trial};

const DELAYS_MS: [i64; 3] = [800, 500, 200];
const LIAR: usize = 1;

fn play(lies: &[Lie], trust: Option<Trust>) -> Vec<Score> {
    let dispatcher = DispatcherConfig {
        trust,
        clock_error_max: if trust.is_some() { Span::from_millis(50) } else { Span::from_secs(3600) },
        ..DispatcherConfig::as_in_the_papers()
    };
    let trial = |lie: &Lie| {
        let mut receivers = Receiver::all_at(&DELAYS_MS.map(Span::from_millis), Jitter::NONE);
        receivers[LIAR] = receivers[LIAR].clone().lying(*lie);
        Trial::new(Contender::ERROR_INDEX, receivers).dispatcher(dispatcher)
    };
    let motion = Motion::tanks(7, 3, Span::from_secs(60));
    let trials: Vec<Trial> = lies.iter().map(trial).collect();
    Arena { motion: &motion, seed: 7, progress: &Silent }.play(&trials)
}

/// What each lie gains the liar, as a part of its error when honest.
fn gains(lies: &[Lie], trust: Option<Trust>) -> Vec<f64> {
    let scores = play(&[&[Lie::Honest], lies].concat(), trust);
    let errors: Vec<f64> = scores.iter().map(|score| score.receivers()[LIAR]).collect();
    errors[1..].iter().map(|error| 1.0 - error / errors[0]).collect()
}

#[test]
fn who_overstates_gains_unless_the_sender_looks() {
    let lies = [Lie::Overstates(2.0), Lie::Overstates(10.0)];
    for gain in gains(&lies, None) {
        assert!(gain > 0.15, "{gain}");
    }
    for gain in gains(&lies, Some(Trust::default())) {
        assert!(gain < 0.08, "{gain}: 5 %, and what a short game leaves to chance");
    }
}

#[test]
fn who_claims_to_be_better_off_is_told_less() {
    for trust in [None, Some(Trust::default())] {
        assert!(gains(&[Lie::Guesses], trust)[0] < 0.0);
    }
}

#[test]
fn holding_back_pays() {
    let lie = [Lie::HoldsBack(Span::from_millis(1000))];
    let gain = gains(&lie, Some(Trust::default()))[0];
    assert!(gain > 0.05, "{gain}: nobody can tell this one from somebody farther away");
}

#[test]
fn lies_say_what_they_are_called() {
    let [sent, received] = [1_000, 1_200].map(SharedInstant::from_millis);
    let said =
        |lie: Lie| lie.on_received(sent, received).map(|report| (report.received_at, report.held_back));
    let at =
        |millis: i64, held_ms: i64| Some((SharedInstant::from_millis(millis), Span::from_millis(held_ms)));
    assert_eq!(said(Lie::Honest), at(1_200, 0));
    assert_eq!(said(Lie::Overstates(5.0)), at(2_000, 0));
    assert_eq!(said(Lie::BeforeSent(Span::from_millis(300))), at(700, 0));
    assert_eq!(said(Lie::HoldsBack(Span::from_millis(400))), at(1_400, 400));
    assert_eq!((said(Lie::Silent), said(Lie::Guesses)), (None, None));
    assert_eq!(Lie::Guesses.on_sent(sent), Some(Report { received_at: sent, held_back: Span::ZERO }));
    assert_eq!(Lie::Honest.on_sent(sent), None);
}
