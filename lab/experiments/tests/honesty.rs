//! Goal: lies reach the sender as they are meant, and the safeguards take from a liar what they
//! would have gained it. Method: the same short game with the same dice, honest and lying, with the
//! safeguards and without.

use fairpath::schedule::{DispatcherConfig, ReceiptTrust};
use fairpath::time::{SharedInstant, Span};
use fairpath_experiments::experiment::Silent;
use fairpath_experiments::fairness::{Arena, Jitter, LabScheduler, Lie, Motion, Receiver, Score, Trial};
use fairpath_sim::star::Reported;

const DELAYS_MS: [i64; 3] = [800, 500, 200];
const LIAR: usize = 1;

fn play(lies: &[Lie], loss: f64, trust: Option<ReceiptTrust>, transport_is_asked: bool) -> Vec<Score> {
    let dispatcher = DispatcherConfig {
        trust,
        clock_error_max: if trust.is_some() { Span::from_millis(50) } else { Span::from_secs(3600) },
        ..DispatcherConfig::as_in_the_papers()
    };
    let trial = |lie: &Lie| {
        let mut receivers = Receiver::all_at(&DELAYS_MS.map(Span::from_millis), Jitter::NONE);
        receivers[LIAR] = receivers[LIAR].clone().lying(*lie).losing(loss);
        Trial::new(LabScheduler::ERROR_INDEX, receivers)
            .dispatcher(dispatcher)
            .transport_is_asked(transport_is_asked)
    };
    let motion = Motion::tanks(7, 3, Span::from_secs(60));
    let trials: Vec<Trial> = lies.iter().map(trial).collect();
    Arena { motion: &motion, seed: 7, progress: &Silent }.play(&trials)
}

/// What each lie gains the liar, as a part of its error when honest.
fn gains(lies: &[Lie], loss: f64, trust: Option<ReceiptTrust>, transport_is_asked: bool) -> Vec<f64> {
    let scores = play(&[&[Lie::Honest], lies].concat(), loss, trust, transport_is_asked);
    let errors: Vec<f64> = scores.iter().map(|score| score.receivers()[LIAR]).collect();
    errors[1..].iter().map(|error| 1.0 - error / errors[0]).collect()
}

#[test]
fn who_overstates_gains_unless_the_sender_looks() {
    let lies = [Lie::Overstates(2.0), Lie::Overstates(10.0)];
    for gain in gains(&lies, 0.0, None, false) {
        assert!(gain > 0.15, "{gain}");
    }
    for gain in gains(&lies, 0.0, Some(ReceiptTrust::default()), false) {
        assert!(gain < 0.08, "{gain}: 5 %, and what a short game leaves to chance");
    }
}

#[test]
fn who_claims_to_be_better_off_is_told_less_unless_it_must_prove_it() {
    let gain = |trust| gains(&[Lie::Guesses], 0.3, trust, false)[0];
    assert!(gain(None) < -0.1, "{}", gain(None));
    let guarded = gain(Some(ReceiptTrust::default()));
    assert!(guarded.abs() < 0.05, "{guarded}: it does not know the nonces of what it has lost");
}

#[test]
fn holding_back_pays_unless_the_transport_is_asked_and_left_alone() {
    let held = Span::from_millis(1000);
    let gain =
        |lie, transport_is_asked| gains(&[lie], 0.0, Some(ReceiptTrust::default()), transport_is_asked)[0];
    let alone = gain(Lie::HoldsBack(held), false);
    assert!(alone > 0.15, "{alone}: nobody can tell this one from somebody farther away");
    let asked = gain(Lie::HoldsBack(held), true);
    assert!(asked < 0.08, "{asked}");
    let all = gain(Lie::HoldsAllBack(held), true);
    assert!(all > 0.15, "{all}: the transport cannot tell either");
}

#[test]
fn lies_say_what_they_are_called() {
    let [sent, received] = [1_000, 1_200].map(SharedInstant::from_millis);
    let said =
        |lie: Lie| lie.on_received(sent, received).and_then(|said| Some((said.received_at?, said.held_back)));
    let at =
        |millis: i64, held_ms: i64| Some((SharedInstant::from_millis(millis), Span::from_millis(held_ms)));
    assert_eq!(said(Lie::Honest), at(1_200, 0));
    assert_eq!(said(Lie::Overstates(5.0)), at(2_000, 0));
    assert_eq!(said(Lie::BeforeSent(Span::from_millis(300))), at(700, 0));
    assert_eq!(said(Lie::HoldsBack(Span::from_millis(400))), at(1_400, 400));
    assert_eq!((said(Lie::Silent), said(Lie::Guesses)), (None, at(1_200, 0)));
    assert_eq!(Lie::Guesses.on_lost(sent), Some(Reported::at_once(sent)));
    assert_eq!(Lie::Honest.on_lost(sent), None);
}
