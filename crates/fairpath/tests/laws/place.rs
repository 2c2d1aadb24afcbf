//! What a replica promises: newest information wins whatever the order of arrival, global placement
//! repeats the exported path exactly, silence freezes, and a crowd answers like its members.

use crate::common::{kind, state2};
use fairpath::motion::MotionKind;
use fairpath::number::{EntityId, Generation, Life};
use fairpath::place::{Acceptance, Arrival, Clip, Crowd, Placement, Positions, Relay, Replica};
use fairpath::time::{LocalInstant, Now, SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{DrVector, State};
use fairpath_laws::{law, proptest::prelude::*};

fn ms(millis: i64) -> SharedInstant {
    SharedInstant::from_millis(millis)
}

fn now(millis: i64) -> Now {
    Now::synchronised(ms(millis))
}

fn vector(kind: MotionKind, state: &State<Vec2>, generated_at_ms: i64) -> DrVector<Vec2> {
    DrVector {
        entity: EntityId(1),
        life: Life::default(),
        generation: Generation(generated_at_ms as u8),
        generated_at: ms(generated_at_ms),
        motion: kind.from_state(state),
        attitude: None,
        parent: None,
    }
}

/// Drives along +x at 10 u/s from the origin.
fn eastbound(generated_at_ms: i64) -> DrVector<Vec2> {
    vector(MotionKind::Linear, &State::moving(Vec2::ZERO, Vec2::new(10.0, 0.0)), generated_at_ms)
}

#[test]
fn global_placement_is_the_exported_path_to_the_last_bit() {
    law!((state2(), kind(), 0i64..2900, 0i64..1000), |(state, kind, ask_ms, delay_ms)| {
        let sent = vector(kind, &state, 0);
        let mut replica = Replica::new(Placement::Global);
        replica.accept(&sent, &Arrival::at(now(delay_ms)));
        prop_assert_eq!(replica.place(now(ask_ms)), Some(sent.state_at(ms(ask_ms))));
        Ok(())
    });
}

#[test]
fn local_placement_trails_by_the_delay_and_hop_by_what_was_misjudged() {
    law!((0i64..1000, 0i64..300, -50i64..50), |(travel_ms, wait_ms, misjudged_ms)| {
        let sent = eastbound(0);
        let arrives = now(wait_ms + travel_ms);
        let ask = now(wait_ms + travel_ms + 500);
        let truth = sent.position_at(ask.shared);
        let place = |placement, arrival| {
            let mut replica = Replica::new(placement);
            replica.accept(&sent, &arrival);
            replica.place(ask).unwrap().position
        };
        let trail = truth.x - place(Placement::Local, Arrival::at(arrives)).x;
        prop_assert!((trail - 10.0 * (wait_ms + travel_ms) as f64 * 1e-3).abs() < 1e-9);

        let hop = Arrival {
            now: arrives,
            waited: Span::from_millis(wait_ms),
            travelled: Span::from_millis(travel_ms + misjudged_ms),
        };
        let ahead = place(Placement::Hop, hop).x - truth.x;
        prop_assert!((ahead - 10.0 * misjudged_ms as f64 * 1e-3).abs() < 1e-9);
        Ok(())
    });
}

#[test]
fn whatever_the_order_of_arrival_the_newest_is_followed() {
    let arrivals = prop::collection::vec((0i64..40, 0i64..2000), 1..60);
    law!(arrivals, |mut arrivals| {
        arrivals.sort_by_key(|(_, arrive_ms)| *arrive_ms);
        let mut replica = Replica::new(Placement::Global);
        let mut newest = i64::MIN;
        for (generated_ms, arrive_ms) in arrivals {
            let verdict = replica.accept(&eastbound(generated_ms), &Arrival::at(now(arrive_ms)));
            let expected = match generated_ms.cmp(&newest) {
                std::cmp::Ordering::Greater => Acceptance::Used,
                std::cmp::Ordering::Equal => Acceptance::Duplicate,
                std::cmp::Ordering::Less => Acceptance::Stale,
            };
            prop_assert_eq!(verdict, expected);
            newest = newest.max(generated_ms);
            prop_assert_eq!(replica.followed().unwrap().generated_at, ms(newest));
        }
        Ok(())
    });
}

#[test]
fn a_duplicate_does_not_pull_a_locally_placed_entity_back() {
    let mut replica = Replica::new(Placement::Local);
    replica.accept(&eastbound(0), &Arrival::at(now(100)));
    let before = replica.place(now(900));
    assert_eq!(replica.accept(&eastbound(0), &Arrival::at(now(900))), Acceptance::Duplicate);
    assert_eq!(replica.place(now(900)), before);
}

#[test]
fn silence_freezes_at_the_horizon_and_news_thaws() {
    let mut replica = Replica::new(Placement::Global).with_horizon(Span::from_secs(2));
    replica.accept(&eastbound(0), &Arrival::at(now(100)));
    assert!(!replica.is_frozen(now(2000)));
    assert_eq!(replica.place(now(2000)).unwrap().position, Vec2::new(20.0, 0.0));
    assert!(replica.is_frozen(now(2001)));
    let frozen = replica.place(now(60_000)).unwrap();
    assert_eq!((frozen.position, frozen.velocity), (Vec2::new(20.0, 0.0), Vec2::ZERO));
    assert_eq!(replica.accept(&eastbound(59_990), &Arrival::at(now(60_000))), Acceptance::Used);
    assert!(!replica.is_frozen(now(60_000)));
}

#[test]
fn a_stamp_from_the_future_cannot_silence_the_honest_ones() {
    let mut replica = Replica::new(Placement::Global);
    assert_eq!(replica.accept(&eastbound(3_600_000), &Arrival::at(now(100))), Acceptance::Refused);
    assert_eq!(replica.accept(&eastbound(90), &Arrival::at(now(110))), Acceptance::Used);
}

#[test]
fn another_entity_and_nonsense_are_refused() {
    let mut replica = Replica::new(Placement::Global);
    replica.accept(&eastbound(0), &Arrival::at(now(0)));
    let stranger = DrVector { entity: EntityId(2), ..eastbound(10) };
    assert_eq!(replica.accept(&stranger, &Arrival::at(now(20))), Acceptance::Refused);
    let nonsense = vector(MotionKind::Linear, &State::moving(Vec2::new(f64::INFINITY, 0.0), Vec2::ZERO), 10);
    assert_eq!(replica.accept(&nonsense, &Arrival::at(now(20))), Acceptance::Refused);
}

#[test]
fn a_correction_is_drawn_smoothly_and_a_new_life_at_once() {
    let mut replica = Replica::new(Placement::Global);
    replica.accept(&eastbound(0), &Arrival::at(now(0)));
    let turned = vector(MotionKind::Linear, &State::moving(Vec2::new(5.0, 1.0), Vec2::new(10.0, 0.0)), 500);
    replica.accept(&turned, &Arrival::at(now(600)));
    assert_eq!(replica.place(now(600)).unwrap().position.y, 1.0, "simulated at once");
    assert_eq!(replica.draw(now(600)).unwrap().position.y, 0.0, "drawn where it was");
    assert_eq!(replica.draw(now(800)), replica.place(now(800)), "and there after the blend");
    let reborn = DrVector { life: Life::new(1), ..eastbound(900) };
    replica.accept(&reborn, &Arrival::at(now(950)));
    assert_eq!(replica.draw(now(950)), replica.place(now(950)));
}

#[test]
fn a_clip_keeps_guesses_inside() {
    let wall = Clip::new(7, |_, mut guess: State<Vec2>| {
        guess.position.x = guess.position.x.min(5.0);
        guess
    });
    let mut replica = Replica::new(Placement::Global).with_clip(wall);
    replica.accept(&eastbound(0), &Arrival::at(now(0)));
    assert!((replica.place(now(400)).unwrap().position.x - 4.0).abs() < 1e-12);
    assert_eq!(replica.place(now(900)).unwrap().position.x, 5.0);
}

#[test]
fn restated_times_only_go_forward_however_estimates_jitter() {
    law!(prop::collection::vec((0i64..100, -200i64..200), 1..50), |steps| {
        let mut relay = Relay::new();
        let (mut at_ms, mut last) = (1_000, None);
        for (gap_ms, jitter_ms) in steps {
            at_ms += gap_ms;
            let arrival = Arrival {
                now: now(at_ms),
                waited: Span::ZERO,
                travelled: Span::from_millis(200 + jitter_ms),
            };
            let restated = relay.restate(&eastbound(0), &arrival, Span::from_millis(1));
            prop_assert!(last.is_none_or(|last| restated.generated_at > last));
            last = Some(restated.generated_at);
        }
        Ok(())
    });
}

#[test]
fn a_crowd_answers_like_its_members_to_the_last_bit() {
    let members = prop::collection::vec((state2(), kind(), -5000i64..1000, 0i64..800), 0..40);
    let placements = prop_oneof![Just(Placement::Local), Just(Placement::Global), Just(Placement::Hop)];
    law!((members, placements, 0i64..6000), |(members, placement, ask_ms)| {
        let offset = Span::from_micros(123_456_789);
        let skewed =
            |at: Now| Now { local: LocalInstant::ZERO + (at.local - LocalInstant::ZERO) + offset, ..at };
        let mut crowd = Crowd::new(placement, Replica::<Vec2>::HORIZON);
        let mut replicas = Vec::new();
        for (slot, (state, kind, generated_ms, delay_ms)) in members.into_iter().enumerate() {
            let mut replica = Replica::new(placement);
            let arrival = Arrival {
                now: skewed(now(generated_ms + delay_ms)),
                waited: Span::ZERO,
                travelled: Span::from_millis(delay_ms),
            };
            replica.accept(&vector(kind, &state, generated_ms), &arrival);
            crowd.set(slot, &replica);
            replicas.push(replica);
        }
        let ask = skewed(now(ask_ms));
        let mut positions = Positions::default();
        crowd.place_all(ask, &mut positions);
        for (slot, replica) in replicas.iter().enumerate() {
            prop_assert_eq!(positions.get::<Vec2>(slot), replica.place(ask).unwrap().position);
            prop_assert_eq!(replica.position(ask), Some(positions.get(slot)));
        }
        Ok(())
    });
}
