//! Goal: a server relays updates bit by bit, unless it refuses them. Method: two clients far from
//! the server; every DR vector that one follows must be among those that the other has exported.

use fairpath::session::{ClientEvent, Refusal, SpeedCheck};
use fairpath::vector::{Vec2, Vector};
use fairpath::{DrVector, Observation, State};
use fairpath_sim::LinkConfig;

use super::arena::{SHIP, World, millis, server_session};

#[test]
fn updates_arrive_bit_by_bit_and_leave_no_error() {
    let mut world = World::new(LinkConfig::default().delay(millis(80)));
    for _ in 0..2 {
        world.join();
    }
    let mut cut: Vec<DrVector<Vec2>> = Vec::new();
    let mut followed: Vec<DrVector<Vec2>> = Vec::new();
    world.until("twenty of them have been relayed", |world| {
        let Some(ship) = world.pilots[0].ship else { return false };
        let exported = world.pilots[0].client.with_session(|session, _| session.followed(ship).copied());
        if let Some(exported) = exported.filter(|it| cut.last() != Some(it)) {
            cut.push(exported);
        }
        world.pilots[1].client.with_session(|session, now| {
            let (Some(vector), Some(placed)) = (session.followed(ship).copied(), session.place(ship, now))
            else {
                return;
            };
            let shared = session.clock_now(now).expect("synchronised").shared;
            // Once an update has arrived, no error is left on the shared clock.
            if shared - vector.generated_at < millis(2_500) {
                assert_eq!(placed.position, vector.position_at(shared));
            }
            if followed.last() != Some(&vector) {
                followed.push(vector);
            }
        });
        followed.len() >= 20
    });
    for vector in &followed {
        assert!(cut.contains(vector), "{vector:?} is not among the exported vectors");
    }
}

#[test]
fn a_refused_update_reaches_no_client() {
    let session = server_session().with_interceptor(SpeedCheck { speed_max: 25.0 });
    let mut world = World::with(LinkConfig::default().delay(millis(30)), session, |_| {});
    for _ in 0..2 {
        world.join();
    }
    world.until("both fly", |world| world.pilots.iter().all(|pilot| pilot.ship.is_some()));
    let honest = State::moving(Vec2::new(0.0, 50.0), Vec2::ZERO);
    let liar = world.pilots[1]
        .client
        .with_session(|session, now| session.create_at(SHIP, b"liar", Some(honest), now, now))
        .expect("room");
    world.until("the false claim is refused", |world| {
        let truth = State::moving(Vec2::new(0.0, 50.0), Vec2::new(900.0, 0.0));
        let told = world.pilots[1]
            .client
            .with_session(|session, now| session.observe(liar, Observation::Moved(truth), now));
        told.expect("its own");
        let refused = ClientEvent::Refused { object: liar, refusal: Refusal::TooFastMotion };
        world.pilots[1].was_told(|event| *event == refused)
    });
    world.until("the other knows of the ship", |world| {
        let entered = |event: &ClientEvent| {
            matches!(event, ClientEvent::ObjectEntered { object, .. } if *object == liar)
        };
        world.pilots[0].was_told(entered)
    });
    let seen = world.pilots[0].client.with_session(|session, now| session.place(liar, now));
    assert_eq!(seen, Some(honest), "and of nothing that it claims to do");
}
