//! Goal: a full buffer, a clock that jumps, a server that restarts and ten seconds of silence
//! neither freeze the screen nor make it explode, and prediction is exact again soon after. Method:
//! one scenario each, on the jet car in fixed ticks. (An acknowledgement for an unknown stamp is a
//! scenario of the library's own tests, beside the same ones in small.)

use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath_compensate::{Accepted, ENTRIES_DEFAULT, SEAT_SILENCE};
use fairpath_games::jet_car::{Input, JetCarConfig, TICK_RATE};
use fairpath_sim::{LinkConfig, Loss};

use super::session::Session;
use super::{jet_car, thrust};

type JetCarSession = Session<JetCarConfig, Box<dyn FnMut() -> Input>>;

fn session(link: &LinkConfig, capacity: usize) -> JetCarSession {
    let mut random = Random::from_seed(4);
    let mut held = Input::IDLE;
    let hands: Box<dyn FnMut() -> Input> = Box::new(move || thrust(&mut random, &mut held));
    Session::new(jet_car(2), TICK_RATE, (hands, Input::IDLE), [link.clone(), link.clone()], capacity, 9)
}

fn link() -> LinkConfig {
    LinkConfig::default()
        .delay(Span::from_millis(100))
        .jitter_uniform(Span::from_millis(20))
        .loss(Loss::each(0.1))
}

/// Nothing has exploded: the car is where a car can be, as fast as a car can be.
fn is_sane(session: &JetCarSession) -> bool {
    let rules = JetCarConfig::default();
    let car = session.client.predicted().car;
    (0.0..=rules.width).contains(&car.position.x)
        && (0.0..=rules.height).contains(&car.position.y)
        && car.velocity.x.abs().max(car.velocity.y.abs()) < 2_000.0
}

/// Runs on for six seconds and compares the last three: everything must be as it was before the
/// trouble.
fn recovers(session: &mut JetCarSession) {
    session.run_for(Span::from_secs(3));
    let from = session.server.queue.next_tick();
    session.run_for(Span::from_secs(3));
    let score = session.score_since(from);
    assert_eq!(score.wrong, 0, "{score:?}");
    assert!(score.predicted > 200 && score.in_time > 0, "{score:?}");
    assert!(score.padded * 20 < score.ticks, "{score:?}");
    assert!(is_sane(session));
}

#[test]
fn ten_seconds_of_silence() {
    let silence = SharedInstant::from_millis(3_000)..SharedInstant::from_millis(13_000);
    let mut session = session(&link().partition(silence), ENTRIES_DEFAULT);
    session.run_for(Span::from_secs(3));
    let mut tick = session.client.tick();
    for _ in 0..10 {
        session.run_for(Span::from_secs(1));
        assert!(session.client.tick() >= tick + 99, "the screen froze");
        assert!(is_sane(&session));
        tick = session.client.tick();
    }
    let silent_secs = session.server.queue.silent_ticks() as f64 * TICK_RATE.step_secs();
    assert!(silent_secs > SEAT_SILENCE.as_secs_f64(), "the server can tell that the seat is to be freed");
    recovers(&mut session);
    assert!(session.client.overflow_count() > 0, "2.5 s fit");
}

#[test]
fn a_buffer_that_is_far_too_small() {
    let mut session = session(&link().delay(Span::from_millis(300)), 20);
    session.run_for(Span::from_secs(8));
    assert!(session.client.overflow_count() > 100);
    let padded = |accepted: &Accepted| matches!(accepted, Accepted::Replayed { padded, .. } if *padded > 0);
    assert!(session.accepted.iter().any(padded), "it is said");
    assert!(is_sane(&session));
    let score = session.score_since(400);
    assert!(score.padded * 20 < score.ticks, "the hands are obeyed all the same: {score:?}");
}

#[test]
fn a_clock_that_jumps() {
    let mut session = session(&link(), ENTRIES_DEFAULT);
    session.run_for(Span::from_secs(3));
    for jump in
        [Span::from_secs(3_600), Span::from_secs(-7_200), Span::from_millis(300), Span::from_millis(-300)]
    {
        let before = session.client.tick();
        session.clock_offset += jump;
        session.run_for(Span::from_secs(1));
        let ticks = session.client.tick() - before;
        assert!((60..200).contains(&ticks), "{ticks} ticks in a second, after {jump:?}");
        assert!(is_sane(&session));
        recovers(&mut session);
    }
}

#[test]
fn a_server_that_restarts() {
    let mut session = session(&link(), ENTRIES_DEFAULT);
    session.run_for(Span::from_secs(5));
    session.restart_server(jet_car(7).1);
    session.run_for(Span::from_secs(1));
    let restarts = session.accepted.iter().filter(|accepted| **accepted == Accepted::Restarted).count();
    assert_eq!(restarts, 1, "packets of the old run that are still on their way do not bring it back");
    assert!(session.client.tick() < 200, "it counts with the new run");
    recovers(&mut session);
}

#[test]
fn a_delay_that_grows_by_half_a_second() {
    let mut session = session(&link(), ENTRIES_DEFAULT);
    session.run_for(Span::from_secs(3));
    session.reconfigure(&link().delay(Span::from_millis(600)));
    recovers(&mut session);
    session.reconfigure(&link());
    recovers(&mut session);
}
