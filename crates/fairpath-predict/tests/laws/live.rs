//! Live placement: two receivers that hold different parts of the world, and an owner that knows
//! what each of them shows.

use super::*;
use fairpath::number::{EntityId, Generation, Life, ReceiverId};
use fairpath::time::{SharedInstant, Span};
use fairpath::{DrVector, MotionKind, State};
use fairpath_laws::law;
use fairpath_predict::live::{
    Context, ContextId, Contexts, EkbContext, Followed, Guided, LivePath, Publisher, SNAPSHOTS_HELD,
    SNAPSHOTS_NAMED, SnapshotPlayer,
};
use fairpath_predict::{EkbConfig, TICK_RATE};
use std::sync::Arc;

const NEAR: ReceiverId = ReceiverId(1);
const FAR: ReceiverId = ReceiverId(2);
const SUBJECT: EntityId = EntityId(0);

fn start() -> SharedInstant {
    SharedInstant::from_millis(5_000)
}

fn vector(body: &Body) -> DrVector<Vec2> {
    DrVector {
        entity: SUBJECT,
        life: Life::default(),
        generation: Generation::default(),
        generated_at: start(),
        motion: MotionKind::Linear.from_state(&State::moving(body.position, body.velocity)),
        attitude: None,
        parent: None,
    }
}

/// The subject of a scene, and the other players selected by `is_held`.
fn snapshot(scene: &Scene, is_held: impl Fn(usize) -> bool) -> Arc<dyn Context> {
    let player = |entity: u32, team: u8, body: Body, condition: Condition| SnapshotPlayer {
        entity: EntityId(entity),
        team,
        body,
        condition,
    };
    let mut players = vec![player(0, 0, scene.newest(), scene.condition)];
    for (number, other) in scene.others.iter().enumerate().filter(|(number, _)| is_held(*number)) {
        let team = u8::from(other.relation == Relation::Enemy);
        players.push(player(1 + number as u32, team, other.body, other.condition));
    }
    Arc::new(EkbContext { config: EkbConfig::default(), taken_at: start(), players })
}

#[test]
fn each_receiver_shows_what_the_owner_thinks_it_shows() {
    law!((scene(), prop::collection::vec(0i64..4_000_000, 1..9)), |(scene, instants)| {
        let mut owner = Publisher::default();
        let mut held = [(NEAR, Contexts::default()), (FAR, Contexts::default())];
        // One receiver holds the even players, the other the odd ones.
        for (parity, (receiver, contexts)) in held.iter_mut().enumerate() {
            let part = snapshot(&scene, |number| number % 2 == parity);
            let id = owner.publish(part.clone());
            prop_assert!(contexts.hold(id, part));
            owner.on_confirmed(*receiver, id);
        }
        let vector = vector(&scene.newest());
        for (receiver, contexts) in &held {
            let guided = owner.guide(&vector, *receiver);
            let mut believed = owner.path(&guided);
            let mut shown = LivePath::new(&guided, contexts);
            prop_assert!(matches!(shown.followed(), Followed::Context(_)));
            // The owner asks tick by tick, the receiver at its own frames, in no order.
            for tick in 0..240 {
                believed.place(start() + TICK_RATE.begin(tick));
            }
            for instant in &instants {
                let at = start() + Span::from_micros(*instant);
                prop_assert_eq!(shown.place(at), believed.place(at));
            }
        }
        Ok(())
    });
}

#[test]
fn a_live_path_is_the_prediction_from_the_same_knowledge() {
    law!(scene(), |scene| {
        let mut contexts = Contexts::default();
        contexts.hold(ContextId::Snapshot(0), snapshot(&scene, |_| true));
        let guided = Guided { vector: vector(&scene.newest()), context: Some(ContextId::Snapshot(0)) };
        let mut live = LivePath::new(&guided, &contexts);
        for (tick, expected) in (0..).zip(path(&mut Ekb::default(), &scene)) {
            let placed = live.place(start() + TICK_RATE.begin(tick)).position;
            // Instants are whole microseconds, ticks are not.
            prop_assert!(placed.distance(expected) < 1e-2, "tick {tick}: {placed:?} is not {expected:?}");
        }
        Ok(())
    });
}

#[test]
fn different_knowledge_is_shown_differently_and_known_to_be() {
    let scene = Scene::alone(Vec2::new(100.0, 0.0))
        .with(Relation::Friend, Vec2::new(0.0, 300.0), Vec2::ZERO)
        .with(Relation::Friend, Vec2::new(0.0, -300.0), Vec2::ZERO);
    let mut owner = Publisher::default();
    let second_later = start() + Span::from_secs(1);
    let mut shown_at = |receiver: ReceiverId, friend: usize| {
        let part = snapshot(&scene, |number| number == friend);
        let id = owner.publish(part.clone());
        owner.on_confirmed(receiver, id);
        let mut contexts = Contexts::default();
        contexts.hold(id, part);
        let guided = owner.guide(&vector(&scene.newest()), receiver);
        assert_eq!(guided.context, Some(id));
        let shown = LivePath::new(&guided, &contexts).place(second_later);
        assert_eq!(shown, owner.path(&guided).place(second_later));
        shown.position
    };
    assert!(shown_at(NEAR, 0).y > 50.0);
    assert!(shown_at(FAR, 1).y < -50.0);
}

#[test]
fn who_lacks_the_context_follows_the_line_and_says_so() {
    let scene = Scene::alone(Vec2::new(100.0, 0.0)).with(Relation::Friend, Vec2::new(0.0, 300.0), Vec2::ZERO);
    let vector = vector(&scene.newest());
    let mut owner = Publisher::default();
    let id = owner.publish(snapshot(&scene, |_| true));

    // Not confirmed: the owner does not name it, and knows that the receiver follows the line.
    let guided = owner.guide(&vector, NEAR);
    assert_eq!((guided.context, owner.path(&guided).followed()), (None, Followed::Line));

    // Confirmed, but the receiver has lost it since.
    owner.on_confirmed(NEAR, id);
    let guided = owner.guide(&vector, NEAR);
    let mut shown = LivePath::new(&guided, &Contexts::default());
    let at = start() + Span::from_millis(700);
    let placed = shown.place(at);
    assert_eq!(placed.followed, Followed::LineForLackOf(id));
    assert_eq!(placed.position, vector.position_at(at), "the line itself");

    // The receiver says so, and from then on both agree on the line.
    owner.on_lacking(NEAR, id);
    let guided = owner.guide(&vector, NEAR);
    assert_eq!((guided.context, owner.path(&guided).place(at).position), (None, placed.position));
}

#[test]
fn nobody_is_guided_by_a_snapshot_that_does_not_know_them() {
    let scene = Scene::alone(Vec2::new(100.0, 0.0));
    let mut owner = Publisher::default();
    let id = owner.publish(snapshot(&scene, |_| true));
    owner.on_confirmed(NEAR, id);
    let stranger = DrVector { entity: EntityId(77), ..vector(&scene.newest()) };
    assert_eq!(owner.guide(&stranger, NEAR).context, None);
    let forced = Guided { vector: stranger, context: Some(id) };
    assert_eq!(owner.path(&forced).followed(), Followed::LineForLackOf(id));
}

#[test]
fn what_can_be_named_is_held() {
    // Snapshots arrive late, twice, out of order or never: whatever the owner may still name, a
    // receiver that confirmed it still has, even if all newer ones overtake the DR vector.
    law!(prop::collection::vec((any::<bool>(), 0u32..12), 1..120), |arrivals| {
        let scene = Scene::alone(Vec2::ZERO);
        let context = snapshot(&scene, |_| true);
        let (mut owner, mut receiver) = (Publisher::default(), Contexts::default());
        for (newest, (arrives, late)) in (0u32..).zip(arrivals) {
            owner.publish(context.clone());
            let id = ContextId::Snapshot(newest.saturating_sub(late));
            if arrives && receiver.hold(id, context.clone()) {
                owner.on_confirmed(NEAR, id);
            }
            if let Some(named) = owner.snapshot_of(NEAR) {
                let mut overtaken = receiver.clone();
                for ahead in 1..=SNAPSHOTS_HELD - SNAPSHOTS_NAMED {
                    overtaken.hold(ContextId::Snapshot(newest + ahead), context.clone());
                }
                prop_assert!(overtaken.get(named).is_some(), "{named:?} of {newest}");
            }
        }
        Ok(())
    });
}

#[test]
fn a_confirmation_of_what_never_was_is_not_believed() {
    let mut owner = Publisher::default();
    owner.publish(snapshot(&Scene::alone(Vec2::ZERO), |_| true));
    owner.on_confirmed(NEAR, ContextId::Snapshot(4_000_000_000));
    owner.on_confirmed(NEAR, ContextId::Lasting(3));
    assert_eq!(owner.snapshot_of(NEAR), None);
    assert!(!owner.may_name(NEAR, ContextId::Lasting(3)));
}

/// A track that runs along a circle: what a trend line would be.
#[derive(Debug)]
struct Circle;

impl Context for Circle {
    fn guides(&self, _vector: &DrVector<Vec2>) -> bool {
        true
    }

    fn lengthen(&self, vector: &DrVector<Vec2>, path: &mut Vec<Vec2>, len: usize) {
        for tick in path.len()..len {
            let heading = tick as f64 * TICK_SECS;
            path.push(vector.motion.origin() + (Vec2::from_heading(heading) - Vec2::new(1.0, 0.0)) * 100.0);
        }
    }
}

#[test]
fn what_stays_guides_for_ever_once_confirmed() {
    let mut owner = Publisher::default();
    let id = owner.publish_lasting(200, Arc::new(Circle));
    assert!(!owner.may_name(NEAR, id));
    owner.on_confirmed(NEAR, id);
    for _ in 0..3 * SNAPSHOTS_HELD {
        owner.publish(Arc::new(Circle));
    }
    let vector = vector(&Body::default());
    assert_eq!(owner.guide_by(id, &vector, FAR).context, None);
    let guided = owner.guide_by(id, &vector, NEAR);
    assert_eq!(guided.context, Some(id));
    let mut receiver = Contexts::default();
    receiver.hold(id, Arc::new(Circle));
    let at = start() + Span::from_millis(1_571);
    let placed = LivePath::new(&guided, &receiver).place(at);
    assert_eq!(placed, owner.path(&guided).place(at));
    assert!(placed.position.distance(Vec2::new(-100.0, 100.0)) < 1.0);
}
